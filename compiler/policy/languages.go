package policy

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/regexlang"
)

// Plain returns the plain arguments of a group, of which all agents and systems think the same,
// and their letters:
//
//   - of read and edit clean paths inside the project, in the letters of ASCII that every system
//     takes in a name, with the others for one, of at most 4,096 bytes
//   - of commands lines of one command, of words that no shell expands with one blank between them,
//     the program in lower case, but for those in [DecidedByProgram]
//   - of web names of hosts in lower case, without those of an encoding
//   - of mcp the names of tools, in letters, digits, "-" and single "_" inside, of at most 64
//     characters
//   - of modes slugs
//
// Every other way to write an argument is a dressing.
func Plain(g ir.Group) (alphabet regexlang.Set, expr string) {
	switch g {
	case ir.Command:
		return lineLetters, `^` + plainProgram + `(?: [^ =][^ ]*)*$`
	case ir.Read, ir.Edit:
		const name = `(?:[^ ./]|[^ /][^/]*[^ ./])`
		return pathLetters, `^` + name + `(?:/` + name + `)*$`
	case ir.Web:
		return addressLetters, plainHost
	case ir.MCP:
		return toolLetters, `^[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*$`
	}
	return hostLetters, `^[a-z][a-z0-9-]*$`
}

const (
	plainProgram = `(?:[a-z0-9_.]|[a-z0-9_./][a-z0-9_./,:+@%-]*[a-z0-9_.,:+@%-])`
	plainHost    = `^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z](?:[a-z0-9-]*[a-z0-9])?$`
)

var (
	pathLetters = regexlang.SetOf(func(r rune) bool {
		// These separate names on some system, stand for other names, or are in none.
		const others = `\:*?"<>|~`
		return r >= ' ' && r != 0x7f && (r >= utf8.RuneSelf || strings.IndexByte(others, byte(r)) < 0)
	})
	lineLetters = regexlang.SetOf(func(r rune) bool {
		return r == ' ' || r == '=' || r < utf8.RuneSelf && unquoted(byte(r))
	})
	toolLetters = regexlang.SetOf(func(r rune) bool {
		return r < utf8.RuneSelf && (isLetter(byte(r)) || isDigit(byte(r))) || r == '-' || r == '_'
	})
	hostLetters = regexlang.SetOf(func(r rune) bool {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.'
	})
	// addressLetters are those of hosts, and of what stands around one where an agent is asked to fetch it.
	addressLetters = hostLetters.Or(regexlang.SetOf(func(r rune) bool { return r == ':' || r == '/' || r == ' ' }))
)

// Field is where plain arguments are compared: in a group, and in mcp on one server.
type Field struct {
	ir.Group
	Server string
}

// Languages returns what decides about the plain arguments of a field: for each side of the subject
// the arguments that it denies, asks about, allows and leaves to the agent, but for those of its
// default, which are all others. It fails with
// [regexlang.ErrNotRegular] where an expression has no language.
func (s *Subject) Languages(sp *regexlang.Space, of Field) ([]regexlang.Language, error) {
	var all []regexlang.Language
	g := of.Group
	sides := s.sides
	if s.ceiling != nil && s.ceiling.states(g) {
		sides = append(slices.Clip(sides), s.ceiling)
	}
	for _, side := range sides {
		if g == ir.MCP {
			all = append(all, side.mcp.languages(sp, of.Server)...)
			continue
		}
		by, more, err := side.languages(s.engine, sp, g)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
		for d, l := range by {
			if ir.Decision(d) != side.fallback(g).Decision {
				all = append(all, l)
			}
		}
	}
	return all, nil
}

// DecidedByProgram returns the plain lines that are not decided by their text alone, because of their
// program: it runs or reads what its arguments name ("sudo rm x", "cat x"), changes the shell ("cd x"),
// or belongs to a built-in set. Lines that begin as an agent knows them are among these.
//
// On its text ([Engine.OnText]) a line is decided otherwise by the programs of built-in sets alone, and "cd".
func (s *Subject) DecidedByProgram(sp *regexlang.Space, known []string) regexlang.Language {
	e := s.engine
	l, _ := sp.Once(coded{e.text, strings.Join(known, "\n")}, func() (regexlang.Language, error) {
		begin := append(slices.Clone(known), "cd")
		if !e.text {
			begin = append(begin, "alias", "modec") // which hooks keep from agents: see NeedsPerson
			for _, table := range []map[string]bool{wrappers, finders, shells, foreignShells, movers, meanings} {
				begin = slices.AppendSeq(begin, maps.Keys(table))
			}
			begin = slices.AppendSeq(begin, maps.Keys(builtinsOfShells))
		}
		begin = slices.AppendSeq(begin, maps.Keys(filters))
		for command := range gitRead {
			sub, _, _ := strings.Cut(command, " ")
			begin = append(begin, "git "+sub)
		}
		any := make([]regexlang.Language, len(begin))
		for i, text := range begin {
			any[i] = sp.Text(text)
		}
		if e.text {
			return sp.Cat(sp.Or(any...), sp.MoreWords()), nil
		}
		globals := sp.Cat(sp.Text("git -"), regexlang.All)
		program := sp.Optional(folders(sp)) // wherever it lies
		return sp.Or(sp.Cat(program, sp.Or(sp.Cat(sp.Or(any...), sp.MoreWords()), globals)),
			sp.Cat(sp.Word(), sp.Text(".exe"), sp.MoreWords())), nil
	})
	return l
}

// coded names what [DecidedByProgram] returns, by what an agent knows.
type coded struct {
	text  bool
	known string
}

// Anywhere returns the plain lines of a language and those of which it has the line without the
// folder of its program.
func Anywhere(sp *regexlang.Space, l regexlang.Language) regexlang.Language {
	name := regexlang.SetOf(func(r rune) bool { return r != ' ' && r != '/' })
	bare := sp.Cat(sp.Star(sp.Chars(name)), sp.MoreWords())
	return sp.Or(l, sp.Cat(folders(sp), sp.And(l, bare)))
}

// folders returns what may stand before the name of a program.
func folders(sp *regexlang.Space) regexlang.Language { return sp.Cat(sp.Word(), sp.Text("/")) }

// Sides returns the role and the mode of a role in a mode, each by itself, or the one that there is.
func (s *Subject) Sides() []*Subject {
	all := make([]*Subject, len(s.sides))
	for i, side := range s.sides {
		all[i] = side.alone
	}
	return all
}

// byDecision has for each decision the arguments about which it is made.
type byDecision [ir.Agent + 1]regexlang.Language

// ruleName is what the language of a rule depends on.
type ruleName struct {
	ir.Group
	ir.Pattern
	holds, text bool
}

// matched returns for each decision what one of its rules matches, whatever others say.
func (e *Engine) matched(sp *regexlang.Space, g ir.Group, rules []ir.Rule) (byDecision, error) {
	var lists [len(byDecision{})][]regexlang.Language
	for i := range rules {
		r := &rules[i]
		name := ruleName{g, r.Pattern, r.Decision != ir.Allow, e.text}
		l, err := sp.Once(name, func() (regexlang.Language, error) { return e.ruleLanguage(sp, g, r) })
		if err != nil {
			return byDecision{}, err
		}
		lists[rules[i].Decision] = append(lists[rules[i].Decision], l)
	}
	var by byDecision
	for d := range by {
		by[d] = sp.Or(lists[d]...)
	}
	return by, nil
}

// languages returns the plain lines that the rules of each decision match. A built-in set knows the
// programs that it is about, so that none of its lines is plain.
func (t *commandTable) languages(sp *regexlang.Space, text bool) (by byDecision) {
	for d := range t.rules {
		var any, written []regexlang.Language
		for i := range t.rules[d] {
			p := t.rules[d][i].pattern
			switch {
			case p == nil:
			case p.all:
				any = append(any, regexlang.All)
			case ir.Decision(d) == ir.Allow:
				any = append(any, p.exact.language(sp, p.end))
			default:
				any, written = append(any, p.loose.language(sp, p.end)), append(written, p.raw.language(sp, p.end))
			}
		}
		switch by[d] = sp.Or(any...); {
		case ir.Decision(d) == ir.Allow:
		case text:
			by[d] = sp.Or(by[d], sp.Or(written...))
		default:
			by[d] = sp.Or(Anywhere(sp, by[d]), sp.Or(written...)) // as it is written the program is whole
		}
	}
	return by
}

// languages returns what a side decides, and of that what a rule does where the same decision
// by the project's unsaid gives way to the other side.
func (s *side) languages(
	e *Engine, sp *regexlang.Space, g ir.Group,
) (by byDecision, more []regexlang.Language, err error) {
	if g == ir.Command {
		by = s.commands.languages(sp, e.text)
	} else {
		if by, err = e.matched(sp, g, s.rules(g)); err != nil {
			return by, nil, err
		}
	}
	rest := regexlang.All
	for d := ir.Deny; d <= ir.Allow; d++ { // the lowest decides
		by[d] = sp.And(by[d], rest)
		rest = sp.Without(rest, by[d])
	}
	by[ir.Agent] = regexlang.None
	other := s.fallback(g).Decision
	if s.fallback(g).quiet {
		more = append(more, by[other])
	}
	by[other] = sp.Or(by[other], rest)
	return by, more, nil
}

// ruleLanguage returns the plain arguments that a rule matches.
func (e *Engine) ruleLanguage(sp *regexlang.Space, g ir.Group, r *ir.Rule) (regexlang.Language, error) {
	switch {
	case r.Pattern.Kind == ir.All:
		return regexlang.All, nil
	case r.Pattern.Kind == ir.Regex:
		p, err := ecma.Parse(r.Pattern.Text)
		if err != nil {
			return regexlang.None, err
		}
		return sp.ECMAScript(p, false)
	case g == ir.Web:
		p, err := parseHost(r.Pattern.Text)
		switch {
		case err != nil:
			return regexlang.None, err
		case p.all:
			return regexlang.All, nil
		case p.sub != "":
			return sp.Cat(regexlang.Some, sp.Text(p.sub)), nil
		}
		return sp.Text(p.host), nil
	case g == ir.Modes:
		if r.Pattern.Text == "*" {
			return regexlang.All, nil
		}
		return sp.Text(r.Pattern.Text), nil
	}
	glob, as, err := e.patterns.of(r, letters(!e.text))
	if err != nil {
		return regexlang.None, err
	}
	return glob.language(sp, as, reach(r.Decision != ir.Allow)), nil
}

// languages returns the tools of a server that the rules of each decision, and each list of the
// restrictions, match. Those of the inventory are not told apart by their risk.
func (m *mcpRules) languages(sp *regexlang.Space, server string) []regexlang.Language {
	holding := func(pattern string) regexlang.Language {
		return sp.Or(wildcard(sp, pattern), wildcard(sp, underscored(pattern, "*?")))
	}
	var all []regexlang.Language
	for d := ir.Deny; d <= ir.Allow; d++ {
		var any, asked []regexlang.Language
		for i := range m.entries {
			e := &m.entries[i]
			if !e.rulesFor(d, server) {
				continue
			}
			for _, r := range e.rules[d] {
				switch {
				case r.kind != ir.Plain:
				case d < ir.Allow:
					any = append(any, holding(r.text))
				case r.args != nil:
					asked = append(asked, wildcard(sp, r.text))
				default:
					any = append(any, wildcard(sp, r.text))
				}
			}
		}
		all = append(all, sp.Or(any...))
		if asked != nil {
			all = append(all, sp.Or(asked...))
		}
	}
	if m.limits == nil {
		return all
	}
	var listed, held []regexlang.Language
	if tools := m.limits.in.AllowedTools; tools != nil {
		for _, t := range *tools {
			if Wildcard(t.Server, server) {
				listed = append(listed, wildcard(sp, t.Tool))
			}
		}
	}
	if tools := m.limits.in.DisallowedTools; tools != nil {
		for _, t := range *tools {
			if holdsBack(t.Server, server) {
				held = append(held, holding(t.Tool))
			}
		}
	}
	return append(all, sp.Or(listed...), sp.Or(held...))
}

// wildcard returns the names that a pattern of "*" and "?" matches.
func wildcard(sp *regexlang.Space, pattern string) regexlang.Language {
	out := regexlang.Empty
	for _, r := range pattern {
		switch r {
		case '*':
			out = sp.Cat(out, regexlang.All)
		case '?':
			out = sp.Cat(out, sp.Chars(regexlang.SetOf(func(rune) bool { return true })))
		default:
			out = sp.Cat(out, sp.Text(string(r)))
		}
	}
	return out
}

// language returns the plain lines that the pieces match.
func (pieces piecewise) language(sp *regexlang.Space, at ending) regexlang.Language {
	l := sp.Pieces(pieces, sp.Text)
	if at == ofWord {
		l = sp.Cat(l, sp.MoreWords())
	}
	return l
}

// language returns the paths that a glob matches.
func (g glob) language(sp *regexlang.Space, as letters, to reach) regexlang.Language {
	var anywhere, rooted []regexlang.Language
	for _, a := range g {
		if len(a) > 1 && a[0].kind == segAnyDepth {
			anywhere = append(anywhere, a[1:].language(sp, as, to))
		} else {
			rooted = append(rooted, a.language(sp, as, to))
		}
	}
	// What begins anywhere has its beginning in common: so a union of many has few states.
	slash := sp.Text("/")
	below := sp.Optional(sp.Cat(regexlang.All, slash))
	return sp.Or(sp.Or(rooted...), sp.Cat(below, sp.Or(anywhere...)))
}

func (a alternative) language(sp *regexlang.Space, as letters, to reach) regexlang.Language {
	slash := sp.Text("/")
	rest := regexlang.Empty
	if to == andBelow {
		rest = sp.Optional(sp.Cat(slash, regexlang.All))
	}
	for i := len(a) - 1; i >= 0; i-- {
		last := i == len(a)-1
		switch {
		case a[i].kind != segAnyDepth:
			if !last && (a[i+1].kind != segAnyDepth || i+1 < len(a)-1) {
				rest = sp.Cat(slash, rest)
			}
			rest = sp.Cat(a[i].language(sp, as), rest)
		case last && i == 0:
			rest = regexlang.All
		case last:
			rest = sp.Optional(sp.Cat(slash, regexlang.All))
		default:
			rest = sp.Cat(sp.Optional(sp.Cat(regexlang.All, slash)), rest)
		}
	}
	return rest
}

// language returns the names that a segment matches.
func (s segment) language(sp *regexlang.Space, as letters) regexlang.Language {
	name := regexlang.SetOf(func(r rune) bool { return r != '/' })
	out := regexlang.Empty
	for _, e := range s.letters() {
		l := sp.Chars(name)
		switch e.kind {
		case elemLiteral:
			if l = sp.Text(e.text); as == folded {
				l = sp.TextInAnyCase(e.text)
			}
		case elemStar:
			l = sp.Star(l)
		case elemClass:
			l = sp.Chars(regexlang.SetOf(func(r rune) bool {
				if as == folded && r < utf8.RuneSelf {
					r = rune(lowerByte(byte(r)))
				}
				return r != '/' && e.class(r)
			}))
		}
		out = sp.Cat(out, l)
	}
	return out
}
