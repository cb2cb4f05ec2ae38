package main

import (
	"strings"
	"testing"
)

// A setting of another type is refused in plain words, whatever its type.
func TestSettingsOfAnotherType(t *testing.T) {
	for text, want := range map[string]string{
		"log-level = 3":       "1:13: log-level: got a value of another type, want a text",
		"\nallow-writes = 1":  "2:16: allow-writes: got a value of another type, want true or false",
		`max-text = "x"`:      "1:12: max-text: got a value of another type, want a whole number",
		"max-body = true":     "1:12: max-body: got a value of another type, want a whole number",
		`origin = "x"`:        "1:10: origin: got a value of another type, want a list of texts",
		"timeout = 5":         "1:11: timeout: got a value of another type, want a text",
		"log-level = [\"x\"]": "1:13: log-level: got a value of another type, want a text",
	} {
		_, err := readSettings([]byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if text := settingsFile(); !strings.Contains(text, "With a log-file, the default of log-format is \"json\".") {
		t.Errorf("got %s", text)
	}
}
