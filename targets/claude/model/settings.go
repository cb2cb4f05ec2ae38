package model

import (
	"errors"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/claude/format"
)

// settings is a settings file as it holds in a session, or what flags say in its place.
type settings struct {
	file     string
	rules    [ir.Allow + 1]ruleSet // by the decision of their list
	mode     string
	modeAt   diag.Pos
	noAuto   bool           // disableAutoMode
	noBypass bool           // disableBypassPermissionsMode
	noHooks  *located.Value // disableAllHooks, nil where it is not written
	hooks    []*listener
	servers  []string // with strict
	strict   bool     // there are no other servers
	agent    string   // the subagent as which the session runs
}

// owner says whose settings file it is.
type owner int

const (
	ofUser    owner = iota // the user's own, or given by --settings
	ofProject              // the mode auto does not count in it
)

// settings reads a settings file, nil for one that Claude Code does not load. base is the
// folder that a rule's leading slash stands for.
func (o *opener) settings(name string, data []byte, base string, of owner) *settings {
	read, err := format.ReadSettings(name, data)
	if err != nil {
		o.warn(diag.Pos{File: name}, "Claude Code does not load the settings: %v", err)
		return nil
	}
	s := &settings{file: name, noAuto: read.NoAuto, noBypass: read.NoBypass, noHooks: read.NoHooks}
	if read.Mode != nil {
		mode, ok := format.ModeOf(read.Mode)
		if !ok {
			o.warn(read.Mode.Line(), "got the mode %q, want %s: Claude Code does not load the whole file",
				mode, format.ModeNames)
			return nil
		}
		if mode != format.Auto || of == ofUser {
			s.mode, s.modeAt = mode, read.Mode.Line()
		}
	}
	for _, item := range read.Rules {
		o.listed(s, item, base)
	}
	s.agent, _ = read.Agent.Str()
	s.hooks = o.hooksOf(read.Hooks)
	return s
}

func (o *opener) listed(s *settings, item format.Listed, base string) {
	text, ok := item.Str()
	say := o.diags.Warnf
	if item.List == ir.Allow { // who wrote it is asked, and nothing is permitted that should not be
		say = o.diags.Notef
	}
	if !ok {
		say(codeIgnored, item.Line(), "Claude Code ignores %s among the rules to %s", item.Kind, item.List)
		return
	}
	if err := s.rules[item.List].add(item.List, text, item.Line(), base); err != nil {
		say(codeIgnored, item.Line(), "Claude Code ignores the rule %q to %s: %v", text, item.List, err)
	}
}

// agent is a subagent.
type agent struct {
	name  string
	at    diag.Pos
	tools []format.ToolList
	mode  string
	// modeAt is the place of the mode.
	modeAt diag.Pos
	hooks  []*listener
}

// agent reads a subagent's file, nil for one that Claude Code does not load. Without
// tools the subagent has all of the session's.
func (o *opener) agent(name string, data []byte) *agent {
	read, err := format.ReadAgent(name, data)
	if errors.Is(err, format.ErrNoFrontMatter) {
		o.diags.Notef(codeIgnored, diag.Pos{File: name}, "%v", err)
		return nil
	}
	if err != nil {
		o.warn(diag.Pos{File: name}, "%v", err)
		return nil
	}
	a := &agent{name: read.Name, at: diag.Pos{File: name}, tools: read.ToolLists()}
	if a.name == "" {
		o.warn(a.at, "Claude Code does not load a subagent without a name")
		return nil
	}
	if t := read.Tools(); t != nil {
		a.at = t.Line()
	}
	if mode := read.Root.Get("permissionMode"); mode.Is(located.String) {
		if text, ok := format.ModeOf(mode); ok {
			a.mode, a.modeAt = text, mode.Line()
		} else {
			o.warn(mode.Line(), "Claude Code ignores the mode %q", text)
		}
	}
	a.hooks = o.hooksOf(read.Root.Get("hooks"))
	return a
}
