package model

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// shellLine is a command line as the engine takes it apart (@cursor/sdk 1.0.32,
// shell-parser; compared with tree-sitter-bash 0.21.0 on some 17,000 lines):
// every simple command, also one inside a substitution, by its name and
// arguments joined with one space. Assignments and redirects are not part of it;
// declarations and tests are not commands. Words after a redirect belong to the
// redirect: of `rm > x -rf /` the engine compares "rm".
type shellLine struct {
	commands  []string
	redirects bool // every redirect is one that an allowlist lets pass
	// doubtful is set where operators stand without commands or targets: which
	// commands tree-sitter finds there, if any, is not known.
	doubtful bool
}

func splitShell(line string) shellLine {
	f, err := policy.ParseLine(line)
	if err != nil {
		return splitBroken(line)
	}
	l := shellLine{redirects: true}
	var redirects []*syntax.Redirect
	prefix := map[*syntax.CallExpr]string{}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if c, ok := n.Cmd.(*syntax.CallExpr); ok {
				l.call(prefix[c], c.Args, n.Redirs, line)
			}
		case *syntax.TimeClause: // a command's name to tree-sitter
			name := "time"
			if n.PosixFormat {
				name += " -p"
			}
			l.named(name, n.Stmt, prefix)
		case *syntax.CoprocClause:
			l.named("coproc", n.Stmt, prefix)
		case *syntax.LetClause, *syntax.ArithmCmd:
			l.commands = append(l.commands, slice(line, n))
		case *syntax.Redirect:
			redirects = append(redirects, n)
		}
		return true
	})
	l.redirects = safeRedirects(redirects)
	return l
}

// named makes a reserved word the name of the simple command that follows it.
func (l *shellLine) named(name string, s *syntax.Stmt, prefix map[*syntax.CallExpr]string) {
	if s != nil {
		if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			prefix[c] = name + " "
			return
		}
	}
	l.commands = append(l.commands, name)
}

// notCommands are builtins that tree-sitter-bash has nodes of their own for.
var notCommands = map[string]bool{"unset": true, "unsetenv": true, "[": true}

var assignment = regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*\+?=`)

// looksAssigned matches a first word that tree-sitter-bash takes for an assignment.
var looksAssigned = regexp.MustCompile(`\A--[A-Za-z0-9_]+=`)

func (l *shellLine) call(prefix string, args []*syntax.Word, redirects []*syntax.Redirect, line string) {
	for len(args) > 0 && looksAssigned.MatchString(slice(line, args[0])) {
		args = args[1:]
	}
	if len(args) == 0 || notCommands[slice(line, args[0])] {
		return
	}
	words := []string{text(args[0], line)}
	at, redirected := policy.RedirectBehind(args[0], redirects)
	for _, w := range args[1:] {
		if redirected && w.Pos().After(at) {
			break
		}
		words = append(words, text(w, line))
	}
	l.commands = append(l.commands, prefix+strings.Join(words, " "))
}

// text returns a word as written; outside quotes an escaped line break ends a word.
func text(w *syntax.Word, line string) string {
	var b strings.Builder
	for _, p := range w.Parts {
		part := slice(line, p)
		if _, ok := p.(*syntax.Lit); ok {
			part = strings.ReplaceAll(part, "\\\n", " ")
		}
		b.WriteString(part)
	}
	return b.String()
}

func slice(line string, n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(line) || from > to {
		return ""
	}
	return line[from:to]
}

// splitBroken takes a line apart that no shell runs: tree-sitter recovers, and
// the engine compares the commands that it finds. Here that is what stands
// between the operators, without what comes after a redirect or an open quote.
func splitBroken(line string) shellLine {
	b := brokenLine{target: true}
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			i++
		case strings.IndexByte(";&|\n()", c) >= 0:
			if i++; i < len(line) && line[i] == c && joins(c) {
				i++
			}
			b.operator(c, line[i:])
		case c == '<' || c == '>':
			b.doubtful = b.doubtful || !b.target
			b.redirect, b.target = true, false
			i++
		default:
			n := wordEnd(line[i:])
			if n == 0 { // an open quote
				b.doubtful = b.doubtful || strings.TrimSpace(line[i+1:]) != ""
				return b.finished()
			}
			b.word(line[i : i+n])
			i += n
		}
	}
	return b.finished()
}

// brokenLine collects the commands of a line that no shell runs.
type brokenLine struct {
	commands []string
	doubtful bool
	words    []string // of the command so far
	redirect bool     // behind a redirect
	target   bool     // no redirect lacks its target
}

// joins reports whether an operator wants a command on both sides.
func joins(operator byte) bool { return operator == '&' || operator == '|' }

// operator ends a command.
func (b *brokenLine) operator(c byte, rest string) {
	separates := joins(c) || c == ';'
	b.doubtful = b.doubtful || separates && len(b.words) == 0 || joins(c) && strings.TrimSpace(rest) == ""
	b.end()
}

func (b *brokenLine) end() {
	b.doubtful = b.doubtful || !b.target
	if len(b.words) > 0 {
		b.commands = append(b.commands, strings.Join(b.words, " "))
	}
	b.words, b.redirect, b.target = nil, false, true
}

func (b *brokenLine) word(text string) {
	b.doubtful = b.doubtful || strings.ContainsAny(text, "`$") // the commands inside it
	if !b.redirect && (len(b.words) > 0 || !assignment.MatchString(text)) {
		b.words = append(b.words, text)
	}
	b.target = true
}

func (b *brokenLine) finished() shellLine {
	b.end()
	return shellLine{commands: b.commands, redirects: true, doubtful: b.doubtful}
}

// wordEnd returns the length of the word that a text starts with, 0 where it
// starts with a quote that nothing closes.
func wordEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'', '"', '`':
			n := strings.IndexByte(s[i+1:], s[i])
			if n < 0 {
				return i
			}
			i += n + 1
		case ' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>':
			return i
		}
	}
	return len(s)
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

// shellDecision returns the engine's decision for a command line in the run mode
// allowlist without a sandbox (shouldBlockShellCommand): without any token everything is
// asked; a line in which nothing is recognised is asked; one denied command
// denies the line; all of them allowed, with harmless redirects, allow it.
func shellDecision(deny, allow []token, line, file string) (ir.Decision, string, diag.Pos) {
	l := splitShell(line)
	if len(l.commands) == 0 || len(deny)+len(allow) == 0 {
		return ir.Ask, "no entry for commands", diag.Pos{File: file}
	}
	var by *token
	all := l.redirects
	for _, c := range l.commands {
		matches := func(t *token) bool { return t.matchesShell(c) }
		if t := find(deny, format.Shell, matches); t != nil && !l.doubtful {
			return ir.Deny, t.Text, t.At
		}
		t := find(allow, format.Shell, matches)
		switch {
		case t == nil:
			all = false
		case by == nil, by.At.File == file && t.At.File != file: // what somebody added is why
			by = t
		}
	}
	if all {
		return ir.Allow, by.Text, by.At
	}
	return ir.Ask, "no entry for this command", diag.Pos{File: file}
}
