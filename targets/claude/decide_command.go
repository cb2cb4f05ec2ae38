package claude

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
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

// lineRule decides a command line. A deny rule that meets any of its commands
// holds it, then an ask rule; it runs unasked where each command is allowed by
// a rule, is known to only read, or is an edit that the mode accepts, and where
// each redirect may be written or read.
func (s *session) lineRule(l *line) ruling {
	deny, ask, allow := &s.rules[ir.Deny], &s.rules[ir.Ask], &s.rules[ir.Allow]
	var askedBy *place
	for _, c := range append(slices.Clip(l.simple), &simple{held: []string{l.text}}) {
		if r := matchBash(deny.bash, c.held); r != nil {
			return byDeny(r)
		}
		if askedBy == nil {
			askedBy = matchBash(ask.bash, c.held)
		}
	}
	touched, held := s.touches(l)
	if held != nil {
		return byDeny(held)
	}
	if askedBy == nil {
		askedBy = first(ask.tool("Bash"))
	}
	switch {
	case askedBy != nil:
		return byAsk(askedBy)
	case s.mode == "bypassPermissions":
		return s.byMode(ir.Allow, "a command")
	}
	for i := range allow.bash {
		if allow.bash[i].all {
			if touched == outProtected {
				return s.byMode(ir.Ask, "writing a protected path")
			}
			return byAllow(&allow.bash[i].place)
		}
	}
	if l.opaque || touched != nothing || len(l.outs) > 0 && !slices.ContainsFunc(l.simple, func(c *simple) bool { return len(c.words) > 0 }) {
		return s.otherwise("a command that is not looked through")
	}
	var by *place
	loose := ""
	for _, c := range l.simple {
		r, why := s.simpleRule(c, allow)
		switch {
		case r != nil:
			if by, loose = r, cmp.Or(loose, c.looselyAllowed(allow.bash)); c.hidesAnother(s) {
				loose = looseTail
			}
		case why == "":
			return s.otherwise("a command")
		case why != acceptsEdits:
			loose = cmp.Or(loose, c.looselyRead(allow.bash))
		}
	}
	switch {
	case s.passesRules(l):
		loose = looseRedirect
	case l.unknown:
		loose = looseOpen
	case len(l.simple) == 0:
		loose = looseNothing
	}
	r := s.byMode(ir.Allow, "a command that only reads")
	if by != nil {
		r = byAllow(by)
	}
	r.loose = loose
	return r
}

const acceptsEdits = "edits"

// simpleRule returns the rule that allows a command, or why none is needed.
func (s *session) simpleRule(c *simple, allow *ruleSet) (*place, string) {
	switch {
	case len(c.words) == 0:
		return nil, "an assignment"
	case c.dynamic:
		return nil, ""
	case s.pathsOutside(c):
		return nil, ""
	}
	if r := c.allowedBy(allow.bash); r != nil {
		return r, ""
	}
	switch {
	case c.env || len(c.free) == 0:
		return nil, ""
	case c.onlyReads():
		return nil, "only reads"
	case s.mode == "acceptEdits" && c.edits():
		return nil, acceptsEdits
	}
	return nil, ""
}

// readOnly reports whether a line runs without any permission; a nil one is
// no line, and nothing that changes the project.
func (l *line) readOnly() bool {
	if l == nil {
		return false
	}
	if l.opaque || l.unknown || len(l.outs) > 0 {
		return false
	}
	return !slices.ContainsFunc(l.simple, func(c *simple) bool { return len(c.words) > 0 && (c.env || !c.onlyReads()) })
}

// touch is what a line's redirects and paths ask for.
type touch uint8

const (
	nothing touch = iota
	outAsks
	outProtected
)

// touches judges the paths of a line: of its redirects, and of the commands
// that Claude Code knows to read or write their arguments. held is the deny rule
// that one of them meets. Observed on 2.1.329: a redirect is held against Edit
// denies and not against Read denies, and acceptEdits writes past an ask rule.
func (s *session) touches(l *line) (t touch, held *place) {
	deny := &s.rules[ir.Deny]
	for _, p := range l.ins {
		f := newFile(p)
		if r := matchPath(deny.read, f); r != nil {
			return t, r
		}
		if !f.inside {
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
		case s.mode == "acceptEdits" && f.inside:
		case matchPath(s.rules[ir.Ask].edit, f) != nil, matchPath(s.rules[ir.Allow].edit, f) == nil:
			t = max(t, outAsks)
		}
	}
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

// pathsOutside reports whether a command that Claude Code knows to read or write
// its arguments is given a path that asks, whatever prefix allows the command.
func (s *session) pathsOutside(c *simple) bool {
	edits := c.edits()
	if !edits && !c.readsPaths() {
		return false
	}
	return slices.ContainsFunc(c.paths(), func(p string) bool {
		if p[0] == '~' && p != "~" && p[1] != '/' || slices.Contains(strings.Split(p, "/"), "..") {
			return true // somebody's home, or a way that is not followed
		}
		f := newFile(p)
		return !f.inside && matchPath(s.rules[ir.Allow].read, f) == nil || edits && f.protected
	})
}
