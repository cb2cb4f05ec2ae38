package rule_test

import (
	"fmt"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format/rule"
)

// A rule that Claude Code would skip with a warning is an error.
func ExampleParse() {
	r, err := rule.Parse("Bash(git log *)")
	fmt.Printf("%s %q %v\n", r.Tool, r.Spec, err)
	_, err = rule.Parse("bash(ls)")
	fmt.Println(err)
	// Output:
	// Bash "git log *" <nil>
	// tool names must start with uppercase, use "Bash"
}

// An allow names its server, and only Edit rules hold for tools that edit.
func ExampleRule_Skipped() {
	for _, text := range []string{"mcp__*__list", "mcp__github__list_*", "Write(docs/**)", "Edit(docs/**)"} {
		r, err := rule.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s: skipped %v, inert %v\n", r, r.Skipped(ir.Allow) != nil, r.Inert(ir.Allow))
	}
	// Output:
	// mcp__*__list: skipped true, inert false
	// mcp__github__list_*: skipped false, inert false
	// Write(docs/**): skipped false, inert true
	// Edit(docs/**): skipped false, inert false
}
