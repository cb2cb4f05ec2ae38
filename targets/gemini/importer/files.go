package importer

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/gemini/format"
)

// Files lists what Gemini CLI has in a project.
func Files() []contract.AgentFile {
	return []contract.AgentFile{
		{Path: format.SettingsFile, Imported: true},
		{Path: format.AgentsDir + "/_*.md", Reason: contract.NotRead, Why: "Gemini CLI does not load it"},
		{Path: format.AgentsDir + "/*.md", Imported: true},
		{Path: format.Dir + "/policies/", Reason: contract.NotRead,
			Why: "Gemini CLI 0.61 reads no policies of a project's but those that the settings or a command line name"},
		{Path: format.Dir + "/commands/", Reason: contract.Prompts, Why: "prompts, no permissions"},
		{Path: format.Dir + "/skills/", Reason: contract.Prompts,
			Why: "skills and what belongs to them, no permissions"},
		{Path: format.Dir + "/extensions/", Reason: contract.Programs,
			Why: "extensions bring servers, commands and rules: they stay in force"},
		{Path: format.Dir + "/hooks/", Reason: contract.Programs, Why: "programs that hooks may start"},
		{Path: format.Dir + "/.env", Reason: contract.Private, Why: "variables of one person, which may be secrets"},
		{Path: "GEMINI.md", Reason: contract.Instructions,
			Why: "instructions for every session, which no mode owns; no permissions"},
		{Path: format.Dir + "/GEMINI.md", Reason: contract.Instructions,
			Why: "instructions for every session, which no mode owns; no permissions"},
		{Path: format.Dir + "/system.md", Reason: contract.Instructions,
			Why: "the prompt of sessions that ask for it; no permissions"},
		{Path: ".geminiignore", Reason: contract.Permission,
			Why: "it hides files from Gemini CLI's tools, and stays in force: deny them in can.read for every agent"},
		{Path: format.Dir + "/", Reason: contract.Unknown,
			Why: "modec knows no permission that Gemini CLI reads from it"},
	}
}
