package explain

import (
	"cmp"
	"context"
	"slices"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/compiler/verify"
)

// Explanation is a decision of the source, with what each agent makes of it.
type Explanation struct {
	Subject  string                 `json:"subject"`
	Action   string                 `json:"action"`
	Arg      string                 `json:"arg"`
	Decision ir.Decision            `json:"decision"`
	Rule     string                 `json:"rule" jsonschema:"the rule of the source that decided"`
	From     string                 `json:"from,omitempty" jsonschema:"where the rule was inherited from"`
	Pos      string                 `json:"pos" jsonschema:"where the rule is written: file:line:col"`
	Targets  map[string]ir.Decision `json:"targets" jsonschema:"the most that any surface of a target permits"`
	Verdicts []Verdict              `json:"verdicts"`
	AtTimes  *atTimes               `json:"atTimes,omitempty"`
	// Elsewhere are the targets that do not emit the subject, or what the action is about.
	Elsewhere []string `json:"elsewhere,omitempty" jsonschema:"the targets that do not emit the subject or the server"`

	Place diag.Pos `json:"-"` // where the rule is written
	Show  string   `json:"-"` // the arguments of `modec show` for the subject
}

// atTimes is what is decided at other times than builds decide at. Only hooks, the gateway and the server know them.
type atTimes struct {
	Decision ir.Decision `json:"decision" jsonschema:"within the times"`
	Rule     string      `json:"rule"`
	Pos      string      `json:"pos"`
	Times    string      `json:"times" jsonschema:"when: days, hours and their time zone"`
	Now      bool        `json:"now" jsonschema:"whether it is such a time"`
}

// Verdict is what one agent would do with its artifacts.
type Verdict struct {
	Target      string       `json:"target"`
	Surface     string       `json:"surface,omitempty" jsonschema:"which of the agent's surfaces, where it has several"`
	Decision    ir.Decision  `json:"decision" jsonschema:"what the agent does, past rules that ask too"`
	ByRules     *ir.Decision `json:"byRules,omitempty" jsonschema:"what its rules say, where it goes past them"`
	Governs     string       `json:"governs" jsonschema:"the governed halves: both, access, approval or neither"`
	ByItself    bool         `json:"byItself,omitempty" jsonschema:"left to the agent: what it does without artifacts"`
	Rule        string       `json:"rule" jsonschema:"the rule of the artifact"`
	Means       string       `json:"means,omitempty" jsonschema:"what the rule means, where its text does not say it"`
	At          string       `json:"at" jsonschema:"where it stands"`
	WithoutHook *ir.Decision `json:"withoutHook,omitempty" jsonschema:"the decision if the hook were gone"`
	Hole        string       `json:"hole,omitempty" jsonschema:"how the agent itself goes past its artifact"`
	Past        string       `json:"past,omitempty" jsonschema:"why a rule that seems to refuse it does not"`
	Kept        bool         `json:"kept,omitempty" jsonschema:"by a rule of the role for this agent alone"`
	Own         *own         `json:"own,omitempty" jsonschema:"what the source decides for this agent alone"`

	Place  diag.Pos `json:"-"` // where the rule stands
	Losses []string `json:"-"` // the codes of what the target cannot say of the group, where it permits less
}

// own is what the source decides for one agent alone.
type own struct {
	Decision ir.Decision `json:"decision"`
	Rule     string      `json:"rule"`
	Pos      string      `json:"pos"`
}

// Question is an action as somebody wrote it, and as the policy takes it.
type Question struct {
	Name, Arg string
	Action    policy.Action
}

// Action returns what decides an action, and what each agent makes of it. Where the context ends first, the
// diagnostics contain that.
func Action(
	ctx context.Context, res *compiler.Result, disk *contract.Disk, ref ir.SubjectRef, q Question,
) (x Explanation, diags diag.List, err error) {
	by := together(res, ref)
	s, err := by.Subject(ref)
	if err != nil {
		return x, nil, err
	}
	x = Explanation{Subject: ref.String(), Action: q.Name, Arg: secret.Text(q.Arg),
		Targets: map[string]ir.Decision{}}
	diags = untilStopped(ctx, func() {
		r := disk.Decide(s, q.Action, disk.Root)
		x.Place = r.Pos
		x.Decision, x.Rule, x.From, x.Pos = r.Decision, secret.Text(r.Explanation()), r.From, x.Place.String()
		x.AtTimes = timesOf(by, ref, r, func(s *policy.Subject) policy.Result {
			return disk.Decide(s, q.Action, disk.Root)
		})
		x.Verdicts, x.Elsewhere = Verdicts(disk, Models(res, disk), ref, q.Action, r)
	})
	x.Show = cmp.Or(ref.Role, ref.Mode)
	if ref.Role != "" && ref.Mode != "" {
		x.Show += " --mode " + ref.Mode
	}
	for i := range x.Verdicts {
		v := &x.Verdicts[i]
		source := x.Decision
		if v.Own != nil {
			source = v.Own.Decision
		}
		if source != ir.Agent && v.Decision < source {
			v.Losses = unsaid(res, v.Target, ref, q.Action.Group)
		}
	}
	for _, v := range x.Verdicts {
		x.Targets[v.Target] = max(x.Targets[v.Target], v.Decision)
	}
	return x, diags, nil
}

// together returns what decides on every target in use that has a subject, and what decides anywhere where that
// differs.
func together(res *compiler.Result, ref ir.SubjectRef) *policy.Engine {
	var all *policy.Engine
	for _, c := range res.Config.Targets {
		if _, emitted := contract.InView(c.Target, res.Project, ref); !emitted {
			continue
		}
		on := res.Policy.On(c.Target.Name())
		if all != nil && on != all {
			return res.Policy
		}
		all = on
	}
	return cmp.Or(all, res.Policy)
}

// unsaid returns the codes of what a target cannot say of a group of a subject.
func unsaid(res *compiler.Result, target string, of ir.SubjectRef, g ir.Group) (codes []string) {
	for _, o := range res.Outputs {
		if o.Target.Name() != target {
			continue
		}
		for _, d := range lossesOf(o.Losses, of) {
			if d.Loss == diag.Narrowing && d.Group == string(g) {
				codes = append(codes, string(d.Code))
			}
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// timesOf returns what is decided at some times in the place of a result; nil where that is the same.
func timesOf(
	by *policy.Engine, ref ir.SubjectRef, closed policy.Result, decide func(*policy.Subject) policy.Result,
) *atTimes {
	if !by.Timed() {
		return nil
	}
	at := func(e *policy.Engine) policy.Result {
		s, err := e.Subject(ref)
		if err != nil {
			return closed
		}
		return decide(s)
	}
	open := at(by.Opened())
	if open.Decision == closed.Decision {
		return nil
	}
	out := &atTimes{Decision: open.Decision, Rule: secret.Text(open.Explanation()), Pos: open.Pos.String(),
		Now: at(by.At(time.Now())).Decision == open.Decision}
	for _, can := range []*ir.Can{permissionsOf(by.Project(), ir.SubjectRef{Role: ref.Role}),
		permissionsOf(by.Project(), ir.SubjectRef{Mode: ref.Mode})} {
		for _, r := range can.Timed() {
			if r.Pos == open.Pos && out.Times == "" {
				out.Times = r.Times.String()
			}
		}
	}
	return out
}

// permissionsOf returns what a subject may do, nothing for none.
func permissionsOf(p *ir.Project, ref ir.SubjectRef) *ir.Can {
	if ref == (ir.SubjectRef{}) {
		return &ir.Can{}
	}
	return p.Can(ref)
}

// untilStopped runs what cannot be interrupted, such as a slow expression of an agent. It
// reports when the context ends; what runs then ends with the process.
func untilStopped(ctx context.Context, run func()) diag.List {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return compiler.Stopped(ctx)
}

// Model is a target with its model of its agent.
type Model struct {
	contract.Judged
	deciders, alone []contract.Decider
	placed          bool        // the deciders read paths at the disk
	project         *ir.Project // the target's view of the source
	source          *ir.Project
	on              *policy.Engine // of the source for this agent
}

// Models opens the model of each target's agent, with the hooks that the artifacts install.
func Models(res *compiler.Result, disk *contract.Disk) []Model {
	var out []Model
	files := res.FS()
	for _, o := range res.Outputs {
		j, ok := o.Target.(contract.Judged)
		if !ok {
			continue
		}
		in := res.Input(o.Target)
		x := Model{Judged: j, alone: j.Alone(in.Project), project: in.Project, source: res.Project,
			on: res.Policy.On(j.Name())}
		options := in.Options
		if p, ok := j.(contract.Placed); ok {
			x.placed = true
			x.deciders, _ = p.OpenAt(files, options, *disk)
		} else {
			x.deciders, _ = j.Open(files, options)
		}
		x.deciders = verify.Behind(j, res.Policy, files, x.deciders)
		out = append(out, x)
	}
	return out
}

// kept reports whether a rule of the subject for this agent alone decides.
func (j *Model) kept(of ir.SubjectRef, v contract.Verdict) bool {
	return slices.ContainsFunc(j.source.Native(of), func(n ir.NativeRule) bool {
		return n.Target == j.Name() && n.Text == v.Rule && n.Decision == v.Decision
	})
}

// decided returns what the source decides for the agent; own is nil where that is the same by the same rule.
func (j *Model) decided(disk *contract.Disk, ref ir.SubjectRef, a policy.Action, source policy.Result) (
	r policy.Result, alone *own) {
	s, err := j.on.Subject(ref)
	if err != nil {
		return source, nil
	}
	if r = disk.Decide(s, a, disk.Root); r.Decision == source.Decision && r.Pos == source.Pos {
		return source, nil
	}
	return r, &own{r.Decision, secret.Text(r.Explanation()), r.Pos.String()}
}

// Verdicts asks each agent's model. A surface that does not govern the subject has no verdict.
// elsewhere are the targets that do not emit the subject, or what the action is about.
func Verdicts(disk *contract.Disk, list []Model, of ir.SubjectRef, do policy.Action, source policy.Result) (
	out []Verdict, elsewhere []string) {
	for _, j := range list {
		ref, emitted := contract.InView(j, j.source, of)
		a, known := policy.ActionInView(j.source, j.Name(), do)
		if !emitted || !known {
			elsewhere = append(elsewhere, j.Name())
		}
		if !emitted {
			continue
		}
		source, own := j.decided(disk, of, do, source)
		written := a // as an artifact writes it
		if a.Group == ir.Read || a.Group == ir.Edit {
			written.Arg = disk.Written(a.Arg)
		}
		var alone []contract.Decider
		if contract.Decision(j, &source) == ir.Agent {
			alone = j.alone
		}
		asked := written
		if j.placed {
			asked = a
		}
		for _, d := range j.deciders {
			v := d.Decide(ref, asked)
			if p, ok := d.(contract.PersonDecider); ok && ref.Mode == "" {
				v = p.DecidePerson(j.project.Role(ref.Role).Claims, asked)
			}
			byItself := false
			if x := contract.AloneOn(alone, d.Surface()); x != nil && (v.Hole != nil || !j.kept(of, v)) {
				v, byItself = leftAlone(v, x.Decide(ref, written))
			}
			if v.Governs == contract.Neither && !byItself { // it does not have the subject
				continue
			}
			x := Verdict{Target: j.Name(), Surface: d.Surface(), Decision: v.Decision,
				Governs: halves[v.Governs], ByItself: byItself, Rule: secret.Text(v.Rule), At: v.At.String(),
				Place: v.At, Own: own}
			if x.Kept = !byItself && j.kept(of, v); x.Kept {
				x.Means = meaningOf(j.Judged, v)
			}
			if v.Bare != nil && v.Bare.Governs != contract.Neither {
				bare := v.BareHole.Past(v.Bare.Decision)
				x.WithoutHook = &bare
			}
			x.goesPast(v, source)
			out = append(out, x)
		}
	}
	return out, elsewhere
}

// goesPast says what goes past a verdict.
func (x *Verdict) goesPast(v contract.Verdict, source policy.Result) {
	switch {
	case v.Hole != nil && v.Hole.Decision > v.Decision:
		x.Hole = v.Hole.Why
		if v.Decision == ir.Ask { // nobody is asked; past a deny there is another way to the same
			x.ByRules, x.Decision = &v.Decision, v.Hole.Decision
		}
	case v.Hole != nil && x.ByItself:
		x.Past = secret.Text(v.Hole.Why)
	case source.Odd && v.Decision > source.Decision && v.Decision <= source.Read:
		x.Hole = "the agent reads by itself a line that is not plain; a hook holds it (hooks = \"enforce\")"
	}
}

// meaningOf says what the rule behind a verdict means where its text is not enough, else "".
func meaningOf(t contract.Target, v contract.Verdict) string {
	if w, ok := t.(contract.Worded); ok {
		return w.Means(v.Rule, v.Decision)
	}
	return ""
}

var halves = map[contract.Halves]string{
	contract.Neither: "neither", contract.Both: "both", contract.Access: "access", contract.Approval: "approval",
}

// leftAlone returns the verdict about an action that the source leaves to the agent, and
// whether the agent does what it does by itself. What it permits by itself is no hole there.
func leftAlone(v, alone contract.Verdict) (_ contract.Verdict, byItself bool) {
	if alone.Governs == contract.Neither {
		return v, false
	}
	does := alone.Answer
	if h := alone.Hole; h != nil && h.Decision > does.Decision {
		does.Decision, does.Rule = h.Decision, h.Why
	}
	if v.Governs != contract.Neither && v.Hole.Past(v.Decision) != does.Decision {
		return v, false
	}
	does.Governs, does.At = v.Governs, diag.Pos{}
	out := contract.Verdict{Answer: does, Bare: v.Bare}
	if v.Hole != nil && v.Decision < does.Decision && v.Rule != "" { // a rule seems to refuse it
		out.Hole = &contract.Hole{Decision: does.Decision, Why: v.Rule + " does not: " + v.Hole.Why}
	}
	return out, true
}
