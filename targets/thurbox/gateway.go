package thurbox

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude"
)

// Gateways returns those of Claude Code, whose sessions Thurbox starts.
func (thurbox) Gateways(p *ir.Project) []ir.Gateway {
	list := claude.New().(contract.GatewayHost).Gateways(p)
	for i := range list {
		list[i].Apart = false // set_roles starts every role with the project's list
	}
	return list
}
