package resolve_test

import (
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/resolve"
	"modec.dev/modec/compiler/shape"
	"modec.dev/modec/compiler/source"
	schema "modec.dev/modec/cue"
	"modec.dev/modec/targets"
)

// resolved takes files of a source through the stages to the model; names are relative
// to its folder.
func resolved(files map[string]string, s resolve.Settings) (*ir.Project, diag.List) {
	fsys := memfs.FS{}
	for name, text := range files {
		fsys["modec/"+name] = []byte(text)
	}
	tree, diags := source.Load(fsys, "modec")
	if tree.Root == nil {
		return nil, diags
	}
	data, ok, list := shape.Check(tree.Root)
	if diags = append(diags, list...); !ok {
		return nil, diags
	}
	s.Dialects = contract.Dialects(targets.All())
	p, list := resolve.Resolve(data, tree.Texts, s)
	return p, append(diags, list...)
}

// model resolves a source that has no errors.
func model(t *testing.T, files map[string]string) *ir.Project {
	t.Helper()
	p, diags := resolved(files, resolve.Settings{ClosedInventory: true})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return p
}

// decide answers "SUBJECT GROUP ARG".
func decide(t *testing.T, p *ir.Project, ask string) ir.Decision {
	t.Helper()
	name, ask, _ := strings.Cut(ask, " ")
	group, arg, _ := strings.Cut(ask, " ")
	a := policy.Action{Group: ir.Group(group), Arg: arg}
	if a.Group == ir.MCP {
		a.Server, a.Arg, _ = strings.Cut(arg, ":")
	}
	ref := ir.SubjectRef{Role: name}
	if p.Role(name) == nil {
		ref = ir.SubjectRef{Mode: name}
	}
	s, err := policy.New(p).Subject(ref)
	if err != nil {
		t.Fatal(err)
	}
	return s.Decide(a).Decision
}

// The built-in modes and policies are data that the schema accepts, and every
// name in them exists.
func TestBuiltins(t *testing.T) {
	count := 0
	for _, f := range schema.Builtins() {
		n, err := source.ParseData(f.Name, f.Data)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range n.Fields {
			if !slices.Contains([]string{"modes", "policies"}, section.Name) {
				t.Errorf("%s: got %s, want modes and policies", f.Name, section.Name)
			}
			count += len(section.Node.Fields)
		}
		if usable, ok, diags := shape.Check(n); len(diags) > 0 || !ok || !source.Equal(usable, n) {
			t.Error(diags)
		}
	}
	if count != 9 {
		t.Errorf("got %d modes and policies, want 5 and 4", count)
	}
	p := model(t, map[string]string{"a.cue": `package modec
roles: r: modes: ["architect", "code", "ask", "debug", "orchestrator"]
roles: s: extends: ["git_read", "readonly_filters", "readonly"]
`})
	if len(p.Builtins) != 5 {
		t.Errorf("got %d built-in modes, want 5", len(p.Builtins))
	}
}
