package source

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/scanner"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/encoding/json"
	"cuelang.org/go/encoding/toml"
	"cuelang.org/go/encoding/yaml"
	"github.com/pelletier/go-toml/v2/unstable"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
)

// maxDepth is how deep a data file may nest. Data needs a dozen levels. The parsers and the
// evaluator recurse, and Go cannot recover from a stack overflow.
const maxDepth = 500

// Parse reads a data file of any form into CUE's syntax tree, with the places of the file
// itself.
func Parse(name string, b []byte) (*ast.File, error) {
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	var f *ast.File
	var err error
	switch path.Ext(name) {
	case ".cue":
		if longChain(b) {
			return nil, errTooDeep
		}
		f, err = parser.ParseFile(name, b, parser.ParseComments)
	case ".json":
		var e ast.Expr
		e, err = json.Extract(name, b)
		f = wrapExpr(name, e)
	case ".toml":
		if err := checkTOML(b); err != nil {
			return nil, err
		}
		var e ast.Expr
		e, err = toml.NewDecoder(name, bytes.NewReader(b)).Decode()
		f = wrapExpr(name, e)
	default:
		f, err = yaml.Extract(name, b)
	}
	if err == nil && depthOf(f) > maxDepth {
		err = errTooDeep
	}
	if ext := path.Ext(name); err == nil && ext != ".cue" && ext != ".toml" {
		err = duplicate(f, ext == ".json")
	}
	return f, err
}

var errTooDeep = fmt.Errorf("got more than %d levels, want fewer", maxDepth)

func wrapExpr(name string, e ast.Expr) *ast.File {
	f := &ast.File{Filename: name}
	if e != nil {
		f.Decls = []ast.Decl{&ast.EmbedDecl{Expr: e}}
	}
	return f
}

// depthOf returns how deep a tree nests. It stops below maxDepth.
func depthOf(f *ast.File) int {
	depth, deepest := 0, 0
	ast.Walk(f, func(ast.Node) bool {
		deepest = max(deepest, depth+1)
		if depth == maxDepth {
			return false
		}
		depth++
		return true
	}, func(ast.Node) { depth-- })
	return deepest
}

// longChain reports whether a large CUE file has an element with more selectors, colons and
// operators than any data: "a.a.a…", "a: a: a: …". The parser limits brackets, but recurses
// over these.
func longChain(b []byte) bool {
	const (
		large   = 64 << 10 // in a smaller file nothing overflows the stack
		longest = 10_000
	)
	if len(b) < large {
		return false
	}
	var s scanner.Scanner
	s.Init(token.NewFile("", -1, len(b)), b, nil, 0)
	for links := 0; links <= longest; {
		switch _, tok, _ := s.Scan(); tok {
		case token.EOF:
			return false
		case token.COMMA: // also at the end of a line that ends an element
			links = 0
		case token.IDENT, token.STRING, token.INT, token.FLOAT, token.INTERPOLATION, token.COMMENT,
			token.LBRACE, token.RBRACE, token.LBRACK, token.RBRACK, token.LPAREN, token.RPAREN:
		default:
			links++
		}
	}
	return true
}

// maxTables is how many tables a TOML file may have. The time of CUE's decoder grows with
// their square.
const maxTables = 5000

// checkTOML refuses files for which CUE's decoder would need too much time or memory. The
// decoder reports files that do not parse.
func checkTOML(b []byte) error {
	var p unstable.Parser
	p.Reset(b)
	for tables := 0; p.NextExpression(); {
		n := p.Expression()
		if deepNode(n) {
			return errTooDeep
		}
		if n.Kind == unstable.Table || n.Kind == unstable.ArrayTable {
			if tables++; tables > maxTables {
				return fmt.Errorf("the file has more than %d tables; split it over several files", maxTables)
			}
		}
	}
	return nil
}

// deepNode reports whether a key has more than maxDepth parts.
func deepNode(n *unstable.Node) bool {
	switch n.Kind {
	case unstable.KeyValue, unstable.Table, unstable.ArrayTable:
		parts := 0
		for it := n.Key(); it.Next(); {
			if parts++; parts > maxDepth {
				return true
			}
		}
		return n.Kind == unstable.KeyValue && deepNode(n.Value())
	case unstable.InlineTable, unstable.Array:
		for it := n.Children(); it.Next(); {
			if deepNode(it.Node()) {
				return true
			}
		}
	}
	return false
}

// inText matches the place in a message of the YAML parser, which has it nowhere else.
var inText = lazy.Regexp(`^(?:yaml: )?(?:[^:]*:)?(?:line )?([0-9]+)(?::([0-9]+))?: (.*)$`)

// syntax reports the errors of a parser in a file.
func (l *loader) syntax(name string, err error) {
	if line := diag.ConflictLine(l.tree.Data[name]); line > 0 {
		l.diags.Errorf(diag.Syntax, diag.Pos{File: name, Line: line, Col: 1}, diag.LeftConflict).
			Hint(diag.MendConflict)
		return
	}
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
		if m := inText().FindStringSubmatch(msg); m != nil && pos.Line == 0 {
			pos.Line, _ = strconv.Atoi(m[1])
			pos.Col, _ = strconv.Atoi(m[2])
			msg = m[3]
		}
		pos, msg = mistake(l.tree.Data[name], pos, msg)
		if cause := errors.Unwrap(e); cause != nil && path.Ext(name) == ".json" {
			if pos, msg = mistake(nil, pos, cause.Error()); msg == cause.Error() {
				msg = "invalid JSON: " + msg
			}
		}
		if pos.Col == 0 {
			pos.Col = firstColumn(l.tree.Data[name], pos.Line)
		}
		l.diags.Errorf(diag.Syntax, pos, "%s", strings.TrimSuffix(msg, "."))
	}
}

// firstColumn returns the column of the first word of a line, 0 where there is no such
// line.
func firstColumn(data []byte, line int) int {
	n := 0
	for text := range bytes.Lines(data) {
		if n++; n == line {
			return len(text) - len(bytes.TrimLeft(text, " \t")) + 1
		}
	}
	return 0
}

// header checks a CUE file's package and imports. It removes the schema that a file embeds
// for editors, because modec checks the shape of data that is not unified with it.
func (l *loader) header(f *ast.File) bool {
	if p := f.PackageName(); p != "" && p != "modec" {
		l.diags.Errorf(diag.BadPackage, position(f.Pos()), "got package %s, want package modec", p)
		return false
	}
	local, ok := l.imports(f)
	if local != "" && ok {
		removeSchema(f, local)
	}
	return ok
}

// imports checks what a file imports. It returns the name that the schema has in the file.
func (l *loader) imports(f *ast.File) (local string, ok bool) {
	ok = true
	for spec := range f.ImportSpecs() {
		switch name := importPath(spec); {
		case name == schemaImport:
			local = "schema"
			if spec.Name != nil {
				local = spec.Name.Name
			}
		case strings.Contains(name, "."): // CUE's own packages have no dot
			l.diags.Errorf(diag.BadImport, position(spec.Pos()),
				"got import %q, want a package of CUE's standard library or %q", name, schemaImport)
			ok = false
		}
	}
	return local, ok
}

// removeSchema removes what a file says of the schema, which it imports as local.
func removeSchema(f *ast.File, local string) {
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
		if field, ok := d.(*ast.Field); ok && field.Constraint == token.OPTION {
			return true // modes?: [string]: schema.#Mode is a constraint without data
		}
		e, ok := d.(*ast.EmbedDecl)
		if !ok {
			return false
		}
		sel, ok := e.Expr.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := sel.X.(*ast.Ident)
		return ok && x.Name == local
	})
	if !mentions(f, local) {
		f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
			imp, ok := d.(*ast.ImportDecl)
			if !ok {
				return false
			}
			imp.Specs = slices.DeleteFunc(imp.Specs, func(s *ast.ImportSpec) bool {
				return importPath(s) == schemaImport
			})
			return len(imp.Specs) == 0
		})
	}
}

// importPath returns the path that a spec imports, without a version.
func importPath(s *ast.ImportSpec) string {
	name, err := strconv.Unquote(s.Path.Value)
	if err != nil {
		return s.Path.Value
	}
	name, _, _ = strings.Cut(name, "@")
	return name
}

// mentions reports whether a file's values refer to a name.
func mentions(f *ast.File, name string) bool {
	found := false
	for _, d := range f.Decls {
		if _, ok := d.(*ast.ImportDecl); ok {
			continue
		}
		ast.Walk(d, func(n ast.Node) bool {
			x, ok := n.(*ast.Ident)
			found = found || ok && x.Name == name
			return !found
		}, nil)
	}
	return found
}
