package cursor

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shellLine is a command line as the engine takes it apart (@cursor/sdk 1.0.32,
// shell-parser on tree-sitter-bash): every simple command, also one inside a
// substitution, by its name and arguments joined with one space. Assignments
// and redirects are no part of it; declarations and tests are no commands.
type shellLine struct {
	commands  []string
	redirects bool // every redirect is one that an allowlist lets pass
	broken    bool // nothing here reads the line; tree-sitter still finds commands in it
}

// splitShell takes a line apart. tree-sitter recovers from what a shell would
// not run: such a line is one command here, as written.
func splitShell(line string) shellLine {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return shellLine{commands: []string{strings.Join(strings.Fields(line), " ")}, redirects: true, broken: true}
	}
	l := shellLine{redirects: true}
	var redirects []*syntax.Redirect
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			l.call("", n.Args, line)
		case *syntax.TimeClause: // a command's name to tree-sitter
			if n.Stmt == nil {
				l.commands = append(l.commands, "time")
			} else if c, ok := n.Stmt.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
				l.call("time ", c.Args, line)
				for _, w := range c.Args { // the substitutions in them
					syntax.Walk(w, func(n syntax.Node) bool {
						if c, ok := n.(*syntax.CallExpr); ok {
							l.call("", c.Args, line)
						}
						return true
					})
				}
				redirects = append(redirects, n.Stmt.Redirs...)
				return false
			}
		case *syntax.LetClause:
			l.commands = append(l.commands, slice(line, n))
		case *syntax.Redirect:
			redirects = append(redirects, n)
		}
		return true
	})
	l.redirects = safeRedirects(redirects)
	return l
}

// notCommands are builtins that tree-sitter-bash has nodes of their own for.
var notCommands = map[string]bool{"unset": true, "unsetenv": true, "[": true}

func (l *shellLine) call(prefix string, args []*syntax.Word, line string) {
	if len(args) == 0 || notCommands[slice(line, args[0])] {
		return
	}
	words := make([]string, len(args))
	for i, w := range args {
		words[i] = slice(line, w)
	}
	l.commands = append(l.commands, prefix+strings.Join(words, " "))
}

func slice(line string, n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(line) || from > to {
		return ""
	}
	return line[from:to]
}

// safeRedirects reports whether redirects keep a listed command listed
// (computeRedirectAllowlistSafety): reading does, and so do /dev/null, a
// here-document, joining standard output and error, and writing a file of the
// workspace or of a temporary folder.
func safeRedirects(list []*syntax.Redirect) bool {
	safe, reads := true, true
	for _, r := range list {
		if r.Op != syntax.RdrIn && r.Op != syntax.DplIn {
			reads = false
		}
		safe = safe && safeRedirect(r)
	}
	return safe || reads
}

func safeRedirect(r *syntax.Redirect) bool {
	target, static := "", false
	if r.Word != nil {
		target, static = literalWord(r.Word)
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return true
	case syntax.DplOut:
		return static && (target == "1" || target == "2")
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		if !static {
			return false
		}
		p := absolute(target)
		return p == "/dev/null" || inside(root, p) || inside("/tmp", p) || inside("/var/tmp", p)
	}
	return static && target == "/dev/null"
}

func inside(dir, p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// literalWord returns a word without expansions and quotes.
func literalWord(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			s, ok := literalWord(&syntax.Word{Parts: p.Parts})
			if !ok {
				return "", false
			}
			b.WriteString(s)
		default:
			return "", false
		}
	}
	return b.String(), true
}
