package policy

import (
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
)

// NeedsPerson reports whether a command line does what only a person in a terminal may: it takes modec's
// hooks away (`modec off`, `modec clean --keep`) or accepts a project for its user (`--accept`), also behind
// wrappers and in scripts of other shells. It finds what a line says, and not what a program computes:
// modec itself asks for a terminal.
func NeedsPerson(line string) bool {
	text := bareWords.Replace(line)
	if !strings.Contains(text, "modec") || !slices.ContainsFunc(peoples, containedIn(text)) {
		return false
	}
	s, err := people().Subject(ir.SubjectRef{Role: "agent"})
	if err != nil {
		return true
	}
	r := s.Decide(Action{Group: ir.Command, Arg: line})
	unread := r.Decision < ir.Allow || slices.ContainsFunc(starters, containedIn(text))
	return strings.HasPrefix(r.Rule, `deny "modec `) || unread && takesAway().MatchString(text)
}

// peoples are the words of these commands.
var peoples = []string{"off", "--keep", "--accept"}

// containedIn returns whether a text contains a word.
func containedIn(text string) func(string) bool {
	return func(word string) bool { return strings.Contains(text, word) }
}

// bareWords removes what a shell takes out of a word.
var bareWords = strings.NewReplacer(`"`, "", `'`, "", `\`, "")

// starters are the words by which code that is given to an interpreter starts programs.
var starters = []string{"spawn", "system", "exec", "popen", "subprocess"}

// takesAway matches such a command in a line that no grammar reads.
var takesAway = lazy.Regexp(`\bmodec(\.exe)?[ \t]+([^\n;&|]*[ \t])?(off|--keep|--accept)\b`)

// people decides with rules that deny these commands and allow the rest.
var people = sync.OnceValue(func() *Engine {
	t := &ir.Table{Default: &ir.Default{Decision: ir.Allow}}
	for _, name := range append(slices.Clone(peoples), "--keep=*", "--accept=*") {
		for _, text := range []string{"modec " + name + " *", "modec * " + name + " *", "modec.exe " + name + " *"} {
			t.Rules = append(t.Rules, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: text}})
		}
	}
	return New(&ir.Project{Version: ir.Version, Roles: []ir.Role{{Name: "agent", Can: ir.Can{Command: t}}}})
})
