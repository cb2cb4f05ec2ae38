package opencode

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/internal/lastmatch"
)

var _ contract.Restating = opencode{}

// RuleLists returns the lists of rules in opencode's own words.
func (opencode) RuleLists() []contract.RuleList { return lastmatch.RuleLists() }

// BadRule returns the code of a text that is no rule of a permission.
func (opencode) BadRule() diag.Code { return codeBadRule }

// TranslateRule keeps every text as it is.
func (opencode) TranslateRule(
	text string, d ir.Decision, _ contract.Inventory,
) ([]contract.NeutralRule, bool, error) {
	return agent.TranslateRule(text, d)
}

// Restate says in can what a rule about a command or a path says.
func (opencode) Restate(text string, d ir.Decision) (contract.NeutralRule, bool) {
	return agent.Restate(text, d)
}
