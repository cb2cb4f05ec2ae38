package importer

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

const onlyClaude = "only Claude Code can say it"

// concerns are the groups of the tools whose rules may be kept.
var concerns = map[string]ir.Group{
	"Read": ir.Read, "Edit": ir.Edit, "Write": ir.Edit, "MultiEdit": ir.Edit,
	"WebFetch": ir.Web, "WebSearch": ir.Web, "Agent": ir.Modes, "Task": ir.Modes,
}

// beside adds for other agents what the neutral vocabulary can say of a rule that is kept
// for Claude Code, and returns what that is. A person is asked about everything that the
// rule may mean, so that no other agent does more.
func (rules *importedRules) beside(r rule.Rule, w written) string {
	if w.decision == ir.Allow {
		return onlyClaude
	}
	b := besideRule{rules, w.decision, w.at}
	g := concerns[r.Tool]
	switch {
	case r.Tool == "Read" || r.Tool == "Edit":
		switch {
		case leavesProject(r.Spec) && rules.mode == format.Bypass: // the source has to say it, too
			return b.outside(r, g)
		case leavesProject(r.Spec):
			return onlyClaude
		}
		return b.folder(r, g)
	case r.Tool == "Bash":
		return b.line(r)
	case r.Tool == "NotebookEdit":
		b.ask(ir.Edit, "**/*.ipynb")
		return "other agents ask about edits of **/*.ipynb"
	case r.Tool == "Skill":
		return onlyClaude
	case strings.HasPrefix(r.Tool, "mcp__"):
		b.add(contract.NeutralRule{Group: ir.MCP, Server: "*", Pattern: ir.Pattern{Text: "*"}}, ir.Ask)
		return "other agents ask about every tool of a server"
	case g == "":
		rules.limitUnknown(ir.Ask, w.at)
		return "other agents ask about tools that belong to no group"
	case g == ir.Edit:
		b.ask(g, "**")
	default:
		b.ask(g, "*")
	}
	return fmt.Sprintf("other agents ask about everything in can.%s", g)
}

// besideRule adds rules beside one that is kept.
type besideRule struct {
	rules    *importedRules
	decision ir.Decision // of the rule that is kept
	at       diag.Pos
}

func (b besideRule) add(n contract.NeutralRule, d ir.Decision) {
	b.rules.neutral = append(b.rules.neutral, neutralRule{n, d, b.at, b.decision})
}

func (b besideRule) ask(g ir.Group, patterns ...string) {
	for _, p := range patterns {
		b.add(contract.NeutralRule{Group: g, Pattern: ir.Pattern{Text: p}}, ir.Ask)
	}
}

func leavesProject(spec string) bool {
	return strings.HasPrefix(spec, "//") || strings.HasPrefix(spec, "~") || strings.HasPrefix(spec, "../")
}

// outside adds what a rule over paths outside the project means. What lies outside is
// never edited.
func (b besideRule) outside(r rule.Rule, g ir.Group) string {
	if r.Tool == "Read" {
		b.rules.outside = true
		if inner := strings.TrimLeft(r.Spec, "/.~"); strings.Trim(inner, "*/") == "" {
			b.ask(ir.Command, outsideCommands...)
		} else {
			b.ask(ir.Command, commandsOn("**/"+inner)...)
		}
	}
	if inner, ok := strings.CutPrefix(r.Spec, "//**/"); ok && policy.CheckGlob("**/"+inner) == nil {
		b.add(contract.NeutralRule{Group: g, Pattern: ir.Pattern{Text: "**/" + inner}}, b.decision)
		return "inside the project it holds for every agent, and outside nothing is read or edited"
	}
	return "outside the project nothing is read or edited, for every agent"
}

// line adds what a rule over command lines means: everything that begins like it. Of a line of several
// commands, where the mode asks anyway, that is nothing: an ask of one of its commands would come before
// Claude Code's own deny of the whole line.
func (b besideRule) line(r rule.Rule) string {
	if b.rules.mode != format.Bypass && strings.ContainsAny(r.Spec, "|;&\n") {
		return "only Claude Code compares a whole line"
	}
	head := strings.TrimSpace(r.Spec[:strings.IndexAny(r.Spec+"|", "|;&<>\n")])
	if strings.HasPrefix(head, "@") { // which begins the name of a list of commands here
		head = "*" + head[1:]
	}
	if !strings.HasSuffix(head, "*") {
		head += " *"
	}
	if policy.CheckHeld(head) != nil {
		head = "*"
	}
	b.ask(ir.Command, head)
	return "only Claude Code compares a whole line: other agents ask about " + head
}

// folder adds what a rule over paths means: the folder above the first character that has
// another meaning here.
func (b besideRule) folder(r rule.Rule, g ir.Group) string {
	dir := r.Spec[:strings.IndexAny(r.Spec+"{", "{}\\!#*?[ ,")]
	glob := strings.TrimPrefix(dir[:strings.LastIndexByte(dir, '/')+1], "./") + "**"
	if policy.CheckGlob(glob) != nil {
		glob = "**"
	}
	b.ask(g, glob)
	if r.Tool == "Read" {
		b.ask(ir.Command, commandsOn(glob)...)
	}
	return "other agents ask about " + glob
}

// commandsOn returns the patterns of the commands that are given a path which a glob
// matches.
func commandsOn(glob string) []string {
	return slices.DeleteFunc(contract.CommandsOn(glob), func(p string) bool { return policy.CheckHeld(p) != nil })
}
