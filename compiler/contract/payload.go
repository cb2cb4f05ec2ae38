package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// SessionOf returns the name of the session that a payload is of, by any of the names that agents have for it; "" where
// it has none.
func SessionOf(payload []byte) string {
	var of map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimPrefix(payload, []byte("\ufeff")), &of) != nil {
		return ""
	}
	for _, key := range []string{"session_id", "sessionId", "conversation_id", "session"} {
		var name string
		if json.Unmarshal(of[key], &name) == nil && name != "" {
			return name
		}
	}
	return ""
}

// ReadPayload decodes what an agent sends to a hook into an empty struct. It fails on anything but one
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
	strict := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowInvalidUTF8(true))
	if _, err := strict.ReadValue(); err != nil { // a key that stands twice
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	for f := range reflect.TypeOf(into).Elem().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		for key := range members {
			if key != name && strings.EqualFold(key, name) {
				return fmt.Errorf("got the key %q, want %q", key, name)
			}
		}
	}
	return nil
}
