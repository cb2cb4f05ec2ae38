package compiler_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets"
)

// open compiles files of a source, whose names are relative to its folder, to the model.
func open(t testing.TB, files map[string]string) (*compiler.Result, diag.List) {
	t.Helper()
	fsys := memfs.FS{config.File: nil}
	for name, text := range files {
		fsys["modec/"+name] = []byte(text)
	}
	return compiler.Open(t.Context(), compiler.Request{FS: fsys, Targets: targets.All()})
}

// project is open for a source without errors.
func project(t *testing.T, files map[string]string) *ir.Project {
	t.Helper()
	res, diags := open(t, files)
	if res == nil {
		t.Fatal(diags)
	}
	return res.Project
}

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
			_, diags := open(t, map[string]string{name: text})
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
		"a.cue":    "package modec\n\nmodes: code: name: \"Code\"\n",
		"b/c.yaml": "modes:\n  code:\n    roleDefinition: |\n      You are.\n      You write.\n",
		"d.json": `{"modes": {"code": {"description": "\ud83d\ude00 \/"}},` +
			` "servers": {"s": {"command": "x", "timeout": 5}}}`,
		"e.toml":          "[modes.code.can]\nread = \"allow\"\n",
		"f.yml":           "# nothing yet\n",
		"schema.cue":      "package modec\n\nimport \"modec.dev/schema\"\n\nschema.#Project\n",
		".hidden/bad.cue": "not CUE at all {",
		"notes.md":        "# no data\n",
	}
	plain := project(t, files)
	m := plain.Mode("code")
	if m.Name != "Code" || m.RoleDefinition != "You are.\nYou write.\n" ||
		m.Description != "😀 /" || m.Can.Read == nil {
		t.Errorf("got %+v", m)
	}
	if s := plain.Server("s"); s.TimeoutSeconds != 5 || s.Type != "stdio" || !s.DefaultEnabled {
		t.Errorf("got %+v", s)
	}
	files["a.cue"] = "package modec\n\nimport \"strings\"\n\nlet c = \"code\"\nmodes: code: name: strings.ToTitle(c)\n"
	evaluated := project(t, files)
	ignore := cmp.Comparer(func(a, b diag.Pos) bool { return true })
	if diff := cmp.Diff(plain, evaluated, ignore); diff != "" {
		t.Error(diff)
	}
}

// FuzzLoad: no source makes the compiler panic, and what it accepts decides.
func FuzzLoad(f *testing.F) {
	f.Add([]byte("package modec\nmodes: a: {name: \"A\", roleDefinition: \"r\", can: read: \"allow\"}\n"), "cue")
	f.Add([]byte("modes:\n  a:\n    name: A\n    roleDefinition: r\n"), "yaml")
	f.Add([]byte(`{"roles": {"r": {"allowedTools": ["Bash(git *)", "mcp__s__t"], "extends": ["readonly"]}}}`), "json")
	f.Add([]byte("[roles.r]\npermissionMode = \"plan\"\n"), "toml")
	f.Add([]byte("package modec\nlet x = \"A\"\nmodes: a: {name: x, roleDefinition: \"\\(x)\"}\n"), "cue")
	f.Add([]byte("{{{{A:[\"\"*\"\"]}}}}"), "cue") // an error in a list
	for _, pattern := range []string{"../fixtures/*/modec/*", "../fixtures/*/modec/*/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil {
				f.Add(b, strings.TrimPrefix(filepath.Ext(file), "."))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, ext string) {
		if len(data) > 4000 || !strings.Contains("cue yaml json toml", ext) || len(ext) < 3 {
			return
		}
		res, diags := open(t, map[string]string{"f." + ext: string(data)})
		if strings.Contains(diags.Error(), "failure of CUE's evaluator") {
			t.Errorf("a panic: %v", diags)
		}
		if (res == nil) != diags.HasErrors() {
			t.Errorf("got a model %v with %v", res != nil, diags)
		}
		if res != nil {
			if _, err := res.Project.Marshal(); err != nil {
				t.Error(err)
			}
		}
	})
}
