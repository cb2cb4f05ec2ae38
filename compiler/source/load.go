// Package source reads the data files of a source and the text files that they name.
// [Load] returns a [Tree] of nodes, each with its place. It checks no schema.
//
// Plain data is read from the syntax tree. CUE's evaluator runs only where a file has more
// than data, because it takes ten times as long and reports errors far from their cause.
package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"

	"modec.dev/modec/compiler/diag"
)

const (
	maxFile  = 4 << 20 // bytes of a data or prompt file
	maxFiles = 20_000
)

// Served is the folder of the source in which modec serve writes what its clients set.
const Served = "served"

// schemaImport is the package that users' files may embed for their editors.
// modec applies the schema itself.
const schemaImport = "modec.dev/schema"

// Tree is a source that was read.
type Tree struct {
	// Root is the data of all files together; nil where errors make that unknown.
	Root *Node
	// Data are the data files and Texts the prompt and rules files that they name, by
	// path. Texts have no byte order mark and no carriage returns.
	Data  map[string][]byte
	Texts map[string]string
	// Served are the places of MCP restrictions that stand in the place of others: those of the files of ServedMode.
	Served []diag.Pos
}

// Load reads every data file below dir and the text files that they name. After an error the
// tree contains what can still be checked.
func Load(fsys fs.FS, dir string) (*Tree, diag.List) { return newLoader(fsys, dir).load() }

// LoadUnserved reads a source as if the files of ServedMode said nothing of MCP restrictions.
func LoadUnserved(fsys fs.FS, dir string) (*Tree, diag.List) {
	l := newLoader(fsys, dir)
	l.unserved = true
	return l.load()
}

func (l *loader) load() (*Tree, diag.List) {
	l.tree.Root = l.data()
	if l.tree.Root != nil {
		l.texts()
	}
	l.diags.Sort()
	return l.tree, l.diags
}

// loader reads a source.
type loader struct {
	fsys  fs.FS
	dir   string
	tree  *Tree
	diags diag.List

	unserved bool // leave out what files of ServedMode restrict
}

func newLoader(fsys fs.FS, dir string) *loader {
	return &loader{
		fsys: fsys, dir: path.Clean(dir),
		tree: &Tree{Data: map[string][]byte{}, Texts: map[string]string{}},
	}
}

// data reads every data file below the source folder and returns their data together, nil
// where errors make that unknown.
func (l *loader) data() *Node {
	var files []*ast.File
	for _, name := range l.files() {
		b, ok := l.read(name, diag.Pos{File: name})
		if !ok {
			continue
		}
		l.tree.Data[name] = b
		if len(bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\uFEFF")))) == 0 {
			continue // in any form, an empty file says nothing
		}
		f, err := Parse(name, b)
		if err != nil {
			l.syntax(name, err)
			continue
		}
		if l.header(f) {
			files = append(files, f)
		}
	}
	if l.diags.HasErrors() {
		return nil
	}
	l.override(files)
	root := l.plain(files)
	if root == nil {
		root = l.evaluate(files)
	}
	if root != nil && len(root.Fields) == 0 && !l.diags.HasErrors() {
		l.diags.Errorf(diag.EmptyProject, diag.Pos{File: l.dir},
			"the source folder has no data (.cue, .yaml, .json, .toml); a source has at least one mode or role").
			Hintf("write a file such as %s/roles.cue: `modec schema --reference` explains the fields, "+
				"and `modec init DIR` writes an example into another folder", l.dir)
		return nil
	}
	return root
}

// plain unites the files without CUE's evaluator. It returns nil where one of them has more
// than plain data.
func (l *loader) plain(files []*ast.File) *Node {
	var diags diag.List
	root := &Node{Kind: Struct, Pos: diag.Pos{File: l.dir}}
	for _, f := range files {
		n, ok := literals{&diags}.file(f)
		switch {
		case !ok:
			return nil
		case n.Kind == Struct:
			root = unify(root, n, "", &diags)
		case n.Kind != Null: // an empty YAML file is null
			if n.Pos.IsZero() {
				n.Pos.File = f.Filename
			}
			diags.Errorf(diag.WrongType, n.Pos, "got %s, want a struct", n.Typed())
		}
	}
	l.diags = append(l.diags, diags...)
	return root
}

// dataFiles are the extensions of data files.
var dataFiles = []string{".cue", ".yaml", ".yml", ".json", ".toml"}

// files returns the names of the data files, sorted.
func (l *loader) files() []string {
	var names []string
	err := fs.WalkDir(l.fsys, l.dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != l.dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "cue.mod"):
			return fs.SkipDir
		case d.IsDir() || strings.HasPrefix(d.Name(), "."):
			return nil
		case slices.Contains(dataFiles, path.Ext(p)):
			names = append(names, p)
		}
		if len(names) > maxFiles {
			return fmt.Errorf("got more than %d data files", maxFiles)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.diags.Errorf(diag.UnreadableFile, diag.Pos{File: l.dir}, "cannot be read: %v", diag.WithoutPath(err))
	}
	return names
}

// read returns a file of the project. It reports problems at a place.
func (l *loader) read(name string, at diag.Pos) ([]byte, bool) {
	b, err := l.bytes(name)
	switch {
	case err != nil && errors.Is(err, outsideRoot()):
		l.diags.Errorf(diag.PathOutside, at, "%s leads outside the project, where no file of the source may be", name)
	case err != nil:
		l.diags.Errorf(diag.UnreadableFile, at, "%s cannot be read: %v", name, diag.WithoutPath(err)).
			Hint(l.near(name))
	case len(b) > maxFile:
		l.diags.Errorf(diag.FileTooLarge, at, "%s has more than %d MiB; split it", name, maxFile>>20)
	case !utf8.Valid(b):
		l.diags.Errorf(diag.NotUTF8, notUTF8(name, b, at), "%s has bytes that are not UTF-8", name)
	default:
		return b, true
	}
	return nil, false
}

// outsideRoot returns the error of os.Root for a path or a link that leaves the root. Package
// os does not export it, but returns the same value each time. The result matches no error
// where the current folder cannot be opened.
var outsideRoot = sync.OnceValue(func() error {
	unknown := errors.New("not an error of os.Root")
	root, err := os.OpenRoot(".")
	if err != nil {
		return unknown
	}
	defer root.Close()
	_, err = root.Stat("..")
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return unknown
})

// bytes reads a regular file, one byte more than maxFile at most.
func (l *loader) bytes(name string) ([]byte, error) {
	info, err := fs.Stat(l.fsys, name) // before Open, which would wait for ever on a named pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is %s", diag.FileKind(info.Mode()))
	}
	f, err := l.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// near returns a hint at a file in the same folder with almost the same name.
func (l *loader) near(name string) string {
	entries, err := fs.ReadDir(l.fsys, path.Dir(name))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if e.Name() != path.Base(name) {
			names = append(names, e.Name())
		}
	}
	return diag.DidYouMean(path.Base(name), names)
}

// notUTF8 returns the place of the first byte that is not UTF-8.
func notUTF8(name string, b []byte, at diag.Pos) diag.Pos {
	if at.Line != 0 {
		return at
	}
	i := 0
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	start := bytes.LastIndexByte(b[:i], '\n') + 1
	return diag.Pos{File: name, Line: 1 + bytes.Count(b[:i], []byte("\n")), Col: i - start + 1}
}
