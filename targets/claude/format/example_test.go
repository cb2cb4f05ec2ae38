package format_test

import (
	"fmt"

	"modec.dev/modec/targets/claude/format"
)

// Every rule has its place, also one that Claude Code ignores.
func ExampleReadSettings() {
	s, err := format.ReadSettings(".claude/settings.json", []byte(`{"permissions": {
  "allow": ["Bash(git log *)"],
  "deny": ["Read(.env)"],
  "defaultMode": "plan"
}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range s.Rules {
		fmt.Println(r.Pos, r.List, r.Text)
	}
	fmt.Println(s.Mode.Pos, s.Mode.Text)
	// Output:
	// .claude/settings.json:3:12 deny Read(.env)
	// .claude/settings.json:2:13 allow Bash(git log *)
	// .claude/settings.json:4:18 plan
}

// Commas and blanks separate rules outside of parentheses only.
func ExampleReadFlags() {
	c, err := format.ReadFlags(
		[]string{"--allowedTools", "Bash(a b,c),Read", "--permission-mode=plan", "--strict-mcp-config"})
	fmt.Printf("%q %s %v %v\n", c.Allowed, c.Mode, c.Strict, err)
	_, err = format.ReadFlags([]string{"--settings"})
	fmt.Println(err)
	// Output:
	// ["Bash(a b,c)" "Read"] plan true <nil>
	// --settings has no value: write one behind it
}

// A list of tools limits what the subagent has. Specifiers in it have no effect.
func ExampleReadAgent() {
	text := "---\nname: docs\ntools: Read, Bash(git *)\n---\nYou write.\n"
	a, err := format.ReadAgent(".claude/agents/docs.md", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %q\n", a.Name, a.Prompt)
	for _, l := range a.ToolLists() {
		fmt.Println(l.Leaves("Bash"), l.Leaves("Edit"))
	}
	// Output:
	// docs: "You write.\n"
	// true false
}
