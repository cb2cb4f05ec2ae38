package roo

import (
	"io/fs"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
	"modec.dev/modec/targets/roo/importer"
	"modec.dev/modec/targets/roo/model"
)

// Codes documents what the target reports.
func (roo) Codes() []diag.Doc { return append(diag.Docs(codesText), importer.Codes()...) }

// Open reads the artifacts as the agent does. Roo decides on one surface.
func (t roo) Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	d, diags := model.Open(fsys, t.dialect(o))
	for i := range diags {
		diags[i].Target = t.Name()
	}
	return []contract.Decider{d}, diags
}

// Alone returns how the agent decides in a mode that has every group.
func (roo) Alone(p *ir.Project) []contract.Decider { return []contract.Decider{model.Alone(p)} }

// Formats returns the name for `modec migrate --from`.
func (t roo) Formats() []string {
	if t.zoo {
		return []string{string(format.Zoo)}
	}
	return []string{"roo"}
}

// Import reads modes, servers, the ignore file and rules folders.
func (t roo) Import(src contract.Source) (contract.Imported, diag.List) {
	if t.zoo {
		return importer.Import(src, format.Zoo)
	}
	return importer.Import(src, format.Stock)
}

// asIgnored returns the line of an ignore file that a build writes for what a person's line denies, "" for one that
// the source cannot say.
func asIgnored(line string) string {
	is, _ := ignoreLine(ir.Pattern{Text: importer.Line(line)})
	return is
}

// AgentFiles lists the files of Roo Code, or of Zoo Code.
func (t roo) AgentFiles() []contract.AgentFile {
	if t.zoo {
		return importer.Files(format.Zoo)
	}
	return importer.Files(format.Stock)
}

// ToolGroup returns the group of a tool of Roo or Zoo, "" for one that touches nothing. It reports
// false for a tool that neither agent has.
func ToolGroup(tool string) (ir.Group, bool) { return format.ToolGroup(tool) }

// FileRegex returns the expression that Roo tests a path against before a mode edits
// it, in ECMAScript's grammar; "" where the mode edits nothing.
func FileRegex(e *policy.Engine, m *ir.Mode) string {
	s, err := e.Subject(ir.SubjectRef{Mode: m.Slug})
	if err != nil {
		return ""
	}
	em := emitter{in: contract.Input{Project: e.Project(), Policy: e}, name: "roo"}
	g, _ := em.edit(m, s)
	return g.regex
}

// Lists returns the list of the project, which every mode has.
func (t roo) Lists(fsys fs.FS, _ ir.SubjectRef) []string {
	return model.Lists(fsys, t.dialect(contract.Options{}))
}
