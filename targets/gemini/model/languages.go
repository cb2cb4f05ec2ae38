package model

import (
	"errors"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regular"
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
func (d *decider) Languages(ref ir.SubjectRef, of policy.Field, sp *regular.Space) ([]regular.Language, error) {
	if !d.Contains(ref) {
		return nil, nil
	}
	l := lists{Space: sp}
	all, as := d.sessions(ref)
	for _, s := range all {
		l.session(s, as.name, of)
	}
	if of.Group == ir.MCP {
		for _, t := range as.tools {
			l.all = append(l.all, l.After(l.Text(t), format.ToolName(of.Server, "")))
		}
	}
	l.own(of)
	return l.all, l.err
}

// Languages returns what Gemini CLI treats in another way by itself.
func (alone) Languages(_ ir.SubjectRef, of policy.Field, sp *regular.Space) ([]regular.Language, error) {
	l := lists{Space: sp}
	l.own(of)
	return l.all, l.err
}

// lists collects languages.
type lists struct {
	*regular.Space
	all []regular.Language
	err error
}

// own adds what the engine knows of arguments: the files that build a project.
func (l *lists) own(of policy.Field) {
	if of.Group != ir.Edit {
		return
	}
	folder := l.Optional(l.Cat(regular.All, l.Text("/")))
	name := l.Star(l.Chars(regular.SetOf(func(r rune) bool { return r != '/' })))
	var any []regular.Language
	for _, file := range buildFiles {
		any = append(any, l.Text(file))
	}
	for _, ending := range buildEndings {
		any = append(any, l.Cat(name, l.Text(ending)))
	}
	l.all = append(l.all, l.Cat(folder, l.Or(any...)))
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
func (l *lists) session(s session, subagent string, of policy.Field) {
	if of.Group == ir.MCP {
		l.named(s, subagent, of.Server)
		return
	}
	t := tools[of.Group]
	if of.Group == ir.Command && wordsAnywhere(s, subagent) > mostWords {
		l.err = errWords
		return
	}
	for _, tool := range t.names {
		by := map[ir.Decision]regular.Language{}
		rest, bare := regular.All, regular.None
		var run []regular.Language // of the rules one behind the other that decide alike
		var decides ir.Decision
		flush := func() {
			matched := l.Or(run...)
			by[decides] = l.Or(by[decides], l.And(matched, rest))
			rest, run = l.Without(rest, matched), nil
		}
		for i := range s {
			r := &s[i]
			one := *r
			one.Args = nil
			switch agents := of.Group == ir.Modes && r.Server == "" && !slices.Contains(r.Tools, tool); {
			case agents && slices.ContainsFunc(r.Tools, format.AgentName):
				for _, name := range r.Tools { // an agent's name is one of the tool that invokes it
					l.all = append(l.all, l.Text(name))
				}
				continue
			case !matches(&one, call{tool: tool}, "", subagent):
				continue
			}
			if r.Decision != decides && len(run) > 0 {
				flush()
			}
			decides = r.Decision
			if r.Args == nil {
				bare = rest
				run = append(run, regular.All)
				break
			}
			matched, err := l.argument(r, t.argument, of.Group)
			if err != nil {
				l.err = err
				return
			}
			run = append(run, matched)
		}
		flush()
		for _, d := range []ir.Decision{ir.Deny, ir.Ask, ir.Allow} {
			l.all = append(l.all, by[d])
		}
		if of.Group == ir.Command {
			l.all = append(l.all, bare)
		}
	}
}

// mostWords is how many words rules may look for anywhere in a line: which of them a line has makes a cell of its own.
const mostWords = 6

var errWords = errors.New("its rules look for many words anywhere in a line")

// wordsAnywhere counts the words that the rules of a session look for anywhere in a line.
func wordsAnywhere(s session, subagent string) (n int) {
	seen := map[string]bool{}
	for i := range s {
		if r := &s[i]; (r.Subagent == "" || r.Subagent == subagent) && slices.Contains(r.Tools, format.Shell) {
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
func (l *lists) named(s session, subagent, server string) {
	for i := range s {
		r := &s[i]
		if r.Subagent != "" && r.Subagent != subagent || r.Server != "" && r.Server != "*" && r.Server != server {
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
				l.err = regular.ErrNotRegular
				return
			}
			l.all = append(l.all, l.Text(t))
		}
	}
}

// argument returns the plain values of an argument on which a rule's expression matches.
func (l *lists) argument(r *format.Rule, argument string, g ir.Group) (regular.Language, error) {
	if r.Begins != "" { // the words with which a line begins
		if g != ir.Command {
			return regular.None, nil
		}
		return l.Cat(l.Text(r.Begins), l.MoreWords()), nil
	}
	rest, ok := strings.CutPrefix(r.Expr, format.Key(argument))
	if !ok {
		return regular.None, regular.ErrNotRegular
	}
	if g == ir.Web {
		return regular.None, errPrompt
	}
	return l.Once(valueExpression(rest), func() (regular.Language, error) {
		text, err := onValue(rest)
		if err != nil {
			return regular.None, err
		}
		p, err := ecma.Parse("^(?:" + text + ")")
		if err != nil {
			return regular.None, err
		}
		return l.ECMAScript(p, regular.SameCase)
	})
}

// valueExpression names the language of an expression.
type valueExpression string

// errPrompt is why hosts have no languages: an address stands in a text.
var errPrompt = errors.New("an address stands in a text, with others around it")

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
