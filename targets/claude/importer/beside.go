package importer

import (
	"cmp"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

const onlyClaude = "only Claude Code can say it"

// concerns are the groups of the tools that do what other agents do, beside those of SharedGroup.
var concerns = map[string]ir.Group{
	"WebFetch": ir.Web, "WebSearch": ir.Web, "Agent": ir.Modes, "Task": ir.Modes,
}

// groupOf returns the group of the tool that a rule is about, "" for a tool of Claude Code's own and for
// one of a server.
func groupOf(r rule.Rule) ir.Group { return cmp.Or(concerns[r.Tool], format.SharedGroup(r.Tool)) }

// concernsOthers reports whether a deny or an ask that is kept for Claude Code holds back what other
// agents may do without it. They have no skills and no tools of Claude Code's own, they ask about what
// lies outside the project, and about a command of a whole line as about the command alone.
func concernsOthers(r rule.Rule, mode string) bool {
	switch g := groupOf(r); {
	case strings.HasPrefix(r.Tool, "mcp__"), strings.Contains(r.Tool, "*"):
		return true
	case g == "":
		return false
	case mode == format.Bypass:
		return true
	case r.Tool == "Read" || r.Tool == "Edit":
		return !r.HasSpec || !leavesProject(r.Spec)
	case r.Tool == "Bash":
		return !strings.ContainsAny(r.Spec, "|;&\n")
	}
	return true
}

func leavesProject(spec string) bool {
	return strings.HasPrefix(spec, "//") || strings.HasPrefix(spec, "~") || strings.HasPrefix(spec, "../")
}
