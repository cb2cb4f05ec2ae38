package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a command after quote removal. Its text may hold [hole]
// and [inner].
type word struct {
	text   string
	raw    string // as it is written, "" for the text itself
	holes  bool   // part of it is known at run time only
	strict bool   // it holds a substitution, or what may run one: no list matches
	bare   bool   // nothing but an unquoted expansion: it may be no word at all, or several
	wide   bool   // it names files by a pattern of the program's own, which may match any
	said   bool   // as a file it counts only by what the source says, and not where that is left to the agent
	// names is set where a shell may put names of files in the word's place, or nothing at all:
	// "*", "?" and "[" unquoted, and in zsh with EXTENDED_GLOB "~" and "^" inside of it. Such a
	// word of signs ("HEAD~1") has its own text, and stem is what is before the first of them:
	// "x~y" stands for the file x, "x^y" for those whose names begin with x.
	names  bool
	stem   string
	begins bool
}

// signs reports whether the word is one of signs.
func (w *word) signs() bool { return w.stem != "" }

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
	out := word{
		text: r.b.String(), raw: a.rawText(w), holes: r.holes, strict: r.strict,
		names: r.names, stem: r.stem, begins: r.begins,
	}
	if r.brace {
		// What the braces make may be several words.
		out = word{text: string(rune(hole)), raw: out.raw, holes: true, strict: r.strict, bare: true}
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
	if !ok || strings.ContainsAny(l.Value, "\\*?[{^") || strings.LastIndexByte(l.Value, '~') > 0 {
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

	names, begins bool
	stem          string
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
			} else if text, ok := r.a.message(p, r.in); ok {
				r.quoted(text)
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
		r.a.unreadable("the pattern " + quote(r.a.rawText(part)) + " is not read within")
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
			r.names = true
		case '~', '^':
			r.sign(c)
		case '[':
			if end := strings.IndexByte(s[i:], ']'); end > 0 {
				r.hole()
				r.names = true
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

// sign writes an unquoted "~" or "^". In the first place it is left alone.
func (r *wordReader) sign(c byte) {
	if r.b.Len() > 0 {
		if r.stem == "" {
			r.stem = r.b.String()
		}
		r.names, r.begins = true, r.begins || c == '^'
	}
	r.b.WriteByte(c)
}

// message returns the text of "$(cat <<'EOF' … )", in which nothing is expanded. The cat is
// judged by deny and ask.
func (a *analysis) message(part syntax.WordPart, in dirs) (string, bool) {
	x, ok := part.(*syntax.CmdSubst)
	if !ok || len(x.Stmts) != 1 || x.TempFile || x.ReplyVar {
		return "", false
	}
	s := x.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) != 1 || call.Args[0].Lit() != "cat" || len(s.Redirs) != 1 ||
		s.Negated || s.Background || s.Coprocess || s.Disown {
		return "", false
	}
	text, ok := quotedDocument(s.Redirs[0])
	if !ok {
		return "", false
	}
	const cat = "cat"
	a.commands = append(a.commands,
		command{dirs: in, neutral: true, words: []word{{text: cat}}, raw: cat, hold: []string{cat}})
	return strings.TrimRight(text, "\n"), true
}

// quotedDocument returns the text of a here-document on standard input whose delimiter is in
// single quotes.
func quotedDocument(r *syntax.Redirect) (string, bool) {
	if r.Op != syntax.Hdoc || r.N != nil || r.Hdoc == nil || len(r.Word.Parts) != 1 {
		return "", false
	}
	if q, ok := r.Word.Parts[0].(*syntax.SglQuoted); !ok || q.Dollar {
		return "", false
	}
	text := r.Hdoc.Lit()
	return text, text != "" || len(r.Hdoc.Parts) == 0
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
