package ir

import (
	"cmp"
	"slices"
)

// Renamed returns a project in which some modes and roles have other names, wherever it names them.
func (p *Project) Renamed(modes, roles map[string]string) *Project {
	q := *p
	q.Modes, q.Builtins, q.Roles = slices.Clone(p.Modes), slices.Clone(p.Builtins), slices.Clone(p.Roles)
	q.Baseline = cmp.Or(roles[p.Baseline], p.Baseline)
	for i := range q.Modes {
		m := &q.Modes[i]
		m.Slug = cmp.Or(modes[m.Slug], m.Slug)
	}
	for i := range q.Roles {
		r := &q.Roles[i]
		r.Name = cmp.Or(roles[r.Name], r.Name)
		if r.Modes != nil {
			list := slices.Clone(*r.Modes)
			for j, slug := range list {
				list[j] = cmp.Or(modes[slug], slug)
			}
			r.Modes = &list
		}
	}
	q.change(func(c *Can) { c.RenameModes(modes) })
	return &q
}

// RenameModes gives the modes that the rules of a subject name other names.
func (c *Can) RenameModes(names map[string]string) {
	if len(names) == 0 || c.Modes == nil {
		return
	}
	t := *c.Modes
	t.Rules = slices.Clone(t.Rules)
	for i := range t.Rules {
		if p := &t.Rules[i].Pattern; p.Kind == Plain {
			p.Text = cmp.Or(names[p.Text], p.Text)
		}
	}
	c.Modes = &t
}
