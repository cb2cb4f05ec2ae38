package gemini

import (
	"errors"
	"fmt"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
)

// commandLines are compared as they are written. Gemini CLI splits a line, and decides each command of it by the same
// rules: a pattern finds what a command begins with, and goes on to the end of the line.
var commandLines = grammar{group: ir.Command, tools: []string{format.Shell}, argument: format.CommandArg,
	told: "run one of the commands that are listed"}

// listCommand adds a rule about commands.
func (w *writer) listCommand(_ *policy.Subject, of *side, r ir.Rule) error {
	if r.Pattern.Kind == ir.Builtin {
		if r.Decision < ir.Allow {
			return errors.New("a set of commands")
		}
		for _, line := range w.subject.UsualLines() {
			of.allow = append(of.allow, commandText(line, anyOf)+exact)
		}
		return errSet
	}
	text := strings.Join(strings.Fields(r.Pattern.Text), " ")
	of.command(text, r.Decision)
	if bare := unquoted.Replace(text); r.Decision < ir.Allow && bare != text {
		of.command(bare, r.Decision)
	}
	return nil
}

// unquoted removes what a shell takes out of words.
var unquoted = strings.NewReplacer(`'`, "", `"`, "", `\*`, `\*`, `\`, "")

// command adds a pattern of commands.
func (of *side) command(text string, d ir.Decision) {
	end := exact
	for _, more := range []string{" *", ":*"} {
		if words, ok := strings.CutSuffix(text, more); ok {
			text, end = words, open
			break
		}
	}
	held := commandText(text, anyOfHeld)
	switch anything, more := strings.CutSuffix(text, "*"); {
	case end == open:
		held += openHeld
	case more && !strings.HasSuffix(anything, `\`):
		held = commandText(anything, anyOfHeld)
	default:
		held += exactHeld
	}
	switch d {
	case ir.Deny:
		of.deny = append(of.deny, held)
	case ir.Ask:
		of.hold, of.ask = append(of.hold, held), append(of.ask, commandText(text, anyOf)+end)
	default:
		of.allow = append(of.allow, commandText(text, anyOf)+end)
	}
}

// errSet is about a built-in set, of which a list has only some lines.
var errSet = errors.New("a set of commands has options that no expression checks")

// What may stand behind the words of a pattern: nothing, or another command; or also any words. What is held back is
// compared no further.
const (
	exactHeld = ` *(?:["&;|]|\\n)`
	openHeld  = `[ "&;|\\]`

	exact = `(?:| *(?:[;&|]|\\n)[^\x00]*)`
	open  = `(?:|(?:[ ;&|]|\\n)[^\x00]*)`
)

// What "*" stands for, of one command: where it permits, nothing in quotes.
const (
	anyOfHeld = `[^;&|\x00]*`
	anyOf     = `[^"\\;&|\x00]*`
)

// commandText writes words as an expression over a text of JSON.
func commandText(text, star string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '*':
			b.WriteString(star)
		case c == '\\' && i+1 < len(text) && text[i+1] == '*':
			b.WriteString(`\x2A`)
			i++
		case c == '"':
			b.WriteString(`\\"`)
		case c == '\\':
			b.WriteString(`\\\\`)
		case strings.IndexByte("(){}+?[]^$|", c) >= 0:
			fmt.Fprintf(&b, `\x%02X`, c)
		case c == '.':
			b.WriteString(`\.`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
