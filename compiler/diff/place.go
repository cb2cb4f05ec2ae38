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
func (r *Report) targets(a, b *ir.Project, names Targets) {
	place := func(of emission, what string, was, is ir.Place, at diag.Pos) {
		if was.Targets == nil && is.Targets != nil {
			was.Targets = names.Before
		}
		if is.Targets == nil && was.Targets != nil {
			is.Targets = names.After
		}
		r.place(of, what, was, is, at)
	}
	for i := range b.Modes {
		if m := &b.Modes[i]; a.Mode(m.Slug) != nil {
			place(subjects, "mode "+m.Slug, a.Mode(m.Slug).Place, m.Place, m.Pos)
		}
	}
	for i := range b.Roles {
		if role := &b.Roles[i]; a.Role(role.Name) != nil {
			place(subjects, "role "+role.Name, a.Role(role.Name).Place, role.Place, role.Pos)
		}
	}
	for i := range b.Servers {
		if s := &b.Servers[i]; a.Server(s.Name) != nil {
			place(servers, "server "+s.Name, a.Server(s.Name).Place, s.Place, s.Pos)
		}
	}
}

// emission is what it means that something is no longer emitted for a target, or newly.
type emission struct {
	lost, found Kind
	unheld      string // follows what is said of a target that lost it
}

// A subject restricts something where it is emitted; a server does not.
var (
	subjects = emission{Widened, Narrowed, ": nothing restricts it there any more"}
	servers  = emission{Changed, Changed, ""}
)

// place compares where one thing is emitted.
func (r *Report) place(of emission, what string, was, is ir.Place, at diag.Pos) {
	in := func(list []string) func(string) bool {
		return func(t string) bool { return slices.Contains(list, t) }
	}
	gone := slices.DeleteFunc(slices.Clone(was.Targets), in(is.Targets))
	added := slices.DeleteFunc(slices.Clone(is.Targets), in(was.Targets))
	switch {
	case was.Targets == nil && is.Targets == nil:
	case was.Targets == nil:
		only := "is emitted for " + strings.Join(is.Targets, ", ") + " only"
		r.other(Other{of.lost, what, only + ", and before for every target" + of.unheld, at})
	case is.Targets == nil:
		only := "for " + strings.Join(was.Targets, ", ") + " only"
		r.other(Other{of.found, what, "is emitted for every target, and before " + only, at})
	default:
		if len(gone) > 0 {
			r.other(Other{of.lost, what, "is no longer emitted for " + strings.Join(gone, ", ") + of.unheld, at})
		}
		if len(added) > 0 {
			r.other(Other{of.found, what, "is emitted for " + strings.Join(added, ", ") + " too", at})
		}
	}
	if was.As != is.As {
		_, own, _ := strings.Cut(what, " ")
		before, after := cmp.Or(was.As, own), cmp.Or(is.As, own)
		text := fmt.Sprintf("is called %q in the files of its targets, and before %q", after, before)
		r.other(Other{Changed, what, text, at})
	}
}
