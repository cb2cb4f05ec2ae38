package claude

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/dialect"
	"modec.dev/modec/targets/claude/format/rule"
)

// RuleLists returns the flags of Claude Code that a role may write as fields.
func (claude) RuleLists() []contract.RuleList {
	return []contract.RuleList{
		{Decision: ir.Deny, Field: "disallowedTools"},
		{Decision: ir.Ask, Field: "askTools"},
		{Decision: ir.Allow, Field: "allowedTools"},
	}
}

// BadRule returns the code of a rule that Claude Code would skip.
func (claude) BadRule() diag.Code { return codeBadRule }

// TranslateRule turns a rule into neutral ones where that means no more for an allow and no
// less for a deny or an ask.
func (claude) TranslateRule(text string, d ir.Decision, inv contract.Inventory) ([]contract.NeutralRule, bool, error) {
	r, err := rule.Parse(text)
	if err == nil {
		err = r.Skipped(d)
	}
	if err != nil {
		return nil, false, err
	}
	neutral, ok := dialect.Translate(r, d, inv)
	return neutral, ok, nil
}

// LintRules finds rules that Claude Code accepts and never matches.
func (claude) LintRules() []contract.LintRule {
	return []contract.LintRule{{
		ID: "inert-claude-rule", Severity: diag.Warning, Native: inert,
		Doc: "Claude Code accepts a rule in its own grammar and never matches it. Write(…), MultiEdit(…), " +
			"NotebookEdit(…) and Glob(…) with a path have no effect, and neither has an allow over a pattern of " +
			"servers. A path with one leading slash starts from the settings file's folder. Use Edit(…) and " +
			"Read(…), name the server, and write // for the system's root.",
		Bad: `roles: r: disallowedTools: ["Write(//etc/**)"]`, Good: `roles: r: disallowedTools: ["Edit(//etc/**)"]`,
	}}
}

// inert says why Claude Code never matches a rule.
func inert(n ir.NativeRule) (problem, hint string) {
	r, err := rule.Parse(n.Text)
	if err != nil {
		return "", "" // an error of the build
	}
	server, _, mcp := r.MCP()
	never := fmt.Sprintf("Claude Code accepts %s and never matches it", n.Text)
	switch {
	case r.HasSpec && slices.Contains([]string{"Write", "MultiEdit", "NotebookEdit"}, r.Tool):
		return never, fmt.Sprintf("Edit(%s) holds for every tool that edits", r.Spec)
	case r.HasSpec && r.Tool == "Glob":
		return never, fmt.Sprintf("Read(%s) holds for every tool that reads", r.Spec)
	case mcp && n.Decision == ir.Allow && strings.Contains(server, "*"):
		return fmt.Sprintf("Claude Code ignores the allow %s: an allow names its server", n.Text), "name the server"
	case r.HasSpec && (r.Tool == "Read" || r.Tool == "Edit") && contract.SystemPath(r.Spec):
		return fmt.Sprintf("the slash of %s starts from the folder of the settings", n.Text),
			fmt.Sprintf("%s(/%s) is the system's", r.Tool, r.Spec)
	}
	return "", ""
}
