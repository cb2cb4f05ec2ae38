// Package format is what opencode's files look like: their names, the rules of a permission, and how a
// rule is compared with a call.
//
// The emitter, the model of how opencode decides and the tests share this package and nothing else. It
// reads texts into values with their places. An agent that is made of opencode can use it too.
//
// Source: the program in the npm package opencode-linux-x64 1.18.33.
package format

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/regexlang"
)

// The files of a project.
const (
	// ConfigFile is the one that every session reads.
	ConfigFile = "opencode.json"
	// Dir is the folder in which people have agents, commands and plugins.
	Dir = ".opencode"
	// Schema is what a file names in $schema: opencode rewrites one without it.
	Schema = "https://opencode.ai/config.json"

	sessionEnding = ".json"
	modePrefix    = "mode:"
)

// SessionFile returns where the model finds what sessions of a role, or of a mode by itself, are started with.
func SessionFile(ref ir.SubjectRef) string { return SessionOf("opencode", ref) }

// SessionOf returns that of a target.
func SessionOf(target string, ref ir.SubjectRef) string {
	return sessionFile(target, ref, sessionEnding)
}

func sessionFile(target string, ref ir.SubjectRef, ending string) string {
	name := ref.Role
	if name == "" {
		name = modePrefix + ref.Mode
	}
	return contract.SessionPath(target, contract.PathName(name)+ending)
}

// SessionSubject returns the role, or the mode, of a session's file.
func SessionSubject(file string) (ir.SubjectRef, bool) {
	base, ok := strings.CutSuffix(path.Base(file), sessionEnding)
	name, err := url.PathUnescape(base)
	if slug, mode := strings.CutPrefix(name, modePrefix); mode {
		return ir.SubjectRef{Mode: slug}, ok && err == nil
	}
	return ir.SubjectRef{Role: name}, ok && err == nil
}

// OneList says that the program of a server and its arguments are one list.
const OneList = true

// The keys of a permission.
const (
	Every    = "*"
	Read     = "read"
	Edit     = "edit"
	Bash     = "bash"
	WebFetch = "webfetch"
	// WebFetchAddress is a key that matches WebFetch alone: opencode takes patterns for it, and for
	// WebFetch itself none.
	WebFetchAddress = "webfetc?"
	WebSearch       = "websearch"
	Task            = "task"
	Skill           = "skill"
	Outside         = "external_directory"
)

// Searches are the keys of tools that look below folders; Harmless those of tools that touch nothing but the
// conversation.
var (
	Searches = []string{"glob", "grep", "list", "lsp"}
	Harmless = []string{"question", "todowrite"}
)

// Keys are those that an emitted permission may have beside the keys of tools of servers.
var Keys = slices.Concat([]string{Read, Edit, Bash, WebFetch, WebFetchAddress, WebSearch, Task, Skill, Outside},
	Searches, Harmless)

// Start is the agent of a session for which no file names one.
const Start = "build"

// BuiltIn are opencode's own agents to which a person or a session can turn.
var BuiltIn = []string{Start, "explore", "general", "plan"}

// Bare reports whether a key takes a decision alone, and no patterns: opencode starts with no file that has some.
func Bare(key string) bool {
	switch key {
	case "todowrite", "question", WebFetch, WebSearch, "doom_loop":
		return true
	}
	return false
}

// ToolKey returns the key of a tool of an MCP server.
func ToolKey(server, tool string) string { return Sanitized(server) + "_" + Sanitized(tool) }

// Sanitized returns a name as opencode writes it in the key of a tool.
func Sanitized(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
}

// ResourcePattern returns the pattern of Read for resources of an MCP server.
func ResourcePattern(server, uri string) string { return "mcp:" + server + ":" + uri }

// Rule is a rule of a permission.
type Rule struct {
	Key, Pattern string
	Decision     ir.Decision
	At           diag.Pos
	Form         Form
	// Tool is the name of a rule in the list of tools.
	Tool string
	// Null is set where a null takes back what a file before said.
	Null bool
	// Place is where a file before gave the rule its place among the others; zero where none did.
	Place diag.Pos
}

// Form is how a rule is written.
type Form uint8

const (
	Patterned Form = iota // the key has patterns
	Alone                 // the key has the decision in the place of patterns
	Listed                // in the list of tools, the older way to write permissions
)

// String writes a rule in one line.
func (r Rule) String() string { return Word(r.Decision) + " " + r.Text() }

// Word returns opencode's word for a decision.
func Word(d ir.Decision) string { return d.String() }

// Decision returns what a word decides.
func Decision(word string) (ir.Decision, bool) {
	for _, d := range []ir.Decision{ir.Deny, ir.Ask, ir.Allow} {
		if word == Word(d) {
			return d, true
		}
	}
	return ir.Deny, false
}

// Nulls says whether a null stands in the place of a decision.
type Nulls bool

// What opencode takes, and what takes back decisions in an agent that is made of it.
const (
	WithoutNulls Nulls = false
	WithNulls    Nulls = true
)

// rule reads a decision.
func (n Nulls) rule(v *located.Value, key, pattern string, at diag.Pos, form Form) (Rule, bool) {
	if bool(n) && v.Is(located.Null) {
		return Rule{Key: key, Pattern: pattern, At: at, Form: form, Null: true}, true
	}
	text, is := v.Str()
	d, ok := Decision(text)
	return Rule{Key: key, Pattern: pattern, Decision: d, At: at, Form: form}, is && ok
}

// ReadPermission returns the rules of a permission in their order: those of a key that is written twice stand where
// the first one stood. It fails where the agent takes no file with it.
func ReadPermission(v *located.Value, n Nulls) (rules []Rule, at diag.Pos, problem string) {
	if v == nil {
		return nil, at, ""
	}
	if !v.Is(located.Object) {
		r, ok := n.rule(v, Every, Every, v.Pos, Alone)
		switch {
		case ok:
			return []Rule{r}, at, ""
		case v.Is(located.String):
			return nil, v.Pos, "got " + v.Text + ", want allow, ask or deny"
		}
	}
	if !v.Is(located.Object) {
		return nil, v.Pos, "want allow, ask, deny, or an object"
	}
	total := 0
	for _, m := range v.Fields() {
		total += max(1, len(m.Value.Fields()))
	}
	rules = make([]Rule, 0, total)
	for _, m := range ordered(v.Fields()) {
		if r, ok := n.rule(m.Value, m.Key, Every, m.Pos, Alone); ok {
			rules = append(rules, r)
			continue
		}
		if m.Value.Is(located.String) {
			return nil, m.Value.Pos, "got " + m.Value.Text + ", want allow, ask or deny"
		}
		if !m.Value.Is(located.Object) || Bare(m.Key) {
			return nil, m.Value.Pos, m.Key + " takes allow, ask or deny"
		}
		for _, x := range ordered(m.Value.Fields()) {
			r, ok := n.rule(x.Value, m.Key, x.Key, x.Pos, Patterned)
			if !ok {
				return nil, x.Value.Pos, "want allow, ask or deny"
			}
			rules = append(rules, r)
		}
	}
	return rules, at, ""
}

// ordered returns members as JavaScript keeps them: those whose names are numbers first, each once, with the last
// value.
func ordered(members []located.Member) []located.Member {
	index, out := make(map[string]int, len(members)), make([]located.Member, 0, len(members))
	for _, numbers := range []bool{true, false} {
		for _, m := range members {
			if Number(m.Key) != numbers {
				continue
			}
			if i, twice := index[m.Key]; twice {
				out[i].Value = m.Value
				continue
			}
			index[m.Key] = len(out)
			out = append(out, m)
		}
	}
	return out
}

var number = lazy.Regexp(`\A(?:0|[1-9][0-9]{0,9})\z`)

// Number reports whether JavaScript puts a key before all others, wherever it is written.
func Number(key string) bool {
	return key != "" && '0' <= key[0] && key[0] <= '9' && number().MatchString(key)
}

// Match reports whether a pattern matches a whole text: "*" is any text, "?" any character, and " *" at the end
// nothing, too.
func Match(pattern, text string) bool { return match(pattern, valid(text)) }

// match does so with a valid text.
func match(pattern, text string) bool {
	switch {
	case pattern == Every, pattern == text:
		return true
	case pattern == "", text == "":
	case letter(pattern[0]) && pattern[0] != text[0],
		letter(pattern[len(pattern)-1]) && pattern[len(pattern)-1] != text[len(text)-1]:
		return false // most do not, and so it is seen soonest
	}
	pattern = valid(pattern)
	if strings.IndexByte(pattern, '*') < 0 && strings.IndexByte(pattern, '?') < 0 {
		return len(pattern) == len(text) && same(pattern, text)
	}
	if begin, open := strings.CutSuffix(pattern, " *"); open && wildcard(begin, text) {
		return true
	}
	return wildcard(pattern, text)
}

// letter reports whether a byte of a pattern matches itself alone.
func letter(c byte) bool { return c < utf8.RuneSelf && c != '*' && c != '?' && c != '/' && c != '\\' }

// valid returns a text with U+FFFD in the place of each byte that is of no character.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// same reports whether two texts of one length are the same, but for how slashes are written.
func same(a, b string) bool {
	for i := range len(a) {
		if slash(a[i]) != slash(b[i]) {
			return false
		}
	}
	return true
}

func slash(c byte) byte {
	if c == '\\' {
		return '/'
	}
	return c
}

func slashes(s string) string { return strings.ReplaceAll(s, `\`, "/") }

// wildcard matches from left to right, and goes back to the last "*" alone.
func wildcard(pattern, text string) bool {
	p, t, star, from := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && pattern[p] == '?':
			_, n := utf8.DecodeRuneInString(text[t:])
			p, t = p+1, t+n
		case p < len(pattern) && slash(pattern[p]) == slash(text[t]):
			p, t = p+1, t+1
		case star >= 0:
			_, n := utf8.DecodeRuneInString(text[from:])
			from += n
			if next := star + 1; next < len(pattern) && letter(pattern[next]) { // to where it goes on at all
				n := strings.IndexByte(text[from:], pattern[next])
				if n < 0 {
					return false
				}
				from += n
			}
			p, t = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// AsWritten has letters compared as they are.
func AsWritten(r rune) rune { return r }

// Language returns the texts that a pattern matches, of those that letters is about.
func Language(sp *regexlang.Space, pattern string, as func(rune) rune) (regexlang.Language, error) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	pattern, open := strings.CutSuffix(slashes(pattern), " *")
	for _, c := range pattern {
		switch c {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteByte('.')
		default:
			b.WriteString(regexp.QuoteMeta(string(as(c))))
		}
	}
	if open {
		b.WriteString("(?: .*)?")
	}
	b.WriteString(`\z`)
	return sp.GoAs(b.String(), as)
}

// Last returns the rule that decides: the last one of which key and pattern match; nil for none.
func Last(rules []Rule, key, text string) *Rule {
	key, text = valid(key), valid(text)
	for i := len(rules) - 1; i >= 0; i-- {
		if r := &rules[i]; match(r.Key, key) && match(r.Pattern, text) {
			return r
		}
	}
	return nil
}

// SourceRefs writes the references of opencode to variables ({env:X}) as the source does.
func SourceRefs(text string) string { return reference().ReplaceAllString(text, "$${$1}") }

// Refs writes the references of a source as opencode does.
func Refs(text string) string {
	return contract.ExpandRefs(text, func(name string) string { return "{env:" + name + "}" })
}

var reference = lazy.Regexp(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)
