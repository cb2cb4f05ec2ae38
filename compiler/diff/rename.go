package diff

import (
	"slices"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// renamed returns the source before with the names that its modes and roles have now, and says which have another one.
// A mode that is gone and a new one are one mode where their rules are the same, to the letter; so are two roles.
func (r *Report) renamed(before, after *policy.Engine) *policy.Engine {
	a, b := before.Project(), after.Project()
	x, y := a.Decisions(), b.Decisions()
	modes, roles := map[string]string{}, map[string]string{}
	for i := range y.Modes {
		is := &y.Modes[i]
		if is.Builtin || a.Mode(is.Slug) != nil || builtin(b, is.Slug) {
			continue
		}
		for j := range x.Modes {
			was := x.Modes[j]
			if modes[was.Slug] != "" || was.Builtin || b.Mode(was.Slug) != nil || builtin(a, was.Slug) {
				continue
			}
			name := was.Slug
			was.Slug = is.Slug
			was.Can.RenameModes(map[string]string{name: is.Slug})
			if fingerprint(was) == fingerprint(*is) {
				modes[name] = is.Slug
				r.other(Other{Changed, "mode " + is.Slug, "was called " + name + ", and has the same rules", is.Pos})
				break
			}
		}
	}
	x = x.Renamed(modes, nil)
	for i := range y.Roles {
		is := &y.Roles[i]
		if a.Role(is.Name) != nil {
			continue
		}
		for j := range x.Roles {
			was := x.Roles[j]
			if roles[was.Name] != "" || b.Role(was.Name) != nil {
				continue
			}
			name := was.Name
			if was.Name = is.Name; fingerprint(was) == fingerprint(*is) {
				roles[name] = is.Name
				r.other(Other{Changed, "role " + is.Name, "was called " + name + ", and has the same rules", is.Pos})
				break
			}
		}
	}
	if len(modes)+len(roles) == 0 {
		return before
	}
	return policy.New(a.Renamed(modes, roles))
}

// builtin reports whether a mode of an agent's own has a name: the agent has it again once the source's is gone.
func builtin(p *ir.Project, slug string) bool {
	return slices.ContainsFunc(p.Builtins, func(m ir.Mode) bool { return m.Slug == slug })
}
