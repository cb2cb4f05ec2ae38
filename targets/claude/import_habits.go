package claude

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// What Claude Code does by itself and a role of the source would not, as policies.
const (
	protectedPaths = "policy claude_protected"
	outsidePaths   = "policy claude_outside"
)

// habits writes down what Claude Code does by itself: it asks before it starts a
// subagent, about its own and other programs' settings at any depth, and about the
// paths outside the project of a command that it knows, whatever a rule allows.
func habits(role *ir.Role) {
	if role.PermissionMode == "bypassPermissions" {
		return
	}
	mode := role.PermissionMode
	if mode == "" {
		mode = "default"
	}
	if mode == "dontAsk" {
		role.Can.OutsideRead = &ir.Default{Decision: ir.Deny, Pos: role.Pos}
	}
	if role.Can.Modes == nil {
		role.Can.Modes = &ir.Table{Default: &ir.Default{Decision: policy.PermissionModeDefault(mode, ir.Modes), Pos: role.Pos}}
	}
	guardEdits(&role.Can, role.Pos, policy.PermissionModeDefault(mode, ir.Edit), mode)
	guardCommands(&role.Can, role.Pos, mode)
}

// answered is what becomes of a question in a permission mode.
func answered(mode string) ir.Decision {
	if mode == "dontAsk" {
		return ir.Deny
	}
	return ir.Ask
}

// guardEdits asks about the paths that are protected at any depth, where edits may
// go through without a question.
func guardEdits(can *ir.Can, at diag.Pos, unsaid ir.Decision, mode string) {
	t := can.Edit
	if t == nil {
		if unsaid < ir.Allow {
			return
		}
		t = &ir.Table{Default: &ir.Default{Decision: unsaid, Pos: at}}
		can.Edit = t
	}
	if (t.Default == nil || t.Default.Decision < ir.Allow) && !allows(t.Rules) {
		return
	}
	for _, glob := range []string{".git", ".vscode", ".claude", ".mcp.json"} {
		t.Rules = append(t.Rules, ir.Rule{Decision: answered(mode), Pattern: ir.Pattern{Text: glob}, Pos: at, From: protectedPaths})
	}
}

func allows(rules []ir.Rule) bool {
	return slices.ContainsFunc(rules, func(r ir.Rule) bool { return r.Decision == ir.Allow })
}

// outsideCommands are the commands that are given a path outside the project.
var outsideCommands = []string{"* /*", "* ~*", "* ..", "* .. *", "* ../*", "*/..", "*/.. *", "*/../*"}

// guardCommands asks about paths outside the project, where a program is allowed
// whose paths Claude Code looks at.
func guardCommands(can *ir.Can, at diag.Pos, mode string) {
	t := can.Command
	if t == nil || !reads(t.Rules) {
		return
	}
	for _, p := range outsideCommands {
		t.Rules = append(t.Rules, ir.Rule{Decision: answered(mode), Pattern: ir.Pattern{Text: p}, Pos: at, From: outsidePaths})
	}
}

// reads reports whether a program is allowed whose paths Claude Code looks at, or
// any program is.
func reads(rules []ir.Rule) bool {
	return slices.ContainsFunc(rules, func(r ir.Rule) bool {
		if r.Decision != ir.Allow {
			return false
		}
		words := strings.FieldsFunc(r.Pattern.Text, func(c rune) bool { return c == ' ' || c == ':' })
		if r.Pattern.Kind != ir.Plain || len(words) == 0 || words[0] == "*" {
			return true
		}
		c := newLine(words[0] + " x").simple
		return len(c) == 1 && (c[0].readsPaths() || c[0].edits())
	})
}
