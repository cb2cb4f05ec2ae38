package contract

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"slices"
)

// EachFile calls do with each file below a folder, in order, as an agent comes upon it: it follows links to folders,
// which [fs.WalkDir] does not. The error is that of the first folder that cannot be read, the others are gone through.
func EachFile(fsys fs.FS, dir string, do func(file string)) error {
	w := walk{fsys: fsys}
	w.folder(linked{dir: dir})
	for len(w.links) > 0 { // those behind fewest links first
		next := w.links[0]
		w.links = w.links[1:]
		w.folder(next)
	}
	slices.Sort(w.files)
	for _, file := range w.files {
		do(file)
	}
	return w.err
}

// walk is one way through a folder.
type walk struct {
	fsys    fs.FS
	files   []string
	links   []linked      // which it has not followed yet
	entered []fs.FileInfo // the folders to which they lead
	err     error
}

// linked is a folder, with the folders and the number of links on the way to it.
type linked struct {
	dir   string
	in    []fs.FileInfo
	links int
}

// mostLinks is how many links to one folder are followed: links between folders have paths without number.
const mostLinks = 8

// folder goes through a folder. It does not go round.
func (w *walk) folder(l linked) {
	info, err := fs.Stat(w.fsys, l.dir)
	if err == nil && times(l.in, info) > 0 {
		return
	}
	entries, listing := fs.ReadDir(w.fsys, l.dir)
	w.err = cmp.Or(w.err, err, listing)
	in := append(slices.Clip(l.in), info)
	for _, e := range entries {
		file := path.Join(l.dir, e.Name())
		switch to, _ := fs.Stat(w.fsys, file); {
		case e.IsDir():
			w.folder(linked{file, in, l.links})
		case e.Type()&fs.ModeSymlink == 0 || to == nil || !to.IsDir():
			w.files = append(w.files, file)
		case l.links < maxLinks && times(w.entered, to) < mostLinks:
			w.entered = append(w.entered, to)
			w.links = append(w.links, linked{file, in, l.links + 1})
		}
	}
}

// times counts a folder among others.
func times(list []fs.FileInfo, dir fs.FileInfo) (n int) {
	for _, is := range list {
		if os.SameFile(is, dir) {
			n++
		}
	}
	return n
}
