package model

import (
	"io/fs"

	"modec.dev/modec/compiler/cache"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/opencode/format"
)

// Reader reads the files of a program whose settings have opencode's form.
type Reader struct {
	fs.FS
	Target, Title string
	Bad           diag.Code // of a file that the program does not read
	Parse         func(file string, data []byte) (*format.Config, diag.List)

	Diags diag.List

	files *cache.Cache[string, *format.Config] // of sessions, those that were read last
}

// reading is how many files of sessions at least are kept as they were read: those of the roles that are compared at
// once.
const reading = 4

// Config reads settings, nil where there are none. Whoever judges goes on without a file that has an error: the program
// does too, or nothing runs there.
func (r *Reader) Config(file string) *format.Config {
	c, _ := r.config(file)
	return c
}

// config returns the bytes of the file, too.
func (r *Reader) config(file string) (*format.Config, []byte) {
	data, err := r.bytes(file)
	if err != nil {
		if diag.Unreadable(r.FS, file, err) {
			r.Diags.Warnf(r.Bad, diag.Pos{File: file}, "%s cannot read this file: %v", r.Title, err).Target(r.Target)
		}
		return nil, nil
	}
	c, found := r.Parse(file, data)
	for i := range found {
		found[i].Severity = diag.Warning
	}
	if r.Diags = append(r.Diags, found...); len(found) > 0 {
		return nil, nil
	}
	return c, data
}

// bytes returns those of a file, which are those that a file system in memory has anyway.
func (r *Reader) bytes(file string) ([]byte, error) {
	if files, ok := r.FS.(memfs.FS); ok && files[file] != nil {
		return files[file], nil
	}
	return fs.ReadFile(r.FS, file)
}

// Sessions reads what a target's sessions are started with: of each the subject that it starts as, and a role in the
// modes that are agents there. Each has its role's whole file, which is kept as its bytes and read again when it is
// asked for.
func (r *Reader) Sessions(target string, add func(ref ir.SubjectRef, c func() *format.Config, agent string)) {
	r.files = cache.New[string, *format.Config](reading)
	files, err := fs.Glob(r.FS, contract.SessionPath(target, "*.json"))
	if err != nil {
		r.Diags.Errorf(r.Bad, diag.Pos{}, "%v", err).Target(r.Target)
	}
	for _, file := range files {
		ref, ok := format.SessionSubject(file)
		c, data := r.config(file)
		if !ok || c == nil {
			continue
		}
		again := r.again(file, data, c)
		add(ref, again, c.Default)
		for i := range c.Agents {
			if a := &c.Agents[i]; ref.Role != "" && !a.Disabled && a.Name != c.Default {
				add(ir.SubjectRef{Role: ref.Role, Mode: contract.Slug(a.Name)}, again, a.Name)
			}
		}
	}
}

// again returns what parses a file once more, which has no error, where it was read too long ago.
func (r *Reader) again(file string, data []byte, read *format.Config) func() *format.Config {
	parse, files := r.Parse, r.files
	keep := func(c *format.Config) {
		c.Root = nil // of which a session needs nothing
		files.Put(file, c)
	}
	keep(read)
	return func() *format.Config {
		c, ok := files.Get(file)
		if !ok {
			c, _ = parse(file, data)
			keep(c)
		}
		return c
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
