package policy

import (
	"fmt"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
)

// toolForm is a rule in the form of an agent's own configuration: "Bash(rm:*)".
var toolForm = lazy.Regexp(`^([A-Za-z_][A-Za-z0-9_-]*)\((.*)\)$`)

// toolNames are the names that agents give to the tools of a group.
var toolNames = map[ir.Group]map[string]bool{
	ir.Read:    set("Read Glob Grep LS LSP NotebookRead read_file read_many_files list_directory glob"),
	ir.Edit:    set("Edit Write MultiEdit NotebookEdit write_file replace edit_file write_to_file apply_diff"),
	ir.Command: set("Bash Shell PowerShell Monitor run_shell_command execute_command run_terminal_cmd"),
	ir.Web:     set("WebFetch WebSearch web_fetch"),
	ir.MCP:     set("Mcp MCP"),
	ir.Modes:   set("Agent Task Skill"),
}

// ofTool returns the group of a tool that a pattern names and what stands in its parentheses.
// The group is "" for a name that is not one of a tool.
func ofTool(text string) (g ir.Group, inside string, ok bool) {
	m := toolForm().FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	for group, names := range toolNames {
		if names[m[1]] {
			return group, m[2], true
		}
	}
	return "", m[2], true
}

// notATool reports that a pattern of a group has the form of an agent's own rule, with the text
// to write instead.
func notATool(g ir.Group, text string) error {
	of, inside, ok := ofTool(strings.TrimSpace(text))
	switch {
	case !ok || of == "" && g != ir.Command:
		return nil
	case of == "" || inside == "":
		return fmt.Errorf("got %q, want a pattern without the name of a tool", text)
	case of != g:
		return fmt.Errorf("got %q, want a pattern without the name of a tool: this is one of can.%s, write %q there",
			text, of, neutral(of, inside))
	}
	return fmt.Errorf("got %q, want a pattern without the name of a tool: write %q", text, neutral(g, inside))
}

func fileGroup(g ir.Group) bool { return g == ir.Read || g == ir.Edit }

// neutral returns what stands in the parentheses of an agent's rule as the source writes it.
func neutral(g ir.Group, inside string) string {
	switch g {
	case ir.Read, ir.Edit:
		return strings.TrimPrefix(inside, "./") // it anchors nothing in Claude Code
	case ir.Web:
		return strings.TrimPrefix(inside, "domain:")
	case ir.MCP:
		return inside[strings.LastIndexByte(inside, ':')+1:]
	}
	return inside
}

var (
	// substitutes matches the beginning of what is read as one part of a command.
	substitutes = lazy.Regexp("[$<>]\\(|`|^\\[\\[|^\\(\\(")
	// withParentheses matches a word with parentheses behind its beginning.
	withParentheses = lazy.Regexp(`[^\s'"()]+[()][^\s'"]*`)
)

// CheckRestriction reports why a text is not a pattern that a deny or an ask of commands can match. It
// tries the command that the pattern itself is, with a word for each wildcard: a line is judged
// command by command, so that a pattern with "&&", "|" or ">" matches none.
func CheckRestriction(text string) error {
	if err := CheckCommand(text); err != nil {
		return err
	}
	p, err := parseCommandPattern(text)
	if err != nil || p.all {
		return err
	}
	line := sampleOf(text)
	if !substitutes().MatchString(line) {
		line = withParentheses().ReplaceAllString(line, "'$0'") // a file's name may have them
	}
	a := analyse(&atTheRoot, line)
	rule := commandRule{pattern: p}
	for i := range a.commands {
		if rule.holds(&a.commands[i]) {
			return nil
		}
	}
	if a.opaque && substitutes().MatchString(line) {
		return nil // the beginning of what is matched as it is written
	}
	return fmt.Errorf("got %q, want one command: each command of a line is judged by itself, and a redirect as a "+
		"read or an edit of its path, so that nothing matches this", text)
}

// Allowable reports whether a pattern of commands, as an entry of an allow list, allows the
// command that it is itself, with a word for each wildcard. A list allows plain lines only.
func Allowable(text string) bool {
	can := ir.Can{Command: &ir.Table{Default: &ir.Default{Decision: ir.Deny},
		Rules: []ir.Rule{{Decision: ir.Allow, Pattern: ir.Pattern{Text: text}}}}}
	s, err := New(&ir.Project{Roles: []ir.Role{{Name: "any", Can: can}}}).Subject(ir.SubjectRef{Role: "any"})
	return err == nil && s.Decide(Action{Group: ir.Command, Arg: sampleOf(text)}).Decision == ir.Allow
}

// sampleOf returns the command that a pattern is, with a word for each wildcard.
func sampleOf(text string) string {
	line := strings.TrimSpace(text)
	for _, end := range []string{":*", " *", "\t*"} {
		if body, ok := strings.CutSuffix(line, end); ok && !strings.HasSuffix(body, `\`) {
			line = body + " *"
			break
		}
	}
	return strings.NewReplacer(`\*`, `'*'`, "*", "x").Replace(line)
}
