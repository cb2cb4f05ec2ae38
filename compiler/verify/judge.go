package verify

import (
	"cmp"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// half is a half of a decision: of the agent with its hook, or without.
type half struct {
	name string
	bare bool
}

var (
	access       = half{name: "access"}
	approval     = half{name: "approval"}
	bareAccess   = half{"access", true}
	bareApproval = half{"approval", true}
)

// judge compares a verdict with the source and counts what differs.
func (j *job) judge(w *Witness, v contract.Verdict) {
	governs := v.Governs
	if v.Bare != nil {
		governs |= v.Bare.Governs
	}
	j.governs[w.Group] |= v.Governs
	if governs == contract.Neither {
		return
	}
	left := w.Source.Decision == ir.Agent
	if left {
		j.left[w.Group] = true
		v = j.byItself(w, v)
	}
	v = merged(native(v, &w.Source), w.Source.Decision)
	if v.Decision < w.Source.Decision {
		if r := j.ownRule(v.Decision, v.Rule); r != nil { // the source says that, too
			w.Source = byRule(r, v.Decision)
		}
	}
	if w.Assumed {
		j.assumed(w, v)
		return
	}
	j.out.Compared++
	alone := w.Source
	if _, less := narrows(&w.Source, v.Answer); less {
		w.Source = j.inBaseline(w, v.Decision)
	}
	wider := j.judgeAnswer(w, v.Answer)
	if !left && !w.dressed() {
		j.utility(w, v.Answer)
	}
	w.Source = alone
	if v.Bare != nil {
		silent := j.judgeBare(w, *v.Bare, left)
		refuses := w.Source.Decision == ir.Deny && v.Decision == ir.Deny
		if !silent && !wider && refuses && v.Bare.Decision > ir.Deny {
			j.hookOnly(w, bareAccess, *v.Bare)
		}
	}
	if !wider {
		j.judgeHoles(w, v)
	}
}

// inBaseline returns what the source says of a mode where the artifacts permit less than the mode: what they permit,
// where the baseline permits no more there. Sessions without a role are the baseline's: what it holds back is no loss.
func (j *job) inBaseline(w *Witness, d ir.Decision) policy.Result {
	if j.ref.Role != "" {
		return w.Source
	}
	e := j.target.Input.Policy
	base := e.Project().Role(e.Project().Baseline)
	if base == nil || !base.Enters(j.ref.Mode) {
		return w.Source
	}
	s, err := e.Subject(ir.SubjectRef{Role: base.Name, Mode: j.ref.Mode})
	if err != nil {
		return w.Source
	}
	r := s.Decide(w.Action)
	if r.Decision > d {
		return w.Source
	}
	r.Decision = d
	return r
}

// byItself puts what the agent does by itself into the place of a source that leaves an
// action to it. It returns the verdict, of the halves that the agent decides by itself. What
// somebody's own entry permits there, and modec's do not, fills the silence and is no defect.
func (j *job) byItself(w *Witness, v contract.Verdict) contract.Verdict {
	var alone contract.Verdict
	if j.alone != nil {
		alone = whole(j.alone.Decide(j.ref, w.Action))
	}
	w.Source.Decision = alone.Decision
	w.Source.Rule = leftToAgent + cmp.Or(alone.Rule, "there is none")
	if whole(v).Decision <= alone.Decision {
		if b := v.Bare; b != nil && b.Decision > alone.Decision { // by a rule, and only the hook asks
			if r := j.ownRule(ir.Allow, b.Rule); r != nil {
				w.Source = byRule(r, b.Decision)
			}
		}
		return v
	}
	if r := j.ownRule(ir.Allow, v.Rule); r != nil {
		w.Source = byRule(r, whole(v).Decision)
		return v
	}
	if w.Group == ir.Command && j.eachAllowed(j.ref, w.Arg) {
		w.Source.Decision, w.Source.Rule = whole(v).Decision, "each command of the line is allowed"
		return v
	}
	if j.compiled == nil {
		if w.Group == ir.Command && w.usual == nil { // no file tells what is left of a line from what is allowed
			w.Source.Decision, w.Source.Rule = whole(v).Decision, "the agent's files decide the rest of the line"
		}
		return v
	}
	compiled := j.compiled.Decide(j.ref, w.Action)
	if whole(compiled).Decision > alone.Decision {
		if v.Hole == nil && compiled.Hole != nil && compiled.Decision <= alone.Decision {
			return compiled // what somebody's own entry permits, the agent does without it
		}
		return v
	}
	h := approval
	if alone.Decision == ir.Deny {
		h = access
	}
	j.out.Counts.Filled++
	j.example(&j.out.Filled, j.finding(w, h, v.Answer))
	compiled.Governs &= v.Governs
	return compiled
}

// byKeptRule puts a role's rule for this agent alone into the place of a source that permits more, or
// is silent, where somebody took that rule out of the artifact: what the compiled one refuses or asks
// by it, the source refuses or asks.
func (j *job) byKeptRule(w *Witness, v, compiled contract.Verdict) {
	compiled = whole(compiled)
	more := w.Source.Decision == ir.Agent || w.Source.Decision > compiled.Decision
	if !more || whole(v).Decision <= compiled.Decision {
		return
	}
	if r := j.ownRule(compiled.Decision, compiled.Rule); r != nil {
		w.Source = byRule(r, compiled.Decision)
	}
}

// widened returns a verdict in which a hole that the compiled artifact does not have counts as permitted:
// somebody's entry opened it, such as a server's tool in another spelling. One that is there anyway stays one:
// whether a person is asked there, such as about a tool that the agent only hides, no source decides. Of a line an
// entry decides that, unless all it does is to choose a stricter mode.
func widened(w *Witness, v, compiled contract.Verdict) contract.Verdict {
	opened := func(h, was *contract.Hole, decided ir.Decision) bool {
		same := h != nil && was != nil && was.Why == h.Why && w.Group != ir.Command
		return h != nil && !same && !h.Stricter && w.Source.Decision != ir.Agent &&
			h.Decision > max(w.Source.Decision, decided)
	}
	by := func(a contract.Answer, h *contract.Hole) string {
		if a.Rule == "" {
			return h.Why
		}
		return a.Rule + ", since " + h.Why
	}
	before := whole(compiled)
	if opened(v.Hole, compiled.Hole, before.Decision) {
		v.Decision, v.Rule, v.Hole = max(v.Decision, v.Hole.Decision), by(v.Answer, v.Hole), nil
	}
	if v.Bare != nil && before.Bare != nil && opened(v.BareHole, compiled.BareHole, before.Bare.Decision) {
		b := *v.Bare
		b.Decision, b.Rule = max(b.Decision, v.BareHole.Decision), by(b, v.BareHole)
		v.Bare, v.BareHole = &b, nil
	}
	return v
}

// byRule returns what a source decides by a rule for one agent alone.
func byRule(r *ir.NativeRule, d ir.Decision) policy.Result {
	return policy.Result{Decision: d, Rule: "a rule for " + r.Target + " alone: " + r.Text, Pos: r.Pos}
}

// ownRule returns the role's rule for this agent alone by which an artifact decides something, nil
// where it is no such rule. In a group that is left to the agent such a rule means what the agent
// means by it. A mode by itself works in a session of the baseline, and that may start as an agent that is a mode.
func (j *job) ownRule(d ir.Decision, rule string) *ir.NativeRule { return j.ownRuleOf(j.ref, d, rule) }

// ownRuleOf returns that of another subject.
func (j *job) ownRuleOf(ref ir.SubjectRef, d ir.Decision, rule string) *ir.NativeRule {
	p := j.target.Input.Project
	ref.Role = cmp.Or(ref.Role, p.Baseline)
	if s, ok := j.target.Target.(contract.Starter); ok && ref.Mode == "" && ref.Role == p.Baseline {
		ref.Mode = s.Starts()
	}
	own := p.Native(ref)
	agent := j.target.Target.Name()
	if s, ok := j.target.Target.(contract.Sharer); ok {
		agent = s.Shares()
	}
	i := slices.IndexFunc(own, func(n ir.NativeRule) bool {
		return n.Decision == d && n.Text == rule && n.Target == agent
	})
	if i < 0 {
		return nil
	}
	return &own[i]
}

// native makes a hole of what an agent permits of a line that is not plain, as far as it would
// be permitted of a plain one: how the agent reads such a line is its own matter.
func native(v contract.Verdict, source *policy.Result) contract.Verdict {
	if !source.Odd {
		return v
	}
	const why = "the agent reads a line that is not plain by itself, and no list of the source allows one"
	odd := func(a *contract.Answer, hole **contract.Hole) {
		if a.Decision > source.Decision && a.Decision <= source.Read {
			*hole = &contract.Hole{Decision: a.Decision, Why: why}
			a.Decision = source.Decision
		}
	}
	odd(&v.Answer, &v.Hole)
	if v.Bare != nil {
		b := *v.Bare
		odd(&b, &v.BareHole)
		v.Bare = &b
	}
	return v
}

// whole returns a verdict with its holes in its answers.
func whole(v contract.Verdict) contract.Verdict { return merged(v, ir.Allow) }

// merged returns a verdict with those holes in its answers that permit no more than limit:
// what the source permits, or the agent by itself.
func merged(v contract.Verdict, limit ir.Decision) contract.Verdict {
	if h := v.Hole; h != nil && h.Decision <= limit {
		v.Decision, v.Hole = max(v.Decision, h.Decision), nil
	}
	if h := v.BareHole; h != nil && h.Decision <= limit && v.Bare != nil {
		b := *v.Bare
		b.Decision = max(b.Decision, h.Decision)
		v.Bare, v.BareHole = &b, nil
	}
	return v
}

// judgeAnswer compares both halves of an answer and reports whether one is wider.
func (j *job) judgeAnswer(w *Witness, a contract.Answer) (wider bool) {
	if a.Governs&contract.Access != 0 && j.out.Access.add(w.Source.Decision > ir.Deny, a.Decision > ir.Deny) {
		j.wider(w, access, a, &j.out.Access)
		wider = true
	}
	if j.approves(w, a, &j.out.Approval) {
		j.wider(w, approval, a, &j.out.Approval)
		wider = true
	}
	if h, less := narrows(&w.Source, a); less && !wider {
		j.narrower(w, h, a)
	}
	return wider
}

// narrows reports in which half artifacts permit less than the source.
func narrows(source *policy.Result, a contract.Answer) (h half, less bool) {
	switch {
	case a.Governs&contract.Access != 0 && source.Decision > ir.Deny && a.Decision == ir.Deny:
		return access, true
	case a.Governs&contract.Approval != 0 && source.Decision == ir.Allow && a.Decision < ir.Allow:
		return approval, true
	}
	return half{}, false
}

// narrower counts what the artifacts permit less of.
func (j *job) narrower(w *Witness, h half, a contract.Answer) {
	j.out.Counts.Narrower++
	j.example(&j.out.Narrower, j.finding(w, h, a))
}

// judgeBare compares what the agent does without its hook. It reports whether the agent then
// approves silently and the source does not.
func (j *job) judgeBare(w *Witness, a contract.Answer, left bool) (silent bool) {
	if j.out.Bare == nil {
		j.out.Bare = &Tally{}
	}
	switch u := w.usual; {
	case u == nil:
		if j.compiled == nil || !opensBare(j.compiled.Decide(j.ref, w.Action), a) {
			if silent = a.Decision == ir.Allow && w.Source.Decision < ir.Allow; silent {
				j.hookOnly(w, bareApproval, a)
			}
			return silent
		}
	case left:
	case u.Decision == ir.Agent:
		return false
	default:
		of := *w
		of.Source = *u
		of.Source.Decision = contract.Decision(j.target.Target, u)
		w = &of
	}
	switch silent = j.approves(w, a, j.out.Bare); {
	case silent && j.roleAllows(w):
		j.out.Bare.Wider--
		j.out.Bare.HookOnly++
		j.hookOnly(w, bareApproval, a)
	case silent:
		j.wider(w, bareApproval, a, j.out.Bare)
	}
	return silent
}

// opens reports whether a verdict permits more than that of the compiled artifacts.
func opens(v, compiled contract.Verdict) bool {
	return v.Decision > compiled.Decision || whole(v).Decision > whole(compiled).Decision
}

// opensBare reports whether an agent without its hook permits more than by the compiled artifacts.
func opensBare(compiled contract.Verdict, a contract.Answer) bool {
	if compiled.Bare != nil {
		compiled.Answer = *compiled.Bare
	}
	return a.Decision > compiled.Decision
}

// hookOnly counts what only the hook refuses.
func (j *job) hookOnly(w *Witness, h half, a contract.Answer) {
	j.out.Counts.HookOnly++
	j.example(&j.out.HookOnly, j.finding(w, h, a))
}

// judgeHoles counts what the agent permits in spite of its artifacts.
func (j *job) judgeHoles(w *Witness, v contract.Verdict) {
	if h := v.Hole; h != nil && h.Decision > w.Source.Decision {
		j.hole(w, access, h, v.Answer)
		return
	}
	h := v.BareHole
	if h != nil && h.Decision == ir.Allow && w.Source.Decision < ir.Allow && v.Bare.Decision < ir.Allow {
		j.hole(w, bareApproval, h, *v.Bare)
	}
}

func (j *job) hole(w *Witness, h half, hole *contract.Hole, a contract.Answer) {
	j.out.Counts.Holes++
	f := j.finding(w, h, a)
	f.Artifact, f.By = hole.Decision, hole.Why
	j.example(&j.out.Holes, f)
}

// unusual counts what files do not hold back of a call that is not usual.
func (j *job) unusual(seen func(Seen), w *Witness, v contract.Verdict) {
	w.Source.Decision = contract.Decision(j.target.Target, &w.Source)
	j.show(seen, w, v)
	h := v.Hole
	if h == nil {
		h = &contract.Hole{Decision: v.Decision, Why: "only a hook holds a call that is not written as usual"}
	}
	if v.Governs != contract.Neither && w.Source.Decision < ir.Agent && h.Decision > w.Source.Decision {
		j.hole(w, access, h, v.Answer)
	}
}

// roleAllows reports whether a role may do by itself what it may not do in the mode. No
// format has rules for a mode inside a role's session: only the hook restricts it to the
// mode, and without the hook the role's own rules decide.
func (j *job) roleAllows(w *Witness) bool {
	if j.ref.Role == "" || j.ref.Mode == "" {
		return false
	}
	if j.role == nil {
		s, err := j.target.Input.Policy.OnText().Subject(ir.SubjectRef{Role: j.ref.Role})
		if err != nil {
			return false
		}
		j.role = s
	}
	r := j.role.Decide(w.Action)
	if r.Odd {
		r.Decision = r.Read
	}
	role := ir.SubjectRef{Role: j.ref.Role}
	d := contract.Decision(j.target.Target, &r)
	if d != ir.Agent {
		return d == ir.Allow || j.alike(j.role, w.Action, &r)
	}
	if j.alone != nil {
		d = whole(j.alone.Decide(role, w.Action)).Decision
	}
	return d == ir.Allow || j.alike(j.role, w.Action, &r) || j.allowsNatively(role, w.Action) ||
		w.Group == ir.Command && j.eachAllowed(role, w.Arg)
}

// assumed compares what does not exist if the inventory is complete. It is counted apart.
func (j *job) assumed(w *Witness, v contract.Verdict) {
	j.out.Counts.Assumed++
	var apart Tally
	switch {
	case v.Governs&contract.Access != 0 && apart.add(w.Source.Decision > ir.Deny, v.Decision > ir.Deny):
		j.example(&j.out.Assumed, j.finding(w, access, v.Answer))
	case j.approves(w, v.Answer, &apart):
		j.example(&j.out.Assumed, j.finding(w, approval, v.Answer))
	}
}

// approves compares the approval half and reports whether the artifact's is wider. Without
// the hook it is the only half that counts: a refusal may become a question there.
func (j *job) approves(w *Witness, a contract.Answer, t *Tally) bool {
	return a.Governs&contract.Approval != 0 && t.add(w.Source.Decision == ir.Allow, a.Decision == ir.Allow)
}

// wider adds a finding, or counts it as accepted where an exception covers it.
func (j *job) wider(w *Witness, h half, a contract.Answer, t *Tally) {
	f := j.finding(w, h, a)
	x := j.exception(w, a)
	if x == nil {
		f.Accept = j.acceptable(w)
		j.out.Findings = append(j.out.Findings, f)
		return
	}
	t.Wider--
	t.Accepted++
	f.Alone = !x.Partial && x.Group != ir.MCP && literal(x.Pattern) && w.Class != ofCell
	if x.Partial {
		j.out.Counts.Kept++
		f.By = `partial = "keep"`
	} else {
		j.out.Counts.Accepted++
		f.By, f.At = "until "+x.Until.Format("2006-01-02")+": "+x.Reason, x.Pos
	}
	j.example(&j.out.Accepted, f)
}

func (j *job) finding(w *Witness, h half, a contract.Answer) Finding {
	return Finding{
		Subject: j.ref.String(), Group: w.Group, Action: arg(w.Action), Class: w.Class,
		Half: h.name, Without: h.bare, Count: 1,
		Source: w.Source.Decision, Rule: w.Source.Rule, Pos: w.Source.Pos,
		Artifact: a.Decision, By: a.Rule, At: a.At, opened: w.opened,
	}
}

// example keeps the first finding of each subject, group, half and reason, and counts the
// others.
func (j *job) example(list *[]Finding, f Finding) {
	by := f.By
	if list == &j.out.HookOnly || list == &j.out.Assumed {
		by = "" // it does not matter which rule answers instead
	}
	same := func(g Finding) bool {
		reason := by == "" || g.At == f.At && (g.By == by || g.opened || f.opened) // an entry opens all holes at once
		return g.Group == f.Group && g.Half == f.Half && reason
	}
	i := slices.IndexFunc(*list, same)
	if i < 0 {
		*list = append(*list, f)
		return
	}
	kept := &(*list)[i]
	f.Count = kept.Count + 1
	if !kept.opened || f.opened { // what the entry itself permits says more than what it opens
		kept.Count = f.Count
		return
	}
	*kept = f
}

// utility counts whether the artifacts keep an allow or an ask of the source.
func (j *job) utility(w *Witness, a contract.Answer) {
	if j.ref.Mode != "" && j.ref.Role != "" {
		return
	}
	// Whether a person is asked in a session without a role is that session's matter.
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
	s.Utility.Allow.sum(o.Utility.Allow)
	s.Utility.Ask.sum(o.Utility.Ask)
	found := o.findings()
	for i, list := range s.findings() {
		at := len(*list)
		*list = append(*list, *found[i]...)
		*found[i] = (*list)[at:len(*list):len(*list)] // there are many
	}
	s.Counts.Accepted += o.Counts.Accepted
	s.Counts.Kept += o.Counts.Kept
	s.Counts.Narrower += o.Counts.Narrower
	s.Counts.Holes += o.Counts.Holes
	s.Counts.HookOnly += o.Counts.HookOnly
	s.Counts.Assumed += o.Counts.Assumed
	s.Counts.Filled += o.Counts.Filled
	if j.ref.Role == "" || j.ref.Mode == "" {
		for g := range j.left {
			s.Left[g] = append(s.Left[g], j.ref.String())
		}
	}
	s.sample(j)
	for g, held := range j.governs {
		s.Governed[g] |= held
		if held&contract.Access == 0 {
			s.Ungoverned = append(s.Ungoverned, "access of "+string(g))
		}
		if held&contract.Approval == 0 {
			s.Ungoverned = append(s.Ungoverned, "approval of "+string(g))
		}
	}
}
