package policy

import (
	"slices"

	"modec.dev/modec/compiler/ir"
)

// because returns the part of a line for which a result decided, "" where there is none to name.
func (s *Subject) because(a *analysis, r *Result) string {
	for _, side := range s.stating(ir.Command) {
		t := &side.commands
		switch part := a.hidden(t); {
		case r == t.fallback && t.empty(), r == &t.opaque && slices.ContainsFunc(t.rules[ir.Deny], commandRule.every):
			return ""
		case r != t.fallback && r != &t.opaque:
		case part != "":
			return part
		case r == t.fallback:
			if part := a.unlisted(t); part != "" {
				return part
			}
		}
		if part := s.reading(side, a, r); part != "" {
			return part
		}
	}
	return s.touching(nil, a.place, a.touches, func(of *Result) bool { return *of == *r })
}

// empty reports whether the table has no rule.
func (t *commandTable) empty() bool {
	return len(t.rules[ir.Deny])+len(t.rules[ir.Ask])+len(t.rules[ir.Allow]) == 0
}

// hidden returns what is not literal.
func (a *analysis) hidden(t *commandTable) string {
	if a.unread != "" {
		return a.unread
	}
	for i := range a.commands {
		if c := &a.commands[i]; c.strict && !t.open {
			return quote(c.hidden) + " is not literal"
		}
	}
	for _, f := range a.touches {
		switch {
		case f.known:
		case a.moved != "":
			return a.moved
		default:
			return quote(f.text) + " is not literal"
		}
	}
	return ""
}

// unlisted returns the first command that no list has.
func (a *analysis) unlisted(t *commandTable) string {
	for i := range a.commands {
		c := &a.commands[i]
		if r, _ := t.decide(c); r != t.fallback {
			continue
		}
		if len(c.words) > 0 && mayMove(c.words) && a.moved != "" {
			return a.moved
		}
		return quote(c.raw) + " is in no list"
	}
	return ""
}

// reading returns the file of a built-in set's command for which a result decided. The default
// did where the set does not decide because of one.
func (s *Subject) reading(side *side, a *analysis, r *Result) string {
	decided := func(of *Result) bool {
		return of == r || *of == *r || r == side.commands.fallback && of.Decision < ir.Allow
	}
	for i := range a.commands {
		c := &a.commands[i]
		_, files := side.commands.decide(c)
		for _, f := range files {
			if f.begins {
				if of := s.beginning(side, ir.Read, f); of != nil && decided(of) {
					return quote(c.raw) + " may read files that begin with " + quote(f.stem)
				}
				continue
			}
			if f.wide && s.everyFile(side, ir.Read) == nil {
				return quote(c.raw) + " may read any file"
			}
			if part := s.touching(side, a.place, a.place.touched(ir.Read, f, c.dirs), decided); part != "" {
				return part
			}
		}
	}
	return ""
}

// touching returns the file of a list for which it was decided.
func (s *Subject) touching(side *side, p *Place, list []touch, decided func(*Result) bool) string {
	for _, f := range list {
		found := false
		s.touches(side, p, []touch{f}, func(of *Result) { found = found || decided(of) })
		switch {
		case found && f.group == ir.Edit:
			return "it writes " + quote(f.text)
		case found:
			return "it reads " + quote(f.text)
		}
	}
	return ""
}
