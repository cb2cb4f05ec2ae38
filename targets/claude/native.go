package claude

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/dialect"
	"modec.dev/modec/targets/claude/rule"
)

// RuleLists returns the flags of Claude Code that a role may write as fields.
func (claude) RuleLists() []contract.RuleList {
	return []contract.RuleList{{Field: "disallowedTools", Decision: ir.Deny}, {Field: "askTools", Decision: ir.Ask}, {Field: "allowedTools", Decision: ir.Allow}}
}

// BadRule is the code of a rule that Claude Code would skip.
func (claude) BadRule() diag.Code { return codeBadRule }

// TranslateRule turns a rule into neutral ones where that means no more for an allow
// and no less for a deny or an ask.
func (claude) TranslateRule(text string, d ir.Decision, inv contract.Inventory) ([]contract.NeutralRule, bool, error) {
	r, err := rule.Parse(text)
	if err != nil {
		return nil, false, err
	}
	if d == ir.Allow && strings.Contains(r.Tool, "*") && !namesServer(r) {
		return nil, false, errors.New("Claude Code does not support a wildcard tool name in allow rules")
	}
	neutral, ok := dialect.Translate(r, d, inv)
	return neutral, ok, nil
}

// namesServer reports whether a glob stands only after a literal server.
func namesServer(r rule.Rule) bool {
	server, _, ok := r.MCP()
	return ok && !strings.Contains(server, "*")
}

// LintRules finds rules that Claude Code accepts and never matches.
func (claude) LintRules() []contract.LintRule {
	return []contract.LintRule{{
		ID: "inert-claude-rule", Severity: diag.Warning, Native: inert,
		Doc: "A rule in Claude Code's own grammar that Claude Code accepts and never matches: Write(…), MultiEdit(…), NotebookEdit(…) and Glob(…) with a path hold nothing, an allow over a pattern of servers neither, and a path with one leading slash starts from the settings file's folder. Use Edit(…) and Read(…), name the server, and write // for the system's root.",
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
	switch {
	case r.HasSpec && slices.Contains([]string{"Write", "MultiEdit", "NotebookEdit"}, r.Tool):
		return fmt.Sprintf("got %s, which Claude Code accepts and never matches", n.Text), fmt.Sprintf("Edit(%s) holds for every tool that edits", r.Spec)
	case r.HasSpec && r.Tool == "Glob":
		return fmt.Sprintf("got %s, which Claude Code accepts and never matches", n.Text), fmt.Sprintf("Read(%s) holds for every tool that reads", r.Spec)
	case mcp && n.Decision == ir.Allow && strings.Contains(server, "*"):
		return fmt.Sprintf("got allow %s, which Claude Code ignores: an allow names its server", n.Text), "name the server"
	case r.HasSpec && (r.Tool == "Read" || r.Tool == "Edit") && contract.SystemPath(r.Spec):
		return fmt.Sprintf("got %s, whose slash starts from the folder of the settings", n.Text), fmt.Sprintf("%s(/%s) is the system's", r.Tool, r.Spec)
	}
	return "", ""
}
