package policy

import (
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
	// Folds is set where a file system may take a name for another one. No list allows a path
	// that is not plain then: see plainPath.
	Folds bool
	// Home is the root as a path of the user's home folder ("~/src/project"), "" where it does
	// not lie there. What a deny or an ask says of the home holds for a file of the root too.
	Home string
}

// atTheRoot is the place of an action without one.
var atTheRoot Place

var rootDirs = []string{"."}

// dirs returns the folders of a place. Nobody may change them.
func (p *Place) dirs() []string {
	if len(p.Dirs) == 0 {
		return rootDirs
	}
	return p.Dirs
}

// names returns every path by which a file in a folder is judged.
func (p *Place) names(dir, file string) []string {
	if p.Names != nil {
		return p.Names(dir, file)
	}
	if OfProcess(file) {
		return nil
	}
	return []string{under(dir, file)}
}

// under returns a file in a folder, as it is written.
func under(dir, file string) string {
	if dir == "" || dir == "." || leavesRootAbsolutely(file) {
		return file
	}
	return dir + "/" + file
}

// OfProcess reports whether a path leads to what the system shows of a process, as
// "/proc/self/cwd/x", "/proc/17/fd/3" and "/dev/fd/3" do: which file that is depends on who opens it.
// The standard streams by their own names, as "/dev/stdin", are not among these.
func OfProcess(file string) bool {
	if !strings.Contains(file, "proc") && !strings.Contains(file, "dev") ||
		standardStreams[strings.TrimRight(file, "/")] {
		return false
	}
	var at []string
	absolute := strings.HasPrefix(file, "/")
	for _, name := range strings.Split(file, "/") {
		if name == "" || name == "." {
			continue
		}
		if absolute && len(at) == 2 && at[0] == "dev" && ofDevice[at[1]] {
			return true
		}
		if name == ".." {
			absolute = absolute || len(at) == 0 // as far up as it goes
			at = at[:max(0, len(at)-1)]
			continue
		}
		if at = append(at, name); absolute && len(at) == 3 && at[0] == "proc" &&
			(at[1] == "self" || at[1] == "thread-self" || strings.Trim(at[1], "0123456789") == "") {
			return true
		}
	}
	return false
}

// ofDevice are the names of /dev that are links to what a process has open.
var ofDevice = set("fd stdin stdout stderr")

// standardStreams are what the standard streams resolve to.
var standardStreams = set("/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2")

// DecideAt decides an action at a place: a file by each of its names, from each folder, and a
// command line with the files that it touches. The lowest decision holds.
func (s *Subject) DecideAt(p *Place, a Action) Result {
	switch a.Group {
	case ir.Command:
		return s.command(p, a.Arg)
	case ir.Read, ir.Edit:
	default:
		return s.Decide(a)
	}
	var all *Result
	judge := needs(&all)
	for _, dir := range p.dirs() {
		judge(s.named(p, touch{group: a.Group, names: p.names(dir, a.Arg)}))
	}
	return *all
}

// named decides a file by all its names. Git compares names byte by byte with those of its index, so
// that a word of it needs not be plain.
func (s *Subject) named(p *Place, t touch) *Result {
	if len(t.names) == 0 {
		return s.unresolved(t.group)
	}
	var all *Result
	judge := needs(&all)
	for _, name := range t.names {
		judge(s.file(t.group, name))
		if p.Folds {
			judge(s.onFolding(t, name))
		}
		if p.Home != "" && !LeavesRoot(name) {
			judge(s.homeFile(t.group, p.Home+"/"+name))
		}
	}
	return all
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
