package gemini

import (
	"io/fs"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/gemini/format"
	"modec.dev/modec/targets/gemini/model"
)

type gemini struct{}

// New returns the target.
func New() contract.Target { return gemini{} }

func (gemini) Name() string { return name }

func (gemini) Summary() string { return "Gemini CLI: policies, agents, MCP servers" }

func (gemini) Options() []contract.Option { return nil }

// Codes documents what the target reports.
func (gemini) Codes() []diag.Doc { return diag.Docs(codesText) }

func (gemini) Owns() []string {
	return []string{format.PoliciesDir + "/**", format.AgentsDir + "/*.md", format.SettingsFile}
}

// HoldsRoles marks that every role that says something has a policy.
func (gemini) HoldsRoles() {}

// Asked returns the folder in which Gemini CLI keeps its settings.
func (gemini) Asked() []string { return []string{format.Dir + "/"} }

func (gemini) Governs(file string, g ir.Group) contract.Halves { return model.Governs(file, g) }

// Agent describes Gemini CLI.
func (gemini) Agent() contract.Agent {
	return contract.Agent{Name: "Gemini CLI", Programs: []string{"gemini"}, Observed: "0.61.0"}
}

// ServerList says how the settings list a server.
func (gemini) ServerList() contract.ServerList {
	return contract.ServerList{File: format.SettingsFile, Field: "mcpServers", Remote: "http"}
}

// Open reads the artifacts as Gemini CLI does.
func (gemini) Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	return model.Open(fsys, o)
}

// Alone returns what Gemini CLI decides by itself; it has no permission mode of a role.
func (gemini) Alone(*ir.Project) []contract.Decider { return model.Alone() }
