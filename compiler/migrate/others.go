package migrate

import "modec.dev/modec/compiler/contract"

// otherFiles are the files of agents of which modec imports nothing, and those that belong to no
// agent alone. Each agent reads them in a project; what the agents read elsewhere is not here.
var otherFiles = func() (files []contract.AgentFile) {
	for _, agent := range []struct {
		name        string
		paths       []string // with what its agent decides by
		instruction []string
	}{
		{"Windsurf", []string{".windsurf/", ".devin/"}, []string{".windsurfrules", ".codeiumignore"}},
		{"Cline", nil, []string{".clinerules", ".clinerules/", ".clineignore"}},
		{"Aider", []string{".aider.conf.yml"}, []string{".aiderignore"}},
	} {
		for _, p := range agent.paths {
			files = append(files, contract.AgentFile{Path: p, Reason: contract.NoTarget,
				Why: "modec imports nothing of " + agent.name + ": it stays in force"})
		}
		for _, p := range agent.instruction {
			files = append(files, contract.AgentFile{Path: p, Reason: contract.Instructions,
				Why: agent.name + " reads it, of which modec imports nothing; no permissions"})
		}
	}
	for _, name := range []string{"AGENTS.md", "AGENT.md", "AGENTS.override.md"} {
		files = append(files, contract.AgentFile{Path: name, Reason: contract.Instructions,
			Why: "instructions for every agent and session; no permissions"})
	}
	return append(files,
		contract.AgentFile{Path: "AGENTS.local.md", Reason: contract.Private,
			Why: "personal: instructions, no permissions"},
		contract.AgentFile{Path: ".agents/", Reason: contract.Prompts, Why: "skills that several agents read"})
}()
