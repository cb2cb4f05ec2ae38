// Package format describes the files and the command line of Claude Code: where they
// are, which values they take, and how to read them. It decides nothing.
//
// [ReadSettings] reads a settings file, [ReadAgent] a subagent and [ReadFlags] a command
// line, each into values with their places. The emitter, the importer and the model of
// the agent share this package and package rule below it, and nothing else: what one of
// them makes of a value is its own.
//
// Sources: code.claude.com/docs (settings, permissions, sub-agents, cli-reference) and
// the binary of @anthropic-ai/claude-code 2.1.329.
package format

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// The files of a project, and of the user below the home folder.
const (
	ProjectSettings = ".claude/settings.json"
	LocalSettings   = ".claude/settings.local.json"
	UserSettings    = ".claude/settings.json"
	AgentsFolder    = ".claude/agents"
	SkillsFolder    = ".claude/skills"
	CommandsFolder  = ".claude/commands"
	ProjectServers  = ".mcp.json"
	UserServers     = ".claude.json"
)

// The endings of what a session of a role is started with.
const (
	OfSettings = ".settings.json"
	OfServers  = ".mcp.json"     // alone
	OfBeside   = ".servers.json" // beside the user's own
)

// Session returns where the model finds what a session of a role is started with, by its ending.
func Session(role, ending string) string {
	return contract.SessionPath("claude", contract.PathName(role)+ending)
}

// Skills returns the files of a project's skills, by their paths.
func Skills(project fs.FS) (files []string) {
	list, _ := fs.ReadDir(project, SkillsFolder) // one that cannot be read has none for the agent either
	for _, e := range list {
		file := path.Join(SkillsFolder, e.Name(), "SKILL.md")
		if _, err := fs.Lstat(project, file); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// SettingsFile is a settings file of a project.
type SettingsFile struct {
	Path   string
	Source string // its name in --setting-sources
}

// Helpers are the settings that name a program: Claude Code starts it by itself, without a hook or a rule (its settings
// reference; the keys are those of 2.1.330).
var Helpers = []string{"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "fileSuggestion", "gcpAuthRefresh",
	"otelHeadersHelper", "processWrapper", "proxyAuthHelper", "statusLine", "subagentStatusLine"}

// SettingsFiles lists the settings files of a project. A later one holds over an
// earlier one.
var SettingsFiles = []SettingsFile{{ProjectSettings, "project"}, {LocalSettings, "local"}}

// sources are the values of --setting-sources.
var sources = []string{"user", "project", "local"}

// The permission modes. Manual is another name of Default; Delegate is accepted and
// means Default.
const (
	Default     = "default"
	Plan        = "plan"
	AcceptEdits = "acceptEdits"
	DontAsk     = "dontAsk"
	Auto        = "auto"
	Bypass      = "bypassPermissions"
	Manual      = "manual"
	Delegate    = "delegate"
)

// ModeNames lists the permission modes that a person chooses from, for messages.
const ModeNames = "default, plan, acceptEdits, dontAsk, auto or bypassPermissions"

// IsMode reports whether Claude Code accepts a permission mode.
func IsMode(name string) bool {
	return slices.Contains([]string{Default, Plan, AcceptEdits, DontAsk, Auto, Bypass, Manual, Delegate}, name)
}

// Tools are the built-in tools of a group. A path rule of the first one covers the
// others. A rule without content covers its own tool alone.
var Tools = map[ir.Group][]string{
	ir.Read:    {"Read", "Glob", "Grep", "LSP"},
	ir.Edit:    {"Edit", "Write", "NotebookEdit"},
	ir.Command: {"Bash", "Monitor", "PowerShell"},
	ir.Web:     {"WebFetch", "WebSearch"},
	ir.Modes:   {"Agent"},
}

// Starters are the tools that make other agents work beside Agent: a skill, a message to an
// agent that may have ended, a script that starts subagents.
var Starters = []string{"Skill", "SendMessage", "Workflow"}

// UnknownTools are the built-in tools of no group that a rule can name. They ask for nothing of
// themselves.
var UnknownTools = []string{"Artifact", "CronCreate", "DesignSync", "EnterWorktree", "ExitWorktree",
	"PushNotification", "RemoteTrigger", "ScheduleWakeup", "SendUserFile", "ShareOnboardingGuide"}

// HarmlessTools ask or inform the person, keep lists, or end what the session itself has begun.
// DeferredToolPlaceholder stands for tools that ToolSearch loads. BashOutput, KillBash and
// KillShell are former names of TaskOutput and TaskStop.
var HarmlessTools = strings.Fields("AskUserQuestion BashOutput KillBash KillShell CronDelete CronList " +
	"DeferredToolPlaceholder EndConversation EnterPlanMode ExitPlanMode ListAgents ReportFindings SendUserMessage " +
	"StructuredOutput TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite ToolSearch " +
	"WaitForMcpServers")

// KnownTool reports whether Claude Code has, or had, a built-in tool of a name.
func KnownTool(name string) bool {
	for _, tools := range Tools {
		if slices.Contains(tools, name) {
			return true
		}
	}
	former := []string{"LS", "MultiEdit", "NotebookRead", "Task"}
	return slices.Contains(slices.Concat(Starters, UnknownTools, ResourceTools, HarmlessTools, former), name)
}

// BuiltInAgents are the subagents of Claude Code itself (2.1.330).
var BuiltInAgents = []string{"Explore", "Plan", "claude", "general-purpose", "statusline-setup"}

// ResourceTools list and read the resources of all servers at once.
var ResourceTools = []string{"ListMcpResourcesTool", "ReadMcpResourceTool"}

// SharedGroup returns the group of a tool that reads, edits or runs commands beside
// others, "" for any other tool.
func SharedGroup(tool string) ir.Group {
	if tool == "MultiEdit" {
		return ir.Edit
	}
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command} {
		if slices.Contains(Tools[g], tool) {
			return g
		}
	}
	return ""
}

// Quote writes text as a double-quoted YAML scalar on one line.
func Quote(s string) string {
	return contract.QuoteYAML(s, func(r rune) bool { return !strconv.IsPrint(r) })
}

// SubjectName returns the name of which contract.PathName made a path segment. It
// reports false for any other segment.
func SubjectName(segment string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(segment); i++ {
		if segment[i] != '%' {
			b.WriteByte(segment[i])
			continue
		}
		if i+2 >= len(segment) {
			return "", false
		}
		hi, lo := strings.IndexByte(hexDigits, segment[i+1]), strings.IndexByte(hexDigits, segment[i+2])
		if hi < 0 || lo < 0 {
			return "", false
		}
		b.WriteByte(byte(hi<<4 | lo))
		i += 2
	}
	return b.String(), b.Len() > 0
}

const hexDigits = "0123456789ABCDEF"
