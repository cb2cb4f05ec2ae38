package model

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
)

// OpenArgs returns the session that a command line of claude starts in the project below
// fsys. at is the place of the command line. Flags that do not concern permissions are
// ignored. Claude Code does not start with a command line for which OpenArgs fails.
func OpenArgs(fsys fs.FS, args []string, at diag.Pos) (*Session, diag.List, error) {
	c, err := format.ReadFlags(args)
	if err != nil {
		return nil, nil, err
	}
	o := newOpener(fsys)
	o.shared = o.projectSettings(c.Reads)
	s, err := o.started(&c, at)
	o.diags.Sort()
	if err != nil {
		return nil, o.diags, err
	}
	return &Session{s}, o.diags, nil
}

// OpenArgsOver returns a decider for one subject: the session that a command line starts
// over the settings of some layers, in place of the project's own. Hooks do not count:
// what somebody else's hook answers is not known.
func OpenArgsOver(
	fsys fs.FS, layers []format.Layer, c format.CommandLine, at diag.Pos, ref ir.SubjectRef,
) (contract.Decider, error) {
	o := newOpener(fsys)
	o.layers(layers)
	s, err := o.started(&c, at)
	if err != nil {
		return nil, err
	}
	s.hooks = nil
	return &decider{sessions: map[ir.SubjectRef]func() *session{ref: is(s)}}, nil
}

// started joins what holds in the session that a command line starts, over the shared
// settings.
func (o *opener) started(c *format.CommandLine, at diag.Pos) (*session, error) {
	s := newSession(at)
	layers := slices.Clip(o.shared)
	given, err := o.givenSettings(c.Settings, at)
	if err != nil {
		return nil, err
	}
	if given != nil {
		layers = append(layers, given)
	}
	agent := ""
	for _, l := range append(layers, o.flags(c, at)) {
		s.add(l)
		if l.agent != "" {
			agent = l.agent
		}
	}
	s.partly = given == nil || len(given.hooks) == 0
	if names := c.BuiltIns(); names != nil {
		s.tools = append(s.tools, format.NewToolList(format.OfferedBuiltIn, *names))
	}
	if s.strict = c.Strict; s.strict {
		s.servers = o.givenServers(c.Servers, at)
	}
	if agent != "" && !o.asAgent(s, agent) && c.Agent != "" {
		return nil, fmt.Errorf("no file of the project describes the agent %q", c.Agent)
	}
	s.settle()
	return s, nil
}

// givenSettings reads the value of --settings, nil where the session runs without it.
func (o *opener) givenSettings(value string, at diag.Pos) (*settings, error) {
	switch {
	case value == "":
		return nil, nil
	case format.IsJSON(value):
		return o.settings(at.File, []byte(value), root, ofUser), nil
	}
	file := path.Clean(value)
	data := o.read(file)
	if data == nil || contract.IsSession(file) { // which is a name for the models alone
		return nil, fmt.Errorf("the settings file %q is not there", value)
	}
	return o.settings(file, data, path.Join(root, path.Dir(file)), ofUser), nil
}

// givenServers reads the values of --mcp-config.
func (o *opener) givenServers(values []string, at diag.Pos) (names []string) {
	for _, v := range values {
		if format.IsJSON(v) {
			names = append(names, o.serversIn(at.File, []byte(v))...)
		} else {
			names = append(names, o.serverNames(path.Clean(v))...)
		}
	}
	return names
}

// flags returns what the flags say in place of a settings file.
func (o *opener) flags(c *format.CommandLine, at diag.Pos) *settings {
	own := &settings{file: at.File, mode: c.Mode, modeAt: at, agent: c.Agent}
	for _, list := range []struct {
		decision ir.Decision
		rules    []string
	}{{ir.Deny, c.Disallowed}, {ir.Allow, c.Allowed}} {
		for _, text := range list.rules {
			if err := own.rules[list.decision].add(list.decision, text, at, root); err != nil {
				o.warn(at, "Claude Code ignores the rule %q: %v", text, err)
			}
		}
	}
	return own
}

// asAgent limits a session to the tools of the subagent as which it runs. It reports
// false, and limits nothing, where no file describes the subagent. Observed on 2.1.329:
// the subagent's own permission mode does not hold in such a session.
func (o *opener) asAgent(s *session, name string) bool {
	for _, file := range o.agentFiles() {
		if a := o.agent(file, o.read(file)); a != nil && a.name == name {
			s.tools = append(s.tools, a.tools...)
			s.hooks = append(s.hooks, a.hooks...)
			s.agent = name
			return true
		}
	}
	return false
}
