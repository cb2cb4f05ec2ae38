package jsonedit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

func openList(t *testing.T, file, place string) *List {
	t.Helper()
	l, err := OpenList([]byte(file), place)
	if err != nil {
		t.Fatalf("%q: %v", file, err)
	}
	return l
}

func TestAppend(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"an empty file", "{}", `{"list": ["s"]}`},
		{"brackets on two lines", "{\n}\n", "{\n  \"list\": [\"s\"]\n}\n"},
		{"a byte order mark", "\uFEFF{}", "\uFEFF{\"list\": [\"s\"]}"},
		{"CR LF", "{\r\n\t\"x\": 1\r\n}", "{\r\n\t\"x\": 1,\r\n\t\"list\": [\"s\"]\r\n}"},
		{"beside other keys", "{\n\t\"x\": 1 // mine\n}", "{\n\t\"x\": 1, // mine\n\t\"list\": [\"s\"]\n}"},
		{"a trailing comma of the object", "{\n  \"x\": 1,\n}", "{\n  \"x\": 1,\n  \"list\": [\"s\"],\n}"},
		{"an empty list", `{"list": []}`, `{"list": ["s"]}`},
		{"a comment alone", "{\"list\": [\n    // none yet\n  ]}", "{\"list\": [\n    // none yet\n    \"s\"\n  ]}"},
		{"on one line", `{"list": [ "a" ]}`, `{"list": [ "a", "s" ]}`},
		{"on one line with a comment", `{"list": ["a" /* x */]}`, `{"list": ["a", /* x */ "s"]}`},
		{"on lines", "{\"list\": [\n    \"a\", // x\n    \"b\" // y\n  ]}",
			"{\"list\": [\n    \"a\", // x\n    \"b\", // y\n    \"s\"\n  ]}"},
		{"a trailing comma", "{\"list\": [\n  \"a\",\n]}", "{\"list\": [\n  \"a\",\n  \"s\",\n]}"},
		{"a line comment behind one line", "{\"list\": [\"a\" // x\n]}", "{\"list\": [\"a\", // x\n    \"s\"\n]}"},
		{"the last of equal keys", `{"list": ["a"], "list": []}`, `{"list": ["a"], "list": ["s"]}`},
	} {
		l := openList(t, c.file, "/list")
		l.Append("s")
		if got := string(l.Pack()); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestAppendCreatesObjects(t *testing.T) {
	l := openList(t, "{\n  \"x\": 1\n}\n", "/a~1b/c")
	l.Append(`"é&>`)
	l.Append("s")
	const want = "{\n  \"x\": 1,\n  \"a/b\": {\"c\": [\"\\\"é&>\", \"s\"]}\n}\n"
	if got := string(l.Pack()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRemove(t *testing.T) {
	for _, c := range []struct {
		name, file string
		gone       []int
		want       string
	}{
		{"one of three", `["a", "b", "c"]`, []int{1}, `["a", "c"]`},
		{"the first", `["a", "b"]`, []int{0}, `["b"]`},
		{"the last", `["a", "b"]`, []int{1}, `["a"]`},
		{"all", "[\n  \"a\",\n  \"b\"\n]", []int{1, 0, 1}, "[]"},
		{"all but a comment", "[\n  \"a\" // x\n]", []int{0}, "[ // x\n]"},
		{"a comment before a comma", `["a" /* x */, "b" /* y */, "c"]`, []int{0, 1}, `[ /* x */ /* y */ "c"]`},
		{"a comment before the last", `["a" /* x */, /* y */ "b" /* z */]`, []int{1}, `["a" /* x */ /* y */ /* z */]`},
		{"comments on lines", "[\n  // a\n  \"a\", // b\n  \"b\", // c\n  \"c\" // d\n]", []int{1, 2},
			"[\n  // a\n  \"a\" // b\n // c\n // d\n]"},
	} {
		l := openList(t, `{"list": `+c.file+`}`, "/list")
		l.Remove(c.gone...)
		if got, want := string(l.Pack()), `{"list": `+c.want+`}`; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

func TestOpenListRefuses(t *testing.T) {
	for file, want := range map[string]string{
		"":                     "unexpected",
		"{":                    "unexpected",
		"[]":                   "got a list, want an object",
		"null":                 "got null, want an object",
		`{"a": 1}`:             "a: got a number, want an object",
		`{"a": {"b": "x"}}`:    "a/b: got a text, want a list",
		`{"a": {"b": {}}}`:     "a/b: got an object, want a list",
		`{"a": {"b": [}}`:      "invalid",
		`{"a": {"b": false}}`:  "a/b: got false, want a list",
		`{"a": {}, "a": [[]]}`: "a: got a list, want an object",
	} {
		if _, err := OpenList([]byte(file), "/a/b"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", file, err, want)
		}
	}
}

// TestListKeepsTheRest appends, replaces and removes in files with comments and entries
// anywhere: the items are those of a plain slice, no comment is lost, and everything
// else stays.
func TestListKeepsTheRest(t *testing.T) {
	for seed := range uint64(4000) {
		p := person{rand.New(rand.NewPCG(seed, 5))}
		have := p.scribbled(t)
		l, err := OpenList([]byte(have), "/permissions/allow")
		if err != nil {
			t.Fatalf("seed %d: %q: %v", seed, have, err)
		}
		var want []string
		for _, item := range l.Items() {
			want = append(want, item.Text)
		}
		for i := range 1 + p.IntN(5) {
			switch n := len(want); {
			case n > 0 && p.IntN(3) == 0:
				at := p.IntN(n)
				l.Remove(at)
				want = slices.Delete(want, at, at+1)
			case n > 0 && p.IntN(3) == 0:
				at := p.IntN(n)
				want[at] = fmt.Sprint("replaced", i)
				l.Replace(at, want[at])
			default:
				want = append(want, fmt.Sprint("added", i))
				l.Append(want[len(want)-1])
			}
		}
		got := string(l.Pack())
		if items := itemsAt(t, []byte(got), "/permissions/allow"); !slices.Equal(items, want) {
			t.Fatalf("seed %d: %q became %q: got %q, want %q", seed, have, got, items, want)
		}
		if a, b := comments(t, have), comments(t, got); !slices.Equal(a, b) {
			t.Fatalf("seed %d: %q became %q: the comments were %q and are %q", seed, have, got, a, b)
		}
		if a, b := withoutList(t, have), withoutList(t, got); a != b {
			t.Fatalf("seed %d: %q became %q: the rest was %s and is %s", seed, have, got, a, b)
		}
	}
}

// scribbled is a person's file with more comments, in the middle of it.
func (p person) scribbled(t *testing.T) string {
	root, err := hujson.Parse([]byte(p.file()))
	if err != nil {
		t.Fatal(err)
	}
	extras := extrasOf(&root)
	for i := range p.IntN(4) {
		e := extras[p.IntN(len(extras))]
		text := []string{"// line %d\n", " // line %d\n  ", "/* block %d */", "\n", "\n\n\t"}[p.IntN(5)]
		if strings.Contains(text, "%") {
			text = fmt.Sprintf(text, i)
		}
		*e = append(hujson.Extra(text), *e...)
	}
	return string(root.Pack())
}

// extrasOf returns everything in a file that may contain comments.
func extrasOf(root *hujson.Value) []*hujson.Extra {
	var extras []*hujson.Extra
	for v := range root.All() {
		extras = append(extras, &v.BeforeExtra)
		if v.AfterExtra != nil {
			extras = append(extras, &v.AfterExtra)
		}
		switch x := v.Value.(type) {
		case *hujson.Object:
			extras = append(extras, &x.AfterExtra)
		case *hujson.Array:
			extras = append(extras, &x.AfterExtra)
		}
	}
	return extras
}

// comments returns the comments of a file, sorted.
func comments(t *testing.T, file string) []string {
	t.Helper()
	root, err := hujson.Parse([]byte(file))
	if err != nil {
		t.Fatalf("%q: %v", file, err)
	}
	var out []string
	for _, e := range extrasOf(&root) {
		for text := strings.TrimSpace(string(*e)); text != ""; text = strings.TrimSpace(text) {
			end := len(text)
			if i := strings.Index(text, "*/"); strings.HasPrefix(text, "/*") {
				end = i + len("*/")
			} else if i := strings.IndexByte(text, '\n'); i >= 0 {
				end = i
			}
			out = append(out, strings.TrimSpace(text[:end]))
			text = text[end:]
		}
	}
	slices.Sort(out)
	return out
}

// withoutList is what a file says beside /permissions/allow.
func withoutList(t *testing.T, file string) string {
	t.Helper()
	root, err := hujson.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if p := find(&root, []string{"permissions"}); p != nil {
		object := p.Value.(*hujson.Object)
		if i := memberIndex(object, "allow"); i >= 0 {
			object.Members = slices.Delete(object.Members, i, i+1)
		}
		if len(object.Members) == 0 {
			i := memberIndex(root.Value.(*hujson.Object), "permissions")
			root.Value.(*hujson.Object).Members = slices.Delete(root.Value.(*hujson.Object).Members, i, i+1)
		}
	}
	return canonical(root)
}

// FuzzList: no file and no text makes an edit panic or break the file.
func FuzzList(f *testing.F) {
	f.Add([]byte("{\"a\": [\n \"s\", // a\n /* b */ \"t\", 1, // c\n]}"), "/a", "x")
	f.Add([]byte(`{"x": [], /* y */ }`), "/a/b", "\u2028\"")
	f.Add([]byte("[\"s\"/**/,//\n]"), "", "s")
	f.Fuzz(func(t *testing.T, have []byte, place, text string) {
		l, err := OpenList(have, place)
		if err != nil || len(l.tokens) == 0 || !utf8.ValidString(place) {
			return
		}
		n := len(l.Items())
		l.Append(text)
		if l.Remove(0); n > 0 {
			l.Replace(0, text)
		}
		again, err := OpenList(l.Pack(), place)
		if err != nil || len(again.Items()) != n {
			t.Fatalf("%q became %q: %v", have, l.Pack(), err)
		}
	})
}
