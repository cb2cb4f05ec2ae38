package claude

import (
	"path"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// bashRule is Bash(pattern): without * the exact text; a " *" or ":*" at the end
// that is its only wildcard matches the bare command too; any other * matches
// whatever stands there. So Bash(git push * -f *) does not match `git push x -f`:
// observed on 2.1.329.
type bashRule struct {
	place
	all      bool
	pieces   []string
	boundary bool
}

func newBashRule(p place, spec string) bashRule {
	r := bashRule{place: p, all: spec == "*"}
	spec = strings.ReplaceAll(spec, `\*`, "\x00")
	text, ok := strings.CutSuffix(spec, ":*")
	if !ok {
		text, ok = strings.CutSuffix(spec, " *")
	}
	switch {
	case ok && !strings.Contains(text, "*"):
		r.boundary, spec = true, text
	case strings.HasSuffix(spec, ":*"):
		spec = text + " *"
	}
	for _, piece := range strings.Split(spec, "*") {
		r.pieces = append(r.pieces, strings.ReplaceAll(piece, "\x00", "*"))
	}
	return r
}

func (r *bashRule) match(text string) bool {
	if r.all {
		return true
	}
	if !r.boundary {
		return wild(r.pieces, text)
	}
	rest, ok := strings.CutPrefix(text, r.pieces[0])
	return ok && (rest == "" || rest[0] == ' ')
}

// exact reports a rule without a wildcard.
func (r *bashRule) exact() bool { return !r.boundary && len(r.pieces) == 1 }

// line is a command line, taken apart.
type line struct {
	text    string
	simple  []*simple // in the order in which they stand, those of substitutions too
	outs    []string  // what redirects write; "" where it is not literal
	ins     []string
	opaque  bool // holds what Claude Code does not look through: then no pattern allows it
	unknown bool // is no shell
}

// simple is one simple command.
type simple struct {
	raw     string   // as it stands
	words   []string // without quotes
	env     bool     // assignments stand before it
	timed   bool     // by the keyword time
	dynamic bool     // the shell puts something into its words
	held    []string // the texts that deny and ask rules are tried on
	free    []string // those that allow rules are tried on
}

var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

func newLine(text string) *line {
	l := &line{text: text}
	p := parsers.Get().(*syntax.Parser)
	defer parsers.Put(p)
	f, err := p.Parse(strings.NewReader(text), "")
	if err != nil {
		// Observed: rules are then tried on the text alone.
		l.unknown = true
		t := strings.TrimSpace(text)
		l.simple = []*simple{{raw: t, words: strings.Fields(t), held: []string{t}, free: []string{t}}}
		return l
	}
	l.opaque = strings.Contains(text, "\\\n") || strings.Contains(text, "\\ ") || strings.Contains(text, "\\\t")
	l.stmts(f.Stmts)
	return l
}

func (l *line) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		l.stmt(s)
	}
}

// stmt walks what Claude Code 2.1.329 looks through: lists, pipes, !, if, while,
// for over literals, [[ ]]. Everything else is opaque, and is walked for the
// commands inside, which deny and ask rules still meet.
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
		from := len(l.simple)
		if c.Stmt != nil {
			l.stmt(c.Stmt)
		}
		for _, t := range l.simple[from:] {
			t.timed = true
		}
	default:
		l.opaque = true
		l.nested(c)
	}
}

// nested finds the commands in a part that is not looked through.
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

// word returns a word without its quotes; ok is false where the shell puts
// something into it that is not there yet.
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

// braces reports a brace expansion: {a,b} or {1..3}.
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

// texts writes down what the rules are tried on. Observed on 2.1.329: quotes,
// escapes and runs of blanks do not hide a command from a rule with a wildcard,
// while an exact allow rule wants single blanks. Allow rules
// see through timeout, time, nice, nohup, stdbuf and command; deny and ask rules
// also through assignments, env, sudo, xargs, exec and the folder of the
// program, and not through sh -c.
func (s *simple) texts() {
	if len(s.words) == 0 {
		return
	}
	if !s.env {
		s.free = append(s.free, s.raw, joined(s.words))
		if w := unwrap(s.words, allowWrappers); len(w) < len(s.words) {
			s.free = append(s.free, joined(w))
		}
	}
	s.held = append(s.held, s.raw)
	for w := s.words; len(w) > 0; {
		s.held = append(s.held, joined(w))
		if base := path.Base(w[0]); base != w[0] && base != "/" {
			w = append([]string{base}, w[1:]...)
			if _, wraps := denyWrappers[base]; !wraps { // /usr/bin/sudo is not met by Bash(sudo *)
				s.held = append(s.held, joined(w))
			}
		}
		next := unwrapOne(w, denyWrappers)
		if len(next) == len(w) {
			break
		}
		w = next
	}
}

// joined writes words with one blank between them, and in quotes those that hold
// one.
func joined(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if strings.ContainsAny(w, " \t\n") {
			w = "'" + w + "'"
		}
		b.WriteString(w)
	}
	return b.String()
}

// wrappers maps a program that runs another to the options of its own that take
// a value.
type wrappers map[string]string

var (
	allowWrappers = wrappers{"timeout": "k s", "time": "f o", "nice": "n", "nohup": "", "stdbuf": "", "command": ""}
	denyWrappers  = wrappers{"timeout": "k s", "time": "f o", "nice": "n", "nohup": "", "stdbuf": "", "command": "", "builtin": "", "env": "u C S", "sudo": "u g h p C r t", "xargs": "I n P L s E d", "exec": "a"}
)

func unwrap(words []string, by wrappers) []string {
	for {
		next := unwrapOne(words, by)
		if len(next) == len(words) || len(next) == 0 {
			return words
		}
		words = next
	}
}

func unwrapOne(words []string, by wrappers) []string {
	if len(words) == 0 {
		return words
	}
	values, ok := by[words[0]]
	if !ok {
		return words
	}
	rest := words[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && rest[0] != "-" {
		flag := rest[0]
		rest = rest[1:]
		if flag == "--" {
			break
		}
		if len(flag) == 2 && strings.Contains(values, flag[1:]) && len(rest) > 0 {
			rest = rest[1:]
		}
	}
	switch words[0] {
	case "timeout":
		if len(rest) > 0 {
			rest = rest[1:]
		}
	case "env":
		for len(rest) > 0 && strings.Contains(rest[0], "=") {
			rest = rest[1:]
		}
	}
	return rest
}
