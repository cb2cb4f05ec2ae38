package explain

import (
	"maps"
	"slices"
	"sync"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/verify"
)

// Holder is what holds a subject to what the source says.
type Holder string

const (
	byRules   Holder = "rules"
	ByHook    Holder = "hook"
	byAgent   Holder = "agent"   // it does so by itself
	ByNothing Holder = "nothing" // no file governs it
	past      Holder = "past"    // a file governs it, and the agent goes past that
)

// watched sums up what a verification compares, for each subject on each surface.
type watched struct {
	res  *compiler.Result
	mu   sync.Mutex
	seen map[watchedKey]*watchedSurface
}

// watchedKey names a surface, and a subject as its target does.
type watchedKey struct {
	target, surface string
	ref             ir.SubjectRef
}

type watchedSurface struct {
	held   bool // the surface has the subject
	groups map[ir.Group]*watchedGroup
}

type watchedGroup struct {
	access, approval map[Holder]bool
	left             bool
	artifacts        map[string]bool
	changes          map[[2]ir.Decision]*Change
}

// see adds one comparison.
func (w *watched) see(s verify.Seen) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := watchedKey{s.Target, s.Surface, s.Subject}
	at := w.seen[key]
	if at == nil {
		at = &watchedSurface{groups: map[ir.Group]*watchedGroup{}}
		w.seen[key] = at
	}
	v, g := &s.Verdict, at.group(s.Group)
	governed := v.Governs != contract.Neither || v.Bare != nil && v.Bare.Governs != contract.Neither
	at.held = at.held || governed
	if s.Source == ir.Agent {
		g.left = true
		return
	}
	if governed && v.At.File != "" {
		g.artifacts[v.At.File] = true
	}
	g.needs(&s)
	if here := survives(s.Source, v); s.Plain && here != s.Source {
		g.changed(s.Source, here, s.Arg)
	}
}

func (s *watchedSurface) group(g ir.Group) *watchedGroup {
	if s.groups[g] == nil {
		s.groups[g] = &watchedGroup{access: map[Holder]bool{}, approval: map[Holder]bool{},
			artifacts: map[string]bool{}, changes: map[[2]ir.Decision]*Change{}}
	}
	return s.groups[g]
}

// needs notes what holds a decision of the source: what it denies has to be refused, and what it asks
// about asked or refused. Where nothing can refuse, a question is the most there is.
func (g *watchedGroup) needs(s *verify.Seen) {
	refuses, asks := holds(s, contract.Access, ir.Deny), holds(s, contract.Approval, ir.Ask)
	switch {
	case s.Source == ir.Deny:
		g.access[refuses] = true
		if refuses == ByNothing {
			g.approval[asks] = true
		}
	case s.Source == ir.Ask && refuses != past && refuses != ByNothing:
		g.approval[refuses] = true
	case s.Source == ir.Ask:
		g.approval[asks] = true
	}
}

// holds returns what holds a half of a decision to an answer of most or less.
// Other ways to write an action are the matter of holes.
func holds(s *verify.Seen, half contract.Halves, most ir.Decision) Holder {
	v := &s.Verdict
	switch {
	case v.Governs&half == 0 && s.Plain:
		return ByNothing
	case v.Governs&half == 0, v.Decision > most:
		return past
	case v.Bare != nil && (v.Bare.Decision > most || v.Bare.Governs&half == 0):
		return ByHook
	case v.At.File == "":
		return byAgent
	}
	return byRules
}

// holdersOf returns the holders of a half in their order. What only goes past its files is held by
// nothing.
func holdersOf(held map[Holder]bool) (list []Holder) {
	for _, by := range []Holder{byRules, ByHook, byAgent, ByNothing} {
		if held[by] {
			list = append(list, by)
		}
	}
	if list == nil && held[past] {
		list = []Holder{ByNothing}
	}
	return list
}

// survives returns what becomes of a decision of the source, of the halves that are governed.
func survives(source ir.Decision, v *contract.Verdict) ir.Decision {
	access := v.Governs&contract.Access != 0 && (source == ir.Deny) != (v.Decision == ir.Deny)
	approval := v.Governs&contract.Approval != 0 && (source == ir.Allow) != (v.Decision == ir.Allow)
	if access || approval {
		return v.Decision
	}
	return source
}

func (g *watchedGroup) changed(source, here ir.Decision, example string) {
	key := [2]ir.Decision{source, here}
	if g.changes[key] == nil {
		g.changes[key] = &Change{Source: source, Here: here, Example: example}
	}
	g.changes[key].Count++
}

// agents returns what holds a subject on each surface that has it, and the targets that do not emit
// it.
func (w *watched) agents(report *verify.Report, ref ir.SubjectRef) (list []Agent, elsewhere []string) {
	for _, o := range w.res.Outputs {
		if _, judged := o.Target.(contract.Judged); !judged {
			continue
		}
		name := o.Target.Name()
		in, emitted := contract.InView(o.Target, w.res.Project, ref)
		if !emitted {
			elsewhere = append(elsewhere, name)
			continue
		}
		losses := lossesOf(o.Losses, in)
		for i := range report.Surfaces {
			s := &report.Surfaces[i]
			at := w.seen[watchedKey{name, s.Surface, in}]
			if s.Target != name || at == nil || !at.held {
				continue
			}
			a := Agent{Target: name, Surface: s.Surface, Losses: losses, Wider: findingsOf(s.Findings, in),
				Accepted: findingsOf(s.Accepted, in), Holes: findingsOf(s.Holes, in),
				HookOnly: findingsOf(s.HookOnly, in)}
			a.add(at)
			list = append(list, a)
		}
	}
	return list, elsewhere
}

// add puts groups into their order.
func (a *Agent) add(s *watchedSurface) {
	all := map[string]bool{}
	for _, name := range ir.Decided {
		g := s.groups[name]
		if g == nil {
			continue
		}
		h := Holding{Group: name, Left: g.left, Access: holdersOf(g.access), Approval: holdersOf(g.approval),
			Artifacts: slices.Sorted(maps.Keys(g.artifacts))}
		for _, key := range slices.SortedFunc(maps.Keys(g.changes), func(x, y [2]ir.Decision) int {
			return slices.Compare(x[:], y[:])
		}) {
			h.Changes = append(h.Changes, *g.changes[key])
		}
		maps.Copy(all, g.artifacts)
		a.Groups = append(a.Groups, h)
	}
	a.Artifacts = slices.Sorted(maps.Keys(all))
}

// lossesOf returns the losses of a target that a subject has, and those of all.
func lossesOf(list diag.List, ref ir.SubjectRef) (out diag.List) {
	names := []string{"", ref.String()}
	if ref.Role != "" && ref.Mode != "" {
		names = append(names, ir.SubjectRef{Role: ref.Role}.String(), ir.SubjectRef{Mode: ref.Mode}.String())
	}
	for _, d := range list {
		if slices.Contains(names, d.Subject) {
			out = append(out, d)
		}
	}
	return out
}

func findingsOf(list []verify.Finding, ref ir.SubjectRef) (out []verify.Finding) {
	for _, f := range list {
		if f.Subject == ref.String() {
			out = append(out, f)
		}
	}
	return out
}
