package lastmatch

import (
	"errors"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// plainWords matches words that every reader takes as they stand.
var plainWords = lazy.Regexp(`\A[\w./,:+@%=*-]+( [\w./,:+@%=*-]+)*\z`)

// listCommand adds a rule about commands.
func listCommand(w *writer, _ *policy.Subject, s *side, r ir.Rule) error {
	if r.Pattern.Kind == ir.Builtin {
		if r.Decision < ir.Allow {
			return errors.New("a set of commands")
		}
		for _, line := range w.subject.UsualLines() {
			s.allow = append(s.allow, part{patterns: []string{line}, exact: true})
		}
		return errSet
	}
	text := strings.Join(strings.Fields(r.Pattern.Text), " ")
	pattern, unopened := commandPattern(text)
	p := part{patterns: []string{pattern}, exact: plainWords().MatchString(text)}
	if bare := unquoted.Replace(text); r.Decision < ir.Allow && bare != text {
		pattern, _ = commandPattern(bare)
		p.patterns = append(p.patterns, pattern)
	}
	switch {
	case r.Decision == ir.Deny:
		s.deny = append(s.deny, p.patterns...)
	case r.Decision == ir.Ask:
		s.ask = append(s.ask, held{hold: p})
	case unopened == nil:
		s.allow = append(s.allow, p)
	default:
		return unopened
	}
	return nil
}

// unquoted removes what a shell takes out of words.
var unquoted = strings.NewReplacer(`'`, "", `"`, "", `\*`, "?", `\`, "")

// errSet is about a built-in set, of which a list has only some lines.
var errSet = errors.New("a set of commands has options that no pattern checks")

// commandPattern writes a pattern of commands; it fails where it should not open what it matches.
func commandPattern(text string) (pattern string, unopened error) {
	program, _, _ := strings.Cut(text, " ")
	switch {
	case !plainWords().MatchString(text) || format.Number(text):
		unopened = errors.New("it has quotes or other signs")
	case policy.Runs(program) || policy.Feeds(program) || slices.Contains(policy.Changers(), program) ||
		strings.ContainsAny(program, "*~="):
		unopened = errors.New("the program runs what its arguments say")
	}
	if words, ok := strings.CutSuffix(text, ":*"); ok {
		text = words + " *"
	}
	if misread(text) && !strings.HasSuffix(text, " *") {
		text = hidden(text)
	}
	return text, unopened
}

// commands compiles the group command.
func (w *writer) commands() {
	sides, ok := w.sides(&commandLines)
	if !ok {
		w.key(format.Bash, ir.Deny, nil)
		return
	}
	list, base := w.entries(sides, w.rest(ir.Command, sides))
	w.key(format.Bash, base, list)
}
