package model

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/policy"
)

// line is a command line, taken apart.
type line struct {
	text    string
	simple  []*simple // in the order in which they stand, those of substitutions too
	outs    []string  // what redirects write; "" where it is not literal
	ins     []string
	piped   []string // the whole of a line with a pipe, as deny rules see it last
	opaque  bool     // Claude Code does not look through a part of it: then no pattern allows it
	unknown bool     // not a shell line
}

// simple is one simple command.
type simple struct {
	raw     string   // as it stands
	words   []string // without quotes
	env     bool     // assignments stand before it
	timed   bool     // by the keyword time
	dynamic bool     // the shell puts something into its words
	held    []string // the texts on which deny and ask rules are tried
	free    []string // those on which allow rules are tried
}

func newLine(text string) *line {
	l := &line{text: text}
	f, err := policy.ParseLine(text)
	if err != nil {
		// Observed: rules are then tried on the text alone.
		l.unknown = true
		t := strings.TrimSpace(text)
		l.simple = []*simple{{raw: t, words: strings.Fields(t), held: []string{t}, free: []string{t}}}
		return l
	}
	l.opaque = strings.Contains(text, "\\\n") || strings.Contains(text, "\\ ") || strings.Contains(text, "\\\t")
	l.stmts(f.Stmts)
	l.piped = piped(text, f)
	return l
}

// piped returns the texts that a line with a pipe has as a whole, none for another line. Observed on
// 2.1.330: one blank stands around each pipe, redirects are left out, and assignments and the wrappers
// that deny rules see through may be.
func piped(text string, f *syntax.File) []string {
	var b strings.Builder
	at, some := 0, false
	cut := func(from, to int, by string) {
		if from >= at && to <= len(text) {
			b.WriteString(strings.TrimRight(text[at:from], " \t\n"))
			b.WriteString(by)
			at = to
		}
	}
	var first *syntax.CallExpr
	var order []syntax.Node
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if first == nil {
				first = n
			}
		case *syntax.Redirect, *syntax.BinaryCmd:
			order = append(order, n)
		}
		return true
	})
	place := func(n syntax.Node) (from, to int, by string) {
		if c, ok := n.(*syntax.BinaryCmd); ok {
			from = int(c.OpPos.Offset())
			to = from + len(c.Op.String())
			to += len(text[to:]) - len(strings.TrimLeft(text[to:], " \t\n"))
			return from, to, " " + c.Op.String() + " "
		}
		return int(n.Pos().Offset()), int(n.End().Offset()), ""
	}
	slices.SortStableFunc(order, func(a, b syntax.Node) int {
		x, _, _ := place(a)
		y, _, _ := place(b)
		return cmp.Compare(x, y)
	})
	for _, n := range order {
		if c, ok := n.(*syntax.BinaryCmd); ok && c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
			continue
		} else if ok {
			some = true
		}
		cut(place(n))
	}
	if !some || first == nil {
		return nil
	}
	whole := strings.TrimSpace(b.String() + text[at:])
	list := []string{whole}
	if len(first.Args) == 0 || strings.TrimSpace(text[:first.Pos().Offset()]) != "" {
		return list
	}
	start := int(first.Pos().Offset())
	from := func(arg int) int { return int(first.Args[arg].Pos().Offset()) - start }
	if rest := from(0); rest > 0 && rest < len(whole) {
		list = append(list, whole[rest:])
	}
	var words []string
	for _, w := range first.Args {
		words = append(words, w.Lit())
	}
	for n := 0; ; {
		next := len(words) - len(unwrapOne(words[n:], denyWrappers))
		if next == n || next >= len(words) || from(next) >= len(whole) {
			return list
		}
		n = next
		list = append(list, whole[from(n):])
	}
}

func (l *line) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		l.stmt(s)
	}
}

// stmt walks what Claude Code 2.1.329 looks through: lists, pipes, !, if, while, for over
// literals, [[ ]]. Everything else is opaque. It is walked for the commands inside, on
// which deny and ask rules are still tried.
func (l *line) stmt(s *syntax.Stmt) {
	if s.Background || s.Coprocess {
		l.opaque = true
	}
	for _, r := range s.Redirs {
		l.redirect(r)
	}
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		l.call(c)
	case *syntax.BinaryCmd:
		l.stmt(c.X)
		l.stmt(c.Y)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			l.stmts(c.Cond)
			l.stmts(c.Then)
		}
	case *syntax.WhileClause:
		l.stmts(c.Cond)
		l.stmts(c.Do)
	case *syntax.ForClause:
		w, ok := c.Loop.(*syntax.WordIter)
		if !ok {
			l.opaque = true
		} else {
			for _, item := range w.Items {
				l.word(item)
			}
		}
		l.stmts(c.Do)
	case *syntax.TestClause:
		l.nested(c)
	case *syntax.TimeClause:
		l.timed(c)
	default:
		l.opaque = true
		l.nested(c)
	}
}

func (l *line) timed(c *syntax.TimeClause) {
	from := len(l.simple)
	if c.Stmt != nil {
		l.stmt(c.Stmt)
	}
	for _, t := range l.simple[from:] {
		t.timed = true
	}
}

// nested finds the commands in a part that Claude Code does not look through.
func (l *line) nested(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			l.call(n)
			return false
		case *syntax.Redirect:
			l.redirect(n)
			return false
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ParamExp:
			l.opaque = true
		}
		return true
	})
}

func (l *line) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.DplOut, syntax.DplIn: // 2>&1
		if w, ok := l.word(r.Word); !ok || strings.Trim(w, "0123456789-") != "" {
			l.opaque = true
		}
		return
	case syntax.Hdoc, syntax.DashHdoc:
		// Unquoted, its text is expanded by the shell.
		if w := r.Word.Lit(); w != "" {
			l.opaque = true
		}
		if r.Hdoc != nil {
			l.nested(r.Hdoc)
		}
		return
	case syntax.WordHdoc:
		l.word(r.Word)
		return
	}
	w, ok := l.word(r.Word)
	if !ok {
		l.opaque = true
		w = ""
	}
	switch r.Op {
	case syntax.RdrIn:
		if w != "/dev/null" {
			l.ins = append(l.ins, w)
		}
	case syntax.RdrInOut:
		l.ins, l.outs = append(l.ins, w), append(l.outs, w)
	default:
		if w != "/dev/null" {
			l.outs = append(l.outs, w)
		}
	}
}

func (l *line) call(c *syntax.CallExpr) {
	s := &simple{env: len(c.Assigns) > 0}
	for _, a := range c.Assigns {
		if a.Value != nil {
			l.word(a.Value)
		}
		if a.Array != nil || a.Index != nil {
			l.opaque = true
			l.nested(a)
		}
	}
	for _, w := range c.Args {
		text, ok := l.word(w)
		s.dynamic = s.dynamic || !ok
		s.words = append(s.words, text)
	}
	s.raw = strings.TrimSpace(l.text[c.Pos().Offset():min(int(c.End().Offset()), len(l.text))])
	s.texts()
	l.simple = append(l.simple, s)
}

// word returns a word without its quotes. It reports false where the shell puts something
// into the word that is not known before.
func (l *line) word(w *syntax.Word) (string, bool) {
	var b strings.Builder
	ok := true
	var parts func([]syntax.WordPart, bool)
	parts = func(list []syntax.WordPart, quoted bool) {
		for _, p := range list {
			switch p := p.(type) {
			case *syntax.Lit:
				if !quoted && braces(p.Value) {
					ok = false
				}
				unescaped(&b, p.Value)
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
				ok = ok && !p.Dollar
			case *syntax.DblQuoted:
				parts(p.Parts, true)
			case *syntax.ParamExp:
				if !p.Short || p.Param.Value != "HOME" { // the one that is known before
					ok = false
				}
				b.WriteString(home)
			case *syntax.ArithmExp:
				b.WriteByte('0')
				before := l.opaque
				l.nested(p)
				ok = ok && l.opaque == before
			default:
				l.nested(p)
				ok = false
			}
		}
	}
	parts(w.Parts, false)
	if !ok {
		l.opaque = true
	}
	return b.String(), ok
}

// braces reports whether a text has a brace expansion: {a,b} or {1..3}.
func braces(s string) bool {
	open := strings.IndexByte(s, '{')
	if open < 0 {
		return false
	}
	end := strings.IndexByte(s[open:], '}')
	return end > 0 && (strings.Contains(s[open:open+end], ",") || strings.Contains(s[open:open+end], ".."))
}

func unescaped(b *strings.Builder, s string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
}
