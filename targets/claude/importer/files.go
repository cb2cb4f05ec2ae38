package importer

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/claude/format"
)

// Files lists what Claude Code reads in a project.
//
// Sources: code.claude.com/docs (memory, skills, output-styles, settings), and what `claude`
// 2.1.329 leaves out with --setting-sources user.
func Files() []contract.AgentFile {
	files := []contract.AgentFile{
		{Path: format.ProjectServers, Imported: true},
	}
	for _, f := range format.SettingsFiles {
		file := contract.AgentFile{Path: f.Path, Imported: true}
		if f.Path == format.LocalSettings {
			file.Reason = contract.Private
			file.Why = "personal: it decides in your own sessions, and stays in force there"
		}
		files = append(files, file)
	}
	const memory = "instructions for every session, which no mode owns; no permissions"
	return append(files,
		contract.AgentFile{Path: format.AgentsFolder + "/*.md", Imported: true},
		contract.AgentFile{Path: format.AgentsFolder + "/", Reason: contract.NotRead,
			Why: "a subagent is a Markdown file"},
		contract.AgentFile{Path: "CLAUDE.md", Reason: contract.Instructions, Why: memory},
		contract.AgentFile{Path: ".claude/CLAUDE.md", Reason: contract.Instructions, Why: memory},
		contract.AgentFile{Path: "CLAUDE.local.md", Reason: contract.Private, Why: "personal: " + memory},
		contract.AgentFile{Path: ".claude/rules/", Reason: contract.Instructions, Why: memory},
		contract.AgentFile{Path: ".claude/output-styles/", Reason: contract.Instructions, Why: memory},
		contract.AgentFile{Path: format.CommandsFolder + "/", Reason: contract.Prompts, Why: "prompts, no permissions",
			Look: permits("prompts, no permissions")},
		contract.AgentFile{Path: format.SkillsFolder + "/", Reason: contract.Prompts, Why: skillFiles,
			Look: permits(skillFiles)},
		contract.AgentFile{Path: ".claude/hooks/", Reason: contract.Programs,
			Why: "programs that hooks may start; the hooks themselves are in the settings"},
		contract.AgentFile{Path: ".claude/worktrees/", Reason: contract.NotRead, Why: "copies of the project"},
		contract.AgentFile{Path: ".claude/", Reason: contract.Unknown,
			Why: "modec knows no permission that Claude Code reads from it"},
	)
}

const skillFiles = "skills and what belongs to them, no permissions"

// permits looks for permissions in the front matter of a command or a skill.
func permits(none string) func(data []byte) (contract.Reason, string) {
	return func(data []byte) (contract.Reason, string) {
		a, err := format.ReadAgent("", data)
		switch {
		case err != nil:
			return contract.Prompts, none
		case a.Root.Get("hooks") != nil:
			return contract.Programs, "its hooks run while it is active: a program decides, which the source cannot " +
				"say; it stays in force"
		case a.Root.Get("allowed-tools") == nil:
			return contract.Prompts, none
		}
		return contract.Permission, "allowed-tools permits tools without a question while it is active; the source " +
			"has permissions of modes and roles only: it is not imported, and stays in force"
	}
}
