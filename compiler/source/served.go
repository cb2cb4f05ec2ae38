package source

import (
	"path"
	"slices"

	"cuelang.org/go/cue/ast"

	"modec.dev/modec/compiler/diag"
)

// ServedMode returns the path of the file in which modec serve writes the MCP restrictions of a mode, name being a
// name for the mode that a path can have.
func ServedMode(dir, name string) string { return path.Join(dir, Served, "mode-"+name+".cue") }

// restrictions is the field of a mode that a served file sets.
const restrictions = "mcpRestrictions"

// override has the MCP restrictions of a served file stand in the place of those that other files say for its mode.
// Two lists would only contradict each other. Restrictions that only an evaluation knows stay, and do that.
func (l *loader) override(files []*ast.File) {
	for _, served := range files {
		for slug, at := range setBy(served) {
			if served.Filename != ServedMode(l.dir, slug) { // a slug is its name in paths too
				continue
			}
			path := []string{"modes", slug, restrictions}
			if l.unserved {
				cut(&served.Decls, path, func(ast.Node) {})
				continue
			}
			l.tree.Served = append(l.tree.Served, at)
			for _, f := range files {
				if f == served {
					continue
				}
				cut(&f.Decls, path, func(old ast.Node) {
					l.diags.Warnf(diag.Overridden, at,
						"these mcpRestrictions of mode %q stand in the place of those in the source", slug).
						Path(diag.Join("modes", diag.Label(slug))+"."+restrictions).
						Hint("delete the file, and those in the source hold again").
						Related(position(old.Pos()), "overridden")
				})
			}
		}
	}
}

// setBy returns the modes whose MCP restrictions a file says, and where.
func setBy(f *ast.File) map[string]diag.Pos {
	found := map[string]diag.Pos{}
	each(f.Decls, "modes", func(modes *ast.Field) {
		for _, d := range body(modes.Value) {
			mode, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			slug, _, err := ast.LabelName(mode.Label)
			if err != nil {
				continue
			}
			each(body(mode.Value), restrictions, func(r *ast.Field) { found[slug] = position(r.Label.Pos()) })
		}
	})
	return found
}

// cut removes the fields at a path, and tells of each.
func cut(decls *[]ast.Decl, names []string, gone func(ast.Node)) {
	*decls = slices.DeleteFunc(*decls, func(d ast.Decl) bool {
		if e, ok := d.(*ast.EmbedDecl); ok { // the one value of a file of plain data
			if s, ok := e.Expr.(*ast.StructLit); ok {
				cut(&s.Elts, names, gone)
			}
			return false
		}
		f, ok := d.(*ast.Field)
		if !ok || !called(f, names[0]) {
			return false
		}
		if len(names) == 1 {
			gone(f.Label)
			return true
		}
		if s, ok := f.Value.(*ast.StructLit); ok {
			cut(&s.Elts, names[1:], gone)
		}
		return false
	})
}

// each calls do with the fields of a name.
func each(decls []ast.Decl, name string, do func(*ast.Field)) {
	for _, d := range decls {
		if f, ok := d.(*ast.Field); ok && called(f, name) {
			do(f)
		}
	}
}

// called reports whether a field has a name.
func called(f *ast.Field, name string) bool {
	have, _, err := ast.LabelName(f.Label)
	return err == nil && have == name
}

// body returns the declarations of a struct.
func body(x ast.Expr) []ast.Decl {
	if s, ok := x.(*ast.StructLit); ok {
		return s.Elts
	}
	return nil
}
