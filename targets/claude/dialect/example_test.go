package dialect_test

import (
	"fmt"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/dialect"
	"modec.dev/modec/targets/claude/format/rule"
)

// inventory has one server.
type inventory struct{}

func (inventory) Servers() []ir.Server                { return []ir.Server{{Name: "issue tracker"}} }
func (inventory) Mode(string) bool                    { return false }
func (inventory) UnknownServer(string, []string) bool { return false }
func (inventory) Tool(server, tool string)            {}

func translate(d ir.Decision, text string) {
	r, err := rule.Parse(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	neutral, ok := dialect.Translate(r, d, inventory{})
	if !ok {
		fmt.Println(d, r, "is Claude Code's alone")
	}
	for _, n := range neutral {
		fmt.Printf("%s %s is %s %q %s\n", d, r, n.Group, n.Server, n.Pattern)
	}
}

// The same rule means more to Claude Code in a deny than in an allow.
func ExampleTranslate() {
	translate(ir.Allow, "Edit(gen/**)")
	translate(ir.Deny, "Edit(gen/**)")
	translate(ir.Deny, "Read(~/.ssh/**)")
	// Output:
	// allow Edit(gen/**) is edit "" "gen/**"
	// deny Edit(gen/**) is edit "" "**/gen/*"
	// deny Read(~/.ssh/**) is Claude Code's alone
}

// Claude Code writes "_" for what it does not take in a server's name.
func ExampleTranslate_servers() {
	translate(ir.Allow, "mcp__issue_tracker__list_*")
	translate(ir.Allow, "mcp__elsewhere")
	// Output:
	// allow mcp__issue_tracker__list_* is mcp "issue tracker" "list_*"
	// allow mcp__elsewhere is Claude Code's alone
}
