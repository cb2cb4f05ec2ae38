// Package thurbox emits roles for Thurbox, through the Claude Code flags that it would build
// of them.
//
// [New] returns the target, which also imports Thurbox's roles and judges its artifacts.
//
// Sources: Thurbeen/thurbox at 235d4f71 (src/session/mod.rs, src/claude/backend.rs, schema
// v8) and its later docs/AGENTS.md.
//
// Two artifacts, for two ages of the program:
//
//   - .thurbox/set_roles.json, the arguments of the MCP tool set_roles, for versions that
//     have roles (schema v2 to v22; env since v8). A role is flags only: no rule to ask
//     about, no hook, so that what only those hold back is left out, as a loss.
//   - .thurbox/agents.toml, [[agents]] for versions since v23, which do not have roles: a
//     command with arguments, to be copied into ~/.config/thurbox/agents.toml. It is `modec run
//     ROLE -- claude`, and as exact as that session.
//
// # What is lost in set_roles
//
// Thurbox joins rules with commas when it stores them and cuts at every comma when it
// reads: a rule with a comma would be torn. An allow with one is left out; a deny of paths with
// one has a wildcard there, and any other becomes all tools of its group. It joins rules by
// spaces on the command line, which Claude Code cuts outside of parentheses only. A name has at
// most 64 bytes. An omitted permission mode is "default", which is not written.
//
// # What is lost in agents.toml
//
// Thurbox's own hooks extension appends arguments to agents by their name: to claude, and to
// any with hook_schema = "claude", a --settings of its own, with which `modec run` starts
// nothing. hook_schema is never written.
package thurbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude"
	"modec.dev/modec/targets/thurbox/format"
)

func (thurbox) Name() string    { return "thurbox" }
func (thurbox) Summary() string { return "Thurbox: roles as set_roles JSON and as agents" }

func (thurbox) Options() []contract.Option {
	return []contract.Option{
		{Name: "project", Type: contract.String,
			Doc: "The Thurbox project of the set_roles call. Default: the project's name."},
	}
}

func (thurbox) Owns() []string { return []string{format.RolesPath, format.AgentsPath} }

// Shares returns the target whose settings of the project hold in every session that
// Thurbox starts from set_roles.
func (thurbox) Shares() string { return "claude" }

// HasPermissionModes marks that a role's permission mode is Claude Code's own.
func (thurbox) HasPermissionModes() {}

// Governs returns both halves: they hold through Claude Code's own decision.
func (thurbox) Governs(string, ir.Group) contract.Halves { return contract.Both }

// Agent returns Thurbox's command line.
func (thurbox) Agent() contract.Agent {
	return contract.Agent{Name: "Thurbox", Programs: []string{"thurbox"}}
}

func newAgent(role string) format.Agent {
	return format.Agent{
		Name: role, Command: "modec", Args: format.RunArgs(role),
		ResumeArgs:     []string{"--resume", "{id}"},
		ForkArgs:       []string{"--resume", "{id}", "--fork-session"},
		NewSessionArgs: []string{"--session-id", "{id}"},
	}
}

// emitter compiles roles for both artifacts.
type emitter struct {
	in     contract.Input
	diags  diag.List
	roles  []format.Role
	agents format.Agents
}

// Emit compiles every role for both artifacts.
func (thurbox) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := &emitter{in: in, roles: []format.Role{}, agents: format.Agents{Agents: []format.Agent{}}}
	modecTOML := diag.Pos{File: "modec.toml"}
	if len(in.Project.Roles) == 0 { // an empty set_roles would delete a project's roles
		e.diags.Warnf(codeNoRoles, modecTOML, "the source has no roles: nothing is emitted").
			Target("thurbox")
		return nil, e.diags
	}
	for i := range in.Project.Roles {
		e.agent(&in.Project.Roles[i])
		e.role(&in.Project.Roles[i])
	}
	return []contract.File{{Path: format.RolesPath, Data: e.setRoles()},
		{Path: format.AgentsPath, Data: e.agentsTOML()}}, e.diags
}

// loss reports what a role loses.
func (e *emitter) loss(r *ir.Role, code diag.Code, text string, args ...any) diag.Builder {
	return e.diags.Warnf(code, r.Pos, text, args...).
		Target("thurbox").
		Subject("role "+r.Name).
		Loses(diag.Narrowing, "")
}

// inherit reports losses of Claude Code's flags as those of this target.
func (e *emitter) inherit(losses diag.List) {
	for _, d := range losses {
		d.Target = "thurbox"
		e.diags = append(e.diags, d)
	}
}

// agent adds a role to agents.toml.
func (e *emitter) agent(r *ir.Role) {
	if !slices.Contains(e.in.Beside, "claude") || !e.in.AlsoFor("thurbox", "claude", r.Name) {
		e.loss(r, codeNoClaude, "the role is not for Claude Code, which the agents of agents.toml start: it is left "+
			"out there").
			Hint("add [targets.claude], and \"claude\" to the role's targets")
		return
	}
	e.agents.Agents = append(e.agents.Agents, newAgent(r.Name))
}

// role adds a role to set_roles.json.
func (e *emitter) role(r *ir.Role) {
	if len(r.Name) > format.MostName {
		e.loss(r, codeName, "the name has %d bytes and Thurbox takes %d: the role is left out of set_roles",
			len(r.Name), format.MostName).
			Hint("shorten the name")
		return
	}
	f, losses := claude.RoleFlags(e.in, r, claude.FlagOptions{HookRemedy: "use agents.toml"})
	e.inherit(losses)
	out := format.Role{
		Name: r.Name, Description: r.Description, PermissionMode: f.PermissionMode, Tools: f.Tools,
		AppendSystemPrompt: f.AppendSystemPrompt, Env: f.Env,
	}
	if out.PermissionMode == format.DefaultMode {
		out.PermissionMode = ""
	}
	for _, a := range f.Allowed {
		if strings.Contains(a, ",") {
			e.loss(r, codeComma, "the rule %q has a comma, at which Thurbox tears it: it is left out", a).
				Hint("use agents.toml")
			continue
		}
		out.AllowedTools = append(out.AllowedTools, a)
	}
	for _, d := range f.Disallowed {
		whole := claude.Without(",", d)
		if strings.Contains(d, ",") {
			e.loss(r, codeComma, "the rule %q has a comma, at which Thurbox tears it: denied instead: %s", d,
				strings.Join(whole, ", ")).
				Hint("use agents.toml")
		}
		out.DisallowedTools = claude.Join(out.DisallowedTools, whole)
	}
	e.roles = append(e.roles, out)
}

// setRoles returns the arguments of set_roles.
func (e *emitter) setRoles() []byte {
	var b bytes.Buffer
	j := json.NewEncoder(&b)
	j.SetEscapeHTML(false)
	j.SetIndent("", "  ")
	project := cmp.Or(e.in.Options.String("project"), e.in.Project.Name)
	if err := j.Encode(map[string]any{"project": project, "roles": e.roles}); err != nil {
		e.diags.Errorf(diag.BadModel, diag.Pos{}, "%v", err)
	}
	return b.Bytes()
}

func (e *emitter) agentsTOML() []byte {
	text, err := toml.Marshal(e.agents)
	if err != nil {
		e.diags.Errorf(diag.BadModel, diag.Pos{}, "%v", err)
	}
	return append([]byte("# Written by modec. Thurbox starts each agent in the project's folder.\n\n"), text...)
}
