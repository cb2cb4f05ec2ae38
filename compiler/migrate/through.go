package migrate

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
)

// runsNothing reports whether a command line is blank or a comment, or one line that does not end, which
// shells refuse whole. They run a here-document that does not end, and the lines before one.
func runsNothing(line string) bool {
	if line = strings.TrimSpace(line); line == "" || strings.ContainsRune(line, '\n') || strings.Contains(line, "<<") {
		return line == ""
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	return syntax.IsIncomplete(err) || err == nil && len(f.Stmts) == 0
}

// parts returns what a command line does: each simple command, with words in place of its
// variables, and each file that it reads or writes by a redirect. ok is false where only
// running the line would show what it does.
func parts(line string) (out []policy.Action, ok bool) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil { // no known shell runs it: treat it as any command
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
		case *syntax.Redirect:
			out = append(out, redirected(n)...)
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

// redirected returns the file that a redirect reads or writes.
func redirected(r *syntax.Redirect) []policy.Action {
	if r.Word == nil {
		return nil
	}
	switch r.Op {
	case syntax.RdrIn:
		return []policy.Action{{Group: ir.Read, Arg: path.Clean(plain(r.Word))}}
	case syntax.DplOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return nil
	}
	if w := plain(r.Word); w != "/dev/null" {
		return []policy.Action{{Group: ir.Edit, Arg: path.Clean(w)}}
	}
	return nil
}

var braces = lazy.Regexp(`\{[^{}]*(?:,|\.\.)[^{}]*\}`)

// anyCommand is a command that only a rule for every command allows.
const anyCommand = "modec-unlisted-command --any word"

// unwrapped returns a command without the programs that only run another one, such as
// timeout. It returns nothing for a test and for `cd` to a folder of the project.
func unwrapped(words []string) []string {
	for len(words) > 0 && policy.IsWrapper(words[0]) {
		words = words[1:]
		for len(words) > 0 && wrapperArg().MatchString(words[0]) {
			words = words[1:]
		}
	}
	if len(words) > 0 && words[0] == "[" { // a test
		return nil
	}
	if len(words) == 2 && words[0] == "cd" && inProject(words[1]) {
		return nil
	}
	return words
}

// inProject reports whether a folder is below the current one.
func inProject(dir string) bool {
	return !path.IsAbs(dir) && !strings.HasPrefix(dir, "~") && !strings.HasPrefix(path.Clean(dir), "..")
}

var wrapperArg = lazy.Regexp(`^(-.*|[0-9.]+[smhd]?)$`)

// plain writes a word without its quotes, and "word" in place of what the shell puts into it.
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
	return braces().ReplaceAllString(b.String(), "word")
}
