package located

import (
	"strings"
	"testing"
)

func TestTOML(t *testing.T) {
	v, err := TOML("f", []byte(`# a comment
a.b = "x" # c
list = [ 1, # one
  "two", {k = true} ]
text = """
one
two"""
[t."x.y"]
n = 1.5
[[h.P]]
m = "*"
[[h.P.hooks]]
c = 'q\'
[[h.P]]
m = "z"
`))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	outline(v, "", &b)
	for _, want := range []string{"a.b", "x", "two", "k", "true", "one\\ntwo", "x.y", "1.5", `q\\`, "z"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got %s, want %s in it", b.String(), want)
		}
	}
	if at := v.Get("t").Get("x.y").Get("n").Line().String(); at != "f:9:5" {
		t.Errorf("got the place %s, want f:9:5", at)
	}
	if n := len(v.Get("h").Get("P").List()); n != 2 {
		t.Errorf("got %d tables, want 2", n)
	}
	for _, bad := range []string{"a", "a = 1\na = 2", "a = [1", "[t]\n[t]"} {
		if _, err := TOML("f", []byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("%q: got the error %v, want one with a place", bad, err)
		}
	}
}
