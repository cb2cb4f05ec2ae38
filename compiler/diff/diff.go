// Package diff compares what subjects may do by two sources, not the text of the sources.
// [Projects] decides the same actions by both and reports where the decisions differ.
package diff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/compiler/verify"
)

// Kind says in which direction something changes.
type Kind string

const (
	Widened  Kind = "widened"  // more is permitted, or no person is asked any more
	Narrowed Kind = "narrowed" // less is permitted
	Changed  Kind = "changed"  // neither: a server is gone, a role has another permission mode
)

// Side is the decision of one source.
type Side struct {
	Decision ir.Decision `json:"decision"`
	Rule     string      `json:"rule,omitempty"`
	Pos      diag.Pos    `json:"pos"`
	From     string      `json:"from,omitempty"`
}

// Change is one difference of a subject. It is about all actions that the same two rules
// decide.
type Change struct {
	Kind    Kind     `json:"kind"`
	Subject string   `json:"subject"`
	Group   ir.Group `json:"group"`
	// What is the pattern of the rule that is new or gone, AnythingElse where a default
	// changed, or a tool of a server ("github:create_issue", "github:*" for all).
	What string `json:"what"`
	// Only is "after" or "before" for a subject that only one side has. The decision of
	// that side is then its highest one in the group.
	Only string `json:"only,omitempty"`
	// InTimes is set for what changes only while allows that have times are open.
	InTimes bool `json:"inTimes,omitempty"`
	// Count is the number of actions that were tried and differ, and Examples a few of
	// them.
	Count    int      `json:"count"`
	Examples []string `json:"examples,omitempty"`
	Before   Side     `json:"before"`
	After    Side     `json:"after"`
}

// The What of actions that no pattern names: those that a default decides, those of all
// guards, and command lines that only running them would explain.
const (
	AnythingElse = "anything else"
	GuardedPaths = "guarded paths"
	NotLiteral   = "a line that is not literal"
)

// Other is a difference that no decision shows.
type Other struct {
	Kind Kind     `json:"kind"`
	What string   `json:"what"` // "mode architect", "server docs"
	Text string   `json:"text"`
	Pos  diag.Pos `json:"pos"`
}

// Report contains the differences.
type Report struct {
	Changes  []Change `json:"changes"` // by subject, widened first
	Others   []Other  `json:"others"`
	Widened  int      `json:"widened"`
	Narrowed int      `json:"narrowed"`

	tools *verify.Tools
}

// Projects compares what the subjects of two projects may do. A subject that only one of
// them has may do nothing in the other one, unless it has the same rules there under another name.
func Projects(before, after *policy.Engine, seed uint64) (*Report, error) {
	return ProjectsFor(before, after, Targets{}, seed)
}

// Targets names the targets that two projects have; empty where nobody asks.
type Targets struct{ Before, After []string }

// ProjectsFor compares as [Projects] does, and takes what says nothing of targets for emitted for those that its
// project has.
func ProjectsFor(before, after *policy.Engine, names Targets, seed uint64) (*Report, error) {
	r := &Report{Changes: []Change{}, Others: []Other{}}
	before = r.renamed(before, after)
	a, b := before.Project().Decisions(), after.Project().Decisions()
	same := surroundings(a) == surroundings(b)
	for _, ref := range union(a, b) {
		if same && unchanged(a, b, ref) {
			continue
		}
		if err := r.subject(before, after, ref, seed); err != nil {
			return nil, err
		}
		if err := r.inTimes(before, after, ref, seed); err != nil {
			return nil, err
		}
	}
	r.servers(before, after)
	r.targets(before.Project(), after.Project(), names)
	r.roles(before.Project(), after.Project())
	r.sort()
	r.mask()
	return r, nil
}

// Exception is a widening that modec.toml accepts in writing.
type Exception struct {
	Text string // "roo, mode operator: command kubectl delete *"
	Pos  diag.Pos
}

// Exceptions adds the exceptions that are new or gone.
func (r *Report) Exceptions(before, after []Exception) {
	has := func(list []Exception, e Exception) bool {
		return slices.ContainsFunc(list, func(x Exception) bool { return x.Text == e.Text })
	}
	for _, e := range after {
		if !has(before, e) {
			r.other(Other{Widened, "exception", "accepts for " + e.Text, e.Pos})
		}
	}
	for _, e := range before {
		if !has(after, e) {
			r.other(Other{Narrowed, "exception", "no longer accepts for " + e.Text, e.Pos})
		}
	}
}

// Runs adds what agents run, or take over from files, beside what the source allows: hooks, helpers, variables,
// people's own rules. Each of these may permit something.
func (r *Report) Runs(before, after []contract.Run) {
	for _, x := range after {
		if !slices.Contains(before, x) {
			r.other(Other{Kind: Widened, What: x.Of, Text: "has " + x.Text + ", for its agent alone"})
		}
	}
	for _, x := range before {
		if !slices.Contains(after, x) {
			r.other(Other{Kind: Narrowed, What: x.Of, Text: "no longer has " + x.Text + ", for its agent alone"})
		}
	}
}

// Left is a rule of a role for one agent alone that a target leaves out, and why.
type Left struct {
	Role string
	Rule ir.NativeRule
	Why  string
}

// LeftOut adds the rules that are no longer left out, or newly: of a rule that stays in the source no decision shows
// that. A rule that is new or gone is a difference by itself.
func (r *Report) LeftOut(before, after []Left) {
	in := func(list []Left, x Left) bool {
		return slices.ContainsFunc(list, func(y Left) bool {
			return y.Role == x.Role && y.Rule.Target == x.Rule.Target && y.Rule.Decision == x.Rule.Decision &&
				y.Rule.Text == x.Rule.Text
		})
	}
	for _, x := range after {
		if !in(before, x) {
			r.other(Other{Narrowed, "role " + x.Role, "for " + x.Rule.Target + " alone, " + x.Why, x.Rule.Pos})
		}
	}
	for _, x := range before {
		if !in(after, x) {
			text := fmt.Sprintf("the rule %s %s, for %s alone, is no longer left out", x.Rule.Decision, x.Rule.Text,
				x.Rule.Target)
			r.other(Other{Widened, "role " + x.Role, text, x.Rule.Pos})
		}
	}
}

// Entries adds what people changed in a file beside modec's entries since the last build, and what is not told yet.
func (r *Report) Entries(file string, list []located.Difference) {
	for _, d := range list {
		o := Other{Kind: Changed, What: file, Text: d.Path + " " + d.Text, Pos: d.Pos}
		told := func(x Other) bool { return x.What == o.What && x.Text == o.Text && x.Pos == o.Pos }
		if !slices.ContainsFunc(r.Others, told) {
			r.other(o)
		}
	}
}

// Own adds what people changed in a file beside modec's entries. What permits more or starts a program is a widening.
func (r *Report) Own(file *contract.File, list []located.Difference) {
	for _, d := range list {
		o := Other{Kind: Changed, What: file.Path, Text: d.Path + " " + d.Text, Pos: d.Pos}
		if file.Opens(d) {
			o.Kind = Widened
		}
		r.other(o)
	}
}

// Unread adds a file that nobody can read any more: what it denied is denied no longer.
func (r *Report) Unread(file string) {
	r.other(Other{Kind: Widened, What: file, Pos: diag.Pos{File: file},
		Text: "cannot be read any more, and its agent may load nothing of it: what it denied and asked about is open"})
}

// Again adds a mode of an agent's own that sessions reach again, since the source has no mode by its name any more.
func (r *Report) Again(mode, agent string, was diag.Pos) {
	r.other(Other{Kind: Widened, What: "mode " + mode, Pos: was,
		Text: agent + " has a mode of its own by this name, which is there again, and nothing of the source holds it"})
}

// Strays adds what lies in agents' files beside the source on the side after alone: subjects, servers, and the files of
// agents that are no targets.
func (r *Report) Strays(before, after []Stray) {
	for _, x := range after {
		same := func(y Stray) bool { return y.What == x.What && y.Pos.File == x.Pos.File && y.Says == x.Says }
		was := func(y Stray) bool { return y.Of == x.Of && y.Of != "" && y.Pos.File == x.Pos.File }
		o := Other{Kind: Widened, What: x.What, Pos: x.Pos,
			Text: "is in " + x.Pos.File + " and not in the source, and a session may use it"}
		if x.Of != "" {
			o.Text = "is a file of " + x.Of + ", which is no target: nothing of the source holds what it permits; " +
				"`modec migrate` shows it"
		}
		switch {
		case slices.ContainsFunc(before, same):
		case slices.ContainsFunc(before, was):
			o.Kind = Changed
			r.other(o)
		default:
			r.other(o)
		}
	}
}

// Stray is a subject or a server in an agent's file that is not in the source, or a file that nothing of it holds.
type Stray struct {
	What string // "mode helper", "server docs", ".roomodes"
	Says string // what tells it from another one of its name
	Of   string // the agent of a whole file, where it is no target; else ""
	By   string // the target whose agent loads what no import reads; else ""
	Pos  diag.Pos
}

// Beside adds a file in which people say something else than the source. more returns what the source would permit more
// with that, a line each; known is false where no source says all of it.
func (r *Report) Beside(file string, more func() (lines []string, known bool)) {
	if slices.ContainsFunc(r.Others, func(x Other) bool { return x.What == file }) {
		return // what is known of it is said
	}
	const shown = "`modec build --check` shows it, `modec migrate` offers it as a patch of the source"
	lines, known := more()
	for _, line := range lines {
		r.other(Other{Kind: Widened, What: file, Pos: diag.Pos{File: file},
			Text: "people changed it, and with that the source would permit more: " + line})
	}
	switch {
	case len(lines) > 0:
	case known:
		r.other(Other{Kind: Changed, What: file, Pos: diag.Pos{File: file},
			Text: "people changed it, which permits no more: " + shown})
	default:
		r.other(Other{Kind: Widened, What: file, Pos: diag.Pos{File: file},
			Text: "people changed it in a way that no source says, and may permit more: " + shown})
	}
}

func (r *Report) other(o Other) {
	switch o.Kind {
	case Widened:
		r.Widened++
	case Narrowed:
		r.Narrowed++
	}
	r.Others = append(r.Others, o)
}

// roles adds the differences between the subjects of both sources that no neutral action
// shows: their rules for one agent alone, their list of built-in tools, and their claims.
func (r *Report) roles(a, b *ir.Project) {
	for i := range b.Modes {
		now := &b.Modes[i]
		if old := a.Mode(now.Slug); old != nil {
			r.native("mode "+now.Slug, old.Native, now.Native)
			r.listed("mode "+now.Slug, old.Extra, now.Extra, now.Pos)
		}
	}
	for i := range b.Roles {
		now := &b.Roles[i]
		old := a.Role(now.Name)
		if old == nil {
			continue
		}
		what := "role " + now.Name
		r.native(what, old.Native, now.Native)
		switch x, y := old.Tools, now.Tools; {
		case more(x, y):
			r.other(Other{Widened, what, "has more built-in tools", now.Pos})
		case more(y, x):
			r.other(Other{Narrowed, what, "has fewer built-in tools", now.Pos})
		}
		if old.PermissionMode != now.PermissionMode {
			text := fmt.Sprintf("has the permission mode %q, and before %q", now.PermissionMode, old.PermissionMode)
			r.other(Other{Changed, what, text, now.Pos})
		}
		if before, after := claims(old), claims(now); before != after {
			text := fmt.Sprintf("needs the claims %s, and before %s", after, before)
			r.other(Other{Changed, what, text, now.Pos})
		}
	}
}

// listed adds the differences between the lists of tools that a mode has in the words of one agent, which offers no
// other tools of those that can permits, or withholds them.
func (r *Report) listed(what string, old, now map[string]ir.Extra, at diag.Pos) {
	for _, t := range keysOf(old, now) {
		at := cmp.Or(now[t].Pos, at)
		of := func(e ir.Extra, key string, none *[]string) *[]string {
			list, ok := e.Fields[key].([]any)
			if !ok {
				return none
			}
			tools := make([]string, len(list))
			for i := range list {
				tools[i] = fmt.Sprint(list[i])
			}
			return &tools
		}
		say := func(x, y *[]string, fewer, longer Kind, verb string) {
			switch text := " tools, for " + t + " alone"; {
			case more(x, y) && (longer == Widened || !more(y, x)):
				r.other(Other{longer, what, verb + " more" + text, at})
			case more(y, x):
				r.other(Other{fewer, what, verb + " fewer" + text, at})
			}
		}
		say(of(old[t], "tools", nil), of(now[t], "tools", nil), Narrowed, Widened, "lists")
		const withheld = "disallowedTools"
		say(of(old[t], withheld, &[]string{}), of(now[t], withheld, &[]string{}), Widened, Narrowed, "withholds")
		r.settings(what, t, old[t], now[t], at)
	}
}

// permitting matches the names of settings by which an agent may permit something, or start it. Any other one may as
// well, which no name tells.
var permitting = lazy.Regexp(
	`(?i)allow|approv|auto|deny|exec|hook|mcp|mode|network|permission|plugin|sandbox|server|tool|trust`)

// settings adds the differences between the settings that a mode has for one agent alone. What they permit, no rule of
// the source says: those that may permit more are counted so, whichever way they changed.
func (r *Report) settings(what, target string, old, now ir.Extra, at diag.Pos) {
	was, _ := old.Fields["other"].(map[string]any)
	is, _ := now.Fields["other"].(map[string]any)
	for _, key := range keysOf(was, is) {
		x, before := was[key]
		y, after := is[key]
		if before == after && reflect.DeepEqual(x, y) {
			continue
		}
		verb := "has another setting"
		switch {
		case !before:
			verb = "has a new setting"
		case !after:
			verb = "no longer has the setting"
		}
		kind, text := Changed, fmt.Sprintf("%s %s, for %s alone", verb, diag.Short(key), target)
		if permitting().MatchString(key) {
			kind, text = Widened, text+", and no rule of the source says what it permits"
		}
		r.other(Other{kind, what, text, at})
	}
}

// keysOf returns the keys of two maps in their order.
func keysOf[T any](a, b map[string]T) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// more reports whether the second list of tools has one that the first does not have. No
// list has every tool.
func more(x, y *[]string) bool {
	switch {
	case x == nil:
		return false
	case y == nil:
		return true
	}
	return slices.ContainsFunc(*y, func(t string) bool { return !slices.Contains(*x, t) })
}

// native adds the rules for one agent alone that are new or gone.
func (r *Report) native(what string, old, now []ir.NativeRule) {
	r.onlyIn(now, old, what, "has", func(d ir.Decision) bool { return d == ir.Allow })
	r.onlyIn(old, now, what, "no longer has", func(d ir.Decision) bool { return d != ir.Allow })
}

// onlyIn adds the rules of a list that another lacks.
func (r *Report) onlyIn(list, other []ir.NativeRule, what, verb string, widens func(ir.Decision) bool) {
	for _, x := range list {
		if slices.ContainsFunc(other, func(y ir.NativeRule) bool {
			return x.Target == y.Target && x.Decision == y.Decision && x.Text == y.Text
		}) {
			continue
		}
		k := Narrowed
		if widens(x.Decision) {
			k = Widened
		}
		text := fmt.Sprintf("%s the rule %s %s, for %s alone", verb, x.Decision, x.Text, x.Target)
		r.other(Other{k, what, text, x.Pos})
	}
}

// claims writes the claims that a principal needs for a role.
func claims(r *ir.Role) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.Claims)) {
		out = append(out, name+": "+strings.Join(r.Claims[name], " or "))
	}
	return cmp.Or(strings.Join(out, " and "), string(r.Principals), "none")
}

// union returns the subjects of two projects.
func union(a, b *ir.Project) []ir.SubjectRef {
	added := slices.DeleteFunc(b.Subjects(), func(ref ir.SubjectRef) bool { return has(a, ref) })
	return append(a.Subjects(), added...)
}

// surroundings returns what every subject's decisions depend on besides the subject itself.
func surroundings(p *ir.Project) string {
	slugs := make([]ir.Mode, 0, len(p.Modes))
	for i := range p.Modes {
		slugs = append(slugs, ir.Mode{Slug: p.Modes[i].Slug})
	}
	return fingerprint(ir.Project{
		Servers: p.Servers, Guards: p.Guards, ClosedInventory: p.ClosedInventory, Silence: p.Silence, Modes: slugs,
	})
}

// places matches the places in the JSON of a model.
var places = lazy.Regexp(`"[a-zA-Z]*[pP]os":\{[^{}]*\},?`)

// fingerprint returns a text that is the same for values that differ in places only.
func fingerprint(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%p", v) // not the same as any other
	}
	return string(places().ReplaceAll(data, nil))
}

// unchanged reports whether both projects have the same subject.
func unchanged(a, b *ir.Project, ref ir.SubjectRef) bool {
	if ref.Role != "" {
		x, y := a.Role(ref.Role), b.Role(ref.Role)
		return x != nil && y != nil && fingerprint(x) == fingerprint(y)
	}
	x, y := a.Mode(ref.Mode), b.Mode(ref.Mode)
	return x != nil && y != nil && fingerprint(x) == fingerprint(y)
}

// has reports whether a project has a subject.
func has(p *ir.Project, ref ir.SubjectRef) bool {
	if ref.Role != "" {
		return p.Role(ref.Role) != nil
	}
	return slices.ContainsFunc(p.Modes, func(m ir.Mode) bool { return m.Slug == ref.Mode })
}

// decider decides for a subject that one project may not have.
type decider struct {
	subject *policy.Subject // nil: it may do nothing
	absent  policy.Result
}

func newDecider(e *policy.Engine, ref ir.SubjectRef) (decider, error) {
	if !has(e.Project(), ref) {
		return decider{absent: policy.Result{Rule: "there is no " + ref.String()}}, nil
	}
	s, err := e.Subject(ref)
	return decider{subject: s}, err
}

func (d decider) decide(a policy.Action) policy.Result {
	if d.subject == nil {
		return d.absent
	}
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
	if c.was, err = newDecider(before, old); err != nil {
		return nil, err
	}
	if c.is, err = newDecider(after, ref); err != nil {
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
		x.Decision, y.Decision = x.Lacking(), y.Lacking()
	}
	if x.Decision == y.Decision {
		return
	}
	k := key{a.Group, a.Server, guarded(x), guarded(y)}
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

// guarded returns a result that is the same for every guard of a decision, and for every line that
// a rule decides.
func guarded(r policy.Result) policy.Result {
	r.Reason = ""
	if r.Pos.File == ir.GuardsFile {
		return policy.Result{Decision: r.Decision, Rule: GuardedPaths, Pos: diag.Pos{File: ir.GuardsFile}}
	}
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
	otherwise := AnythingElse
	if k.before.Pos.File == ir.GuardsFile || k.after.Pos.File == ir.GuardsFile {
		otherwise = GuardedPaths
	}
	is, was := pattern(k.after.Rule), pattern(k.before.Rule)
	if k.after.Decision > k.before.Decision { // the rule that held it back is gone: what decides now was there
		is, was = was, is
	}
	return cmp.Or(is, was, otherwise)
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

func side(r policy.Result) Side { return Side{r.Decision, r.Rule, ir.Written(r.Pos), r.From} }

// servers adds the servers that are new, gone, or started in another way. What is started or reached that was not
// before is a widening, whoever may call its tools: the program runs all the same.
func (r *Report) servers(before, after *policy.Engine) {
	a, b := before.Project(), after.Project()
	add := func(kind Kind, s *ir.Server, text string) {
		r.other(Other{kind, "server " + s.Name, text, s.Pos})
	}
	for i := range b.Servers {
		s := &b.Servers[i]
		old := a.Server(s.Name)
		if old == nil {
			add(widens(startable(s) && inSessions(after, s)), s, "is new: "+start(s))
			continue
		}
		x, y := start(old), start(s)
		other := old.Command != s.Command || old.URL != s.URL || !slices.Equal(old.Args, s.Args)
		switch {
		case x != y:
			add(widens(other && startable(s)), s, fmt.Sprintf("starts as %s, and before as %s", y, x))
		case other:
			add(Widened, s, "starts with another secret in its arguments or its address")
		case !maps.Equal(old.Entries, s.Entries):
			add(widens(adds(old.Entries, s.Entries)), s, "has entries of another shape: "+entries(s))
		}
		if old.Cwd != s.Cwd {
			add(widens(startable(s)), s, fmt.Sprintf("starts in %q, and before in %q", s.Cwd, old.Cwd))
		}
		if s.DefaultEnabled && !old.DefaultEnabled && startable(s) && !inSessions(before, old) {
			add(Widened, s, "is on by default, and starts in every session")
		}
		for _, set := range []struct {
			name string
			x, y map[string]string
		}{{"environment", old.Env, s.Env}, {"headers", old.Headers, s.Headers}} {
			if !maps.Equal(set.x, set.y) { // their values may be secret
				add(widens(adds(set.x, set.y)), s, "has another "+set.name)
			}
		}
	}
	for i := range a.Servers {
		if s := &a.Servers[i]; b.Server(s.Name) == nil {
			add(Changed, s, "is gone")
		}
	}
}

// widens is the kind of a change that no decision shows.
func widens(more bool) Kind {
	if more {
		return Widened
	}
	return Changed
}

// startable reports whether the source says how a server is started or reached.
func startable(s *ir.Server) bool { return s.Command != "" || s.URL != "" }

// inSessions reports whether a server is in the sessions of anybody: it is on by default, or a subject may use it.
func inSessions(e *policy.Engine, s *ir.Server) bool {
	return s.DefaultEnabled || slices.ContainsFunc(e.Project().Subjects(), func(ref ir.SubjectRef) bool {
		of, err := e.Subject(ref)
		return err != nil || contract.Usable(of, s)
	})
}

// adds reports whether the second of two maps has a key or a value that the first one lacks.
func adds(x, y map[string]string) bool {
	for key, value := range y {
		if was, ok := x[key]; !ok || was != value {
			return true
		}
	}
	return false
}

// start says how a server is started or reached.
func start(s *ir.Server) string {
	switch {
	case s.URL != "":
		return s.Type + " " + s.Shape()
	case s.Command != "":
		return s.Shape()
	}
	return "the user's own"
}

// entries says where the entries of an external server lie and what they start.
func entries(s *ir.Server) string {
	var list []string
	for _, file := range slices.Sorted(maps.Keys(s.Entries)) {
		list = append(list, fmt.Sprintf("%s starts %s", file, secret.Text(s.Entries[file])))
	}
	return cmp.Or(strings.Join(list, ", "), "none is known")
}

// mask masks the secrets in what a person reads.
func (r *Report) mask() {
	for i := range r.Changes {
		c := &r.Changes[i]
		for _, text := range []*string{&c.What, &c.Before.Rule, &c.After.Rule} {
			*text = secret.Text(*text)
		}
		for j := range c.Examples {
			c.Examples[j] = secret.Text(c.Examples[j])
		}
	}
	for i := range r.Others {
		r.Others[i].Text = secret.Text(r.Others[i].Text)
	}
}

// sort puts subjects with widened permissions first, and the widened changes of each.
func (r *Report) sort() {
	widened := map[string]int{}
	for _, c := range r.Changes {
		if c.Kind == Widened {
			widened[c.Subject]++
		}
	}
	kinds := []Kind{Widened, Narrowed}
	slices.SortStableFunc(r.Changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(min(widened[b.Subject], 1), min(widened[a.Subject], 1)),
			strings.Compare(a.Subject, b.Subject),
			cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
			cmp.Compare(slices.Index(ir.Groups, a.Group), slices.Index(ir.Groups, b.Group)),
			strings.Compare(a.What, b.What),
		)
	})
}
