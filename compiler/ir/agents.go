package ir

import (
	"cmp"
	"maps"
	"slices"

	"modec.dev/modec/compiler/diag"
)

// For returns the project as a target has it: a subject may do what it may do for that target, and what it may do
// anywhere where it has nothing of its own there. It is the project itself where no subject has that for any target.
func (p *Project) For(target string) *Project {
	if len(p.Agents()) == 0 {
		return p
	}
	q, target := *p, cmp.Or(p.Starts[target], target)
	q.Starts = nil
	q.Modes, q.Builtins, q.Roles = slices.Clone(p.Modes), slices.Clone(p.Builtins), slices.Clone(p.Roles)
	q.eachSubject(func(_ SubjectRef, can *Can, agents *map[string]*Can) {
		if own := (*agents)[target]; own != nil {
			*can = *own
		}
		*agents = nil
	})
	return &q
}

// Agents returns the targets for which some subject has rules of its own, sorted.
func (p *Project) Agents() []string {
	names := map[string]bool{}
	p.EachCan(func(_ SubjectRef, target string, _ *Can) { names[target] = true })
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

// EachCan calls f with what each subject may do: anywhere, which is for the target "", and for targets by name.
func (p *Project) EachCan(f func(ref SubjectRef, target string, can *Can)) {
	p.eachSubject(func(ref SubjectRef, can *Can, agents *map[string]*Can) {
		f(ref, "", can)
		for _, target := range slices.Sorted(maps.Keys(*agents)) {
			f(ref, target, (*agents)[target])
		}
	})
}

func (p *Project) eachSubject(f func(ref SubjectRef, can *Can, agents *map[string]*Can)) {
	for _, modes := range [][]Mode{p.Modes, p.Builtins} {
		for i := range modes {
			f(SubjectRef{Mode: modes[i].Slug}, &modes[i].Can, &modes[i].Agents)
		}
	}
	for i := range p.Roles {
		f(SubjectRef{Role: p.Roles[i].Name}, &p.Roles[i].Can, &p.Roles[i].Agents)
	}
}

// change calls f with copies of what a project's subjects may do, and takes these. Its lists of subjects are its own.
func (p *Project) change(f func(*Can)) {
	p.eachSubject(func(_ SubjectRef, can *Can, agents *map[string]*Can) {
		f(can)
		*agents = maps.Clone(*agents)
		for target, own := range *agents {
			c := *own
			f(&c)
			(*agents)[target] = &c
		}
	})
}

// Added is a rule of a subject for one target, or a decision for the rest of something.
type Added struct {
	Decision Decision
	What     string // "command npm test:*", "web" for the rest of it, "mcp github:list_*"
	Pos      diag.Pos
}

// Added returns what a subject may do for a target by rules that it does not have anywhere.
func (c *Can) Added(target *Can) (list []Added) {
	for _, x := range target.stated() {
		if !slices.ContainsFunc(c.stated(), func(y Added) bool { return x == y }) {
			list = append(list, x)
		}
	}
	return list
}

// stated lists the rules and defaults of a subject.
func (c *Can) stated() (list []Added) {
	rest := func(what string, d *Default) {
		if d != nil {
			list = append(list, Added{d.Decision, what, d.Pos})
		}
	}
	rules := func(what string, all []Rule) {
		for _, r := range all {
			if !r.Times.Timed() || r.Decision == Allow { // else the allow stands for both
				list = append(list, Added{r.Decision, what + r.Pattern.String(), r.Pos})
			}
		}
	}
	rest("default", c.Default)
	rest("unknown", c.Unknown)
	rest("outside read", c.OutsideRead)
	rest("outside edit", c.OutsideEdit)
	for _, g := range Groups {
		if t := c.Table(g); t != nil {
			rest(string(g), t.Default)
			rules(string(g)+" ", slices.Concat(t.Rules, t.Timed))
		}
	}
	if c.MCP != nil {
		rest("mcp", c.MCP.Default)
		rules("mcp ", c.MCP.Rules)
		for _, e := range c.MCP.Entries {
			of := "mcp " + e.Key
			rest(of, e.Default)
			rest(of+" resources", e.Resources)
			rest(of+" prompts", e.Prompts)
			rules(of+":", slices.Concat(e.Rules, e.Timed))
		}
	}
	return list
}
