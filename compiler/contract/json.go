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
	b := []byte{'{'}
	for i, v := range o {
		if _, text := v.(string); i%2 == 0 && !text {
			return nil, fmt.Errorf("got %v as a key, want a text", v)
		}
		text, err := encoded(v, "")
		if err != nil {
			return nil, err
		}
		b = append(append(b, bytes.TrimSpace(text)...), ":,"[i%2])
	}
	return append(bytes.TrimSuffix(b, []byte(",")), '}'), nil
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
	b, err := encoded(v, indent)
	if err != nil {
		panic(fmt.Sprintf("contract.JSON: %v", err))
	}
	return b
}

func encoded(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}
