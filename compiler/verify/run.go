package verify

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/cache"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/secret"
)

// patterns are those of the artifacts, by subject, read when they are asked for, and what rules name. Those of a role
// in a mode are asked for by one surface after the other; those of the halves by each pair, too.
type patterns struct {
	deciders []contract.Patterned
	naming   []contract.CallNamer
	servers  []string // of the inventory, and the gateways in their place

	mu           sync.Mutex
	pairs, alone *cache.Cache[ir.SubjectRef, map[ir.Group][]ir.Pattern]
}

// The subjects of which the patterns are kept at least: more pairs than are compared at once, and the halves of many.
const (
	patternedPairs = 16
	patternedAlone = 256
)

func newPatterns(servers []string) *patterns {
	return &patterns{
		servers: servers,
		pairs:   cache.New[ir.SubjectRef, map[ir.Group][]ir.Pattern](patternedPairs),
		alone:   cache.New[ir.SubjectRef, map[ir.Group][]ir.Pattern](patternedAlone),
	}
}

func (m *patterns) add(d contract.Decider) {
	if p, ok := d.(contract.Patterned); ok {
		m.deciders = append(m.deciders, p)
	}
	if n, ok := d.(contract.CallNamer); ok {
		m.naming = append(m.naming, n)
	}
}

// servers returns the names of the servers that agents may start for a project.
func servers(p *ir.Project) (names []string) {
	for i := range p.Servers {
		names = append(names, p.Servers[i].Name)
	}
	for _, list := range p.Gateways {
		for i := range list {
			names = append(names, list[i].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// names returns the calls that rules in a subject's artifacts name.
func (m *patterns) names(ref ir.SubjectRef) (all []policy.Action) {
	for _, d := range m.naming {
		all = append(all, d.NamedCalls(ref, m.servers)...)
	}
	return all
}

func (m *patterns) get(ref ir.SubjectRef) map[ir.Group][]ir.Pattern {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.alone
	if ref.Role != "" && ref.Mode != "" {
		kept = m.pairs
	}
	if of, ok := kept.Get(ref); ok {
		return of
	}
	of := map[ir.Group][]ir.Pattern{}
	for _, d := range m.deciders {
		for g, list := range d.Patterns(ref) {
			of[g] = append(of[g], list...)
		}
	}
	kept.Put(ref, of)
	return of
}

// subjects returns every mode, every role, and every role in each mode that it may enter.
func subjects(p *ir.Project) []ir.SubjectRef {
	refs := p.Subjects()
	for i := range p.Roles {
		for j := range p.Modes {
			if p.Roles[i].Enters(p.Modes[j].Slug) {
				refs = append(refs, ir.SubjectRef{Role: p.Roles[i].Name, Mode: p.Modes[j].Slug})
			}
		}
	}
	return refs
}

// Universes keeps the universe of each subject, so that the surfaces share it.
type Universes struct {
	mu     sync.Mutex
	of     map[ir.SubjectRef]*sharedUniverse
	spaces spaces
	plan   *plan
}

type sharedUniverse struct {
	once sync.Once
	*universe
	err error
}

func (u *Universes) get(ref ir.SubjectRef) *sharedUniverse {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of[ref] == nil {
		if u.of == nil {
			u.of = map[ir.SubjectRef]*sharedUniverse{}
		}
		u.of[ref] = &sharedUniverse{}
	}
	return u.of[ref]
}

// prepare plans what is in the universes.
func (u *Universes) prepare(e *policy.Engine) (err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.plan == nil {
		u.plan, err = newPlan(e)
	}
	return err
}

// has reports whether a subject's universe is there.
func (u *Universes) has(ref ir.SubjectRef) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.of[ref] != nil
}

// drop forgets the universe of a subject.
func (u *Universes) drop(ref ir.SubjectRef) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, ref)
}

// worker is what one of several needs that do jobs at the same time.
type worker struct {
	req       Request
	universes *Universes
	more      *patterns
}

// run does the jobs, several at once: subject by subject, so that few universes are kept at a
// time, and roles in modes last. A worker does all jobs of a subject: so it looks at the languages of
// the source once.
func run(ctx context.Context, w worker, jobs []*job) error {
	req, universes := w.req, w.universes
	queue := make(chan []*job)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	done, stop := 0, false
	for range 2 * runtime.GOMAXPROCS(0) { // some wait for languages that others look at
		wg.Go(func() {
			for of := range queue {
				for _, j := range of {
					mu.Lock()
					over := stop || ctx.Err() != nil
					mu.Unlock()
					if over {
						break
					}
					err := j.do(ctx, &w)
					mu.Lock()
					stop = req.UntilWider && (stop || len(j.out.Findings) > 0)
					failed = cmp.Or(failed, err)
					if done++; req.Progress != nil {
						surface := strings.TrimSpace(j.target.Target.Name() + " " + j.decider.Surface())
						req.Progress(Step{done, len(jobs), surface, j.ref})
					}
					mu.Unlock()
				}
				if req.Universes == nil {
					universes.drop(of[0].ref)
				}
			}
		})
	}
	for _, of := range bySubject(jobs) {
		queue <- of
	}
	close(queue)
	wg.Wait()
	return cmp.Or(context.Cause(ctx), failed)
}

// bySubject returns the jobs of each subject, those of roles in modes at the end.
func bySubject(jobs []*job) (all [][]*job) {
	of := map[ir.SubjectRef][]*job{}
	var refs, pairs []ir.SubjectRef
	for _, j := range jobs {
		switch {
		case of[j.ref] != nil:
		case j.halves != nil:
			pairs = append(pairs, j.ref)
		default:
			refs = append(refs, j.ref)
		}
		of[j.ref] = append(of[j.ref], j)
	}
	for _, ref := range append(refs, pairs...) {
		all = append(all, of[ref])
	}
	return all
}

// finish puts what several jobs found in order, masks its secrets, and says what was verified exactly.
func (s *Surface) finish(p *ir.Project, parts []Sampled) {
	known := map[string]string{} // most jobs found the same
	masked := func(text string) string {
		of, ok := known[text]
		if !ok {
			of = secret.Text(text)
			known[text] = of
		}
		return of
	}
	for _, list := range s.findings() {
		if *list == nil {
			*list = []Finding{}
		}
		for i := range *list {
			f := &(*list)[i]
			f.Action, f.Rule, f.By = masked(f.Action), masked(f.Rule), masked(f.By)
		}
	}
	slices.Sort(s.Ungoverned)
	s.Ungoverned = slices.Compact(s.Ungoverned)
	s.Exact = []ir.Group{}
	if s.Subjects == 0 {
		s.Sampled = []Sampled{}
		return
	}
	for _, g := range ir.Groups {
		sampled := slices.ContainsFunc(s.Sampled, func(x Sampled) bool { return x.Group == g })
		if s.Governed[g] != contract.Neither && !sampled {
			s.Exact = append(s.Exact, g)
		}
	}
	if slices.Contains(s.Exact, ir.Command) {
		s.Sampled = append(s.Sampled, knownPrograms)
	}
	if !p.ClosedInventory && slices.Contains(s.Exact, ir.MCP) {
		s.Sampled = append(s.Sampled, otherServers)
	}
	s.Sampled = append(s.Sampled, parts...)
}

// arg writes an action's argument as `modec explain` takes it.
func arg(a policy.Action) string {
	switch {
	case a.Group != ir.MCP:
		return a.Arg
	case a.Kind == policy.Resource:
		return fmt.Sprintf("%s (resource)", a.Server)
	case a.Kind == policy.Prompt:
		return fmt.Sprintf("%s (prompt)", a.Server)
	}
	return a.Server + ":" + a.Arg
}
