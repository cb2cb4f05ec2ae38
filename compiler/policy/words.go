package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a command after quote removal. Its text may hold [hole]
// and [inner].
type word struct {
	text   string
	holes  bool // part of it is known at run time only
	strict bool // it holds a substitution, or what may run one: no list matches
	bare   bool // nothing but an unquoted expansion: it may be no word at all, or several
	wide   bool // it names files by a pattern of the program's own, which may match any
	below  bool // as a file it stands for all files below it
	old    bool // as a file it is one of a revision: the disk may have another there
	said   bool // as a file it counts only by what the source says, and not where that is left to the agent
}

// script gives the word's text as a shell would take it.
func (w *word) script() string { return strings.ReplaceAll(w.text, string(rune(inner)), " ") }

// word reads a word and judges the substitutions in it.
func (a *analysis) word(w *syntax.Word, in dirs) word {
	if s, ok := plain(w); ok {
		return word{text: s}
	}
	r := wordReader{a: a, in: in}
	for _, part := range w.Parts {
		r.part(part)
	}
	out := word{text: r.b.String(), holes: r.holes, strict: r.strict}
	if r.brace {
		// What the braces make may be several words.
		out = word{text: string(rune(hole)), holes: true, strict: r.strict, bare: true}
	}
	if len(w.Parts) == 1 && out.text == string(rune(hole)) {
		if _, quoted := w.Parts[0].(*syntax.DblQuoted); !quoted {
			out.bare = true
		}
	}
	return out
}

// plain returns a word that is one unquoted literal without anything that a
// shell expands: most words are.
func plain(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	l, ok := w.Parts[0].(*syntax.Lit)
	if !ok || strings.ContainsAny(l.Value, "\\*?[{") {
		return "", false
	}
	return l.Value, true
}

// wordReader collects the text of one word.
type wordReader struct {
	a     *analysis
	in    dirs
	b     strings.Builder
	holes bool
	// strict and brace are said of the whole word.
	strict, brace bool
}

func (r *wordReader) hole() {
	r.holes = true
	r.b.WriteByte(hole)
}

func (r *wordReader) quoted(s string) {
	for i := 0; i < len(s); i++ {
		writeQuoted(&r.b, s[i])
	}
}

func (r *wordReader) part(part syntax.WordPart) {
	switch x := part.(type) {
	case *syntax.Lit:
		r.literal(x.Value)
	case *syntax.SglQuoted:
		if x.Dollar && strings.Contains(x.Value, `\`) {
			r.hole()
		} else {
			r.quoted(x.Value)
		}
	case *syntax.DblQuoted:
		if x.Dollar {
			r.hole() // translated at run time
		}
		for _, p := range x.Parts {
			if lit, ok := p.(*syntax.Lit); ok {
				r.doubleQuoted(lit.Value)
			} else {
				r.part(p)
			}
		}
	case *syntax.ParamExp:
		r.hole()
		r.param(x)
	case *syntax.ArithmExp:
		r.hole()
		r.strict = r.strict || !constant(x.X)
		r.a.nested(x, r.in)
	case *syntax.CmdSubst:
		r.hole()
		r.strict = true
		r.a.subshell(x.Stmts, r.in)
	case *syntax.ProcSubst:
		r.hole()
		r.strict = true
		r.a.subshell(x.Stmts, r.in)
	default:
		// An extended glob is not parsed within, and may run code in zsh.
		r.hole()
		r.strict = true
		r.a.opaque = true
		r.a.nested(part, r.in)
	}
}

// param judges an expansion. The plain ones give text; the others assign, or
// run what a variable holds ("${x@P}", an index in arithmetic).
func (r *wordReader) param(x *syntax.ParamExp) {
	if x.Excl || x.Index != nil || x.Slice != nil || x.Names != 0 || x.Flags != nil ||
		x.NestedParam != nil || len(x.Modifiers) > 0 || x.Repl != nil ||
		x.Split != 0 || x.GlobSubst != 0 || x.RcExpand != 0 {
		r.strict = true
	}
	if x.Exp != nil {
		r.strict = r.strict || !plainExpansions[x.Exp.Op]
		if x.Exp.Word != nil && r.a.word(x.Exp.Word, r.in).strict {
			r.strict = true
		}
	}
	r.a.nested(x, r.in)
}

// plainExpansions give text and change nothing.
var plainExpansions = map[syntax.ParExpOperator]bool{
	syntax.AlternateUnset: true, syntax.AlternateUnsetOrNull: true,
	syntax.DefaultUnset: true, syntax.DefaultUnsetOrNull: true,
	syntax.RemSmallSuffix: true, syntax.RemLargeSuffix: true, syntax.RemSmallPrefix: true, syntax.RemLargePrefix: true,
}

// constant reports whether arithmetic holds numbers only: a variable in it may
// hold an index that runs a command.
func constant(x syntax.ArithmExpr) bool {
	ok := true
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, isWord := n.(*syntax.Word); isWord {
			s, plain := plain(w)
			ok = ok && plain && s != "" && strings.Trim(s, "0123456789") == ""
			return false
		}
		return true
	})
	return ok
}

// literal writes unquoted text: escapes removed, file globs made holes.
func (r *wordReader) literal(s string) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			i++
			if i < len(s) && s[i] != '\n' {
				writeQuoted(&r.b, s[i])
			}
		case '*', '?':
			r.hole()
		case '[':
			if end := strings.IndexByte(s[i:], ']'); end > 0 {
				r.hole()
				i += end
			} else {
				r.b.WriteByte(c)
			}
		case '{':
			rest := s[i:]
			if strings.Contains(rest, ",") || strings.Contains(rest, "..") || !strings.Contains(rest, "}") {
				r.brace, r.holes = true, true
			}
			r.b.WriteByte(c)
		default:
			r.b.WriteByte(c)
		}
	}
}

// doubleQuoted writes text inside double quotes, where a backslash escapes
// only $ ` " \ and a line's end.
func (r *wordReader) doubleQuoted(s string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '\n':
				i++
				continue
			case '$', '`', '"', '\\':
				i++
			}
		}
		writeQuoted(&r.b, s[i])
	}
}
