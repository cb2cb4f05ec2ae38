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

// maxNodes is how many values a source may evaluate to, because a few lines of CUE can be a
// list of a billion.
const maxNodes = 500_000

// evaluate lets CUE evaluate the files together. They can import only CUE's own packages and
// the schema, so that nothing is read from the disk or the network.
func (l *loader) evaluate(files []*ast.File) (root *Node) {
	defer func() {
		if x := recover(); x != nil { // anybody's files may find a defect of the evaluator
			l.diags.Errorf(diag.CUE, diag.Pos{File: l.dir}, "CUE's evaluator failed: %v", x)
			root = nil
		}
	}()
	before := l.diags.Count(diag.Error)
	inst := newInstance(l.dir)
	for _, f := range files {
		if err := inst.AddSyntax(f); err != nil {
			l.syntax(f.Filename, err)
		}
	}
	if err := inst.Complete(); err != nil {
		l.syntax(l.dir, err)
	}
	if l.diags.Count(diag.Error) > before {
		return nil
	}
	v := cuecontext.New().BuildInstance(inst)
	if err := v.Err(); err != nil && unquoted(files, err) {
		l.evaluation(err)
		return l.evaluate(files)
	}
	r := valueReader{loader: l, left: maxNodes}
	n := r.node(v, "")
	if r.left <= 0 {
		return nil // Validate would look at every value
	}
	if err := v.Validate(); err != nil {
		l.evaluation(err)
		if len(n.Fields) == 0 { // a package that CUE cannot build has no values
			return nil
		}
	}
	return n
}

// newInstance returns an empty CUE package that can import the schema. The definitions that
// it imports accept everything: modec checks the shape itself afterwards, with better
// messages than CUE has for a failed disjunction.
func newInstance(dir string) *build.Instance {
	var ctx *build.Context
	ctx = build.NewContext(build.Loader(func(pos token.Pos, path string) *build.Instance {
		if path != schemaImport {
			return nil
		}
		inst := ctx.NewInstance(dir, nil)
		inst.ImportPath, inst.PkgName = path, "schema"
		lax := &ast.File{
			Filename: schemaImport,
			Decls:    []ast.Decl{&ast.Package{Name: ast.NewIdent("schema")}},
		}
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

// evaluation reports the errors of CUE's evaluator, each with all its places.
func (l *loader) evaluation(err error) {
	for _, e := range cueerrors.Errors(err) {
		var places []diag.Pos
		for _, p := range cueerrors.Positions(e) {
			if at := position(p); !at.IsZero() && at.File != schemaImport {
				places = append(places, at)
			}
		}
		if len(places) == 0 {
			places = []diag.Pos{{File: l.dir}}
		}
		code, message := explain(e, places)
		d := l.diags.Errorf(code, places[0], "%s", message).Path(strings.Join(e.Path(), "."))
		for _, at := range places[1:] {
			d.Related(at, "and here")
		}
	}
}

// conflictFormat begins CUE's message about two values that differ. CUE has no other sign of
// that; a fixture fails when the text changes.
const conflictFormat = "conflicting values %s and %s"

// explain returns the code and the text of an error of CUE's evaluator.
func explain(e cueerrors.Error, places []diag.Pos) (diag.Code, string) {
	text, args := e.Msg()
	if text == notFound {
		return diag.CUE, fmt.Sprintf("%v is not defined; a text has quotes: %q", args[0], args[0])
	}
	if !strings.HasPrefix(text, conflictFormat) || len(args) < 2 {
		return diag.CUE, fmt.Sprintf(text, args...)
	}
	path := e.Path()
	name := len(path) == 3 && path[0] == "modes" && path[2] == "name"
	if name && len(places) > 1 && places[0].File != places[1].File {
		return diag.DuplicateSlug, fmt.Sprintf(
			"two modes have the slug %s, called %v and %v; modes need distinct slugs", path[1], args[0], args[1])
	}
	return diag.Conflict, fmt.Sprintf("%v disagrees with %v; a field has one value", args[0], args[1])
}

// valueReader turns evaluated data into nodes.
type valueReader struct {
	*loader
	left int // how many more nodes there may be
}

// node returns a value and, recursively, its regular fields. The node of what has no value is
// broken; Validate reports the error in it.
func (r *valueReader) node(v cue.Value, path string) *Node {
	n := &Node{Pos: valuePos(v)}
	if r.left--; r.left <= 0 {
		if r.left == 0 {
			r.diags.Errorf(diag.CUE, diag.Pos{File: r.dir}, "the source has more than %d values", maxNodes).
				Path(path)
		}
		return n
	}
	switch k := v.Kind(); {
	case k == cue.StructKind, v.IncompleteKind() == cue.BottomKind: // bottom with fields: an error inside
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
	case k == cue.BytesKind:
		r.diags.Errorf(diag.CUE, n.Pos, "got %s, want a text in double quotes", syntaxOf(v)).Path(path)
	case v.Err() == nil:
		r.diags.Errorf(diag.CUE, n.Pos, "got %s, want a single value", syntaxOf(v)).Path(path)
	}
	return n
}

// fields reads a struct. A list with an error in it has fields too, by number. fields does
// nothing for any other value.
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

// syntaxOf writes a value for a message.
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
