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
	// SomeArgs is set for what changes only for calls of a tool with some arguments.
	SomeArgs bool `json:"someArgs,omitempty"`
	// Agent is the target for which alone it changes, or changes so; "": any.
	Agent string `json:"agent,omitempty"`
	// Count is the number of actions that were tried and differ, and Examples a few of
	// them.
	Count    int      `json:"count"`
	Examples []string `json:"examples,omitempty"`
	Before   Side     `json:"before"`
	After    Side     `json:"after"`
}

// The What of actions that no pattern names: those that a default decides, and command lines that
// only running them would explain.
const (
	AnythingElse = "anything else"
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
	most  bool // of a call of a tool what it may do at most, whatever its arguments
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
	agents := map[ir.SubjectRef][]string{} // for which a subject may do something else; "" for all others
	for _, p := range []*ir.Project{a, b} {
		p.EachCan(func(ref ir.SubjectRef, agent string, _ *ir.Can) {
			if !slices.Contains(agents[ref], agent) {
				agents[ref] = append(agents[ref], agent)
			}
		})
	}
	for _, ref := range union(a, b) {
		if same && unchanged(a, b, ref) {
			continue
		}
		for _, agent := range agents[ref] {
			if err := r.on(agent, before, after, ref, seed); err != nil {
				return nil, err
			}
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

// settings adds the differences between the settings that a mode has for one agent alone, which permit nothing.
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
		r.other(Other{Changed, what, fmt.Sprintf("%s %s, for %s alone", verb, diag.Short(key), target), at})
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
		Servers: p.Servers, Everyone: p.Everyone,
		ClosedInventory: p.ClosedInventory, Unsaid: p.Unsaid, Modes: slugs,
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
