package importer

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/codex/format"
)

// Files lists what Codex has in a project.
func Files() []contract.AgentFile {
	return []contract.AgentFile{
		{Path: format.ConfigFile, Imported: true},
		{Path: format.AgentsDir + "/*.toml", Imported: true},
		{Path: format.RulesDir + "/", Reason: contract.Permission,
			Why: "rules of commands, which hold by the first words of a command alone, and have an allowed one run " +
				"outside of the sandbox, which can has no word for: they stay in force in a folder that is trusted, " +
				"and `modec run` reads none; to have modec decide, say them in can.command, and take them out"},
		{Path: format.HooksFile, Reason: contract.Programs,
			Why: "programs decide, which the source cannot say: they stay in force in a folder that is trusted"},
		{Path: format.Dir + "/hooks/", Reason: contract.Programs, Why: "programs that hooks may start"},
		{Path: format.Dir + "/requirements.toml", Reason: contract.NotRead,
			Why: "Codex reads what an administrator requires in /etc/codex alone"},
		{Path: format.Dir + "/prompts/", Reason: contract.Prompts, Why: "prompts, no permissions"},
		{Path: format.Dir + "/skills/", Reason: contract.Prompts,
			Why: "skills and what belongs to them, no permissions"},
		{Path: format.Dir + "/AGENTS.md", Reason: contract.Instructions,
			Why: "instructions for every session, which no mode owns; no permissions"},
		{Path: format.Dir + "/.env", Reason: contract.Private, Why: "variables of one person, which may be secrets"},
		{Path: format.Dir + "/", Reason: contract.Unknown, Why: "modec knows no permission that Codex reads from it"},
	}
}
