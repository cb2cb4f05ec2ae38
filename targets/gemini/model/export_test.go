package model

import (
	"encoding/json"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// EngineCall is a call of a tool as the engine is asked about it.
type EngineCall struct {
	Tool, Server string
	Args         map[string]string
}

// Calls returns the calls that do an action.
func Calls(a policy.Action) (out []EngineCall) {
	for _, c := range calls(a) {
		e := EngineCall{c.tool, c.server, map[string]string{}}
		for i := 0; i+1 < len(c.args); i += 2 {
			e.Args[c.args[i]] = c.args[i+1]
		}
		out = append(out, e)
	}
	return out
}

// Engine returns what the engine decides about each of the calls of an action, in a session of a subject.
func Engine(of contract.Decider, ref ir.SubjectRef, a policy.Action) (out []ir.Decision) {
	d, subagent := of.(*decider), ""
	if ref.Role != "" {
		ref, subagent = ir.SubjectRef{Role: ref.Role}, ref.Mode
	}
	for _, c := range calls(a) {
		of := d.other
		if own := d.setups[ref]; own != nil {
			of = own[0]
		}
		out = append(out, of.as(subagent).check(c).decision)
	}
	return out
}

// MarshalJSON writes a call as the end-to-end tests hand it to the engine.
func (c EngineCall) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{c.Tool, c.Server, c.Args})
}
