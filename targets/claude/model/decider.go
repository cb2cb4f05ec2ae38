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
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/cache"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
)

const codeIgnored diag.Code = "claude-ignored"

// root and home are the folders in which the model takes the project and the user to be.
const (
	root = "/srv/a/b/c/d/e/f/g/h/project" // deep, for denies above it
	home = "/home/somebody"
	// sessionsDir has what sessions are started with.
	sessionsDir = home + "/.cache/modec/sessions"
)

// opener reads the artifacts of a project.
type opener struct {
	fsys     fs.FS
	diags    diag.List
	policy   *contract.HookPolicy
	shared   []*settings       // under those of every session
	project  []*settings       // of the sessions that read the project's own files
	baseline string            // the role that reads them
	servers  []string          // of .mcp.json, as the agent writes them
	names    map[string]string // of the subagents that have another one than their slug
	disk     *contract.Disk    // at which the sessions work; nil where that is not known
	skills   func() []string   // their files
}

func newOpener(fsys fs.FS) *opener {
	return &opener{
		fsys: fsys, policy: contract.NewHookPolicy(fsys, "claude"),
		skills: sync.OnceValue(func() []string { return format.Skills(fsys) }),
	}
}

// decider answers for the sessions that the artifacts describe. A mode is a session that
// runs as its subagent, and a role in a mode both at once.
type decider struct {
	sessions map[ir.SubjectRef]func() *session
	// others are the sessions of a role for which there is no file, by mode: it is started
	// with nothing of modec's.
	others map[string]*session
}

// another stands for the name of a role for which there is no file.
const another = "another role" // no role can have this name

// Open reads what Claude Code reads: the settings and servers of each role, the subagents,
// .mcp.json, and the project's own settings. These are in the sessions of the baseline, and
// of a mode without a role. Any other role is started without them.
func Open(fsys fs.FS, baseline string) ([]contract.Decider, diag.List) {
	return OpenAt(fsys, baseline, nil)
}

// OpenAt does the same for sessions that work at a disk; nil where it is not known. There the
// hook of a session also answers where the rules hold without it.
func OpenAt(fsys fs.FS, baseline string, disk *contract.Disk) ([]contract.Decider, diag.List) {
	o := newOpener(fsys)
	o.disk = disk
	o.project = o.projectSettings(func(string) bool { return true })
	o.baseline = baseline
	return []contract.Decider{o.decider()}, o.diags
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
func (o *opener) projectSettings(reads func(source string) bool) (layers []*settings) {
	for _, f := range format.SettingsFiles {
		if data := o.read(f.Path); data != nil && reads(f.Source) {
			layers = append(layers, o.settings(f.Path, data, root, ofProject))
		}
	}
	return layers
}

// layers reads settings files that an import has found.
func (o *opener) layers(layers []format.Layer) {
	for _, l := range layers {
		base, owner := root, ofProject
		if !l.Project {
			base, owner = path.Join(home, ".claude"), ofUser
		}
		s := o.settings(l.File, l.Data, base, owner)
		s.hooks = nil
		o.shared = append(o.shared, s)
	}
}

// deciding is how many sessions of roles in modes at least are kept joined: more than are asked at once.
const deciding = 16

// decider joins what was opened into sessions.
func (o *opener) decider() *decider {
	o.servers = o.serverNames(format.ProjectServers)
	roles, modes := o.roles(), o.modes()
	switch own := roles[o.baseline]; {
	case o.baseline == "":
	case own == nil:
		roles[o.baseline] = &settings{}
	case own.file != "":
		o.baseline = "" // it has settings of its own, and is started like any other role
	}
	d := &decider{sessions: map[ir.SubjectRef]func() *session{}, others: map[string]*session{}}
	o.names = map[string]string{}
	for slug, a := range modes {
		if a.name != slug {
			o.names[slug] = a.name
		}
	}
	modes[""] = nil // a role in no mode
	pairs := cache.New[ir.SubjectRef, *session](deciding)
	for mode, a := range modes {
		for role, s := range roles {
			ref := ir.SubjectRef{Role: role, Mode: mode}
			if a == nil { // what is ignored in its files is told
				d.sessions[ref] = is(o.session(role, s, nil))
				continue
			}
			// The pairs are most of the sessions: they are joined when they are asked for, and not kept for good.
			d.sessions[ref] = func() *session {
				joined, ok := pairs.Get(ref)
				if !ok {
					joined = o.session(role, s, a)
					pairs.Put(ref, joined)
				}
				return joined
			}
		}
		d.others[mode] = o.session(another, &settings{}, a)
		if a != nil {
			d.sessions[ir.SubjectRef{Mode: mode}] = is(o.session("", nil, a))
		}
	}
	o.diags.Sort()
	return d
}

// is returns a session that has been joined.
func is(s *session) func() *session { return func() *session { return s } }

// roles reads the settings and servers that the sessions of each role are started with.
func (o *opener) roles() map[string]*settings {
	roles := map[string]*settings{}
	files, _ := fs.Glob(o.fsys, contract.SessionPath("claude", "*.json"))
	for _, name := range files {
		base, isSettings := strings.CutSuffix(name, format.OfSettings)
		base, isServers := strings.CutSuffix(base, format.OfServers)
		role, ok := format.SubjectName(path.Base(base))
		if !ok || !isSettings && !isServers {
			continue
		}
		s := roles[role]
		if s == nil {
			s = &settings{}
			roles[role] = s
		}
		if isServers {
			s.strict, s.servers = true, o.serverNames(name)
			continue
		}
		read := o.settings(name, o.read(name), sessionsDir, ofUser)
		read.strict, read.servers = s.strict, s.servers
		*s = *read
	}
	return roles
}

// Subagents returns those of a project that Claude Code loads.
func Subagents(project fs.FS) (all []contract.Lodger) {
	o := newOpener(project)
	for _, name := range o.agentFiles() {
		if a := o.agent(name, o.read(name)); a != nil {
			all = append(all, contract.AgentOf(a.name, diag.Pos{File: name, Line: 1, Col: 1}))
		}
	}
	return all
}

// modes reads the subagents. Of two with one name Claude Code 2.1.330 has the one whose file is the last in order.
func (o *opener) modes() map[string]*agent {
	modes := map[string]*agent{}
	for _, name := range o.agentFiles() {
		if a := o.agent(name, o.read(name)); a != nil {
			slug := contract.Slug(a.name)
			if was := modes[slug]; slug != "" && (was == nil || a.name == slug || was.name != slug) {
				modes[slug] = a
			}
		}
	}
	return modes
}

// agentFiles lists the subagents' files, which Claude Code also finds in folders.
func (o *opener) agentFiles() []string {
	var files []string
	_ = contract.EachFile(o.fsys, format.AgentsFolder, func(name string) {
		if path.Ext(name) == ".md" {
			files = append(files, name)
		}
	})
	return files
}

func (*decider) Surface() string { return "" }

func (*decider) Assumes() []string {
	return []string{
		"Claude Code 2.1.330 on Linux or macOS, without managed settings and without settings of the user's own",
		"a role is started with what `modec args ROLE` prints: the baseline in the project's own files, any other " +
			"without them; a shorter list of built-in tools (tools) is not counted",
		"a person has trusted the project's folder: otherwise the allow rules of .claude/settings.json do not " +
			"hold, and a mode is held by the hook of its session's settings alone (claude -p never asks for trust)",
		"modec is on the path wherever a hook calls it",
		"an MCP tool that the plan mode runs by its rule is one that its server calls read-only",
		"a prompt of an MCP server is started by a person, not by the agent",
	}
}

// Decide returns what becomes of an action in the session of a subject.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	s := d.of(ref)
	if s == nil {
		return contract.Verdict{}
	}
	return s.verdict(a)
}

// of returns the session of a subject, nil for a mode that has no file.
func (d *decider) of(ref ir.SubjectRef) *session {
	if s := d.sessions[ref]; s != nil {
		return s()
	}
	if ref.Role == "" {
		return nil
	}
	return d.others[ref.Mode]
}

// has reports whether a subject has a session.
func (d *decider) has(ref ir.SubjectRef) bool {
	return d.sessions[ref] != nil || ref.Role != "" && d.others[ref.Mode] != nil
}

// Session decides for one session.
type Session struct{ s *session }

// As returns the session as that of a role. It has a hook of its own where the project's is
// the role's.
func (s *Session) As(role string) *Session {
	if slices.ContainsFunc(s.s.hooks, func(h *listener) bool { return h.ref.Role == role }) {
		s.s.partly = false
	}
	return s
}

// Decide returns what becomes of an action in the session.
func (s *Session) Decide(a policy.Action) contract.Verdict { return s.s.verdict(a) }

func (o *opener) warn(p diag.Pos, format string, args ...any) {
	o.diags.Warnf(codeIgnored, p, format, args...)
}

// read returns a file, nil for one that is not there.
func (o *opener) read(name string) []byte {
	data, err := fs.ReadFile(o.fsys, name)
	if err != nil {
		if diag.Unreadable(o.fsys, name, err) {
			o.warn(diag.Pos{File: name}, "modec cannot read the file, and judges without it: %v", err)
		}
		return nil
	}
	if data == nil {
		data = []byte{}
	}
	return data
}

// Lists returns the files of those below fsys from which sessions of a role, "" for none, start servers: a list of the
// role's own is given with --strict-mcp-config, or beside that of the project to a role that reads it.
func Lists(fsys fs.FS, role string) []string {
	if role == "" {
		return []string{format.ProjectServers}
	}
	own := func(ending string) (name string, there bool) {
		name = format.Session(role, ending)
		_, err := fs.Stat(fsys, name)
		return name, err == nil
	}
	_, apart := own(format.OfSettings)
	if name, strict := own(format.OfServers); strict {
		return []string{name}
	}
	if name, given := own(format.OfBeside); given && apart {
		return []string{name}
	} else if given {
		return []string{name, format.ProjectServers}
	}
	return []string{format.ProjectServers}
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

// session joins what holds in one session: of a role, or of none. The baseline's session, and
// one of no role, is in the project's own settings.
func (o *opener) session(name string, role *settings, mode *agent) *session {
	s := newSession(diag.Pos{})
	s.disk = o.disk
	layers := slices.Clone(o.shared)
	if role == nil || name == o.baseline {
		layers = append(layers, o.project...)
	}
	if role != nil {
		layers = append(layers, role)
	}
	agent := ""
	for _, l := range layers {
		s.add(l)
		s.at = cmp.Or(s.at, diag.Pos{File: l.file})
		agent = cmp.Or(l.agent, agent)
	}
	s.servers, s.subagents = o.servers, o.names
	if role != nil {
		s.at = cmp.Or(diag.Pos{File: role.file}, s.at)
		if role.strict {
			s.servers, s.strict = role.servers, true
		}
	}
	switch {
	case mode != nil:
		s.at = mode.at
		s.partly = len(mode.hooks) == 0 || role != nil && len(s.hooks) == 0
		s.enter(mode)
	case agent != "":
		o.asAgent(s, agent)
	}
	if role == nil {
		s.bare, s.nobodys = contract.Access, true
	}
	s.settle()
	for _, file := range o.skills() {
		s.skills[path.Base(path.Dir(file))] = true
	}
	return s
}
