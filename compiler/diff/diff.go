// Package diff tells what changes between two sources in what subjects may do, not in
// their text: it decides the same actions by both.
package diff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
)

// Kind says in which direction something changes.
type Kind string

const (
	Widened  Kind = "widened"  // more is permitted, or a person is asked no longer
	Narrowed Kind = "narrowed" // less is
	Changed  Kind = "changed"  // neither: a server is started in another way
)

// Side is what one source says.
type Side struct {
	Decision ir.Decision `json:"decision"`
	Rule     string      `json:"rule,omitempty"`
	Pos      diag.Pos    `json:"pos"`
	From     string      `json:"from,omitempty"`
}

// Change is one difference of a subject: all actions that the same two rules decide.
type Change struct {
	Kind    Kind     `json:"kind"`
	Subject string   `json:"subject"`
	Group   ir.Group `json:"group"`
	// What is the pattern of the rule that is new or gone, AnythingElse where a default
	// changes, or a tool of a server ("github:create_issue", "github:*" for all).
	What string `json:"what"`
	// Only is set for a subject that one side alone has: "after" or "before". The
	// decision of that side is then the highest that it has in the group.
	Only string `json:"only,omitempty"`
	// Count is the number of actions that were tried and changed, and Examples a few
	// of them.
	Count    int      `json:"count"`
	Examples []string `json:"examples,omitempty"`
	Before   Side     `json:"before"`
	After    Side     `json:"after"`
}

// What stands for actions that no pattern names: those that a default decides, and
// lines of a shell of which only running them would tell what they do.
const (
	AnythingElse = "anything else"
	NotLiteral   = "a line that is not literal"
)

// Other is a difference that no action shows.
type Other struct {
	Kind Kind     `json:"kind"`
	What string   `json:"what"` // "mode architect", "server docs"
	Text string   `json:"text"`
	Pos  diag.Pos `json:"pos"`
}

// Report is what changes.
type Report struct {
	Changes  []Change `json:"changes"` // by subject, widened first
	Others   []Other  `json:"others"`
	Widened  int      `json:"widened"`
	Narrowed int      `json:"narrowed"`
}

// Projects compares what the subjects of two projects may do. A subject that only one
// of them has may do nothing in the other.
func Projects(before, after *policy.Engine, seed uint64) (*Report, error) {
	r := &Report{Changes: []Change{}, Others: []Other{}}
	a, b := before.Project().Decisions(), after.Project().Decisions()
	same := surroundings(a) == surroundings(b)
	for _, ref := range union(a, b) {
		if same && unchanged(a, b, ref) {
			continue
		}
		if err := r.subject(before, after, ref, seed); err != nil {
			return nil, err
		}
	}
	r.servers(before.Project(), after.Project())
	r.roles(before.Project(), after.Project())
	r.sort()
	return r, nil
}

// Exception is a widening that modec.toml accepts in writing.
type Exception struct {
	Text string // "roo, mode operator: command kubectl delete *"
	Pos  diag.Pos
}

// Exceptions adds what is accepted, and what no longer is.
func (r *Report) Exceptions(before, after []Exception) {
	missing := func(k Kind, text string, from, in []Exception) {
		for _, e := range from {
			if !slices.ContainsFunc(in, func(x Exception) bool { return x.Text == e.Text }) {
				r.other(Other{k, "exception", text + e.Text, e.Pos})
			}
		}
	}
	missing(Widened, "accepts for ", after, before)
	missing(Narrowed, "no longer accepts for ", before, after)
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

// roles tells what no neutral action shows of the roles that both have: the rules that
// only one agent can say, its list of built-in tools, and who holds the role.
func (r *Report) roles(a, b *ir.Project) {
	for i := range b.Roles {
		now := &b.Roles[i]
		old := a.Role(now.Name)
		if old == nil {
			continue
		}
		what := "role " + now.Name
		rules := func(list []ir.NativeRule, in []ir.NativeRule, word string, widens func(ir.Decision) bool) {
			for _, x := range list {
				if slices.ContainsFunc(in, func(y ir.NativeRule) bool {
					return x.Target == y.Target && x.Decision == y.Decision && x.Text == y.Text
				}) {
					continue
				}
				k := Narrowed
				if widens(x.Decision) {
					k = Widened
				}
				r.other(Other{k, what, fmt.Sprintf("%s the rule %s %s for %s alone", word, x.Decision, x.Text, x.Target), x.Pos})
			}
		}
		rules(now.Native, old.Native, "has", func(d ir.Decision) bool { return d == ir.Allow })
		rules(old.Native, now.Native, "no longer has", func(d ir.Decision) bool { return d != ir.Allow })
		switch x, y := old.Tools, now.Tools; {
		case y == nil && x != nil, x != nil && y != nil && slices.ContainsFunc(*y, func(t string) bool { return !slices.Contains(*x, t) }):
			r.other(Other{Widened, what, "has more built-in tools", now.Pos})
		case x == nil && y != nil, x != nil && y != nil && len(*x) != len(*y):
			r.other(Other{Narrowed, what, "has fewer built-in tools", now.Pos})
		}
		if fingerprint(old.Claims) != fingerprint(now.Claims) {
			r.other(Other{Changed, what, fmt.Sprintf("is held by %s, and was by %s", claims(now.Claims), claims(old.Claims)), now.Pos})
		}
	}
}

func claims(c map[string][]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		out = append(out, name+": "+strings.Join(c[name], " or "))
	}
	return cmp.Or(strings.Join(out, " and "), "nobody")
}

// union are the subjects of two projects.
func union(a, b *ir.Project) []ir.SubjectRef {
	return append(a.Subjects(), slices.DeleteFunc(b.Subjects(), func(ref ir.SubjectRef) bool { return has(a, ref) })...)
}

// surroundings is what every subject's decisions depend on beside the subject.
func surroundings(p *ir.Project) string {
	slugs := make([]ir.Mode, 0, len(p.Modes))
	for i := range p.Modes {
		slugs = append(slugs, ir.Mode{Slug: p.Modes[i].Slug})
	}
	return fingerprint(ir.Project{Servers: p.Servers, Guards: p.Guards, ClosedInventory: p.ClosedInventory, Modes: slugs})
}

// places are those of the source, which are no part of what it says.
var places = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"[a-zA-Z]*[pP]os":\{[^{}]*\},?`) })

func fingerprint(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%p", v) // like nothing else
	}
	return string(places().ReplaceAll(data, nil))
}

// unchanged reports whether both projects say the same of a subject.
func unchanged(a, b *ir.Project, ref ir.SubjectRef) bool {
	if ref.Role != "" {
		x, y := a.Role(ref.Role), b.Role(ref.Role)
		return x != nil && y != nil && fingerprint(x) == fingerprint(y)
	}
	x, y := a.Mode(ref.Mode), b.Mode(ref.Mode)
	return x != nil && y != nil && fingerprint(x) == fingerprint(y)
}

func has(p *ir.Project, ref ir.SubjectRef) bool {
	if ref.Role != "" {
		return p.Role(ref.Role) != nil
	}
	return slices.ContainsFunc(p.Modes, func(m ir.Mode) bool { return m.Slug == ref.Mode })
}

// decider decides for a subject that may not be there.
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

var patterned = []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web}

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

type key struct {
	group         ir.Group
	server        string
	before, after policy.Result
}

func (r *Report) subject(before, after *policy.Engine, ref ir.SubjectRef, seed uint64) error {
	was, err := newDecider(before, ref)
	if err != nil {
		return err
	}
	is, err := newDecider(after, ref)
	if err != nil {
		return err
	}
	var actions []verify.Witness
	seen := map[policy.Action]bool{}
	for _, side := range []struct {
		engine *policy.Engine
		there  bool
		more   map[ir.Group][]ir.Pattern
	}{{after, is.subject != nil, was.patterns()}, {before, was.subject != nil, is.patterns()}} {
		if !side.there {
			continue
		}
		list, err := verify.Universe(side.engine, ref, side.more, seed)
		if err != nil {
			return err
		}
		for _, w := range list {
			if !seen[w.Action] {
				seen[w.Action] = true
				actions = append(actions, w)
			}
		}
	}
	groups := map[key][]policy.Action{}
	highest := map[key]policy.Result{} // of a subject that one side alone has
	var order []key
	for _, w := range actions {
		if strings.TrimSpace(w.Arg) == "" {
			continue
		}
		x, y := was.decide(w.Action), is.decide(w.Action)
		if x.Decision == y.Decision {
			continue
		}
		k := key{w.Group, w.Server, x, y}
		if was.subject == nil || is.subject == nil { // one line for a group
			k.before, k.after = policy.Result{}, policy.Result{}
			top := highest[k]
			if max(x.Decision, y.Decision) > top.Decision {
				if top = x; y.Decision > x.Decision {
					top = y
				}
				highest[k] = top
			}
		}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], w.Action)
	}
	for _, k := range order {
		list, only := groups[k], ""
		switch {
		case was.subject == nil:
			k.before, k.after, only = was.absent, highest[k], "after"
		case is.subject == nil:
			k.before, k.after, only = highest[k], is.absent, "before"
		}
		r.add(ref, k, list, only, after.Project())
	}
	return nil
}

// shown is how many actions a change names.
const shown = 3

func (r *Report) add(ref ir.SubjectRef, k key, list []policy.Action, only string, p *ir.Project) {
	c := Change{Kind: Narrowed, Subject: ref.String(), Group: k.group, Only: only, Count: len(list), Before: side(k.before), After: side(k.after)}
	if k.after.Decision > k.before.Decision {
		c.Kind = Widened
	}
	names := make([]string, 0, len(list))
	for _, a := range list {
		names = append(names, name(a))
	}
	slices.SortStableFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(strange(x), strange(y)), cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
	c.Examples = names[:min(shown, len(names))]
	sv := p.Server(k.server)
	switch {
	case k.group == ir.MCP && (only != "" || len(list) > shown && (sv == nil || len(list) >= len(sv.Tools))):
		c.What = serverName(k.server) + ":*"
	case k.group == ir.MCP:
		c.What = strings.Join(names, ", ")
	case only != "":
		c.What = "*"
	case strings.HasPrefix(k.after.Rule, notLiteral), strings.HasPrefix(k.before.Rule, notLiteral):
		c.What = NotLiteral
	default:
		c.What = cmp.Or(pattern(k.after.Rule), pattern(k.before.Rule), AnythingElse)
	}
	if c.Kind == Widened {
		r.Widened++
	} else {
		r.Narrowed++
	}
	r.Changes = append(r.Changes, c)
}

// notLiteral begins what the engine says of such a line.
const notLiteral = "not literal"

// pattern is what stands in quotes in a rule: `deny "git push *"`. "" for a default.
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

// strange counts what makes an action a poor example.
func strange(s string) int {
	n := 0
	for _, c := range s {
		if c < ' ' || c > '~' || strings.ContainsRune(`"'$|;&<>\(){}!*`+"`", c) {
			n++
		}
	}
	if strings.Contains(s, "modec-unlisted") || strings.Contains(s, "..") || strings.TrimSpace(s) != s || len(s) < 3 || strings.ToLower(s) != s {
		n++
	}
	return n
}

func name(a policy.Action) string {
	server := serverName(a.Server)
	switch {
	case a.Group != ir.MCP:
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

// servers tells which servers are new, gone, or started in another way.
func (r *Report) servers(a, b *ir.Project) {
	other := func(k Kind, s *ir.Server, text string) {
		r.other(Other{k, "server " + s.Name, text, s.Pos})
	}
	for i := range b.Servers {
		s := &b.Servers[i]
		old := a.Server(s.Name)
		if old == nil {
			other(Changed, s, "is new: "+start(s))
			continue
		}
		if x, y := start(old), start(s); x != y {
			other(Changed, s, fmt.Sprintf("is started as %s, and was as %s", y, x))
		}
		for _, set := range []struct {
			name string
			x, y map[string]string
		}{{"environment", old.Env, s.Env}, {"headers", old.Headers, s.Headers}} {
			if !maps.Equal(set.x, set.y) { // their values may be secret
				other(Changed, s, "has another "+set.name)
			}
		}
	}
	for i := range a.Servers {
		if s := &a.Servers[i]; b.Server(s.Name) == nil {
			other(Changed, s, "is gone")
		}
	}
}

func start(s *ir.Server) string {
	switch {
	case s.URL != "":
		return s.Type + " " + s.URL
	case s.Command != "":
		return strings.Join(append([]string{s.Command}, s.Args...), " ")
	}
	return "the user's own"
}

// sort puts subjects with widened permissions first, and in each what widens.
func (r *Report) sort() {
	widened := map[string]int{}
	for _, c := range r.Changes {
		if c.Kind == Widened {
			widened[c.Subject]++
		}
	}
	first := func(ok bool) int {
		if ok {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(r.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(first(widened[a.Subject] > 0), first(widened[b.Subject] > 0)), strings.Compare(a.Subject, b.Subject),
			cmp.Compare(first(a.Kind == Widened), first(b.Kind == Widened)), cmp.Compare(slices.Index(ir.Groups, a.Group), slices.Index(ir.Groups, b.Group)), strings.Compare(a.What, b.What))
	})
}
