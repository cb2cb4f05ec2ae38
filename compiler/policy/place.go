package policy

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
)

// Place is where an action happens. The zero value is the root of a project whose disk is not
// at hand: paths are then judged as they are written.
type Place struct {
	// Dirs are the folders in which a relative path may begin, relative to the root or
	// absolute. None: the root.
	Dirs []string
	// Names returns every path that a path in a folder may stand for, in the form that
	// [Subject.Decide] takes: as it is written, mapped into the root, and with its links
	// resolved. The folder is one of Dirs, or a path that Names returned. It returns none
	// where that cannot be found out. nil: there is no disk.
	Names func(dir, file string) []string
}

// dirs returns the folders of a place.
func (p *Place) dirs() []string {
	if len(p.Dirs) == 0 {
		return []string{"."}
	}
	return p.Dirs
}

// names returns every path by which a file in a folder is judged.
func (p *Place) names(dir, file string) []string {
	if p.Names != nil {
		return p.Names(dir, file)
	}
	if rest, ok := OfProcess(file); ok {
		return []string{file, joined(dir, rest)}
	}
	return []string{joined(dir, file)}
}

// joined returns a file in a folder, as it is written.
func joined(dir, file string) string {
	if dir == "" || dir == "." || leavesRootAbsolutely(file) {
		return file
	}
	return dir + "/" + file
}

// OfProcess returns what a path names that begins with a folder of a process: relative to the
// working directory for /proc/self/cwd, absolute for /proc/self/root. The process may be
// written as a number, and as one of its threads.
func OfProcess(file string) (name string, ok bool) {
	if !strings.HasPrefix(file, "/") || !strings.Contains(file, "proc") {
		return "", false
	}
	parts := strings.FieldsFunc(file, func(r rune) bool { return r == '/' })
	parts = slices.DeleteFunc(parts, func(name string) bool { return name == "." })
	if len(parts) > 4 && parts[2] == "task" {
		parts = slices.Delete(parts, 2, 4)
	}
	switch {
	case len(parts) < 3 || parts[0] != "proc":
		return "", false
	case parts[2] == "cwd":
		return path.Join(".", strings.Join(parts[3:], "/")), true
	case parts[2] == "root":
		return "/" + strings.Join(parts[3:], "/"), true
	}
	return "", false
}

// DecideAt decides an action at a place: a file by each of its names, from each folder, and a
// command line with the files that it touches. The lowest decision holds.
func (s *Subject) DecideAt(p Place, a Action) Result {
	switch a.Group {
	case ir.Command:
		return s.command(&p, a.Arg)
	case ir.Read, ir.Edit:
	default:
		return s.Decide(a)
	}
	var all *Result
	judge := needs(&all)
	for _, dir := range p.dirs() {
		judge(s.named(a.Group, p.names(dir, a.Arg)))
	}
	return *all
}

// named decides a file by all its names.
func (s *Subject) named(g ir.Group, names []string) *Result {
	if len(names) == 0 {
		return s.unresolved(g)
	}
	r := s.file(g, names[0])
	for _, name := range names[1:] {
		r = both(r, s.file(g, name))
	}
	return r
}

// unresolved decides a path of which the disk does not say what it names: it is refused,
// where the group is not the agent's.
func (s *Subject) unresolved(g ir.Group) *Result {
	r := *s.anyFile(g)
	if r.Decision != ir.Agent {
		r.Decision, r.Rule = ir.Deny, "a path whose links cannot be resolved"
	}
	return &r
}
