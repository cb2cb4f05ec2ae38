package model

import (
	"testing"

	"modec.dev/modec/targets/claude/format/rule"
)

// The emitter and the model write the name of a tool each by itself, and alike.
func TestToolName(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "a-B_9": "a-B_9", "my docs": "my_docs", "é.x": "__x", "\ufeffgh": "_gh", "😀": "__", "a\x00/": "a__",
		"\u212a\uffff": "__",
	} {
		if got := toolName(name); got != want {
			t.Errorf("%q: the model has %q, want %q", name, got, want)
		}
		if got := rule.Name(name); got != want {
			t.Errorf("%q: the emitter has %q, want %q", name, got, want)
		}
	}
}
