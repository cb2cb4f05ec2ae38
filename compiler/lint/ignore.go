package lint

import (
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
)

// comment is a comment that silences a rule.
type comment struct {
	pos    diag.Pos
	rule   diag.Code
	reason string
	line   int // the line for which it silences the rule
	used   bool
}

var ignoring = lazy.Regexp(`^(?://|#)\s*modec:ignore(?:\s+(\S+))?(?:\s+(.*\S))?\s*$`)

// comments returns the comments of a file that silence rules. One at the end of a line is
// about that line; one on a line of its own is about the next line that is not a comment.
func comments(file, text string) []comment {
	mark := "//"
	if !strings.HasSuffix(file, ".cue") && !strings.HasSuffix(file, ".ts") {
		mark = "#"
	}
	lines := strings.Split(text, "\n")
	var out []comment
	for i, line := range lines {
		at := start(line, mark)
		if at < 0 || !strings.Contains(line[at:], "modec:ignore") {
			continue
		}
		m := ignoring().FindStringSubmatch(strings.TrimRight(line[at:], " \t\r"))
		if m == nil {
			continue
		}
		pos := diag.Pos{File: file, Line: i + 1, Col: at + 1}
		c := comment{pos: pos, rule: diag.Code(m[1]), reason: m[2], line: i + 1}
		if strings.TrimSpace(line[:at]) == "" {
			next := i + 1
			for next < len(lines) && !content(lines[next], mark) {
				next++
			}
			c.line = next + 1
		}
		out = append(out, c)
	}
	return out
}

// content reports whether a line has anything but a comment.
func content(line, mark string) bool {
	if at := start(line, mark); at >= 0 {
		line = line[:at]
	}
	return strings.TrimSpace(line) != ""
}

// start returns where a comment begins in a line, -1 for a line without one. A mark
// between quotes does not begin a comment.
func start(line, mark string) int {
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"', c == '\'' && mark == "#":
			quote = c
		case strings.HasPrefix(line[i:], mark):
			return i
		}
	}
	return -1
}

// silence removes the findings that comments silence, and reports comments that are wrong.
func (p *pass) silence() {
	var all []comment
	for _, file := range slices.Sorted(maps.Keys(p.Sources)) {
		all = append(all, comments(file, string(p.Sources[file]))...)
	}
	p.found = slices.DeleteFunc(p.found, func(f Finding) bool {
		i := slices.IndexFunc(all, func(c comment) bool {
			return c.rule == f.Code && c.reason != "" && c.pos.File == f.Pos.File && c.line == f.Pos.Line
		})
		if i >= 0 {
			all[i].used = true
		}
		return i >= 0
	})
	for _, c := range all {
		p.severity = diag.Warning
		switch known := slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.ID == c.rule }); {
		case !known:
			p.fault(c, unknownIgnore, "there is no rule %q: `modec lint --rules` lists them", c.rule)
		case c.reason == "":
			p.fault(c, reasonlessIgnore, "the comment silences %s only with a reason after the rule's name", c.rule)
		case !c.used && !slices.Contains(p.off, c.rule):
			p.fault(c, unusedIgnore, "%s finds nothing here, so that the comment silences nothing", c.rule)
		}
	}
}

const (
	unknownIgnore    diag.Code = "unknown-ignore"
	reasonlessIgnore diag.Code = "reasonless-ignore"
	unusedIgnore     diag.Code = "unused-ignore"
)

// fault adds a finding about a comment, with the severity that modec.toml gives its rule.
func (p *pass) fault(c comment, rule diag.Code, format string, args ...any) {
	level := diag.Warning.String()
	if l, ok := p.Levels[rule]; ok {
		level = l
	}
	if level == Off {
		return
	}
	p.rule, p.severity = rule, severity(level)
	p.find(c.pos, format, args...)
}
