// Package model answers what GitHub's Copilot CLI does with an action, from the files that a build wrote: what a
// session is started with, an agent's list of tools, and modec's hook that both ask.
//
// It stands apart from the emitter: how Copilot decides comes from Copilot CLI 1.0.102 itself, against which the
// recorded sessions of the end-to-end tests hold it. Where something is left open, the reading counts by which more is
// permitted. The hook is not modelled: the one that the files name runs, on the policy that its line names.
package model

import (
	"io/fs"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/copilot/format"
)

// Governs returns the halves of a decision that a file governs: a session and an agent both, and the list of servers
// those of its servers.
func Governs(file string, g ir.Group) contract.Halves {
	switch {
	case contract.IsSession(file), strings.HasPrefix(file, format.AgentsDir+"/"):
		return contract.Both
	case file == format.ServersFile && g == ir.MCP:
		return contract.Access
	}
	return contract.Neither
}

// The codes of what the model finds.
const (
	codeBad     diag.Code = "bad-copilot-session"
	codeIgnored diag.Code = "copilot-ignored"
)

// Hook is the entry point that `modec hook copilot` runs.
type Hook func(contract.HookRequest) contract.HookAnswer

// The surfaces: sessions that `modec run` starts, and agents to which a person turns in a session of their own.
const (
	sessions = format.SessionSurface
	agents   = format.AgentSurface
)

// decider decides as Copilot does in a terminal, with somebody there to answer.
type decider struct {
	surface string
	setups  map[ir.SubjectRef]*setup
	disk    contract.Disk
	hook    Hook
	off     *contract.Lack // why no hook runs
}

// setup is what Copilot works with: a session or an agent.
type setup struct {
	file    string
	session *format.Session // nil for an agent
	agent   *format.Agent   // nil for a session
	hooks   []*hookEntry
}

// Open reads the sessions and the agents.
func Open(fsys fs.FS, _ contract.Options, hook Hook) ([]contract.Decider, diag.List) {
	r := reader{fsys: fsys, policy: contract.NewHookPolicy(fsys, "copilot")}
	off := r.hooksOff()
	var list []contract.Decider
	for _, surface := range []string{sessions, agents} {
		d := &decider{surface: surface, setups: map[ir.SubjectRef]*setup{}, hook: hook, disk: contract.ModelDisk(root),
			off: off}
		if surface == sessions {
			r.readSessions(d)
		} else {
			r.readAgents(d)
		}
		if len(d.setups) > 0 {
			list = append(list, d)
		}
	}
	return list, r.diags
}

// reader reads the artifacts below a folder.
type reader struct {
	fsys   fs.FS
	policy *contract.HookPolicy
	diags  diag.List
}

func (r *reader) ignored(at diag.Pos, message string, args ...any) {
	r.diags.Warnf(codeIgnored, at, message, args...).
		Hint("`modec build` rewrites what it wrote").
		Target("copilot")
}

func (r *reader) readSessions(d *decider) {
	files, _ := fs.Glob(r.fsys, contract.SessionPath("copilot", "*.json"))
	for _, file := range files {
		ref, ok := format.FileSubject(file)
		if !ok {
			continue
		}
		data, err := fs.ReadFile(r.fsys, file)
		var s *format.Session
		if err == nil {
			s, err = format.ReadSession(file, data)
		}
		if err != nil {
			r.diags.Warnf(codeBad, diag.Pos{File: file}, "no session is started with this file: %v", err).
				Hint("`modec build` rewrites what it wrote").
				Target("copilot")
			continue
		}
		d.setups[ref] = &setup{file: file, session: s, hooks: r.hooksOf(s.Hooks)}
	}
}

func (r *reader) readAgents(d *decider) {
	for _, file := range format.AgentFiles(r.fsys, format.AgentsDir) {
		data, err := fs.ReadFile(r.fsys, file)
		if err != nil {
			continue
		}
		a, err := format.ReadAgent(file, data)
		if err != nil {
			r.ignored(diag.Pos{File: file}, "Copilot does not have this agent: %v", err)
			continue
		}
		slug := format.AgentID(strings.TrimPrefix(file, format.AgentsDir+"/"))
		d.setups[ir.SubjectRef{Mode: slug}] = &setup{file: file, agent: a, hooks: r.hooksOf(a.Hooks)}
	}
}

// hooksOff returns what turns every hook off in a folder that a person trusts, nil for nothing.
func (r *reader) hooksOff() *contract.Lack {
	for _, file := range format.Settings {
		data, err := fs.ReadFile(r.fsys, file)
		if err != nil {
			continue
		}
		if v, err := located.JSONC(file, data); err == nil && v.Get(format.HooksOff).True() {
			return &contract.Lack{Why: format.HooksOff + " turns every hook off", At: v.Get(format.HooksOff).Pos}
		}
	}
	return nil
}

func (d *decider) Surface() string { return d.surface }

func (d *decider) Assumes() []string { return assumes[d.surface] }

const noOther = "no hook of the project's own changes a call behind modec's (modifiedArgs), where the person trusts " +
	"the folder"

const onPath = "modec is on the PATH of Copilot, which runs the lines of hooks by a POSIX shell, and no " +
	"administrator turns hooks off"

var assumes = map[string][]string{
	sessions: {
		"a session of a role or a mode is started by `modec run`, with a folder in the place of the user's own",
		noOther,
		onPath,
		"no path of the project is a link",
	},
	agents: {
		"the folder is among those that the person trusts: else Copilot runs no hook of an agent, and does not say so",
		"no agent of the user's own has the name of a mode: it would stand above that of the project",
		"no option of the person's own allows more (--allow-tool, --allow-all)",
		onPath,
		"no path of the project is a link",
	},
}

// Contains reports whether something restricts a subject.
func (d *decider) Contains(ref ir.SubjectRef) bool {
	s := d.setupOf(ref)
	if s == nil || !s.restricts() {
		return false
	}
	return ref.Role == "" || ref.Mode == "" || !s.hides(format.Task)
}

// setupOf returns the session or the agent in which a subject works, nil for none.
func (d *decider) setupOf(ref ir.SubjectRef) *setup {
	if ref.Role != "" {
		return d.setups[ir.SubjectRef{Role: ref.Role}]
	}
	return d.setups[ref]
}

// restricts reports whether a session or an agent says more than what it is told.
func (s *setup) restricts() bool {
	if s.agent != nil {
		return s.agent.Listed || len(s.hooks) > 0
	}
	return s.session.URLs || len(s.session.Only)+len(s.session.Without)+len(s.session.Allowed)+len(s.hooks) > 0
}

// judged returns the hooks.
func (s *setup) judged() (all []*contract.JudgedHook) {
	for _, h := range s.hooks {
		all = append(all, &h.JudgedHook)
	}
	return all
}

// root is where the model places the project.
const root = "/home/person/project"
