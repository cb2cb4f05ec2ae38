package migrate

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// judgeLinks reports the links out of a project at which a target's agent looks for what it permits: the agent follows
// them. Those of commands and skills, granted, that git ignores are one's own, as these files are.
func (f *foreign) judgeLinks(
	ctx context.Context, res *compiler.Result, t contract.Target, granted map[string]bool, diags *diag.List,
) {
	judged, ok := t.(contract.Judged)
	if !ok || f.req.Root == nil {
		return
	}
	opened := &leaving{FS: f.req.Root}
	judged.Open(opened, res.Input(t).Options)
	var own []string
	if f.req.Ignored != nil && len(granted) > 0 {
		own = f.req.Ignored(ctx, slices.Sorted(maps.Keys(granted)))
	}
	links := map[string]bool{}
	maps.Copy(links, opened.links)
	maps.Copy(links, granted)
	for _, link := range slices.Sorted(maps.Keys(links)) {
		if slices.Contains(own, link) || f.left(link) {
			continue
		}
		diags.Errorf(diag.LinkOut, diag.Pos{File: link}, "a link out of the project: modec does not follow it, "+
			"and the agent does, so that what it permits is not known").
			Hint("put what it leads to into the project, where a link with a relative path may lead to it; or take " +
				"the link out").
			Target(t.Name())
	}
}

// leaving notes the links out of a project that somebody who reads it comes upon.
type leaving struct {
	fs.FS
	links map[string]bool
}

// Open opens a file or a folder.
func (l *leaving) Open(name string) (fs.File, error) {
	file, err := l.FS.Open(name)
	l.note(name, err)
	return file, err
}

// ReadFile returns a file's bytes.
func (l *leaving) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(l.FS, name)
	l.note(name, err)
	return data, err
}

// Stat describes a file or a folder.
func (l *leaving) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(l.FS, name)
	l.note(name, err)
	return info, err
}

// Lstat describes a file, a folder or a link.
func (l *leaving) Lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(l.FS, name)
	l.note(name, err)
	return info, err
}

// ReadLink returns where a link leads.
func (l *leaving) ReadLink(name string) (string, error) { return fs.ReadLink(l.FS, name) }

// ReadDir lists a folder. Its links may be folders with more of what is looked for.
func (l *leaving) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(l.FS, name)
	l.note(name, err)
	for _, e := range list {
		if e.Type()&fs.ModeSymlink != 0 {
			file := path.Join(name, e.Name())
			_, err := fs.Stat(l.FS, file)
			l.note(file, err)
		}
	}
	return list, err
}

// note notes the link for which a path could not be read.
func (l *leaving) note(name string, err error) {
	if link := diag.LeadsOut(l.FS, name, err); link != "" {
		if l.links == nil {
			l.links = map[string]bool{}
		}
		l.links[link] = true
	}
}
