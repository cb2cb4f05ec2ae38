package model

import (
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Call is a call of a tool as Codex is asked to make it.
type Call struct {
	Tool  string
	Input map[string]any
}

// CallOf returns the call that does an action.
func CallOf(a policy.Action) (Call, bool) {
	if a.Group == ir.Web {
		return Call{"web_search", map[string]any{}}, true
	}
	c, ok := callOf(a)
	return Call{c.tool, c.input}, ok
}
