// Package model answers what Kilo does with an action, from the files that a build wrote: what every session reads, and
// what the sessions of a role read.
//
// Kilo is made of opencode, whose model this package uses for what both do alike. What differs is here, and comes from
// the program itself (@kilocode/cli-linux-x64 7.7.9), against which the recorded decisions of the end-to-end tests hold
// it. Where something is left open, the reading counts by which more is permitted.
package model

import (
	"io/fs"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/kilo/format"
	opencode "modec.dev/modec/targets/opencode/format"
	"modec.dev/modec/targets/opencode/model"
)

// codeHook is of a plugin that is not modec's.
const codeHook diag.Code = "bad-kilo-hook"

// Governs returns the halves of a decision that a file governs.
func Governs(string, ir.Group) contract.Halves { return contract.Both }

// Open reads the files of the project, and those of the sessions.
func Open(fsys fs.FS, o contract.Options, run model.Hook) ([]contract.Decider, diag.List) {
	d := model.NewDecider(program)
	r := &model.Reader{FS: fsys, Target: "kilo", Title: "Kilo", Bad: format.BadFile, Parse: format.ReadConfig}
	asked := model.NewHooks(r, codeHook, run)
	if shared := renamed(readProject(r)); shared != nil {
		openShared(d, asked, shared, o)
	}
	r.Sessions("kilo", func(ref ir.SubjectRef, c func() *opencode.Config, agent string) {
		add(d, ref, c, agent, asked.OfSession(ref, c(), agent))
	})
	return d.List(asked.Assumed(assumes)), r.Diags
}

// openShared adds the sessions that the files of the project are for.
func openShared(d *model.Decider, asked *model.Hooks, shared *opencode.Config, o contract.Options) {
	whole := func() *opencode.Config { return shared }
	base := o.Everybody()
	everybody := base != (ir.SubjectRef{}) && says(shared)
	starts := model.Starts(shared, o, first(shared), format.BuiltIn)
	for _, start := range starts {
		if everybody {
			add(d, base, whole, start, asked.Of(format.HookFile, start))
		}
	}
	for i := range shared.Agents {
		a := &shared.Agents[i]
		if a.Disabled || !model.IsMode(shared, a.Name) || slices.Contains(starts, a.Name) && everybody {
			continue
		}
		mode, by := ir.SubjectRef{Mode: contract.Slug(a.Name)}, asked.Of(format.HookFile, a.Name)
		if _, err := fs.Stat(asked, format.SessionFile(mode)); err != nil {
			add(d, mode, whole, a.Name, by)
		}
		if everybody {
			add(d, ir.SubjectRef{Role: base.Role, Mode: mode.Mode}, whole, a.Name, by)
		}
	}
}

// first returns the agent with which a session begins where no file names one: the first that is on.
func first(c *opencode.Config) string {
	for _, name := range append([]string{format.Default}, format.BuiltIn...) {
		if a := c.Agent(name); a == nil || !a.Disabled {
			return name
		}
	}
	for i := range c.Agents {
		if !c.Agents[i].Disabled {
			return c.Agents[i].Name
		}
	}
	return format.Default
}

// says reports whether files hold the sessions of everybody.
func says(c *opencode.Config) bool { return len(c.Permission) > 0 || c.Default != "" }

// readProject reads what every session reads, nil where there is nothing.
func readProject(r *model.Reader) (all *opencode.Config) {
	if data, err := fs.ReadFile(r.FS, format.ModesFile); err == nil {
		all = format.ReadModes(format.ModesFile, data)
	}
	merge := func(file string) {
		if c := r.Config(file); c != nil {
			all = opencode.Merged(all, c)
		}
	}
	for _, name := range format.RootFiles {
		merge(name)
	}
	for _, dir := range format.Dirs {
		for _, name := range format.DirFiles {
			merge(dir + "/" + name)
		}
		opencode.EachMarkdown(r.FS, dir, func(file, below string, data []byte) {
			a, problem := opencode.ReadAgent(file, below, data, opencode.WithNulls)
			if problem != "" { // Kilo goes on without one that has a wrong permission
				r.Diags.Warnf(format.BadFile, diag.Pos{File: file}, "Kilo goes on without this agent: %s", problem).
					Target("kilo")
				return
			}
			all = opencode.Merged(all, &opencode.Config{Agents: []opencode.Agent{a}})
		})
	}
	return all
}

// renamed returns files in which the agent "build" is the agent "code", as Kilo takes it once it has merged them: the
// one of the two that they name last counts, and the other does not.
func renamed(c *opencode.Config) *opencode.Config {
	if c == nil || c.Agent(format.Older) == nil {
		return c
	}
	out := *c
	out.Agents = nil
	for _, a := range c.Agents {
		if a.Name == format.Older {
			a.Name = format.Default
		}
		if i := slices.IndexFunc(out.Agents, func(x opencode.Agent) bool { return x.Name == a.Name }); i >= 0 {
			out.Agents[i] = a
			continue
		}
		out.Agents = append(out.Agents, a)
	}
	return &out
}

// add adds the session of an agent of a file, of whose calls a plugin asks.
func add(d *model.Decider, ref ir.SubjectRef, file func() *opencode.Config, name string, by *model.Asked) {
	d.Add(ref, func() model.Session {
		c := file()
		s := model.SessionOf(format.BuiltIn, c)
		s.Asks = by
		s.Rules = slices.Concat(byItself, ofAgent[name], format.Kept(c.Permission))
		s.Taken = format.Taken(c.Permission)
		if name == format.Default {
			s.Rules = append(s.Rules, opencode.Rule{Key: format.Semantic, Pattern: "*", Decision: ir.Allow})
		}
		if a := c.Agent(name); a != nil {
			s.Rules = append(s.Rules, format.Kept(a.Permission)...)
			s.Taken = append(s.Taken, format.Taken(a.Permission)...)
		}
		return s
	})
}

// byItself are the rules that come with Kilo; ofAgent those of its own agents that differ from what the others have. A
// mode by the name of one of these has its rules behind them, and "*" takes them back.
var (
	byItself = slices.Concat(
		own("*", "*", ir.Allow, "doom_loop", "*", ir.Ask, opencode.Outside, "*", ir.Ask),
		denied(),
		own(opencode.Read, "*", ir.Allow, opencode.Read, "*.env", ir.Ask, opencode.Read, "*.env.*", ir.Ask,
			opencode.Read, "*.env.example", ir.Allow, opencode.Bash, "*", ir.Ask),
		unasked(),
		own("recall", "*", ir.Ask, "kilo_memory_recall", "*", ir.Ask, "kilo_memory_save", "*", ir.Ask))
	ofAgent = map[string][]opencode.Rule{
		format.Default: own("question", "*", ir.Allow, "suggest", "*", ir.Allow, "plan_enter", "*", ir.Allow),
		"debug":        own("question", "*", ir.Allow, "suggest", "*", ir.Allow, "plan_enter", "*", ir.Allow),
	}
)

// own makes rules of keys, patterns and decisions.
func own(list ...any) (rules []opencode.Rule) {
	for i := 0; i+2 < len(list); i += 3 {
		rules = append(rules, opencode.Rule{Key: list[i].(string), Pattern: list[i+1].(string),
			Decision: list[i+2].(ir.Decision)})
	}
	return rules
}

// denied are the tools that Kilo denies by itself.
func denied() (rules []opencode.Rule) {
	for _, tool := range format.Denied {
		rules = append(rules, opencode.Rule{Key: tool, Pattern: opencode.Every, Decision: ir.Deny})
	}
	return rules
}

// unasked are the commands that Kilo runs by itself.
func unasked() (rules []opencode.Rule) {
	for _, pattern := range format.Unasked() {
		rules = append(rules, opencode.Rule{Key: opencode.Bash, Pattern: pattern, Decision: ir.Allow})
	}
	return rules
}

// Alone returns a decider for what Kilo does without any permission.
func Alone() []contract.Decider { return model.AloneBy(program, byItself, assumes) }

var assumes = []string{
	"a session of a role or a mode is started by `modec run`, or for the baseline in the project, whose folder is " +
		"the root of a git repository and no linked work tree",
	"the user's own settings have no agent of the same name, and none that a person turns to",
	"the user's own settings have no permission: into a kilo.json without one Kilo itself writes `bash: allow` at " +
		"its first start, which allows what no file decides, and lets a \"*\" at the beginning of a project decide",
	"nobody answers a question with \"always\" where no rule behind it decides: Kilo writes it down for every project",
	"no path of the project is a link, and no model moves a file by apply_patch",
	"Kilo 7.7 compares the patterns",
}
