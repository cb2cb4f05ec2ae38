// Package format describes the artifacts of Thurbox: where they are, how a role is stored,
// and which flags of Claude Code Thurbox builds of it. It decides nothing.
//
// [ReadRole] reads a role of set_roles.json, and [Role.Args] returns its flags. [Agents] is
// agents.toml.
//
// Sources: Thurbeen/thurbox at 235d4f71 (src/session/mod.rs, src/claude/backend.rs, schema
// v8).
package format

import (
	"cmp"
	"strings"

	"modec.dev/modec/compiler/located"
)

// The artifacts of a project.
const (
	RolesPath  = ".thurbox/set_roles.json" // the arguments of set_roles
	AgentsPath = ".thurbox/agents.toml"
)

// DefaultMode is the permission mode of a role without one.
const DefaultMode = "default"

// MostName is the most bytes of a role's name.
const MostName = 64

// Role is RoleInput of the set_roles tool (schema v8).
type Role struct {
	Name               string            `json:"name"`
	Description        string            `json:"description"`
	PermissionMode     string            `json:"permission_mode,omitempty"`
	AllowedTools       []string          `json:"allowed_tools,omitempty"`
	DisallowedTools    []string          `json:"disallowed_tools,omitempty"`
	Tools              *string           `json:"tools,omitempty"`
	AppendSystemPrompt string            `json:"append_system_prompt,omitempty"`
	Env                map[string]string `json:"env,omitempty"`
}

// RoleKeys are the keys of a role. Thurbox ignores any other.
var RoleKeys = []string{"name", "description", "permission_mode", "allowed_tools", "disallowed_tools", "tools",
	"append_system_prompt", "env"}

// ReadRole reads a role. It reports false for one without a name, which set_roles refuses.
func ReadRole(v *located.Value) (Role, bool) {
	text := func(key string) string { s, _ := v.Get(key).Str(); return s }
	r := Role{
		Description: text("description"), PermissionMode: text("permission_mode"),
		AllowedTools: v.Get("allowed_tools").Strings(), DisallowedTools: v.Get("disallowed_tools").Strings(),
		AppendSystemPrompt: text("append_system_prompt"),
	}
	if tools, ok := v.Get("tools").Str(); ok {
		r.Tools = &tools
	}
	for _, e := range v.Get("env").Fields() {
		if s, ok := e.Value.Str(); ok {
			if r.Env == nil {
				r.Env = map[string]string{}
			}
			r.Env[e.Key] = s
		}
	}
	var ok bool
	r.Name, ok = v.Get("name").Str()
	return r, ok
}

// Args returns the flags that src/claude/backend.rs of 235d4f71 builds of a role. The mode
// is always there, "default" where the role has none. A list is one argument, its rules
// joined by spaces, and left out when it is empty.
func (r *Role) Args() []string {
	args := []string{"--permission-mode", cmp.Or(r.PermissionMode, DefaultMode)}
	list := func(flag string, rules []string) {
		if rules = Stored(rules); len(rules) > 0 {
			args = append(args, flag, strings.Join(rules, " "))
		}
	}
	list("--allowed-tools", r.AllowedTools)
	list("--disallowed-tools", r.DisallowedTools)
	if r.Tools != nil {
		args = append(args, "--tools", *r.Tools)
	}
	if r.AppendSystemPrompt != "" {
		args = append(args, "--append-system-prompt", r.AppendSystemPrompt)
	}
	return args
}

// Stored returns what Thurbox reads back of a list of rules: it stores them joined by
// commas, and cuts at every comma.
func Stored(rules []string) []string {
	var torn []string
	for part := range strings.SplitSeq(strings.Join(rules, ","), ",") {
		if part = strings.TrimSpace(part); part != "" {
			torn = append(torn, part)
		}
	}
	return torn
}

// Agents is agents.toml.
type Agents struct {
	Agents []Agent `toml:"agents"`
}

// Agent is what Thurbox starts: the command, its args always, and after them one of the
// other lists, in which it replaces {id}.
type Agent struct {
	Name           string   `toml:"name"`
	Command        string   `toml:"command"`
	Args           []string `toml:"args"`
	ResumeArgs     []string `toml:"resume_args"`
	ForkArgs       []string `toml:"fork_args"`
	NewSessionArgs []string `toml:"new_session_args"`
}

// RunArgs are the arguments of modec that start Claude Code as a role.
func RunArgs(role string) []string { return []string{"run", "role:" + role, "--", "claude"} }
