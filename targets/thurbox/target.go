package thurbox

import (
	"io/fs"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/thurbox/format"
	"modec.dev/modec/targets/thurbox/importer"
	"modec.dev/modec/targets/thurbox/model"
)

// thurbox joins the emitter with the model and the importer, which do not know each other.
type thurbox struct{}

// New returns the target.
func New() contract.Target { return thurbox{} }

// Codes documents what the target reports.
func (thurbox) Codes() []diag.Doc { return diag.Docs(codesText) }

// Open returns a decider for each artifact below fsys.
func (thurbox) Open(fsys fs.FS, _ contract.Options) ([]contract.Decider, diag.List) {
	return model.Open(fsys)
}

// Alone returns what the sessions of Claude Code do by themselves, for each artifact.
func (thurbox) Alone(p *ir.Project) []contract.Decider { return model.Alone(p) }

// Formats returns Thurbox's only one.
func (thurbox) Formats() []string { return []string{"thurbox"} }

// AgentFiles returns the calls of set_roles that a project may have.
func (thurbox) AgentFiles() []contract.AgentFile {
	return []contract.AgentFile{{Path: format.RolesPath, Imported: true}}
}

// Import reads roles of files and databases.
func (thurbox) Import(src contract.Source) (contract.Imported, diag.List) {
	return importer.Import(src)
}

// Lists returns the lists of servers of Claude Code.
func (thurbox) Lists(fsys fs.FS, ref ir.SubjectRef) []string { return model.Lists(fsys, ref.Role) }
