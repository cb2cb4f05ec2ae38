package located_test

import (
	"fmt"
	"strings"
	"testing"

	"modec.dev/modec/compiler/located"
)

// TestDifferences: what changed is said with its key and all that belongs to it, and no secret.
func TestDifferences(t *testing.T) {
	const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	for _, c := range []struct{ before, after, want string }{
		{`{"a": 1}`, `{"a": 1}`, ""},
		{`{"a": 1, "b": true}`, `{"b": false, "a": 1}`, "f:1:7 b is false, and was true\n"},
		{`{"hooks": {"Stop": [{"hooks": [{"command": "a"}]}]}}`, `{"hooks": {"Stop": [{"hooks": [{"command": "b <c>"}], "matcher": "M"}]}}`,
			"f:1:21 hooks.Stop has {\"hooks\":[{\"command\":\"b <c>\"}],\"matcher\":\"M\"}\n" +
				"f:1:20 hooks.Stop no longer has {\"hooks\":[{\"command\":\"a\"}]}\n"},
		{`{}`, `{"hooks": {"Stop": [{"hooks": []}]}}`, "f:1:21 hooks.Stop has {\"hooks\":[]}\n"},
		{`{"hooks": {"Stop": [{"hooks": []}]}}`, `{}`, "f:1:1 hooks.Stop no longer has {\"hooks\":[]}\n"},
		{`{"allow": ["a", "b"]}`, `{"allow": ["b", "c"]}`, "f:1:17 allow has \"c\"\nf:1:11 allow no longer has \"a\"\n"},
		{`{"m": {"x": {"args": ["--token", "` + token + `1"]}}}`, `{"m": {"x": {"args": ["--token", "` + token + `2"]}}}`,
			"f:1:22 m.x.args is [\"--token\",\"***\"], and was [\"--token\",\"***\"]\n"},
		{`{"env": {}}`, `{"env": {"API_TOKEN": "hunter2hunter2"}}`, "f:1:10 env.API_TOKEN has \"***\"\n"},
		{`{"command": "a"}`, `{"command": "a --token ` + token + `"}`, "f:1:13 command is \"a --token ***\", and was \"a\"\n"},
	} {
		before, err := located.JSON("f", []byte(c.before))
		if err != nil {
			t.Fatal(err)
		}
		after, err := located.JSON("f", []byte(c.after))
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, d := range located.Differences(before, after) {
			fmt.Fprintf(&got, "%s %s %s\n", d.Pos, d.Path, d.Text)
		}
		if got.String() != c.want {
			t.Errorf("%s\n%s\ngot\n%swant\n%s", c.before, c.after, got.String(), c.want)
		}
	}
}
