package model

import (
	"errors"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/gemini/format"
)

// KnownPrograms returns the programs that the engine knows to be safe, and those whose script it reads.
func (d *decider) KnownPrograms() []string { return known }

// KnownPrograms returns them for sessions without rules.
func (alone) KnownPrograms() []string { return known }

var known = func() []string {
	begin := slices.Clone(safePrograms)
	begin = append(begin, "git") // one of its words may be that of a safe command
	begin = append(begin, "sh", "bash", "zsh")
	for word := range reservedWords {
		begin = append(begin, word)
	}
	slices.Sort(begin)
	return begin
}()

// reservedWords are those with which a line is none of one command.
var reservedWords = map[string]bool{
	"case": true, "coproc": true, "declare": true, "do": true, "done": true, "elif": true, "else": true, "esac": true,
	"export": true, "fi": true, "for": true, "function": true, "if": true, "in": true, "let": true, "local": true,
	"nameref": true, "readonly": true, "select": true, "then": true, "time": true, "typeset": true, "until": true,
	"while": true,
}

// Languages returns what decides about a subject's plain arguments: for each of its sessions and each decision, the
// arguments about which rules with an expression decide so.
func (d *decider) Languages(ref ir.SubjectRef, of policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	if !d.Contains(ref) {
		return nil, nil
	}
	l := lists{Space: sp}
	all, as := d.sessions(ref)
	for _, s := range all {
		l.session(s.as(as.name), of)
		said, tools, err := contract.HookLanguages(sp, contract.KnowingFiles(s.hooks.judged()), ref, of)
		if l.all = append(l.all, said...); err != nil {
			l.err = err
		}
		for _, t := range tools {
			l.all = append(l.all, l.Text(t))
		}
	}
	if of.Group == ir.MCP {
		for _, t := range as.tools {
			l.all = append(l.all, l.After(l.Text(t), format.ToolName(of.Server, "")))
		}
	}
	return l.all, l.err
}

// Languages returns none: by itself Gemini CLI treats all plain arguments of a tool alike. It asks about every edit.
func (alone) Languages(ir.SubjectRef, policy.Field, *regexlang.Space) ([]regexlang.Language, error) {
	return nil, nil
}

// lists collects languages.
type lists struct {
	*regexlang.Space
	all []regexlang.Language
	err error
}

// builds returns the files that build a project, about which the engine asks where they are allowed.
func (l *lists) builds() regexlang.Language {
	folder := l.Optional(l.Cat(regexlang.All, l.Text("/")))
	name := l.Star(l.Chars(regexlang.SetOf(func(r rune) bool { return r != '/' })))
	var any []regexlang.Language
	for _, file := range buildFiles {
		any = append(any, l.Text(file))
	}
	for _, ending := range buildEndings {
		any = append(any, l.Cat(name, l.Text(ending)))
	}
	return l.Cat(folder, l.Or(any...))
}

// tools are the tools of a group whose argument is matched, and which argument that is.
var tools = map[ir.Group]struct {
	names    []string
	argument string
}{
	ir.Read: {[]string{format.ReadFile}, format.FilePath}, ir.Edit: {format.Edits, format.FilePath},
	ir.Command: {[]string{format.Shell}, format.CommandArg}, ir.Web: {[]string{format.WebFetch}, format.PromptArg},
	ir.Modes: {[]string{format.Invoke}, format.AgentArg},
}

// session adds what decides in a session, by tool.
func (l *lists) session(s session, of policy.Field) {
	if of.Group == ir.MCP {
		l.named(s, of.Server)
		return
	}
	t := tools[of.Group]
	if of.Group == ir.Command && wordsAnywhere(s) > mostWords {
		l.err = errWords
		return
	}
	for _, tool := range t.names {
		for _, at := range places(of.Group) {
			l.tool(s, tool, t.argument, of.Group, at)
		}
	}
}

// place is what stands around an argument in the value of a call.
type place struct{ before, after string }

// places are those of a group: a host stands in a prompt, in each way in which calls have it.
func places(g ir.Group) []place {
	if g == ir.Web {
		return prompts
	}
	return []place{{}}
}

// tool adds what decides about the calls of one tool.
func (l *lists) tool(s session, tool, argument string, g ir.Group, at place) {
	by := map[ir.Decision]regexlang.Language{}
	rest := regexlang.All
	var run [][]regexlang.Language // of the rules one behind the other that decide alike, what each wants
	var decides ir.Decision
	last := ir.Agent // what the last rule decides, of which the others are all texts but these
	flush := func() {
		matched := l.any(run)
		by[decides] = l.Or(by[decides], l.And(matched, rest))
		rest, run = l.Without(rest, matched), nil
	}
	for _, r := range s {
		one := *r
		one.Args = nil
		switch agents := g == ir.Modes && r.Server == "" && !slices.Contains(r.Tools, tool); {
		case agents && slices.ContainsFunc(r.Tools, format.AgentName):
			for _, name := range r.Tools { // an agent's name is one of the tool that invokes it
				l.all = append(l.all, l.Text(name))
			}
			continue
		case !matches(&one, call{tool: tool}, ""):
			continue
		}
		if r.Decision != decides && len(run) > 0 {
			flush()
		}
		decides = r.Decision
		if r.Args == nil {
			last = r.Decision
			run = append(run, []regexlang.Language{regexlang.All})
			break
		}
		matched, err := l.argument(r, argument, g, at)
		if err != nil {
			l.err = err
			return
		}
		run = append(run, matched)
	}
	flush()
	for _, d := range []ir.Decision{ir.Deny, ir.Ask, ir.Allow} {
		if d != last {
			l.all = append(l.all, by[d])
		}
		if d == ir.Allow && g == ir.Edit {
			l.all = append(l.all, l.And(by[d], l.builds()))
		}
	}
}

// mostWords is how many words rules may look for anywhere in a line: which of them a line has makes a cell of its own.
const mostWords = 6

var errWords = errors.New("its rules look for many words anywhere in a line")

// wordsAnywhere counts the words that the rules of a session look for anywhere in a line.
func wordsAnywhere(s session) (n int) {
	seen := map[string]bool{}
	for _, r := range s {
		if slices.Contains(r.Tools, format.Shell) {
			for _, part := range strings.Split(r.Expr, `(?=[^\x00]*`)[1:] {
				if word, _, _ := strings.Cut(part, ")"); !seen[word] {
					seen[word] = true
					n++
				}
			}
		}
	}
	return n
}

// named adds the tools of a server that rules name.
func (l *lists) named(s session, server string) {
	for _, r := range s {
		if r.Server != "" && r.Server != "*" && r.Server != server {
			continue
		}
		for _, t := range r.Tools {
			switch begin := format.ToolName(server, ""); {
			case r.Server != "":
			case strings.HasPrefix(t, begin):
				t = t[len(begin):]
			default:
				continue
			}
			if r.Args != nil {
				l.err = regexlang.ErrNotRegular
				return
			}
			l.all = append(l.all, l.Text(t))
		}
	}
}

// any returns the arguments that are in all languages of any of some lists. What all lists have is looked at once.
func (l *lists) any(run [][]regexlang.Language) regexlang.Language {
	if len(run) == 0 {
		return regexlang.None
	}
	common := slices.DeleteFunc(slices.Clone(run[0]), func(of regexlang.Language) bool {
		return slices.ContainsFunc(run, func(list []regexlang.Language) bool { return !slices.Contains(list, of) })
	})
	var any []regexlang.Language
	for _, list := range run {
		rest := slices.DeleteFunc(slices.Clone(list), func(of regexlang.Language) bool {
			return slices.Contains(common, of)
		})
		any = append(any, l.And(append(rest, regexlang.All)...))
	}
	return l.And(append(common, l.Or(any...))...)
}

// argument returns languages: on the plain values of an argument that are in all of them a rule's expression matches.
func (l *lists) argument(r *format.Rule, argument string, g ir.Group, at place) (all []regexlang.Language, err error) {
	if r.Begins != "" { // the words with which a line begins
		if g != ir.Command {
			return []regexlang.Language{regexlang.None}, nil
		}
		return []regexlang.Language{l.Cat(l.Text(r.Begins), l.MoreWords())}, nil
	}
	if none, ok := strings.CutPrefix(r.Expr, unless); ok && lookedAhead(r.Expr[1:]) == len(r.Expr)-1 {
		none = none[:len(none)-1]
		rest, ok := strings.CutPrefix(none, format.Key(argument))
		if p, err := ecma.Parse(none); err != nil || !ok || len(p.Root) > 1 {
			return nil, regexlang.ErrNotRegular
		}
		of, err := l.parts(rest, g, at)
		if err != nil {
			return nil, err
		}
		return []regexlang.Language{l.Not(l.And(of...))}, nil
	}
	rest, ok := strings.CutPrefix(r.Expr, format.Key(argument))
	if !ok || len(r.Args.Root) > 1 { // alternatives, of which one has the key
		return nil, regexlang.ErrNotRegular
	}
	return l.parts(rest, g, at)
}

// unless begins an expression for every call but those whose argument begins with what follows.
const unless = `^(?![^]*`

// parts returns languages: the plain values that are in all of them have what an expression matches at their beginning.
func (l *lists) parts(rest string, g ir.Group, at place) (all []regexlang.Language, err error) {
	for rest != "" || len(all) == 0 {
		n := lookedAhead(rest)
		part := rest[:n]
		if rest = rest[n:]; n == 0 {
			part, rest = rest, ""
		}
		of, err := l.Once(valueExpression(part), func() (regexlang.Language, error) { return l.value(part) })
		if err != nil {
			return nil, err
		}
		if at != (place{}) {
			of = l.Before(l.After(of, at.before), at.after)
		}
		if of, err = l.said(of, g); err != nil {
			return nil, err
		}
		all = append(all, of)
	}
	return all, nil
}

// ofPlain names a language without what every plain argument of a group has.
type ofPlain struct {
	ir.Group
	regexlang.Language
}

// said returns a language, or all texts for one that has each plain argument: a shape that none of them lacks.
func (l *lists) said(of regexlang.Language, g ir.Group) (regexlang.Language, error) {
	return l.Once(ofPlain{g, of}, func() (regexlang.Language, error) {
		_, expr := policy.Plain(g)
		plain, err := l.Go(expr)
		if err != nil || l.Meets(plain, l.Not(of)) {
			return of, err
		}
		return regexlang.All, nil
	})
}

// value returns the values that an expression matches from their beginning.
func (l *lists) value(expr string) (regexlang.Language, error) {
	text, err := onValue(expr)
	if err != nil {
		return regexlang.None, err
	}
	p, err := ecma.Parse("^(?:" + text + ")")
	if err != nil {
		return regexlang.None, err
	}
	return l.ECMAScript(p, false)
}

// lookedAhead returns how long the look-ahead is with which an expression begins, 0 for none.
func lookedAhead(expr string) int {
	if !strings.HasPrefix(expr, "(?=") && !strings.HasPrefix(expr, "(?!") {
		return 0
	}
	depth, class := 0, false
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				if i+1 < len(expr) && strings.IndexByte("*+?{|", expr[i+1]) >= 0 {
					return 0
				}
				return i + 1
			}
		}
	}
	return 0
}

// valueExpression names the language of an expression.
type valueExpression string

// errQuote is why an expression has no language.
var errQuote = errors.New("it is about what stands behind the value")

// onValue rewrites an expression over what follows the quote before a value to one over the value alone, which has no
// quote and no NUL: a quote is where the value ends, and a NUL stands behind it.
func onValue(expr string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(expr); {
		switch {
		case strings.HasPrefix(expr[i:], `"\x00`):
			b.WriteByte('$')
			i += len(`"\x00`)
		case expr[i] == '"':
			b.WriteByte('$')
			i++
		case strings.HasPrefix(expr[i:], `\x00`):
			return "", errQuote
		case expr[i] == '\\' && i+1 < len(expr):
			b.WriteString(expr[i : i+2])
			i += 2
		case expr[i] == '[':
			end := i + 1
			for end < len(expr) && expr[end] != ']' {
				if expr[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(expr) {
				return "", errQuote
			}
			class, quote := strings.ReplaceAll(expr[i+1:end], `\x00`, ""), false
			if i = end + 1; strings.Contains(class, `"`) {
				class, quote = strings.ReplaceAll(class, `"`, ""), true
			}
			switch {
			case strings.HasPrefix(class, "^"), !quote:
				b.WriteString("[" + class + "]")
			case i < len(expr) && strings.IndexByte("*+?{", expr[i]) >= 0:
				return "", errQuote
			default:
				b.WriteString("(?:[" + class + "]|$)")
			}
		default:
			b.WriteByte(expr[i])
			i++
		}
	}
	return b.String(), nil
}
