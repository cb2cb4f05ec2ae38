package claude

import (
	"fmt"
	"io/fs"
	"path"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// OpenArgs judges the session that a command line of claude starts in the
// project below fsys. at is where the command line stands. A flag that says
// nothing about permissions is passed over. The error is one with which claude
// does not start.
func OpenArgs(fsys fs.FS, args []string, at diag.Pos) (*Session, diag.List, error) {
	c, err := readFlags(args)
	if err != nil {
		return nil, nil, err
	}
	o := newOpener(fsys)
	for _, f := range projectSettings {
		if data := o.read(f.name); data != nil && c.reads(f.source) {
			if l := o.settings(f.name, data, root, true); l != nil {
				o.shared = append(o.shared, l)
			}
		}
	}
	s, err := o.started(&c, at)
	o.diags.Sort()
	if err != nil {
		return nil, o.diags, err
	}
	return &Session{s}, o.diags, nil
}

// started joins what holds in the session that a command line starts, over the
// shared settings.
func (o *opener) started(c *commandLine, at diag.Pos) (*session, error) {
	s := &session{mode: "default", skills: map[string]bool{}, at: at, approval: contract.Both, bare: contract.Both}
	agent := ""
	lay := func(l *settings) {
		if l != nil {
			s.add(l)
			if l.agent != "" {
				agent = l.agent
			}
		}
	}
	for _, l := range o.shared {
		lay(l)
	}
	switch {
	case c.settings == "":
	case isJSON(c.settings):
		lay(o.settings(at.File, []byte(c.settings), root, false))
	default:
		file := path.Clean(c.settings)
		data := o.read(file)
		if data == nil {
			return nil, fmt.Errorf("got the settings file %q, which is not there: claude does not start", c.settings)
		}
		lay(o.settings(file, data, path.Join(root, path.Dir(file)), false))
	}
	own := &settings{file: at.File, mode: c.mode, agent: c.agent}
	for d, list := range map[ir.Decision][]string{ir.Allow: c.allowed, ir.Deny: c.disallowed} {
		for _, text := range list {
			if err := own.rules[d].add(d, text, at, root); err != nil {
				o.warn(at, "got the rule %q, which Claude Code leaves out: %v", text, err)
			}
		}
	}
	lay(own)
	if names := c.builtins(); names != nil {
		s.tools = append(s.tools, newToolList(*names, false, true))
	}
	if s.strict = c.strict; s.strict {
		for _, v := range c.servers {
			if isJSON(v) {
				s.servers = append(s.servers, o.serversIn(at.File, []byte(v))...)
			} else {
				s.servers = append(s.servers, o.serverNames(path.Clean(v))...)
			}
		}
	}
	if agent != "" && !o.asAgent(s, agent) && c.agent != "" {
		return nil, fmt.Errorf("got the agent %q, of which no file of the project tells what it may do", c.agent)
	}
	s.settle()
	return s, nil
}

// projectSettings are the settings files of a project, a later one over an earlier,
// and what --setting-sources calls them.
var projectSettings = []struct{ name, source string }{{".claude/settings.json", "project"}, {".claude/settings.local.json", "local"}}

// asAgent limits a session to the tools of the subagent as which it runs, if a file
// describes it. The agent's own permission mode does not hold then; one that
// settings name and nobody knows limits nothing. Observed on 2.1.329.
func (o *opener) asAgent(s *session, name string) bool {
	files, _ := fs.Glob(o.fsys, ".claude/agents/*.md")
	for _, file := range files {
		if a := o.agent(file, o.read(file)); a != nil && a.name == name {
			s.tools = append(s.tools, a.tools...)
			s.hooks = append(s.hooks, a.hooks...)
			return true
		}
	}
	return false
}
