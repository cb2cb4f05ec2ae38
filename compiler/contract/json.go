package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Object is a JSON object whose members keep their order: key, value, key, value.
type Object []any

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	if len(o)%2 != 0 {
		return nil, fmt.Errorf("got an object of %d keys and values, want pairs", len(o))
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, v := range o {
		switch {
		case i%2 == 1:
			b.WriteByte(':')
		case i > 0:
			b.WriteByte(',')
		}
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return nil, err
		}
		b.Truncate(b.Len() - 1) // the encoder's line break
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// ofTexts returns an indented object of texts, nil for any other object.
func (o Object) ofTexts(indent string) []byte {
	if len(o) == 0 || len(o)%2 != 0 {
		return nil
	}
	b := []byte("{")
	for i, v := range o {
		text, ok := v.(string)
		switch {
		case !ok:
			return nil
		case i%2 == 1:
			b = append(b, ": "...)
		case i > 0:
			b = append(append(b, ",\n"...), indent...)
		default:
			b = append(append(b, '\n'), indent...)
		}
		b = appendText(b, text, asIs)
	}
	return append(b, "\n}\n"...)
}

// JSON writes a value of strings, numbers, lists, maps and Objects, indented by two spaces,
// without HTML escapes and with a final line break. It panics for any other value, which is
// a defect of the caller and never depends on its input.
func JSON(v any) []byte { return encode(v, "  ") }

// JSONLine writes a value as JSON does, on one line and without a line break.
func JSONLine(v any) []byte { return bytes.TrimSuffix(encode(v, ""), []byte("\n")) }

func encode(v any, indent string) []byte {
	if o, ok := v.(Object); ok && indent != "" {
		if b := o.ofTexts(indent); b != nil {
			return b
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("contract.JSON: %v", err))
	}
	return b.Bytes()
}
