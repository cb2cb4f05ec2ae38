package migrate

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// parts takes a command line apart into what it does: each simple command, its
// variables written out as words, and each file that it reads or writes by a
// redirect. A line may do nothing. ok is false for one with a part that only running
// it would tell.
func parts(line string) (out []policy.Action, ok bool) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil { // no shell that is known runs it: as any command
		return []policy.Action{{Group: ir.Command, Arg: anyCommand}}, true
	}
	ok = true
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
				out = append(out, policy.Action{Group: ir.Read, Arg: path.Clean(plain(n.Word))})
			case n.Op == syntax.DplOut, n.Op == syntax.DplIn, n.Op == syntax.Hdoc, n.Op == syntax.DashHdoc, n.Op == syntax.WordHdoc:
			default:
				if w := plain(n.Word); w != "/dev/null" {
					out = append(out, policy.Action{Group: ir.Edit, Arg: path.Clean(w)})
				}
			}
		case *syntax.CallExpr:
			var line []string
			for _, a := range n.Args {
				line = append(line, plain(a))
			}
			if line = unwrapped(line); len(line) > 0 {
				out = append(out, policy.Action{Group: ir.Command, Arg: strings.Join(line, " ")})
			}
		case *syntax.DeclClause, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CoprocClause, *syntax.FuncDecl:
			out = append(out, policy.Action{Group: ir.Command, Arg: anyCommand})
		}
		return true
	})
	return out, ok
}

var braces = regexp.MustCompile(`\{[^{}]*(?:,|\.\.)[^{}]*\}`)

// anyCommand is what only a rule for every command allows.
const anyCommand = "modec-unlisted-command --any word"

// unwrapped takes off what runs another command without changing what it is, and
// leaves nothing of a test, and of `cd` to a folder of the project (design §3.6).
func unwrapped(words []string) []string {
	for len(words) > 0 && slices.Contains([]string{"timeout", "time", "nice", "nohup", "stdbuf"}, words[0]) {
		words = words[1:]
		for len(words) > 0 && wrapperArg.MatchString(words[0]) {
			words = words[1:]
		}
	}
	if len(words) > 0 && words[0] == "[" { // a test
		return nil
	}
	if len(words) == 2 && words[0] == "cd" && !path.IsAbs(words[1]) && !strings.HasPrefix(words[1], "~") && !strings.HasPrefix(path.Clean(words[1]), "..") {
		return nil
	}
	return words
}

var wrapperArg = regexp.MustCompile(`^(-.*|[0-9.]+[smhd]?)$`)

// plain writes a word without its quotes, and what the shell puts into it as a
// plain word.
func plain(w *syntax.Word) string {
	var b strings.Builder
	var write func([]syntax.WordPart)
	write = func(list []syntax.WordPart) {
		for _, p := range list {
			switch p := p.(type) {
			case *syntax.Lit:
				for i := 0; i < len(p.Value); i++ {
					if p.Value[i] == '\\' && i+1 < len(p.Value) {
						i++
					}
					b.WriteByte(p.Value[i])
				}
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				write(p.Parts)
			default:
				b.WriteString("word")
			}
		}
	}
	write(w.Parts)
	return braces.ReplaceAllString(b.String(), "word")
}
