package source

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"

	"modec.dev/modec/compiler/diag"
	schema "modec.dev/modec/cue"
)

// maxNodes is how many values a source may evaluate to: a few lines of CUE can
// say a list of a billion.
const maxNodes = 500_000

// evaluate lets CUE evaluate the files together: one of them is more than
// plain data. Only CUE's own packages and the schema can be imported, so that
// nothing is read from the disk or the network.
func (l *loader) evaluate(files []*ast.File) (root *Node) {
	defer func() {
		if x := recover(); x != nil { // the evaluator is not ours, and what it is given is anybody's
			l.diags.Errorf(diag.CUE, diag.Pos{File: l.dir}, "got a failure of CUE's evaluator, want a value: %v", x)
			root = nil
		}
	}()
	inst := newInstance(l.dir)
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
	r := valueReader{loader: l, left: maxNodes}
	n := r.node(v, "")
	if r.left <= 0 {
		return nil // validation would look at every value
	}
	if err := v.Validate(); err != nil {
		l.evaluation(err)
	}
	return n
}

// newInstance returns an empty CUE package that can import the schema. Its
// definitions accept everything there: modec applies them itself afterwards,
// and CUE's words for a failed disjunction never come up.
func newInstance(dir string) *build.Instance {
	var ctx *build.Context
	ctx = build.NewContext(build.Loader(func(pos token.Pos, path string) *build.Instance {
		if path != schemaImport {
			return nil
		}
		inst := ctx.NewInstance(dir, nil)
		inst.ImportPath, inst.PkgName = path, "schema"
		lax := &ast.File{Filename: schemaImport, Decls: []ast.Decl{&ast.Package{Name: ast.NewIdent("schema")}}}
		for _, f := range schema.Files() {
			file, err := Parse(f.Name, f.Data)
			if err != nil {
				return nil
			}
			for _, d := range file.Decls {
				if def, ok := d.(*ast.Field); ok {
					lax.Decls = append(lax.Decls, &ast.Field{Label: def.Label, Value: ast.NewIdent("_")})
				}
			}
		}
		if err := inst.AddSyntax(lax); err != nil {
			return nil
		}
		return inst
	}))
	return ctx.NewInstance(dir, nil)
}

// evaluation reports what CUE's evaluator found, with every place.
func (l *loader) evaluation(err error) {
	for _, e := range cueerrors.Errors(err) {
		d := diag.Diagnostic{Code: diag.CUE, Path: strings.Join(e.Path(), ".")}
		for _, p := range cueerrors.Positions(e) {
			at := position(p)
			switch {
			case at.File == schemaImport:
			case d.Pos.IsZero():
				d.Pos = at
			default:
				d.Related = append(d.Related, diag.Related{Pos: at, Message: "and here"})
			}
		}
		if d.Pos.IsZero() {
			d.Pos.File = l.dir
		}
		text, args := e.Msg()
		d.Message = fmt.Sprintf(text, args...)
		if strings.HasPrefix(text, "conflicting values %s and %s") && len(args) >= 2 {
			d.Code, d.Message = diag.Conflict, fmt.Sprintf("got %v, which disagrees with %v, want one value", args[0], args[1])
			if p := e.Path(); len(p) == 3 && p[0] == "modes" && p[2] == "name" && len(d.Related) > 0 && d.Related[0].Pos.File != d.Pos.File {
				d.Code, d.Message = diag.DuplicateSlug, fmt.Sprintf("got two modes %s, called %v and %v, want distinct slugs", p[1], args[0], args[1])
			}
		}
		l.diags = append(l.diags, d)
	}
}

// valueReader turns evaluated data into nodes.
type valueReader struct {
	*loader
	left int // how many nodes may still come
}

// node returns a value's regular fields, recursively. What has no value is a
// broken node; an error in it is Validate's to report.
func (r *valueReader) node(v cue.Value, path string) *Node {
	n := &Node{Pos: valuePos(v)}
	if r.left--; r.left <= 0 {
		if r.left == 0 {
			r.diags.Errorf(diag.CUE, diag.Pos{File: r.dir}, "got more than %d values, want fewer", maxNodes).
				Path(path)
		}
		return n
	}
	switch k := v.Kind(); {
	case k == cue.StructKind, v.IncompleteKind() == cue.BottomKind: // a struct with an error in it is bottom, and has fields
		r.fields(n, v, path)
	case k == cue.ListKind:
		n.Kind = List
		it, err := v.List()
		for i := 0; err == nil && it.Next(); i++ {
			n.Elems = append(n.Elems, r.node(it.Value(), fmt.Sprintf("%s[%d]", path, i)))
		}
	case k == cue.StringKind:
		if s, err := v.String(); err == nil {
			n.Kind, n.Text = String, s
		}
	case k == cue.IntKind:
		if b, err := v.AppendInt(nil, 10); err == nil {
			n.Kind, n.Text = Int, string(b)
		}
	case scalarKinds[k] != 0:
		n.Kind, n.Text = scalarKinds[k], syntaxOf(v)
	case v.Err() == nil:
		r.diags.Errorf(diag.CUE, n.Pos, "got %s, which is no single value, want one", syntaxOf(v)).Path(path)
	}
	return n
}

// fields reads a struct, and leaves alone what is none. A list with an error in
// it comes as fields too, by number.
func (r *valueReader) fields(n *Node, v cue.Value, path string) {
	it, err := v.Fields()
	if err != nil {
		return
	}
	n.Kind = Struct
	for i := 0; it.Next(); i++ {
		sel := it.Selector()
		if sel.LabelType() != cue.StringLabel {
			n.Kind = List
			n.Elems = append(n.Elems, r.node(it.Value(), fmt.Sprintf("%s[%d]", path, i)))
			continue
		}
		name := sel.Unquoted()
		child := r.node(it.Value(), diag.Join(path, diag.Label(name)))
		pos := child.Pos
		if f, ok := it.Value().Source().(*ast.Field); ok {
			pos = position(f.Label.Pos())
		}
		n.Set(Field{name, pos, child})
	}
}

var scalarKinds = map[cue.Kind]Kind{cue.FloatKind: Float, cue.BoolKind: Bool, cue.NullKind: Null}

func syntaxOf(v cue.Value) string {
	b, err := format.Node(v.Syntax(cue.Final()))
	if err != nil {
		return "a value"
	}
	return diag.Short(strings.Join(strings.Fields(string(b)), " "))
}

func valuePos(v cue.Value) diag.Pos {
	if f, ok := v.Source().(*ast.Field); ok && f.Value != nil {
		return position(f.Value.Pos())
	}
	return position(v.Pos())
}
