package model

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
)

func matchBash(rules []bashRule, texts []string) *place {
	for i := range rules {
		for _, t := range texts {
			if rules[i].match(t) {
				return &rules[i].place
			}
		}
	}
	return nil
}

// allowedBy returns the rule that allows a command, unwrapped or not.
func (c *simple) allowedBy(rules []bashRule) *place {
	spaced := strings.Join(strings.Fields(c.raw), " ") != c.raw
	for i := range rules {
		for _, t := range c.free {
			if rules[i].match(t) && !(spaced && rules[i].exact() && t != c.raw) {
				return &rules[i].place
			}
		}
	}
	return nil
}

// lineRule decides a command line. A deny rule that is the line itself or matches any of its commands
// holds it, then an ask rule, and where not each command is allowed alone a deny rule that matches the
// whole of a line with a pipe. It runs without a question where each command is allowed by a rule,
// is known to only read, or is an edit that the mode accepts, and where each redirect may
// be written or read.
func (s *session) lineRule(l *line) ruling {
	touched, held := s.heldBack(l)
	whole := matchBash(s.rules[ir.Deny].bash, l.piped)
	switch {
	case held != nil:
		return *held
	case whole != nil && !s.allowsParts(l, touched):
		return byDeny(whole)
	case s.sandbox.unasked() != nil:
		by := byAllow(s.sandbox.unasked())
		by.loose = s.passed(l)
		return by
	case s.mode == format.Bypass:
		return s.otherLine("a command", l)
	}
	for i := range s.rules[ir.Allow].bash {
		r := &s.rules[ir.Allow].bash[i]
		switch {
		case !r.all:
		case touched == outProtected:
			return s.byMode(ir.Ask, "writing a protected path")
		default:
			by := byAllow(&r.place)
			if by.loose = s.passed(l); by.loose == "" && len(l.ins)+len(l.outs) > 0 {
				by.loose = looseAnywhere
			}
			return by
		}
	}
	if l.opaque || touched != nothing || l.onlyRedirects() {
		return s.otherLine("a command that Claude Code does not look through", l)
	}
	return s.eachAllowed(l)
}

// allowsParts reports whether each command of a line runs by a rule of its own or without any.
func (s *session) allowsParts(l *line, touched touch) bool {
	own := s.rules[ir.Allow]
	own.bash = slices.DeleteFunc(slices.Clone(own.bash), func(r bashRule) bool { return r.all })
	return !l.opaque && touched == nothing && !l.onlyRedirects() &&
		!slices.ContainsFunc(l.simple, func(c *simple) bool {
			r, why := s.simpleRule(c, &own)
			return r == nil && why == needsRule
		})
}

// otherLine decides a line that no rule is about.
func (s *session) otherLine(what string, l *line) ruling {
	r := s.otherwise(what)
	r.loose = s.passed(l)
	return r
}

// heldBack returns the ruling of a deny or ask rule on a line, nil where none matches, and
// what the line's redirects and paths ask for.
func (s *session) heldBack(l *line) (touch, *ruling) {
	deny, ask := &s.rules[ir.Deny], &s.rules[ir.Ask]
	var askedBy *place
	asks, whole := ask.bash, ask.tool("Bash")
	if s.sandbox.unasked() != nil { // such a rule about all commands does not hold there
		asks = slices.DeleteFunc(slices.Clone(asks), func(r bashRule) bool { return r.all })
		whole = nil
	}
	for i := range deny.bash {
		if r := &deny.bash[i]; r.exact() && r.match(l.text) {
			held := byDeny(&r.place)
			return nothing, &held
		}
	}
	for _, c := range l.simple {
		if r := matchBash(deny.bash, c.held); r != nil {
			held := byDeny(r)
			return nothing, &held
		}
		if askedBy == nil {
			askedBy = matchBash(asks, c.held)
		}
	}
	touched, by := s.touches(l)
	if by != nil {
		held := byDeny(by)
		return touched, &held
	}
	if askedBy = first(askedBy, whole); askedBy != nil {
		held := byAsk(askedBy)
		return touched, &held
	}
	return touched, nil
}

// eachAllowed decides a line by its commands, one after the other.
func (s *session) eachAllowed(l *line) ruling {
	allow := &s.rules[ir.Allow]
	var by *place
	loose := ""
	for _, c := range l.simple {
		r, why := s.simpleRule(c, allow)
		switch {
		case r != nil:
			by, loose = r, cmp.Or(loose, c.looselyAllowed(allow.bash))
			switch {
			case c.hidesAnother(s), c.feeds() && s.holdsAny():
				loose = looseTail
			case c.hidesWithin(s), c.home() && s.holdsAny():
				loose = looseText
			case c.startsShell():
				loose = cmp.Or(loose, looseShell)
			case c.unnamed(r):
				loose = cmp.Or(loose, looseAny)
			}
		case why == needsRule:
			return s.otherLine("a command", l)
		case why == accepted:
			loose = cmp.Or(loose, looseEdit)
		case why == reads:
			loose = cmp.Or(loose, looseRead)
		default:
			loose = cmp.Or(loose, looseNothing)
		}
	}
	switch {
	case s.passesRules(l):
		loose = looseRedirect
	case l.unknown:
		loose = looseOpen
	case by != nil && len(l.ins)+len(l.outs) > 0:
		loose = looseInto
	case len(l.simple) == 0:
		loose = looseNothing
	}
	if by == nil && s.approves() {
		return s.otherLine("a command that only reads", l)
	}
	r := s.byMode(ir.Allow, "a command that only reads")
	if by != nil {
		r = byAllow(by)
	}
	r.loose = loose
	return r
}

// need says why a command runs without a rule, or that it does not.
type need int

const (
	needsRule need = iota
	assigns        // it is an assignment
	reads          // it only reads
	accepted       // the mode accepts edits
)

// simpleRule returns the rule that allows a command, or why none is needed.
func (s *session) simpleRule(c *simple, allow *ruleSet) (*place, need) {
	switch {
	case len(c.words) == 0:
		return nil, assigns
	case c.dynamic, s.pathsOutside(c):
		return nil, needsRule
	}
	if r := c.allowedBy(allow.bash); r != nil {
		return r, needsRule
	}
	switch {
	case c.env || len(c.free) == 0:
		return nil, needsRule
	case c.onlyReads():
		return nil, reads
	case s.mode == format.AcceptEdits && c.edits():
		return nil, accepted
	}
	return nil, needsRule
}

// readOnly reports whether a line runs without any permission. A nil line does not.
func (l *line) readOnly() bool {
	if l == nil || l.opaque || l.unknown || len(l.outs) > 0 {
		return false
	}
	return !slices.ContainsFunc(l.simple, func(c *simple) bool { return len(c.words) > 0 && (c.env || !c.onlyReads()) })
}

// onlyRedirects reports whether a line writes files and runs nothing.
func (l *line) onlyRedirects() bool {
	runs := func(c *simple) bool { return len(c.words) > 0 }
	return len(l.outs) > 0 && !slices.ContainsFunc(l.simple, runs)
}

// touch is what a line's redirects and paths ask for.
type touch uint8

const (
	nothing touch = iota
	outAsks
	outProtected
)

// touches judges the paths of a line: of its redirects, and of the commands that Claude
// Code knows to read or write their arguments. It returns the deny rule that one of them
// meets. Observed on 2.1.329: a redirect is held against Edit denies and not against Read
// denies, and acceptEdits writes past an ask rule.
func (s *session) touches(l *line) (touch, *place) {
	t, by := s.redirects(l)
	if by != nil {
		return t, by
	}
	deny := &s.rules[ir.Deny]
	for _, c := range l.simple {
		rules := deny.read
		switch {
		case c.edits():
			rules = deny.edit
		case !c.readsPaths():
			continue
		}
		for _, p := range c.paths() {
			if r := matchPath(rules, newFile(p)); r != nil {
				return t, r
			}
		}
	}
	return t, nil
}

func (s *session) redirects(l *line) (t touch, by *place) {
	deny := &s.rules[ir.Deny]
	for _, p := range l.ins {
		f := newFile(p)
		if r := matchPath(deny.read, f); r != nil {
			return t, r
		}
		if !s.within(f) {
			t = max(t, outAsks)
		}
	}
	for _, p := range l.outs {
		if p == "" {
			continue
		}
		f := newFile(p)
		if r := matchPath(deny.edit, f); r != nil {
			return t, r
		}
		switch {
		case f.protected:
			t = outProtected
		case s.mode == format.AcceptEdits && s.within(f):
		case matchPath(s.rules[ir.Ask].edit, f) != nil, matchPath(s.rules[ir.Allow].edit, f) == nil:
			t = max(t, outAsks)
		}
	}
	return t, nil
}

// pathsOutside reports whether a command that Claude Code knows to read or write its
// arguments is given a path that asks, whatever prefix allows the command.
func (s *session) pathsOutside(c *simple) bool {
	edits := c.edits()
	if !edits && !c.readsPaths() {
		return false
	}
	return slices.ContainsFunc(c.paths(), func(p string) bool {
		if p[0] == '~' && p != "~" && p[1] != '/' || slices.Contains(strings.Split(p, "/"), "..") {
			return true // a user's home, or a path that is not followed
		}
		f := newFile(p)
		return !s.within(f) && matchPath(s.rules[ir.Allow].read, f) == nil || edits && f.protected
	})
}
