package source

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func places(diags diag.List) []string {
	var out []string
	for _, d := range diags {
		out = append(out, d.Pos.String()+" "+string(d.Code))
	}
	return out
}

// A source that is made to break a reader is refused: a stack that overflows
// cannot be recovered, and a build must end.
func TestHostileSources(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"selectors":    {"a.cue", "package modec\nmodes: " + strings.Repeat("a.", 1<<20) + "a", "levels"},
		"nested names": {"a.cue", "package modec\nmodes: " + strings.Repeat("a: ", 1<<20) + "1", "levels"},
		"lines":        {"a.cue", "package modec\nmodes: " + strings.Repeat("a:\n", 1<<20) + "1", "levels"},
		"operators":    {"a.cue", "package modec\nmodes: " + strings.Repeat("1+", 1<<20) + "1", "levels"},
		"clauses":      {"a.cue", "package modec\n" + strings.Repeat("if true ", 1<<18) + "{}", "levels"},
		"structs":      {"a.cue", "package modec\nmodes: " + strings.Repeat("{a:", 1<<20), "levels"},
		"small":        {"a.cue", "package modec\nmodes: " + strings.Repeat("a:", 1000) + "1", "levels"},
		"flow":         {"a.yaml", "a: " + strings.Repeat("[", 1<<20), "depth"},
		"indents":      {"a.yaml", indents(600), "levels"},
		"aliases":      {"a.yaml", aliases(), "aliases"},
		"json":         {"a.json", strings.Repeat("[", 1<<20), "JSON"},
		"json 2":       {"a.json", strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), "levels"},
		"toml keys":    {"a.toml", strings.Repeat("a.", 1<<20) + "a = 1", "levels"},
		"toml inline":  {"a.toml", "a = {" + strings.Repeat("a.", 1<<20) + "a = 1}", "levels"},
		"toml tables":  {"a.toml", strings.Repeat("[[a.b]]\n", 1<<17), "tables"},
		"values":       {"a.cue", values(), "values"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, diags := Load(memfs.FS{"modec/" + c.file: []byte(c.text)}, "modec")
			if tree.Root != nil || len(diags) != 1 || !diags.HasErrors() ||
				!strings.Contains(diags[0].Message, c.want) || diags[0].Pos.File == "" {
				t.Errorf("got %.300v, want one error about %q", diags, c.want)
			}
		})
	}
}

func indents(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%*sa:\n", i, "")
	}
	return b.String()
}

// aliases is the "billion laughs" of YAML.
func aliases() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		nine := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", ")
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, nine)
	}
	return b.String()
}

// values is the same in CUE.
func values() string {
	var b strings.Builder
	b.WriteString("package modec\n_a0: [1, 1, 1, 1, 1, 1, 1, 1, 1]\n")
	for i := 1; i < 8; i++ {
		fmt.Fprintf(&b, "_a%d: [%s]\n", i, strings.Repeat(fmt.Sprintf("_a%d, ", i-1), 9))
	}
	b.WriteString("roles: r: agents: x: settings: y: _a7\n")
	return b.String()
}

// Nothing outside the project is read, whatever leads there.
func TestLinksStayInside(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, "secret.cue", "package modec\nroles: r: {}\n")
	dir := t.TempDir()
	put(t, dir, "modec/real.cue", "package modec\n"+
		"modes: a: {name: \"A\", roleDefinitionFile: \"linked.md\", customInstructionsFile: \"inside.md\"}\n")
	put(t, dir, "shared/inside.md", "Inside.")
	for link, to := range map[string]string{
		"modec/linked.cue": filepath.Join(outside, "secret.cue"),
		"modec/linked.md":  filepath.Join(outside, "secret.cue"),
		"modec/inside.md":  "../shared/inside.md",
		"modec/folder":     outside, // not followed: its files are not listed
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, diags := Load(root.FS(), "modec")
	if diff := cmp.Diff([]string{"modec/linked.cue path-outside"}, places(diags)); diff != "" {
		t.Error(diff)
	}
	os.Remove(filepath.Join(dir, "modec/linked.cue"))
	tree, diags := Load(root.FS(), "modec")
	if diff := cmp.Diff([]string{"modec/real.cue:2:43 path-outside"}, places(diags)); diff != "" {
		t.Error(diff)
	}
	if got := tree.Texts; len(got) != 1 || got["modec/inside.md"] != "Inside." {
		t.Errorf("got texts %q, want the one inside", got)
	}
}

// A link that leaves the project is told from one that leads nowhere. Package os does not
// export the error for it: this test fails when Go returns another one.
func TestLinkOutside(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "modec/a.cue", "package modec\n")
	outside := t.TempDir()
	put(t, outside, "x.cue", "package modec\n")
	for name, to := range map[string]string{"x.cue": filepath.Join(outside, "x.cue"), "y.cue": "none.cue"} {
		if err := os.Symlink(to, filepath.Join(dir, "modec", name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, diags := Load(root.FS(), "modec")
	if d := cmp.Diff([]string{"modec/x.cue path-outside", "modec/y.cue unreadable-file"}, places(diags)); d != "" {
		t.Error(d)
	}
}

// What is said in any form of data is the same, and evaluated it is too.
func TestFormsSayTheSame(t *testing.T) {
	forms := map[string]string{
		"a.cue": `package modec

modes: a: {name: "A\n", extends: ["x", "y"]}
servers: s: {timeout: 1K, on: true, f: -1.5}
`,
		"evaluated.cue": `package modec

import "modec.dev/schema"

let n = "A\n"
_hidden: 1
modes: a: schema.#Mode & {name: n, extends: ["x", "y"]}
servers: s: {timeout: 10 * 100, on: true, f: -1.5}
`,
		"a.yaml": `modes:
  a:
    name: |
      A
    extends: [x, y]
servers:
  s: {timeout: 1000, on: true, f: -1.5}
`,
		"a.json": `{
	"modes": {"a": {"name": "A\n", "extends": ["x", "y"]}},
	"servers": {"s": {"timeout": 1000, "on": true, "f": -1.5}}
}
`,
		"a.toml": `[modes.a]
name = "A\n"
extends = ["x", "y"]
[servers.s]
timeout = 1000
on = true
f = -1.5
`,
	}
	var first *Node
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		tree, diags := Load(memfs.FS{"modec/" + name: []byte(forms[name])}, "modec")
		switch {
		case len(diags) > 0:
			t.Errorf("%s: %v", name, diags)
		case first == nil:
			first = tree.Root
		case !Equal(first, tree.Root):
			t.Errorf("%s: it says something else", name)
		}
	}
	if n := first.Get("modes").Get("a").Get("name"); n == nil || n.Text != "A\n" {
		t.Errorf("got the name %v", n)
	}
	if n := first.Get("servers").Get("s").Get("timeout"); n == nil || n.Typed() != "1000 (int)" {
		t.Errorf("got the timeout %v", n)
	}
}

// A file may embed the schema for its editor, and says nothing with it. Nothing else is
// imported from outside of CUE.
func TestImports(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"the schema":      {"import \"modec.dev/schema\"\n\nschema.#Project\nroles: r: {}\n", ""},
		"by another name": {"import s \"modec.dev/schema@v0\"\n\ns.#Project\nroles: r: {}\n", ""},
		"in a pattern":    {"import \"modec.dev/schema\"\n\nroles?: [string]: schema.#Role\nroles: r: {}\n", ""},
		"CUE's own":       {"import \"strings\"\n\nroles: (strings.ToLower(\"R\")): {}\n", ""},
		"somebody's":      {"import \"example.com/x\"\n\nroles: r: x.y\n", "modec/a.cue:3:8 bad-import"},
		"beside the schema": {"import (\n\t\"modec.dev/schema\"\n\t\"example.com/x\"\n)\n\nroles: r: x.y\n",
			"modec/a.cue:5:2 bad-import"},
		"an unknown of CUE's": {"import \"nothing\"\n\nroles: r: nothing.x\n", "modec/a.cue:3:8 cue"},
	} {
		tree, diags := Load(memfs.FS{"modec/a.cue": []byte("package modec\n\n" + c.text)}, "modec")
		if got := strings.Join(places(diags), "\n"); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if c.want == "" && tree.Root.Get("roles").Get("r") == nil {
			t.Errorf("%s: the role is gone", name)
		}
	}
}

// Places that disagree are reported in both ways of reading, the later one first.
func TestConflicts(t *testing.T) {
	for name, more := range map[string]string{"plain": "", "evaluated": "_x: 1\ny: _x\n"} {
		_, diags := Load(memfs.FS{
			"modec/a.cue": []byte("package modec\nmodes: a: {name: \"A\", model: \"opus\"}\n"),
			"modec/b.cue": []byte("package modec\nmodes: a: {name: \"B\", model: \"haiku\"}\n" + more),
		}, "modec")
		codes := map[diag.Code]int{}
		for _, d := range diags {
			codes[d.Code]++
			if d.Pos.Line != 2 || len(d.Related) != 1 || d.Related[0].Pos.Line != 2 ||
				d.Related[0].Pos.File == d.Pos.File {
				t.Errorf("%s: got %+v, want both places", name, d)
			}
		}
		if want := map[diag.Code]int{diag.Conflict: 1, diag.DuplicateSlug: 1}; !cmp.Equal(codes, want) {
			t.Errorf("%s: got %v", name, diags)
		}
	}
}

// A copy of a node shares what did not change, and the original keeps what it says.
func TestWith(t *testing.T) {
	n, err := ParseData("a.json", []byte(`{"a": 1, "b": [2], "c": 3}`))
	if err != nil {
		t.Fatal(err)
	}
	if n.With(nil, nil) != n {
		t.Error("a copy without a change is another node")
	}
	list := n.Get("b").WithElems(nil)
	c := n.With(map[string]*Node{"b": list}, []string{"a"})
	if c.Get("a") != nil || !c.Wrote("a") || c.Get("b") != list || c.Get("c") != n.Get("c") || len(c.Fields) != 2 {
		t.Errorf("got %+v", c)
	}
	if _, ok := c.Lookup("a"); ok {
		t.Error("a field that was taken out is found")
	}
	if f, ok := c.Lookup("c"); !ok || f.Node.Text != "3" || f.Pos.Col != 21 {
		t.Errorf("got %+v", f)
	}
	if again := c.With(map[string]*Node{"b": list}, nil); !again.Wrote("a") || again.Get("a") != nil {
		t.Error("a copy of a copy forgets what was taken out")
	}
	if n.Get("a") == nil || len(n.Get("b").Elems) != 1 || c.Wrote("d") {
		t.Error("the original changed")
	}
}

// An overlay adds files and replaces some, and everything else is as it was.
func TestOverlay(t *testing.T) {
	under := memfs.FS{
		"modec.toml":     []byte("x"),
		"modec/a.cue":    []byte("package modec\nmodes: a: name: \"A\"\n"),
		"modec/b/c.yaml": []byte("roles: {r: {}}\n"),
	}
	fsys, err := Overlay(under, "modec", memfs.FS{
		"modec/a.cue":    []byte("package modec\nmodes: z: name: \"Z\"\n"),
		"modec/new.yaml": []byte("roles: {n: {}}\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	tree, diags := Load(fsys, "modec")
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if tree.Root.Get("modes").Get("a") != nil || tree.Root.Get("modes").Get("z") == nil ||
		tree.Root.Get("roles").Get("r") == nil || tree.Root.Get("roles").Get("n") == nil {
		t.Errorf("got files %v", slices.Sorted(maps.Keys(tree.Data)))
	}
	if b, err := fs.ReadFile(fsys, "modec.toml"); err != nil || string(b) != "x" {
		t.Errorf("got %q, %v", b, err)
	}
	if _, err := fs.ReadFile(fsys, "absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if string(under["modec/a.cue"]) != "package modec\nmodes: a: name: \"A\"\n" {
		t.Error("the files below changed")
	}
}

// Only CUE files are formatted, and one that does not parse stops it.
func TestFormat(t *testing.T) {
	files := memfs.FS{
		"modec/a.cue":  []byte("package modec\nmodes:  a: {name:\"A\"}\n"),
		"modec/b.cue":  []byte("package modec\n\nroles: r: {}\n"),
		"modec/c.yaml": []byte("roles:   {s:   {}}\n"),
	}
	got, diags := Format(files, "modec")
	if len(diags) > 0 || len(got) != 1 || got[0].Path != "modec/a.cue" ||
		string(got[0].Was) != string(files["modec/a.cue"]) ||
		string(got[0].Now) != "package modec\n\nmodes: a: {name: \"A\"}\n" {
		t.Errorf("got %q, %v", got, diags)
	}
	files["modec/d.cue"] = []byte("package modec\n{\n")
	if got, diags := Format(files, "modec"); got != nil || !diags.HasErrors() || diags[0].Pos.File != "modec/d.cue" {
		t.Errorf("got %q, %v", got, diags)
	}
}
