package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// ReadPayload decodes what an agent sends to a hook into an empty struct. It fails on anything but one
// JSON object, and on keys that programs read in different ways: one that stands twice in an
// object, and one that differs by its case from a key of the struct, for which Go takes it.
func ReadPayload(data []byte, into any) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // PowerShell may put one there
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return fmt.Errorf("got %d bytes that do not begin with an object", len(data))
	}
	if readPlain(data, into) {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	return oneReading(data, keysOf(reflect.TypeOf(into).Elem()))
}

// payloadKeys caches the keys of structs: a hook answers in milliseconds.
var payloadKeys sync.Map // of reflect.Type: map[string]string, by the key in lower case

func keysOf(t reflect.Type) map[string]string {
	if keys, ok := payloadKeys.Load(t); ok {
		return keys.(map[string]string)
	}
	keys := map[string]string{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys[foldKey(name)] = name
	}
	payloadKeys.Store(t, keys)
	return keys
}

// foldKey returns the form in which encoding/json compares keys: of each letter and those that
// differ from it by case, a long s among them, one.
func foldKey(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// oneReading fails on valid JSON in which an object has a key twice, or the outermost one a key
// that differs by its case from the keys of the struct.
func oneReading(data []byte, keys map[string]string) error {
	var open []map[string]bool // the keys of each object that is open; nil for a list
	key := false               // the next text is a key
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{':
			open, key = append(open, map[string]bool{}), true
		case '[':
			open, key = append(open, nil), false
		case '}', ']':
			open, key = open[:len(open)-1], false
		case ',':
			key = open[len(open)-1] != nil
		case '"':
			end := endOfText(data, i)
			if key {
				key = false
				text, seen := string(data[i+1:end]), open[len(open)-1]
				if strings.Contains(text, `\`) {
					if err := json.Unmarshal(data[i:end+1], &text); err != nil {
						return err
					}
				}
				name, known := keys[foldKey(text)]
				if seen[text] || len(open) == 1 && known && name != text {
					return fmt.Errorf("got the key %q twice, or in another case", text)
				}
				seen[text] = true
			}
			i = end
		}
	}
	return nil
}

// endOfText returns the index of the quote that ends the text whose first quote stands at i.
func endOfText(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}
