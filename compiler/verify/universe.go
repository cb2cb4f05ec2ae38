package verify

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
)

// Witness is an action on which a subject's source and its artifacts are
// compared, with the source's decision.
type Witness struct {
	policy.Action
	Class  string // how it was made: "match", "near: longer", "path: parent"
	Source policy.Result
	// Assumed is set for what does not exist if the inventory is complete. It is compared
	// and counted apart.
	Assumed bool
	// usual is the source's decision as files decide it; nil where the action is not usual ([policy.Usual]).
	usual *policy.Result
	// decided is set where the source's decision is there.
	decided bool
	// opened is set where somebody's entry opens what was no hole before.
	opened bool
}

// dressed reports whether an action is another way to write one, or one that is near another.
func (w *Witness) dressed() bool { return strings.Contains(w.Class, ":") }

// Unlisted reports whether the action stands for all tools of a server that no rule names.
func (w *Witness) Unlisted() bool { return w.Class == unlistedTool || w.Class == unlistedServer }

// The classes of what stands for tools that no rule names.
const (
	unlistedTool   = "unlisted tool"
	unlistedServer = "unlisted server"
)

// universe makes the witnesses of one subject, each of them once.
type universe struct {
	ctx     context.Context // once it ends, nothing more is decided
	engine  *policy.Engine
	project *ir.Project
	ref     ir.SubjectRef
	subject *policy.Subject
	plan    *plan // nil: everything is compared; else what cells do not have
	rules   *plan // knows the shapes of the rules; nil where they are not known
	seen    map[policy.Action]bool
	shapes  map[string]bool  // of the patterns that were dressed in every way
	half    map[diag.Pos]int // of a role in a mode: which half wrote a rule; nil elsewhere
	list    []Witness

	mu    sync.Mutex
	cells map[policy.Action]*Witness // that a surface was compared on: the others have most of them too
	whole map[ir.Group]*sharedGroup
}

// sharedGroup has what a subject is compared on in a group without cells, for the surfaces that need it.
type sharedGroup struct {
	once sync.Once
	list []*Witness
	err  error
}

// wholeOf returns that, which is made once, with the calls that rules name.
func (u *universe) wholeOf(g ir.Group, make func() (*universe, error)) ([]*Witness, error) {
	u.mu.Lock()
	of := u.whole[g]
	if of == nil {
		if of = (&sharedGroup{}); u.whole == nil {
			u.whole = map[ir.Group]*sharedGroup{}
		}
		u.whole[g] = of
	}
	u.mu.Unlock()
	of.once.Do(func() {
		var made *universe
		if made, of.err = make(); of.err == nil {
			named := func(w *Witness) bool { return w.Class == ofName && !made.seen[w.Action] }
			of.list = append(u.some(g, named), pointers(made.list)...)
		}
	})
	return of.list, of.err
}

// some returns those witnesses of a group that a function reports.
func (u *universe) some(g ir.Group, is func(*Witness) bool) (out []*Witness) {
	for i := range u.list {
		if w := &u.list[i]; w.Group == g && is(w) {
			out = append(out, w)
		}
	}
	return out
}

// Universe returns the witnesses of a subject in a fixed order:
//   - actions made from the patterns of its own rules, and of more: a match and near misses, and
//     for one rule of each shape every other way to write the same action
//   - every tool of the inventory, and one that is not in it
//   - what agents do every day
//   - a random part, by the seed
func Universe(e *policy.Engine, ref ir.SubjectRef, more map[ir.Group][]ir.Pattern, seed uint64) ([]Witness, error) {
	u, err := universeOf(context.Background(), e, ref, more, seed, nil, ir.Decided)
	if err != nil {
		return nil, err
	}
	for i := range u.list {
		u.decided(&u.list[i])
	}
	return u.list, nil
}

// universeOf returns those witnesses of a subject that are of some groups.
func universeOf(
	ctx context.Context, e *policy.Engine, ref ir.SubjectRef, more map[ir.Group][]ir.Pattern, seed uint64, plan *plan,
	groups []ir.Group,
) (*universe, error) {
	u, err := newUniverse(ctx, e, ref)
	if err != nil {
		return nil, err
	}
	u.plan, u.rules = plan, plan
	h := fnv.New64a()
	h.Write([]byte(ref.String()))
	random := rand.New(rand.NewPCG(seed, h.Sum64()))
	for _, g := range groups {
		rules := u.subject.Rules(g)
		switch g {
		case ir.Read, ir.Edit:
			u.files(g, rules, random)
		case ir.Command:
			u.commands(rules, random)
		case ir.Web:
			u.hosts(rules, random)
		case ir.Modes:
			u.modes(rules)
		case ir.MCP:
			u.tools()
		case ir.Unknown:
			for _, name := range []string{"BrandNewTool", "browser_action", "x"} {
				u.add(ir.Unknown, name, "unknown tool")
			}
		}
		u.matches(map[ir.Group][]ir.Pattern{g: more[g]})
	}
	return u, ctx.Err()
}

func newUniverse(ctx context.Context, e *policy.Engine, ref ir.SubjectRef) (*universe, error) {
	s, err := e.Subject(ref)
	if err != nil {
		return nil, err
	}
	return &universe{ctx: ctx, engine: e, project: e.Project(), ref: ref, subject: s,
		seen: map[policy.Action]bool{}, shapes: map[string]bool{}}, nil
}

// only returns witnesses of some actions.
func (u *universe) only(actions []policy.Action) []*Witness {
	for _, a := range actions {
		u.witness(Witness{Action: a, Class: "asked about"})
	}
	return pointers(u.list)
}

// matches adds what patterns of the artifacts match. Beside cells, which tell the case of each letter apart, of what is
// alike in any case there is the first: an expression for any case has a text for each of its letters.
func (u *universe) matches(patterns map[ir.Group][]ir.Pattern) {
	for _, g := range ir.Groups {
		alike := map[string]bool{}
		for _, p := range patterns[g] {
			if u.ctx.Err() != nil {
				return
			}
			for _, sample := range samples(g, p) {
				if strings.ContainsRune(sample, 0) { // no system opens or runs that
					continue
				}
				if u.plan != nil {
					folded := policy.Fold(sample)
					if alike[folded] {
						continue
					}
					alike[folded] = true
				}
				u.add(g, sample, "match of an artifact")
			}
		}
	}
}

// named adds the calls that rules of the artifacts name.
func (u *universe) named(calls []policy.Action) {
	for _, a := range calls {
		u.witness(Witness{Action: a, Class: ofName})
	}
}

// ofName is the class of a call that a rule of an artifact names.
const ofName = "named by an artifact"

func (u *universe) add(g ir.Group, arg, class string) {
	if (g == ir.Read || g == ir.Edit) && looksOutside().MatchString(arg) {
		arg = "./" + arg
	}
	u.witness(Witness{Action: policy.Action{Group: g, Arg: arg}, Class: class})
}

// looksOutside matches a name that a shell or Windows takes for one outside ("~x" is the home of
// x, "c:x" a file on a drive, `\x` one at its root) and the tools of agents for a file of the
// project. The source decides it as the lower of both; what a tool opens is compared as "./~x",
// which is that file to everybody.
var looksOutside = lazy.Regexp(`^(?:~[^/\\]|[A-Za-z]:(?:[^/\\]|$)|\\(?:[^\\]|$))`)

// witness adds a witness, unless its action is there already.
func (u *universe) witness(w Witness) {
	nobodys := w.Group == ir.Web && noHost(w.Arg) || w.Group == ir.Edit && isRoot(w.Arg)
	if u.ctx.Err() != nil || u.seen[w.Action] || nobodys {
		return
	}
	u.seen[w.Action] = true
	u.list = append(u.list, w)
}

// isRoot reports whether a path names the folder above all others, which nobody can edit: no agent has words for it.
func isRoot(name string) bool { return path.Clean(name) == "/" }

// cell returns the witness of a cell.
func (u *universe) cell(a policy.Action) *Witness {
	u.mu.Lock()
	defer u.mu.Unlock()
	w := u.cells[a]
	if w == nil {
		if w = (&Witness{Action: a, Class: ofCell}); u.cells == nil {
			u.cells = map[policy.Action]*Witness{}
		}
		u.cells[a] = w
	}
	return w
}

// decided returns a witness with the source's decision, which is made when the first surface is compared on it: cells
// stand for many.
func (u *universe) decided(w *Witness) Witness {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !w.decided {
		w.Source = u.subject.Decide(w.Action)
		w.decided = true
	}
	return *w
}

// noHost reports whether no address has such a host: one with an empty name, and one whose last
// part is a number is an IPv4 address, or the address is none (WHATWG URL, the host parser).
func noHost(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimSuffix(arg, "."), ":")
	_, ok := policy.Host(arg)
	if strings.Contains(arg, "..") || strings.Contains(arg, "[") || strings.Count(arg, ":") > 1 {
		return !ok // an empty name, or what is no address of IP version 6
	}
	if !number().MatchString(name[strings.LastIndexByte(name, '.')+1:]) {
		return false
	}
	return !ok
}

var number = lazy.Regexp(`^(\d+|0[xX][0-9A-Fa-f]*)$`)

// samples returns arguments that a pattern of a group matches.
func samples(g ir.Group, p ir.Pattern) []string {
	var list []string
	switch g {
	case ir.Read, ir.Edit:
		list = fileSamples(p)
	case ir.Command:
		sample := commandSample(p)
		list = []string{sample, sample + " one --two=3"}
	case ir.Web:
		host := strings.TrimPrefix(p.Text, "*.")
		list = []string{host, "www." + host}
	}
	return slices.DeleteFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// modes adds the modes that rules name, one that they do not, and one that does not exist.
func (u *universe) modes(rules []ir.Rule) {
	named := map[string]bool{}
	for i := range rules {
		named[rules[i].Pattern.Text] = true
	}
	others := 0
	for _, list := range [][]ir.Mode{u.project.Modes, u.project.Builtins} {
		for i := range list {
			if slug := list[i].Slug; named[slug] {
				u.add(ir.Modes, slug, "mode")
			} else if others++; others <= otherModes {
				u.add(ir.Modes, slug, "other mode")
			}
		}
	}
	u.add(ir.Modes, contract.UnknownMode, "unknown mode")
	if len(u.project.Modes) > 0 {
		u.add(ir.Modes, strings.ToUpper(u.project.Modes[0].Slug), "mode: case")
	}
}

// otherModes is how many modes a subject is compared on that it does not name: they are decided
// alike.
const otherModes = 10

// tools adds for each server the tools of the inventory, one that it does not list, its
// resources and its prompts, and a server that is not in the inventory.
func (u *universe) tools() {
	closed, unlisted := u.project.ClosedInventory, u.unlisted()
	for i := range u.project.Servers {
		sv := &u.project.Servers[i]
		for j := range sv.Tools {
			tool := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: sv.Tools[j].Name}
			u.witness(Witness{Action: tool, Class: "tool"})
		}
		other := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: unlisted}
		u.witness(Witness{Action: other, Class: unlistedTool, Assumed: closed && len(sv.Tools) > 0})
		other.Arg = contract.UnknownTool // which no pattern of some names decides
		fallback := u.subject.Decide(other).Decision
		for _, k := range []struct {
			kind      policy.MCPKind
			name, arg string
		}{{policy.Resource, "resource", "any://any"}, {policy.Prompt, "prompt", "any"}} {
			a := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: k.arg, Kind: k.kind}
			// Where only the server's default decides, nobody wrote about them: a
			// complete inventory has none.
			assumed := closed && u.subject.Decide(a).Decision == fallback
			u.witness(Witness{Action: a, Class: k.name, Assumed: assumed})
		}
	}
	elsewhere := policy.Action{Group: ir.MCP, Server: contract.UnknownServer, Arg: unlisted}
	u.witness(Witness{Action: elsewhere, Class: unlistedServer, Assumed: closed})
}

// unlisted returns a name of a tool that no rule names, where there is one.
func (u *universe) unlisted() string {
	for _, name := range []string{"unlisted", "x", "zq", "7", "Q_7"} {
		if !slices.ContainsFunc(u.subject.Rules(ir.MCP), func(r ir.Rule) bool {
			return r.Pattern.Kind == ir.Plain && policy.Wildcard(r.Pattern.Text, name)
		}) {
			return name
		}
	}
	return "unlisted"
}

// novel reports whether a rule has another shape than those before it: the same signs around
// other letters are written, and read, by the same code.
func (u *universe) novel(g ir.Group, r *ir.Rule) bool {
	shape := u.rules.shapesOf(g, r).rule
	if u.shapes[shape] {
		return false
	}
	u.shapes[shape] = true
	return u.plan.has(u.ref, g, shape)
}

// crossed calls do with each pair of rules of which the first holds back what the second would
// permit. Of those that permit as much as each other, with one of each shape: so the number of
// pairs grows with the rules, and not with their square. In a role
// in a mode only rules of different halves cross: those of one did by themselves.
func (u *universe) crossed(g ir.Group, do func(held, free *ir.Rule)) {
	rules := u.subject.Rules(g)
	shapes := map[string]bool{}
	for i := range rules {
		if u.ctx.Err() != nil {
			return
		}
		free := &rules[i]
		of := fmt.Sprint(u.half[free.Pos], free.Decision) + u.rules.shapesOf(g, free).letters
		if g == ir.Command { // only rules about the same program cross
			program, _, _ := strings.Cut(free.Pattern.Text, " ")
			of += program
		}
		if free.Decision == ir.Deny || shapes[of] {
			continue
		}
		shapes[of] = true
		for j := range rules {
			held := &rules[j]
			if held.Decision < free.Decision && u.apart(held, free) {
				do(held, free)
			}
		}
	}
}

// apart reports whether two rules may cross: always, but in a role in a mode.
func (u *universe) apart(a, b *ir.Rule) bool {
	return u.half == nil || u.half[a.Pos] != u.half[b.Pos] && u.half[a.Pos] != 0 && u.half[b.Pos] != 0
}

// vocabulary returns the words of rules, each once and without escapes, for the random part.
func vocabulary(rules []ir.Rule, separators string, more ...string) []string {
	words := slices.Clone(more)
	for i := range rules {
		if p := &rules[i].Pattern; p.Kind == ir.Plain {
			between := func(c rune) bool { return strings.ContainsRune(separators, c) }
			words = append(words, strings.FieldsFunc(strings.ReplaceAll(p.Text, `\`, ""), between)...)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// randomArgs is how many random arguments a group gets.
const randomArgs = 40

// chances returns how many random lines there are: fewer where another subject of the kind has many.
func (u *universe) chances() int {
	if u.plan.has(u.ref, ir.Command, "") {
		return randomArgs
	}
	return randomArgs / 5
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }
