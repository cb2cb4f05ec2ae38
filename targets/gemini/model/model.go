// Package model answers what Gemini CLI does with an action, from the files that a build wrote: the policy of
// a session, and the agents to which it hands work.
//
// It stands apart from the emitter: how Gemini CLI decides comes from its own engine
// (@google/gemini-cli-core 0.61.0, policy/policy-engine.js), against which the recorded decisions of the
// end-to-end tests hold it. Where something is left open, the reading counts by which more is permitted.
package model

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
)

// Governs returns the halves of a decision that a file governs: a policy both, and an agent by its tools
// what it has at all.
func Governs(file string, g ir.Group) contract.Halves {
	switch {
	case path.Dir(file) == format.PoliciesDir, contract.IsSession(file):
		return contract.Both
	case path.Dir(file) == format.AgentsDir:
		return contract.Access
	}
	return contract.Neither
}

// decider decides as Gemini CLI does in its approval mode default, with somebody there to answer.
type decider struct {
	setups map[ir.SubjectRef][]*setup
	agents map[string]agent // by the slug of their modes
	other  *setup           // of a session without a policy of its own
	disk   contract.Disk
	hook   Hook
	bare   *bare // nil: the settings name the policy of the role that everybody has
}

// bare says that sessions in the project's folder go by no policy.
type bare struct {
	ref ir.SubjectRef // to whose policy they are meant to be held
	at  diag.Pos      // in the settings
}

// setup is what a session goes by: the rules of its policies, those of the settings, and the hooks.
type setup struct {
	rules    session // of the session, and of whatever agent works in it
	policies []rules
	hooks    hooks

	mu     sync.Mutex
	merged map[string]session
}

// rules are those of a policy: of the session, and of one agent each.
type rules struct {
	all    session
	agents map[string]session
}

// session is the rules of a session, or of an agent in it, the first that matches first.
type session []*format.Rule

// as returns the rules of an agent, or of the session for no name.
func (s *setup) as(agent string) session {
	var own session
	for _, of := range s.policies {
		own = append(own, of.agents[agent]...)
	}
	if len(own) == 0 {
		return s.rules
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all, ok := s.merged[agent]
	if !ok {
		all = slices.Concat(s.rules, own)
		slices.SortStableFunc(all, byPriority)
		if s.merged == nil {
			s.merged = map[string]session{}
		}
		s.merged[agent] = all
	}
	return all
}

// agent is what a mode has at all.
type agent struct {
	name    string
	tools   []string
	limited bool
	at      diag.Pos
}

// Open reads the policies, the agents, and the settings of the project.
func Open(fsys fs.FS, o contract.Options, hook Hook) ([]contract.Decider, diag.List) {
	d := &decider{setups: map[ir.SubjectRef][]*setup{}, agents: map[string]agent{}, hook: hook,
		disk: contract.ModelDisk(root)}
	r := reader{fsys: fsys, policies: map[string]rules{}, source: contract.NewHookPolicy(fsys, "gemini")}
	settings := readSettings(fsys, format.SettingsFile, &r.diags)
	rules := format.SettingRules(format.ReadSettings(settings))
	for i := range rules {
		r.settings = append(r.settings, &rules[i])
	}
	files, _ := fs.Glob(fsys, contract.SessionPath("gemini", "*.toml"))
	var shared []string // what every session has beside
	if slices.Contains(files, format.AgentsPolicy) {
		shared = append(shared, format.AgentsPolicy)
	}
	for _, file := range files {
		if ref, ok := format.PolicySubject(file); ok {
			s := r.setup(append([]string{file}, shared...))
			if own := readSettings(fsys, format.SessionSettings(ref), &r.diags); own != nil {
				s.hooks = r.readHooks(own, settings)
			}
			d.setups[ref] = append(d.setups[ref], s)
		}
	}
	d.other = r.setup(shared)
	if ref := o.Everybody(); ref != (ir.SubjectRef{}) {
		own, hooks := d.setups[ref] != nil, r.readHooks(settings)
		everybody := func(files []string) {
			s := r.setup(files)
			s.hooks = hooks
			d.setups[ref] = append(d.setups[ref], s)
		}
		switch list := adminPolicies(fsys, settings, &r.diags); {
		case len(list) > 0:
			everybody(list)
		case own || len(shared) > 0:
			everybody(nil)
			d.bare = &bare{ref, diag.Pos{File: format.SettingsFile, Line: 1, Col: 1}}
			if paths := settings.Get("adminPolicyPaths"); paths != nil {
				d.bare.at = paths.Pos
			}
		case len(r.settings)+len(hooks.all) > 0:
			everybody(shared)
		}
	}
	d.readAgents(fsys)
	if len(d.setups) == 0 && len(d.agents) == 0 {
		return nil, r.diags
	}
	return []contract.Decider{d}, r.diags
}

// byPriority orders rules as the engine asks them.
func byPriority(a, b *format.Rule) int { return b.Priority - a.Priority }

// reader reads policies, each once.
type reader struct {
	fsys     fs.FS
	policies map[string]rules
	settings session
	source   *contract.HookPolicy
	diags    diag.List
}

// setup reads the policies of a session.
func (r *reader) setup(files []string) *setup {
	s := &setup{}
	for _, file := range files {
		of := r.policy(file)
		s.policies = append(s.policies, of)
		s.rules = append(s.rules, of.all...)
	}
	s.rules = append(s.rules, r.settings...)
	slices.SortStableFunc(s.rules, byPriority)
	return s
}

// policy reads a policy. One with an error is not read, as Gemini CLI does.
func (r *reader) policy(file string) rules {
	if all, ok := r.policies[file]; ok {
		return all
	}
	out := rules{agents: map[string]session{}}
	data, err := fs.ReadFile(r.fsys, file)
	if err != nil {
		ignored(&r.diags, diag.Pos{File: file}, "Gemini CLI goes on without this policy, and says nothing: %v", err)
	} else {
		all, found := format.ReadPolicy(file, data)
		for i := range found {
			found[i].Severity = diag.Warning // whoever judges goes on without the file, too
		}
		r.diags = append(r.diags, found...)
		for i := range all {
			r := &all[i]
			if !inForce(r) {
				continue
			}
			if r.Priority += format.AdminTier; r.Subagent != "" {
				out.agents[r.Subagent] = append(out.agents[r.Subagent], r)
			} else {
				out.all = append(out.all, r)
			}
		}
	}
	r.policies[file] = out
	return out
}

// inForce reports whether a rule counts, whose approval modes are then no matter: a person may work in any, so that an
// allow for one of them permits, and what holds back in some only does not.
func inForce(r *format.Rule) bool {
	held := true
	for _, mode := range []string{"default", "autoEdit", "yolo"} {
		held = held && slices.Contains(r.Modes, mode)
	}
	counts := len(r.Modes) == 0 || r.Decision == ir.Allow || held
	r.Modes = nil
	return counts
}

func ignored(diags *diag.List, at diag.Pos, message string, args ...any) {
	diags.Warnf(format.BadRule, at, message, args...).
		Hint("`modec build` rewrites what it wrote").
		Target("gemini")
}

// readSettings reads settings of the project or of a session, nil where there are none.
func readSettings(fsys fs.FS, file string, diags *diag.List) *located.Value {
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		if diag.Unreadable(fsys, file, err) {
			ignored(diags, diag.Pos{File: file}, "Gemini CLI cannot read this file: %v", err)
		}
		return nil
	}
	v, err := located.JSONC(file, data)
	if err != nil {
		ignored(diags, diag.Pos{File: file}, "Gemini CLI does not start with this file: %v", err)
		return nil
	}
	return v
}

// adminPolicies returns the policies that the project's settings put above all others: files, and those in folders. It
// reports what only the machine knows that Gemini CLI runs on.
func adminPolicies(fsys fs.FS, settings *located.Value, diags *diag.List) (out []string) {
	for _, item := range settings.Get("adminPolicyPaths").List() {
		text, ok := item.Str()
		name := path.Clean(text)
		switch {
		case !ok:
			continue
		case strings.Contains(text, "$") || !fs.ValidPath(name) || contract.IsSession(name):
			diags.Errorf(diag.ForeignWidening, item.Pos, "Gemini CLI goes by the policy %q above all others, "+
				"and it is not judged: where it lies is not known here", text).
				Hint("name a file or a folder of the project, without a variable, or take it out").
				Target("gemini")
			continue
		}
		if info, err := fs.Stat(fsys, name); err == nil && info.IsDir() {
			entries, _ := fs.ReadDir(fsys, name)
			for _, e := range entries {
				if path.Ext(e.Name()) == ".toml" {
					out = append(out, path.Join(name, e.Name()))
				}
			}
			continue
		}
		out = append(out, name)
	}
	return out
}

// readAgents reads the agents of the project.
func (d *decider) readAgents(fsys fs.FS) {
	files, _ := fs.Glob(fsys, format.AgentsDir+"/*.md")
	for _, file := range files {
		data, err := fs.ReadFile(fsys, file)
		if err != nil || strings.HasPrefix(path.Base(file), "_") {
			continue
		}
		read, err := format.ReadAgent(file, data)
		if err != nil {
			continue // it is no agent
		}
		a := agent{name: read.Name, at: diag.Pos{File: file}}
		if list := read.Root.Get("tools"); list.Is(located.List) {
			a.tools, a.limited = list.Strings(), true
		}
		d.agents[contract.Slug(read.Name)] = a
	}
}

func (d *decider) Surface() string { return "" }

func (d *decider) Assumes() []string { return assumes }

var assumes = []string{
	"a session of a role or a mode is started with its policy as --policy and --admin-policy, " +
		"or for the baseline in a folder that the user trusts",
	"no folder of the system's administrator has policies of its own",
	"no path of the project is a link",
	"modec's expressions are tested by the engine of Gemini CLI 0.61",
	"modec is on the PATH of Gemini CLI, which runs the lines of hooks by bash, in a folder that the user trusts, " +
		"and no hook or setting of the user's own changes a call behind modec's, or turns it off",
}

// Contains reports whether something restricts a session of a subject: a policy, the settings, or of a mode, to which
// a session hands work, its agent.
func (d *decider) Contains(ref ir.SubjectRef) bool {
	_, agent := d.agents[ref.Mode]
	return agent && (ref.Role != "" || d.setups[ref] == nil) || len(d.setups[ref]) > 0
}

// sessions returns those in which a subject works, and the agent as which it does.
func (d *decider) sessions(ref ir.SubjectRef) (all []*setup, as agent) {
	of := ref
	switch {
	case ref.Role != "":
		of, as = ir.SubjectRef{Role: ref.Role}, d.agents[ref.Mode]
	case d.setups[ref] == nil:
		as = d.agents[ref.Mode]
	}
	if all = d.setups[of]; all == nil {
		all = []*setup{d.other}
	}
	return all, as
}

// Decide returns the most permissive verdict of a subject's sessions.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	if !d.Contains(ref) {
		return contract.Verdict{}
	}
	var v contract.Verdict
	if m, ok := d.agents[a.Arg]; ok && a.Group == ir.Modes {
		a.Arg = m.name
	}
	all, as := d.sessions(ref)
	for i, s := range all {
		rules := s.as(as.name)
		w := rules.judge(a, as, nil)
		if len(s.hooks.all) > 0 {
			w = s.hooks.under(w, rules.judge(a, as, d.ask(&s.hooks)))
		}
		if bare := d.bare; bare != nil && ref.Role == bare.ref.Role && i == len(all)-1 && w.At.IsZero() {
			w.At, w.Rule = bare.at, "no policy: adminPolicyPaths of the settings names none"
		}
		if i == 0 || w.Decision > v.Decision {
			v = w
		}
	}
	return v
}

// Alone returns a decider for what Gemini CLI does without any policy.
func Alone() []contract.Decider { return []contract.Decider{alone{}} }

type alone struct{}

func (alone) Surface() string { return "" }

func (alone) Assumes() []string { return assumes }

func (alone) Decide(_ ir.SubjectRef, a policy.Action) contract.Verdict {
	return session(nil).judge(a, agent{}, nil)
}
