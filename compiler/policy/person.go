package policy

import (
	"slices"

	"modec.dev/modec/compiler/ir"
)

// Held returns the roles that someone with these claims has, sorted: those of which each claim that the role
// names is among the person's, with one of the role's values. Claims are nil for someone without a verified
// token, who holds only the roles of anyone. A role without claims is held by nobody.
func (e *Engine) Held(claims map[string][]string) (roles []string) {
	for i := range e.project.Roles {
		if r := &e.project.Roles[i]; holds(r, claims) {
			roles = append(roles, r.Name)
		}
	}
	slices.Sort(roles)
	return roles
}

// Person decides for someone with these claims, as [Engine.Together] does for the roles that are [Engine.Held],
// which it returns. It fails when a role does not compile.
func (e *Engine) Person(claims map[string][]string, a Action) (Result, []string, error) {
	held := e.Held(claims)
	r, err := e.DecideForRoles(held, a)
	if err != nil {
		return r, nil, err
	}
	return r, held, nil
}

// DecideForRoles decides for someone who has several roles: the highest of their decisions holds, where what is left
// to the agent is denied, since there is no agent. Someone without a role is denied everything. It fails when a
// role does not compile.
func (e *Engine) DecideForRoles(roles []string, a Action) (Result, error) {
	best := Result{Rule: "no role's claims fit"}
	first := true
	for i := range e.project.Roles { // in the order of the source: the first of the highest is told
		r := &e.project.Roles[i]
		if !slices.Contains(roles, r.Name) {
			continue
		}
		s, err := e.Subject(ir.SubjectRef{Role: r.Name})
		if err != nil {
			return Result{Rule: "a role does not compile"}, err
		}
		d := s.DecideWithoutAgent(a)
		if first || d.Decision > best.Decision {
			best, first = d, false
		}
	}
	return best, nil
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
