package located

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
)

// outline writes a value with its places, one scalar a line.
func outline(v *Value, path string, b *strings.Builder) {
	switch v.Kind {
	case Object:
		for _, m := range v.Members {
			outline(m.Value, path+"."+m.Key, b)
		}
	case List:
		for i, e := range v.Items {
			outline(e, fmt.Sprintf("%s[%d]", path, i), b)
		}
	default:
		fmt.Fprintf(b, "%s %d:%d %s %q\n", path, v.Pos.Line, v.Pos.Col, v.Kind, v.Text)
	}
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name string
		read func(string, []byte) (*Value, error)
		text string
		want string
	}{
		{"JSON", JSON, "{\n  \"a\": [1, \"b\\n\"],\n  \"c\": {\"d\": true, \"d\": null}\n}\n",
			".a[0] 2:9 a number \"1\"\n.a[1] 2:12 a string \"b\\n\"\n.c.d 3:14 a bool \"true\"\n.c.d 3:25 null \"\"\n"},
		{"JSONC", JSONC, "// why\n{\"a\": 1,}\n", ".a 2:7 a number \"1\"\n"},
		{"YAML", YAML, "a:\n  - x: 'y'\n    z: |\n      two\n      lines\nb: {c: yes, d: ~, e: 1.5}\n",
			".a[0].x 2:8 a string \"y\"\n.a[0].z 3:8 a string \"two\\nlines\\n\"\n.b.c 6:8 a string \"yes\"\n.b.d 6:16 null \"\"\n.b.e 6:22 a number \"1.5\"\n"},
		{"anchors", YAML, "a: &x [1]\nb: *x\n", ".a[0] 1:8 a number \"1\"\n.b[0] 1:8 a number \"1\"\n"},
		{"empty YAML", YAML, "", " 1:1 null \"\"\n"},
	} {
		v, err := c.read("f", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var b strings.Builder
		outline(v, "", &b)
		if d := cmp.Diff(c.want, b.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		read func(string, []byte) (*Value, error)
		text string
	}{
		{"a comment in JSON", JSON, "{} // no"},
		{"a trailing comma in JSON", JSON, "[1,]"},
		{"half a JSON", JSON, "{"},
		{"a YAML tab", YAML, "a:\n\t- b"},
		{"an alias without an anchor", YAML, "a: *x"},
		{"a deep JSON", JSON, strings.Repeat("[", maxDepth+2) + strings.Repeat("]", maxDepth+2)},
	} {
		if v, err := c.read("f", []byte(c.text)); err == nil {
			t.Errorf("%s: got %v, want an error", c.name, v)
		}
	}
	if _, err := JSON("f", []byte(strings.Repeat("[", maxDepth)+strings.Repeat("]", maxDepth))); err != nil {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
}

func TestAbsent(t *testing.T) {
	var v *Value
	if s, ok := v.Get("a").Str(); ok || s != "" || v.List() != nil || v.True() || !v.Line().IsZero() {
		t.Error("a value that is not there says something")
	}
	last, err := JSON("f", []byte(`{"a": 1, "a": "x"}`))
	if s, _ := last.Get("a").Str(); err != nil || s != "x" {
		t.Errorf("got %q, %v, want the last of two equal keys", s, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a: &x [1]\nb: *x\n")
	f.Add(`{"a": [1, "\u00e9", null]}`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, read := range []func(string, []byte) (*Value, error){JSON, JSONC, YAML} {
			if v, err := read("f", []byte(s)); err == nil {
				var b strings.Builder
				outline(v, "", &b)
			}
		}
	})
}

func TestComments(t *testing.T) {
	for _, c := range []struct {
		name, src string
		read      func(string, []byte) (*Value, error)
		want      map[string]string
	}{
		{"yaml", "# top\n\n# the\n# list\nlist: # here\n  # first\n  - one\n  - two # second\ntext: |\n  # no comment\n  x\nlast: 1\n", YAML,
			map[string]string{"list": "the\nlist\nhere", "list.0": "first", "list.1": "second", "text": "", "last": ""}},
		{"jsonc", "{\n  // the\n  /* list */ \"list\": [\n    // first\n    \"one\", // here\n    \"two\" // second\n  ],\n  \"text\": \"// none\",\n  /* a\n   * block */\n  \"last\": 1 // end\n}\n", JSONC,
			map[string]string{"list": "the\nlist", "list.0": "first\nhere", "list.1": "second", "text": "", "last": "a\nblock\nend"}},
	} {
		v, err := c.read("f", []byte(c.src))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{"list": v.Get("list").Comment, "list.0": v.Get("list").Items[0].Comment, "list.1": v.Get("list").Items[1].Comment, "text": v.Get("text").Comment, "last": v.Get("last").Comment}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
}

// PlaceOf depends on the text of hujson's errors, which have no other place.
func TestPlaceOf(t *testing.T) {
	_, err := JSON("f", []byte("{\n  \"a\": nul\n}"))
	if err == nil {
		t.Fatal("got no error")
	}
	if got, want := PlaceOf("f", err), (diag.Pos{File: "f", Line: 2, Col: 8}); got != want {
		t.Errorf("%v: got %v, want %v", err, got, want)
	}
	if got, want := PlaceOf("f", errors.New("no place")), (diag.Pos{File: "f"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAliases bounds what a file of a few lines may stand for.
func TestAliases(t *testing.T) {
	file := func(last int) []byte {
		text := "a: &a [" + strings.Repeat("x,", 9_999) + "]\nb: [" + strings.Repeat("*a,", 9) + "]\nc: &c [" +
			strings.Repeat("x,", last-1) + "]\nd: *c\n"
		return []byte(text)
	}
	if _, err := YAML("f", file(10_000)); err != nil { // a list counts, too
		t.Error(err)
	}
	_, err := YAML("f", file(10_001))
	want := "f:4:4: the aliases up to this one stand for more than 100000 values: write fewer"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for name := 'b'; name < 'z'; name++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", name, name, strings.Repeat(fmt.Sprintf("*%c,", name-1), 9))
	}
	if _, err := YAML("f", []byte(bomb)); err == nil {
		t.Error("got no error for aliases of aliases")
	}
}
