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
	// Folds is set where a file system may take a name for another one. No list allows a path
	// that is not plain then: see plainPath.
	Folds bool
	// File reports whether a name that Names returned is a file and no folder; nil where nobody
	// knows.
	File func(name string) bool
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
	switch rest, ok := OfProcess(file); {
	case ok && rest == "":
		return nil
	case ok:
		return []string{file, under(dir, rest)}
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

// OfProcess returns what a path names that leads through a folder of a process: relative to the
// working directory for /proc/self/cwd, absolute for /proc/self/root. The process may be
// written as a number and as one of its threads, and /dev/fd leads there too. The name is ""
// where it may be any file: what a process has open or mapped, and what lies behind that.
func OfProcess(file string) (name string, ok bool) {
	if !strings.Contains(file, "proc") && !strings.Contains(file, "dev") {
		return "", false
	}
	var at []string
	parts := strings.Split(file, "/")
	absolute := strings.HasPrefix(file, "/")
	for i, part := range parts {
		switch part {
		case "", ".":
			continue
		case "..":
			absolute = absolute || len(at) == 0 // as far up as it goes
			at = at[:max(0, len(at)-1)]
			continue
		}
		at = append(at, part)
		if slices.Equal(at, []string{"dev", "fd"}) {
			at = []string{"proc", "self", "fd"}
		}
		if !absolute {
			continue
		}
		rest := strings.Join(parts[i+1:], "/")
		switch linkOf(at) {
		case toCwd:
			return path.Join(".", rest), true
		case toRoot:
			return "/" + rest, true
		case toAny:
			return "", true
		case toStandard:
			return "", strings.Trim(rest, "./") != "" || strings.Contains(rest, "..")
		}
	}
	return "", false
}

// processLink is where a link of the system leads in one process and not in another.
type processLink uint8

const (
	noLink     processLink = iota
	toCwd                  // the working directory
	toRoot                 // the root of the file system
	toStandard             // standard input, output or errors of whoever opens it
	toAny                  // any file
)

// linkOf returns where the link of a process leads that a clean path names.
func linkOf(at []string) processLink {
	if len(at) == 2 && at[0] == "dev" && standardStreams["/dev/"+at[1]] {
		return toStandard
	}
	if len(at) < 3 || at[0] != "proc" {
		return noLink
	}
	of := at[2:]
	if len(of) > 2 && of[0] == "task" {
		of = of[2:]
	}
	switch {
	case of[0] == "cwd":
		return toCwd
	case of[0] == "root":
		return toRoot
	case len(of) > 1 && of[0] == "fd" && (at[1] == "self" || at[1] == "thread-self") && standardStreams[of[1]]:
		return toStandard
	case len(of) > 1 && (of[0] == "fd" || of[0] == "map_files"):
		return toAny
	}
	return noLink
}

var standardStreams = set("/dev/stdin /dev/stdout /dev/stderr 0 1 2")

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
		if p.Home != "" && !Leaves(name) {
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
