package model

import (
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regular"
	"modec.dev/modec/targets/opencode/format"
)

// KnownPrograms returns the commands about which the program asks no rule.
func (d *Decider) KnownPrograms() []string { return d.program.Known }

// KnownPrograms returns them for sessions without rules.
func (d alone) KnownPrograms() []string { return d.program.Known }

// Known are the commands about which opencode asks no rule.
var Known = []string{"[", "cd", "declare", "export", "let", "local", "nameref", "readonly", "time", "typeset", "unset"}

// keys are the keys of a group whose patterns are compared with an argument.
var keys = map[ir.Group]string{ir.Read: format.Read, ir.Edit: format.Edit, ir.Command: format.Bash,
	ir.Web: format.WebFetch, ir.Modes: format.Task}

// Languages returns what decides about a subject's plain arguments: what each pattern matches.
func (d *Decider) Languages(ref ir.SubjectRef, of policy.Field, sp *regular.Space) ([]regular.Language, error) {
	l := lists{Space: sp, program: d.program}
	for i := range d.setups[ref] {
		l.session(&d.setups[ref][i], of)
	}
	return l.all, l.err
}

// Languages returns those of the files about which opencode asks by itself.
func (d alone) Languages(_ ir.SubjectRef, of policy.Field, sp *regular.Space) ([]regular.Language, error) {
	l := lists{Space: sp, program: d.program}
	l.session(&d.Session, of)
	return l.all, l.err
}

// lists collects languages.
type lists struct {
	*regular.Space
	program *Program
	all     []regular.Language
	err     error
}

func (l *lists) add(of regular.Language, err error) {
	if err != nil {
		l.err = err
	}
	l.all = append(l.all, of)
}

func (l *lists) session(s *Session, of policy.Field) {
	if of.Group == ir.MCP {
		begin := format.Sanitized(of.Server) + "_"
		for _, r := range s.Rules {
			whole, err := l.named(r.Key, asWritten)
			l.add(l.After(whole, begin), err)
		}
		return
	}
	key := keys[of.Group]
	for _, r := range s.Rules {
		if !format.Match(r.Key, key) {
			continue
		}
		switch of.Group {
		case ir.Web:
			for _, a := range addresses {
				whole, err := l.named(r.Pattern, asWritten)
				l.add(l.Before(l.After(whole, a.before), a.after), err)
			}
		case ir.Read, ir.Edit:
			l.add(l.named(r.Pattern, asWritten))
			if r.Decision < ir.Allow {
				l.add(l.folded(r.Pattern))
			}
		case ir.Command:
			l.add(l.Once(ofCommand(r.Pattern), func() (regular.Language, error) {
				return l.program.Command(l.Space, r.Pattern)
			}))
		default:
			l.add(l.named(r.Pattern, asWritten))
		}
	}
	for _, pattern := range l.program.Told[of.Group] {
		l.add(l.named(pattern, asWritten))
	}
	if of.Group == ir.Edit && l.program.ToldEdits != nil {
		l.all = append(l.all, l.program.ToldEdits(l.Space)...)
	}
	if of.Group == ir.Modes {
		for name := range s.Agents {
			l.add(l.Text(name), nil)
		}
	}
}

func asWritten(r rune) rune { return r }

// named returns the language of a pattern, which is made once.
func (l *lists) named(pattern string, as func(rune) rune) (regular.Language, error) {
	return l.Once(ofPattern(pattern), func() (regular.Language, error) { return format.Language(l.Space, pattern, as) })
}

// folded returns that of a pattern in any case.
func (l *lists) folded(pattern string) (regular.Language, error) {
	pattern = policy.Fold(pattern)
	return l.Once(inAnyCase(pattern), func() (regular.Language, error) {
		return format.Language(l.Space, pattern, func(r rune) rune {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			return r
		})
	})
}

// ofPattern, ofCommand and inAnyCase name the languages of patterns.
type (
	ofPattern string
	ofCommand string
	inAnyCase string
)
