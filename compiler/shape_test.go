package compiler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"golang.org/x/tools/txtar"

	"modec.dev/modec/compiler/diag"
)

var definitions = map[string]string{"servers": "#Server", "modes": "#Mode", "roles": "#Role", "policies": "#Policy"}

// compareVerdicts checks every server, mode, role and policy of some files by
// its shape and by CUE, and returns how many it compared.
func compareVerdicts(t *testing.T, name string, files map[string][]byte) int {
	t.Helper()
	schema, err := schemaValue()
	if err != nil {
		t.Fatal(err)
	}
	sh, err := loadShapes()
	if err != nil {
		t.Fatal(err)
	}
	inst := build.NewContext().NewInstance("", nil)
	root := &node{kind: structKind}
	for file, data := range files {
		f, err := parse(file, data)
		if err != nil {
			return 0
		}
		var diags diag.List
		n, ok := (literals{&diags}).file(f)
		if !ok || len(diags) > 0 || n.kind != structKind {
			return 0 // not plain data, or files that disagree
		}
		if root = unify(root, n, "", &diags); len(diags) > 0 {
			return 0
		}
		if err := inst.AddSyntax(f); err != nil {
			return 0
		}
	}
	data := cuecontext.New().BuildInstance(inst)
	compared := 0
	for sec, def := range definitions {
		for _, item := range root.get(sec).list() {
			var diags diag.List
			sh.of[sec].check(item.node, sec, &diags)
			v := data.LookupPath(cue.MakePath(cue.Str(sec), cue.Str(item.name)))
			err := schema.LookupPath(cue.ParsePath(def)).Unify(v).Validate(cue.Concrete(true))
			if (len(diags) > 0) != (err != nil) {
				t.Errorf("%s: %s.%s: the shape says %v, CUE says %v", name, sec, item.name, diags, err)
			}
			compared++
		}
	}
	return compared
}

func (n *node) list() []field {
	if n == nil || n.kind != structKind {
		return nil
	}
	return n.fields
}

// TestShapesAgreeWithCUE holds the shapes to the evaluator's verdict on every
// fixture, valid or not.
func TestShapesAgreeWithCUE(t *testing.T) {
	compared := 0
	err := filepath.WalkDir("../fixtures", func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		switch ext := filepath.Ext(p); {
		case ext == ".txtar":
			files := map[string][]byte{}
			for _, f := range txtar.Parse(b).Files {
				switch filepath.Ext(f.Name) {
				case ".cue", ".yaml", ".json":
					files[f.Name] = f.Data
				}
			}
			compared += compareVerdicts(t, p, files)
		case ext == ".cue", ext == ".yaml", ext == ".json":
			compared += compareVerdicts(t, p, map[string][]byte{p: b})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if compared < 150 {
		t.Errorf("compared %d entities, want at least 150", compared)
	}
}

// FuzzShapes looks for data on which the shapes and CUE disagree.
func FuzzShapes(f *testing.F) {
	for _, s := range []string{
		`modes: a: {name: "A", roleDefinition: "r", can: {read: "allow", edit: {allow: ["x", {regex: "y"}], guarded: [".git/x"]}}}`,
		`roles: r: {permissionMode: "plan", claims: {a: "b", c: ["d"]}, tools: [], env: X: "1"}`,
		`servers: s: {command: "x", timeout: 5, tools: t: risk: "read"}`,
		`policies: p: can: {mcp: {default: "ask", s: {allow: ["*"], resources: "deny"}}, outside: read: "ask"}`,
		`modes: a: {name: 1, can: {read: "x", edit: [], web: {allow: "x"}}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 2000 {
			compareVerdicts(t, "fuzz", map[string][]byte{"f.cue": []byte(text)})
		}
	})
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
		dir := t.TempDir()
		put(t, dir, "modec/f."+ext, string(data))
		p, diags := Load(Source{Root: dir, Dir: "modec"}, Settings{ClosedInventory: true})
		if strings.Contains(diags.Error(), "failure of CUE's evaluator") {
			t.Errorf("a panic: %v", diags)
		}
		if (p == nil) != diags.HasErrors() {
			t.Errorf("got a model %v with %v", p != nil, diags)
		}
		if p != nil {
			if _, err := p.Marshal(); err != nil {
				t.Error(err)
			}
		}
	})
}
