package compiler

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// fake is a target in name only.
type fake struct{ name string }

func (f fake) Name() string                                   { return f.name }
func (fake) Summary() string                                  { return "a test" }
func (fake) Options() []contract.Option                       { return nil }
func (fake) Codes() []diag.Doc                                { return nil }
func (fake) Owns() []string                                   { return []string{"**"} }
func (fake) Governs(string, ir.Group) contract.Halves         { return contract.Neither }
func (fake) Emit(contract.Input) ([]contract.File, diag.List) { return nil, nil }

// narrow owns one folder.
type narrow struct{ fake }

func (narrow) Owns() []string { return []string{"own/**"} }

func TestTargetsAreHeldToWhatTheyOwn(t *testing.T) {
	for _, c := range []struct {
		paths []string
		code  string
	}{
		{[]string{"own/a"}, ""},
		{[]string{"else/a"}, "foreign-path"},
		{[]string{"own/../a"}, "foreign-path"},
		{[]string{"/own/a"}, "foreign-path"},
		{[]string{"../own/a"}, "foreign-path"},
		{[]string{`own\a`}, "foreign-path"},
		{[]string{"own/a", "own/a"}, "path-collision"},
		{[]string{"own/a", "own/A"}, "path-collision"},
	} {
		r := &Result{Outputs: []contract.Artifacts{{Target: narrow{fake{"t"}}}}}
		for _, p := range c.paths {
			r.Outputs[0].Files = append(r.Outputs[0].Files, contract.File{Path: p})
		}
		diags := r.checkPaths()
		switch {
		case c.code == "" && len(diags) > 0:
			t.Errorf("%v: got %v, want nothing", c.paths, diags)
		case c.code != "" && (len(diags) != 1 || string(diags[0].Code) != c.code):
			t.Errorf("%v: got %v, want %s", c.paths, diags, c.code)
		}
	}
}
