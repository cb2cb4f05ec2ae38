package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// targets adds what is emitted for other targets, or under another name. A subject that a
// target no longer has is widened: nothing restricts it there any more.
func (r *Report) targets(a, b *ir.Project) {
	for i := range b.Modes {
		if m := &b.Modes[i]; a.Mode(m.Slug) != nil {
			r.place("mode "+m.Slug, a.Mode(m.Slug).Place, m.Place, m.Pos, true)
		}
	}
	for i := range b.Roles {
		if role := &b.Roles[i]; a.Role(role.Name) != nil {
			r.place("role "+role.Name, a.Role(role.Name).Place, role.Place, role.Pos, true)
		}
	}
	for i := range b.Servers {
		if s := &b.Servers[i]; a.Server(s.Name) != nil {
			r.place("server "+s.Name, a.Server(s.Name).Place, s.Place, s.Pos, false)
		}
	}
}

// place compares where one thing is emitted.
func (r *Report) place(what string, was, is ir.Place, at diag.Pos, subject bool) {
	lost, found := Changed, Changed
	unheld := ""
	if subject {
		lost, found, unheld = Widened, Narrowed, ": nothing restricts it there any more"
	}
	in := func(list []string) func(string) bool {
		return func(t string) bool { return slices.Contains(list, t) }
	}
	gone := slices.DeleteFunc(slices.Clone(was.Targets), in(is.Targets))
	added := slices.DeleteFunc(slices.Clone(is.Targets), in(was.Targets))
	switch {
	case was.Targets == nil && is.Targets == nil:
	case was.Targets == nil:
		only := "is emitted for " + strings.Join(is.Targets, ", ") + " only"
		r.other(Other{lost, what, only + ", and before for every target" + unheld, at})
	case is.Targets == nil:
		only := "for " + strings.Join(was.Targets, ", ") + " only"
		r.other(Other{found, what, "is emitted for every target, and before " + only, at})
	default:
		if len(gone) > 0 {
			r.other(Other{lost, what, "is no longer emitted for " + strings.Join(gone, ", ") + unheld, at})
		}
		if len(added) > 0 {
			r.other(Other{found, what, "is emitted for " + strings.Join(added, ", ") + " too", at})
		}
	}
	if was.As != is.As {
		_, own, _ := strings.Cut(what, " ")
		before, after := cmp.Or(was.As, own), cmp.Or(is.As, own)
		text := fmt.Sprintf("is called %q in the files of its targets, and before %q", after, before)
		r.other(Other{Changed, what, text, at})
	}
}
