package shape

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"golang.org/x/tools/txtar"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/source"
	schema "modec.dev/modec/cue"
)

var definitionOf = map[string]string{"servers": "#Server", "modes": "#Mode", "roles": "#Role", "policies": "#Policy"}

// together reads files of plain data as one source. It returns nil where they are
// more than plain data or disagree.
func together(files map[string][]byte) *source.Node {
	fsys := memfs.FS{}
	for name, data := range files {
		n, err := source.ParseData(name, data)
		if err != nil || n.Kind != source.Struct {
			return nil
		}
		if len(files) == 1 {
			return n
		}
		fsys["modec/"+name] = data
	}
	tree, diags := source.Load(fsys, "modec")
	if slices.ContainsFunc(diags, func(d diag.Diagnostic) bool {
		return d.Code != diag.UnreadableFile && d.Code != diag.PathOutside // of prompts, which are not part of the data
	}) {
		return nil
	}
	return tree.Root
}

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
	root := together(files)
	if root == nil {
		return 0
	}
	inst := build.NewContext().NewInstance("", nil)
	for file, data := range files {
		f, err := source.Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		if err := inst.AddSyntax(f); err != nil {
			return 0
		}
	}
	data := cuecontext.New().BuildInstance(inst)
	compared := 0
	if n := root.Get(everyone); n != nil && n.Kind == source.Struct {
		var diags diag.List
		sh.of[everyone].check(n, everyone, &diags)
		v := data.LookupPath(cue.MakePath(cue.Str(everyone)))
		err := schema.LookupPath(cue.ParsePath("#Everyone")).Unify(v).Validate(cue.Concrete(true))
		if (len(diags) > 0) != (err != nil) {
			t.Errorf("%s: everyone: the shape says %v, CUE says %v", name, diags, err)
		}
		compared++
	}
	for sec, def := range definitionOf {
		items := root.Get(sec)
		if items == nil || items.Kind != source.Struct {
			continue
		}
		for _, item := range items.Fields {
			var diags diag.List
			sh.of[sec].check(item.Node, sec, &diags)
			v := data.LookupPath(cue.MakePath(cue.Str(sec), cue.Str(item.Name)))
			err := schema.LookupPath(cue.ParsePath(def)).Unify(v).Validate(cue.Concrete(true))
			if (len(diags) > 0) != (err != nil) {
				t.Errorf("%s: %s.%s: the shape says %v, CUE says %v", name, sec, item.Name, diags, err)
			}
			compared++
		}
	}
	return compared
}

// TestShapesAgreeWithCUE holds the shapes to the evaluator's verdict on every
// fixture, valid or not.
func TestShapesAgreeWithCUE(t *testing.T) {
	compared := 0
	err := filepath.WalkDir("../../fixtures", func(p string, d os.DirEntry, err error) error {
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
			compared += compareVerdicts(t, p, map[string][]byte{filepath.Base(p): b})
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
		`modes: a: {name: "A", roleDefinition: "r"}
modes: a: can: {read: "allow", edit: {allow: ["x", {regex: "y"}], guarded: [".git/x"]}}`,
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

// The schema's definitions of names, for editors, and the compiler's own rules
// are one.
func TestNamesAgreeWithTheSchema(t *testing.T) {
	ctx := cuecontext.New()
	v := ctx.CompileString(schema.Text())
	names := []string{
		"", " ", "a", "A-1", "a_b", "a.b", "a:b", "a*b", "a b", " a", "a ", "é", "🏗️", "\n", "a\nb", ".", "-",
		"a\x00b", "\x1b", "a\x7f", "a\u0085b", "a\tb",
		strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 128), strings.Repeat("x", 129),
		strings.Repeat("é", 256), strings.Repeat("é", 257),
		strings.Repeat(" ", 255) + "x", strings.Repeat(" ", 256) + "x",
	}
	for sec, def := range map[string]string{"servers": "#ServerName", "tools": "#ToolName", "modes": "#Slug",
		"roles": "#RoleName", "policies": "#PolicyName"} {
		d := v.LookupPath(cue.ParsePath(def))
		accepted := 0
		for _, name := range names {
			var c checker
			c.name(sec, source.Field{Name: name}, "")
			ok := d.Unify(ctx.Encode(name)).Validate(cue.Concrete(true)) == nil
			if ok != (len(c.diags) == 0) {
				t.Errorf("%s %q: the schema says %v, the compiler %v", sec, name, ok, c.diags)
			}
			if ok {
				accepted++
			}
		}
		if accepted == 0 || accepted == len(names) {
			t.Errorf("%s: %d of %d names are accepted, want some", sec, accepted, len(names))
		}
	}
}
