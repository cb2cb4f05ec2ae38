package migrate

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// doWithout imports a target's files. It leaves out those that the agent refuses, as the agent does, and returns
// the errors about these apart. Files that somebody named, and those that have to load, are not left out.
func doWithout(
	im contract.Importer, from contract.Source, must func(string) bool,
) (got contract.Imported, diags, without diag.List) {
	got, diags = im.Import(from)
	if from.Files != nil || from.Args != nil {
		return got, diags, nil
	}
	first, firstDiags := got, diags
	for hidden := map[string]bool{}; diags.HasErrors(); {
		before := len(hidden)
		for _, name := range got.NotLoaded {
			if must == nil || !must(name) {
				hidden[name] = true
			}
		}
		ofHidden := func(d diag.Diagnostic) bool { return d.Severity == diag.Error && hidden[d.Pos.File] }
		for _, d := range diags {
			if ofHidden(d) {
				without = append(without, d)
			}
		}
		if len(hidden) == before {
			return first, firstDiags, nil
		}
		rest := from
		rest.Root = lacking{from.Root, "", hidden}
		if from.Home != nil {
			rest.Home = lacking{from.Home, "~/", hidden}
		}
		got, diags = im.Import(rest)
		other := func(name string) bool { return !slices.Contains(first.Files, name) && !hidden[name] }
		if slices.ContainsFunc(got.Files, other) { // one that the agent does not read beside a broken one
			return first, firstDiags, nil
		}
	}
	return got, diags, without
}

// lacking is a file system without some of its files, which begins with a prefix in places.
type lacking struct {
	fs.FS
	prefix string
	hidden map[string]bool // by their names in places
}

func (l lacking) lacks(name string) bool { return l.hidden[l.prefix+path.Clean(name)] }

// Open opens a file that is not hidden.
func (l lacking) Open(name string) (fs.File, error) {
	if l.lacks(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return l.FS.Open(name)
}

// Stat describes a file that is not hidden.
func (l lacking) Stat(name string) (fs.FileInfo, error) {
	if l.lacks(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return fs.Stat(l.FS, name)
}

// ReadDir lists a folder without the hidden files.
func (l lacking) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(l.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return l.lacks(path.Join(name, e.Name())) }), err
}

// mendFirst is what to do about a file that its agent refuses, and mendsItself where an import can mend it.
const (
	mendFirst   = "mend it, and run `modec migrate` again"
	mendsItself = "; or `modec migrate --repair` mends it, and lists what was mended"
)

// mendable returns the files of some that an import reads which mends what their agent refuses.
func mendable(im contract.Importer, from contract.Source, without diag.List) map[string]bool {
	files := map[string]bool{}
	for _, d := range without {
		files[d.Pos.File] = !from.Repair
	}
	if len(files) > 0 && !from.Repair {
		from.Repair = true
		got, diags := im.Import(from)
		for file := range files {
			refused := func(d diag.Diagnostic) bool { return d.Severity == diag.Error && d.Pos.File == file }
			files[file] = slices.Contains(got.Files, file) && !slices.ContainsFunc(diags, refused)
		}
	}
	return files
}

// mending returns what to do about a file that its agent refuses.
func (in *imports) mending(file string) string {
	if in.mendable[file] {
		return mendFirst + mendsItself
	}
	return mendFirst
}

// written reports the files that the import does without and a build would write into: nothing can be built
// beside those.
func (in *imports) written(res *compiler.Result) (diags diag.List) {
	for _, d := range in.without {
		if slices.ContainsFunc(res.Files(), func(f contract.File) bool { return f.Path == d.Pos.File }) {
			d.Message += "; a build would write into the file"
			d.Hint = strings.TrimPrefix(d.Hint+"; "+in.mending(d.Pos.File), "; ")
			diags = append(diags, d)
		}
	}
	return diags
}

// refused names the files that the import does without.
func (s *search) refused(in *imports) {
	for _, d := range in.without {
		if s.taken[d.Pos.File] {
			continue
		}
		s.taken[d.Pos.File] = true
		at := strings.TrimPrefix(d.Pos.String(), d.Pos.File+":")
		why := d.Message
		if d.Pos.Line > 0 {
			why = at + ": " + why
		}
		s.out = append(s.out, Seen{Path: d.Pos.File, Files: 1, Agent: d.Target, Reason: contract.NotLoaded,
			Why: why + "; " + in.mending(d.Pos.File)})
	}
}
