package kilo

import (
	"os"
	"path/filepath"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/internal/lastmatch"
	"modec.dev/modec/targets/kilo/format"
)

// Args returns no arguments: a command line names an agent, and the variables of Environment the one to begin with.
func (kilo) Args(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	return nil, agent.NoArgs(in, ref, opt)
}

// Environment returns the variables that start a session of a subject: what it may do stands behind every file of the
// user's own, and the files of the project are not read, whatever they say. Kilo reads those of the extension before
// all the same: no session is started beside one of the same name. A daemon of Kilo has variables of its own, and the
// session does without it.
func (kilo) Environment(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	l, diags := agent.Launch(in, ref, opt)
	if l.Content == "" {
		return l.Variables, diags
	}
	vars := append(l.Variables, "KILO_CONFIG_CONTENT="+l.Content)
	if len(l.Agents) == 0 {
		return vars, diags
	}
	for _, n := range joined(opt.Root, &l) {
		diags.Errorf(codeLegacy, diag.Pos{File: n.file}, "Kilo would join %s with what %s may do", n.what, ref).
			Hint("take what it says into the source (`modec migrate --from kilo`), and delete it").
			Target(name).
			Subject(ref.String())
	}
	if diags.HasErrors() {
		return nil, diags
	}
	vars = append(vars, places().Settings(opt, "KILO_CONFIG", format.Schema)...)
	return append(vars, "KILO_DISABLE_PROJECT_CONFIG=1", "KILO_NO_DAEMON=1", "KILO_PERMISSION=",
		"KILO_TEST_MANAGED_CONFIG_DIR="), diags
}

// entry is one in a file of the extension before.
type entry struct{ file, what string }

// joined returns the entries of such files in a folder that have the name of an agent or a server of a session.
func joined(root string, l *lastmatch.Launch) (out []entry) {
	if data, err := os.ReadFile(filepath.Join(root, format.ModesFile)); err == nil {
		if c := format.ReadModes(format.ModesFile, data); c != nil {
			for i := range c.Agents {
				if slug := c.Agents[i].Name; slices.Contains(l.Agents, slug) {
					out = append(out, entry{format.ModesFile, "the mode " + slug})
				}
			}
		}
	}
	for _, file := range format.OldServerFiles {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			continue
		}
		v, err := located.JSONC(file, data) // an error: Kilo goes on without the file
		if err != nil {
			continue
		}
		for _, m := range v.Get("mcpServers").Fields() {
			if slices.Contains(l.Servers, m.Key) {
				out = append(out, entry{file, "the server " + m.Key})
			}
		}
	}
	return out
}

// homes are where Kilo reads what a user has for every project.
var homes = lastmatch.Homes{Name: name, Prefix: "KILO", Dirs: format.Dirs,
	Settings: append([]string{"config.json"}, format.DirFiles...),
	Before: []string{format.ModesFile, ".kilocode/cli/global/settings/custom_modes.yaml",
		".config/Code/User/globalStorage/kilocode.kilo-code/settings/custom_modes.yaml",
		"Library/Application Support/Code/User/globalStorage/kilocode.kilo-code/settings/custom_modes.yaml",
		"AppData/Roaming/Code/User/globalStorage/kilocode.kilo-code/settings/custom_modes.yaml"},
	ReadBefore: format.ReadModes}

// commands are the words after which Kilo starts no session, or one whose clients have permissions of their own.
var commands = []string{"acp", "agent", "attach", "auth", "cloud", "completion", "config", "console", "daemon", "db",
	"debug", "export", "github", "help", "import", "mcp", "models", "plug", "plugin", "pr", "profile", "providers",
	"remote", "roll-call", "serve", "session", "stats", "uninstall", "upgrade", "worktree"}

// Replaces returns what a person's command line would take away, and what their own files would.
func (kilo) Replaces(line contract.CommandLine) (contract.Replacement, bool) {
	if x, ok := lastmatch.Replaced(line.Own, commands); ok {
		return x, true
	}
	return homes.Replaces(line)
}
