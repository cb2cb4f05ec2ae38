package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// ReadPayload decodes what an agent sends to a hook into a struct. It fails on anything but one
// JSON object, and on keys that programs read in different ways: one that stands twice in an
// object, and one that differs by its case from a key of the struct, for which Go takes it.
func ReadPayload(data []byte, into any) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // PowerShell may put one there
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return fmt.Errorf("got %d bytes that do not begin with an object", len(data))
	}
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	keys := map[string]string{}
	for f := range reflect.TypeOf(into).Elem().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys[strings.ToLower(name)] = name
	}
	return oneReading(json.NewDecoder(bytes.NewReader(data)), keys)
}

// oneReading fails on a value in which an object has a key twice, or one that differs by its
// case from the keys of the outermost.
func oneReading(d *json.Decoder, keys map[string]string) error {
	start, err := d.Token()
	if err != nil {
		return err
	}
	bracket, ok := start.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if bracket == '{' {
			t, err := d.Token()
			if err != nil {
				return err
			}
			key, _ := t.(string)
			if name, ok := keys[strings.ToLower(key)]; seen[key] || ok && name != key {
				return fmt.Errorf("got the key %q twice, or in another case", key)
			}
			seen[key] = true
		}
		if err := oneReading(d, nil); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
