package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// A change of what is permitted at times, or of the times, is a change: nobody extends a permission unseen.
func TestTimes(t *testing.T) {
	role := func(rest ir.Decision, rules []ir.Rule, times ...ir.Times) *ir.Project {
		table := &ir.Table{Default: def(rest), Rules: rules}
		for _, x := range times {
			r := rule(ir.Allow, "make")
			r.Times = x
			table.Timed = append(table.Timed, r)
		}
		p := with(ir.Role{Name: "dev", Can: ir.Can{Default: def(ir.Deny), Command: table}})
		policy.AddClosedTimes(p)
		return p
	}
	december, longer := ir.Times{Until: "2026-12-31"}, ir.Times{Until: "2027-12-31"}
	always := []ir.Rule{rule(ir.Allow, "make")}
	for _, c := range []struct {
		name          string
		before, after *ir.Project
		want          []string
		inTimes       bool
	}{
		{"the same", role(ir.Deny, nil, december), role(ir.Deny, nil, december), nil, false},
		{"new", role(ir.Deny, nil), role(ir.Deny, nil, december), []string{"role dev: command make deny allow widened"}, true},
		{"gone", role(ir.Ask, nil, december), role(ir.Ask, nil), []string{"role dev: command make allow ask narrowed"}, true},
		{"always before", role(ir.Deny, always), role(ir.Deny, nil, december), []string{"role dev: command make allow deny narrowed"}, false},
		{"always now", role(ir.Ask, nil, december), role(ir.Ask, always), []string{"role dev: command make ask allow widened"}, false},
		{"longer", role(ir.Deny, nil, december), role(ir.Deny, nil, longer),
			[]string{`role dev: command "make" is allowed until 2027-12-31, and was until 2026-12-31 widened`}, false},
		{"shorter", role(ir.Deny, nil, longer), role(ir.Deny, nil, december),
			[]string{`role dev: command "make" is allowed until 2026-12-31, and was until 2027-12-31 narrowed`}, false},
		{"in another zone", role(ir.Deny, nil, december), role(ir.Deny, nil, ir.Times{Until: "2026-12-31", Zone: "America/New_York"}),
			[]string{`role dev: command "make" is allowed until 2026-12-31 (America/New_York), and was until 2026-12-31 widened`}, false},
		{"once more", role(ir.Deny, nil, december), role(ir.Deny, nil, december, ir.Times{Daily: "09:00-10:00"}),
			[]string{`role dev: command "make" is allowed daily 09:00-10:00, and until 2026-12-31, and was until 2026-12-31 widened`}, false},
		{"a longer time elsewhere decides", role(ir.Deny, nil, december, longer), role(ir.Deny, nil, longer),
			[]string{`role dev: command "make" is allowed until 2027-12-31, and was until 2026-12-31, and until 2027-12-31 narrowed`}, false},
	} {
		r, err := Projects(policy.New(c.before), policy.New(c.after), 1)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, lines(r)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		if len(r.Changes) > 0 && r.Changes[0].InTimes != c.inTimes {
			t.Errorf("%s: got %+v", c.name, r.Changes[0])
		}
		if r.Widened+r.Narrowed != len(c.want) {
			t.Errorf("%s: got %d widened and %d narrowed", c.name, r.Widened, r.Narrowed)
		}
	}
}

// So is a change of what is permitted with some arguments, or of the arguments.
func TestArguments(t *testing.T) {
	role := func(rest ir.Decision, rules ...ir.Rule) *ir.Project {
		e := ir.MCPEntry{Key: "s", Literal: true, Default: def(rest), Rules: rules}
		p := with(ir.Role{Name: "dev", Can: ir.Can{Default: def(ir.Deny), MCP: &ir.MCPTable{Entries: []ir.MCPEntry{e}}}})
		p.Servers = []ir.Server{{Name: "s", DefaultEnabled: true, Tools: []ir.Tool{{Name: "t"}}}}
		return p
	}
	acme := func(d ir.Decision, glob string) ir.Rule {
		r := rule(d, "t")
		r.Pattern.Args = ir.Args(`{"repo":"` + glob + `"}`)
		return r
	}
	for _, c := range []struct {
		name          string
		before, after *ir.Project
		want          []string
	}{
		{"the same", role(ir.Deny, acme(ir.Allow, "a")), role(ir.Deny, acme(ir.Allow, "a")), nil},
		{"new", role(ir.Ask), role(ir.Ask, acme(ir.Allow, "a")), []string{"role dev: mcp s:t ask allow widened"}},
		{"of one that is denied", role(ir.Allow, rule(ir.Deny, "t")), role(ir.Allow, acme(ir.Deny, "a")), []string{"role dev: mcp s:t deny allow widened"}},
		{"a deny", role(ir.Allow), role(ir.Allow, acme(ir.Deny, "a")), []string{"role dev: mcp s:t allow deny narrowed"}},
		{"others", role(ir.Deny, acme(ir.Allow, "a")), role(ir.Deny, acme(ir.Allow, "b"), acme(ir.Allow, "c")),
			[]string{`role dev: mcp s:"t" is allow with repo "b", or repo "c", and was with repo "a" widened`}},
	} {
		r, err := Projects(policy.New(c.before), policy.New(c.after), 1)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, lines(r)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
