package gemini

import (
	"io/fs"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// Gateways returns one gateway for all subjects: Gemini CLI has one list of servers for everybody, and policies hold
// each of them to its part.
func (gemini) Gateways(*ir.Project) []ir.Gateway {
	return []ir.Gateway{{Name: contract.GatewayName, Args: contract.GatewayArgs("gemini", ir.SubjectRef{})}}
}

// Lists returns the list of the project.
func (g gemini) Lists(fs.FS, ir.SubjectRef) []string { return []string{g.ServerList().File} }
