package claude_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude"
)

// input is a project with one role, without the hook.
func input() contract.Input {
	dev := ir.Role{Name: "dev", Can: ir.Can{
		Command: &ir.Table{Default: &ir.Default{Decision: ir.Ask}, Rules: []ir.Rule{
			{Decision: ir.Deny, Pattern: ir.Pattern{Text: "git push *"}},
			{Decision: ir.Allow, Pattern: ir.Pattern{Text: "make *"}},
		}},
	}}
	p := &ir.Project{Version: ir.Version, ClosedInventory: true, Roles: []ir.Role{dev}}
	engine := policy.New(p)
	reach, err := contract.NewReach(engine)
	if err != nil {
		panic(err)
	}
	options := contract.NewOptions(claude.New().Options(), nil, nil)
	return contract.Input{Project: p, Policy: engine, Reach: reach, Options: options}
}

// A role becomes the settings of its sessions. What all roles deny is in those of the project too.
func ExampleNew() {
	files, losses := claude.New().Emit(input())
	for _, f := range files {
		fmt.Println(f.Path)
	}
	fmt.Println(len(losses), "losses")
	// Output:
	// session:claude/dev.settings.json
	// .claude/settings.json
	// 0 losses
}

// A role is flags too, where a launcher has no settings file.
func ExampleRoleFlags() {
	in := input()
	f, losses := claude.RoleFlags(in, &in.Project.Roles[0], claude.FlagOptions{})
	fmt.Println(f.PermissionMode, f.Allowed, f.Disallowed, len(losses))
	// Output:
	// default [Bash(make *)] [Bash(git push *)] 0
}
