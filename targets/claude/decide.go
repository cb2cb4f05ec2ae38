package claude

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
)

// root and home are where the deciders take the project and the user to be.
const (
	root = "/project"
	home = "/home/somebody"
)

// opener reads the artifacts of a project.
type opener struct {
	fsys    fs.FS
	diags   diag.List
	engines map[string]*policy.Engine // by the policy's path; nil where there is none
	shared  []*settings               // settings.json and settings.local.json, under them the user's
	servers []string                  // of .mcp.json, as the agent writes them
}

func newOpener(fsys fs.FS) *opener {
	return &opener{fsys: fsys, engines: map[string]*policy.Engine{}}
}

// decider answers for the sessions that the artifacts describe: a role is a
// session of its settings file, a mode a session that runs as its subagent, and
// a role in a mode both at once.
type decider struct {
	roles map[string]*settings
	modes map[string]*agent
	open  *opener
	all   map[ir.SubjectRef]*session
}

// Open reads what Claude Code reads: the roles' settings and servers, the
// subagents, .mcp.json, and the settings of the project beside them.
func (claude) Open(fsys fs.FS, _ contract.Options) ([]contract.Decider, diag.List) {
	o := newOpener(fsys)
	for _, f := range projectSettings {
		if data := o.read(f.name); data != nil {
			if s := o.settings(f.name, data, root, true); s != nil {
				o.shared = append(o.shared, s)
			}
		}
	}
	d := o.decider()
	return []contract.Decider{d}, o.diags
}

// decider joins what was opened into sessions.
func (o *opener) decider() *decider {
	d := &decider{roles: map[string]*settings{}, modes: map[string]*agent{}, open: o, all: map[ir.SubjectRef]*session{}}
	o.servers = o.serverNames(".mcp.json")
	files, _ := fs.Glob(o.fsys, ".claude/modec/*.settings.json")
	for _, name := range files {
		base := strings.TrimSuffix(name, ".settings.json")
		role, ok := subjectName(path.Base(base))
		data := o.read(name)
		if !ok || data == nil {
			continue
		}
		s := o.settings(name, data, path.Join(root, path.Dir(name)), false)
		if s == nil {
			s = &settings{file: name} // the session then runs without it
		}
		if own := base + ".mcp.json"; o.exists(own) {
			s.strict, s.servers = true, o.serverNames(own)
		}
		d.roles[role] = s
	}
	files, _ = fs.Glob(o.fsys, ".claude/agents/*.md")
	for _, name := range files {
		if a := o.agent(name, o.read(name)); a != nil {
			d.modes[a.name] = a
		}
	}
	for role, s := range d.roles {
		d.all[ir.SubjectRef{Role: role}] = o.session(s, nil)
		for mode, a := range d.modes {
			d.all[ir.SubjectRef{Role: role, Mode: mode}] = o.session(s, a)
		}
	}
	for mode, a := range d.modes {
		d.all[ir.SubjectRef{Mode: mode}] = o.session(nil, a)
	}
	o.diags.Sort()
	return d
}

func (*decider) Surface() string { return "" }

func (*decider) Assumes() []string {
	return []string{
		"Claude Code 2.1.329 on Linux or macOS, with no managed settings and none of the user's own",
		"a role is started with its settings file and, where it has one, its own list of servers (modec args ROLE); a shorter list of built-in tools (tools) is not counted",
		"a person has trusted the project's folder: else a mode's hook does not run at all, and the allow rules of .claude/settings.json do not hold (claude -p never asks for it)",
		"modec is on the path wherever a hook calls it",
		"an MCP tool that the plan mode runs by its rule is one that its server calls read-only",
		"a prompt of an MCP server is started by a person, not by the agent",
	}
}

// Decide tells what becomes of an action in the session of a subject.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	s := d.all[ref]
	if s == nil {
		return contract.Verdict{}
	}
	return s.verdict(a)
}

// Session judges one session, whoever it belongs to.
type Session struct{ s *session }

// Decide tells what becomes of an action in the session.
func (s *Session) Decide(a policy.Action) contract.Verdict { return s.s.verdict(a) }

func (o *opener) warn(p diag.Pos, format string, args ...any) {
	o.diags.Warnf(codeIgnored, p, format, args...)
}

func (o *opener) exists(name string) bool {
	_, err := fs.Stat(o.fsys, name)
	return err == nil
}

// read returns a file, nil where there is none.
func (o *opener) read(name string) []byte {
	data, err := fs.ReadFile(o.fsys, name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			o.warn(diag.Pos{File: name}, "got a file that cannot be read: %v", err)
		}
		return nil
	}
	if data == nil {
		data = []byte{}
	}
	return data
}

// serverNames returns the servers of a list as they stand in mcp__server__tool.
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
		o.warn(diag.Pos{File: name}, "got a list of servers that does not load: %v", err)
		return nil
	}
	var names []string
	if servers := v.Get("mcpServers"); servers.Is(located.Object) {
		for _, m := range servers.Members {
			names = append(names, toolWord(m.Key))
		}
	}
	return names
}

// engine returns what a hook's policy file decides, nil where it cannot.
func (o *opener) engine(name string) *policy.Engine {
	if e, ok := o.engines[name]; ok {
		return e
	}
	o.engines[name] = nil
	if data := o.read(name); data != nil {
		p, err := ir.Unmarshal(bytes.NewReader(data))
		if err != nil {
			o.warn(diag.Pos{File: name}, "got a policy that does not load: %v", err)
			return nil
		}
		o.engines[name] = policy.New(p)
	}
	return o.engines[name]
}

// session joins what holds in one session.
func (o *opener) session(role *settings, mode *agent) *session {
	s := &session{at: diag.Pos{}, mode: "default", skills: map[string]bool{}}
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
	s.servers, s.approval = o.servers, contract.Both
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
	if role == nil && len(s.hooks) == 0 {
		s.approval = contract.Access
	}
	s.bare = s.approval
	if role == nil {
		s.bare = contract.Access
	}
	s.settle()
	dirs, _ := fs.Glob(o.fsys, ".claude/skills/*/SKILL.md")
	for _, d := range dirs {
		s.skills[path.Base(path.Dir(d))] = true
	}
	return s
}

// subjectName undoes target.PathName.
func subjectName(segment string) (string, bool) {
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

// toolWord writes a name as it stands in mcp__server__tool: what is no letter,
// digit, dash or underscore becomes an underscore.
func toolWord(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
			return c
		}
		return '_'
	}, s)
}
