package model

import (
	"errors"

	"modec.dev/modec/compiler/contract"
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
	sandbox  sandbox
	hooks    []*listener
	lack     *contract.Lack // what in it does not hold
	disarms  *contract.Lack // what keeps all hooks from holding
	servers  []string       // with strict
	strict   bool           // there are no other servers
	agent    string         // the subagent as which the session runs
	folders  []folder       // of additionalDirectories
	grants   []grant
}

// folder is one outside the project that a session takes for one of its own.
type folder struct {
	clean string // absolute
	place
}

// owner says whose settings file it is.
type owner int

const (
	ofUser    owner = iota // the user's own, or given by --settings
	ofProject              // the mode auto does not count in it
)

// settings reads a settings file: one that Claude Code does not load says nothing. base is the
// folder that a rule's leading slash stands for.
func (o *opener) settings(name string, data []byte, base string, of owner) *settings {
	unloaded := func(at diag.Pos, why string, args ...any) *settings {
		lack := o.lacks(at, why, args...)
		o.diags[len(o.diags)-1].Unloaded = true
		return &settings{file: name, lack: lack}
	}
	read, err := format.ReadSettings(name, data)
	if err != nil {
		return unloaded(format.PlaceOf(name, err), "Claude Code does not load the settings: %v", err)
	}
	s := &settings{file: name, noAuto: read.NoAuto, noBypass: read.NoBypass, noHooks: read.NoHooks}
	s.sandbox = sandboxOf(read)
	if read.Mode != nil {
		mode, ok := format.ModeOf(read.Mode)
		if !ok {
			return unloaded(read.Mode.Line(), "got the mode %q, want %s: Claude Code does not load the whole file",
				mode, format.ModeNames)
		}
		if mode != format.Auto || of == ofUser {
			s.mode, s.modeAt = mode, read.Mode.Line()
		}
	}
	for _, item := range read.Rules {
		o.listed(s, item, base)
	}
	s.agent, _ = read.Agent.Str()
	for _, item := range read.Root.Get("permissions").Get("additionalDirectories").List() {
		text, _ := item.Str()
		if f := newFile(text); !f.inside {
			by := place{text: "additionalDirectories: " + text, at: item.Line()}
			s.folders = append(s.folders, folder{f.clean, by})
		}
	}
	hooks, err := format.Hooks(read.Hooks, "PreToolUse")
	if err != nil {
		return unloaded(format.PlaceOf(name, err), "Claude Code does not load the settings: %v", err)
	}
	s.hooks, s.lack = o.hooksOf(hooks)
	s.grants = grantsOf(read.Hooks)
	for _, m := range read.Root.Get("env").Fields() {
		if format.Disarms(m.Key) {
			s.disarms = o.lacks(m.Pos, "the variable %s may make another program run in place of modec's hook", m.Key)
		}
	}
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
	lack   *contract.Lack
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
	hooks, err := format.Hooks(read.Root.Get("hooks"), "PreToolUse")
	if err != nil {
		o.warn(format.PlaceOf(name, err), "Claude Code does not load the subagent: %v", err)
		return nil
	}
	a.hooks, a.lack = o.hooksOf(hooks)
	return a
}
