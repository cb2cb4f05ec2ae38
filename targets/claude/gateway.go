package claude

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// Gateways returns one gateway, which serves the role of a session: the project's list that of the baseline, without
// a baseline all subjects together.
func (claude) Gateways(p *ir.Project) []ir.Gateway {
	return []ir.Gateway{{Name: contract.GatewayName, Apart: true,
		Args: contract.GatewayArgs("claude", ir.SubjectRef{Role: p.Baseline})}}
}
