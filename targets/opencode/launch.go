package opencode

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/internal/lastmatch"
	"modec.dev/modec/targets/opencode/format"
)

// Args returns no arguments: a command line names an agent, and the variables of Environment the one to begin with.
func (opencode) Args(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	return nil, agent.NoArgs(in, ref, opt)
}

// Environment returns the variables that start a session of a subject: what it may do stands behind every file of the
// user's own, and the files of the project are not read, whatever they say.
func (opencode) Environment(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	l, diags := agent.Launch(in, ref, opt)
	if l.Content == "" {
		return l.Variables, diags
	}
	vars := append(l.Variables, "OPENCODE_CONFIG_CONTENT="+l.Content)
	if len(l.Agents) == 0 {
		return vars, diags
	}
	vars = append(vars, places().Settings(opt, "OPENCODE_CONFIG", format.Schema)...)
	return append(vars, "OPENCODE_DISABLE_PROJECT_CONFIG=1",
		"OPENCODE_PERMISSION=", "OPENCODE_TEST_MANAGED_CONFIG_DIR="), diags
}

// homes are where opencode reads what a user has for every project.
var homes = lastmatch.Homes{Name: name, Prefix: "OPENCODE", Dirs: []string{format.Dir},
	Settings: []string{"config.json", format.ConfigFile, format.ConfigFile + "c"}}

// commands are the words after which opencode starts no session, or one whose clients have permissions of their own.
var commands = []string{"acp", "agent", "attach", "auth", "completion", "db", "debug", "export", "github", "import",
	"mcp", "models", "plugin", "plug", "pr", "providers", "serve", "session", "stats", "uninstall", "upgrade", "web"}

// Replaces returns what a person's command line would take away, and what their own files would.
func (opencode) Replaces(line contract.CommandLine) (contract.Replacement, bool) {
	if x, ok := lastmatch.Replaced(line.Own, commands); ok {
		return x, true
	}
	return homes.Replaces(line)
}
