package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// params are the parameters of a call to a server.
type params struct {
	sdk.ParamsBase
	Name      string          `json:"name,omitempty"`
	URI       string          `json:"uri,omitempty"`
	Cursor    string          `json:"cursor,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Ref       any             `json:"ref,omitempty"`
	Argument  any             `json:"argument,omitempty"`
	Context   any             `json:"context,omitempty"`
}

// reserved begins the keys of _meta that are the protocol's own, which hold for one hop.
const reserved = "io.modelcontextprotocol/"

// passedMeta returns the metadata of a message that are passed on.
func passedMeta[V any](meta map[string]V) map[string]V {
	out := maps.Clone(meta)
	maps.DeleteFunc(out, func(key string, _ V) bool { return strings.HasPrefix(key, reserved) })
	return out
}

// answer is a result whose fields are as the server wrote them.
type answer struct {
	sdk.ResultBase
	raw    json.RawMessage // as it came
	fields map[string]json.RawMessage
}

// UnmarshalJSON keeps a result as it came.
func (a *answer) UnmarshalJSON(data []byte) error {
	a.raw = bytes.Clone(data)
	return nil
}

// read reads the fields of a result that came. It refuses one that two readers may read in two ways; of a list each
// item is judged by itself.
func (a *answer) read(list bool) (err error) {
	raw := a.raw
	if !list {
		if raw, err = tidy(raw, nil); err != nil {
			return fmt.Errorf("its result cannot be passed on: %w", err)
		}
	}
	a.raw = nil
	if err := json.Unmarshal(raw, &a.fields); err != nil || a.fields == nil {
		return errors.New("its result is no object")
	}
	return nil
}

// parts are the fields that results have, and their forms.
var parts = map[string]map[string]form{
	"tools/call":          {"content": listOf(isObject)},
	"prompts/get":         {"messages": listOf(isObject)},
	"resources/read":      {"contents": listOf(isObject)},
	"completion/complete": {"completion": isObject},
}

// check fails for a result to a method that is none: a client may take it for another one than the next client does.
func (a *answer) check(method string) error {
	wrong := func(key string, is form) bool {
		var v any
		return json.Unmarshal(a.fields[key], &v) != nil || !is(v)
	}
	for key, is := range parts[method] {
		if a.fields[key] == nil {
			return fmt.Errorf("its result has no field %q", key)
		}
		if wrong(key, is) {
			return fmt.Errorf("its result has a field %q of the wrong form", key)
		}
	}
	if a.fields["isError"] != nil && wrong("isError", isTruth) {
		return errors.New(`its result has a field "isError" of the wrong form`)
	}
	return nil
}

// plain cleans the texts of a result that people and models read. Structured content, and what resources have, are data
// and stay as they are.
func (a *answer) plain() error {
	for _, key := range []string{"content", "messages"} {
		raw := a.fields[key]
		odd := func(c byte) bool { return c >= utf8.RuneSelf }
		has := func(text string) bool { return bytes.Contains(raw, []byte(text)) }
		if !has(`"src"`) && !has(`\u`) && !has(`\r`) && !slices.ContainsFunc(raw, odd) {
			continue // nothing in it needs to be escaped
		}
		clean, err := tidy(raw, func(key, s string) (string, error) {
			switch {
			case key == "text" || key == "name" || forPeople[key]:
				s = resultText(s)
			case key == "src" && !isImage(s):
				s = ""
			}
			return s, nil
		})
		if err != nil {
			return err
		}
		a.fields[key] = clean
	}
	return nil
}

// MarshalJSON writes the fields with the metadata that the SDK has set.
func (a *answer) MarshalJSON() ([]byte, error) {
	if len(a.Meta) == 0 {
		return json.Marshal(a.fields)
	}
	out, meta := maps.Clone(a.fields), map[string]any{}
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	if old := out["_meta"]; old != nil {
		if err := json.Unmarshal(old, &meta); err != nil {
			return nil, err
		}
	}
	maps.Copy(meta, a.Meta)
	data, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	out["_meta"] = data
	return json.Marshal(out)
}
