package compiler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
)

func places(diags diag.List) []string {
	var out []string
	for _, d := range diags {
		out = append(out, d.Pos.String()+" "+string(d.Code))
	}
	return out
}

// The place of a problem is exact in every form of data.
func TestPlaces(t *testing.T) {
	for name, text := range map[string]string{
		"a.cue": `package modec

modes: plan: {
	name:           "Plan"
	roleDefinition: "You plan."
	model:          "gpt-9"
	can: edit: allow: ["docs/**", "!x"]
}
`,
		"evaluated.cue": `package modec

_p: "Plan"
modes: plan: {
	name: _p, roleDefinition: "You plan.", model: "gpt-9"
	can: edit: allow: ["docs/**", "!x"]
}
`,
		"a.yaml": `modes:
  plan:
    name: Plan
    roleDefinition: You plan.
    model: gpt-9
    can: {edit: {allow: ["docs/**", "!x"]}}
`,
		"a.json": `{"modes": {"plan": {
  "name": "Plan", "roleDefinition": "You plan.",
  "model": "gpt-9",
  "can": {"edit": {"allow": ["docs/**", "!x"]}}
}}}
`,
		"a.toml": `[modes.plan]
name = "Plan"
roleDefinition = "You plan."
model = "gpt-9"
can = {edit = {allow = ["docs/**", "!x"]}}
`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "modec/"+name, text)
			_, diags := Load(Source{Root: dir, Dir: "modec"}, Settings{})
			place := func(what, code string) string {
				for i, line := range strings.Split(text, "\n") {
					if j := strings.Index(line, what); j >= 0 {
						return fmt.Sprintf("modec/%s:%d:%d %s", name, i+1, j+1, code)
					}
				}
				return "nowhere"
			}
			model := `"gpt-9"`
			if name == "a.yaml" {
				model = "gpt-9"
			}
			want := []string{place(model, "bad-choice"), place(`"!x"`, "bad-glob")}
			if diff := cmp.Diff(want, places(diags)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Data that is split over files of every form is united, and evaluation changes
// nothing but the places.
func TestFormsUnite(t *testing.T) {
	files := map[string]string{
		"a.cue":           "package modec\n\nmodes: code: name: \"Code\"\n",
		"b/c.yaml":        "modes:\n  code:\n    roleDefinition: |\n      You are.\n      You write.\n",
		"d.json":          `{"modes": {"code": {"description": "\ud83d\ude00 \/"}}, "servers": {"s": {"command": "x", "timeout": 5}}}`,
		"e.toml":          "[modes.code.can]\nread = \"allow\"\n",
		"f.yml":           "# nothing yet\n",
		"schema.cue":      "package modec\n\nimport \"modec.dev/schema\"\n\nschema.#Project\n",
		".hidden/bad.cue": "not CUE at all {",
		"notes.md":        "# no data\n",
	}
	plain := source(t, files)
	m := plain.Mode("code")
	if m.Name != "Code" || m.RoleDefinition != "You are.\nYou write.\n" || m.Description != "😀 /" || m.Can.Read == nil {
		t.Errorf("got %+v", m)
	}
	if s := plain.Server("s"); s.TimeoutSeconds != 5 || s.Type != "stdio" || !s.DefaultEnabled {
		t.Errorf("got %+v", s)
	}
	files["a.cue"] = "package modec\n\nimport \"strings\"\n\nlet c = \"code\"\nmodes: code: name: strings.ToTitle(c)\n"
	evaluated := source(t, files)
	ignore := cmp.Comparer(func(a, b diag.Pos) bool { return true })
	plain.SourceHash, evaluated.SourceHash = "", ""
	if diff := cmp.Diff(plain, evaluated, ignore); diff != "" {
		t.Error(diff)
	}
}

// The hash covers the names and contents of all that was read, prompts too.
func TestSourceHash(t *testing.T) {
	files := map[string]string{"a.cue": "package modec\nmodes: a: {name: \"A\", roleDefinitionFile: \"p.md\"}\n", "p.md": "You are."}
	first := source(t, files).SourceHash
	if again := source(t, files).SourceHash; again != first {
		t.Errorf("got %s and %s for one source", first, again)
	}
	for name, text := range map[string]string{"p.md": "You were.", "b.cue": "package modec\n"} {
		changed := map[string]string{name: text}
		for n, t := range files {
			if _, ok := changed[n]; !ok {
				changed[n] = t
			}
		}
		if source(t, changed).SourceHash == first {
			t.Errorf("%s: the hash does not change", name)
		}
	}
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
			dir := t.TempDir()
			put(t, dir, "modec/"+c.file, c.text)
			p, diags := Load(Source{Root: dir, Dir: "modec"}, Settings{})
			if p != nil || len(diags) != 1 || !strings.Contains(diags[0].Message, c.want) || diags[0].Pos.File == "" {
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
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
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
	b.WriteString("roles: r: extra: x: y: _a7\n")
	return b.String()
}

// Nothing outside the project is read, whatever leads there.
func TestLinksStayInside(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, "secret.cue", "package modec\nroles: r: {}\n")
	dir := t.TempDir()
	put(t, dir, "modec/real.cue", "package modec\nmodes: a: {name: \"A\", roleDefinitionFile: \"linked.md\", customInstructionsFile: \"inside.md\"}\n")
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
	_, diags := Load(Source{Root: dir, Dir: "modec"}, Settings{})
	if diff := cmp.Diff([]string{"modec/linked.cue path-outside"}, places(diags)); diff != "" {
		t.Error(diff)
	}
	os.Remove(filepath.Join(dir, "modec/linked.cue"))
	_, diags = Load(Source{Root: dir, Dir: "modec"}, Settings{})
	if diff := cmp.Diff([]string{"modec/real.cue:2:43 path-outside"}, places(diags)); diff != "" {
		t.Error(diff)
	}
}
