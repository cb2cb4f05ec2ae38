package model

import (
	"io/fs"
	"strings"
	"sync"

	"github.com/dlclark/regexp2/v2"

	"modec.dev/modec/compiler/cache"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
)

// ignoreFile is the ignore file as RooIgnoreController reads it
// (src/core/ignore/RooIgnoreController.ts) with npm ignore 7.0.5, which says
// more or less what gitignore does, whatever the case.
type ignoreFile struct {
	file  string
	rules []ignoreRule
	tests *cache.Cache[string, tested] // of the last paths: every mode has the same file
}

// tested is the rule that ignores a path, nil for none. It is not ok where npm ignore throws.
type tested struct {
	rule *ignoreRule
	ok   bool
}

type ignoreRule struct {
	text     string
	line     int // 0: a rule of the agent itself
	negative bool
	regex    *regex // nil: not an expression, which throws when tested
}

// openIgnore reads the first of the files that is there. Without a file, and
// with an empty one, nothing is ignored.
func openIgnore(fsys fs.FS, names ...string) *ignoreFile {
	file, data, err := firstFile(fsys, names)
	g := &ignoreFile{file: file, tests: cache.New[string, tested](2048)}
	if err != nil || len(data) == 0 {
		return g
	}
	for i, line := range strings.Split(string(data), "\n") {
		g.add(strings.TrimSuffix(line, "\r"), i+1)
	}
	for _, name := range names {
		g.add(name, 0)
	}
	return g
}

var openBackward = lazy.Regexp(`(?:[^\\]|^)\\$`)

// add is RuleManager._add and createRule of npm ignore.
func (g *ignoreFile) add(line string, number int) {
	if strings.TrimFunc(line, ecma.IsWhiteSpace) == "" || openBackward().MatchString(line) || line[0] == '#' {
		return
	}
	body, negative := strings.CutPrefix(line, "!")
	for _, c := range []string{"!", "#"} {
		if strings.HasPrefix(body, `\`+c) {
			body = body[1:]
		}
	}
	r := ignoreRule{text: line, line: number, negative: negative}
	if re, err := compiled(ignoreExpression(body), ecma.Options{IgnoreCase: true}); err == nil {
		r.regex = re
	}
	g.rules = append(g.rules, r)
}

// replacer is one of the replacements that turn a pattern into an expression.
type replacer struct {
	match *regexp2.Regexp
	count int // of the replacements; -1 for all
	with  evaluator
}

// evaluator returns what stands in place of a match in a whole text.
type evaluator func(m regexp2.Match, whole string) string

// once replaces the first match, as String.prototype.replace does.
func once(match string, with evaluator) replacer {
	return replacer{regexp2.MustCompile(match, regexp2.ECMAScript), 1, with}
}

// every replaces all matches, as an expression with the flag g does.
func every(match string, with evaluator) replacer {
	r := once(match, with)
	r.count = -1
	return r
}

func literally(s string) evaluator { return func(regexp2.Match, string) string { return s } }

// captured returns what a group matched. The engine panics for one that matched nothing
// (2.12.0).
func captured(m regexp2.Match, n int) string {
	g := m.GroupByNumber(n)
	if len(g.Captures) == 0 {
		return ""
	}
	return g.String()
}

// evenRun cuts a run of backslashes to an even length.
func evenRun(s string) string { return s[:len(s)-len(s)%2] }

// replacers are REPLACERS of npm ignore's index.js (MIT licence, copyright 2013
// Kael Zhang and contributors), in their order, and last the one for a trailing
// wildcard.
var replacers = sync.OnceValue(func() []replacer {
	return []replacer{
		once(`^\uFEFF`, literally("")),
		once(`((?:\\\\)*?)(\\?\s+)$`, func(m regexp2.Match, _ string) string {
			if strings.HasPrefix(captured(m, 2), `\`) {
				return captured(m, 1) + " "
			}
			return captured(m, 1)
		}),
		every(`(\\+?)\s`, func(m regexp2.Match, _ string) string { return evenRun(captured(m, 1)) + " " }),
		every(`[\\$.|*+(){^]`, func(m regexp2.Match, _ string) string { return `\` + m.String() }),
		every(`\?`, literally(`[^/]`)),
		once(`^\/`, literally(`^`)),
		every(`\/`, literally(`\/`)),
		once(`^\^*\\\*\\\*\\\/`, literally(`^(?:.*\/)?`)),
		once(`^(?=[^^])`, nil), // depends on the pattern: ignoreStart
		every(`\\\/\\\*\\\*(?=\\\/|$)`, func(m regexp2.Match, whole string) string {
			if m.RuneIndex+6 < len([]rune(whole)) {
				return `(?:\/[^\/]+)*`
			}
			return `\/.+`
		}),
		every(`(^|[^\\]+)(\\\*)+(?=.+)`, func(m regexp2.Match, _ string) string { return captured(m, 1) + `[^\/]*` }),
		every(`\\\\\\(?=[$.|*+(){^])`, literally(`\`)),
		every(`\\\\`, literally(`\`)),
		every(`(\\)?\[([^\]/]*?)(\\*)($|\])`, ignoreRange),
		once(`[^*]$`, func(m regexp2.Match, _ string) string {
			if m.String() == "/" {
				return `/$`
			}
			return m.String() + `(?=$|\/$)`
		}),
		once(`(^|\\\/)?\\\*$`, func(m regexp2.Match, _ string) string {
			if p := captured(m, 1); p != "" {
				return p + `[^/]+(?=$|\/$)`
			}
			return `[^/]*(?=$|\/$)`
		}),
	}
})

var rangeOfUnits = lazy.Regexp(`([0-z])-([0-z])`)

func ignoreRange(m regexp2.Match, _ string) string {
	lead, in, backslashes, end := captured(m, 1), captured(m, 2), captured(m, 3), captured(m, 4)
	switch {
	case lead != "":
		return `\[` + in + evenRun(backslashes) + end
	case end == "]" && len(backslashes)%2 == 0:
		// A range out of order is not an error in gitignore.
		in = rangeOfUnits().ReplaceAllStringFunc(in, func(r string) string {
			if r[0] > r[2] {
				return ""
			}
			return r
		})
		return `[` + in + backslashes + `]`
	}
	return `[]`
}

// ignoreStart says where a pattern begins: at any depth when it has no slash
// but a last one.
func ignoreStart(pattern string) string {
	if strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
		return "^"
	}
	return `(?:^|\/)`
}

// ignoreExpression is makeRegexPrefix and IgnoreRule._make of npm ignore.
func ignoreExpression(pattern string) string {
	s := pattern
	for _, r := range replacers() {
		whole := s
		with := func(m regexp2.Match) string {
			if r.with == nil {
				return ignoreStart(pattern)
			}
			return r.with(m, whole)
		}
		if out, err := r.match.ReplaceFunc(whole, with, -1, r.count); err == nil {
			s = out
		}
	}
	return s
}

// refuses returns the rule that makes a path inaccessible to Roo's tools, nil
// when none does (RooIgnoreController.validateAccess). The path is resolved
// against the workspace, as on POSIX; one that leaves it is accessible.
func (g *ignoreFile) refuses(path string) *ignoreRule {
	path, inside := resolvedPath(path)
	if !inside || len(g.rules) == 0 {
		return nil
	}
	return g.tested(strings.ReplaceAll(path, `\`, "/")) // toPosix, on every system
}

// names returns the rule that would make a path with backslashes inaccessible if Roo took them for a part of names, as
// POSIX does, nil for none.
func (g *ignoreFile) names(path string) *ignoreRule {
	if !strings.Contains(path, `\`) || len(g.rules) == 0 {
		return nil
	}
	path, inside := resolvedPath(path)
	if !inside {
		return nil
	}
	if r := g.tested(path); r != nil {
		return r
	}
	return g.tested(policy.Fold(path))
}

// tested returns the rule that ignores a path with slashes, nil for none.
func (g *ignoreFile) tested(path string) *ignoreRule {
	if path == "" || relativeStart().MatchString(path) {
		return nil // npm ignore throws, and Roo lets through what throws
	}
	t, ok := g.tests.Get(path)
	if !ok {
		t.rule, t.ok = g.test(path)
		g.tests.Put(path, t)
	}
	if !t.ok {
		return nil
	}
	return t.rule
}

var relativeStart = lazy.Regexp(`^\.{0,2}/|^\.{1,2}$`)

// test is Ignore._t: a path below an ignored folder is ignored. It fails where
// npm ignore throws.
func (g *ignoreFile) test(path string) (*ignoreRule, bool) {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i := 1; i < len(parts); i++ {
		r, ok := g.match(strings.Join(parts[:i], "/") + "/")
		if r != nil || !ok {
			return r, ok
		}
	}
	return g.match(path)
}

// match is RuleManager.test with checkUnignored false.
func (g *ignoreFile) match(path string) (*ignoreRule, bool) {
	var held *ignoreRule
	unignored := false
	for i := range g.rules {
		r := &g.rules[i]
		ignored := held != nil
		if unignored == r.negative && ignored != unignored || r.negative && !ignored && !unignored {
			continue
		}
		if r.regex == nil {
			return nil, false
		}
		if !r.regex.test(path) {
			continue
		}
		held, unignored = r, r.negative
		if r.negative {
			held = nil
		}
	}
	return held, true
}

// resolvedPath is path.relative(cwd, path.resolve(cwd, path)) on POSIX, and whether
// that lies below cwd.
func resolvedPath(path string) (string, bool) {
	if strings.HasPrefix(path, "/") {
		return path, false
	}
	var parts []string
	for _, s := range strings.Split(path, "/") {
		switch s {
		case "", ".":
		case "..":
			if len(parts) == 0 {
				return path, false
			}
			parts = parts[:len(parts)-1]
		default:
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "/"), true
}

// fileReaders are the commands whose arguments validateCommand takes for paths.
var fileReaders = map[string]bool{
	"cat": true, "less": true, "more": true, "head": true, "tail": true, "grep": true, "awk": true, "sed": true,
	"get-content": true, "gc": true, "type": true, "select-string": true, "sls": true,
}

// command returns the rule that keeps a command line from running, nil when
// none does (RooIgnoreController.validateCommand): the first word names a
// reader, and another word, quotes and all, an ignored path.
func (g *ignoreFile) command(line string) *ignoreRule {
	words := strings.FieldsFunc(line, ecma.IsWhiteSpace)
	if len(words) == 0 || !fileReaders[strings.ToLower(words[0])] {
		return nil
	}
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") || strings.HasPrefix(w, "/") || strings.Contains(w, ":") {
			continue
		}
		if r := g.refuses(w); r != nil {
			return r
		}
	}
	return nil
}

// pos returns where a rule stands.
func (g *ignoreFile) pos(r *ignoreRule) diag.Pos {
	if r.line == 0 {
		return diag.Pos{File: g.file}
	}
	return diag.Pos{File: g.file, Line: r.line, Col: 1}
}
