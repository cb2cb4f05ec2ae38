package resolve

import (
	"cmp"
	"slices"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/source"
)

// everyone adds the ceiling over every mode and role. An allow of it would be lost where a subject allows less, and
// open nothing anywhere: a list of allows is refused, and so is what a ceiling over the files of agents cannot say.
func (r *resolver) everyone(s *subject) {
	can := s.node.Get("can")
	refuse := func(in *source.Node, path, where string, fields ...string) {
		for _, field := range fields {
			if n := in.Get(field); n != nil {
				r.diags.Errorf(diag.BadValue, n.Pos, "everyone has no %s; write it in %s", field, where).
					Path(path + field)
			}
		}
	}
	refuse(can, s.path+".can.", "the modes and roles", "unknown", "outside")
	refuse(can.Get("edit"), s.path+".can.edit.", "a mode or a role", "description")
	var tables [][]ir.Rule
	defaults := []*ir.Default{s.can.Default}
	add := func(t *ir.Table) {
		if t != nil {
			tables, defaults = append(tables, t.Rules, t.Timed), append(defaults, t.Default)
		}
	}
	for _, g := range ir.Groups {
		add(s.can.Table(g))
	}
	if t := s.can.MCP; t != nil {
		defaults = append(defaults, t.Default)
		for i := range t.Entries {
			e := &t.Entries[i]
			tables = append(tables, e.Rules, e.Timed)
			defaults = append(defaults, e.Default, e.Resources, e.Prompts)
		}
	}
	void := func(at diag.Pos, allow string) {
		r.diags.Errorf(diag.BadValue, at, "everyone only denies and asks: %s gives nobody anything", allow).
			Path(s.path).
			Hint("write it in the modes and roles that may do it")
	}
	for _, d := range defaults {
		if d != nil && d.Decision == ir.Allow && d.From == "" { // that of a policy may be meant for others
			void(d.Pos, "an allow")
		}
	}
	for _, x := range slices.Concat(tables...) {
		if x.Decision != ir.Allow {
			continue
		}
		allow := "the allow " + x.Pattern.String()
		if x.From != "" {
			allow += " of " + x.From
		}
		void(x.Pos, allow)
	}
	all := &ir.Can{}
	inherit(all, &s.can, ir.OfEveryone)
	settle(all)
	r.project.Everyone = all
}

// enforced adds the built-in policy protect to the ceiling by which hooks decide, whatever the source calls so.
func (r *resolver) enforced() {
	p := r.builtin(policyKind, "protect")
	r.decode(p)
	protect := ir.Can{}
	inherit(&protect, placed(&p.can, r.settings.Enforced), p.String())
	r.project.Enforced = union(cmp.Or(r.project.Everyone, &ir.Can{}), &protect)
	settle(r.project.Enforced)
}
