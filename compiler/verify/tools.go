package verify

import (
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
)

// Tools finds tools of servers that no inventory lists, and that the rules of subjects tell apart.
type Tools struct{ in *space }

// NewTools returns a Tools that remembers what it found out.
func NewTools() *Tools { return &Tools{in: newSpace(ir.MCP)} }

// On returns a tool of a server for each combination of the rules of some subjects that matches one: several
// patterns may match a tool at once, which none of them matches alone. It returns none where these are too many.
func (t *Tools) On(server string, subjects ...*policy.Subject) (list []policy.Action) {
	var parts [][]regexlang.Language
	for _, s := range subjects {
		for _, side := range s.Sides() {
			l, err := side.Languages(t.in.Space, policy.Field{Group: ir.MCP, Server: server})
			if err != nil {
				return nil
			}
			parts = append(parts, distinct(l, nil))
		}
	}
	cells, _ := t.in.Cells(t.in.within, regexlang.MostStates, parts...)
	for _, c := range cells {
		if c.Text != "" {
			list = append(list, policy.Action{Group: ir.MCP, Server: server, Arg: c.Text})
		}
	}
	return list
}
