// Package format is what Codex's files look like: their names, what a configuration says, and the names of tools.
//
// The emitter, the model of how Codex decides, its hook and the tests share this package and nothing else. It reads
// texts into values with their places and decides nothing.
//
// Source: codex-cli 0.169.0 as it runs, and its documentation of configuration, sandboxing and hooks (autumn 2026).
package format

import (
	"path"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// Dir is the folder of Codex's files in a project, and in the home folder.
const Dir = ".codex"

// The files of a project.
const (
	ConfigFile = Dir + "/config.toml"
	AgentsDir  = Dir + "/agents"
	RulesDir   = Dir + "/rules"
	HooksFile  = Dir + "/hooks.json"
)

const (
	configEnding = ".config.toml"
	agentEnding  = ".toml"
)

// SubjectFile returns where the model finds the configuration of a subject's sessions.
func SubjectFile(ref ir.SubjectRef) string {
	return contract.SessionPath("codex", contract.SubjectName(ref)+configEnding)
}

// FileSubject returns the subject of a configuration by its path.
func FileSubject(file string) (ir.SubjectRef, bool) {
	name, ok := strings.CutSuffix(path.Base(file), configEnding)
	ref, known := contract.NamedSubject(name)
	return ref, ok && known
}

// OfSession are keys that an agent has as its session has them, whatever its file says.
var OfSession = strings.Fields("approval_policy default_permissions permissions sandbox_mode sandbox_workspace_write " +
	"web_search")

// AgentFile returns the file of an agent.
func AgentFile(name string) string { return AgentsDir + "/" + contract.PathName(name) + agentEnding }

// IsAgentFile reports whether a name is that of a file in the folder of agents.
func IsAgentFile(name string) bool {
	return strings.HasSuffix(name, agentEnding) && contract.PathName(name) == name
}

// The tools of Codex by the names that its hooks get.
const (
	Shell         = "Bash"
	ApplyPatch    = "apply_patch"
	ViewImage     = "view_image"
	Spawn         = "spawn_agent"
	ListResources = "list_mcp_resources"
	ListTemplates = "list_mcp_resource_templates"
	ReadResource  = "read_mcp_resource"

	mcpPrefix = "mcp__"
)

// Harmless are the tools that touch nothing but the conversation, and those that go on with what was decided before.
var Harmless = []string{
	"close_agent", "create_goal", "get_goal", "request_user_input", "resume_agent", "send_input", "tool_search",
	"update_goal", "update_plan", "wait_agent",
}

// IsTool reports whether a tool belongs to a server.
func IsTool(name string) bool { return strings.HasPrefix(name, mcpPrefix) }

// ToolName returns the name of a server's tool.
func ToolName(server, tool string) string { return ServerPrefix(server) + Plain(tool) }

// ServerPrefix returns how the names of a server's tools begin.
func ServerPrefix(server string) string { return mcpPrefix + Plain(server) + "__" }

// Alike reports whether a tool of one server may have the name of a tool of another one.
func (s *Server) Alike(other Server) bool {
	a, b := ServerPrefix(s.Name), ServerPrefix(other.Name)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// ToolServer returns the server and the tool of a name, as Codex writes them.
func ToolServer(name string) (server, tool string) {
	server, tool, _ = strings.Cut(strings.TrimPrefix(name, mcpPrefix), "__")
	return server, tool
}

// Plain returns a name as Codex hands it to a model: other characters than letters, digits and _ become _.
func Plain(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_':
			return c
		}
		return '_'
	}, name)
}
