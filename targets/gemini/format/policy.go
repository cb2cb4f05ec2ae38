package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"modec.dev/modec/compiler/cache"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
)

// Rule is a rule of a policy as Gemini CLI reads it.
type Rule struct {
	Tools    []string
	Server   string // mcpName
	Subagent string
	// Args is tested on [Arguments]; nil: any.
	Args        *ecma.Regexp
	Expr        string // its text; "" for none
	Begins      string // where the expression is that of a prefix: the words
	Decision    ir.Decision
	Priority    int
	Modes       []string // approval modes; none: all
	Interactive *bool
	Redirects   bool // allowRedirection
	Annotated   bool // it holds for tools with some annotations only
	At          diag.Pos
	Text        string   // of a rule from the settings: as a [Setting] writes it
	But         []string // the servers that it is not about
}

// decisions are the words of a rule.
var decisions = map[string]ir.Decision{"allow": ir.Allow, "ask_user": ir.Ask, "deny": ir.Deny}

// Word returns the word of a decision in a rule.
func Word(d ir.Decision) string {
	for word, is := range decisions {
		if is == d {
			return word
		}
	}
	return ""
}

// modes are Gemini CLI's approval modes.
var modes = []string{"autoEdit", "default", "plan", "yolo"}

// document is a policy file.
type document struct {
	Rules []table `toml:"rule"`
}

// table is a rule as it is written. Gemini CLI ignores other keys.
type table struct {
	ToolName         any            `toml:"toolName"`
	Subagent         *string        `toml:"subagent"`
	MCPName          *string        `toml:"mcpName"`
	ArgsPattern      *string        `toml:"argsPattern"`
	CommandPrefix    any            `toml:"commandPrefix"`
	CommandRegex     *string        `toml:"commandRegex"`
	Decision         string         `toml:"decision"`
	Priority         *int           `toml:"priority"`
	Modes            []string       `toml:"modes"`
	Interactive      *bool          `toml:"interactive"`
	ToolAnnotations  map[string]any `toml:"toolAnnotations"`
	AllowRedirection *bool          `toml:"allowRedirection"`
}

// ReadPolicy reads a policy. An error is one for which Gemini CLI ignores the whole file, in silence; a
// warning is about a rule that it drops.
func ReadPolicy(file string, data []byte) ([]Rule, diag.List) {
	var diags diag.List
	fail := func(at diag.Pos, message string, args ...any) {
		diags.Errorf(BadFile, at, message, args...).
			Hint("Gemini CLI ignores the whole file, and says nothing: write the rule as it reads it").
			Target("gemini")
	}
	var doc document
	if err := toml.Unmarshal(data, &doc); err != nil {
		at := diag.Pos{File: file}
		var decode *toml.DecodeError
		if errors.As(err, &decode) {
			at.Line, at.Col = decode.Position()
		}
		fail(at, "this is no policy of Gemini CLI: %v", err)
		return nil, diags
	}
	places := placesOf(file, data)
	var out []Rule
	for i := range doc.Rules {
		at := diag.Pos{File: file}
		if i < len(places) {
			at = places[i]
		}
		rules, problem, drops := doc.Rules[i].rules(at)
		switch {
		case problem != "" && drops:
			diags.Warnf(BadRule, at, "Gemini CLI drops this rule: %s", problem).
				Hint("write the rule as it reads it").
				Target("gemini")
			continue
		case problem != "":
			fail(at, "%s", problem)
			continue
		}
		out = append(out, rules...)
	}
	if diags.HasErrors() {
		return nil, diags
	}
	return out, diags
}

// The codes of what ReadPolicy finds.
const (
	BadFile diag.Code = "bad-gemini-policy"
	BadRule diag.Code = "gemini-ignored"
)

// placesOf returns the places of the rules.
func placesOf(file string, data []byte) (places []diag.Pos) {
	var p unstable.Parser
	p.Reset(data)
	line, begin, read := 1, 0, 0 // of what is before: the parser would count from the beginning each time
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.ArrayTable {
			continue
		}
		for k := e.Key(); k.Next(); {
			at := int(k.Node().Raw.Offset)
			for i, c := range data[read:at] {
				if c == '\n' {
					line, begin = line+1, read+i+1
				}
			}
			read = at
			places = append(places, diag.Pos{File: file, Line: line, Col: at - begin + 1})
			break
		}
	}
	return places
}

// texts reads a text or a list of texts; false for anything else.
func texts(v any) ([]string, bool) {
	if text, ok := v.(string); ok {
		return []string{text}, true
	}
	return contract.Texts(v)
}

// rules returns the rules that a table is read as. A problem without drops costs the file.
func (t *table) rules(at diag.Pos) (out []Rule, problem string, drops bool) {
	r := Rule{At: at, Modes: t.Modes, Interactive: t.Interactive, Annotated: len(t.ToolAnnotations) > 0}
	tools, ok := texts(t.ToolName)
	if !ok {
		return nil, "toolName: want a text or a list of texts", false
	}
	r.Tools = tools
	if r.Decision, ok = decisions[t.Decision]; !ok {
		return nil, fmt.Sprintf("decision: got %q, want allow, deny or ask_user", t.Decision), false
	}
	if t.Priority == nil || *t.Priority < 0 || *t.Priority > 999 {
		return nil, "priority: want a whole number from 0 to 999", false
	}
	r.Priority = *t.Priority
	for _, m := range t.Modes {
		if !slices.Contains(modes, m) {
			return nil, fmt.Sprintf("modes: got %q, want default, autoEdit, yolo or plan", m), false
		}
	}
	if t.Subagent != nil {
		r.Subagent = *t.Subagent
	}
	if t.MCPName != nil {
		r.Server = *t.MCPName
	}
	r.Redirects = t.AllowRedirection != nil && *t.AllowRedirection
	exprs, begins := []string{""}, []string{""}
	switch {
	case t.CommandPrefix != nil:
		prefixes, ok := texts(t.CommandPrefix)
		if !ok {
			return nil, "commandPrefix: want a text or a list of texts", false
		}
		exprs, begins = nil, prefixes
		for _, p := range prefixes {
			exprs = append(exprs, prefixExpression(p))
		}
	case t.CommandRegex != nil:
		exprs = []string{`"command":"` + *t.CommandRegex}
	case t.ArgsPattern != nil:
		exprs = []string{*t.ArgsPattern}
	}
	for i, expr := range exprs {
		of := r
		of.Begins = begins[i]
		if of.Expr = expr; expr != "" {
			if of.Args, problem = expression(expr); problem != "" {
				return nil, fmt.Sprintf("the expression %q%s", expr, problem), true
			}
		}
		out = append(out, of)
	}
	return out, "", false
}

// expression reads the expression of a rule. A problem follows its text.
func expression(text string) (*ecma.Regexp, string) {
	if m, ok := expressions.Get(text); ok {
		return m, ""
	}
	m, err := ecma.Compile(text, ecma.Options{})
	switch {
	case err != nil:
		return nil, fmt.Sprintf(": %v", err)
	case !Safe(text):
		return nil, " is too long, or repeats what repeats"
	}
	expressions.Put(text, m)
	return m, ""
}

// expressions are those that were read last: the policies of a project have most of them in common.
var expressions = cache.New[string, *ecma.Regexp](512)

// prefixExpression is what commandPrefix becomes.
func prefixExpression(prefix string) string {
	quoted := JSONText(prefix)
	return escaped(`"command":"`+quoted) + `(?:[\s"]|\\")`
}

// escaped writes a text so that it means itself in an expression.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range text {
		if strings.ContainsRune("-[]{}()*+?.,\\^$|# \t\n\r\"", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// JSONText writes a text as JavaScript writes it into JSON, without the quotes.
func JSONText(s string) string {
	if !strings.ContainsFunc(s, escapes) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\b':
			b.WriteString(`\b`)
		case c == '\f':
			b.WriteString(`\f`)
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// escapes reports whether JSON writes a letter in another way.
func escapes(c rune) bool { return c < ' ' || c == '"' || c == '\\' || c == utf8.RuneError }

// Arguments returns the text on which the expressions of rules are tested: the arguments of a call as
// JSON, sorted, each between two NULs. name and value alternate.
func Arguments(members ...string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; i+1 < len(members); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\x00\"" + JSONText(members[i]) + `":"` + JSONText(members[i+1]) + "\"\x00")
	}
	b.WriteByte('}')
	return b.String()
}
