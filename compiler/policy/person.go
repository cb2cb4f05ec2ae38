package policy

import (
	"slices"

	"modec.dev/modec/compiler/ir"
)

// Person decides for someone who holds every role whose claims fit: each claim
// that a role names must be among the person's, with one of the role's values.
// Claims are nil for someone without a verified token, who holds only the roles of anyone.
// The highest of the roles' decisions holds. It returns the roles held, sorted;
// someone who holds none is denied everything. A role without claims is held by
// nobody. It fails when a role does not compile.
func (e *Engine) Person(claims map[string][]string, a Action) (Result, []string, error) {
	best := Result{Rule: "no role's claims fit"}
	var held []string
	for i := range e.project.Roles {
		r := &e.project.Roles[i]
		if !holds(r, claims) {
			continue
		}
		s, err := e.Subject(ir.SubjectRef{Role: r.Name})
		if err != nil {
			return Result{Rule: "a role does not compile"}, nil, err
		}
		d := s.Decide(a)
		if d.Decision == ir.Agent { // there is no agent here that could decide
			d.Decision, d.Mapped = ir.Deny, ir.Deny
		}
		if len(held) == 0 || d.Decision > best.Decision {
			best = d
		}
		held = append(held, r.Name)
	}
	slices.Sort(held)
	return best, held, nil
}

func holds(r *ir.Role, claims map[string][]string) bool {
	switch r.Principals {
	case ir.Anyone:
		return true
	case ir.Authenticated:
		return claims != nil
	}
	for name, want := range r.Claims {
		if !slices.ContainsFunc(claims[name], func(v string) bool { return slices.Contains(want, v) }) {
			return false
		}
	}
	return len(r.Claims) > 0
}
