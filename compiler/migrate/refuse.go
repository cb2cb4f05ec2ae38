package migrate

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// mostRefusals bounds how often an import is tried again without what the source does not take.
const mostRefusals = 8

// refuse takes what the source does not take out of an import: the variable of a role, how a server is started,
// and else the server or the subagent with a file of its own, which stays as it is. It reports whether there is
// any; an error about something else costs the import.
func (in *imports) refuse(list diag.List) (changed bool) {
	for _, d := range list {
		if d.Severity == diag.Error && (in.refusedServer(d) || in.refusedVariable(d) || in.refusedMode(d)) {
			changed = true
		}
	}
	return changed
}

// concerns reports whether an error is about a part of the source.
func concerns(d diag.Diagnostic, section, name string) bool {
	at := diag.Join(section, diag.Label(name))
	return d.Path == at || strings.HasPrefix(d.Path, at+".") || strings.HasPrefix(d.Path, at+"[")
}

// note adds that something is not imported, and why.
func (in *imports) note(at diag.Pos, subject, what string, d diag.Diagnostic) {
	in.notes = append(in.notes, contract.Note{Kind: contract.Refused, Pos: at, Subject: subject, What: what,
		Why: d.Message + ": it stays as it is in its file"})
}

func (in *imports) refusedServer(d diag.Diagnostic) bool {
	for i := range in.project.Servers {
		s := in.project.Servers[i]
		if !concerns(d, "servers", s.Name) {
			continue
		}
		in.note(s.Pos, "server "+s.Name, s.Name, d)
		if s.Type == ir.External || d.Path == diag.Join("servers", diag.Label(s.Name)) {
			in.project.Servers = slices.Delete(in.project.Servers, i, i+1)
			return true
		}
		in.project.Servers[i] = ir.Server{Name: s.Name, Pos: s.Pos, Type: ir.External, Place: s.Place,
			DefaultEnabled: s.DefaultEnabled, Tools: s.Tools}
		for file, names := range in.started {
			in.started[file] = slices.DeleteFunc(names, func(n string) bool { return n == cmp.Or(s.As, s.Name) })
		}
		return true
	}
	return false
}

func (in *imports) refusedVariable(d diag.Diagnostic) bool {
	for i := range in.project.Roles {
		r := &in.project.Roles[i]
		for _, name := range slices.Sorted(maps.Keys(r.Env)) {
			if d.Path == diag.Join(diag.Join(diag.Join("roles", diag.Label(r.Name)), "env"), diag.Label(name)) {
				in.note(r.Pos, "role "+r.Name, "env "+name, d)
				delete(r.Env, name)
				return true
			}
		}
	}
	return false
}

// refusedMode leaves out a mode that is alone in its file, which no build writes then.
func (in *imports) refusedMode(d diag.Diagnostic) bool {
	for i := range in.project.Modes {
		m := in.project.Modes[i]
		own := path.Base(d.Pos.File) == m.Slug+".cue" && path.Base(path.Dir(d.Pos.File)) == "modes"
		if !concerns(d, "modes", m.Slug) && !own {
			continue
		}
		if slices.ContainsFunc(in.project.Modes, func(x ir.Mode) bool {
			return x.Slug != m.Slug && x.Pos.File == m.Pos.File
		}) {
			return false
		}
		in.note(m.Pos, "mode "+m.Slug, m.Name, d)
		in.project.Modes = slices.Delete(in.project.Modes, i, i+1)
		for j := range in.project.Roles {
			if r := &in.project.Roles[j]; r.Modes != nil {
				*r.Modes = slices.DeleteFunc(*r.Modes, func(s string) bool { return s == m.Slug })
			}
		}
		for j := range in.originals {
			o := &in.originals[j]
			of := func(s ir.SubjectRef) bool { return s.Mode == m.Slug }
			o.Subjects = slices.DeleteFunc(slices.Clone(o.Subjects), of)
		}
		return true
	}
	return false
}
