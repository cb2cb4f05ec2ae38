// Package format is what Gemini CLI's files look like: their names, the rules of its policies, and the
// text against which the expressions of rules are tested.
//
// The emitter, the model of how Gemini CLI decides and the tests share this package and nothing else. It
// reads texts into values with their places and decides nothing.
//
// Source: the npm package @google/gemini-cli-core 0.61.0, policy/toml-loader.js, policy/utils.js and
// policy/stable-stringify.js.
package format

import (
	"path"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
)

// Dir is the folder of Gemini CLI's files, in a project and in the home folder.
const Dir = ".gemini"

// The files of a project.
const (
	SettingsFile = Dir + "/settings.json"
	AgentsDir    = Dir + "/agents"
	// PoliciesDir contains the policies that the settings name.
	PoliciesDir = Dir + "/policies"
)

// The endings of these files.
const (
	policyEnding = ".toml"
	agentEnding  = ".md"
)

// agentsPolicy is the policy of the modes as agents, which every session has beside its own. No subject's file has the
// name.
const agentsPolicy = "+modes" + policyEnding

// AgentsPolicy is where the model finds it.
var AgentsPolicy = contract.SessionPath("gemini", agentsPolicy)

// PolicyFile returns where the model finds the policy of a subject's sessions.
func PolicyFile(ref ir.SubjectRef) string {
	return contract.SessionPath("gemini", contract.SubjectName(ref)+policyEnding)
}

// SessionSettings returns where the model finds the settings of a subject's sessions.
func SessionSettings(ref ir.SubjectRef) string {
	return contract.SessionPath("gemini", contract.SubjectName(ref)+".json")
}

// ProjectPolicy returns where the settings of a project name a policy.
func ProjectPolicy(file string) string { return PoliciesDir + "/" + path.Base(file) }

// PolicySubject returns the subject of a policy by its path.
func PolicySubject(file string) (ir.SubjectRef, bool) {
	if path.Base(file) == agentsPolicy {
		return ir.SubjectRef{}, false
	}
	name, ok := strings.CutSuffix(path.Base(file), policyEnding)
	ref, known := contract.NamedSubject(name)
	return ref, ok && known
}

// AgentFile returns the file of a mode.
func AgentFile(slug string) string { return AgentsDir + "/" + slug + agentEnding }

// AgentOf returns the name of a mode's agent: its slug, or what has signs that no slug has.
func AgentOf(m *ir.Mode) string {
	if own, ok := m.Extra["gemini"].Fields["name"].(string); ok {
		return own
	}
	return m.Slug
}

// AgentName reports whether Gemini CLI takes a name for an agent.
func AgentName(name string) bool { return agentName().MatchString(name) }

var agentName = lazy.Regexp(`\A[a-z0-9_-]+\z`)

// The tools of Gemini CLI, by the group that they belong to.
var (
	ReadFile   = "read_file"
	Searches   = []string{"glob", "grep_search", "list_directory", "read_many_files"}
	Edits      = []string{"replace", "write_file"}
	Shell      = "run_shell_command"
	WebFetch   = "web_fetch"
	WebSearch  = "google_web_search"
	Invoke     = "invoke_agent"
	Skill      = "activate_skill"
	Resources  = []string{"list_mcp_resources", "read_mcp_resource"}
	OldGrep    = "search_file_content" // grep_search by its former name
	Every      = "*"
	EveryMCP   = "mcp_*"
	FilePath   = "file_path"
	DirPath    = "dir_path"
	CommandArg = "command"
	PromptArg  = "prompt"
	AgentArg   = "agent_name"
)

// Harmless are the tools that touch nothing but the conversation, and that every session needs.
var Harmless = []string{
	"ask_user", "complete_task", "get_internal_docs", "tracker_add_dependency", "tracker_create_task",
	"tracker_get_task", "tracker_list_tasks", "tracker_update_task", "tracker_visualize", "update_topic",
	"write_todos",
}

// ToolName returns the name under which Gemini CLI runs the tool of an MCP server, and "*" for all of
// its tools.
func ToolName(server, tool string) string { return ToolPrefix + server + "_" + tool }

// ToolPrefix begins it.
const ToolPrefix = "mcp_"

// Named reports whether Gemini CLI takes the name of a server's tool in the list of an agent's tools. It
// does not load an agent with any other.
func Named(server, tool string) bool {
	return server != "" && server[0] != '_' && !strings.Contains(server, "_") && slug().MatchString(server) &&
		(tool == Every || slug().MatchString(tool) && strings.Trim(tool, "_") != "")
}

var slug = lazy.Regexp(`(?i)\A[a-z0-9_.:-]+\z`)

// Key returns how an argument of a call begins in the text that expressions are tested on. What follows
// up to End is the value in JSON.
func Key(argument string) string { return `\x00"` + argument + `":"` }

// End ends a text in there.
const End = `"\x00`

// Safe reports whether Gemini CLI takes an expression: it drops the rule of any other.
func Safe(expr string) bool { return len(expr) <= MostExpression && !nested().MatchString(expr) }

// MostExpression is how many characters an expression has at most.
const MostExpression = 2048

var nested = lazy.Regexp(`\([^)]*[*+?{].*\)[*+?{]`)
