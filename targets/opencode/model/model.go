// Package model answers what opencode does with an action, from the files that a build wrote: what every session
// reads, and what the sessions of a role read.
//
// It stands apart from the emitter: how opencode decides comes from its own program (opencode-linux-x64 1.18.33),
// against which the recorded decisions of the end-to-end tests hold it. Where something is left open, the reading
// counts by which more is permitted.
package model

import (
	"io/fs"
	"slices"

	"modec.dev/modec/compiler/cache"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// Governs returns the halves of a decision that a file governs.
func Governs(string, ir.Group) contract.Halves { return contract.Both }

// Decider decides as a program does, with somebody there to answer.
type Decider struct {
	program *Program
	assumes []string
	setups  map[ir.SubjectRef][]setup
	ready   *cache.Cache[place, *Session] // by their keys: there may be one for each role in each mode
}

// setup is a session of a subject, which is read when it is asked for: there may be one for each role in each mode.
type setup struct {
	read    func() Session
	repeats map[ir.Group]bool // about these an earlier session of the subject decides the same
}

// place is where a session is among the setups.
type place struct {
	ref ir.SubjectRef
	at  int
}

// codeHook is of a plugin that is not modec's.
const codeHook diag.Code = "bad-opencode-hook"

// deciding is how many sessions at least are kept as they were read: more than are asked at once.
const deciding = 16

// Session is what an agent goes by: its rules in their order, and the agents to which it may hand work.
type Session struct {
	Rules  []format.Rule
	Agents map[string]bool // false: it is off
	Taken  []format.Rule   // those that a null took back

	Asks    *Asked // nil: no plugin of modec's
	program *Program
	by      map[string][]format.Rule // the rules of some keys
	folded  map[string][]string      // the patterns of those about files as they are compared in any case
}

// NewDecider returns a decider for no sessions yet.
func NewDecider(p *Program) *Decider {
	return &Decider{p, nil, map[ir.SubjectRef][]setup{}, cache.New[place, *Session](deciding)}
}

// Add adds a session of a subject, which read returns, the same each time.
func (d *Decider) Add(ref ir.SubjectRef, read func() Session) {
	next := setup{read: read}
	if earlier := d.setups[ref]; len(earlier) > 0 {
		next.repeats = map[ir.Group]bool{}
		s := d.plain(&next)
		for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web} {
			next.repeats[g] = slices.ContainsFunc(earlier, func(e setup) bool {
				other := d.plain(&e)
				return s.asksLike(other) && s.decidesLike(other, g)
			})
		}
	}
	d.setups[ref] = append(d.setups[ref], next)
}

// plain returns a session as it is read.
func (d *Decider) plain(of *setup) *Session {
	s := of.read()
	s.program = d.program
	return &s
}

// session returns one of a subject's, ready to decide.
func (d *Decider) session(ref ir.SubjectRef, at int) *Session {
	s, ok := d.ready.Get(place{ref, at})
	if !ok {
		byKey := d.plain(&d.setups[ref][at]).byKey()
		s = &byKey
		d.ready.Put(place{ref, at}, s)
	}
	return s
}

// List returns the decider and what it assumes, none where nothing holds any subject.
func (d *Decider) List(assumes []string) []contract.Decider {
	d.assumes = assumes
	if len(d.setups) == 0 {
		return nil
	}
	return []contract.Decider{d}
}

// Open reads the files of the project, and those of the sessions.
func Open(fsys fs.FS, o contract.Options, run Hook) ([]contract.Decider, diag.List) {
	d := NewDecider(opencode)
	r := &Reader{FS: fsys, Target: "opencode", Title: "opencode", Bad: format.BadFile, Parse: format.ReadConfig}
	asked := NewHooks(r, codeHook, run)
	if shared := readProject(r); shared != nil {
		whole := func() *format.Config { return shared }
		base := o.Everybody()
		if base != (ir.SubjectRef{}) && len(shared.Permission) > 0 {
			for _, start := range Starts(shared, o, format.Start, format.BuiltIn) {
				add(d, base, whole, start, asked.Of(format.HookFile, start))
			}
		}
		for i := range shared.Agents {
			a := &shared.Agents[i]
			asIs := slices.Contains(format.BuiltIn, a.Name) && len(a.Permission) == 0
			if a.Disabled || asIs || !IsMode(shared, a.Name) {
				continue
			}
			mode, by := ir.SubjectRef{Mode: contract.Slug(a.Name)}, asked.Of(format.HookFile, a.Name)
			if _, err := fs.Stat(fsys, format.SessionFile(mode)); err != nil {
				add(d, mode, whole, a.Name, by)
			}
			if base != (ir.SubjectRef{}) && len(shared.Permission) > 0 {
				add(d, ir.SubjectRef{Role: base.Role, Mode: mode.Mode}, whole, a.Name, by)
			}
		}
	}
	r.Sessions("opencode", func(ref ir.SubjectRef, file func() *format.Config, name string) {
		add(d, ref, file, name, asked.OfSession(ref, file(), name))
	})
	return d.List(asked.Assumed(assumes)), r.Diags
}

// IsMode reports whether an agent may be a mode of a source: one whose name is a slug has that one for itself.
func IsMode(c *format.Config, name string) bool {
	slug := contract.Slug(name)
	return slug == name || slug != "" && c.Agent(slug) == nil
}

// Starts returns the agents as which a session of everybody's role may start: own is the program's, builtIn are all of
// its agents. The agent of the role stands for it alone, and so does one that the source does not have. A session that
// starts as a mode of the source is a session of that mode, and judged as such.
func Starts(c *format.Config, o contract.Options, own string, builtIn []string) []string {
	switch start, role := c.Default, o.Everybody().Role; {
	case start == "" || start == own || o.HasMode(contract.Slug(start)) && start != role && start != role+"-role":
		return []string{own}
	case slices.Contains(builtIn, start):
		return []string{own, start}
	default:
		return []string{start}
	}
}

// readProject reads what every session reads, nil where there is nothing.
func readProject(r *Reader) (all *format.Config) {
	for _, file := range format.ProjectFiles {
		if c := r.Config(file); c != nil {
			all = format.Merged(all, c)
		}
	}
	format.EachMarkdown(r.FS, format.Dir, func(file, below string, data []byte) {
		a := format.ReadMarkdown(file, below, data)
		all = format.Merged(all, &format.Config{Agents: []format.Agent{a}})
	})
	return all
}

// add adds the session of an agent of a file, of whose calls a plugin asks.
func add(d *Decider, ref ir.SubjectRef, file func() *format.Config, name string, by *Asked) {
	d.Add(ref, func() Session {
		c := file()
		s := SessionOf(format.BuiltIn, c)
		s.Asks = by
		var own []format.Rule
		if a := c.Agent(name); a != nil {
			own = a.Permission
		}
		s.Rules = slices.Concat(byItself, ofBuild[name], c.Permission, own)
		return s
	})
}

// byItself are the rules that come with opencode; ofBuild those of its own agents that differ from what the others
// have.
var (
	byItself = []format.Rule{
		{Key: "*", Pattern: "*", Decision: ir.Allow, Form: format.Alone},
		{Key: "doom_loop", Pattern: "*", Decision: ir.Ask, Form: format.Alone},
		{Key: format.Outside, Pattern: "*", Decision: ir.Ask, Form: format.Alone},
		{Key: "question", Pattern: "*", Decision: ir.Deny, Form: format.Alone},
		{Key: "plan_enter", Pattern: "*", Decision: ir.Deny, Form: format.Alone},
		{Key: "plan_exit", Pattern: "*", Decision: ir.Deny, Form: format.Alone},
		{Key: format.Read, Pattern: "*", Decision: ir.Allow, Form: format.Alone},
		{Key: format.Read, Pattern: "*.env", Decision: ir.Ask},
		{Key: format.Read, Pattern: "*.env.*", Decision: ir.Ask},
		{Key: format.Read, Pattern: "*.env.example", Decision: ir.Allow},
	}
	ofBuild = map[string][]format.Rule{format.Start: {
		{Key: "question", Pattern: "*", Decision: ir.Allow, Form: format.Alone},
		{Key: "plan_enter", Pattern: "*", Decision: ir.Allow, Form: format.Alone},
	}}
)

func (d *Decider) Surface() string { return "" }

func (d *Decider) Assumes() []string { return d.assumes }

var assumes = []string{
	"a session of a role or a mode is started by `modec run`, or for the baseline in the project, whose folder is " +
		"the root of a git repository",
	"the user's own settings have no agent of the same name, and none that a person turns to",
	"nobody answers a question with \"always\": no rule of that tool holds then until opencode ends",
	"no path of the project is a link, and no model moves a file by apply_patch",
	"opencode 1.18 compares the patterns",
}

// Contains reports whether something restricts a session of a subject.
func (d *Decider) Contains(ref ir.SubjectRef) bool { return len(d.setups[ref]) > 0 }

// Decide returns the most permissive verdict of a subject's sessions.
func (d *Decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	var v contract.Verdict
	for i := range d.setups[ref] {
		if d.setups[ref][i].repeats[a.Group] {
			continue
		}
		s := d.session(ref, i)
		if w := s.held(a, s.judge(a)); i == 0 || w.Decision > v.Decision {
			v = w
		}
	}
	return v
}

// Does returns what the program does with one call of a kind that does an action, in the first session of a subject.
// An end-to-end test makes that call.
func (d *Decider) Does(ref ir.SubjectRef, a policy.Action) ir.Decision {
	s := d.session(ref, 0)
	if a.Group == ir.Web {
		return s.ask(format.WebFetch, "https://"+a.Arg+"/").Decision
	}
	if a.Group == ir.Unknown {
		return s.ask(a.Arg, "x").Decision
	}
	if a.Group == ir.Read {
		return s.ask(format.Read, a.Arg).Decision
	}
	v := s.judge(a)
	if v.Hole != nil {
		return v.Hole.Decision
	}
	return v.Decision
}

// Alone returns a decider for what opencode does without any permission.
func Alone() []contract.Decider { return AloneBy(opencode, byItself, assumes) }

// AloneBy returns that of a program, by the rules that come with it.
func AloneBy(p *Program, rules []format.Rule, assumes []string) []contract.Decider {
	return []contract.Decider{alone{Session{Rules: rules, program: p}.byKey(), assumes}}
}

type alone struct {
	Session
	assumes []string
}

func (alone) Surface() string { return "" }

func (d alone) Assumes() []string { return d.assumes }

func (d alone) Decide(_ ir.SubjectRef, a policy.Action) contract.Verdict { return d.judge(a) }
