package layout_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/compiler/located"
)

// modes is the style of a list of objects.
var modes = layout.Style{
	Read: func(data []byte) (*located.Value, string, error) {
		v, err := located.YAML("f", data)
		return v, "", err
	},
	List: "modes", ID: "slug",
	Ignored: func(key string) bool { return key == "source" },
	Same: func(key string, a, b *located.Value) bool {
		return key == "text" && strings.TrimSpace(a.Text) == strings.TrimSpace(b.Text)
	},
}

// page is the style of front matter.
var page = layout.Style{
	Read: func(data []byte) (*located.Value, string, error) {
		front, rest, ok := strings.Cut(strings.TrimPrefix(string(data), "---\n"), "\n---\n")
		if !ok {
			return nil, "", fmt.Errorf("got no front matter")
		}
		v, err := located.YAML("f", []byte("\n"+front))
		return v, rest, err
	},
	Same: func(key string, a, b *located.Value) bool { return key == "about" && layout.SameText(a, b) },
}

// What an agent ignores stays in its place, in TOML too, where the rest changes.
func TestIgnoredKeysStay(t *testing.T) {
	s := layout.Style{Read: func(data []byte) (*located.Value, string, error) {
		v, err := located.TOML("f", data)
		return v, "", err
	}, Ignored: func(key string) bool { return key == "sandbox" }}
	have := "name = 'a'\nsandbox = \"x\" # mine\nabout = \"\"\"\nb\n\"\"\"\n"
	got := s.Keep([]byte(have), []byte("name = \"a\"\nabout = \"c\"\nmodel = \"m\"\n"), nil, false)
	if want := "name = 'a'\nsandbox = \"x\" # mine\nabout = \"c\"\nmodel = \"m\"\n"; string(got) != want {
		t.Errorf("got\n%s", got)
	}
}

func TestKeep(t *testing.T) {
	const (
		ours   = "modes: # ours\n  - slug: a\n    groups: &all [read, edit, command] # these\n"
		blocks = "modes:\n- slug: a\n  groups:\n    # first\n    - 'read'\n    - edit # most\n\n    - command\n"
		asked  = "\n      - - edit\n        - regex: \"a, b\"\n          about: \"x\""
		flow   = `[edit, {regex: "a, b", about: "x"}]`
	)
	groups := func(edit string) string {
		if !strings.HasPrefix(edit, "\n") {
			edit = "\n      - " + edit
		}
		return "    groups:\n      - read" + edit + "\n      - command\n"
	}
	one := func(edit string) string { return "modes:\n  - slug: \"a\"\n" + groups(edit) }
	both := func(a, b string) string { return one(a) + "  - slug: \"b\"\n" + groups(b) }
	const want = "# modec\nmodes:\n  - slug: \"a\"\n    name: \"A\"\n    groups:\n      - read\n" +
		"  - slug: \"b\"\n    name: \"B\"\n    groups:\n      - edit\n"
	for _, x := range []struct {
		name             string
		style            *layout.Style
		have, want, kept string
	}{
		{"the same", &modes, "modes:\n- name: A # ours\n  slug: a\n  groups: [read]\n\n- {slug: b, name: B, groups: [edit]}\n", want, "="},
		{"one differs", &modes,
			"# top\nmodes:\n  # first\n- name: A # ours\n  slug: a\n  groups: [read]\n\n# second\n- slug: b\n  groups: [read] # why\n  source: project\n  name: B\n\n# the end\n",
			want,
			"# top\nmodes:\n  # first\n- name: A # ours\n  slug: a\n  groups: [read]\n\n# second\n- slug: b\n  groups: [edit] # why\n  source: project\n  name: B\n\n# the end\n"},
		{"another order", &modes, "modes:\n  - slug: b\n    name: B\n    groups: [edit]\n  - slug: a\n    name: A\n    groups: [read]", want,
			"modes:\n  - slug: a\n    name: A\n    groups: [read]\n  - slug: b\n    name: B\n    groups: [edit]"},
		{"one is gone and one is new", &modes, "modes:\n    - slug: c\n      name: C\n      groups: []\n    - slug: a\n      name: A\n      groups: [read]\nother: 1\n", want, "new"},
		{"a key twice", &modes, "modes:\n- slug: a\n  name: A\n  name: A\n  groups: [read]\n- {slug: b, name: B, groups: [edit]}\n", want, "new"},
		{"an anchor", &modes, "modes:\n- slug: a\n  name: &x A\n  groups: [read]\n- {slug: b, name: B, groups: [edit]}\n", want, "="},
		{"a tag", &modes, "modes:\n- slug: a\n  name: !!str A\n  groups: [read]\n- {slug: b, name: B, groups: [edit]}\n", want, "new"},
		{"two documents", &modes, "modes:\n- slug: a\n  name: A\n  groups: [read]\n- {slug: b, name: B, groups: [edit]}\n---\nx: 1\n", want, "new"},
		{"white space around a text", &modes, "modes:\n- slug: a\n  text: |\n    One.\n    Two.\n", "modes:\n  - slug: a\n    text: \"One.\\nTwo.\"\n", "="},
		{"line breaks of Windows", &modes, "modes:\r\n- {slug: a}\r\n", "modes:\n  - slug: a\n", "="},
		{"line breaks of Windows, one differs", &modes, "# top\r\nmodes:\r\n- slug: a\r\n  name: A\r\n",
			"modes:\n  - slug: a\n    name: B\n", "# top\r\nmodes:\r\n- slug: a\r\n  name: B\r\n"},
		{"line breaks of both", &modes, "modes:\r\n- {slug: a}\n", "modes:\n  - slug: a\n", "new"},
		{"an anchor that comes to say the new value", &modes, ours + "  - {slug: b, groups: *all}\n",
			both(asked, asked), strings.Replace(ours, "edit", flow, 1) + "  - {slug: b, groups: *all}\n"},
		{"an alias that does not", &modes, ours + "  - slug: b\n    groups: *all # too\n", both(asked, `"edit"`),
			strings.Replace(ours, "edit", flow, 1) + "  - slug: b\n    groups: [read, \"edit\", command] # too\n"},
		{"only an alias differs", &modes, ours + "  - slug: b\n    groups: *all # too\n", both(`"edit"`, asked),
			ours + "  - slug: b\n    groups: [read, " + flow + ", command] # too\n"},
		{"a text becomes a list", &modes, blocks, one(asked), strings.Replace(blocks, "- edit # most",
			"- - edit # most\n      - regex: \"a, b\"\n        about: \"x\"", 1)},
		{"a list becomes a text", &modes, strings.Replace(blocks, "- edit # most",
			"- - edit # most\n      - regex: a\n        about: 'x' # it", 1), one("edit"), blocks},
		{"a text in a list in quotes", &modes, strings.Replace(blocks, "- edit # most",
			"- - edit # most\n      - regex: 'a' # it\n        about: y", 1), one(asked), strings.Replace(blocks, "- edit # most",
			"- - edit # most\n      - regex: 'a, b' # it\n        about: x", 1)},
		{"a key is new", &modes, strings.Replace(blocks, "- edit # most",
			"- [edit, {regex: a}] # most", 1), one(asked), strings.Replace(blocks, "- edit # most",
			"- [edit, {regex: 'a, b', about: \"x\"}] # most", 1)},
		{"one item less in brackets", &modes, "modes:\n- slug: a\n  groups: [ read, [edit, {regex: 'x'}], old ] # ours\n", one(asked),
			"modes:\n- slug: a\n  groups: [read, [edit, {regex: 'a, b', about: \"x\"}], command] # ours\n"},
		{"front matter", &page, "---\n# mine\nname: x\ntools: a\nmodel: b\n---\n\nHello\n", "---\nname: \"x\"\nmodel: \"c\"\n---\nHello\n",
			"---\n# mine\nname: x\nmodel: c\n---\n\nHello\n"},
		{"another prompt", &page, "---\nname: x # mine\n---\n\nHello\n", "---\nname: \"x\"\n---\nBye\n", "---\nname: x # mine\n---\n\nBye\n"},
		{"another prompt at once", &page, "---\nname: x # mine\n---\nHello\n", "---\nname: \"x\"\n---\n\nBye\n", "---\nname: x # mine\n---\nBye\n"},
		{"a first prompt", &page, "---\nname: x # mine\n---\n\n\n", "---\nname: \"x\"\n---\n\nBye\n", "---\nname: x # mine\n---\n\nBye\n"},
		{"a block at the end", &page, "---\nname: x\nabout: |\n  A\n  b\n---\nHello\n", "---\nname: \"x\"\nabout: \"A\\nb\"\nhooks: \"y\"\n---\nHello\n",
			"---\nname: x\nabout: |\n  A\n  b\nhooks: \"y\"\n---\nHello\n"},
		{"a folded block before another key", &page, "---\nabout: >\n  A\n  b\nname: x\n---\nHello\n", "---\nname: \"x\"\nabout: \"A b\"\nhooks: \"y\"\n---\nHello\n",
			"---\nabout: >\n  A\n  b\nname: x\nhooks: \"y\"\n---\nHello\n"},
	} {
		kept := x.kept
		switch kept {
		case "=":
			kept = x.have
		case "new":
			kept = x.want
		}
		if got := string(x.style.Keep([]byte(x.have), []byte(x.want), none, true)); got != kept {
			t.Errorf("%s: got\n%s\nwant\n%s", x.name, got, kept)
		}
	}
}

// Whatever a person wrote, the result says what modec would write, and a second run changes nothing.
func TestKeepDrawn(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 1))
	kept := 0
	for range 3000 {
		have, want := drawn(r), drawn(r)
		if r.IntN(3) == 0 {
			want = have
		}
		a, b := []byte(have.text(r)), []byte(want.text(rand.New(rand.NewPCG(1, 1))))
		got := modes.Keep(a, b, none, true)
		if again := modes.Keep(got, b, none, true); string(again) != string(got) {
			t.Fatalf("the second run changes\n%s\nto\n%s", got, again)
		}
		v, err := located.YAML("f", got)
		if err != nil {
			t.Fatalf("%v in\n%s\nof\n%s\nand\n%s", err, got, a, b)
		}
		if says, wants := read(v), want.says(); says != wants {
			t.Fatalf("got %s, want %s in\n%s\nof\n%s\nand\n%s", says, wants, got, a, b)
		}
		if string(got) != string(b) {
			kept++
		}
	}
	if kept < 800 {
		t.Errorf("kept something in %d files only", kept)
	}
}

// Whatever lists a person wrote, in brackets or in lines, with anchors and comments, the result says what modec
// would write, and a second run changes nothing.
func TestKeepDrawnLists(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 2))
	exprs := []string{"", "a", `^(?!x|[^/]*).*\.md$`, "it's, {b}", "c: d #", "true"}
	item := func() []string {
		var list []string
		for _, name := range []string{"read", "edit", "command"} {
			if r.IntN(4) > 0 {
				list = append(list, name, exprs[r.IntN(len(exprs))], exprs[r.IntN(len(exprs))])
			}
		}
		return list
	}
	quoted := func(s string) string {
		switch r.IntN(3) {
		case 0:
			return "'" + strings.ReplaceAll(s, "'", "''") + "'"
		case 1:
			if !strings.ContainsAny(s, ",[]{}#:'?") && s != "true" {
				return s
			}
		}
		return fmt.Sprintf("%q", s)
	}
	comment := func() string { return []string{"\n", "\n", " # why\n", " # it's [so]\n    # more\n"}[r.IntN(4)] }
	text := func(lists [][]string, plain bool) string {
		b := "modes:\n"
		for i, list := range lists {
			b += fmt.Sprintf("  - slug: %c\n    groups:", 'a'+i)
			flow, anchor := !plain && r.IntN(2) == 0, ""
			if !plain && i == 0 {
				anchor = " &one"
			}
			if !plain && i > 0 && slices.Equal(list, lists[0]) {
				b += " *one" + comment()
				continue
			}
			var items []string
			for x := range slices.Chunk(list, 3) {
				switch {
				case x[1] == "":
					items = append(items, x[0])
				case flow || !plain && r.IntN(2) == 0:
					items = append(items, "["+x[0]+", {regex: "+quoted(x[1])+", about: "+quoted(x[2])+"}]")
				default:
					items = append(items, "- "+x[0]+"\n        - regex: "+quoted(x[1])+"\n          about: "+quoted(x[2]))
				}
			}
			switch {
			case flow || len(items) == 0:
				b += anchor + " [" + strings.Join(items, ", ") + "]" + comment()
				continue
			}
			b += anchor + "\n"
			for _, it := range items {
				b += "      - " + it
				if plain {
					b += "\n"
				} else {
					b += comment()
				}
			}
		}
		return b
	}
	kept := 0
	for range 1500 {
		lists := [][]string{item(), item(), item()}
		if r.IntN(2) == 0 {
			lists[1+r.IntN(2)] = lists[0]
		}
		have := text(lists, false)
		for i := range lists {
			if r.IntN(2) == 0 {
				lists[i] = item()
			}
		}
		if r.IntN(3) == 0 {
			lists[1] = lists[0]
		}
		want := text(lists, true)
		got := modes.Keep([]byte(have), []byte(want), none, true)
		if again := modes.Keep(got, []byte(want), none, true); string(again) != string(got) {
			t.Fatalf("the second run changes\n%s\nto\n%s", got, again)
		}
		says, err := located.YAML("f", got)
		wants, wrong := located.YAML("f", []byte(want))
		if err != nil || wrong != nil || !layout.Equal(says, wants) {
			t.Fatalf("%v, %v in\n%s\nof\n%s\nand\n%s", err, wrong, got, have, want)
		}
		if string(got) != want {
			kept++
		}
	}
	if kept < 1100 {
		t.Errorf("kept something in %d files only", kept)
	}
}

type drawnFile []map[string]string

var values = []string{"A", "B: c", "# no", "x\ny\n\n z", "- d", "'q'", "\"w\"", "|", "ü"}

func drawn(r *rand.Rand) (f drawnFile) {
	for _, slug := range []string{"a", "b", "c"} {
		if r.IntN(3) == 0 {
			continue
		}
		m := map[string]string{"slug": slug}
		for _, key := range []string{"name", "when", "role"} {
			if r.IntN(3) > 0 {
				m[key] = values[r.IntN(len(values))]
			}
		}
		f = append(f, m)
	}
	r.Shuffle(len(f), func(i, j int) { f[i], f[j] = f[j], f[i] })
	return f
}

func (f drawnFile) text(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("# top\nmodes:")
	if len(f) == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	dash, step := strings.Repeat(" ", r.IntN(3)), strings.Repeat(" ", 1+r.IntN(3))
	for _, m := range f {
		if r.IntN(4) == 0 {
			b.WriteString(dash + "# about it\n")
		}
		keys := []string{"slug", "name", "when", "role"}
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		lead := dash + "-" + step
		for _, key := range keys {
			if v, ok := m[key]; ok {
				b.WriteString(lead + key + ": " + scalar(r, v, strings.Repeat(" ", len(dash)+1+len(step))) + "\n")
				lead = strings.Repeat(" ", len(lead))
				if r.IntN(5) == 0 {
					b.WriteString(lead + "# after " + key + "\n")
				}
			}
		}
		if r.IntN(3) == 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

func scalar(r *rand.Rand, v, indent string) string {
	if strings.Contains(v, "\n") && r.IntN(2) == 0 {
		return "|-\n" + indent + "  " + strings.ReplaceAll(v, "\n", "\n"+indent+"  ")
	}
	if strings.Contains(v, "\n") || r.IntN(2) == 0 || strings.ContainsAny(v, ":#-'\"|") {
		return fmt.Sprintf("%q", v)
	}
	return v
}

func (f drawnFile) says() string {
	var b strings.Builder
	for _, m := range f {
		for _, key := range []string{"slug", "name", "when", "role"} {
			if v, ok := m[key]; ok {
				fmt.Fprintf(&b, "%s=%q ", key, v)
			}
		}
		b.WriteString("; ")
	}
	return b.String()
}

func read(v *located.Value) string {
	var f drawnFile
	for _, x := range v.Get("modes").List() {
		m := map[string]string{}
		for _, field := range x.Fields() {
			m[field.Key], _ = field.Value.Str()
		}
		f = append(f, m)
	}
	return f.says()
}

func none(_, _ []byte, _ string) ([]byte, error) { return nil, errors.New("no JSON") }

func TestLines(t *testing.T) {
	ignored := &layout.Style{Comment: "#", Line: func(line string) string { return strings.TrimRight(line, " ") }}
	for have, c := range map[string]struct{ want, kept string }{
		"b\n# keys\n\na\n":    {"# By modec.\na\nb\n", "b\n# keys\n\na\n"},
		"b\n# keys\nx\n":      {"# By modec.\na\nb\n", "b\n# keys\na\n"},
		"b\n!b/c\n# keys":     {"b\n", "b\n# keys\n"},
		"b":                   {"b\n", "b"},
		"b  \n# keys":         {"b\n", "b  \n# keys"},
		"x\n# keys\n":         {"# By modec.\na\n", "# By modec.\na\n"},
		"# keys\na\n":         {"a\n!b\n", "a\n!b\n"},
		"# By modec.\na\n":    {"# By modec.\na\nb\n", "# By modec.\na\nb\n"},
		"# By modec.\na\nb\n": {"# By modec.\nb\n", "# By modec.\nb\n"},
	} {
		if got := string(ignored.Keep([]byte(have), []byte(c.want), none, true)); got != c.kept {
			t.Errorf("%q: got %q, want %q", have, got, c.kept)
		}
	}
}
