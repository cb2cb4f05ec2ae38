package verify

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
)

// job compares one subject on one surface.
type job struct {
	target   *Target
	decider  contract.Decider
	compiled contract.Decider // nil where the decider reads the compiled artifacts
	alone    contract.Decider // the agent by itself; nil where there is no agent
	surface  int              // its index in the report
	ref      ir.SubjectRef
	off      map[string]bool // servers that are not started
	halves   []*job          // of a role in a mode: the jobs of both, on the same surface
	tells    bool            // it is one of these
	before   []*job          // of a role in a mode: the first of the role and of the mode, where it is neither

	once    sync.Once
	err     error
	telling telling
	out     Surface
	role    *policy.Subject              // the role alone, of a role in a mode
	held    bool                         // the surface has the subject
	governs map[ir.Group]contract.Halves // what the surface governs in each group at all
	left    map[ir.Group]bool            // the groups in which something is left to the agent
	sampled map[ir.Group]error           // why some groups are not verified exactly
	edited  map[ir.Group]bool            // those of them that are with the compiled artifacts in the place of these
	own     map[ir.Group][]string        // the patterns of somebody's own entries, where one was looked for
}

// each returns a job for each subject that the surface contains.
func (j *job) each(refs []ir.SubjectRef) (jobs []*job) {
	of, first := map[ir.SubjectRef]*job{}, map[ir.SubjectRef]*job{}
	add := func(ref ir.SubjectRef) *job {
		if of[ref] == nil {
			of[ref] = &job{target: j.target, decider: j.decider, compiled: j.compiled, surface: j.surface, ref: ref,
				alone: j.alone}
		}
		return of[ref]
	}
	for _, ref := range refs {
		one := add(ref)
		if !one.contained() {
			continue
		}
		if ref.Role != "" && ref.Mode != "" {
			one.halves = []*job{add(ir.SubjectRef{Role: ref.Role}), add(ir.SubjectRef{Mode: ref.Mode})}
			one.halves[0].tells, one.halves[1].tells = true, true
			for _, half := range one.halves {
				if first[half.ref] == nil {
					first[half.ref] = one
				} else {
					one.before = append(one.before, first[half.ref])
				}
			}
		}
		jobs = append(jobs, one)
	}
	return jobs
}

// do compares the subject, once.
func (j *job) do(ctx context.Context, w *worker) error {
	j.once.Do(func() {
		var u *universe
		if w.req.Actions != nil {
			if u, j.err = newUniverse(ctx, w.req.Policy, j.ref); j.err == nil {
				j.compare(ctx, w.req, u, u.only(w.req.Actions))
			}
			return
		}
		if u, j.err = j.universe(ctx, w); j.err != nil {
			return
		}
		list := pointers(u.list)
		if u.subject != nil && !personal(j.decider) && (j.halves == nil || w.universes.plan.pairStates() > 0) {
			list, j.err = j.exactly(ctx, u, w, func(g ir.Group) ([]*Witness, error) {
				if j.halves != nil {
					return u.some(g, func(*Witness) bool { return true }), nil
				}
				return u.wholeOf(g, func() (*universe, error) {
					return universeOf(ctx, w.req.Policy, j.ref, w.more.get(j.ref), w.req.Seed, nil, []ir.Group{g})
				})
			})
		}
		if j.err != nil {
			return
		}
		j.compare(ctx, w.req, u, list)
		j.telling.seen = nil
	})
	return j.err
}

func pointers(list []Witness) []*Witness {
	out := make([]*Witness, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// contained reports whether the artifacts, or the compiled ones, contain the subject.
func (j *job) contained() bool {
	return slices.ContainsFunc([]contract.Decider{j.decider, j.compiled}, func(d contract.Decider) bool {
		of, ok := d.(contract.Container)
		return d != nil && (!ok || of.Contains(j.ref))
	})
}

// universe returns what the subject is compared on.
func (j *job) universe(ctx context.Context, w *worker) (*universe, error) {
	universes, req, more := w.universes, w.req, w.more
	if j.halves == nil || universes.has(j.ref) {
		u := universes.get(j.ref)
		u.once.Do(func() {
			u.universe, u.err = universeOf(ctx, req.Policy, j.ref, more.get(j.ref), req.Seed, universes.plan,
				ir.Decided)
			if u.err == nil {
				u.named(more.names(j.ref))
			}
		})
		return u.universe, u.err
	}
	u, err := newUniverse(ctx, req.Policy, j.ref)
	if err != nil {
		return nil, err
	}
	u.half, u.rules = map[diag.Pos]int{}, universes.plan
	for n, of := range j.halves {
		if err := of.do(ctx, w); err != nil {
			return nil, err
		}
		for i := range of.telling.list {
			of := &of.telling.list[i]
			if of.dressed() && !universes.plan.dresses(j.ref, of.Group) {
				continue
			}
			u.witness(Witness{Action: of.Action, Class: of.Class, Assumed: of.Assumed})
		}
		if err := u.wrote(n+1, of.ref); err != nil {
			return nil, err
		}
	}
	u.fileCrossings(ir.Read)
	u.fileCrossings(ir.Edit)
	u.commandCrossings()
	u.matches(more.without(j.ref, j.halves[0].ref, j.halves[1].ref))
	u.named(more.namedAlone(j.ref, j.halves[0].ref, j.halves[1].ref))
	return u, nil
}

// compare compares a subject on witnesses of its universe.
func (j *job) compare(ctx context.Context, req Request, u *universe, list []*Witness) {
	j.governs, j.left = map[ir.Group]contract.Halves{}, map[ir.Group]bool{}
	if p, ok := j.decider.(contract.PersonDecider); ok && personal(j.decider) {
		j.principals(req, p, list)
		return
	}
	by, err := j.sources(req.Policy)
	if err != nil {
		j.err = err
		return
	}
	asked := req.Actions != nil || j.target.hooked() && !by.unnamed
	for i := range list {
		if req.UntilWider && len(j.out.Findings) > 0 || i%256 == 0 && ctx.Err() != nil {
			return
		}
		w := u.decided(list[i])
		if w.Group == ir.MCP && j.off[w.Server] && req.Actions == nil {
			continue
		}
		v := j.decider.Decide(j.ref, w.Action)
		if j.tells {
			j.telling.add(&w, &v)
		}
		if !j.sourced(&w, &v, by, asked) {
			j.unusual(req.Seen, &w, v)
			continue
		}
		alike := j.alike(u.subject, w.Action, &w.Source)
		w.Source.Decision = contract.Decision(j.target.Target, &w.Source)
		if lack := v.Lack; lack != nil && v.At.Line == 0 {
			v.Rule, v.At = cmp.Or(v.Rule, "nothing")+", since "+lack.Why, lack.At
		}
		w.Assumed = w.Assumed || alike
		if j.compiled != nil {
			compiled := j.compiled.Decide(j.ref, w.Action)
			j.blame(&w, &v, compiled)
			j.byKeptRule(&w, v, compiled)
			j.missing(&w, v, compiled)
			if j.halves == nil { // an entry that opens one opens a half
				before := v
				v = widened(&w, v, compiled)
				w.opened = v.Hole != before.Hole || v.BareHole != before.BareHole
			}
		}
		if v.Governs != contract.Neither || v.Bare != nil && v.Bare.Governs != contract.Neither {
			j.held = true
		}
		j.show(req.Seen, &w, v)
		j.judge(&w, v)
	}
}

// sources are what the source says of a job's subject: as files decide it, which have no more than a text, and whole.
type sources struct {
	text, whole *policy.Subject
	unnamed     bool // it is a role in a mode, which the hook takes for the role
}

func (j *job) sources(e *policy.Engine) (by sources, err error) {
	if by.text, err = e.OnText().Subject(j.ref); err != nil {
		return by, err
	}
	if a, ok := j.target.Target.(contract.Installed); ok && j.ref.Role != "" && j.ref.Mode != "" {
		by.unnamed = a.Agent().Unnamed
	}
	by.whole = by.text
	if p := j.target.Input.Policy; p != nil {
		if s, err := p.Subject(j.ref); err == nil {
			by.whole = s
		}
	}
	return by, nil
}

// sourced puts what files can hold of an action into the place of what the source says. It is the whole where a hook is
// asked, and where they hold it. It returns false where the action is not usual, and nobody's edit opens it.
func (j *job) sourced(w *Witness, v *contract.Verdict, by sources, hooked bool) bool {
	if policy.Usual(w.Action) {
		r := by.text.Decide(w.Action)
		w.usual = &r
	}
	switch {
	case hooked:
		return true
	case v.Bare != nil && !by.unnamed: // of an agent that another target starts
		w.Source = by.whole.Decide(w.Action)
		return true
	case w.usual == nil:
		w.Source = by.whole.Decide(w.Action)
		return j.compiled != nil && opens(*v, j.compiled.Decide(j.ref, w.Action))
	}
	w.Source = *w.usual
	if r := by.whole.Decide(w.Action); contract.Decision(j.target.Target, &r) >= v.Decision {
		w.Source = r
	}
	return true
}

// alike reports whether a tool differs from a known one that is permitted in letters only that the agent does not tell
// apart, and nothing but what holds for all tools of the server decides about it: nobody says that it exists.
func (j *job) alike(subject *policy.Subject, a policy.Action, source *policy.Result) bool {
	d, ok := j.decider.(contract.Renaming)
	if !ok || subject == nil || a.Group != ir.MCP || a.Kind != policy.Tool || source.Decision == ir.Allow {
		return false
	}
	names, tool := subject.KnownTools(a.Server), a.Arg
	if len(names) == 0 || slices.Contains(names, tool) {
		return false
	}
	if a.Arg = contract.UnknownTool; subject.Decide(a).Pos != source.Pos {
		return false
	}
	name := d.ToolName(tool)
	return slices.ContainsFunc(names, func(other string) bool {
		a.Arg = other
		known := subject.Decide(a).Decision
		return d.ToolName(other) == name && (known == ir.Allow || known == ir.Ask && source.Decision == ir.Deny)
	})
}

// blame puts the place in a file of somebody's own that changes what other files say into the place of the rule that
// permits more by it.
func (j *job) blame(w *Witness, v *contract.Verdict, compiled contract.Verdict) {
	d, ok := j.decider.(contract.Blaming)
	as := v.Decision == compiled.Decision && (v.Hole == nil) == (compiled.Hole == nil)
	if !ok || as || whole(*v).Decision <= w.Source.Decision {
		return
	}
	somebodys := func(file string) bool {
		_, err := fs.Stat(j.target.Compiled, file)
		return file != "" && err != nil
	}
	if at, how, ok := d.Cause(j.ref, w.Action, somebodys); ok {
		v.At, v.Rule = at, v.Rule+", since "+how
	}
}

// show gives what is compared to whoever wants to see it.
func (j *job) show(seen func(Seen), w *Witness, v contract.Verdict) {
	if seen == nil || w.Assumed {
		return
	}
	seen(Seen{Target: j.target.Target.Name(), Surface: j.decider.Surface(), Subject: j.ref,
		Group: w.Group, Arg: arg(w.Action), Plain: !w.dressed() && !w.Source.Odd,
		Source: w.Source.Decision, Verdict: v})
}

// principals compares what principals may do who have a role. One has all the values that
// the role accepts. For each claim there is one with each of its values, and one with a
// value that no role accepts.
func (j *job) principals(req Request, d contract.PersonDecider, universe []*Witness) {
	e := req.Policy
	role := e.Project().Role(j.ref.Role)
	if role == nil || j.ref.Mode != "" || !role.Held() {
		return
	}
	persons := []map[string][]string{role.Claims}
	if role.Principals == ir.Authenticated {
		persons[0] = map[string][]string{}
	}
	for _, claim := range slices.Sorted(maps.Keys(role.Claims)) {
		values := role.Claims[claim]
		if len(values) > 1 {
			for _, v := range values {
				persons = append(persons, with(role.Claims, claim, v))
			}
		}
		persons = append(persons, with(role.Claims, claim, "modec-unlisted-value"))
	}
	first := slices.IndexFunc(e.Project().Roles, func(r ir.Role) bool { return r.Held() })
	if e.Project().Roles[first].Name == role.Name { // once for all roles: no claims, and no token
		persons = append(persons, map[string][]string{}, nil)
	}
	j.held = true
	for _, person := range persons {
		for _, of := range universe {
			w := *of
			if w.Group != ir.MCP {
				continue
			}
			source, _, err := e.Person(person, w.Action)
			if err != nil {
				source = policy.Result{Rule: err.Error()}
			}
			w.Source = source
			v := d.DecidePerson(person, w.Action)
			if j.compiled != nil {
				j.missing(&w, v, j.compiled.(contract.PersonDecider).DecidePerson(person, w.Action))
			}
			j.show(req.Seen, &w, v)
			j.judge(&w, v)
		}
	}
}

// missing reports a half that the compiled artifacts govern and these do not, because
// nothing is left that would refuse or ask.
func (j *job) missing(w *Witness, v, compiled contract.Verdict) {
	gone := compiled.Governs &^ v.Governs
	var h half
	switch {
	case gone == 0:
		return
	case w.Assumed, v.Governs&contract.Access != 0 && v.Decision == ir.Deny:
		return
	case gone&contract.Access != 0 && w.Source.Decision == ir.Deny:
		h = access
	case gone&contract.Approval != 0 && w.Source.Decision < ir.Allow:
		h = approval
	default:
		return
	}
	a := compiled.Answer
	a.Decision, a.Rule = ir.Allow, "nothing: no artifact restricts it any more"
	a.At = diag.Pos{File: a.At.File}
	if v.Lack != nil {
		a.Rule, a.At = "nothing, since "+v.Lack.Why, v.Lack.At
	}
	j.held = true
	j.example(&j.out.Findings, j.finding(w, h, a))
}

// personal reports whether a decider, or the one that an absent one stands for, decides
// for principals.
func personal(d contract.Decider) bool {
	if a, ok := d.(absent); ok {
		d = a.Decider
	}
	_, ok := d.(contract.PersonDecider)
	return ok
}

// absent stands for a surface whose artifacts are gone.
type absent struct{ contract.Decider }

func (absent) Decide(ir.SubjectRef, policy.Action) contract.Verdict { return contract.Verdict{} }

func (absent) Contains(ir.SubjectRef) bool { return false }

func (absent) Languages(ir.SubjectRef, policy.Field, *regexlang.Space) ([]regexlang.Language, error) {
	return nil, nil
}

func (absent) DecidePerson(map[string][]string, policy.Action) contract.Verdict {
	return contract.Verdict{}
}

// with returns claims in which one claim has a single value.
func with(claims map[string][]string, claim, value string) map[string][]string {
	out := maps.Clone(claims)
	out[claim] = []string{value}
	return out
}
