// Package model decides as Thurbox does, which is as the sessions of Claude Code that it
// starts: Thurbox itself decides nothing.
//
// [Open] reads the artifacts, and [Alone] does without any. The sessions are judged by Claude Code's own model.
package model

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	claude "modec.dev/modec/targets/claude/model"
	"modec.dev/modec/targets/thurbox/format"
)

const codeIgnored diag.Code = "thurbox-ignored"

// decider answers for the sessions that Thurbox starts from one of the artifacts.
type decider struct {
	surface  string
	assumes  []string
	fsys     fs.FS
	diags    diag.List
	sessions map[string]*claude.Session // by role
}

// artifacts are the two surfaces of Thurbox, which are those of two ages of the program.
var artifacts = []struct {
	path, surface string
	assumes       []string
	read          func(*decider, []byte)
}{
	{format.RolesPath, "set_roles", []string{
		"a Thurbox with roles (schema v2 to v22), which stores rules joined by commas",
		"an MCP server of the project is connected as .mcp.json has it, and the user may have more",
	}, (*decider).roles},
	{format.AgentsPath, "agents", []string{
		"a Thurbox without roles (schema v23 and later), without an agent patch for these names",
	}, (*decider).agents},
}

// Open reads set_roles.json and agents.toml, and judges the command lines of claude that
// Thurbox builds of them.
func Open(fsys fs.FS) ([]contract.Decider, diag.List) {
	var deciders []contract.Decider
	var diags diag.List
	for _, a := range artifacts {
		data, err := fs.ReadFile(fsys, a.path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				diags.Warnf(codeIgnored, diag.Pos{File: a.path}, "modec cannot read the file, and judges without: %v",
					diag.Reason(fsys, a.path, err))
			}
			continue
		}
		d := &decider{surface: a.surface, assumes: a.assumes, fsys: fsys, sessions: map[string]*claude.Session{}}
		a.read(d, data)
		diags = append(diags, d.diags...)
		if len(d.sessions) > 0 {
			deciders = append(deciders, d)
		}
	}
	diags.Sort()
	return deciders, diags
}

// Lists returns the files of those below fsys from which sessions of a role start servers: an agent has the role's
// list, a role of set_roles the project's.
func Lists(fsys fs.FS, role string) []string {
	return append(claude.Lists(fsys, role), claude.Lists(fsys, "")...)
}

// Alone returns a decider for each artifact over the sessions that Thurbox starts of roles
// without rules, in a project without settings.
func Alone(p *ir.Project) []contract.Decider {
	var deciders []contract.Decider
	for _, a := range artifacts {
		d := &decider{surface: a.surface, fsys: memfs.FS{}, sessions: map[string]*claude.Session{}}
		for i := range p.Roles {
			quiet := format.Role{PermissionMode: p.Roles[i].PermissionMode}
			d.open(p.Roles[i].Name, quiet.Args(), diag.Pos{File: a.path})
		}
		deciders = append(deciders, d)
	}
	return deciders
}

func (d *decider) Surface() string   { return d.surface }
func (d *decider) Assumes() []string { return d.assumes }

// Decide answers for roles. Thurbox has no modes.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	if s := d.sessions[ref.Role]; s != nil && ref.Mode == "" {
		return s.Decide(a)
	}
	return contract.Verdict{}
}

// Languages returns what decides in the sessions of a role.
func (d *decider) Languages(ref ir.SubjectRef, of policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	if s := d.sessions[ref.Role]; s != nil && ref.Mode == "" {
		return s.Languages(of, sp)
	}
	return nil, nil
}

// ToolName returns a tool's name as Claude Code has it.
func (d *decider) ToolName(name string) string { return claude.ToolName(name) }

// KnownPrograms returns those of Claude Code.
func (d *decider) KnownPrograms() []string { return claude.KnownPrograms() }

// Contains reports whether Thurbox starts a session of a subject.
func (d *decider) Contains(ref ir.SubjectRef) bool {
	return d.sessions[ref.Role] != nil && ref.Mode == ""
}

// roles reads the arguments of set_roles. The last role of a name holds.
func (d *decider) roles(data []byte) {
	v, err := located.JSON(format.RolesPath, data)
	if err != nil {
		d.warn(diag.Pos{File: format.RolesPath}, "Thurbox does not load the arguments of set_roles: %v", err)
		return
	}
	for _, item := range v.Get("roles").List() {
		r, ok := format.ReadRole(item)
		if !ok {
			d.warn(item.Line(), "set_roles refuses a role without a name")
			continue
		}
		d.open(r.Name, r.Args(), item.Line())
	}
}

// agents reads [[agents]]. An agent that modec starts as the role of its name is one of Claude Code's own sessions; one
// that runs anything but claude else is not judged.
func (d *decider) agents(data []byte) {
	var file format.Agents
	at := diag.Pos{File: format.AgentsPath}
	if err := toml.Unmarshal(data, &file); err != nil {
		var syntax *toml.DecodeError
		if errors.As(err, &syntax) {
			at.Line, at.Col = syntax.Position()
		}
		d.warn(at, "Thurbox does not load the agents: %v", err)
		return
	}
	for _, a := range file.Agents {
		switch {
		case a.Command == "modec" && slices.Equal(a.Args, format.RunArgs(a.Name)):
			continue
		case a.Command == "modec":
			d.diags.Errorf(diag.ForeignWidening, at, "modec %s does not start the agent %q as the role of its name",
				strings.Join(a.Args, " "), a.Name).
				Hint("`modec build --force` writes the file again").
				Target("thurbox")
			continue
		case a.Command != "claude":
			d.warn(at, "the agent %q runs %q, want claude, or modec %s", a.Name, a.Command,
				strings.Join(format.RunArgs(a.Name), " "))
			continue
		}
		d.open(a.Name, a.Args, at)
	}
}

func (d *decider) open(name string, args []string, at diag.Pos) {
	s, diags, err := claude.OpenArgs(d.fsys, args, at)
	d.diags = append(d.diags, diags...)
	if err != nil {
		d.warn(at, "claude does not start with the arguments of %q: %v", name, err)
		return
	}
	d.sessions[name] = s.As(name)
}

func (d *decider) warn(at diag.Pos, text string, args ...any) {
	d.diags.Warnf(codeIgnored, at, text, args...)
}
