package importer

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
)

// What Claude Code does by itself and a role of the source would not, as policies.
const (
	protectedPaths = "policy claude_protected"
	outsidePaths   = "policy claude_outside"
)

// habits writes down what Claude Code does by itself. It asks before it starts a subagent,
// about its own and other programs' settings at any depth, and about the paths outside the
// project of a command that it knows, whatever a rule allows.
func habits(role *ir.Role) {
	mode := cmp.Or(role.PermissionMode, format.Default)
	switch mode {
	case format.Bypass:
		return
	case format.DontAsk:
		role.Can.OutsideRead = &ir.Default{Decision: ir.Deny, Pos: role.Pos}
	}
	if role.Can.Modes == nil {
		unsaid := policy.PermissionModeDefault(mode, ir.Modes)
		role.Can.Modes = &ir.Table{Default: &ir.Default{Decision: unsaid, Pos: role.Pos}}
	}
	if role.Can.Edit == nil {
		if unsaid := policy.PermissionModeDefault(mode, ir.Edit); unsaid == ir.Allow {
			role.Can.Edit = &ir.Table{Default: &ir.Default{Decision: unsaid, Pos: role.Pos}}
		}
	}
	guardEdits(&role.Can, role.Pos, mode)
	guardCommands(&role.Can, role.Pos, mode)
}

// answered returns what becomes of a question in a permission mode.
func answered(mode string) ir.Decision {
	if mode == format.DontAsk {
		return ir.Deny
	}
	return ir.Ask
}

// protected are the paths about which Claude Code asks at any depth.
var protected = []string{".git", ".vscode", ".claude", ".mcp.json"}

// guardEdits asks about the protected paths, where edits may go through without a question.
func guardEdits(can *ir.Can, at diag.Pos, mode string) {
	t := can.Edit
	if t == nil {
		return
	}
	allows := slices.ContainsFunc(t.Rules, func(r ir.Rule) bool { return r.Decision == ir.Allow })
	if !allowsAll(t) && !allows {
		return
	}
	for _, glob := range protected {
		t.Rules = append(t.Rules,
			ir.Rule{Decision: answered(mode), Pattern: ir.Pattern{Text: glob}, Pos: at, From: protectedPaths})
	}
}

// outsideCommands are the commands that are given a path outside the project.
var outsideCommands = []string{"* /*", "* ~*", "* ..", "* .. *", "* ../*", "*/..", "*/.. *", "*/../*"}

// guardCommands asks about paths outside the project, where a program is allowed whose
// paths Claude Code looks at.
func guardCommands(can *ir.Can, at diag.Pos, mode string) {
	t := can.Command
	if t == nil || !looksAtPaths(t.Rules) {
		return
	}
	for _, p := range outsideCommands {
		t.Rules = append(t.Rules,
			ir.Rule{Decision: answered(mode), Pattern: ir.Pattern{Text: p}, Pos: at, From: outsidePaths})
	}
}

// pathPrograms are those whose paths Claude Code looks at, as observed on 2.1.329.
var pathPrograms = strings.Fields("arch base64 cal cat cd cmp column comm cp cut df diff expand fd file find fmt " +
	"fold free grep groups head hexdump history hostname jq locale ls lsof md5sum mkdir mv netstat nl node nproc " +
	"od paste pgrep pwd python python3 rev rg rm rmdir sed sha1sum sha256sum sort ss stat strings tac tail touch " +
	"tput tsort uname uniq uptime wc whoami")

// looksAtPaths reports whether rules allow a program whose paths Claude Code looks at, or
// any program.
func looksAtPaths(rules []ir.Rule) bool {
	return slices.ContainsFunc(rules, func(r ir.Rule) bool {
		if r.Decision != ir.Allow {
			return false
		}
		words := strings.FieldsFunc(r.Pattern.Text, func(c rune) bool { return c == ' ' || c == ':' })
		if r.Pattern.Kind != ir.Plain || len(words) == 0 || words[0] == "*" {
			return true
		}
		return slices.Contains(pathPrograms, words[0])
	})
}
