package contract

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// LosesTimes reports the allows with times of a subject that nothing of a target opens, for a target without hooks:
// those of the groups in which that is a loss.
func LosesTimes(diags *diag.List, target, subject string, can *ir.Can, lost func(ir.Group) bool) {
	for _, r := range can.Timed() {
		if !lost(r.Group) {
			continue
		}
		diags.Warnf(diag.TimesShut, r.Pos,
			"allow %s permits nothing at its times: only a hook could, and the agent has none", r.Pattern).
			Hint("allow it at any time, or not").
			Target(target).
			Subject(subject).
			Loses(diag.Narrowing, string(r.Group))
	}
}
