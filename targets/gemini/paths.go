package gemini

import (
	"errors"
	"fmt"
	"strings"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
)

const pathTold = "give the file's path relative to the project: it is compared with a list"

var (
	readPaths = grammar{group: ir.Read, tools: []string{format.ReadFile}, argument: format.FilePath, told: pathTold,
		list: listPath}
	editPaths = grammar{group: ir.Edit, tools: format.Edits, argument: format.FilePath, told: pathTold, list: listPath}
)

// anyText is any text of a value in JSON that has no escape.
const anyText = `[^"\x00]*`

// listPath adds a rule about paths.
func listPath(_ *policy.Subject, s *side, r ir.Rule) error {
	if r.Pattern.Kind == ir.Regex {
		return listRegex(s, r)
	}
	whole, err := globs(r.Pattern.Text, ir.Allow)
	if err != nil {
		return err
	}
	if r.Decision == ir.Allow {
		s.allow = append(s.allow, whole...)
		return nil
	}
	begins, err := globs(r.Pattern.Text, r.Decision)
	if err != nil {
		return err
	}
	if r.Decision == ir.Deny {
		s.deny = append(s.deny, begins...)
		return nil
	}
	s.hold, s.ask = append(s.hold, begins...), append(s.ask, whole...)
	return nil
}

// globs writes a glob as expressions. What holds back matches up to the end of a name.
func globs(text string, d ir.Decision) (out []string, err error) {
	list, err := policy.ECMAScript(text, d)
	if err != nil {
		return nil, err
	}
	for _, x := range list {
		var b strings.Builder
		if x.Anywhere {
			b.WriteString(anyFolder)
		}
		for _, p := range x.Parts {
			part, err := pathPart(p)
			if err != nil {
				return nil, err
			}
			b.WriteString(part)
		}
		if d != ir.Allow {
			b.WriteString(nameEnd)
		}
		out = append(out, b.String())
	}
	return out, nil
}

// pathPart writes a part of an expression so that it stays in the value, and repeats no group.
func pathPart(p string) (string, error) {
	switch p {
	case ".*":
		return anyText, nil
	case ".+":
		return `[^"\x00]+`, nil
	case "[^/]*":
		return `[^/"\x00]*`, nil
	case "[^/]+":
		return `[^/"\x00]+`, nil
	case "(/.*)?":
		return "(?:/" + anyText + "|)", nil
	case "(.*/)?":
		return "(?:" + anyText + "/|)", nil
	case "/":
		return "/", nil
	}
	switch runes := []rune(p); {
	case strings.HasPrefix(p, "["):
		if negated, ok := strings.CutPrefix(p, "[^"); ok {
			return `[^"\x00` + negated, nil
		}
		return p, nil
	case len(runes) == 1 || len(runes) == 2 && runes[0] == '\\':
		return jsonSafe(p)
	}
	return "", fmt.Errorf("got %q in a glob", p)
}

// jsonSafe refuses what JSON escapes, and hides what an expression could take for a repetition.
func jsonSafe(p string) (string, error) {
	switch c := p[len(p)-1]; {
	case c == '"', c == '\\':
		return "", errors.New("a quote or a backslash in a path")
	case strings.IndexByte("(){}*+?", c) >= 0:
		return fmt.Sprintf(`\x%02X`, c), nil
	}
	return p, nil
}

// listRegex adds a rule whose pattern is an expression.
func listRegex(s *side, r ir.Rule) error {
	expr, err := inValue(r.Pattern.Text)
	if err != nil {
		return err
	}
	switch r.Decision {
	case ir.Allow:
		s.allow = append(s.allow, expr.whole())
	case ir.Ask:
		s.hold, s.ask = append(s.hold, expr.begins()), append(s.ask, expr.whole())
	default:
		s.deny = append(s.deny, expr.begins())
	}
	return nil
}

// valueRegex is an expression that stays in a value.
type valueRegex struct {
	text       string
	start, end bool // it is tied to where the value begins, and ends
}

func (v *valueRegex) begins() string {
	out := "(?:" + v.text + ")"
	if !v.start {
		out = anyText + out
	}
	if v.end {
		out += `"`
	}
	return out
}

// whole matches up to the end of the value.
func (v *valueRegex) whole() string {
	out := "(?:" + v.text + ")"
	if !v.start {
		out = anyText + out
	}
	if !v.end {
		out += anyText
	}
	return out
}

// inValue rewrites an expression over paths. It fails on what could match beyond the value's end.
func inValue(text string) (v valueRegex, err error) {
	if _, err := ecma.Parse(text); err != nil {
		return v, err
	}
	text, v.start = strings.CutPrefix(text, "^")
	if !strings.HasSuffix(text, `\$`) {
		text, v.end = strings.CutSuffix(text, "$")
	}
	var b strings.Builder
	class, depth := false, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\':
			i++
			if i >= len(text) || strings.IndexByte(`SWDbBkpPcux123456789"\`, text[i]) >= 0 {
				return v, errors.New("an escape that could match beyond the path")
			}
			b.WriteString(text[i-1 : i+1])
			continue
		case class && c == ']':
			class = false
		case class, c > 0x7e, c == '"':
			if c > 0x7e || c == '"' {
				return v, errors.New("a quote, or letters of other scripts")
			}
		case c == '[':
			if class = true; strings.HasPrefix(text[i:], "[^") {
				b.WriteString(`[^"\x00`)
				i++
				continue
			}
		case c == '.':
			b.WriteString(`[^"\x00]`)
			continue
		case c == '^', c == '$':
			return v, errors.New("an assertion inside")
		case c == '(':
			if depth++; strings.HasPrefix(text[i:], "(?") && !strings.HasPrefix(text[i:], "(?:") {
				return v, errors.New("a look-around")
			}
		case c == ')':
			depth--
		case c == '|' && depth == 0 && (v.start || v.end):
			return v, errors.New("alternatives outside of a group")
		}
		b.WriteByte(c)
	}
	v.text = b.String()
	if !format.Safe(v.begins() + format.End) {
		return v, errors.New("it repeats what repeats")
	}
	return v, nil
}
