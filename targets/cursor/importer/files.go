package importer

import (
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/cursor/format"
)

// Files lists what Cursor has in a project.
func Files() []contract.AgentFile {
	const memory = "instructions for every session, which no mode owns; no permissions"
	return []contract.AgentFile{
		{Path: inDir(format.ServersFile), Imported: true},
		{Path: inDir(format.PermissionsFile), Imported: true},
		{Path: inDir(format.TokensFile), Imported: true},
		{Path: inDir(format.ConfigFile), Imported: true},
		{Path: ".cursor/agents/", Reason: contract.Settings,
			Why: "a subagent of Cursor has all of the session's tools"},
		{Path: inDir(format.HooksFile), Reason: contract.Programs, Why: hooksDecide, Look: hooks},
		{Path: ".cursor/hooks/", Reason: contract.Programs, Why: "programs that hooks may start"},
		{Path: ".cursor/modes.json", Reason: contract.NotRead, Why: "Cursor does not read it"},
		{Path: ".cursor/rules/", Reason: contract.Instructions, Why: memory},
		{Path: ".cursorrules", Reason: contract.Instructions, Why: memory},
		{Path: ".cursor/commands/", Reason: contract.Prompts, Why: "prompts, no permissions"},
		{Path: ".cursor/skills/", Reason: contract.Prompts, Why: "skills and what belongs to them, no permissions"},
		{Path: ".cursor/sandbox.json", Reason: contract.Permission,
			Why: "what a sandbox confines is no permission of a role: it stays in force"},
		{Path: ".cursorignore", Reason: contract.Permission,
			Why: "it hides files from Cursor's own tools, and stays in force: deny them in can.read for every agent"},
		{Path: ".cursor/", Reason: contract.Unknown, Why: "modec knows no permission that Cursor reads from it"},
	}
}

const hooksDecide = "programs decide, which the source cannot say: they stay in force"

// hooks tells the hooks of people from those that modec writes.
func hooks(data []byte) (contract.Reason, string) {
	v, err := located.JSONC(format.HooksFile, data)
	if err != nil {
		return contract.Programs, hooksDecide
	}
	own := false
	for _, event := range v.Get("hooks").Fields() {
		for _, h := range event.Value.List() {
			command, _ := h.Get("command").Str()
			if !strings.Contains(command, ownHook) {
				return contract.Programs, hooksDecide
			}
			own = true
		}
	}
	if own {
		return "", ""
	}
	return contract.Programs, "no hook in it"
}
