package model

import (
	"encoding/json"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// Call is a call of a tool as the program gets it.
type Call struct {
	Tool  string
	Input map[string]any
}

// MarshalJSON writes a call as the end-to-end tests hand it to the program.
func (c Call) MarshalJSON() ([]byte, error) { return json.Marshal([]any{c.Tool, c.Input}) }

// CallOf returns the call that does an action.
func CallOf(a policy.Action) Call {
	switch a.Group {
	case ir.Read:
		return Call{"read", map[string]any{"filePath": "$DIR/" + a.Arg}}
	case ir.Edit:
		return Call{"write", map[string]any{"filePath": "$DIR/" + a.Arg, "content": "x"}}
	case ir.Command:
		return Call{"bash", map[string]any{"command": a.Arg, "description": "x"}}
	case ir.Web:
		return Call{"webfetch", map[string]any{"url": "https://" + a.Arg + "/", "format": "text"}}
	case ir.Modes:
		return Call{"task", map[string]any{"subagent_type": a.Arg, "description": "x", "prompt": "x"}}
	case ir.MCP:
		return Call{format.ToolKey(a.Server, a.Arg), map[string]any{}}
	}
	switch a.Arg {
	case "glob", "grep":
		return Call{a.Arg, map[string]any{"pattern": "x"}}
	}
	return Call{a.Arg, map[string]any{"todos": []any{}}}
}

// Program returns what the program does with the call of an action in a subject's session.
func Program(of contract.Decider, ref ir.SubjectRef, a policy.Action) ir.Decision {
	s := of.(*decider).setups[ref][0]
	if a.Group == ir.Web {
		return s.ask(format.WebFetch, "https://"+a.Arg+"/").decision
	}
	if a.Group == ir.Unknown {
		return s.ask(a.Arg, "x").decision
	}
	if a.Group == ir.Read {
		return s.ask(format.Read, a.Arg).decision
	}
	v := s.judge(a)
	if v.Hole != nil {
		return v.Hole.Decision
	}
	return v.Decision
}
