package verify

import (
	"context"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// job compares one subject on one surface.
type job struct {
	target   *Target
	decider  contract.Decider
	compiled contract.Decider // nil where the decider's own artifacts are those compiled
	surface  int              // its place in the report
	ref      ir.SubjectRef

	out     Surface
	role    *policy.Subject              // of a role in a mode, by itself
	held    bool                         // the surface holds the subject
	governs map[ir.Group]contract.Halves // what the surface holds of each group at all
}

func (j *job) compare(ctx context.Context, e *policy.Engine, universe []Witness, untilWider bool) {
	j.governs = map[ir.Group]contract.Halves{}
	if p, ok := j.decider.(contract.PersonDecider); ok && personal(j.decider) {
		j.people(e, p, universe)
		return
	}
	for i := range universe {
		if untilWider && len(j.out.Findings) > 0 || i%256 == 0 && ctx.Err() != nil {
			return
		}
		w := &universe[i]
		v := j.decider.Decide(j.ref, w.Action)
		if j.compiled != nil && v.Governs != contract.Both {
			j.unheld(w, v, j.compiled.Decide(j.ref, w.Action))
		}
		if v.Governs != contract.Neither || v.Bare != nil && v.Bare.Governs != contract.Neither {
			j.held = true
		}
		j.judge(w, v)
	}
}

// people compares what people may do who hold a role by their claims: one with
// all the values that the role accepts, and for each claim one with each of its
// values and one with a value that nobody accepts.
func (j *job) people(e *policy.Engine, d contract.PersonDecider, universe []Witness) {
	role := e.Project().Role(j.ref.Role)
	if role == nil || j.ref.Mode != "" || len(role.Claims) == 0 {
		return
	}
	persons := []map[string][]string{role.Claims}
	for _, claim := range slices.Sorted(maps.Keys(role.Claims)) {
		values := role.Claims[claim]
		if len(values) > 1 {
			for _, v := range values {
				persons = append(persons, with(role.Claims, claim, v))
			}
		}
		persons = append(persons, with(role.Claims, claim, "modec-unlisted-value"))
	}
	if first := slices.IndexFunc(e.Project().Roles, func(r ir.Role) bool { return len(r.Claims) > 0 }); e.Project().Roles[first].Name == role.Name {
		persons = append(persons, map[string][]string{}) // somebody without claims, once
	}
	j.held = true
	for _, person := range persons {
		for _, w := range universe {
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
				j.unheld(&w, v, j.compiled.(contract.PersonDecider).DecidePerson(person, w.Action))
			}
			j.judge(&w, v)
		}
	}
}

// unheld reports what the compiled artifacts hold and these do not: nothing is
// there that would refuse or ask.
func (j *job) unheld(w *Witness, v, compiled contract.Verdict) {
	gone := compiled.Governs &^ v.Governs
	half := ""
	switch {
	case w.Assumed:
	case gone&contract.Access != 0 && w.Source.Decision == ir.Deny:
		half = "access"
	case gone&contract.Approval != 0 && w.Source.Decision < ir.Allow:
		half = "approval"
	}
	if half == "" {
		return
	}
	a := compiled.Answer
	a.Decision, a.Rule = ir.Allow, "nothing: what holds it is gone"
	a.At = diag.Pos{File: a.At.File}
	j.held = true
	j.example(&j.out.Findings, j.finding(w, half, a, false))
}

// personal reports whether a decider's subjects are people, also where it
// stands for an absent one.
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

func (absent) DecidePerson(map[string][]string, policy.Action) contract.Verdict {
	return contract.Verdict{}
}

// with returns claims in which one has a single value.
func with(claims map[string][]string, claim, value string) map[string][]string {
	out := maps.Clone(claims)
	out[claim] = []string{value}
	return out
}

func (j *job) judge(w *Witness, v contract.Verdict) {
	bare := v.Governs
	if v.Bare != nil {
		bare |= v.Bare.Governs
	}
	j.governs[w.Group] |= v.Governs
	if bare == contract.Neither {
		return
	}
	if w.Assumed {
		j.assumed(w, v)
		return
	}
	j.out.Compared++
	wider := false
	if v.Governs&contract.Access != 0 && j.out.Access.add(w.Source.Decision > ir.Deny, v.Decision > ir.Deny) {
		j.wider(w, "access", v.Answer, false, &j.out.Access)
		wider = true
	}
	if j.approves(w, v.Answer, &j.out.Approval) {
		j.wider(w, "approval", v.Answer, false, &j.out.Approval)
		wider = true
	}
	if !strings.ContainsRune(w.Arg, 0) { // no system opens such a path
		j.utility(w, v.Answer)
	}
	if v.Bare != nil {
		if j.out.Bare == nil {
			j.out.Bare = &Tally{}
		}
		if silent := j.approves(w, *v.Bare, j.out.Bare); silent && j.roleAllows(w) {
			j.out.Bare.Wider--
			j.out.Bare.HookOnly++
			j.out.Counts.HookOnly++
			j.example(&j.out.HookOnly, j.finding(w, "approval", *v.Bare, true))
		} else if silent {
			j.wider(w, "approval", *v.Bare, true, j.out.Bare)
		} else if !silent && !wider && w.Source.Decision == ir.Deny && v.Decision == ir.Deny && v.Bare.Decision > ir.Deny {
			j.out.Counts.HookOnly++
			j.example(&j.out.HookOnly, j.finding(w, "access", *v.Bare, true))
		}
	}
	if h := v.Hole; h != nil && !wider && h.Decision > w.Source.Decision {
		j.hole(w, "access", h, v.Answer, false)
	} else if h := v.BareHole; h != nil && !wider && h.Decision == ir.Allow && w.Source.Decision < ir.Allow && v.Bare.Decision < ir.Allow {
		j.hole(w, "approval", h, *v.Bare, true)
	}
}

func (j *job) hole(w *Witness, half string, h *contract.Hole, a contract.Answer, bare bool) {
	j.out.Counts.Holes++
	f := j.finding(w, half, a, bare)
	f.Artifact, f.By = h.Decision, h.Why
	j.example(&j.out.Holes, f)
}

// roleAllows reports whether a role in a mode may do by itself what it may not
// in the mode. No format has rules for a mode inside a role's session: there the
// hook alone holds the mode, and without it the role's own rules hold.
func (j *job) roleAllows(w *Witness) bool {
	if j.ref.Role == "" || j.ref.Mode == "" {
		return false
	}
	if j.role == nil {
		s, err := j.target.Input.Policy.Subject(ir.SubjectRef{Role: j.ref.Role})
		if err != nil {
			return false
		}
		j.role = s
	}
	return j.role.Decide(w.Action).Decision == ir.Allow
}

// assumed compares what a closed inventory says does not exist, apart from
// everything else.
func (j *job) assumed(w *Witness, v contract.Verdict) {
	j.out.Counts.Assumed++
	var apart Tally
	switch {
	case v.Governs&contract.Access != 0 && apart.add(w.Source.Decision > ir.Deny, v.Decision > ir.Deny):
		j.example(&j.out.Assumed, j.finding(w, "access", v.Answer, false))
	case j.approves(w, v.Answer, &apart):
		j.example(&j.out.Assumed, j.finding(w, "approval", v.Answer, false))
	}
}

// approves compares the approval half and reports whether the artifact's is
// wider. Without the hook it is the only half: a refusal that becomes a question
// is no widening.
func (j *job) approves(w *Witness, a contract.Answer, t *Tally) bool {
	return a.Governs&contract.Approval != 0 && t.add(w.Source.Decision == ir.Allow, a.Decision == ir.Allow)
}

func (j *job) wider(w *Witness, half string, a contract.Answer, bare bool, t *Tally) {
	f := j.finding(w, half, a, bare)
	x := j.exception(w)
	if x == nil {
		j.out.Findings = append(j.out.Findings, f)
		return
	}
	t.Wider--
	t.Accepted++
	j.out.Counts.Accepted++
	f.By, f.At = "until "+x.Until.Format("2006-01-02")+": "+x.Reason, x.Pos
	j.example(&j.out.Accepted, f)
}

// exception returns what accepts that an action is wider.
func (j *job) exception(w *Witness) *contract.Exception {
	p := j.target.Input.Project
	for _, ref := range []ir.SubjectRef{j.ref, {Mode: j.ref.Mode}, {Role: j.ref.Role}} {
		switch {
		case ref == ir.SubjectRef{}:
			continue
		case w.Group == ir.MCP:
			literal := false
			if sv := p.Server(w.Server); sv != nil {
				t := sv.Tool(w.Arg)
				literal = !sv.DefaultEnabled || t != nil && t.Risk == "destructive"
			}
			if x := j.target.Input.Excepts(ref, w.Server, w.Arg, literal); x != nil {
				return x
			}
			continue
		case w.Group == ir.Edit && w.Source.Pos.File == ir.GuardsFile:
			// A guarded path is opened by its own name only.
		default:
			if x := j.target.Input.ExceptsGroup(ref, w.Group); x != nil {
				return x
			}
		}
		for i := range j.target.Input.Exceptions {
			x := &j.target.Input.Exceptions[i]
			if x.Subject == ref && x.Group == w.Group && x.Pattern == w.Arg && w.Arg != "" {
				return x
			}
		}
	}
	return nil
}

func (j *job) finding(w *Witness, half string, a contract.Answer, bare bool) Finding {
	return Finding{Subject: j.ref.String(), Group: w.Group, Action: arg(w.Action), Class: w.Class, Half: half, Without: bare,
		Count: 1, Source: w.Source.Decision, Artifact: a.Decision, Rule: w.Source.Rule, Pos: w.Source.Pos, By: a.Rule, At: a.At}
}

// example keeps the first finding of each subject, group, half and reason, and
// counts the others.
func (j *job) example(list *[]Finding, f Finding) {
	by := f.By
	if list == &j.out.HookOnly || list == &j.out.Assumed {
		by = "" // the rules that would answer instead do not matter
	}
	same := func(g Finding) bool {
		return g.Group == f.Group && g.Half == f.Half && (by == "" || g.By == by && g.At == f.At)
	}
	if i := slices.IndexFunc(*list, same); i >= 0 {
		(*list)[i].Count++
		return
	}
	*list = append(*list, f)
}

func (j *job) utility(w *Witness, a contract.Answer) {
	if j.ref.Mode != "" && j.ref.Role != "" {
		return
	}
	// What a person is asked in a session that holds no role is that session's.
	governs := a.Governs
	if a.At.File != "" {
		governs &= j.target.Target.Governs(a.At.File, w.Group)
	}
	survives := a.Decision
	if governs&contract.Approval == 0 && survives > ir.Deny {
		survives = ir.Allow
	}
	if a.Governs&contract.Access == 0 && survives == ir.Deny {
		survives = ir.Ask
	}
	switch w.Source.Decision {
	case ir.Allow:
		j.out.Utility.Allow.Of++
		if survives == ir.Allow {
			j.out.Utility.Allow.Kept++
		}
	case ir.Ask:
		j.out.Utility.Ask.Of++
		if survives > ir.Deny {
			j.out.Utility.Ask.Kept++
		}
	}
}

// into adds what the job found to its surface.
func (j *job) into(s *Surface) {
	if !j.held {
		return
	}
	o := &j.out
	s.Subjects++
	s.Compared += o.Compared
	s.Access.sum(o.Access)
	s.Approval.sum(o.Approval)
	if o.Bare != nil {
		if s.Bare == nil {
			s.Bare = &Tally{}
		}
		s.Bare.sum(*o.Bare)
	}
	for _, u := range []struct{ to, from *Share }{{&s.Utility.Allow, &o.Utility.Allow}, {&s.Utility.Ask, &o.Utility.Ask}} {
		u.to.Kept, u.to.Of = u.to.Kept+u.from.Kept, u.to.Of+u.from.Of
	}
	s.Findings = append(s.Findings, o.Findings...)
	s.Accepted = append(s.Accepted, o.Accepted...)
	s.Holes = append(s.Holes, o.Holes...)
	s.HookOnly = append(s.HookOnly, o.HookOnly...)
	s.Assumed = append(s.Assumed, o.Assumed...)
	s.Counts.Accepted += o.Counts.Accepted
	s.Counts.Holes += o.Counts.Holes
	s.Counts.HookOnly += o.Counts.HookOnly
	s.Counts.Assumed += o.Counts.Assumed
	for g, held := range j.governs {
		if held&contract.Access == 0 {
			s.Ungoverned = append(s.Ungoverned, "access of "+string(g))
		}
		if held&contract.Approval == 0 {
			s.Ungoverned = append(s.Ungoverned, "approval of "+string(g))
		}
	}
}
