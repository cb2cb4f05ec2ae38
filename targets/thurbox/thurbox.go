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
//     nothing of roles: a command with arguments. It names the settings file,
//     and is exact.
//
// # What is lost in set_roles
//
// Thurbox joins rules with commas when it stores them and splits at every comma
// when it reads: a rule with a comma would be torn. An allow with one is left
// out; a deny with one becomes the whole tool. It joins rules by spaces on the
// command line, which Claude Code splits outside of parentheses only. A name is
// at most 64 bytes. An omitted permission mode is "default", so it is always
// written.
package thurbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/target"
	"modec.dev/modec/targets/claude"
)

type thurbox struct{}

// New returns the target.
func New() target.Target { return thurbox{} }

func (thurbox) Name() string    { return "thurbox" }
func (thurbox) Summary() string { return "Thurbox: roles as set_roles JSON and as agents" }

func (thurbox) Options() []target.Option {
	return []target.Option{
		{Name: "project", Type: target.String, Doc: "The Thurbox project of the set_roles call. Default: the project's name."},
	}
}

func (thurbox) Owns() []string { return []string{rolesPath, agentsPath} }

const (
	rolesPath  = ".thurbox/set_roles.json"
	agentsPath = ".thurbox/agents.toml"
)

// Governs: both hold through Claude Code's own decision.
func (thurbox) Governs(path string, g ir.Group) target.Halves { return target.Both }

func (thurbox) Codes() []diag.Doc {
	return []diag.Doc{
		{Code: "thurbox-comma", Text: "Thurbox tears a rule apart at every comma when it reads its database. An allow with a comma is left out; for a deny with a comma the whole tool is denied. agents.toml names the settings file, which carries both."},
		{Code: "thurbox-no-roles", Text: "The source has no roles, and a Thurbox role is all that this target emits. An empty set_roles call would delete the roles of the project, so that nothing is written."},
		{Code: "thurbox-name", Text: "Thurbox limits a role's name to 64 bytes, not characters. The role is left out of set_roles. Shorten the name."},
	}
}

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

type agent struct {
	Name    string   `toml:"name"`
	Command string   `toml:"command"`
	Args    []string `toml:"args,multiline"`
}

// Emit compiles every role both ways.
func (t thurbox) Emit(in target.Input) ([]target.File, diag.List) {
	var diags diag.List
	if len(in.Project.Roles) == 0 { // an empty set_roles would delete a project's roles
		return nil, diag.List{{Severity: diag.Warning, Code: "thurbox-no-roles", Pos: diag.Pos{File: "modec.toml"}, Target: "thurbox", Message: "got no roles: nothing is emitted"}}
	}
	roles, list := []roleInput{}, agents{Agents: []agent{}}
	for i := range in.Project.Roles {
		r := &in.Project.Roles[i]
		lost := func(code, message, hint string) {
			diags = append(diags, diag.Diagnostic{Severity: diag.Warning, Code: code, Pos: r.Pos, Message: message, Hint: hint, Target: "thurbox", Subject: "role " + r.Name, Loss: diag.Narrowing})
		}
		withHooks := in
		withHooks.Options = target.NewOptions(claude.New().Options(), nil, nil)
		args, more := claude.New().(target.Launcher).Args(withHooks, ir.SubjectRef{Role: r.Name}, target.ArgsOptions{})
		diags = append(diags, ours(more)...)
		list.Agents = append(list.Agents, agent{Name: r.Name, Command: "claude", Args: args})

		if len(r.Name) > 64 {
			lost("thurbox-name", fmt.Sprintf("the name has %d bytes and Thurbox takes 64: the role is left out of set_roles", len(r.Name)), "shorten the name")
			continue
		}
		f, more := claude.RoleFlags(in, r)
		diags = append(diags, ours(more)...)
		out := roleInput{Name: r.Name, Description: r.Description, PermissionMode: f.PermissionMode, Tools: f.Tools, AppendSystemPrompt: f.AppendSystemPrompt, Env: f.Env}
		for _, a := range f.Allowed {
			if strings.Contains(a, ",") {
				lost("thurbox-comma", fmt.Sprintf("the rule %q has a comma, at which Thurbox tears it: it is left out", a), "use agents.toml")
				continue
			}
			out.AllowedTools = append(out.AllowedTools, a)
		}
		for _, d := range f.Disallowed {
			if strings.Contains(d, ",") {
				tool, _, _ := strings.Cut(d, "(")
				lost("thurbox-comma", fmt.Sprintf("the rule %q has a comma, at which Thurbox tears it: the whole tool is denied", d), "use agents.toml")
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
		diags.Errorf(diag.Pos{}, "bad-model", "", "%v", err)
	}
	text, err := toml.Marshal(list)
	if err != nil {
		diags.Errorf(diag.Pos{}, "bad-model", "", "%v", err)
	}
	return []target.File{{Path: rolesPath, Data: b.Bytes()}, {Path: agentsPath, Data: append([]byte("# Written by modec. Thurbox starts each agent in the project's folder.\n\n"), text...)}}, diags
}

// ours makes the losses of Claude Code's flags losses of this target.
func ours(list diag.List) diag.List {
	for i := range list {
		list[i].Target = "thurbox"
	}
	return list
}
