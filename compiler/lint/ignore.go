package lint

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/diag"
)

// comment is a comment that silences a rule.
type comment struct {
	pos    diag.Pos
	rule   diag.Code
	reason string
	line   int // that it speaks of
	used   bool
}

var ignoring = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?://|#)\s*modec:ignore(?:\s+(\S+))?(?:\s+(.*\S))?\s*$`)
})

// comments finds the comments of a file that silence rules: at the end of a line for
// that line, on a line of their own for the next line that is none.
func comments(file, text string) []comment {
	mark := "//"
	if !strings.HasSuffix(file, ".cue") {
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
		c := comment{pos: diag.Pos{File: file, Line: i + 1, Col: at + 1}, rule: diag.Code(m[1]), reason: m[2], line: i + 1}
		if strings.TrimSpace(line[:at]) == "" {
			next := i + 1
			for next < len(lines) && (strings.TrimSpace(lines[next]) == "" || start(lines[next], mark) == len(lines[next])-len(strings.TrimLeft(lines[next], " \t"))) {
				next++
			}
			c.line = next + 1
		}
		out = append(out, c)
	}
	return out
}

// start is where a comment begins in a line, -1 for a line without one. A mark inside
// of quotes begins none.
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

// silence takes out what comments silence, and finds fault with the comments.
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
			p.fault(c, unknownIgnore, "got an ignore of the rule %q, want one of `modec lint --rules`", c.rule)
		case c.reason == "":
			p.fault(c, reasonlessIgnore, "got an ignore of %s without a reason, want one: it silences nothing", c.rule)
		case !c.used && !slices.Contains(p.off, c.rule):
			p.fault(c, unusedIgnore, "got an ignore of %s, which finds nothing here", c.rule)
		}
	}
}

const (
	unknownIgnore    diag.Code = "unknown-ignore"
	reasonlessIgnore diag.Code = "reasonless-ignore"
	unusedIgnore     diag.Code = "unused-ignore"
)

func (p *pass) fault(c comment, rule diag.Code, format string, args ...any) {
	level := diag.Warning.String()
	if l, ok := p.Levels[rule]; ok {
		level = l
	}
	if level == Off {
		return
	}
	p.rule, p.severity = rule, severity(level)
	p.add(c.pos, "", "", format, args...)
}
