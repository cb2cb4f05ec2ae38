// Package model decides as Claude Code would, from its files alone.
//
// [Open] reads the artifacts of a project, [OpenArgs] a command line. [OpenOver] and
// [OpenArgsOver] do the same for what an import has read. Of a hook the model checks the
// line, and then runs the hook's real entry point on the policy file that was emitted.
//
// The package promises independence: it shares the format's parser with the emitter and
// nothing else, so that a mistake of one does not hide a mistake of the other. Where
// Claude Code's behaviour was observed (2.1.329), the comment says so.
package model

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
)

const codeIgnored diag.Code = "claude-ignored"

// Codes documents the codes that the package reports.
func Codes() []diag.Doc {
	return []diag.Doc{{Code: codeIgnored, Text: "modec verify read the artifacts as Claude Code does, and Claude " +
		"Code would leave this part out: a rule that it does not parse or never matches, a file that does not " +
		"load, a hook that is not modec's. What this part seems to hold back is not held back. Build again, or " +
		"correct the file if it is yours."}}
}

// root and home are the folders in which the model takes the project and the user to be.
const (
	root = "/project"
	home = "/home/somebody"
)

// opener reads the artifacts of a project.
type opener struct {
	fsys    fs.FS
	diags   diag.List
	engines map[string]*policy.Engine // by the path of the policy; nil where it cannot be used
	shared  []*settings               // under those of every session
	servers []string                  // of .mcp.json, as the agent writes them
}

func newOpener(fsys fs.FS) *opener {
	return &opener{fsys: fsys, engines: map[string]*policy.Engine{}}
}

// decider answers for the sessions that the artifacts describe. A role is a session with
// its settings file, a mode a session that runs as its subagent, and a role in a mode
// both at once.
type decider map[ir.SubjectRef]*session

// Open reads what Claude Code reads: the settings and servers of each role, the
// subagents, .mcp.json, and the project's own settings beside them.
func Open(fsys fs.FS) ([]contract.Decider, diag.List) {
	o := newOpener(fsys)
	o.projectSettings(func(string) bool { return true })
	d := o.decider()
	return []contract.Decider{d}, o.diags
}

// OpenOver reads artifacts and puts the settings of some layers under those of every
// session, in place of the project's own. Hooks of the layers do not count: what somebody
// else's hook answers is not known.
func OpenOver(fsys fs.FS, layers []format.Layer) contract.Decider {
	o := newOpener(fsys)
	o.layers(layers)
	return o.decider()
}

// projectSettings reads the project's settings files, of the sources that are read.
func (o *opener) projectSettings(reads func(source string) bool) {
	for _, f := range format.SettingsFiles {
		if data := o.read(f.Path); data != nil && reads(f.Source) {
			if s := o.settings(f.Path, data, root, ofProject); s != nil {
				o.shared = append(o.shared, s)
			}
		}
	}
}

// layers reads settings files that an import has found.
func (o *opener) layers(layers []format.Layer) {
	for _, l := range layers {
		base, owner := root, ofProject
		if !l.Project {
			base, owner = path.Join(home, ".claude"), ofUser
		}
		if s := o.settings(l.File, l.Data, base, owner); s != nil {
			s.hooks = nil
			o.shared = append(o.shared, s)
		}
	}
}

// decider joins what was opened into sessions.
func (o *opener) decider() decider {
	o.servers = o.serverNames(format.ProjectServers)
	roles, modes := o.roles(), o.modes()
	d := decider{}
	for role, s := range roles {
		d[ir.SubjectRef{Role: role}] = o.session(s, nil)
		for mode, a := range modes {
			d[ir.SubjectRef{Role: role, Mode: mode}] = o.session(s, a)
		}
	}
	for mode, a := range modes {
		d[ir.SubjectRef{Mode: mode}] = o.session(nil, a)
	}
	o.diags.Sort()
	return d
}

// roles reads the settings and servers of each role.
func (o *opener) roles() map[string]*settings {
	roles := map[string]*settings{}
	files, _ := fs.Glob(o.fsys, ".claude/modec/*.settings.json")
	for _, name := range files {
		base := strings.TrimSuffix(name, ".settings.json")
		role, ok := format.SubjectName(path.Base(base))
		data := o.read(name)
		if !ok || data == nil {
			continue
		}
		s := o.settings(name, data, path.Join(root, path.Dir(name)), ofUser)
		if s == nil {
			s = &settings{file: name} // the session then runs without it
		}
		if own := base + ".mcp.json"; o.exists(own) {
			s.strict, s.servers = true, o.serverNames(own)
		}
		roles[role] = s
	}
	return roles
}

func (o *opener) modes() map[string]*agent {
	modes := map[string]*agent{}
	for _, name := range o.agentFiles() {
		if a := o.agent(name, o.read(name)); a != nil {
			modes[a.name] = a
		}
	}
	return modes
}

func (o *opener) agentFiles() []string {
	files, _ := fs.Glob(o.fsys, format.AgentsFolder+"/*.md")
	return files
}

func (decider) Surface() string { return "" }

func (decider) Assumes() []string {
	return []string{
		"Claude Code 2.1.329 on Linux or macOS, without managed settings and without settings of the user's own",
		"a role is started with its settings file and, where it has one, its own list of servers (modec args " +
			"ROLE); a shorter list of built-in tools (tools) is not counted",
		"a person has trusted the project's folder: otherwise a mode's hook does not run at all, and the allow " +
			"rules of .claude/settings.json do not hold (claude -p never asks for trust)",
		"modec is on the path wherever a hook calls it",
		"an MCP tool that the plan mode runs by its rule is one that its server calls read-only",
		"a prompt of an MCP server is started by a person, not by the agent",
	}
}

// Decide returns what becomes of an action in the session of a subject.
func (d decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	s := d[ref]
	if s == nil {
		return contract.Verdict{}
	}
	return s.verdict(a)
}

// Session decides for one session.
type Session struct{ s *session }

// Decide returns what becomes of an action in the session.
func (s *Session) Decide(a policy.Action) contract.Verdict { return s.s.verdict(a) }

func (o *opener) warn(p diag.Pos, format string, args ...any) {
	o.diags.Warnf(codeIgnored, p, format, args...)
}

func (o *opener) exists(name string) bool {
	_, err := fs.Stat(o.fsys, name)
	return err == nil
}

// read returns a file, nil for one that is not there.
func (o *opener) read(name string) []byte {
	data, err := fs.ReadFile(o.fsys, name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			o.warn(diag.Pos{File: name}, "Claude Code cannot read the file: %v", err)
		}
		return nil
	}
	if data == nil {
		data = []byte{}
	}
	return data
}

// serverNames returns the servers of a list as they stand in mcp__SERVER__TOOL.
func (o *opener) serverNames(name string) []string {
	data := o.read(name)
	if data == nil {
		return nil
	}
	return o.serversIn(name, data)
}

func (o *opener) serversIn(name string, data []byte) []string {
	v, err := located.JSON(name, data)
	if err != nil {
		o.warn(diag.Pos{File: name}, "Claude Code does not load the list of servers: %v", err)
		return nil
	}
	var names []string
	for _, m := range v.Get("mcpServers").Fields() {
		names = append(names, toolName(m.Key))
	}
	return names
}

// engine returns the policy that a hook reads, nil where it cannot.
func (o *opener) engine(name string) *policy.Engine {
	if e, ok := o.engines[name]; ok {
		return e
	}
	o.engines[name] = nil
	if data := o.read(name); data != nil {
		p, err := ir.Unmarshal(bytes.NewReader(data))
		if err != nil {
			o.warn(diag.Pos{File: name}, "the hook does not load the policy: %v", err)
			return nil
		}
		o.engines[name] = policy.New(p)
	}
	return o.engines[name]
}

// session joins what holds in one session.
func (o *opener) session(role *settings, mode *agent) *session {
	s := newSession(diag.Pos{})
	layers := slices.Clone(o.shared)
	if role != nil {
		layers = append(layers, role)
	}
	agent := ""
	for _, l := range layers {
		s.add(l)
		s.at = cmp.Or(s.at, diag.Pos{File: l.file})
		agent = cmp.Or(l.agent, agent)
	}
	s.servers = o.servers
	if role != nil {
		s.at = diag.Pos{File: role.file}
		if role.strict {
			s.servers, s.strict = role.servers, true
		}
	}
	switch {
	case mode != nil:
		s.at = mode.at
		s.enter(mode)
	case agent != "":
		o.asAgent(s, agent)
	}
	if role == nil {
		s.bare = contract.Access
		if len(s.hooks) == 0 {
			s.approval = contract.Access
		}
	}
	s.settle()
	dirs, _ := fs.Glob(o.fsys, format.SkillsFolder+"/*/SKILL.md")
	for _, d := range dirs {
		s.skills[path.Base(path.Dir(d))] = true
	}
	return s
}
