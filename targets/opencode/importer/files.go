package importer

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/opencode/format"
)

// Files lists what opencode has in a project.
func Files() []contract.AgentFile {
	var files []contract.AgentFile
	for _, f := range format.ProjectFiles {
		files = append(files, contract.AgentFile{Path: f, Imported: true})
	}
	for _, d := range format.AgentDirs {
		files = append(files, contract.AgentFile{Path: d.Dir + "/*.md", Imported: true})
		files = append(files, contract.AgentFile{Path: d.Dir + "/", Reason: contract.NotRead,
			Why: "an agent is a Markdown file"})
	}
	for _, f := range []struct {
		name   string
		reason contract.Reason
		why    string
	}{
		{"command", contract.Prompts, "prompts, no permissions"},
		{"commands", contract.Prompts, "prompts, no permissions"},
		{"skill", contract.Prompts, "skills and what belongs to them, no permissions"},
		{"skills", contract.Prompts, "skills and what belongs to them, no permissions"},
		{"plugin", contract.Programs, "programs that run in opencode, and may refuse calls: they stay in force"},
		{"plugins", contract.Programs, "programs that run in opencode, and may refuse calls: they stay in force"},
		{"tool", contract.Programs, "tools that are programs: they stay in force"},
		{"tools", contract.Programs, "tools that are programs: they stay in force"},
		{"themes", contract.Settings, "colours, no permissions"},
		{"node_modules", contract.Settings, "packages of plugins"},
	} {
		files = append(files, contract.AgentFile{Path: format.Dir + "/" + f.name + "/", Reason: f.reason, Why: f.why})
	}
	return append(files, contract.AgentFile{Path: format.Dir + "/", Reason: contract.Unknown,
		Why: "modec knows no permission that opencode reads from it"})
}
