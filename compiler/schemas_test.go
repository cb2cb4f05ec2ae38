package compiler

import (
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"modec.dev/modec/compiler/diag"
	schema "modec.dev/modec/cue"
)

// The schema's definitions of names, for editors, and the compiler's own rules
// are one.
func TestNamesAgreeWithTheSchema(t *testing.T) {
	ctx := cuecontext.New()
	v := ctx.CompileString(schema.Text())
	names := []string{
		"", " ", "a", "A-1", "a_b", "a.b", "a:b", "a*b", "a b", " a", "a ", "é", "🏗️", "\n", "a\nb", ".", "-",
		strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 128), strings.Repeat("x", 129), strings.Repeat("é", 256), strings.Repeat("é", 257), strings.Repeat(" ", 255) + "x", strings.Repeat(" ", 256) + "x",
	}
	for sec, def := range map[string]string{"servers": "#ServerName", "tools": "#ToolName", "modes": "#Slug", "roles": "#RoleName", "policies": "#PolicyName"} {
		d := v.LookupPath(cue.ParsePath(def))
		accepted := 0
		for _, name := range names {
			r := &resolver{loader: &loader{}}
			r.checkName(sec, field{name: name}, "")
			ok := d.Unify(ctx.Encode(name)).Validate(cue.Concrete(true)) == nil
			if ok != (len(r.diags) == 0) {
				t.Errorf("%s %q: the schema says %v, the compiler %v", sec, name, ok, r.diags)
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

// The built-in modes and policies are data that the schema accepts, and every
// name in them exists.
func TestBuiltins(t *testing.T) {
	sh, err := loadShapes()
	if err != nil {
		t.Fatal(err)
	}
	root := builtinData()
	var diags diag.List
	count := 0
	for _, sec := range []string{"modes", "policies"} {
		for _, f := range root.get(sec).fields {
			sh.of[sec].check(f.node, sec+"."+f.name, &diags)
			count++
		}
	}
	if len(diags) > 0 {
		t.Error(diags)
	}
	if count != 8 {
		t.Errorf("got %d modes and policies, want 5 and 3", count)
	}
	p := source(t, map[string]string{"a.cue": `package modec
roles: r: modes: ["architect", "code", "ask", "debug", "orchestrator"]
roles: s: extends: ["git_read", "readonly_filters", "readonly"]
`})
	if len(p.Builtins) != 5 {
		t.Errorf("got %d built-in modes, want 5", len(p.Builtins))
	}
}
