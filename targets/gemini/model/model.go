// Package model answers what Gemini CLI does with an action, from the files that a build wrote: the policy of
// a session, and the agents to which it hands work.
//
// It stands apart from the emitter: how Gemini CLI decides comes from its own engine
// (@google/gemini-cli-core 0.61.0, policy/policy-engine.js), against which the recorded decisions of the
// end-to-end tests hold it. Where something is left open, the reading counts by which more is permitted.
package model

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

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
	case path.Dir(file) == format.PoliciesDir:
		return contract.Both
	case path.Dir(file) == format.AgentsDir:
		return contract.Access
	}
	return contract.Neither
}

// decider decides as Gemini CLI does in its approval mode default, with somebody there to answer.
type decider struct {
	setups map[ir.SubjectRef][]session
	agents map[string]agent
}

// session is what a session goes by: the rules of one or more policies, the first that matches first.
type session []format.Rule

// agent is what a mode has at all.
type agent struct {
	tools   []string
	limited bool
	at      diag.Pos
}

// Open reads the policies, the agents, and for the baseline the settings of the project.
func Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	d := &decider{setups: map[ir.SubjectRef][]session{}, agents: map[string]agent{}}
	var diags diag.List
	files, err := fs.Glob(fsys, format.PoliciesDir+"/*.toml")
	if err != nil {
		diags.Errorf(format.BadFile, diag.Pos{File: format.PoliciesDir}, "%v", err).Target("gemini")
	}
	for _, file := range files {
		if ref, ok := format.PolicySubject(file); ok {
			d.setups[ref] = append(d.setups[ref], readSession(fsys, &diags, file))
		}
	}
	if b := o.Baseline(); b != "" {
		ref := ir.SubjectRef{Role: b}
		if list := adminPolicies(fsys, &diags); len(list) > 0 && !slices.Equal(list, []string{format.PolicyFile(ref)}) {
			d.setups[ref] = append(d.setups[ref], readSession(fsys, &diags, list...))
		}
	}
	d.readAgents(fsys, &diags)
	if len(d.setups) == 0 {
		return nil, diags
	}
	return []contract.Decider{d}, diags
}

// readSession reads the policies of a session. One with an error is not read, as Gemini CLI does.
func readSession(fsys fs.FS, diags *diag.List, files ...string) session {
	s := session{}
	for _, file := range files {
		data, err := fs.ReadFile(fsys, file)
		if err != nil {
			ignored(diags, diag.Pos{File: file}, "Gemini CLI goes on without this policy, and says nothing: %v", err)
			continue
		}
		rules, found := format.ReadPolicy(file, data)
		for i := range found {
			found[i].Severity = diag.Warning // whoever judges goes on without the file, too
		}
		*diags = append(*diags, found...)
		s = append(s, rules...)
	}
	slices.SortStableFunc(s, func(a, b format.Rule) int { return b.Priority - a.Priority })
	return s
}

func ignored(diags *diag.List, at diag.Pos, message string, args ...any) {
	diags.Warnf(format.BadRule, at, message, args...).
		Hint("`modec build` rewrites what it wrote").
		Target("gemini")
}

// adminPolicies returns the policies that the project's settings put above all others.
func adminPolicies(fsys fs.FS, diags *diag.List) (out []string) {
	data, err := fs.ReadFile(fsys, format.SettingsFile)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			ignored(diags, diag.Pos{File: format.SettingsFile}, "Gemini CLI cannot read this file: %v", err)
		}
		return nil
	}
	v, err := located.JSONC(format.SettingsFile, data)
	if err != nil {
		ignored(diags, diag.Pos{File: format.SettingsFile}, "Gemini CLI does not start with this file: %v", err)
		return nil
	}
	for _, item := range v.Get("adminPolicyPaths").List() {
		if s, ok := item.Str(); ok {
			out = append(out, path.Clean(s))
		}
	}
	return out
}

// readAgents reads the agents of the project.
func (d *decider) readAgents(fsys fs.FS, diags *diag.List) {
	files, _ := fs.Glob(fsys, format.AgentsDir+"/*.md")
	for _, file := range files {
		data, err := fs.ReadFile(fsys, file)
		if err != nil {
			continue
		}
		_, rest, ok := strings.Cut(string(data), "---\n")
		head, _, closed := strings.Cut(rest, "\n---")
		var front struct {
			Name  string    `yaml:"name"`
			Tools *[]string `yaml:"tools"`
		}
		if err := yaml.Unmarshal([]byte(head), &front); !ok || !closed || err != nil || !format.AgentName(front.Name) {
			ignored(diags, diag.Pos{File: file}, "Gemini CLI loads no agent from this file")
			continue
		}
		a := agent{at: diag.Pos{File: file}}
		if front.Tools != nil {
			a.tools, a.limited = *front.Tools, true
		}
		d.agents[front.Name] = a
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
}

// Contains reports whether there is a policy for a subject, and of a mode in a role's session an agent.
func (d *decider) Contains(ref ir.SubjectRef) bool {
	if ref.Role != "" && ref.Mode != "" {
		_, ok := d.agents[ref.Mode]
		return ok && len(d.setups[ir.SubjectRef{Role: ref.Role}]) > 0
	}
	return len(d.setups[ref]) > 0
}

// Decide returns the most permissive verdict of a subject's sessions.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	if !d.Contains(ref) {
		return contract.Verdict{}
	}
	of, subagent := ref, ""
	if ref.Role != "" {
		of, subagent = ir.SubjectRef{Role: ref.Role}, ref.Mode
	}
	var v contract.Verdict
	for i, s := range d.setups[of] {
		if w := s.judge(a, subagent, d.agents[subagent]); i == 0 || w.Decision > v.Decision {
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
	return session(nil).judge(a, "", agent{})
}
