package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Clients read a list as a whole: the SDKs refuse all of it for one definition of another form than the protocol's. So
// one server could take away the tools of all others. A definition of another form is left out instead.

// form reports whether a value of JSON has a form.
type form func(v any) bool

func isText(v any) bool   { _, ok := v.(string); return ok }
func isTruth(v any) bool  { _, ok := v.(bool); return ok }
func isNumber(v any) bool { _, ok := v.(float64); return ok }
func isObject(v any) bool { _, ok := v.(map[string]any); return ok }

func isDate(v any) bool {
	s, _ := v.(string)
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

func oneOf(words ...any) form {
	return func(v any) bool { return isText(v) && slices.Contains(words, v) }
}

func listOf(item form) form {
	return func(v any) bool {
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(v any) bool { return !item(v) })
	}
}

func mapOf(value form) form {
	return func(v any) bool {
		for _, part := range asObject(v) {
			if !value(part) {
				return false
			}
		}
		return isObject(v)
	}
}

func asObject(v any) map[string]any { m, _ := v.(map[string]any); return m }

// fields are the forms of what an object may have. It has the fields of must.
func fields(of map[string]form, must ...string) form {
	return func(v any) bool {
		m := asObject(v)
		return isObject(v) && odd(m, of) == "" && !slices.ContainsFunc(must, func(key string) bool {
			_, has := m[key]
			return !has
		})
	}
}

// odd returns a field of an object that has another form; "": none has.
func odd(m map[string]any, of map[string]form) string {
	for key, v := range m {
		if f := of[key]; f != nil && !f(v) {
			return key
		}
	}
	return ""
}

var (
	iconForm = fields(map[string]form{"src": isText, "mimeType": isText, "sizes": listOf(isText),
		"theme": oneOf("light", "dark")}, "src")
	schemaForm = fields(map[string]form{"type": oneOf("object"), "properties": mapOf(isObject),
		"required": listOf(isText)}, "type")
	audienceForm = fields(map[string]form{"audience": listOf(oneOf("user", "assistant")), "lastModified": isDate,
		"priority": func(v any) bool { n, ok := v.(float64); return ok && 0 <= n && n <= 1 }})
	resourceForms = map[string]form{"mimeType": isText, "size": isNumber, "annotations": audienceForm}

	commonForms = map[string]form{"name": isText, "title": isText, "description": isText, "icons": listOf(iconForm),
		"_meta": isObject}
	ownForms = map[*kind]map[string]form{
		tools: {"inputSchema": schemaForm, "annotations": fields(map[string]form{"title": isText,
			"readOnlyHint":    isTruth,
			"destructiveHint": isTruth, "idempotentHint": isTruth, "openWorldHint": isTruth}),
			"execution": fields(map[string]form{"taskSupport": oneOf("required", "optional", "forbidden")})},
		prompts: {"arguments": listOf(fields(map[string]form{"name": isText, "title": isText, "description": isText,
			"required": isTruth}, "name"))},
		resources: resourceForms,
		templates: resourceForms,
	}
)

// checkForm fails for a definition of another form than the protocol's.
func checkForm(k *kind, raw json.RawMessage) error {
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if m["name"] == nil {
		return errors.New("it has no name")
	}
	for _, of := range []map[string]form{commonForms, ownForms[k]} {
		if key := odd(m, of); key != "" {
			return fmt.Errorf("its %s is of another form than the protocol's", key)
		}
	}
	return nil
}

// readable reports whether every client can read the schema of a tool's results. Some compile that of each tool in a
// list at once, and lose the list for one that does not compile.
func readable(raw json.RawMessage) bool {
	var v any
	var s jsonschema.Schema
	if json.Unmarshal(raw, &v) != nil || !schemaForm(v) || json.Unmarshal(raw, &s) != nil || !knownSchema(v) {
		return false
	}
	_, err := s.Resolve(nil)
	return err == nil
}

// schemaTypes are the types that a schema may name.
var schemaTypes = oneOf("object", "array", "string", "number", "integer", "boolean", "null")

// knownSchema reports whether nothing in a schema is read otherwise, or not at all, by other readers: another type, an
// empty list of values, an address of a part, or a keyword of one reader alone.
func knownSchema(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(v any) bool { return !knownSchema(v) })
	case map[string]any:
		for key, part := range v {
			list, isList := part.([]any)
			bad := false
			switch key {
			case "type":
				bad = isText(part) && !schemaTypes(part) || isList && (len(list) == 0 || !listOf(schemaTypes)(part))
			case "enum", "anyOf", "allOf", "oneOf":
				bad = isList && len(list) == 0
			case "$id", "id", "$async", "nullable":
				bad = !isObject(part) // else it is a property of this name
			}
			if bad || !knownSchema(part) {
				return false
			}
		}
	}
	return true
}
