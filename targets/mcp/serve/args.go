package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"modec.dev/modec/compiler/diag"
)

// decode reads a tool's arguments, which its schema describes, and returns warnings of those that the tool does
// not have. No arguments are an empty object, and null is as if the argument were not there.
func decode(tool string, schema *jsonschema.Schema, args json.RawMessage, in any) (warnings []string, err error) {
	if args = bytes.TrimSpace(args); len(args) == 0 || string(args) == "null" {
		args = []byte("{}")
	}
	var v any
	if err := json.Unmarshal(args, &v); err != nil {
		return nil, fail(validationError, "%s: got arguments that are not JSON", tool)
	}
	if bad := misfit(schema, v, ""); bad != nil {
		bad.Message = tool + ": " + bad.Message
		return nil, bad
	}
	for _, name := range slices.Sorted(maps.Keys(v.(map[string]any))) {
		if schema.Properties[name] != nil {
			continue
		}
		names := slices.Sorted(maps.Keys(schema.Properties))
		text := fmt.Sprintf("%s has no argument %.100q, and ignored it", tool, name)
		if hint := diag.DidYouMean(name, names); hint != "" {
			text += "; " + hint
		}
		warnings = append(warnings, text)
	}
	if err := json.Unmarshal(args, in); err != nil {
		return nil, fail(validationError, "%s: got arguments that it does not take", tool)
	}
	return warnings, nil
}

// jsonKinds are the types of schemas in words.
var jsonKinds = map[string]kind{"string": aText, "object": aObject, "array": aList, "boolean": "a boolean"}

// misfit returns how a value differs from a schema, nil where it does not. at is where the value stands; "" is
// the arguments themselves, of which those that the schema does not have are no fault.
func misfit(s *jsonschema.Schema, v any, at string) *jsonrpc.Error {
	if s == nil {
		return nil
	}
	wrong := func(format string, args ...any) *jsonrpc.Error {
		return failData(validationError, map[string]any{"field": at}, format, args...)
	}
	raw, _ := json.Marshal(v)
	got, named := kindOf(raw), at
	if named == "" {
		named = "arguments"
	}
	if want, ok := jsonKinds[s.Type]; ok && got != want {
		if got == aText || got == "a number" || got == "a boolean" {
			return wrong("got %s %.200s, want %s", named, raw, want)
		}
		return wrong("got %s that is %s, want %s", named, got, want)
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		var names []string
		for _, e := range s.Enum {
			names = append(names, fmt.Sprint(e))
		}
		return wrong("got %s %.200s, want %s", named, raw, diag.OneOf(names, "nothing"))
	}
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			if bad := misfit(s.Items, x, fmt.Sprintf("%s[%d]", at, i)); bad != nil {
				return bad
			}
		}
	case map[string]any:
		return misfitObject(s, v, at)
	}
	return nil
}

// misfitObject looks at the members of an object, in the order of their names.
func misfitObject(s *jsonschema.Schema, v map[string]any, at string) *jsonrpc.Error {
	within := func(name string) string { return strings.TrimPrefix(at+"."+name, ".") }
	for _, name := range s.Required {
		if v[name] == nil {
			return failData(validationError, map[string]any{"field": within(name)}, "got no %s, want one", within(name))
		}
		if text, ok := v[name].(string); ok && text == "" && s.Properties[name].MinLength != nil {
			return failData(validationError, map[string]any{"field": within(name)},
				"got an empty %s, want a text", within(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		of, known := s.Properties[name], s.Properties[name] != nil
		if !known && s.AdditionalProperties != nil {
			of = s.AdditionalProperties
		}
		switch {
		case v[name] == nil && known: // as if it were not there
			continue
		case !known && at != "" && of != nil && of.Not != nil:
			hint := diag.DidYouMean(name, slices.Sorted(maps.Keys(s.Properties)))
			if hint != "" {
				hint = "; " + hint
			}
			return failData(validationError, map[string]any{"field": within(name)},
				"got %s, want %s%s", within(name), diag.OneOf(slices.Sorted(maps.Keys(s.Properties)), "nothing"), hint)
		}
		if of == nil || of.Not != nil {
			continue
		}
		if bad := misfit(of, v[name], within(name)); bad != nil {
			return bad
		}
	}
	return nil
}
