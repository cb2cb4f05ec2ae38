package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Object is a JSON object whose members keep their order: key, value, key, value.
type Object []any

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) { return o.appendTo(nil, "", "") }

// appendTo appends an object, on one line where indent is empty; before is how far its own line is. The encoder would
// read and write again what stands in an object once for each object around it.
func (o Object) appendTo(b []byte, before, indent string) ([]byte, error) {
	if len(o)%2 != 0 {
		return nil, o.odd()
	}
	if len(o) == 0 {
		return append(b, "{}"...), nil
	}
	within, between, line := before+indent, ": ", "\n"
	if indent == "" {
		between, line = ":", ""
	}
	b = append(b, '{')
	for i, v := range o {
		_, text := v.(string)
		switch {
		case i%2 == 1:
			b = append(b, between...)
		case !text:
			return nil, fmt.Errorf("got %v as a key, want a text", v)
		default:
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, line...), within...)
		}
		switch v := v.(type) {
		case string:
			b = appendText(b, v, asIs)
		case Object:
			var err error
			if b, err = v.appendTo(b, within, indent); err != nil {
				return nil, err
			}
		default:
			text, err := encoded(v, within, indent)
			if err != nil {
				return nil, err
			}
			b = append(b, bytes.TrimSuffix(text, []byte("\n"))...)
		}
	}
	return append(append(append(b, line...), before...), '}'), nil
}

// room returns about how long an object is when it is written, each line of it behind an indent.
func (o Object) room(indent int) int {
	n := len(o)/2*(indent+8) + indent
	for _, v := range o {
		switch v := v.(type) {
		case string:
			n += len(v)
		case Object:
			n += v.room(indent + 2)
		}
	}
	return n
}

func (o Object) odd() error {
	return fmt.Errorf("got an object of %d keys and values, want pairs", len(o))
}

// JSON writes a value of strings, numbers, lists, maps and Objects, indented by two spaces,
// without HTML escapes and with a final line break. It panics for any other value, which is
// a defect of the caller and never depends on its input.
func JSON(v any) []byte { return encode(v, "  ") }

// JSONLine writes a value as JSON does, on one line and without a line break.
func JSONLine(v any) []byte { return bytes.TrimSuffix(encode(v, ""), []byte("\n")) }

// Texts returns a list of texts, as a reader of JSON, CUE or TOML has it. It reports false for anything else.
func Texts(value any) ([]string, bool) {
	items, ok := value.([]any)
	texts := []string{}
	for _, item := range items {
		text, isText := item.(string)
		texts = append(texts, text)
		ok = ok && isText
	}
	return texts, ok
}

func encode(v any, indent string) []byte {
	var b []byte
	var err error
	if o, ok := v.(Object); ok {
		if b, err = o.appendTo(make([]byte, 0, o.room(len(indent))), "", indent); err == nil {
			b = append(b, '\n')
		}
	} else {
		b, err = encoded(v, "", indent)
	}
	if err != nil {
		panic(fmt.Sprintf("contract.JSON: %v", err))
	}
	return b
}

// encoded returns what the encoder writes: lines that begin by before, but for the first one, and end in a line break.
func encoded(v any, before, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(before, indent)
	err := e.Encode(v)
	return b.Bytes(), err
}
