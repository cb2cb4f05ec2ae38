// Package model answers what Codex does with an action, from the files that a build wrote: the configuration of a
// session, and modec's hook that it asks.
//
// It stands apart from the emitter: how Codex decides comes from codex-cli 0.169.0 itself, against which the recorded
// sessions of the end-to-end tests hold it. Where something is left open, the reading counts by which more is
// permitted. The hook is not modelled: the one that the files name runs, on the policy that its line names.
package model

import (
	"io/fs"
	"path"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/codex/format"
)

// Governs returns the halves of a decision that a file governs: the configuration of a session both, and that of the
// project those of its servers.
func Governs(file string, g ir.Group) contract.Halves {
	switch {
	case contract.IsSession(file):
		return contract.Both
	case file == format.ConfigFile && g == ir.MCP:
		return contract.Both
	}
	return contract.Neither
}

// The codes of what the model finds.
const (
	codeBad     diag.Code = "bad-codex-config"
	codeIgnored diag.Code = "codex-ignored"
)

// Hook is the entry point that `modec hook codex` runs.
type Hook func(contract.HookRequest) contract.HookAnswer

// decider decides as Codex does in a terminal, with somebody there to answer.
type decider struct {
	surface  string
	sessions map[ir.SubjectRef]*session
	agents   map[string]*format.Agent // by the slug of their modes
	disk     contract.Disk
	hook     Hook
}

// session is what Codex is started with.
type session struct {
	*format.Config
	file  string
	hooks map[string][]*hookEntry // by event
	// required is what an administrator requires, nil for nothing.
	required *format.Requirements
}

// Open reads the configurations of sessions and the agents.
func Open(fsys fs.FS, _ contract.Options, hook Hook) ([]contract.Decider, diag.List) {
	d := &decider{sessions: map[ir.SubjectRef]*session{}, agents: map[string]*format.Agent{}, hook: hook,
		disk: contract.ModelDisk(root)}
	r := reader{fsys: fsys, decider: d, policy: contract.NewHookPolicy(fsys, "codex")}
	r.readSessions()
	r.readAgents()
	if len(d.sessions) == 0 {
		return nil, r.diags
	}
	if under := r.readRequired(); under != nil {
		return []contract.Decider{d, under}, r.diags
	}
	return []contract.Decider{d}, r.diags
}

// reader reads the artifacts below a folder.
type reader struct {
	fsys fs.FS
	*decider
	policy *contract.HookPolicy
	diags  diag.List
}

func (r *reader) ignored(at diag.Pos, message string, args ...any) {
	r.diags.Warnf(codeIgnored, at, message, args...).
		Hint("`modec build` rewrites what it wrote").
		Target("codex")
}

func (r *reader) readSessions() {
	files, _ := fs.Glob(r.fsys, contract.SessionPath("codex", "*.toml"))
	for _, file := range files {
		ref, ok := format.FileSubject(file)
		if !ok {
			continue
		}
		data, err := fs.ReadFile(r.fsys, file)
		var c *format.Config
		if err == nil {
			c, err = format.ReadConfig(file, data)
		}
		if err != nil {
			r.diags.Warnf(codeBad, diag.Pos{File: file}, "Codex does not start with this configuration: %v", err).
				Hint("`modec build` rewrites what it wrote").
				Target("codex")
			continue
		}
		r.sessions[ref] = &session{Config: c, file: file, hooks: r.hooksOf(c)}
	}
}

func (r *reader) readAgents() {
	files, _ := fs.Glob(r.fsys, format.AgentsDir+"/*.toml")
	for _, file := range files {
		data, err := fs.ReadFile(r.fsys, file)
		if err != nil {
			continue
		}
		a, err := format.ReadAgent(file, data)
		if err != nil {
			mode := ir.SubjectRef{Mode: contract.Slug(strings.TrimSuffix(path.Base(file), path.Ext(file)))}
			if _, none := fs.Stat(r.fsys, format.SubjectFile(mode)); none != nil {
				continue // people's own
			}
			r.ignored(diag.Pos{File: file}, "Codex does not have this agent: %v", err)
			continue
		}
		if slug := contract.Slug(a.Name); slug != "" {
			r.agents[slug] = a
		}
	}
}

func (d *decider) Surface() string { return d.surface }

func (d *decider) Assumes() []string {
	if d.surface == required {
		return assumesRequired
	}
	return assumes
}

var assumes = []string{
	"a session of a role or a mode is started by `modec run`, with its configuration as options, " +
		"in a folder that is untrusted for it",
	"no configuration of the user's own has an approval_policy, and no rule of theirs allows a command: " +
		"`modec run` looks for both",
	"no server of the user's own has the name of one in the source",
	"modec is on the PATH of Codex, and no administrator turns its hooks off (requirements.toml)",
	"no path of the project is a link",
}

// Contains reports whether something restricts a session of a subject.
func (d *decider) Contains(ref ir.SubjectRef) bool {
	s := d.sessionOf(ref)
	if s == nil || ref.Role == "" || ref.Mode == "" {
		return s != nil && s.restricts()
	}
	return s.restricts() && s.Agents && d.agents[ref.Mode] != nil
}

// sessionOf returns the session in which a subject works, nil for none.
func (d *decider) sessionOf(ref ir.SubjectRef) *session {
	if ref.Role != "" {
		return d.sessions[ir.SubjectRef{Role: ref.Role}]
	}
	return d.sessions[ref]
}

// restricts reports whether a configuration says more than what a session is told.
func (s *session) restricts() bool { return s.Sandbox != format.NoSandbox }

// judged returns the hooks of all events.
func (s *session) judged() (all []*contract.JudgedHook) {
	for _, event := range hookEvents {
		for _, h := range s.hooks[event] {
			all = append(all, &h.JudgedHook)
		}
	}
	return all
}

// root is where the model places the project.
const root = "/home/person/project"
