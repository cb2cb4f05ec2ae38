package opencode

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/opencode/format"
)

var _ contract.Dialect = opencode{}

// RuleLists returns the lists of rules in opencode's own words. They decide what can leaves to opencode.
func (opencode) RuleLists() []contract.RuleList {
	return []contract.RuleList{
		{Field: "deny", Decision: ir.Deny, Modes: ofModes},
		{Field: "ask", Decision: ir.Ask, Modes: ofModes},
		{Field: "allow", Decision: ir.Allow, Modes: ofModes},
	}
}

// ofModes says that modes have such lists too.
const ofModes = true

// BadRule returns the code of a text that is no rule of a permission.
func (opencode) BadRule() diag.Code { return codeBadRule }

// TranslateRule keeps every text as it is: what the source can say stands in can.
func (opencode) TranslateRule(
	text string, d ir.Decision, _ contract.Inventory,
) ([]contract.NeutralRule, bool, error) {
	if _, err := format.ParseRule(text, d); err != nil {
		return nil, false, fmt.Errorf("no permission of opencode says so: %w", err)
	}
	return nil, false, nil
}

// alike reports whether an entry of the file that every session reads says what the emitted one does.
func alike(place string, have, emitted []byte) bool {
	is, err := located.JSON("", have)
	want, wrong := located.JSON("", emitted)
	if err != nil || wrong != nil {
		return false
	}
	if place == "/permission" {
		return samePermission(is, want)
	}
	for _, m := range append(slices.Clone(is.Fields()), want.Fields()...) {
		a, b := is.Get(m.Key), want.Get(m.Key)
		switch {
		case m.Key == "permission" && strings.HasPrefix(place, "/agent/"):
			if !samePermission(a, b) {
				return false
			}
		case !reflect.DeepEqual(a.Any(), b.Any()):
			return false
		}
	}
	return len(is.Fields()) > 0 || reflect.DeepEqual(is.Any(), want.Any())
}

// samePermission reports whether two permissions have the same rules, in orders that decide alike.
func samePermission(a, b *located.Value) bool {
	x, _, problem := format.ReadPermission(a, format.WithoutNulls)
	y, _, wrong := format.ReadPermission(b, format.WithoutNulls)
	return problem == "" && wrong == "" && format.Alike(x, y)
}
