package claude

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// Gateways returns one gateway, which serves the role of a session: the project's list that of the baseline, without
// a baseline all subjects together.
//
// Observed on 2.1.330: it speaks revision 2026-07-28 to the gateway, in a session of -p too. It starts servers beside
// the first turn, which may come before their tools, unless MCP_CONNECTION_NONBLOCKING is false. A gateway that asks by
// itself is answered by the person or by a hook of the event Elicitation; -p dismisses the question.
func (claude) Gateways(p *ir.Project) []ir.Gateway {
	return []ir.Gateway{{Name: contract.GatewayName, Apart: true,
		Args: contract.GatewayArgs("claude", ir.SubjectRef{Role: p.Baseline})}}
}
