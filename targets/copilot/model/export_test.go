package model

import "modec.dev/modec/compiler/policy"

// Call is a call of a tool as Copilot is asked to make it.
type Call struct {
	Tool  string
	Input map[string]any
}

// CallOf returns the call that does an action.
func CallOf(a policy.Action) (Call, bool) {
	c, ok := callOf(a)
	return Call{c.tool, c.input}, ok
}
