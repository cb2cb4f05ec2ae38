package jsonedit

import (
	"bytes"
	"testing"
)

// Where the order of members means something, an entry that says it in another order is written anew, and one that
// means the same keeps its bytes. A value that is written once stays out of a person's file, and all members of an
// entry that is the target's as a whole are.
func TestMergeInOrder(t *testing.T) {
	inOrder := func(_ string, have, emitted []byte) bool {
		return bytes.Equal(bytes.ReplaceAll(have, []byte(" "), nil), bytes.ReplaceAll(emitted, []byte(" "), nil))
	}
	p := Pattern{Places: []string{"/$schema", "/permission"}, Keys: []string{"x"}, Whole: []string{"/permission"},
		Once: []string{"/$schema"}, Alike: inOrder}
	want := []byte(`{"$schema": "s", "permission": {"a": "ask", "b": "deny"}}`)
	for _, c := range []struct{ have, want string }{
		{`{"permission": { "a":"ask", "b":"deny" }}`, `{"permission": { "a":"ask", "b":"deny" }}`},
		{`{"permission":{"b":"deny","a":"ask"}}`, `{"permission": {"a":"ask","b":"deny"}}`},
		{`{"permission":{"b":"deny"}}`, `{"permission": {"a":"ask","b":"deny"}}`},
	} {
		owned := Adopt([]byte(c.have), p, []string{"permission"})
		got, err := Merge([]byte(c.have), want, p, []Entries{owned}, false)
		if err != nil || len(got.Conflicts) > 0 {
			t.Errorf("%s: %v %v", c.have, err, got.Conflicts)
			continue
		}
		text := string(got.Data)
		for _, blank := range []string{"\n", "\t", " "} {
			text = string(bytes.ReplaceAll([]byte(text), []byte(blank), nil))
		}
		if text != string(bytes.ReplaceAll([]byte(c.want), []byte(" "), nil)) || c.have == c.want && string(got.Data) != c.have {
			t.Errorf("%s: got %s, want %s", c.have, got.Data, c.want)
		}
	}
}
