package migrate

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
)

// team is a project without the files that belong to one person: a source is shared, and what
// somebody permits to themselves is no rule of the team's. These are the files whose kind says
// so, and those that git ignores.
type team struct {
	lacking                 // the personal files
	named   map[string]bool // files that somebody asked for: opening a personal one is an error
	opened  map[string]bool // files that were read since git was asked last
	links   map[string]bool // links inside the project, which no build writes through
}

// readable returns the project of a request without the files whose kind is personal.
func readable(req Request) *team {
	t := &team{lacking{FS: req.Root, hidden: map[string]bool{}}, map[string]bool{}, map[string]bool{},
		map[string]bool{}}
	for _, f := range req.Files {
		t.named[path.Clean(f)] = true
	}
	for _, arg := range req.Args {
		_, value, _ := strings.Cut(arg, "=")
		t.named[path.Clean(arg)], t.named[path.Clean(value)] = true, true
	}
	for _, k := range kindsOf(Request{Targets: req.Targets}) {
		if !k.Imported || k.Reason != contract.Private {
			continue
		}
		t.hidden[k.Path] = true
		for name := range t.named {
			low := strings.ToLower(name) // some file systems fold case
			if strings.HasSuffix("/"+low, "/"+k.Path) || strings.HasSuffix("/"+k.Path, "/"+low) {
				t.hidden[name] = true
			}
		}
	}
	return t
}

// hide takes the files out that were read and that git ignores. It reports whether there were any:
// in their place an importer may read others.
func (t *team) hide(ctx context.Context, req Request) (found bool) {
	names := slices.Sorted(maps.Keys(t.opened))
	clear(t.opened)
	for _, name := range names {
		if info, err := fs.Lstat(req.Root, name); err == nil && isLink(info.Mode()) && !t.named[path.Clean(name)] {
			t.hidden[name], t.links[name], found = true, true, true
		}
	}
	if len(names) == 0 || req.Ignored == nil {
		return found
	}
	for _, name := range req.Ignored(ctx, names) {
		found = found || !t.hidden[name]
		t.hidden[name] = true
	}
	return found
}

var errPersonal = errors.New("it is personal, and the source is the team's: " +
	"write what everybody should have into a file that git does not ignore, and import that one")

// private returns the files that belong to one person.
func (t *team) private() map[string]bool {
	out := maps.Clone(t.hidden)
	maps.DeleteFunc(out, func(name string, _ bool) bool { return t.links[name] })
	return out
}

// refused returns the error with which a personal file is refused that somebody asked for, nil for any other.
func (t *team) refused(op, name string) error {
	if t.lacks(name) && t.named[path.Clean(name)] {
		return &fs.PathError{Op: op, Path: name, Err: errPersonal}
	}
	return nil
}

// Open opens a file that the team shares, or a folder.
func (t *team) Open(name string) (fs.File, error) {
	if err := t.refused("open", name); err != nil {
		return nil, err
	}
	f, err := t.lacking.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && !info.IsDir() {
		t.opened[name] = true
	}
	return f, nil
}

// Stat describes a file that the team shares, or a folder.
func (t *team) Stat(name string) (fs.FileInfo, error) {
	if err := t.refused("stat", name); err != nil {
		return nil, err
	}
	return t.lacking.Stat(name)
}

// ignoredWhy is said of an agent's file that git ignores.
const ignoredWhy = "personal, since git ignores it: it stays in force for you, and the team's source does not have it"

// ofOne names the personal files that are there. Those that modec built are everybody's.
func (s *search) ofOne(root fs.FS, personal map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(personal)) {
		if _, err := fs.Lstat(root, name); err != nil {
			continue
		}
		s.taken[name] = true
		i := slices.IndexFunc(s.kinds, func(k agentKind) bool { return k.isOf(name) })
		if i < 0 || s.built(name) {
			continue
		}
		k := s.kinds[i]
		x := Seen{Path: name, Files: 1, Agent: k.target, Reason: contract.Private, Why: ignoredWhy}
		if k.Reason == contract.Private {
			x.Why = k.Why
		}
		s.out = append(s.out, x)
	}
}

// isOf reports whether a file is of a kind.
func (k agentKind) isOf(name string) bool {
	if folder, ok := strings.CutSuffix(k.Path, "/"); ok {
		return strings.HasPrefix(name, folder+"/")
	}
	ok, _ := path.Match(k.Path, name)
	return ok
}
