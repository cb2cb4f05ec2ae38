package importer

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/dialect"
	"modec.dev/modec/targets/claude/format"
)

// outsidePaths is the policy of what Claude Code does by itself with paths outside.
const outsidePaths = "policy claude_outside"

// questions closes with ask what plan asks about, where a classifier may not answer instead.
func (rules *importedRules) questions(can *ir.Can, at diag.Pos) {
	if rules.mode != format.Plan || !rules.noAuto {
		return
	}
	ask := &ir.Default{Decision: ir.Ask, Pos: at}
	if can.Web == nil {
		can.Web = &ir.Table{}
	}
	if can.MCP == nil {
		can.MCP = &ir.MCPTable{}
	}
	can.Web.Default, can.MCP.Default = cmp.Or(can.Web.Default, ask), cmp.Or(can.MCP.Default, ask)
}

// answered returns what becomes of a question in a permission mode.
func answered(mode string) ir.Decision {
	if mode == format.DontAsk {
		return ir.Deny
	}
	return ir.Ask
}

// outsideCommands are the commands that are given a path outside the project.
var outsideCommands = []string{"* /*", "* ~*", "* ..", "* .. *", "* ../*", "*/..", "*/.. *", "*/../*"}

// guardCommands asks about paths outside the project, where a program is allowed whose
// paths Claude Code looks at.
func guardCommands(can *ir.Can, at diag.Pos, mode string) {
	t := can.Command
	if t == nil || !looksAtPaths(t.Rules) || slices.ContainsFunc(t.Rules, allowsEvery) {
		return
	}
	for _, p := range outsideCommands {
		t.Rules = append(t.Rules,
			ir.Rule{Decision: answered(mode), Pattern: ir.Pattern{Text: p}, Pos: at, From: outsidePaths})
	}
}

// protectedPaths is the policy of what Claude Code does by itself with paths that it protects.
const protectedPaths = "policy claude_protected"

// questionProtected asks about the paths about which Claude Code asks whatever it may edit, where all may be edited.
func questionProtected(can *ir.Can, at diag.Pos, mode string) {
	t := can.Edit
	whole := func(r ir.Rule) bool {
		return r.Decision == ir.Allow && strings.HasPrefix(strings.TrimPrefix(r.Pattern.Text, "/"), "*")
	}
	if t == nil || !slices.ContainsFunc(t.Rules, whole) {
		return
	}
	for _, p := range format.Protected {
		t.Rules = append(t.Rules,
			ir.Rule{Decision: answered(mode), Pattern: ir.Pattern{Text: p + "/"}, Pos: at, From: protectedPaths})
	}
}

// allowsEvery reports whether a rule allows every command: Claude Code looks at no path then.
func allowsEvery(r ir.Rule) bool { return r.Decision == ir.Allow && r.Pattern.Everything() }

// looksAtPaths reports whether rules allow a program whose paths Claude Code looks at, or
// any program.
func looksAtPaths(rules []ir.Rule) bool {
	return slices.ContainsFunc(rules, func(r ir.Rule) bool {
		if r.Decision != ir.Allow {
			return false
		}
		text := r.Pattern.Text
		return r.Pattern.Kind != ir.Plain || strings.HasPrefix(text, "*") || dialect.TakesPaths(text)
	})
}
