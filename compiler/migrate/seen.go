package migrate

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/output"
)

// Seen is a file of an agent, or several of one kind, that the import found and did not take.
type Seen struct {
	// Path is a file, a folder with a slash at its end, or "**/NAME" for files in several
	// folders below the project's own.
	Path   string          `json:"path"`
	Files  int             `json:"files"`           // how many; 0 where nobody counted
	More   bool            `json:"more,omitempty"`  // there are more than were counted
	Names  []string        `json:"names,omitempty"` // of the files, where not all of the folder's are meant
	Agent  string          `json:"agent,omitempty"` // the target; "" where modec has none
	Reason contract.Reason `json:"reason" jsonschema:"modec help targets lists them"`
	Why    string          `json:"why"`
	Next   string          `json:"next,omitempty"` // a command that imports it
}

// Limits of what is looked at for files that are not imported.
const (
	mostEntries = 200_000 // of folders
	mostCounted = 10_000  // files of one kind
	mostLooked  = 2_000   // files whose text is read
	mostNamed   = 100     // names of one kind
	mostNested  = 200     // folders
	deepest     = 5       // of the folders below the project's own
	longest     = 5 * time.Second
	mostText    = 256 << 10 // bytes of such a file
)

// Look returns the files of agents that [Run] would see and not import, sorted by path.
func Look(ctx context.Context, req Request) []Seen {
	in, _ := read(ctx, req)
	return in.seen(ctx, req)
}

// seen lists what is there and was not read. Files that somebody named are all that is asked about.
func (in *imports) seen(ctx context.Context, req Request) []Seen {
	if req.Files != nil || req.Args != nil {
		return []Seen{}
	}
	ctx, end := context.WithTimeout(ctx, longest)
	defer end()
	s := &search{ctx: ctx, kinds: kindsOf(req), taken: map[string]bool{}, cleared: map[string]bool{},
		entries: mostEntries, looks: mostLooked, out: []Seen{}}
	for _, f := range in.files {
		s.taken[f] = true
	}
	for _, n := range in.notes {
		s.taken[n.Pos.File] = true
	}
	if req.join != nil {
		for _, f := range req.join.files {
			s.taken[f] = true
		}
	}
	lock, _ := contract.ReadImport(req.Root, output.LockFile)
	s.built = output.Built(lock)
	s.ofOne(req.Root, in.personal)
	s.refused(in)
	root := s.open(req.Root, "", "")
	s.folder(root)
	if req.Home != nil {
		s.folder(s.open(req.Home, "", "~/"))
	}
	s.below(req, root)
	s.byGit(req)
	s.out = slices.DeleteFunc(s.out, func(x Seen) bool {
		return x.Reason == contract.NoTarget && req.Took != nil && req.Took(x.Path)
	})
	slices.SortStableFunc(s.out, func(a, b Seen) int { return cmp.Compare(a.Path, b.Path) })
	if s.short {
		s.out = append(s.out, Seen{Path: "**", Reason: contract.NotSearched, More: true,
			Why: "the project is too large to look into every folder: `modec -C FOLDER migrate` looks into one"})
	}
	return s.out
}

// agentKind is a kind of file, and the target whose agent it belongs to.
type agentKind struct {
	contract.AgentFile
	target string
}

// kindsOf lists the files of all agents, those with a target first.
func kindsOf(req Request) (kinds []agentKind) {
	formats := Formats(req.Targets)
	for _, t := range req.Targets {
		lister, ok := t.(contract.FileLister)
		if !ok || req.From != "" && formats[req.From] != contract.Importer(lister) {
			continue
		}
		for _, f := range lister.AgentFiles() {
			kinds = append(kinds, agentKind{f, t.Name()})
		}
	}
	if req.From == "" {
		for _, f := range otherFiles {
			kinds = append(kinds, agentKind{AgentFile: f})
		}
	}
	return kinds
}

// nests reports whether a folder with such a file is a project of its own.
func (k agentKind) nests() bool { return k.Imported && k.Reason != contract.Private }

// search looks for files, within limits.
type search struct {
	ctx     context.Context
	kinds   []agentKind
	taken   map[string]bool // files and folders that are read, noted or named already
	cleared map[string]bool // files that an agent does not count as its own, behind its target
	built   func(path string) bool
	entries int // that may still be read
	looks   int
	nested  int
	short   bool // something was left out
	out     []Seen
}

// cut reports whether a limit is reached.
func (s *search) cut() bool { return s.entries <= 0 || s.ctx.Err() != nil }

// place is a folder in which an agent looks for its files.
type place struct {
	fsys    fs.FS
	folder  string // below fsys, with a slash at its end; "": itself
	at      string // what a path below fsys begins with where it is named
	entries []fs.DirEntry
}

// found is something that the path of a kind matches.
type found struct {
	path   string // below the file system
	isDir  bool
	isLink bool
}

// open reads a folder.
func (s *search) open(fsys fs.FS, folder, at string) place {
	return place{fsys, folder, at, s.list(fsys, cmp.Or(strings.TrimSuffix(folder, "/"), "."))}
}

// folder names what one folder has of every kind.
func (s *search) folder(p place) {
	for i, list := range s.findAll(p) {
		for _, f := range list {
			s.file(p, s.kinds[i], f)
		}
	}
}

// findAll returns what a folder has of every kind.
func (s *search) findAll(p place) [][]found {
	names := map[string]bool{}
	for _, e := range p.entries {
		names[e.Name()] = true
	}
	all := make([][]found, len(s.kinds))
	for i, k := range s.kinds {
		if first, _, deep := strings.Cut(k.Path, "/"); names[first] || !deep && isPattern(first) {
			all[i] = s.find(p, k.Path)
		}
	}
	return all
}

func isPattern(segment string) bool { return strings.ContainsAny(segment, "*?") }

// find returns what a kind's path matches in a folder. Links are not followed.
func (s *search) find(p place, pattern string) (out []found) {
	name, folder := strings.CutSuffix(pattern, "/")
	dir, base := path.Split(name)
	parent := path.Join(p.folder, dir)
	if !isPattern(base) {
		info, err := fs.Lstat(p.fsys, path.Join(parent, base))
		if err != nil {
			return nil
		}
		if f := (found{path.Join(parent, base), info.IsDir(), isLink(info.Mode())}); f.fits(folder) {
			out = append(out, f)
		}
		return out
	}
	entries := p.entries
	if dir != "" {
		if info, err := fs.Lstat(p.fsys, parent); err != nil || !info.IsDir() {
			return nil
		}
		entries = s.list(p.fsys, parent)
	}
	for _, e := range entries {
		f := found{path.Join(parent, e.Name()), e.IsDir(), isLink(e.Type())}
		if ok, _ := path.Match(base, e.Name()); ok && f.fits(folder) {
			out = append(out, f)
		}
	}
	return out
}

func isLink(m fs.FileMode) bool { return m&fs.ModeSymlink != 0 }

// fits reports whether something is a folder where one is meant, and else a file.
func (f found) fits(folder bool) bool { return f.isLink || f.isDir == folder }

// list reads a folder, sorted, as far as the limit allows.
func (s *search) list(fsys fs.FS, dir string) []fs.DirEntry {
	if s.cut() {
		s.short = true
		return nil
	}
	d, err := fsys.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	lister, ok := d.(fs.ReadDirFile)
	if !ok {
		return nil
	}
	var all []fs.DirEntry
	for {
		some, err := lister.ReadDir(min(1000, s.entries))
		all = append(all, some...)
		if s.entries -= len(some); err != nil || len(some) == 0 {
			break
		}
		if s.cut() {
			s.short = true
			break
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// file names something that a kind matches, unless it is read or named already.
func (s *search) file(p place, k agentKind, f found) {
	at := p.at + f.path
	if s.taken[at] {
		return
	}
	switch {
	case !k.Imported && p.at == "":
		s.count(p, k, f)
		return
	case !k.Imported:
		s.ofPerson(k, f, at)
		return
	}
	if s.taken[at] = true; p.at == "" { // what is read of the home folder depends on more than its path
		x := Seen{Path: at, Files: 1, Agent: k.target, Reason: contract.NotRead,
			Why: "another file is read in its place"}
		if f.isLink {
			x.Reason = contract.NotSearched
			x.Why = "it is a symbolic link, which no build writes through, and stays in force: " +
				"put the file itself in its place, and run `modec migrate` again"
		}
		s.out = append(s.out, x)
	}
}

// ofPerson names a file or a folder of the user's home, and does not look into it.
func (s *search) ofPerson(k agentKind, f found, at string) {
	if k.Reason == "" || k.Reason == contract.Unknown {
		return
	}
	s.taken[at] = true
	if f.isDir {
		at += "/"
	}
	s.out = append(s.out, Seen{Path: at, Agent: k.target, Reason: contract.Private,
		Why: "personal: " + k.Why})
}

// count adds the files of a kind: one, or those of a folder by their reason.
func (s *search) count(p place, k agentKind, f found) {
	end := ""
	if f.isDir {
		end = "/"
	}
	groups := []*Seen{}
	s.each(p, f, func(file string, link bool) bool {
		if s.taken[p.at+file] || s.cleared[k.target+file] || k.Look == nil && s.built(file) {
			return true
		}
		reason, why := s.look(p, k, file, link)
		if reason == "" {
			s.cleared[k.target+file] = true
			return true
		}
		s.taken[p.at+file] = true
		i := slices.IndexFunc(groups, func(x *Seen) bool { return x.Why == why })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &Seen{Path: p.at + f.path + end, Agent: k.target, Reason: reason, Why: why})
		}
		group := groups[i]
		if group.Files++; f.isDir && len(group.Names) < mostNamed {
			group.Names = append(group.Names, strings.TrimPrefix(file, f.path+"/"))
		}
		group.More = group.Files >= mostCounted
		return !group.More
	})
	for _, group := range groups {
		if group.Reason == k.Reason && k.Reason != contract.Unknown {
			group.Names = nil // the folder says it
		}
		s.out = append(s.out, *group)
	}
	if f.isDir {
		s.taken[p.at+f.path] = true
	}
}

// notLooked is said of a file whose text may say more than its path.
const notLooked = "modec did not look for permissions in it: it is a link, cannot be read, or is one of too many"

// look returns why a file is not imported.
func (s *search) look(p place, k agentKind, file string, link bool) (contract.Reason, string) {
	if k.Look == nil {
		return k.Reason, k.Why
	}
	if s.looks--; link || s.looks < 0 {
		return contract.NotSearched, notLooked
	}
	info, err := fs.Lstat(p.fsys, file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostText {
		return contract.NotSearched, notLooked
	}
	data, err := contract.ReadImport(p.fsys, file)
	if err != nil {
		return contract.NotSearched, notLooked
	}
	return k.Look(data)
}

// each calls f for a file, or for every file below a folder, until it returns false.
func (s *search) each(p place, from found, f func(file string, link bool) bool) bool {
	if !from.isDir {
		return f(from.path, from.isLink)
	}
	for _, e := range s.list(p.fsys, from.path) {
		name := path.Join(from.path, e.Name())
		if s.taken[p.at+name] || skipped(e.Name()) {
			continue
		}
		if !s.each(p, found{name, e.IsDir(), isLink(e.Type())}, f) {
			return false
		}
	}
	return true
}

// below names the folders with files that can be imported by themselves, and the other files of
// agents in folders, each kind once.
func (s *search) below(req Request, root place) {
	scattered := map[string]*Seen{}
	level := folders(root)
	for depth := 1; depth <= deepest && len(level) > 0; depth++ {
		var next []string
		for _, dir := range s.wanted(req, level) {
			p := s.open(req.Root, dir+"/", "")
			s.nestedIn(p, scattered)
			if !slices.ContainsFunc(p.entries, func(e fs.DirEntry) bool { return e.Name() == ".git" }) {
				next = append(next, folders(p)...)
			}
		}
		level = next
	}
	for _, key := range slices.Sorted(maps.Keys(scattered)) {
		s.out = append(s.out, *scattered[key])
	}
}

// folders lists the folders in a folder that may have a project of their own.
func folders(p place) (out []string) {
	for _, e := range p.entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !skipped(e.Name()) {
			out = append(out, path.Join(p.folder, e.Name()))
		}
	}
	return out
}

// skipped reports whether what a folder of a name contains is nobody's own work.
func skipped(name string) bool { return name == "node_modules" || name == ".git" }

// wanted leaves out the paths that git ignores.
func (s *search) wanted(req Request, paths []string) []string {
	ignored := s.ignored(req, paths)
	return slices.DeleteFunc(paths, func(name string) bool { return ignored[name] })
}

func (s *search) ignored(req Request, paths []string) map[string]bool {
	ignored := map[string]bool{}
	if req.Ignored != nil && len(paths) > 0 && !s.cut() {
		for _, name := range req.Ignored(s.ctx, slices.Clone(paths)) {
			ignored[name] = true
		}
	}
	return ignored
}

// nestedIn names what a folder below the project's own has.
func (s *search) nestedIn(p place, scattered map[string]*Seen) {
	var names []string
	all := s.findAll(p)
	for i, k := range s.kinds {
		for _, f := range all[i] {
			if name := strings.TrimPrefix(f.path, p.folder); k.nests() && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) > 0 {
		if s.nested++; s.nested > mostNested {
			s.short = true
			return
		}
		slices.Sort(names)
		s.out = append(s.out, Seen{Path: p.folder, Files: len(names), Names: names, Reason: contract.Nested,
			Why: "a project of its own"})
		return
	}
	for i, k := range s.kinds {
		for _, f := range all[i] {
			s.scatter(p, k, f, scattered)
		}
	}
}

// scatter adds a file to those of its kind in other folders.
func (s *search) scatter(p place, k agentKind, f found, scattered map[string]*Seen) {
	s.each(p, f, func(file string, link bool) bool {
		if s.taken[file] || s.cleared[k.target+file] || s.built(file) {
			return true
		}
		reason, why := s.look(p, k, file, link)
		if reason == "" {
			s.cleared[k.target+file] = true
			return true
		}
		s.taken[file] = true
		key := "**/" + k.Path + "\x00" + why
		group := scattered[key]
		if group == nil {
			group = &Seen{Path: "**/" + k.Path, Agent: k.target, Reason: reason, Why: why}
			scattered[key] = group
		}
		if group.Files++; len(group.Names) < mostNamed {
			group.Names = append(group.Names, file)
		}
		group.More = group.Files >= mostCounted
		return !group.More
	})
}

// byGit marks what git ignores as somebody's own.
func (s *search) byGit(req Request) {
	var paths []string
	for _, x := range s.out {
		if x.Reason != contract.Nested && fs.ValidPath(strings.TrimSuffix(x.Path, "/")) {
			paths = append(paths, x.Path)
		}
	}
	ignored := s.ignored(req, paths)
	for i := range s.out {
		if x := &s.out[i]; ignored[x.Path] && x.Reason != contract.Private {
			x.Reason, x.Why = contract.Private, "personal, since git ignores it: "+x.Why
		}
	}
}
