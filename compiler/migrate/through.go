package migrate

import (
	"path"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// parts takes a command line apart into what it does: each simple command, its
// variables written out as words, and each file that it reads or writes by a
// redirect. ok is false for a line with a part that only running it would tell.
func parts(line string) (out []policy.Action, ok bool) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, false
	}
	ok = true
	text := func(n syntax.Node) string {
		var b strings.Builder
		ok = syntax.NewPrinter().Print(&b, n) == nil && ok
		return b.String()
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			if n.Short || n.Param != nil && n.Exp == nil && n.Repl == nil && n.Index == nil {
				break
			}
			ok = false
		case *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
			ok = false
		}
		return true
	})
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			switch {
			case n.Word == nil:
			case n.Op == syntax.RdrIn:
				out = append(out, policy.Action{Group: ir.Read, Arg: path.Clean(words(text(n.Word)))})
			case n.Op == syntax.DplOut, n.Op == syntax.DplIn, n.Op == syntax.Hdoc, n.Op == syntax.DashHdoc, n.Op == syntax.WordHdoc:
			default:
				if w := words(text(n.Word)); w != "/dev/null" {
					out = append(out, policy.Action{Group: ir.Edit, Arg: path.Clean(w)})
				}
			}
		case *syntax.CallExpr:
			var line []string
			for _, a := range n.Args {
				line = append(line, words(text(a)))
			}
			if len(line) > 0 {
				out = append(out, policy.Action{Group: ir.Command, Arg: strings.Join(line, " ")})
			}
		case *syntax.DeclClause, *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CoprocClause, *syntax.FuncDecl:
			ok = false
		}
		return true
	})
	return out, ok && len(out) > 0
}

var braces = regexp.MustCompile(`\{[^{}]*(?:,|\.\.)[^{}]*\}`)

// words writes a word's variables and substitutions out as a plain word.
func words(s string) string {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader("x "+s), "")
	if err != nil || len(f.Stmts) != 1 {
		return s
	}
	var b strings.Builder
	last := uint(2)
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst:
			b.WriteString(("x " + s)[last:n.Pos().Offset()] + "word")
			last = n.End().Offset()
			return false
		}
		return true
	})
	b.WriteString(("x " + s)[last:])
	return braces.ReplaceAllString(b.String(), "word")
}
