package cursor

import (
	"io/fs"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// Gateways returns one gateway for all subjects: Cursor has one list of servers for everybody. Cursor does not say in
// which folder it starts a server.
func (cursor) Gateways(*ir.Project) []ir.Gateway {
	return []ir.Gateway{{Name: contract.GatewayName,
		Args: append([]string{"-C", "${workspaceFolder}"}, contract.GatewayArgs("cursor", ir.SubjectRef{})...)}}
}

// Lists returns the list of the project.
func (c cursor) Lists(fs.FS, ir.SubjectRef) []string { return []string{c.ServerList().File} }
