package importer

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/opencode/format"
)

// Files lists what opencode has in a project.
func Files() []contract.AgentFile { return opencode.AgentFiles() }

// AgentFiles lists what the program has in a project.
func (p *Program) AgentFiles() (files []contract.AgentFile) {
	for _, f := range p.Files {
		files = append(files, contract.AgentFile{Path: f, Imported: true})
	}
	for _, dir := range p.Dirs {
		for _, d := range format.AgentFolders {
			files = append(files, contract.AgentFile{Path: dir + "/" + d.Name + "/*.md", Imported: true},
				contract.AgentFile{Path: dir + "/" + d.Name + "/", Reason: contract.NotRead,
					Why: "an agent is a Markdown file"})
		}
		for _, f := range p.beside() {
			f.Path = dir + "/" + f.Path
			files = append(files, f)
		}
	}
	return files
}

// beside lists what else is in a folder of the program.
func (p *Program) beside() []contract.AgentFile {
	const (
		prompts = "prompts, no permissions"
		skills  = "skills and what belongs to them, no permissions"
		tools   = "tools that are programs: they stay in force"
	)
	return slices.Concat([]contract.AgentFile{
		{Path: "command/", Reason: contract.Prompts, Why: prompts},
		{Path: "commands/", Reason: contract.Prompts, Why: prompts},
		{Path: "skill/", Reason: contract.Prompts, Why: skills},
		{Path: "skills/", Reason: contract.Prompts, Why: skills},
		{Path: "plugin/", Reason: contract.Programs, Why: p.plugins()},
		{Path: "plugins/", Reason: contract.Programs, Why: p.plugins()},
		{Path: "tool/", Reason: contract.Programs, Why: tools},
		{Path: "tools/", Reason: contract.Programs, Why: tools},
		{Path: "themes/", Reason: contract.Settings, Why: "colours, no permissions"},
		{Path: "node_modules/", Reason: contract.Settings, Why: "packages of plugins"},
	}, p.Beside, []contract.AgentFile{{Reason: contract.Unknown,
		Why: "modec knows no permission that " + p.Title + " reads from it"}})
}

// plugins says why plugins stay where they are.
func (p *Program) plugins() string {
	return "programs that run in " + p.Title + ", and may refuse calls: they stay in force"
}
