// Package verify compares the artifacts with the source: translation validation for
// permissions. [Run] enumerates what each subject may try ([Universe]), asks the policy of
// the source and each target's Decider, and reports where they differ.
//
// A decision has two halves: access (may it happen) and approval (without a question). Each
// half that the artifacts govern is compared by itself: equal, narrower (the artifact
// permits less) or wider. Wider is a defect, unless an exception of modec.toml accepts it.
// What the source leaves to the agent is compared with what the agent does by itself, without
// any artifact.
//
// Artifacts with a hook are compared a second time without it. Where they then approve
// silently and the source does not, that is wider too. Where a refusal becomes a question,
// only the hook refuses, and the report says so.
package verify

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Request says what to verify.
type Request struct {
	Policy  *policy.Engine // the source; each target is compared with its view of it
	Targets []Target
	Seed    uint64 // for the random part of the universe
	// Universes are those of an earlier Run with the same policy and seed, for the targets
	// that emit all of the source; nil: Run makes them.
	Universes *Universes
	// Subjects limits the verification; nil: every mode, every role, and every role in
	// each mode that it may enter.
	Subjects []ir.SubjectRef
	// Actions are compared in place of what the rules tell apart; nil: that.
	Actions []policy.Action
	// UntilWider stops at the first decision that is wider.
	UntilWider bool
	// Progress is called after each subject of a surface, from several goroutines but
	// never at once; nil: not called.
	Progress func(Step)
	// Seen is called with each pair of decisions that is compared, from several goroutines at
	// once; nil: not called.
	Seen func(Seen)

	source *policy.Engine // of a request for one view: that of all of them; nil: Policy
}

// Seen is what the source decides about an action and what an agent does with it.
type Seen struct {
	Target, Surface string
	Subject         ir.SubjectRef // as the target names it
	Group           ir.Group
	Arg             string      // of the action, as explain takes it
	Plain           bool        // the action is written as people write it
	Source          ir.Decision // for the target's agent
	Verdict         contract.Verdict
}

// Step is how far a verification is.
type Step struct {
	Done, Total int
	Surface     string // that was compared last: "claude", "cursor cli"
	Subject     ir.SubjectRef
}

// Target is one target and its artifacts.
type Target struct {
	Target contract.Judged
	Input  contract.Input // its options and exceptions
	Files  fs.FS          // the root that the agent would see
	// Compiled are the artifacts of the source where Files are others. A half that they
	// govern and Files do not counts as permitted. nil: Files are the artifacts.
	Compiled fs.FS
	// Kept are the groups, by subject, that the compiled artifacts have although they cannot say all of them.
	Kept map[Kept]bool
}

// Kept is a group of a subject ("mode code").
type Kept struct {
	Subject string
	Group   ir.Group
}

// hooked reports whether the agent asks modec's hook about every call.
func (t *Target) hooked() bool {
	_, has := t.Target.(contract.Hooker)
	return has && t.Input.Hooked()
}

// Report is the result of a verification.
type Report struct {
	Seed      uint64 `json:"seed"`
	Decisions int    `json:"decisions"` // distinct: a subject, an action, a surface
	// InTimes counts those that were compared once more, with every time of the policy open.
	InTimes  int       `json:"inTimes,omitempty"`
	Surfaces []Surface `json:"surfaces"`
	// Elsewhere is what the targets do not emit: they are not compared on it.
	Elsewhere []contract.Elsewhere `json:"elsewhere"`
	// Diagnostics are what the targets' readers report about the artifacts.
	Diagnostics diag.List `json:"diagnostics"`
	// Unchanged is set by a caller that compared nothing: nothing changed since a verification that found nothing.
	Unchanged bool `json:"-"`
}

// Wider returns how many decisions are wider than the source.
func (r *Report) Wider() int {
	n := 0
	for i := range r.Surfaces {
		n += len(r.Surfaces[i].Findings)
	}
	return n
}

// Halves returns how many halves of decisions were compared. A report without any proves
// nothing.
func (r *Report) Halves() int {
	n := 0
	for i := range r.Surfaces {
		s := &r.Surfaces[i]
		n += s.Access.Compared + s.Approval.Compared
	}
	return n
}

// Surface is the result for one surface of an agent.
type Surface struct {
	Target   string `json:"target"`
	Surface  string `json:"surface,omitempty"`
	Subjects int    `json:"subjects"` // how many it has
	Compared int    `json:"compared"` // distinct decisions
	Access   Tally  `json:"access"`
	Approval Tally  `json:"approval"`
	// Bare is approval where the agent does not run its hook; nil where the artifacts
	// have no hook.
	Bare *Tally `json:"approvalWithoutHook,omitempty"`
	// Utility counts which of the source's allows and asks the artifacts keep.
	Utility Utility `json:"utility"`

	Findings []Finding `json:"wider"`    // each is a defect
	Accepted []Finding `json:"accepted"` // wider, by an exception; one for each exception and group
	// Narrower are those of which the artifacts permit less; one for each subject, group and rule.
	Narrower []Finding `json:"narrower"`
	Holes    []Finding `json:"holes"`    // one for each reason and subject
	HookOnly []Finding `json:"hookOnly"` // refused by the hook alone; one for each subject and group
	// Assumed are wider on what does not exist if the inventory is complete; one for each
	// subject and class.
	Assumed []Finding `json:"assumed"`
	// Filled are left to the agent by the source and permitted by somebody's own entry in
	// the files; one for each subject, group and entry.
	Filled []Finding `json:"filled"`

	Counts Counts `json:"counts"`

	Assumes    []string `json:"assumes"`    // what its verdicts depend on
	Ungoverned []string `json:"ungoverned"` // halves that nothing governs: "approval of edit"
	// Left are the subjects that leave something of a group to the agent.
	Left map[ir.Group][]string `json:"left"`

	// Exact are the groups in which every plain argument of every mode and role was verified: one
	// that is written as everybody reads it. Other ways to write it are sampled. A group of which the
	// artifacts govern nothing is not among them.
	Exact []ir.Group `json:"exact"`
	// Sampled says of the other groups why some arguments stand for all.
	Sampled []Sampled `json:"sampled"`
	// Governed are the halves of each group that the artifacts govern of some subject, so that they were compared.
	Governed map[ir.Group]contract.Halves `json:"-"`
}

// Sampled is why a group, or a part of one, was not verified exactly.
type Sampled struct {
	Group    ir.Group `json:"group,omitempty"` // none where the part is of all groups
	Part     string   `json:"part,omitempty"`  // what of it; all where it is empty
	Why      string   `json:"why"`
	Subjects []string `json:"subjects"` // of which it was not; empty for all
	// Edited are those of them of which it would be, were the artifacts as they were compiled.
	Edited []string `json:"edited,omitempty"`
}

// The parts that are sampled by construction.
var (
	knownPrograms = Sampled{Group: ir.Command, Part: "lines of programs that modec or an agent knows",
		Why:      "what their options and arguments mean is decided by code, and not by patterns alone",
		Subjects: []string{}}
	otherServers = Sampled{Group: ir.MCP, Part: "servers that the inventory does not list",
		Why: "one name stands for all of them", Subjects: []string{}}
	unlistedTools = Sampled{Group: ir.MCP, Part: "tools that the inventory does not list",
		Why: "one name stands for all of them", Subjects: []string{}}
	rolesInModes = Sampled{Part: "roles in modes",
		Why:      fmt.Sprintf("more than %d are compared on what the role and the mode tell apart", mostPairs),
		Subjects: []string{}}
)

// Counts are how many findings there are of those that the lists have examples of.
type Counts struct {
	Accepted int `json:"accepted"`
	Kept     int `json:"kept"` // wider in a group that partial = "keep" keeps; among the findings of Accepted
	Narrower int `json:"narrower"`
	Holes    int `json:"holes"`
	HookOnly int `json:"hookOnly"`
	Assumed  int `json:"assumed"` // compared, on what does not exist if the inventory is complete
	Filled   int `json:"filled"`
}

// Tally counts compared halves.
type Tally struct {
	Compared int `json:"compared"`
	Equal    int `json:"equal"`
	Narrower int `json:"narrower"`
	Wider    int `json:"wider"`
	Accepted int `json:"accepted"` // wider, by an exception or in a group that is kept
	// HookOnly counts what a role may do without a question but not in a mode: without
	// the hook the role's rules decide.
	HookOnly int `json:"hookOnly"`
}

// add counts a half and reports whether the artifact's is wider.
func (t *Tally) add(source, artifact bool) (wider bool) {
	t.Compared++
	switch {
	case source == artifact:
		t.Equal++
	case source:
		t.Narrower++
	default:
		t.Wider++
		return true
	}
	return false
}

func (t *Tally) sum(o Tally) {
	t.Compared += o.Compared
	t.Equal += o.Equal
	t.Narrower += o.Narrower
	t.Wider += o.Wider
	t.Accepted += o.Accepted
	t.HookOnly += o.HookOnly
}

// Utility counts the source's allows and asks, and those of them that the artifacts keep: an
// allow that is still allowed (or still possible, where approval is not governed), an ask
// that is not refused. It is about modes and roles, not their pairs, about what is written as
// people write it, and not about what does not exist.
type Utility struct {
	Allow Share `json:"allow"`
	Ask   Share `json:"ask"`
}

// Share is a part of a whole.
type Share struct {
	Kept int `json:"kept"`
	Of   int `json:"of"`
}

func (s *Share) sum(o Share) {
	s.Kept += o.Kept
	s.Of += o.Of
}

// Percent returns the share, 100 for an empty whole.
func (s Share) Percent() float64 {
	if s.Of == 0 {
		return 100
	}
	return 100 * float64(s.Kept) / float64(s.Of)
}

// Finding is one decision that differs.
type Finding struct {
	// Foreign is set by a caller that reads the disk, where the artifact's file is not as
	// the source makes it: somebody's own entry, an edit, a stale build.
	Foreign bool `json:"foreign,omitempty"`
	// Stale is set by it where a build wrote that file from another source: the next one mends it.
	Stale bool `json:"-"`
	// Unloaded is set by it where an agent loads nothing of a file, which a diagnostic says: that is why.
	Unloaded bool     `json:"-"`
	Subject  string   `json:"subject"`
	Group    ir.Group `json:"group"`
	Action   string   `json:"action"` // as explain takes it: a path, a line, server:tool
	Class    string   `json:"class"`  // how the action was made
	Half     string   `json:"half"`   // access or approval
	Without  bool     `json:"withoutHook,omitempty"`
	// Alone is set where an exception accepts this action and no other, and what else the artifact's rule permits was
	// sampled.
	Alone    bool        `json:"alone,omitempty"`
	Source   ir.Decision `json:"source"`
	Artifact ir.Decision `json:"artifact"`
	Rule     string      `json:"rule"` // the source's
	Pos      diag.Pos    `json:"pos"`
	By       string      `json:"by"` // the artifact's rule, an exception's or a hole's reason
	At       diag.Pos    `json:"at"` // its place
	// Count is how many decisions this one is the example of.
	Count int `json:"count"`
	// Accept is the pattern of somebody's own entry that permits the action, in the words of an exception; empty
	// where there is none.
	Accept string `json:"accept,omitempty"`

	opened bool // see Witness
}

// kinds are the lists of findings that are no defects.
func kinds(s *Surface) []*[]Finding {
	return []*[]Finding{&s.Accepted, &s.Narrower, &s.Holes, &s.HookOnly, &s.Assumed, &s.Filled}
}

// findings returns these lists, and the one of what is wider.
func (s *Surface) findings() []*[]Finding { return append(kinds(s), &s.Findings) }

// leftToAgent begins the rule of what the source leaves to the agent.
const leftToAgent = "left to the agent: "

// Left reports whether the source leaves the action to the agent: it decides what the agent does by itself.
func (f *Finding) Left() bool { return strings.HasPrefix(f.Rule, leftToAgent) }

// Run verifies. It fails where the source does not compile or the context ends; then it also
// returns a report of what was compared until then. What it finds in the artifacts is in the
// report.
//
// A source in which allows have times is compared twice: with every time closed, which is what the report counts,
// and open, of which it has what is wider.
func Run(ctx context.Context, req Request) (*Report, error) {
	whole, err := runOnce(ctx, req)
	if err != nil || !req.Policy.Timed() || req.UntilWider && whole.Wider() > 0 {
		return whole, err
	}
	again := req
	again.Policy, again.Universes = req.Policy.Opened(), nil
	again.Targets = slices.Clone(req.Targets)
	for i := range again.Targets {
		t := &again.Targets[i]
		if t.Files = contract.InTimes(t.Files); t.Compiled != nil {
			t.Compiled = contract.InTimes(t.Compiled)
		}
	}
	if len(req.Policy.Project().Gateways) == 0 { // else a gateway offers what it opens to others too
		again.Subjects = timed(req.Policy.Project(), req.Subjects)
	}
	open, err := runOnce(ctx, again)
	if open != nil {
		whole.InTimes = open.Decisions
		whole.widerIn(open)
	}
	return whole, err
}

// timed returns those of some subjects, nil for all, of which an allow has times.
func timed(p *ir.Project, all []ir.SubjectRef) []ir.SubjectRef {
	if all == nil {
		all = subjects(p)
	}
	has := map[ir.SubjectRef]bool{}
	p.EachCan(func(ref ir.SubjectRef, _ string, can *ir.Can) { has[ref] = has[ref] || len(can.Timed()) > 0 })
	return slices.DeleteFunc(slices.Clone(all), func(ref ir.SubjectRef) bool {
		return !has[ir.SubjectRef{Role: ref.Role}] && !has[ir.SubjectRef{Mode: ref.Mode}]
	})
}

// widerIn adds what another report of the same targets has that is wider.
func (r *Report) widerIn(o *Report) {
	for i := range o.Surfaces {
		x := &o.Surfaces[i]
		if len(x.Findings) == 0 {
			continue
		}
		for j := range r.Surfaces {
			if s := &r.Surfaces[j]; s.Target == x.Target && s.Surface == x.Surface {
				s.Findings = append(s.Findings, x.Findings...)
				s.Access.Wider += x.Access.Wider
				s.Approval.Wider += x.Approval.Wider
			}
		}
	}
}

func runOnce(ctx context.Context, req Request) (*Report, error) {
	whole := &Report{Seed: req.Seed, Elsewhere: []contract.Elsewhere{}}
	for i := range req.Targets {
		if e, some := contract.NotEmitted(req.Targets[i].Target, req.Policy.Project()); some {
			whole.Elsewhere = append(whole.Elsewhere, e)
		}
	}
	for _, view := range req.views() {
		part, err := runView(ctx, view)
		if part == nil {
			return nil, err
		}
		whole.Decisions += part.Decisions
		whole.Surfaces = append(whole.Surfaces, part.Surfaces...)
		whole.Diagnostics = append(whole.Diagnostics, part.Diagnostics...)
		if err != nil {
			return whole, err
		}
		if req.UntilWider && part.Wider() > 0 {
			break
		}
	}
	place := func(s *Surface) int {
		return slices.IndexFunc(req.Targets, func(t Target) bool { return t.Target.Name() == s.Target })
	}
	slices.SortStableFunc(whole.Surfaces, func(a, b Surface) int { return cmp.Compare(place(&a), place(&b)) })
	whole.Diagnostics.Sort()
	return whole, nil
}

// views returns a request for each view of the source that targets have: with the targets that
// have it, and with its names for the subjects.
func (req *Request) views() (out []Request) {
	for _, t := range req.Targets {
		view := contract.ServersView(t.Target, req.Policy)
		if !t.hooked() {
			view = view.OnText()
		}
		i := slices.IndexFunc(out, func(r Request) bool { return r.Policy == view })
		if i < 0 {
			r := *req
			r.Policy, r.Targets, r.Subjects, r.source = view, nil, nil, req.Policy
			for _, ref := range req.Subjects {
				if ref, ok := contract.InView(t.Target, req.Policy.Project(), ref); ok {
					r.Subjects = append(r.Subjects, ref)
				}
			}
			if req.Subjects != nil && r.Subjects == nil {
				r.Subjects = []ir.SubjectRef{}
			}
			if req.Universes != nil && view != req.Policy {
				r.Universes = &Universes{}
			}
			i, out = len(out), append(out, r)
		}
		out[i].Targets = append(out[i].Targets, t)
	}
	return out
}

// runView verifies the targets that have one view of the source.
func runView(ctx context.Context, req Request) (*Report, error) {
	report := &Report{Seed: req.Seed}
	refs := req.Subjects
	if refs == nil {
		refs = subjects(req.Policy.Project())
	}
	universes := cmp.Or(req.Universes, &Universes{})
	if err := universes.prepare(req.Policy); err != nil {
		return nil, err
	}
	jobs, more := report.open(&req, refs)
	w := worker{req: req, universes: universes, more: more}
	err := run(ctx, w, jobs)
	if err == nil {
		lost := report.forgotten(req, refs, jobs)
		jobs, err = append(jobs, lost...), run(ctx, w, lost)
	}
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	p := req.Policy.Project()
	growing := slices.ContainsFunc(p.Servers, func(sv ir.Server) bool { return !p.ListsTools(&sv) })
	parts := make([][]Sampled, len(report.Surfaces)) // those of one surface alone
	report.reserve(jobs)
	for _, j := range jobs {
		j.into(&report.Surfaces[j.surface])
		switch {
		case j.halves != nil && universes.plan.pairStates() == 0:
			parts[j.surface] = []Sampled{rolesInModes}
		case personal(j.decider) && growing:
			parts[j.surface] = []Sampled{unlistedTools}
		}
	}
	for i := range report.Surfaces {
		s := &report.Surfaces[i]
		report.Decisions += s.Compared
		s.finish(p, parts[i])
	}
	report.Diagnostics.Sort()
	return report, err
}

// reserve makes room for what the jobs found.
func (r *Report) reserve(jobs []*job) {
	room := make([][]int, len(r.Surfaces))
	for i := range r.Surfaces {
		room[i] = make([]int, len(kinds(&r.Surfaces[i])))
	}
	for _, j := range jobs {
		for i, list := range kinds(&j.out) {
			room[j.surface][i] += len(*list)
		}
	}
	for i := range r.Surfaces {
		for k, list := range kinds(&r.Surfaces[i]) {
			*list = slices.Grow(*list, room[i][k])
		}
	}
}

// open reads the artifacts and returns a job for each subject on each surface.
func (r *Report) open(req *Request, refs []ir.SubjectRef) (jobs []*job, more *patterns) {
	more = newPatterns(servers(req.Policy.Project()))
	opened := make([]opened, len(req.Targets))
	var wg sync.WaitGroup
	for i := range req.Targets {
		wg.Go(func() { opened[i] = req.Targets[i].open(req) })
	}
	wg.Wait()
	for i := range opened {
		t, o := &req.Targets[i], &opened[i]
		r.Diagnostics = append(r.Diagnostics, o.diags...)
		for _, d := range o.deciders {
			more.add(d)
			if t.Compiled != nil {
				more.add(contract.OnSurface(o.compiled, d.Surface())) // what somebody took out
			}
			of := job{target: t, decider: d, surface: r.surface(t, d),
				compiled: contract.OnSurface(o.compiled, d.Surface()), alone: contract.AloneOn(o.alone, d.Surface())}
			jobs = append(jobs, of.each(refs)...)
		}
	}
	return jobs, more
}

// opened are the deciders of a target, one for each surface: by its files, by the compiled ones where
// these are others, and by the agent itself.
type opened struct {
	deciders, compiled, alone []contract.Decider
	diags                     diag.List
}

// forgotten returns jobs for the roles that nothing of a target restricts, although its
// artifacts should: the agent decides by itself. Servers that are off by default are in no
// list that such a role starts with.
func (r *Report) forgotten(req Request, refs []ir.SubjectRef, jobs []*job) (lost []*job) {
	type subject struct {
		target *Target
		ref    ir.SubjectRef
	}
	held := map[subject]bool{}
	for _, j := range jobs {
		held[subject{j.target, j.ref}] = held[subject{j.target, j.ref}] || j.held
	}
	p := req.Policy.Project()
	servers := off(p)
	for i := range req.Targets {
		t := &req.Targets[i]
		if _, ok := t.Target.(contract.RoleHolder); !ok {
			continue
		}
		forgotten := slices.DeleteFunc(slices.Clone(refs), func(ref ir.SubjectRef) bool {
			return ref.Role == "" || ref.Mode != "" || held[subject{t, ref}]
		})
		if len(forgotten) == 0 {
			continue
		}
		for _, d := range t.Target.Alone(p) {
			at := r.surface(t, d)
			for _, ref := range forgotten {
				lost = append(lost, &job{target: t, decider: d, alone: d, surface: at, ref: ref, off: servers})
			}
		}
	}
	return lost
}

// off returns the servers of a project that are off by default.
func off(p *ir.Project) map[string]bool {
	out := map[string]bool{}
	for i := range p.Servers {
		out[p.Servers[i].Name] = !p.Servers[i].DefaultEnabled
	}
	return out
}

// surface returns the index of a surface in the report, which it adds where it is not there.
func (r *Report) surface(t *Target, d contract.Decider) int {
	at := slices.IndexFunc(r.Surfaces, func(s Surface) bool {
		return s.Target == t.Target.Name() && s.Surface == d.Surface()
	})
	if at >= 0 {
		return at
	}
	assumes := d.Assumes()
	if _, ok := t.Target.(contract.Below); ok {
		assumes = append(slices.Clone(assumes), "sessions start at the root of the project: the agent's files in "+
			"folders below it are not judged")
	}
	r.Surfaces = append(r.Surfaces, Surface{
		Target: t.Target.Name(), Surface: d.Surface(), Assumes: assumes, Left: map[ir.Group][]string{},
		Governed: map[ir.Group]contract.Halves{},
	})
	return len(r.Surfaces) - 1
}

// open opens the files. For a surface that only the compiled ones have there is a decider too.
func (t *Target) open(req *Request) (o opened) {
	p, source := req.Policy.Project(), cmp.Or(req.source, req.Policy)
	files, compiled := contract.NewReads(t.Files), contract.NewReads(t.Compiled)
	o.deciders, o.diags = t.Target.Open(files, t.Input.Options)
	o.deciders = Behind(t.Target, source, files, o.deciders)
	for i := range o.diags {
		o.diags[i].Target = cmp.Or(o.diags[i].Target, t.Target.Name())
	}
	o.alone = t.Target.Alone(p)
	if t.Compiled == nil {
		return o
	}
	o.compiled, _ = t.Target.Open(compiled, t.Input.Options)
	for _, of := range []*contract.Reads{files, compiled} {
		of.Note(contract.PolicyFile) // which hooks read when they are asked
	}
	if len(source.Project().Gateways[t.Target.Name()]) == 0 && maps.Equal(files.States(), compiled.States()) {
		o.compiled = nil // nobody changed what the agent reads
		return o
	}
	o.compiled = Behind(t.Target, source, compiled, o.compiled)
	for _, d := range o.compiled {
		if contract.OnSurface(o.deciders, d.Surface()) == nil {
			o.deciders = append(o.deciders, absent{d})
		}
	}
	return o
}
