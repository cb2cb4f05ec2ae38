package resolve_test

import (
	"fmt"

	"modec.dev/modec/compiler/resolve"
	"modec.dev/modec/compiler/source"
)

// What a mode extends is united with what it says, and each rule keeps where it comes
// from.
func ExampleResolve() {
	data, err := source.ParseData("modec/a.cue", []byte(`package modec

policies: safe: can: command: deny: ["git push *"]
modes: code: {name: "Code", roleDefinition: "You write code.", extends: ["safe"], can: command: allow: ["git *"]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	project, diags := resolve.Resolve(data, nil, resolve.Settings{})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	for _, r := range project.Mode("code").Can.Command.Rules {
		fmt.Printf("%s %s %q\n", r.Decision, r.Pattern, r.From)
	}
	// Output:
	// allow "git *" ""
	// deny "git push *" "policy safe"
}
