package compiler_test

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"

	golist "golang.org/x/tools/go/packages"
)

// TestNoBareBool reports each call of a function of the module with a bare true or false: the
// reader of the call cannot know what it turns on. A typed constant, an option or a second
// function can be read. Of a function with one argument its name says it.
func TestNoBareBool(t *testing.T) {
	all, err := golist.Load(&golist.Config{
		Mode: golist.NeedName | golist.NeedFiles | golist.NeedSyntax | golist.NeedTypes | golist.NeedTypesInfo |
			golist.NeedImports | golist.NeedExportFile,
	}, module+"...")
	if err != nil || len(all) == 0 {
		t.Fatal("go list:", err)
	}
	for _, p := range all {
		for _, err := range p.Errors {
			t.Error(err)
		}
		for _, f := range p.Syntax {
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && bareBool(p.TypesInfo, call) {
					t.Errorf("%s: a bare true or false as one of several arguments", p.Fset.Position(call.Pos()))
				}
				return true
			})
		}
	}
}

// bareBool reports whether a call passes true or false, beside other arguments, to a function
// that the module declares. For a parameter of any type (or(flag, false)) it is a value.
func bareBool(info *types.Info, call *ast.CallExpr) bool {
	origin := signature(info, call.Fun)
	if origin == nil || len(call.Args) < 2 {
		return false
	}
	for i, arg := range call.Args {
		id, ok := ast.Unparen(arg).(*ast.Ident)
		if !ok || i >= origin.Params().Len() {
			continue
		}
		c, ok := info.Uses[id].(*types.Const)
		if !ok || c.Parent() != types.Universe {
			continue
		}
		if _, generic := origin.Params().At(i).Type().(*types.TypeParam); !generic {
			return true
		}
	}
	return false
}

// signature returns the signature that the module declares for what is called, and nil for a
// function of a library, a builtin and a conversion.
func signature(info *types.Info, fun ast.Expr) *types.Signature {
	var id *ast.Ident
	switch f := ast.Unparen(fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		sig, _ := info.TypeOf(fun).(*types.Signature)
		return sig
	}
	o := info.Uses[id]
	if o == nil || o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path()+"/", module) {
		return nil
	}
	sig, _ := o.Type().(*types.Signature)
	return sig
}
