package diff

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
)

// decider decides for a subject that one project may not have.
type decider struct {
	subject *policy.Subject // nil: it may do nothing
	absent  policy.Result
	most    bool
}

func (r *Report) decider(e *policy.Engine, ref ir.SubjectRef) (decider, error) {
	if !has(e.Project(), ref) {
		return decider{absent: policy.Result{Rule: "there is no " + ref.String()}}, nil
	}
	s, err := e.Subject(ref)
	return decider{subject: s, most: r.most}, err
}

func (d decider) decide(a policy.Action) policy.Result {
	if d.subject == nil {
		return d.absent
	}
	a.Most = d.most
	return d.subject.Decide(a)
}

// patterned are the groups whose rules have patterns from which actions can be made.
var patterned = []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web}

// patterns returns the patterns of the subject's rules.
func (d decider) patterns() map[ir.Group][]ir.Pattern {
	out := map[ir.Group][]ir.Pattern{}
	if d.subject == nil {
		return out
	}
	for _, g := range patterned {
		for _, r := range d.subject.Rules(g) {
			out[g] = append(out[g], r.Pattern)
		}
	}
	return out
}

// key is what the actions of one change have in common.
type key struct {
	group         ir.Group
	server        string
	before, after policy.Result
}

// comparison compares one subject.
type comparison struct {
	ref     ir.SubjectRef
	was, is decider
	changed map[key][]policy.Action
	highest map[key]policy.Result // for a subject that one side alone has
	order   []key                 // the keys of changed, as they were found
}

func (r *Report) subject(before, after *policy.Engine, ref ir.SubjectRef, seed uint64) error {
	c, err := r.compared(before, after, ref, ref, seed)
	if err != nil {
		return err
	}
	c.foldJoined()
	for _, k := range c.order {
		r.add(c.change(k, after.Project()))
	}
	return nil
}

// foldJoined puts lines of several commands to a change of one of these, where that is the same: the rule that they
// name is of any of their commands, and often of one about which nothing has changed.
func (c *comparison) foldJoined() {
	joined := func(a policy.Action) bool { return a.Group == ir.Command && strings.ContainsAny(a.Arg, ";&|\n") }
	alone := func(k key) bool {
		return slices.ContainsFunc(c.changed[k], func(a policy.Action) bool { return !joined(a) })
	}
	all := slices.Clone(c.order)
	c.order = slices.DeleteFunc(c.order, func(k key) bool {
		if alone(k) {
			return false
		}
		at := slices.IndexFunc(all, func(of key) bool {
			return of.group == k.group && of.before.Decision == k.before.Decision &&
				of.after.Decision == k.after.Decision && alone(of)
		})
		if at >= 0 {
			c.changed[all[at]] = append(c.changed[all[at]], c.changed[k]...)
		}
		return at >= 0
	})
}

// compared decides the same actions for a subject of one project and for one of another.
func (r *Report) compared(
	before, after *policy.Engine, old, ref ir.SubjectRef, seed uint64,
) (*comparison, error) {
	c := &comparison{ref: ref, changed: map[key][]policy.Action{}, highest: map[key]policy.Result{}}
	var err error
	if c.was, err = r.decider(before, old); err != nil {
		return nil, err
	}
	if c.is, err = r.decider(after, ref); err != nil {
		return nil, err
	}
	// The actions of both sides, those of the new one first.
	seen := map[policy.Action]bool{}
	for _, side := range []struct {
		engine     *policy.Engine
		ref        ir.SubjectRef
		own, other decider
	}{{after, ref, c.is, c.was}, {before, old, c.was, c.is}} {
		if side.own.subject == nil {
			continue
		}
		list, err := verify.Universe(side.engine, side.ref, side.other.patterns(), seed)
		if err != nil {
			return nil, err
		}
		for _, w := range list {
			// The tools that stand for unlisted ones are below.
			if !seen[w.Action] && !w.Unlisted() && strings.TrimSpace(w.Arg) != "" {
				seen[w.Action] = true
				c.compare(w.Action)
			}
		}
	}
	if r.tools == nil {
		r.tools = verify.NewTools()
	}
	for _, server := range serversOf(before.Project(), after.Project()) {
		for _, a := range r.tools.On(server, slices.DeleteFunc([]*policy.Subject{c.was.subject, c.is.subject},
			func(s *policy.Subject) bool { return s == nil })...) {
			if !seen[a] {
				seen[a] = true
				c.compare(a)
			}
		}
	}
	return c, nil
}

// serversOf returns the servers of two projects, and one that neither has.
func serversOf(a, b *ir.Project) []string {
	names := []string{contract.UnknownServer}
	for _, p := range []*ir.Project{a, b} {
		for i := range p.Servers {
			names = append(names, p.Servers[i].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// compare decides an action by both sides.
func (c *comparison) compare(a policy.Action) {
	x, y := c.was.decide(a), c.is.decide(a)
	if x.Decision == ir.Agent && y.Decision == ir.Agent { // by the permission mode, perhaps
		x.Decision, y.Decision = x.WithoutPermissionMode(), y.WithoutPermissionMode()
	}
	if x.Decision == y.Decision {
		return
	}
	k := key{a.Group, a.Server, unreasoned(x), unreasoned(y)}
	if c.was.subject == nil || c.is.subject == nil { // one line for a group
		k.before, k.after = policy.Result{}, policy.Result{}
		for _, top := range []policy.Result{x, y} {
			if top.Decision > c.highest[k].Decision {
				c.highest[k] = top
			}
		}
	}
	if c.changed[k] == nil {
		c.order = append(c.order, k)
	}
	c.changed[k] = append(c.changed[k], a)
}

// unreasoned returns a result that is the same for every line that a rule decides.
func unreasoned(r policy.Result) policy.Result {
	r.Reason = ""
	return r
}

// shown is how many actions a change names.
const shown = 3

// change describes the actions of a key.
func (c *comparison) change(k key, p *ir.Project) Change {
	list, only := c.changed[k], ""
	switch {
	case c.was.subject == nil:
		k.before, k.after, only = c.was.absent, c.highest[k], "after"
	case c.is.subject == nil:
		k.before, k.after, only = c.highest[k], c.is.absent, "before"
	}
	out := Change{
		Kind: Narrowed, Subject: c.ref.String(), Group: k.group, Only: only, Count: len(list),
		Before: side(k.before), After: side(k.after),
	}
	if opens(k.before.Decision, k.after.Decision) {
		out.Kind = Widened
	}
	names := make([]string, 0, len(list))
	for _, a := range list {
		names = append(names, Name(a))
	}
	slices.SortStableFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(strange(x), strange(y)), cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
	out.Examples = names[:min(shown, len(names))]
	out.What = what(k, names, only, p.Server(k.server))
	return out
}

// opens reports whether a decision may permit more than another: what an agent decides by itself it may permit or
// refuse, and never more than what is allowed.
func opens(before, after ir.Decision) bool {
	return after == ir.Allow || after > before && before != ir.Allow
}

// what names the actions of a change. server is nil where the new source does not have it.
func what(k key, names []string, only string, server *ir.Server) string {
	switch {
	case k.group == ir.MCP && (only != "" || len(names) > shown && (server == nil || len(names) >= len(server.Tools))):
		return serverName(k.server) + ":*"
	case k.group == ir.MCP:
		return strings.Join(names, ", ")
	case only != "":
		return "*"
	case strings.HasPrefix(k.after.Rule, notLiteral), strings.HasPrefix(k.before.Rule, notLiteral):
		return NotLiteral
	}
	is, was := pattern(k.after.Rule), pattern(k.before.Rule)
	if k.after.Decision > k.before.Decision { // the rule that held it back is gone: what decides now was there
		is, was = was, is
	}
	return cmp.Or(is, was, AnythingElse)
}

func (r *Report) add(c Change) {
	if c.Kind == Widened {
		r.Widened++
	} else {
		r.Narrowed++
	}
	r.Changes = append(r.Changes, c)
}

// notLiteral is the beginning of a rule of the engine about a line that is not literal.
const notLiteral = "not literal"

// pattern returns the text in quotes of a rule such as `deny "git push *"`, "" for a default.
func pattern(rule string) string {
	word, rest, ok := strings.Cut(rule, " ")
	if !ok || word != "deny" && word != "ask" && word != "allow" {
		return ""
	}
	if text, err := strconv.QuotedPrefix(rest); err == nil {
		if text, err = strconv.Unquote(text); err == nil {
			return text
		}
	}
	return rest
}

// strange counts what makes an action a bad example.
func strange(s string) int {
	n := 0
	for _, c := range s {
		if c < ' ' || c > '~' || strings.ContainsRune(`"'$|;&<>\(){}!*`+"`", c) {
			n++
		}
	}
	if contract.HasUnknown(s) || strings.Contains(s, "..") || strings.HasPrefix(s, "-") ||
		strings.TrimSpace(s) != s || len(s) < 3 || strings.ToLower(s) != s {
		n++
	}
	return n
}

// Name writes an action for people.
func Name(a policy.Action) string {
	server := serverName(a.Server)
	switch {
	case a.Group != ir.MCP || a.Server == "": // a tool of the agent's own
		return a.Arg
	case a.Kind == policy.Resource:
		return server + " (resources)"
	case a.Kind == policy.Prompt:
		return server + " (prompts)"
	case a.Arg == contract.UnknownTool:
		return server + ":(any other tool)"
	}
	return server + ":" + a.Arg
}

func serverName(name string) string {
	if name == contract.UnknownServer {
		return "(any other server)"
	}
	return name
}

func side(r policy.Result) Side { return Side{r.Decision, r.Rule, r.Pos, r.From} }
