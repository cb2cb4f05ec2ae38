package compiler

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"

	"modec.dev/modec/compiler/diag"
)

// Source is where a project's data files are.
type Source struct {
	Root string // the project's folder
	Dir  string // the folder of the data files, relative to Root
}

const (
	maxFile  = 4 << 20 // bytes of a data or prompt file
	maxFiles = 20_000
)

// schemaImport is the package that users' files may embed for their editors.
// modec applies the schema itself.
const schemaImport = "modec.dev/schema"

// loader reads a source. Every file that it reads goes into the hash.
type loader struct {
	root  *os.Root
	dir   string
	hash  hash.Hash
	diags diag.List
}

func newLoader(src Source, config []byte) (*loader, error) {
	root, err := os.OpenRoot(src.Root)
	if err != nil {
		return nil, err
	}
	l := &loader{root: root, dir: path.Clean(src.Dir), hash: sha256.New()}
	l.hash.Write(config)
	return l, nil
}

// data reads every data file below the source folder and returns what they say
// together, nil after an error.
func (l *loader) data() *node {
	var files []*ast.File
	for _, name := range l.files() {
		b, ok := l.read(name, diag.Pos{File: name})
		if !ok {
			continue
		}
		f, err := parse(name, b)
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
	if len(files) == 0 {
		l.diags = append(l.diags, diag.Diagnostic{Code: "empty-project", Pos: diag.Pos{File: l.dir}, Message: "got no data file (.cue, .yaml, .json, .toml), want at least one", Hint: "`modec init` writes a source to start from"})
		return nil
	}
	root, ok := &node{kind: structKind, pos: diag.Pos{File: l.dir}}, true
	for _, f := range files {
		var n *node
		if n, ok = (literals{&l.diags}).file(f); !ok {
			break
		}
		if n.kind != structKind {
			l.diags.Errorf(n.pos, "wrong-type", "", "got %s, want a struct", n.typed())
			continue
		}
		root = merge(root, n, "", &l.diags)
	}
	if !ok {
		root = l.evaluate(files)
	}
	if l.diags.HasErrors() {
		return nil
	}
	return root
}

// files lists the data files, sorted.
func (l *loader) files() []string {
	var names []string
	err := fs.WalkDir(l.root.FS(), l.dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != l.dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "cue.mod"):
			return fs.SkipDir
		case !d.IsDir() && slices.Contains([]string{".cue", ".yaml", ".yml", ".json", ".toml"}, path.Ext(p)) && !strings.HasPrefix(d.Name(), "."):
			names = append(names, p)
		}
		if len(names) > maxFiles {
			return fmt.Errorf("got more than %d data files", maxFiles)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.diags.Errorf(diag.Pos{File: l.dir}, "unreadable-file", "", "cannot be read: %v", pathErr(err))
	}
	return names
}

// read returns a file of the project. at is the place that a problem is
// reported at.
func (l *loader) read(name string, at diag.Pos) ([]byte, bool) {
	f, err := l.root.Open(name)
	if err != nil {
		l.diags.Errorf(at, "unreadable-file", "", "got %s, which cannot be read: %v", name, pathErr(err))
		return nil, false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		l.diags.Errorf(at, "unreadable-file", "", "got %s, which cannot be read: %v", name, pathErr(err))
		return nil, false
	case len(b) > maxFile:
		l.diags.Errorf(at, "file-too-large", "", "got %s of more than %d MiB, want a smaller file", name, maxFile>>20)
		return nil, false
	case !utf8.Valid(b):
		l.diags.Errorf(notUTF8(name, b, at), "not-utf8", "", "got bytes that are not UTF-8 in %s, want UTF-8", name)
		return nil, false
	}
	fmt.Fprintf(l.hash, "%s\x00%d\x00", name, len(b))
	l.hash.Write(b)
	return b, true
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

func (l *loader) sum() string { return "sha256:" + hex.EncodeToString(l.hash.Sum(nil)) }
