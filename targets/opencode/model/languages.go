package model

import (
	"errors"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/opencode/format"
)

// KnownPrograms returns the commands about which the program asks no rule.
func (d *Decider) KnownPrograms() []string { return d.program.Known }

// KnownPrograms returns them for sessions without rules.
func (d alone) KnownPrograms() []string { return d.program.Known }

// Known are the commands about which opencode asks no rule.
var Known = append([]string{"declare", "export", "let", "local", "nameref", "readonly", "time", "typeset"},
	unchecked...)

// keys are the keys of a group whose patterns are compared with an argument.
var keys = map[ir.Group]string{ir.Read: format.Read, ir.Edit: format.Edit, ir.Command: format.Bash,
	ir.Web: format.WebFetch, ir.Modes: format.Task}

// Languages returns what decides about a subject's plain arguments: for each of its sessions those that are denied, and
// those that are asked about.
func (d *Decider) Languages(ref ir.SubjectRef, of policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	l := lists{Space: sp, program: d.program}
	for i := range d.setups[ref] {
		if !d.setups[ref][i].repeats[of.Group] {
			l.session(d.session(ref, i), of)
		}
	}
	said, tools, err := contract.HookLanguages(sp, contract.KnowingFiles(d.hooked(ref)), ref, of)
	if err != nil && l.err == nil {
		l.err = err
	}
	l.all = append(l.all, said...)
	for _, name := range tools {
		l.all = append(l.all, l.Text(name))
	}
	return l.all, l.err
}

// Languages returns those of the files about which opencode asks by itself.
func (d alone) Languages(_ ir.SubjectRef, of policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	l := lists{Space: sp, program: d.program}
	l.session(&d.Session, of)
	return l.all, l.err
}

// lists collects languages.
type lists struct {
	*regexlang.Space
	program *Program
	all     []regexlang.Language
	err     error
}

// of returns a language, and keeps the error for the end.
func (l *lists) of(of regexlang.Language, err error) regexlang.Language {
	if err != nil {
		l.err = err
	}
	return of
}

func (l *lists) session(s *Session, of policy.Field) {
	switch g := of.Group; g {
	case ir.MCP:
		l.tools(s, of.Server)
	case ir.Web:
		l.hosts(s)
	case ir.Read, ir.Edit:
		denied, asked := l.decided(s, g, l.named)
		alikeDenied, alikeAsked := l.decided(s, g, l.alike)
		l.all = append(l.all, denied, asked, alikeDenied, alikeAsked)
	case ir.Command:
		if scattered(s.about(keys[g])) > mostScattered {
			l.err = errScattered
			return
		}
		denied, asked := l.decided(s, g, func(r *format.Rule) regexlang.Language {
			return l.of(l.Once(ofCommand(r.Pattern), func() (regexlang.Language, error) {
				return l.program.Command(l.Space, r.Pattern)
			}))
		})
		l.all = append(l.all, denied, asked)
	case ir.Modes:
		denied, asked := l.decided(s, g, l.named)
		l.all = append(l.all, denied, asked, l.Text(contract.UnknownMode))
		var off []regexlang.Language
		for name, on := range s.Agents {
			if !on {
				off = append(off, l.Text(name))
			}
		}
		l.all = append(l.all, l.Or(off...))
	}
}

// mostScattered is how many patterns may look for parts one behind the other anywhere in a line: how far a line is in
// each of them makes states of its own.
const mostScattered = 12

var errScattered = errors.New("its rules look for many letters anywhere in a line")

// scattered counts the patterns of some rules that look for more than three parts of a plain line, which has no quotes,
// or for two anywhere in it.
func scattered(rules []format.Rule) int {
	seen := map[string]bool{}
	for _, r := range rules {
		n := strings.Count(r.Pattern, "*")
		if (n > 4 || n > 2 && r.Pattern[0] == '*') && !strings.ContainsAny(r.Pattern, `'"`) {
			seen[r.Pattern] = true
		}
	}
	return len(seen)
}

// tools adds what decides about the tools of a server.
func (l *lists) tools(s *Session, server string) {
	begin := format.Sanitized(server) + "_"
	var about []format.Rule
	for _, r := range s.Rules {
		if format.Match(r.Pattern, format.Every) {
			about = append(about, r)
		}
	}
	denied, asked := l.last(about, ir.MCP, func(r *format.Rule) regexlang.Language {
		return l.After(l.pattern(r.Key), begin)
	})
	l.all = append(l.all, denied, asked)
}

// hosts adds what decides about hosts: of the addresses by which one is asked for the most permissive counts.
func (l *lists) hosts(s *Session) {
	denied, asked := l.decided(s, ir.Web, l.named)
	allowed := l.Not(l.Or(denied, asked))
	var everyDenied, anyAllowed []regexlang.Language
	for _, a := range addresses {
		everyDenied = append(everyDenied, l.Before(l.After(denied, a.before), a.after))
		anyAllowed = append(anyAllowed, l.Before(l.After(allowed, a.before), a.after))
	}
	l.all = append(l.all, l.And(everyDenied...), l.Or(anyAllowed...))
	for _, r := range s.about(format.WebFetch) { // a page of a host that a pattern names
		_, rest, _ := strings.Cut(r.Pattern, "://")
		if end := strings.IndexAny(rest, "/?#"); end > 0 && !strings.ContainsAny(rest[:end], "*?") {
			if host, ok := contract.WebHost("https://" + rest[:end]); ok {
				l.all = append(l.all, l.Text(host))
			}
		}
	}
}

// decided returns what rules deny in a group, and what they ask about, where a rule matches what a function returns.
func (l *lists) decided(
	s *Session, g ir.Group, matches func(*format.Rule) regexlang.Language,
) (denied, asked regexlang.Language) {
	return l.last(s.about(keys[g]), g, matches)
}

// last returns what rules deny and ask about, of which the last that matches decides. Those one behind the other that
// decide alike are one: so each outcome has a language, and not each pattern.
func (l *lists) last(
	rules []format.Rule, g ir.Group, matches func(*format.Rule) regexlang.Language,
) (denied, asked regexlang.Language) {
	denied, asked = regexlang.None, regexlang.All
	for from := 0; from < len(rules); {
		decision, but := rules[from].Decision, l.askedAnyway(g, &rules[from])
		var any []regexlang.Language
		to := from
		for ; to < len(rules) && rules[to].Decision == decision && l.askedAnyway(g, &rules[to]) == but; to++ {
			any = append(any, matches(&rules[to]))
		}
		from = to
		matched := l.Or(any...)
		switch decision {
		case ir.Deny:
			denied, asked = l.Or(denied, matched), l.Without(asked, matched)
		case ir.Ask:
			denied, asked = l.Without(denied, matched), l.Or(asked, matched)
		default:
			denied = l.Without(denied, matched)
			asked = l.Or(l.Without(asked, matched), l.And(matched, but))
		}
	}
	return denied, asked
}

// askedAnyway returns the arguments about which the program asks though a rule allows them.
func (l *lists) askedAnyway(g ir.Group, r *format.Rule) regexlang.Language {
	if l.program.Asks == nil || r.Decision != ir.Allow {
		return regexlang.None
	}
	return l.program.Asks(l.Space, g, r)
}

// named returns what a rule's pattern matches.
func (l *lists) named(r *format.Rule) regexlang.Language { return l.pattern(r.Pattern) }

// pattern returns the language of a pattern, which is made once.
func (l *lists) pattern(pattern string) regexlang.Language {
	return l.of(l.Once(ofPattern(pattern), func() (regexlang.Language, error) {
		return format.Language(l.Space, pattern, format.AsWritten)
	}))
}

// alike returns what a rule's pattern matches where what holds back is compared in any case.
func (l *lists) alike(r *format.Rule) regexlang.Language {
	if r.Decision == ir.Allow {
		return l.named(r)
	}
	pattern := policy.Fold(r.Pattern)
	folded := l.of(l.Once(inAnyCase(pattern), func() (regexlang.Language, error) {
		return format.Language(l.Space, pattern, func(r rune) rune {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			return r
		})
	}))
	if strings.ContainsFunc(r.Pattern, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return l.Or(folded, l.named(r))
	}
	return folded // which has what is matched as it is written
}

// ofPattern, ofCommand and inAnyCase name the languages of patterns.
type (
	ofPattern string
	ofCommand string
	inAnyCase string
)
