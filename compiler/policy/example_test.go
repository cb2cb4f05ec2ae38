package policy_test

import (
	"fmt"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

func ExampleSubject_Decide() {
	at := func(line int) diag.Pos { return diag.Pos{File: "modec/developer.cue", Line: line, Col: 3} }
	project := &ir.Project{Roles: []ir.Role{{Name: "developer", Can: ir.Can{Command: &ir.Table{
		Default: &ir.Default{Decision: ir.Ask, Pos: at(2)},
		Rules: []ir.Rule{
			{Decision: ir.Allow, Pattern: ir.Pattern{Text: "git *"}, Pos: at(3)},
			{Decision: ir.Deny, Pattern: ir.Pattern{Text: "git push *"}, Pos: at(4)},
		},
	}}}}}
	developer, err := policy.New(project).Subject(ir.SubjectRef{Role: "developer"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range []string{"git status", "git status && git push", "make test"} {
		r := developer.Decide(policy.Action{Group: ir.Command, Arg: line})
		fmt.Printf("%s: %s, %s at %s\n", line, r.Decision, r.Rule, r.Pos)
	}
	// Output:
	// git status: allow, allow "git *" at modec/developer.cue:3:3
	// git status && git push: deny, deny "git push *" at modec/developer.cue:4:3
	// make test: ask, default of command at modec/developer.cue:2:3
}

// A person has every role whose claims fit, and the highest of their decisions.
func ExampleEngine_Person() {
	read := ir.Can{Read: &ir.Table{Default: &ir.Default{Decision: ir.Allow}}}
	engine := policy.New(&ir.Project{Roles: []ir.Role{
		{Name: "guest", Claims: map[string][]string{"groups": {"guest"}}},
		{Name: "reviewer", Can: read, Claims: map[string][]string{"groups": {"lead", "review"}}},
	}})
	person := map[string][]string{"groups": {"review", "staff"}}
	r, roles, err := engine.Person(person, policy.Action{Group: ir.Read, Arg: "a.go"})
	fmt.Println(r.Decision, roles, err)
	// Output:
	// allow [reviewer] <nil>
}

func ExampleCheckGlob() {
	fmt.Println(policy.CheckGlob("docs/**/*.md"))
	fmt.Println(policy.CheckGlob("!docs/**") != nil)
	// Output:
	// <nil>
	// true
}
