package source

import (
	"errors"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"modec.dev/modec/compiler/diag"
)

// literals turns the syntax of plain data into nodes without evaluating it. Its methods
// return false where a file needs CUE: a reference, an expression, a comprehension, a
// definition, a constraint.
type literals struct{ diags *diag.List }

// ParseData reads a file of plain data.
func ParseData(name string, b []byte) (*Node, error) {
	f, err := Parse(name, b)
	if err != nil {
		return nil, err
	}
	var diags diag.List
	n, ok := literals{&diags}.file(f)
	if !ok {
		return nil, errors.New("got a reference or an expression, want plain data")
	}
	return n, diags.Err()
}

func (l literals) file(f *ast.File) (n *Node, ok bool) {
	n = &Node{Kind: Struct, Pos: position(f.Pos())}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.Package, *ast.CommentGroup:
		case *ast.ImportDecl:
			return nil, false
		case *ast.EmbedDecl:
			if len(f.Decls) != 1 {
				return nil, false
			}
			return l.expr(d.Expr, "") // the one value of a JSON, YAML or TOML file
		default:
			if !l.decl(n, d, "") {
				return nil, false
			}
		}
	}
	return n, true
}

func (l literals) decl(n *Node, d ast.Decl, path string) bool {
	switch d := d.(type) {
	case *ast.CommentGroup:
		return true
	case *ast.Field:
		if d.Constraint != token.ILLEGAL || len(d.Attrs) > 0 || d.Alias != nil {
			return false
		}
		name, isIdent, err := ast.LabelName(d.Label)
		if err != nil || isIdent && (name[0] == '_' || name[0] == '#') {
			return false
		}
		path = diag.Join(path, diag.Label(name))
		value, ok := l.expr(d.Value, path)
		if !ok {
			return false
		}
		if i, ok := n.index[name]; ok {
			n.Fields[i].Node = unify(n.Fields[i].Node, value, path, l.diags)
		} else {
			n.Set(Field{name, position(d.Label.Pos()), value})
		}
		return true
	}
	return false
}

func (l literals) expr(e ast.Expr, path string) (*Node, bool) {
	n := &Node{Pos: position(e.Pos())}
	switch e := e.(type) {
	case *ast.StructLit:
		n.Kind = Struct
		for _, d := range e.Elts {
			if !l.decl(n, d, path) {
				return nil, false
			}
		}
		return n, true
	case *ast.ListLit:
		n.Kind = List
		for _, x := range e.Elts {
			elem, ok := l.expr(x, path)
			if !ok {
				return nil, false
			}
			n.Elems = append(n.Elems, elem)
		}
		return n, true
	case *ast.BasicLit:
		return n, n.scalar(e)
	case *ast.UnaryExpr:
		lit, ok := e.X.(*ast.BasicLit)
		if e.Op != token.SUB || !ok || lit.Kind != token.INT && lit.Kind != token.FLOAT || !n.scalar(lit) {
			return nil, false
		}
		n.Text = "-" + n.Text
		return n, true
	}
	return nil, false
}

// scalar sets the value of a literal.
func (n *Node) scalar(lit *ast.BasicLit) bool {
	n.Text = lit.Value
	switch lit.Kind {
	case token.STRING:
		s, err := literal.Unquote(lit.Value)
		n.Kind, n.Text = String, s
		return err == nil && lit.Value[0] != '\'' // a bytes literal needs CUE
	case token.INT, token.FLOAT:
		var num literal.NumInfo
		if literal.ParseNum(lit.Value, &num) != nil {
			return false
		}
		if n.Kind = Float; lit.Kind == token.INT {
			n.Kind = Int
		}
		n.Text = num.String() // 1K is 1000
	case token.TRUE, token.FALSE:
		n.Kind = Bool
	case token.NULL:
		n.Kind = Null
	default:
		return false
	}
	return true
}

// position returns a place of CUE as a place of modec. The files were parsed under names
// relative to the root.
func position(p token.Pos) diag.Pos {
	if !p.IsValid() {
		return diag.Pos{}
	}
	pos := p.Position()
	return diag.Pos{File: pos.Filename, Line: pos.Line, Col: pos.Column}
}
