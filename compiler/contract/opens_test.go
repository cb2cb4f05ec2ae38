package contract_test

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/located"
)

// TestOpens: what a person adds, changes and takes out of a file of modec's entries and theirs counts as permitting
// more or not, by where it lies and what it says.
func TestOpens(t *testing.T) {
	f := contract.File{
		Places:    []string{"/mcpServers/*", "/permissions/allow/-", "/permissions/deny/-", "/permission"},
		Restrains: []string{"/permissions/deny/-"},
	}
	for _, test := range []struct {
		before, after string
		opens         bool
	}{
		{`{}`, `{"mcpServers": {"a": {"url": "https://a"}}}`, true},
		{`{"mcpServers": {"a": {"url": "https://a"}}}`, `{"mcpServers": {}}`, false},
		{`{"mcpServers": {"a": {"url": "https://a"}}}`, `{"mcpServers": {"a": {"url": "https://b"}}}`, true},
		{`{"mcpServers": {"a": {"command": "a"}}}`, `{"mcpServers": {"a": {"command": "b"}}}`, true},
		{`{"mcpServers": {"a": {"args": ["a"]}}}`, `{"mcpServers": {"a": {"args": ["a", "b"]}}}`, true},
		{`{"mcpServers": {"a": {"includeTools": ["x"]}}}`, `{"mcpServers": {"a": {}}}`, true},
		{`{"mcpServers": {"a": {}}}`, `{"mcpServers": {"a": {"includeTools": ["x"]}}}`, false},
		{`{"mcpServers": {"a": {"includeTools": ["x", "y"]}}}`, `{"mcpServers": {"a": {"includeTools": ["x"]}}}`, false},
		{`{"mcpServers": {"a": {"includeTools": ["x"]}}}`, `{"mcpServers": {"a": {"includeTools": ["x", "y"]}}}`, true},
		{`{"mcpServers": {"a": {"excludeTools": ["x"]}}}`, `{"mcpServers": {"a": {}}}`, true},
		{`{"mcpServers": {"a": {}}}`, `{"mcpServers": {"a": {"excludeTools": ["x"]}}}`, false},
		{`{"mcpServers": {"a": {}}}`, `{"mcpServers": {"a": {"alwaysAllow": ["x"]}}}`, true},
		{`{"mcpServers": {"a": {"alwaysAllow": ["x"]}}}`, `{"mcpServers": {"a": {}}}`, false},
		{`{"mcpServers": {"a": {}}}`, `{"mcpServers": {"a": {"disabled": true}}}`, false},
		{`{"mcpServers": {"a": {"disabled": true}}}`, `{"mcpServers": {"a": {"disabled": false}}}`, true},
		{`{"mcpServers": {"a": {"timeout": 1}}}`, `{"mcpServers": {"a": {"timeout": 2}}}`, false},
		{`{}`, `{"permissions": {"allow": ["Bash(a)"]}}`, true},
		{`{}`, `{"permissions": {"deny": ["Bash(a)"]}}`, false},
		{`{"permissions": {"deny": ["Bash(a)"]}}`, `{}`, true},
		{`{}`, `{"theme": "dark"}`, false},
		{`{}`, `{"hooks": {"Stop": [{"run": "a"}]}}`, true},
		{`{}`, `{"formatter": {"go": {"command": ["a"]}}}`, true},
		{`{"permission": {"bash": {"ls": "ask"}}}`, `{"permission": {"bash": {"ls": "allow"}}}`, true},
		{`{"permission": {"bash": {"ls": "allow"}}}`, `{"permission": {"bash": {"ls": "deny"}}}`, false},
		{`{"permission": {"bash": {"ls": "deny"}}}`, `{"permission": {"bash": {"ls": "ask"}}}`, true},
		{`{"permission": {"bash": {"ls": "ask"}}}`, `{"permission": {"bash": {"ls": "deny"}}}`, false},
		{`{"permission": {"bash": {"ls": "deny", "x": "ask"}}}`, `{"permission": {"bash": {"x": "ask"}}}`, true},
		{`{"permission": {"bash": {"ls": "ask", "x": "ask"}}}`, `{"permission": {"bash": {"x": "ask"}}}`, true},
		{`{"permission": {"bash": {"ls": "allow", "x": "ask"}}}`, `{"permission": {"bash": {"x": "ask"}}}`, false},
		{`{"permission": {"bash": {"ls": "deny"}}}`, `{"permission": {}}`, true},
		{`{"permission": {"bash": {"ls": "allow"}}}`, `{"permission": {}}`, false},
		{`{"permission": {"bash": "deny"}}`, `{}`, true},
		{`{}`, `{"permission": {"bash": {"ls": "deny"}}}`, false},
		{`{}`, `{"permission": {"bash": {"ls": "allow"}}}`, true},
		{`{"mcpServers": {"a": {"disabled": true}}}`, `{"mcpServers": {"a": {}}}`, true},
	} {
		before, err := located.JSONC("x.json", []byte(test.before))
		if err != nil {
			t.Fatal(err)
		}
		after, err := located.JSONC("x.json", []byte(test.after))
		if err != nil {
			t.Fatal(err)
		}
		list := located.Differences(before, after)
		if len(list) != 1 {
			t.Fatalf("%s → %s: %d differences, want 1: %v", test.before, test.after, len(list), list)
		}
		if got := f.Opens(list[0]); got != test.opens {
			t.Errorf("%s → %s (%s): opens %v, want %v", test.before, test.after, list[0].Place, got, test.opens)
		}
	}
}
