package policy

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/ir"
)

// ForPeople reports whether a command line takes modec's hooks away, as only a person in a terminal
// may: `modec off` and `modec eject`, also behind wrappers and in scripts of other shells. It finds
// what a line says, and not what a program computes: modec itself asks for a terminal.
func ForPeople(line string) bool {
	text := bareWords.Replace(line)
	if !strings.Contains(text, "modec") || !strings.Contains(text, "off") && !strings.Contains(text, "eject") {
		return false
	}
	s, err := people().Subject(ir.SubjectRef{Role: "agent"})
	if err != nil {
		return true
	}
	r := s.Decide(Action{Group: ir.Command, Arg: line})
	starts := func(word string) bool { return strings.Contains(text, word) }
	unread := r.Decision < ir.Allow || slices.ContainsFunc(starters, starts)
	return strings.HasPrefix(r.Rule, `deny "modec `) || unread && takesAway().MatchString(text)
}

// bareWords removes what a shell takes out of a word.
var bareWords = strings.NewReplacer(`"`, "", `'`, "", `\`, "")

// starters are the words by which code that is given to an interpreter starts programs.
var starters = []string{"spawn", "system", "exec", "popen", "subprocess"}

// takesAway matches such a command in a line that no grammar reads.
var takesAway = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bmodec(\.exe)?[ \t]+([^\n;&|]*[ \t])?(off|eject)\b`)
})

// people decides with rules that deny these commands and allow the rest.
var people = sync.OnceValue(func() *Engine {
	t := &ir.Table{Default: &ir.Default{Decision: ir.Allow}}
	for _, name := range []string{"off", "eject"} {
		for _, text := range []string{"modec " + name + " *", "modec * " + name + " *", "modec.exe " + name + " *"} {
			t.Rules = append(t.Rules, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: text}})
		}
	}
	return New(&ir.Project{Version: ir.Version, Roles: []ir.Role{{Name: "agent", Can: ir.Can{Command: t}}}})
})
