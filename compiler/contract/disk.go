package contract

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"modec.dev/modec/compiler/cache"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Disk is where an agent acts: a project's folder and what lies around it. Every path that an
// agent uses, by whatever tool, is judged by [Disk.Decide].
type Disk struct {
	Root string // the project's folder as an absolute path
	// Main is the project's folder in the main work tree of git, where Root is in another one;
	// else "". Its files are judged like those of the project too.
	Main string
	// Home is that of the user, which "~" stands for; "" where that is not known. Any path that
	// leads there is judged as "~/NAME" too.
	Home string
	// Resolve returns an absolute path with its links resolved, as far as it exists. It takes
	// a path that is not cleaned: ".." behind a link leads to where the link does.
	Resolve func(path string) (string, error)
	// Same reports whether two absolute paths are one folder; nil where nobody knows.
	Same func(a, b string) bool
	// Folds is that of a [policy.Place].
	Folds bool
	// Closed are folders of modec's own, as absolute paths: whatever opens a file there is denied.
	Closed []string
	// Kept keeps what is decided at a disk on which nothing changes; nil: nothing is kept.
	Kept *Decisions

	real  string   // Root with its links resolved, once it is asked for
	homes []string // Home as written and with its links resolved, once they are asked for
	met   bool     // a name led into a closed folder
}

// Decide decides an action at the disk. A relative path begins in any of the folders, absolute
// paths, by default in the project's; a command runs there. The lowest decision holds. A
// command outside of the project is never allowed.
func (d *Disk) Decide(s *policy.Subject, a policy.Action, folders ...string) policy.Result {
	if d.Kept == nil || d.Main != "" {
		return d.decide(s, a, folders)
	}
	key := decision{s, a, d.Root, strings.Join(folders, "\x00")}
	r, ok := d.Kept.last.Get(key)
	if !ok {
		r = d.decide(s, a, folders)
		d.Kept.last.Put(key, r)
	}
	return r
}

// Decisions are the last ones at disks on which nothing changes, and which differ by their root alone,
// as those that only a model has. An agent has several tools that do the same to a file, or run a
// command, and asks its hook about each.
type Decisions struct {
	last *cache.Cache[decision, policy.Result]
}

// decision is what a decision depends on.
type decision struct {
	subject *policy.Subject
	action  policy.Action
	root    string
	folders string
}

// NewDecisions keeps none yet.
func NewDecisions() *Decisions { return &Decisions{cache.New[decision, policy.Result](1024)} }

func (d *Disk) decide(s *policy.Subject, a policy.Action, folders []string) policy.Result {
	place := policy.Place{Names: d.Names, Folds: d.Folds, Home: d.rootAtHome()}
	outside := false
	if a.Group != ir.Command && filepath.IsAbs(a.Arg) {
		folders = nil // whatever they are
	}
	for _, folder := range folders {
		names := d.Names(d.Root, folder)
		if len(names) == 0 || !filepath.IsAbs(folder) {
			return policy.Result{Decision: ir.Deny, Rule: "a working directory that cannot be resolved"}
		}
		for _, name := range names {
			outside = outside || filepath.IsAbs(name)
			if inside := !policy.LeavesRoot(name); inside || filepath.IsAbs(name) {
				place.Dirs = append(place.Dirs, name)
			}
		}
	}
	d.met = false
	r := s.DecideAt(&place, a)
	if d.met {
		return policy.Result{Decision: ir.Deny, Rule: "modec's own files, which nobody opens but modec"}
	}
	if a.Group == ir.Command && outside && r.Decision == ir.Allow {
		return policy.Result{Decision: ir.Ask, Rule: "a command outside the project", Pos: r.Pos}
	}
	return r
}

// Names returns every path that a file in a folder may stand for, relative to the project where
// it lies inside: as it is written, mapped into the project, and with its links resolved. A
// file outside is named by its absolute path, as ../NAME and as ~/NAME, as a source may write
// it. Names returns nothing where a link cannot be resolved.
func (d *Disk) Names(dir, file string) []string {
	if d.real == "" {
		real, err := d.Resolve(d.Root)
		if err != nil {
			return nil
		}
		d.real = real
	}
	written, places := d.places(dir, file)
	if !written && len(places) == 0 {
		return nil
	}
	var names []string
	add := func(list ...string) {
		for _, name := range list {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if written {
		add(file)
	}
	for _, place := range places {
		add(d.relative(filepath.Clean(place))...)
	}
	for _, place := range places {
		readings := []string{place}
		if clean := filepath.Clean(place); clean != place { // programs clean paths, systems do not
			readings = append(readings, clean)
		}
		for _, reading := range readings {
			resolved, err := d.Resolve(reading)
			if err != nil {
				return nil
			}
			for _, folder := range d.Closed {
				_, in := d.below(resolved, folder)
				d.met = d.met || in
			}
			add(d.relative(resolved)...)
		}
	}
	return names
}

// Met reports whether the last decision was about what lies in a closed folder, which is denied whoever decides else.
func (d *Disk) Met() bool { return d.met }

// below returns a clean absolute path relative to a folder that it lies in, by any of the folder's names or another one
// of the disk. It reports false for a path that lies elsewhere.
func (d *Disk) below(name string, folders ...string) (rel string, in bool) {
	for _, folder := range folders {
		if rel := policy.Relative(folder, name); !filepath.IsAbs(rel) {
			return rel, true
		}
	}
	if d.Same == nil {
		return "", false
	}
	for folder := name; ; folder = filepath.Dir(folder) {
		if d.Same(folder, folders[0]) {
			return policy.Relative(folder, name), true
		}
		if folder == filepath.Dir(folder) {
			return "", false
		}
	}
}

// Own returns a file's path in the project, where it has one by every reading; else "".
func (d *Disk) Own(dir, file string) string {
	names := d.Names(dir, file)
	for _, name := range names {
		if name = filepath.ToSlash(filepath.Clean(name)); filepath.IsAbs(name) || !filepath.IsLocal(name) ||
			name != filepath.ToSlash(filepath.Clean(names[0])) {
			return ""
		}
	}
	if len(names) == 0 {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(names[0]))
}

// places returns the absolute paths that a file in a folder may mean, and whether the file is
// also judged as it is written, because programs read it in different ways.
func (d *Disk) places(dir, file string) (written bool, places []string) {
	const slash = string(filepath.Separator)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(d.Root, dir)
	}
	inside := dir + slash + file
	if strings.ContainsRune(file, 0) {
		return true, nil
	}
	from := file
	if !filepath.IsAbs(file) && !strings.HasPrefix(file, "~") {
		from = inside // which may lead up to /proc
	}
	switch {
	case policy.OfProcess(from): // any file
		return false, nil
	case filepath.IsAbs(file):
		return false, []string{file}
	case strings.HasPrefix(file, "~"):
		name, rest, _ := strings.Cut(filepath.ToSlash(file[1:]), "/")
		switch {
		case name == "+": // of bash and zsh
			return true, []string{dir + slash + rest, inside}
		case filepath.IsAbs(d.Home) && d.isUser(name):
			return true, []string{d.Home + slash + rest, inside}
		}
		return true, []string{inside}
	case policy.IsRooted(file):
		return true, nil
	}
	return false, []string{inside}
}

// ModelDisk returns a disk that only a model has, with a project in the folder root, a POSIX path. It has no links: the
// artifacts do not say which there are.
func ModelDisk(root string) Disk {
	if runtime.GOOS == "windows" {
		root = "C:" + filepath.FromSlash(root)
	}
	none := func(p string) (string, error) { return filepath.Clean(p), nil }
	return Disk{Root: root, Resolve: none, Kept: NewDecisions()}
}

// isUser reports whether a name behind "~" is that of the user whose home is known.
func (d *Disk) isUser(name string) bool {
	if name == "" || name == filepath.Base(d.Home) {
		return true
	}
	u, err := user.Current()
	return err == nil && name == u.Username
}

// atHome returns a clean absolute path as ~/NAME where it lies in the home folder, and else "".
func (d *Disk) atHome(name string) string {
	if !filepath.IsAbs(d.Home) {
		return ""
	}
	if d.homes == nil {
		d.homes = []string{filepath.Clean(d.Home)}
		if real, err := d.Resolve(d.Home); err == nil {
			d.homes = append(d.homes, real)
		}
	}
	if rel, in := d.below(name, d.homes...); in {
		return "~/" + rel
	}
	return ""
}

// rootAtHome returns the project's folder as ~/NAME where it lies in the home folder.
func (d *Disk) rootAtHome() string {
	if !filepath.IsAbs(d.Home) {
		return ""
	}
	if real, err := d.Resolve(d.Root); err == nil {
		if at := d.atHome(real); at != "" {
			return at
		}
	}
	return d.atHome(filepath.Clean(d.Root))
}

// relative returns a clean absolute path relative to the project where it lies inside, and else
// as it is, as ../NAME and as ~/NAME.
func (d *Disk) relative(name string) []string {
	if rel, in := d.below(name, d.Root, d.real); in {
		return inside(rel)
	}
	names := append([]string{name}, d.inMain(name)...)
	for _, root := range []string{d.Root, d.real} {
		up, err := filepath.Rel(root, name)
		if up = filepath.ToSlash(up); err == nil && !slices.Contains(names, up) {
			names = append(names, up)
		}
	}
	if at := d.atHome(name); at != "" {
		names = append(names, at)
	}
	return names
}

// inMain returns a clean absolute path relative to the project in the main work tree, where it
// lies inside that.
func (d *Disk) inMain(name string) []string {
	if d.Main == "" {
		return nil
	}
	folders := []string{d.Main}
	if real, err := d.Resolve(d.Main); err == nil {
		folders = append(folders, real)
	}
	for _, folder := range folders {
		if rel := policy.Relative(folder, name); !filepath.IsAbs(rel) {
			return inside(rel)
		}
	}
	return nil
}

// inside returns the names of a path of the project. Windows opens a device by some of them.
func inside(rel string) []string {
	if runtime.GOOS == "windows" && !filepath.IsLocal(filepath.FromSlash(rel)) {
		return []string{rel, "//./" + rel}
	}
	return []string{rel}
}

// SameFolder reports whether two paths are one folder of the disk: by another case, a short
// name, a mount or a link.
func SameFolder(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// ResolveLinks returns an absolute path with its links resolved as far as it exists, and the
// rest as written. It fails on a link whose target does not exist, because writing through
// that link would create the target, and on a path that leads through a link of a process: that
// leads somewhere else for whoever opens the path.
func ResolveLinks(file string) (string, error) {
	if real, err := ofProcess(file); real != "" || err != nil {
		return real, err
	}
	rest := ""
	for p := file; ; {
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if _, err := os.Lstat(p); err == nil {
			return "", fmt.Errorf("%s: the link's target does not exist", p)
		}
		p = strings.TrimRight(p, string(filepath.Separator))
		parent, name := filepath.Split(p) // which does not clean
		if parent == p || name == "" {
			return "", err
		}
		rest = filepath.Join(name, rest)
		p = parent
	}
}

// maxLinks is how many links a path may lead through, Linux's own limit.
const maxLinks = 40

// ofProcess returns where a path leads that ends below the folder that /proc shows a process of
// itself. It fails where a link of that folder follows, and returns "" for any other path.
func ofProcess(file string) (string, error) {
	if runtime.GOOS == "windows" || !filepath.IsAbs(file) {
		return "", nil
	}
	at, rest, links := "/", strings.Split(file, "/"), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		at = filepath.Join(at, name)
		if itsOwn(at) {
			if policy.OfProcess(at + "/" + strings.Join(rest, "/")) {
				return "", fmt.Errorf("%s: leads through a link of a process", file)
			}
			continue
		}
		target, err := os.Readlink(at)
		if err != nil {
			continue
		}
		if links++; links > maxLinks {
			return "", nil
		}
		if filepath.IsAbs(target) {
			at = "/"
		} else {
			at = filepath.Dir(at)
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if itsOwn(at) {
		return at, nil
	}
	return "", nil
}

// itsOwn reports whether a clean path is the folder that /proc shows a process of itself, or
// below it.
func itsOwn(file string) bool {
	for _, folder := range []string{"/proc/self", "/proc/thread-self"} {
		if file == folder || strings.HasPrefix(file, folder+"/") {
			return true
		}
	}
	return false
}
