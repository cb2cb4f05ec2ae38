package model

import (
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/vscode/format"
)

// known begin lines that are no command to VS Code, or not all of one.
var known = []string{"[", "declare", "export", "let", "local", "nameref", "readonly", "time", "typeset", "unset",
	"unsetenv"}

// KnownPrograms returns what begins such lines.
func (d *decider) KnownPrograms() []string { return known }

// KnownPrograms returns them without a file, too.
func (alone) KnownPrograms() []string { return known }

// Languages returns the commands, or the files, about which VS Code asks; of servers no tool is told from another.
func (d *decider) Languages(
	ref ir.SubjectRef, of policy.Field, sp *regexlang.Space,
) (all []regexlang.Language, err error) {
	s := d.settings
	if ref != (ir.SubjectRef{Role: d.baseline}) || s == nil || s.bypass != nil || !s.about(of.Group) {
		return nil, nil
	}
	l := lists{Space: sp}
	switch of.Group {
	case ir.Command:
		if s.off == nil {
			all = []regexlang.Language{l.commands(s)}
		}
	case ir.Edit:
		for _, order := range s.orders {
			all = append(all, l.edits(order, false), l.edits(order, true))
		}
		all = append(all, l.of(sp.Go(`(?:^|/)\.vscode/[^/]*\.json$`)))
	}
	return all, l.err
}

// Languages returns nothing: no argument is told from another.
func (alone) Languages(ir.SubjectRef, policy.Field, *regexlang.Space) ([]regexlang.Language, error) {
	return nil, nil
}

// lists collects languages.
type lists struct {
	*regexlang.Space
	err error
}

// of returns a language, and keeps the error for the end.
func (l *lists) of(of regexlang.Language, err error) regexlang.Language {
	if err != nil {
		l.err = err
	}
	return of
}

// language returns the texts that an entry matches.
func (l *lists) language(e *entry, anyCase bool) regexlang.Language {
	switch {
	case e.unsure && e.approve:
		return regexlang.All
	case e.unsure || e.source == "":
		return regexlang.None
	}
	source := e.source
	if e.folded != nil {
		source = format.PlainGlobExpression(e.key)
	}
	p, err := ecma.Parse(source)
	if err != nil {
		return regexlang.None
	}
	if anyCase || e.anyCase {
		return l.of(l.ECMAScript(p, true))
	}
	return l.of(l.ECMAScript(p, false))
}

// commands returns the plain commands that run unasked.
func (l *lists) commands(s *settings) regexlang.Language {
	var by [2][2][]regexlang.Language // of lines, approves
	for i := range s.terminal {
		e := &s.terminal[i]
		by[index(e.line)][index(e.approve)] = append(by[index(e.line)][index(e.approve)], l.language(e, false))
	}
	own := regexlang.None
	switch {
	case s.own:
		own = regexlang.All
	case s.scripts:
		own = l.of(l.Go(`(?i)^(?:npm (?:run(?:-script)? |test\b|start\b|stop\b|restart\b)|(?:yarn|pnpm) )`))
	}
	runs := l.Without(l.Or(append(by[0][1], own)...), l.Or(by[0][0]...))
	lines := l.Without(l.Or(by[1][1]...), l.Or(by[0][0]...))
	return l.Without(l.Or(runs, lines), l.Or(by[1][0]...))
}

func index(is bool) int {
	if is {
		return 1
	}
	return 0
}

// edits returns the files that are edited unasked, where what asks is compared in some letters.
func (l *lists) edits(order []*entry, anyCase bool) regexlang.Language {
	runs := regexlang.All
	for _, e := range order {
		of := l.language(e, false)
		switch {
		case e.approve:
			runs = l.Or(runs, of)
			continue
		case anyCase:
			of = l.Or(of, l.language(e, true))
		}
		runs = l.Without(runs, of)
	}
	return runs
}

// Patterns returns the patterns of what runs unasked, in the source's grammar as near as it goes.
func (d *decider) Patterns(ref ir.SubjectRef) map[ir.Group][]ir.Pattern {
	out := map[ir.Group][]ir.Pattern{}
	s := d.settings
	if s == nil || ref != (ir.SubjectRef{Role: d.baseline}) {
		return out
	}
	for i := range s.terminal {
		e := &s.terminal[i]
		if e.approve && !e.line && !strings.HasPrefix(e.key, "/") && ascii(e.key) {
			out[ir.Command] = append(out[ir.Command], ir.Pattern{Text: e.key + " *"})
		}
	}
	for i := range s.edits {
		e := &s.edits[i]
		text := e.key
		if !strings.Contains(text, "/") {
			text = "/" + text
		}
		if e.approve && policy.CheckGlob(text) == nil {
			out[ir.Edit] = append(out[ir.Edit], ir.Pattern{Text: text})
		}
	}
	return out
}

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c >= utf8.RuneSelf })
}
