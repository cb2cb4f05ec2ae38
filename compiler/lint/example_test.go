package lint_test

import (
	"fmt"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lint"
	"modec.dev/modec/compiler/policy"
)

// A deny that hides an allow is valid, and probably not meant.
func ExampleRun() {
	at := func(line int) diag.Pos { return diag.Pos{File: "modec/code.cue", Line: line, Col: 3} }
	project := &ir.Project{
		Version: ir.Version,
		Modes: []ir.Mode{{Slug: "code", Name: "Code", RoleDefinition: "You write code.",
			WhenToUse: "When code is written.", Pos: at(1), Can: ir.Can{Command: &ir.Table{Rules: []ir.Rule{
				{Decision: ir.Deny, Pattern: ir.Pattern{Text: "git *"}, Pos: at(2)},
				{Decision: ir.Allow, Pattern: ir.Pattern{Text: "git status"}, Pos: at(3)},
			}}}}},
	}
	for _, f := range lint.Run(lint.Request{Project: project, Policy: policy.New(project), Rules: lint.All(nil)}) {
		fmt.Println(f.Pos, f.Severity, f.Code)
	}
	// Output:
	// modec/code.cue:3:3 warning void-rule
}
