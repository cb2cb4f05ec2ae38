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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/encoding/json"
	"cuelang.org/go/encoding/toml"
	"cuelang.org/go/encoding/yaml"

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

func parse(name string, b []byte) (*ast.File, error) {
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	switch path.Ext(name) {
	case ".cue":
		return parser.ParseFile(name, b, parser.ParseComments)
	case ".json":
		e, err := json.Extract(name, b)
		return wrapExpr(name, e), err
	case ".toml":
		e, err := toml.NewDecoder(name, bytes.NewReader(b)).Decode()
		return wrapExpr(name, e), err
	}
	return yaml.Extract(name, b)
}

func wrapExpr(name string, e ast.Expr) *ast.File {
	f := &ast.File{Filename: name}
	if e != nil {
		f.Decls = []ast.Decl{&ast.EmbedDecl{Expr: e}}
	}
	return f
}

// inText is the place that the YAML parser writes into its message.
var inText = regexp.MustCompile(`^(?:yaml: )?(?:[^:]*:)?(?:line )?([0-9]+)(?::([0-9]+))?: (.*)$`)

// syntax reports what a parser found in a file.
func (l *loader) syntax(name string, err error) {
	for _, e := range cueerrors.Errors(err) {
		pos := diag.Pos{File: name}
		if ps := cueerrors.Positions(e); len(ps) > 0 {
			pos = position(ps[0])
		}
		format, args := e.Msg()
		msg := fmt.Sprintf(format, args...)
		if msg == "" {
			msg, _, _ = strings.Cut(e.Error(), "\n")
		}
		if m := inText.FindStringSubmatch(msg); m != nil && pos.Line == 0 {
			pos.Line, _ = strconv.Atoi(m[1])
			pos.Col, _ = strconv.Atoi(m[2])
			msg = m[3]
		}
		l.diags.Errorf(pos, "syntax", "", "%s", strings.TrimSuffix(msg, "."))
	}
}

// header checks a CUE file's package and drops the schema that it embeds for
// editors.
func (l *loader) header(f *ast.File) bool {
	if p := f.PackageName(); p != "" && p != "modec" {
		l.diags.Errorf(position(f.Pos()), "bad-package", "", "got package %s, want package modec", p)
		return false
	}
	local := ""
	for _, spec := range slices.Collect(f.ImportSpecs()) {
		if strings.Trim(spec.Path.Value, `"`) == schemaImport {
			local = "schema"
			if spec.Name != nil {
				local = spec.Name.Name
			}
		}
	}
	if local == "" {
		return true
	}
	var decls []ast.Decl
	for _, d := range f.Decls {
		if e, ok := d.(*ast.EmbedDecl); ok {
			if sel, ok := e.Expr.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
					continue
				}
			}
		}
		if imp, ok := d.(*ast.ImportDecl); ok {
			var specs []*ast.ImportSpec
			for _, s := range imp.Specs {
				if strings.Trim(s.Path.Value, `"`) != schemaImport {
					specs = append(specs, s)
				}
			}
			if imp.Specs = specs; len(specs) == 0 {
				continue
			}
		}
		decls = append(decls, d)
	}
	f.Decls = decls
	return true
}

// evaluate lets CUE evaluate the files together: one of them is more than
// plain data.
func (l *loader) evaluate(files []*ast.File) *node {
	inst := build.NewContext().NewInstance(l.dir, nil)
	for _, f := range files {
		if err := inst.AddSyntax(f); err != nil {
			l.syntax(f.Filename, err)
		}
	}
	if err := inst.Complete(); err != nil {
		l.syntax(l.dir, err)
	}
	if l.diags.HasErrors() {
		return nil
	}
	v := cuecontext.New().BuildInstance(inst)
	if err := v.Validate(); err != nil {
		l.evaluation(err)
		return nil
	}
	n, err := fromValue(v)
	if err != nil {
		l.evaluation(err)
		return nil
	}
	return n
}

// evaluation reports what CUE's evaluator found, one a place.
func (l *loader) evaluation(err error) {
	for _, e := range cueerrors.Errors(err) {
		d := diag.Diagnostic{Code: "conflict", Path: strings.Join(e.Path(), ".")}
		for _, p := range cueerrors.Positions(e) {
			if d.Pos.IsZero() {
				d.Pos = position(p)
			} else {
				d.Related = append(d.Related, diag.Related{Pos: position(p), Message: "and here"})
			}
		}
		format, args := e.Msg()
		if d.Message = fmt.Sprintf(format, args...); !strings.HasPrefix(d.Message, "conflicting values") {
			d.Code = "cue"
		}
		l.diags = append(l.diags, d)
	}
}
