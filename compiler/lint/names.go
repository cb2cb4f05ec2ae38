package lint

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// called is something with a name in the files of its targets.
type called struct {
	subject string // "server docs"
	name    string // in the files
	pos     diag.Pos
	ref     ir.SubjectRef // none for a server
	ir.Place
}

// sameName finds definitions that have one name in the files of different targets.
func (p *pass) sameName() {
	var servers, modes, roles []called
	for _, s := range p.Project.Servers {
		servers = append(servers, called{"server " + s.Name, cmp.Or(s.As, s.Name), s.Pos, ir.SubjectRef{}, s.Place})
	}
	for _, m := range p.Project.Modes {
		ref := ir.SubjectRef{Mode: m.Slug}
		modes = append(modes, called{ref.String(), cmp.Or(m.As, m.Slug), m.Pos, ref, m.Place})
	}
	for _, r := range p.Project.Roles {
		ref := ir.SubjectRef{Role: r.Name}
		roles = append(roles, called{ref.String(), cmp.Or(r.As, r.Name), r.Pos, ref, r.Place})
	}
	for _, list := range [][]called{servers, modes, roles} {
		for _, x := range list {
			if x.As != "" && ofSource(x.pos) {
				p.twin(x, list)
			}
		}
	}
}

// twin reports what has the name of another definition in the files of its targets.
func (p *pass) twin(x called, list []called) {
	i := slices.IndexFunc(list, func(y called) bool {
		return y.subject != x.subject && y.As == "" && strings.EqualFold(y.name, x.name)
	})
	if i < 0 {
		return
	}
	y := list[i]
	p.find(x.pos, "it is %q in the files of %s, as the %s is elsewhere%s", x.name, strings.Join(x.Targets, ", "),
		y.subject, p.less(x.ref, y.ref)).
		Subject(x.subject).
		Hintf("where one definition does for both, keep the %s with the targets of both", y.subject).
		Related(y.pos, "the other one")
}

// less says which of two subjects may do less in some groups, "" for servers and where neither
// does: it compares the highest decision that each has in a group.
func (p *pass) less(x, y ir.SubjectRef) string {
	if x == (ir.SubjectRef{}) {
		return ""
	}
	var first, second []ir.Group
	for _, g := range ir.Groups {
		switch a, b := p.highest(x, g), p.highest(y, g); {
		case a < b:
			first = append(first, g)
		case b < a:
			second = append(second, g)
		}
	}
	text := ""
	if len(first) > 0 {
		text += "; it gives less of " + ir.Names(first)
	}
	if len(second) > 0 {
		text += "; the " + y.String() + " gives less of " + ir.Names(second)
	}
	return text
}

// highest returns the highest decision of a subject in a group.
func (p *pass) highest(ref ir.SubjectRef, g ir.Group) ir.Decision {
	s, err := p.Policy.Subject(ref)
	if err != nil {
		return ir.Deny
	}
	top := p.decide(ref, policy.Action{Group: g, Server: contract.UnknownServer, Arg: contract.UnknownTool}).Decision
	for _, r := range s.Rules(g) {
		top = max(top, r.Decision)
	}
	return top
}
