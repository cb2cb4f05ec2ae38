// Package format is what the files of GitHub's Copilot CLI look like: their names, what a session and an agent say, and
// the names of tools.
//
// The emitter, the model of how Copilot decides, its hook and the tests share this package and nothing else. It reads
// texts into values with their places and decides nothing.
//
// Source: Copilot CLI 1.0.102 as it runs, its help and the schemas in it.
package format

import (
	"io/fs"
	"path"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// The files of a project.
const (
	// AgentsDir contains an agent for each mode.
	AgentsDir = ".github/agents"
	// ServersFile lists the servers that a project shares. Copilot reads .mcp.json too, which stands above it.
	ServersFile = ".github/mcp.json"
	// RootServersFile is that one.
	RootServersFile = ".mcp.json"
	// SettingsDir contains the settings of a project.
	SettingsDir = ".github/copilot"
	// HooksDir contains hooks of every session where the folder is trusted.
	HooksDir = ".github/hooks"
)

// The surfaces: sessions that `modec run` starts, and agents to which a person turns in a session of their own.
const (
	SessionSurface = "session"
	AgentSurface   = "agent"
)

// Settings are the files of a project in which Copilot reads settings, those of Claude Code among them, where the
// folder is trusted.
var Settings = []string{SettingsDir + "/settings.json", SettingsDir + "/settings.local.json",
	".claude/settings.json", ".claude/settings.local.json"}

// OwnSettings are those of them that are Copilot's own.
var OwnSettings = Settings[:2]

// HooksOff is the member of such a file that turns every hook off, also those of the user's own.
const HooksOff = "disableAllHooks"

// What lies in a folder of the user's own (COPILOT_HOME).
const (
	HomeHooks        = "hooks/modec.json"
	HomeAgents       = "agents/"
	HomeInstructions = "copilot-instructions.md"
)

const (
	sessionEnding = ".json"
	agentEnding   = ".agent.md"
)

// SubjectFile returns where the model finds the session of a subject.
func SubjectFile(ref ir.SubjectRef) string {
	return contract.SessionPath("copilot", contract.SubjectName(ref)+sessionEnding)
}

// FileSubject returns the subject of a session by its path.
func FileSubject(file string) (ir.SubjectRef, bool) {
	name, ok := strings.CutSuffix(path.Base(file), sessionEnding)
	ref, known := contract.NamedSubject(name)
	return ref, ok && known
}

// FileField is the member of agents.copilot.settings that has the file of a mode's agent, below the folder of
// agents, where the slug does not say it.
const FileField = "file"

// AgentFile returns the file of a mode.
func AgentFile(m *ir.Mode) string { return AgentsDir + "/" + agentFile(m) }

func agentFile(m *ir.Mode) string {
	if own, _ := m.Extra["copilot"].Fields[FileField].(string); IsAgentFile(own, m.Slug) {
		return own
	}
	return AgentName(m.Slug) + agentEnding
}

// IsAgentFile reports whether a path below the folder of agents is one of an agent whose name has a slug.
func IsAgentFile(file, slug string) bool {
	return contract.LocalPath(file) && path.Clean(file) == file && strings.HasSuffix(file, agentEnding) &&
		path.Base(file) != agentEnding && SlugOf(fileName(file)) == slug
}

// AgentOf returns the name by which Copilot knows the agent of a mode: that of its file.
func AgentOf(m *ir.Mode) string { return fileName(agentFile(m)) }

// AgentName returns that name for a mode whose slug says it.
func AgentName(slug string) string { return contract.PathName(slug) }

// fileName returns the name of the agent whose file lies below the folder of agents: one in a folder is called
// FOLDER--NAME.
func fileName(file string) string {
	id := strings.TrimSuffix(strings.TrimSuffix(file, ".md"), ".agent")
	return strings.ReplaceAll(id, "/", "--")
}

// SlugOf returns the slug of the mode whose agent has a name.
func SlugOf(agent string) string {
	ref, _ := contract.NamedSubject(agent)
	if slug := contract.Slug(agent); ref.Role == agent && slug != "" {
		return slug
	}
	return ref.Role
}

// AgentID returns the slug of the mode whose agent a file below the folder of agents is.
func AgentID(file string) string { return SlugOf(fileName(file)) }

// AgentFiles returns the files of agents below a folder, in order.
func AgentFiles(fsys fs.FS, dir string) (files []string) {
	_ = contract.EachFile(fsys, dir, func(file string) {
		if strings.HasSuffix(file, agentEnding) {
			files = append(files, file)
		}
	})
	return files
}

// The tools of Copilot.
const (
	Shell      = "bash"
	PowerShell = "powershell"
	View       = "view"
	Grep       = "grep"
	RipGrep    = "rg"
	Glob       = "glob"
	Create     = "create"
	Edit       = "edit"
	ApplyPatch = "apply_patch"
	Fetch      = "web_fetch"
	Search     = "web_search"
	Task       = "task"
	Skill      = "skill"
	// WriteShell types into a command that runs.
	WriteShell      = "write_bash"
	WritePowerShell = "write_powershell"
)

// Tools are those by which a session does what a group says, and those that go on with it.
var Tools = map[ir.Group][]string{
	ir.Read: {View, Grep, RipGrep, Glob},
	ir.Edit: {Create, Edit, ApplyPatch},
	ir.Command: {Shell, WriteShell, "read_bash", "stop_bash", "list_bash",
		PowerShell, WritePowerShell, "read_powershell", "stop_powershell", "list_powershell"},
	ir.Web:   {Fetch, Search},
	ir.Modes: {Task, Skill, "read_agent", "list_agents", "write_agent"},
}

// Builtin is the name by which an agent's list means a server of Copilot's own, whatever other one has it.
const Builtin = "github"

// Harmless are the tools that touch nothing but the conversation, and those that go on with what was decided before.
var Harmless = []string{
	"ask_user", "exit_plan_mode", "list_agents", "list_bash", "list_powershell", "read_agent", "read_bash",
	"read_powershell", "report_intent", "sql", "stop_bash", "stop_powershell", "task_complete", "update_todo",
	"write_agent",
}

// Always are the tools that an agent has whatever its list says.
var Always = []string{Skill, "sql"}

// Aliases are the names of an agent's list of tools, with what they give.
var Aliases = map[string][]string{
	"read":    {View},
	"search":  {Grep, RipGrep, Glob},
	"edit":    Tools[ir.Edit],
	"execute": Tools[ir.Command],
	"web":     Tools[ir.Web],
	"agent":   {Task, "read_agent", "list_agents", "write_agent"},
	"todo":    {"update_todo"},
}

// IsTool reports whether a tool may belong to a server: no tool of Copilot's own has such a name.
func IsTool(name string) bool { return strings.Contains(name, "-") }

// ToolName returns the name of a server's tool.
func ToolName(server, tool string) string { return ServerPrefix(server) + Plain(tool) }

// ServerPrefix returns how the names of a server's tools begin.
func ServerPrefix(server string) string { return Plain(server) + "-" }

// Plain returns a name as Copilot hands it to a model: other characters than letters, digits, _ and - become -.
func Plain(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_':
			return c
		}
		return '-'
	}, name)
}
