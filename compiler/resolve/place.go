package resolve

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/source"
)

// place decodes where a server, a mode or a role is emitted.
func (r *resolver) place(n *source.Node, path string) ir.Place {
	var pl ir.Place
	if o := n.Get("order"); o != nil {
		pl.Order = new(int)
		if _, err := fmt.Sscan(o.Text, pl.Order); err != nil {
			r.diags.Errorf(diag.BadValue, o.Pos, "got the order %s, want a smaller number", diag.Short(o.Text)).
				Path(path + ".order")
		}
	}
	list := n.Get("targets")
	if list != nil && len(list.Elems) == 0 {
		r.diags.Errorf(diag.BadValue, list.Pos, "targets names no target; leave it out for all of them").
			Path(path + ".targets")
	}
	for i, e := range elems(list) {
		r.isTarget(e, fmt.Sprintf("%s.targets[%d]", path, i))
		pl.Targets = append(pl.Targets, e.Text)
	}
	slices.Sort(pl.Targets)
	pl.Targets = slices.Compact(pl.Targets)
	pl.As = text(n.Get("as"))
	return pl
}

// isTarget reports whether a node names a target, and an error where it does not.
func (r *resolver) isTarget(n *source.Node, at string) bool {
	known := slices.Contains(r.settings.Known, n.Text)
	if !known {
		r.unknown(diag.UnknownTarget, "target", n, at, slices.Clone(r.settings.Known))
	}
	return known
}

// named is something with a name in the files of targets.
type named struct {
	section, name string
	pos           diag.Pos
	ir.Place
}

// checkNames reports names that two servers, modes or roles would share in the files of a
// target, and patterns that tell a server's names apart.
func (r *resolver) checkNames() {
	var servers, modes, roles []named
	for _, s := range r.project.Servers {
		servers = append(servers, named{"servers", s.Name, s.Pos, s.Place})
	}
	for _, m := range r.project.Modes {
		modes = append(modes, named{"modes", m.Slug, m.Pos, m.Place})
	}
	for _, role := range r.project.Roles {
		roles = append(roles, named{"roles", role.Name, role.Pos, role.Place})
	}
	for _, list := range [][]named{servers, modes, roles} {
		r.taken(list)
	}
	r.tooLong(modes)
	r.tooLong(roles)
	r.ambiguous(roles)
	if !slices.ContainsFunc(servers, func(s named) bool { return s.As != "" }) {
		return
	}
	for i := range r.project.Modes {
		m := &r.project.Modes[i]
		if x := m.Restrictions; x != nil {
			for _, l := range []*[]ir.Item{x.AllowedServers, x.DisallowedServers} {
				for _, s := range deref(l) {
					r.tellsApart(s.Name, s.Pos)
				}
			}
			for _, l := range []*[]ir.ToolRef{x.AllowedTools, x.DisallowedTools} {
				for _, t := range deref(l) {
					r.tellsApart(t.Server, t.Pos)
				}
			}
		}
	}
	r.project.EachCan(func(_ ir.SubjectRef, _ string, can *ir.Can) { r.renamed(can.MCP) })
}

// ambiguous reports names of roles that stand for another subject where one is named, as in the names of files, where
// case may not matter.
func (r *resolver) ambiguous(roles []named) {
	for _, n := range roles {
		for _, name := range []string{n.name, n.As} {
			kind, _, prefixed := strings.Cut(name, ":")
			if kind = strings.ToLower(kind); prefixed && (kind == "mode" || kind == "role") {
				r.diags.Errorf(diag.BadName, n.pos, "got %q for a role: %q before a name says which of a mode and a "+
					"role is meant", diag.Short(name), kind+":").
					Path("roles." + diag.Label(n.name)).
					Hint("choose a name without it")
			}
		}
	}
}

// tooLong reports names of which no file can be named.
func (r *resolver) tooLong(list []named) {
	for _, n := range list {
		for _, name := range []string{n.name, n.As} {
			if got := len(contract.PathName(name)); got > contract.MostPathName {
				r.diags.Errorf(diag.BadName, n.pos, "the name %q has %d bytes in the names of files, want at most %d",
					diag.Short(name), got, contract.MostPathName).
					Path(n.section + "." + diag.Label(n.name)).
					Hint(`letters without accents, digits, "-", "_" and "." are one byte there, others up to twelve`)
			}
		}
	}
}

func deref[T any](l *[]T) []T {
	if l == nil {
		return nil
	}
	return *l
}

// taken reports two of a list that have one name in the files of a target, in any case.
func (r *resolver) taken(list []named) {
	if !slices.ContainsFunc(list, func(n named) bool { return n.As != "" }) {
		return
	}
	for _, target := range r.settings.Known {
		first := map[string]named{}
		for _, n := range list {
			name := n.Place.Name(target, n.name)
			if name == "" {
				continue
			}
			key := strings.ToLower(name)
			other, ok := first[key]
			if !ok {
				first[key] = n
				continue
			}
			if n.As == "" {
				n, other = other, n
			}
			path := n.section + "." + diag.Label(n.name)
			told := func(d diag.Diagnostic) bool { return d.Path == path && d.Code == diag.NameTaken }
			if slices.ContainsFunc(r.diags, told) {
				continue // for another target
			}
			r.diags.Errorf(diag.NameTaken, n.pos, "%q and %q are both %q in the files of %s",
				n.name, other.name, name, target).
				Path(path).
				Hint("limit each of them to targets of its own with `targets`, or leave out `as`").
				Related(other.pos, "the other one")
		}
	}
}

// renamed reports the patterns of a table that tell a server's names apart.
func (r *resolver) renamed(t *ir.MCPTable) {
	if t == nil {
		return
	}
	for _, e := range t.Entries {
		r.tellsApart(e.Key, e.Pos)
	}
}

// tellsApart reports a pattern that matches the name of a server in the files of its targets,
// and not its own.
func (r *resolver) tellsApart(pattern string, at diag.Pos) {
	if !strings.ContainsAny(pattern, "*?") {
		return
	}
	for i := range r.project.Servers {
		s := &r.project.Servers[i]
		if s.As == "" || !policy.Wildcard(pattern, s.As) || policy.Wildcard(pattern, s.Name) {
			continue
		}
		told := func(d diag.Diagnostic) bool { return d.Pos == at && d.Code == diag.RenamedServer }
		if slices.ContainsFunc(r.diags, told) {
			continue // of a policy that several subjects extend
		}
		r.diags.Errorf(diag.RenamedServer, at, "%q matches %q, as the server %q is called in the files of its "+
			"targets, and not %q", pattern, s.As, s.Name, s.Name).
			Hintf("name the servers in place of the pattern, or give %q a name that it matches", s.Name).
			Related(s.Pos, "the server")
	}
}
