package compiler_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lint"
	"modec.dev/modec/compiler/suggest"
	"modec.dev/modec/targets"
)

// TestCodes holds every code to be a constant that is used, and to be documented
// once. A literal where a code belongs would be neither.
func TestCodes(t *testing.T) {
	documented := map[diag.Code]string{}
	declared, used := codeUses(t)
	codes := slices.Collect(maps.Values(declared))
	docs := compiler.Codes()
	for _, target := range targets.All() {
		docs = append(docs, target.Codes()...)
	}
	docs = append(docs, suggest.Codes()...)
	for _, d := range docs {
		if !slices.Contains(codes, d.Code) {
			t.Errorf("%s is documented, and no constant is that code", d.Code)
		}
	}
	for _, r := range lint.All(targets.All()) {
		docs = append(docs, diag.Doc{Code: r.ID, Text: r.Doc})
	}
	for _, d := range docs {
		if text, ok := documented[d.Code]; ok && text != d.Text {
			t.Errorf("%s is documented in two ways", d.Code)
		}
		documented[d.Code] = d.Text
		if len(d.Text) < 40 {
			t.Errorf("%s: got a paragraph of %d characters", d.Code, len(d.Text))
		}
	}
	for name, code := range declared {
		if documented[code] == "" {
			t.Errorf("%s (%s) is not documented", name, code)
		}
		if !used[name] {
			t.Errorf("%s (%s) is not used", name, code)
		}
	}
	if len(declared) < 100 {
		t.Errorf("got %d codes: this test no longer sees them", len(declared))
	}
}

// codeUses returns the code constants that the module declares, as "folder.Name",
// and those that anything but a table of documentation mentions.
func codeUses(t *testing.T) (declared map[string]diag.Code, used map[string]bool) {
	declared, used = map[string]diag.Code{}, map[string]bool{}
	root := ".."
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir // it may be installed right now
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(p))
		for _, decl := range file.Decls {
			if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.CONST {
				declareCodes(g, folder, declared)
				continue
			}
			if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "Codes" {
				continue // the documentation
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "diag" {
						used["../compiler/diag."+n.Sel.Name] = true
					}
				case *ast.Ident:
					used[folder+"."+n.Name] = true
				case *ast.CallExpr:
					literalCode(t, p, n)
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return declared, used
}

func declareCodes(g *ast.GenDecl, folder string, declared map[string]diag.Code) {
	for _, s := range g.Specs {
		v := s.(*ast.ValueSpec)
		var typ string
		switch x := v.Type.(type) {
		case *ast.Ident:
			typ = x.Name
		case *ast.SelectorExpr:
			typ = x.Sel.Name
		}
		if typ != "Code" || len(v.Values) != 1 {
			continue
		}
		if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			code, _ := strconv.Unquote(lit.Value)
			declared[folder+"."+v.Names[0].Name] = diag.Code(code)
		}
	}
}

// literalCode reports a diagnostic that is built with a literal for its code.
func literalCode(t *testing.T, file string, call *ast.CallExpr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 3 {
		return
	}
	if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "fmt" || x.Name == "t") { // t is a test
		return
	}
	switch sel.Sel.Name {
	case "Errorf", "Warnf", "Notef":
		if lit, ok := call.Args[0].(*ast.BasicLit); ok {
			t.Errorf("%s: got the literal %s for a code, want a constant", file, lit.Value)
		}
	}
}
