package kilo

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/internal/lastmatch"
)

var _ contract.Restating = kilo{}

// RuleLists returns the lists of rules in Kilo's own words.
func (kilo) RuleLists() []contract.RuleList { return lastmatch.RuleLists() }

// BadRule returns the code of a text that is no rule of a permission.
func (kilo) BadRule() diag.Code { return codeBadRule }

// TranslateRule keeps every text as it is.
func (kilo) TranslateRule(
	text string, d ir.Decision, _ contract.Inventory,
) ([]contract.NeutralRule, bool, error) {
	return agent.TranslateRule(text, d)
}

// Restate says in can what a rule about a command or a path says.
func (kilo) Restate(text string, d ir.Decision) (contract.NeutralRule, bool) {
	return agent.Restate(text, d)
}
