package model

import (
	"regexp"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Alone returns a decider for each surface that decides as Cursor does by itself.
func Alone() []contract.Decider { return []contract.Decider{alone{ide}, alone{cli}} }

// alone decides for a surface without any file.
type alone struct{ surface }

func (d alone) Surface() string { return string(d.surface) }

func (d alone) Assumes() []string { return d.assumes() }

func (d alone) Decide(_ ir.SubjectRef, a policy.Action) contract.Verdict {
	answer := d.byItself(a)
	answer.Governs = contract.Both
	return contract.Verdict{Answer: answer}
}

// byItself returns what Cursor does where no list and no token says more: in the run mode
// allowlist it asks about commands and MCP tools. It reads and writes files of the workspace
// without a question, and asks about others. The CLI asks about hosts; of the IDE that is not
// known.
func (on surface) byItself(a policy.Action) contract.Answer {
	asks := false
	switch a.Group {
	case ir.Command:
		asks = true
	case ir.MCP:
		asks = a.Kind == policy.Tool
	case ir.Web:
		asks = on == cli
	case ir.Read, ir.Edit:
		asks = outside(a.Arg)
	}
	if asks {
		return contract.Answer{Decision: ir.Ask, Rule: "Cursor asks by itself"}
	}
	return contract.Answer{Decision: ir.Allow, Rule: "Cursor does this without asking"}
}

// ofWindows matches an absolute path of that system.
var ofWindows = regexp.MustCompile(`\A(?:[A-Za-z]:|\\\\)`)

// outside reports whether a path lies outside the workspace on any system, or on none.
func outside(p string) bool {
	above := strings.Contains(p, `\`) && !inside(root, absolute(strings.ReplaceAll(p, `\`, "/")))
	return above || !inside(root, absolute(p)) || ofWindows.MatchString(p) || strings.ContainsRune(p, 0)
}
