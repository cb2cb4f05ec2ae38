// Package thurbox emits roles for Thurbox, through the Claude Code flags that
// it would build from them.
//
// Sources: Thurbeen/thurbox at 235d4f71 (src/session/mod.rs,
// src/claude/backend.rs, schema v8) and its later docs/AGENTS.md.
//
// Two artifacts, for two ages of the program:
//
//   - .thurbox/set_roles.json, the arguments of the MCP tool set_roles, for
//     versions that have roles (schema v2 to v22; env since v8). A role is
//     flags only: no rule to ask about, no hook, so that what only those hold
//     is left out, as a loss.
//   - .thurbox/agents.toml, [[agents]] for versions since v23, which know
//     nothing of roles: a command with arguments, to be copied into
//     ~/.config/thurbox/agents.toml. It names the settings file that the target
//     claude writes, and is exact.
//
// # What is lost in set_roles
//
// Thurbox joins rules with commas when it stores them and splits at every comma
// when it reads: a rule with a comma would be torn. An allow with one is left
// out; a deny with one becomes the whole tool. It joins rules by spaces on the
// command line, which Claude Code splits outside of parentheses only. A name is
// at most 64 bytes. An omitted permission mode is "default", so it is always
// written.
//
// # What is lost in agents.toml
//
// Thurbox's own hooks extension appends arguments to agents by their name: to
// claude, and to any with hook_schema = "claude", a --settings of its own. Claude
// Code 2.1.329 reads the last --settings only, so that every rule and hook of
// the role would be gone: a role of such a name is left out, and hook_schema is
// never written. {id} and {home} in a prompt are Thurbox's to replace.
package thurbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude"
)

type thurbox struct{}

// New returns the target.
func New() contract.Target { return thurbox{} }

func (thurbox) Name() string    { return "thurbox" }
func (thurbox) Summary() string { return "Thurbox: roles as set_roles JSON and as agents" }

func (thurbox) Options() []contract.Option {
	return []contract.Option{
		{Name: "project", Type: contract.String, Doc: "The Thurbox project of the set_roles call. Default: the project's name."},
	}
}

func (thurbox) Owns() []string { return []string{rolesPath, agentsPath} }

const (
	rolesPath  = ".thurbox/set_roles.json"
	agentsPath = ".thurbox/agents.toml"
)

// Governs: both hold through Claude Code's own decision.
func (thurbox) Governs(path string, g ir.Group) contract.Halves { return contract.Both }

// roleInput is RoleInput of the set_roles tool (schema v8).
type roleInput struct {
	Name               string            `json:"name"`
	Description        string            `json:"description"`
	PermissionMode     string            `json:"permission_mode"`
	AllowedTools       []string          `json:"allowed_tools,omitempty"`
	DisallowedTools    []string          `json:"disallowed_tools,omitempty"`
	Tools              *string           `json:"tools,omitempty"`
	AppendSystemPrompt string            `json:"append_system_prompt,omitempty"`
	Env                map[string]string `json:"env,omitempty"`
}

type agents struct {
	Agents []agent `toml:"agents"`
}

// agent is what Thurbox starts: the command, its args always, and after them one
// of the other lists, in which it replaces {id}.
type agent struct {
	Name           string   `toml:"name"`
	Command        string   `toml:"command"`
	Args           []string `toml:"args,multiline"`
	ResumeArgs     []string `toml:"resume_args"`
	ForkArgs       []string `toml:"fork_args"`
	NewSessionArgs []string `toml:"new_session_args"`
}

func newAgent(name string, args []string) agent {
	return agent{
		Name: name, Command: "claude", Args: args,
		ResumeArgs:     []string{"--resume", "{id}"},
		ForkArgs:       []string{"--resume", "{id}", "--fork-session"},
		NewSessionArgs: []string{"--session-id", "{id}"},
	}
}

// patched are the agents to whose arguments Thurbox's hooks extension appends
// (extensions/hooks/extension.toml, agent_patches).
var patched = []string{"aider", "claude"}

// tokens are what Thurbox replaces in arguments.
var tokens = []string{"{home}", "{id}"}

// Emit compiles every role both ways.
func (t thurbox) Emit(in contract.Input) ([]contract.File, diag.List) {
	var diags diag.List
	if len(in.Project.Roles) == 0 { // an empty set_roles would delete a project's roles
		return nil, diag.List{{Severity: diag.Warning, Code: codeNoRoles, Pos: diag.Pos{File: "modec.toml"}, Target: "thurbox", Message: "got no roles: nothing is emitted"}}
	}
	withSettings := slices.Contains(in.Beside, "claude")
	if !withSettings {
		diags.Warnf(codeNoClaude, diag.Pos{File: "modec.toml"}, "got no [targets.claude], whose settings files agents.toml names: it is not written").
			Hint("add [targets.claude]").
			Target("thurbox").
			Loses(diag.Text, "")
	}
	roles, list := []roleInput{}, agents{Agents: []agent{}}
	for i := range in.Project.Roles {
		r := &in.Project.Roles[i]
		lost := func(code diag.Code, message, hint string) {
			diags.Warnf(code, r.Pos, "%s", message).
				Hint(hint).
				Target("thurbox").
				Subject("role "+r.Name).
				Loses(diag.Narrowing, "")
		}
		withHooks := in
		withHooks.Options = contract.NewOptions(claude.New().Options(), nil, nil)
		args, more := claude.New().(contract.Launcher).Args(withHooks, ir.SubjectRef{Role: r.Name}, contract.ArgsOptions{})
		diags = append(diags, ours(more)...)
		switch {
		case !withSettings: // its arguments would name files that nobody writes
		case slices.Contains(patched, r.Name):
			lost(codeAgentName, fmt.Sprintf("Thurbox appends arguments of its own to the agent %q, which undo the role's: it is left out of agents.toml", r.Name), "give the role another name")
		default:
			list.Agents = append(list.Agents, newAgent(r.Name, args))
		}
		if slices.ContainsFunc(tokens, func(token string) bool { return strings.Contains(r.AppendSystemPrompt, token) }) {
			lost(codeToken, "Thurbox replaces {id} and {home} in the system prompt of agents.toml", "write { id } or { home }")
			diags[len(diags)-1].Loss = diag.Text
		}

		if len(r.Name) > 64 {
			lost(codeName, fmt.Sprintf("the name has %d bytes and Thurbox takes 64: the role is left out of set_roles", len(r.Name)), "shorten the name")
			continue
		}
		f, more := claude.RoleFlags(in, r)
		diags = append(diags, ours(more)...)
		out := roleInput{Name: r.Name, Description: r.Description, PermissionMode: f.PermissionMode, Tools: f.Tools, AppendSystemPrompt: f.AppendSystemPrompt, Env: f.Env}
		for _, a := range f.Allowed {
			if strings.Contains(a, ",") {
				lost(codeComma, fmt.Sprintf("the rule %q has a comma, at which Thurbox tears it: it is left out", a), "use agents.toml")
				continue
			}
			out.AllowedTools = append(out.AllowedTools, a)
		}
		for _, d := range f.Disallowed {
			if strings.Contains(d, ",") {
				tool, _, _ := strings.Cut(d, "(")
				lost(codeComma, fmt.Sprintf("the rule %q has a comma, at which Thurbox tears it: the whole tool is denied", d), "use agents.toml")
				d = tool
			}
			out.DisallowedTools = append(out.DisallowedTools, d)
		}
		roles = append(roles, out)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	project := in.Options.String("project")
	if project == "" {
		project = in.Project.Name
	}
	if err := e.Encode(map[string]any{"project": project, "roles": roles}); err != nil {
		diags.Errorf(diag.BadModel, diag.Pos{}, "%v", err)
	}
	files := []contract.File{{Path: rolesPath, Data: b.Bytes()}}
	if !withSettings {
		return files, diags
	}
	text, err := toml.Marshal(list)
	if err != nil {
		diags.Errorf(diag.BadModel, diag.Pos{}, "%v", err)
	}
	return append(files, contract.File{Path: agentsPath, Data: append([]byte("# Written by modec. Thurbox starts each agent in the project's folder.\n\n"), text...)}), diags
}

// ours makes the losses of Claude Code's flags losses of this target: what a
// hook would hold, the settings file of agents.toml holds.
func ours(list diag.List) diag.List {
	for i := range list {
		list[i].Target = "thurbox"
		if _, rest, ok := strings.Cut(list[i].Hint, "turn hooks on, "); ok {
			list[i].Hint = "use agents.toml, " + rest
		}
	}
	return list
}

// Agent is Thurbox.
func (thurbox) Agent() contract.Agent {
	return contract.Agent{Name: "Thurbox", Programs: []string{"thurbox"}}
}
