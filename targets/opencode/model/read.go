package model

import (
	"io/fs"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/opencode/format"
)

// Reader reads the files of a program whose settings have opencode's form.
type Reader struct {
	fs.FS
	Target, Title string
	Bad           diag.Code // of a file that the program does not read
	Parse         func(file string, data []byte) (*format.Config, diag.List)

	Diags diag.List
}

// Config reads settings, nil where there are none. Whoever judges goes on without a file that has an error: the program
// does too, or nothing runs there.
func (r *Reader) Config(file string) *format.Config {
	data, err := fs.ReadFile(r.FS, file)
	if err != nil {
		if diag.Unreadable(r.FS, file, err) {
			r.Diags.Warnf(r.Bad, diag.Pos{File: file}, "%s cannot read this file: %v", r.Title, err).Target(r.Target)
		}
		return nil
	}
	c, found := r.Parse(file, data)
	for i := range found {
		found[i].Severity = diag.Warning
	}
	if r.Diags = append(r.Diags, found...); len(found) > 0 {
		return nil
	}
	return c
}

// Sessions reads the files of sessions in a folder: of each the subject that it starts as, and a role in the modes that
// are agents there.
func (r *Reader) Sessions(dir string, add func(ref ir.SubjectRef, c *format.Config, agent string)) {
	files, err := fs.Glob(r.FS, dir+"/*.json")
	if err != nil {
		r.Diags.Errorf(r.Bad, diag.Pos{File: dir}, "%v", err).Target(r.Target)
	}
	for _, file := range files {
		ref, ok := format.SessionSubject(file)
		c := r.Config(file)
		if !ok || c == nil {
			continue
		}
		add(ref, c, c.Default)
		for i := range c.Agents {
			if a := &c.Agents[i]; ref.Role != "" && !a.Disabled && a.Name != c.Default {
				add(ir.SubjectRef{Role: ref.Role, Mode: contract.Slug(a.Name)}, c, a.Name)
			}
		}
	}
}

// SessionOf returns a session with its agents: the program's own, and those of its files.
func SessionOf(builtIn []string, c *format.Config) Session {
	s := Session{Agents: map[string]bool{}}
	for _, own := range builtIn {
		s.Agents[own] = true
	}
	for i := range c.Agents {
		s.Agents[c.Agents[i].Name] = !c.Agents[i].Disabled
	}
	return s
}
