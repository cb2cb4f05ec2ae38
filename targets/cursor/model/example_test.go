package model_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
	"modec.dev/modec/targets/cursor/hook"
	"modec.dev/modec/targets/cursor/model"
)

// What the CLI does by the tokens of a profile, without hooks.
func ExampleOpen() {
	files := memfs.FS{"session:cursor/developer/cli.json": []byte(`{"permissions": {
		"allow": ["Shell(npm test)"],
		"deny": ["Shell(git push)"]
	}}`)}
	deciders, _ := model.Open(files, contract.Options{}, hook.Answer)
	developer := ir.SubjectRef{Role: "developer"}
	for _, line := range []string{"npm test", "npm test && make", "git push -f"} {
		v := deciders[1].Decide(developer, policy.Action{Group: ir.Command, Arg: line})
		fmt.Printf("%s: %s by %s\n", line, v.Decision, v.Rule)
	}
	// Output:
	// npm test: allow by Shell(npm test)
	// npm test && make: ask by no entry for this command
	// git push -f: deny by Shell(git push)
}

func ExampleCheckTool() {
	file := []byte(`{"approvalMode": "manual", "mcpAllowlist": ["docs:*"]}`)
	for _, mode := range []format.RunMode{"", format.UseAllowlist} {
		c, err := model.CheckTool("permissions.json", file,
			model.Asked{Server: "docs", Tool: "get", AutoRun: model.AutoRun{Mode: mode}})
		fmt.Println(c.Alone, c.Why, c.At, err)
	}
	// Output:
	// false the run mode  <nil>
	// true the allowlist permissions.json:1:45 <nil>
}

// An organisation's list stands in the place of the user's.
func ExampleAutoRun_Decide() {
	mine := model.Allowlist{{Server: "docs", Tool: "*"}}
	run := model.AutoRun{Mode: format.UseAllowlist, List: mine, Admin: &model.AdminControls{}}
	fmt.Println(run.Decide("docs", "get").Why)
	run.Admin = nil
	fmt.Println(run.Decide("docs", "get").Why)
	// Output:
	// no entry of the organisation's allowlist
	// the allowlist
}
