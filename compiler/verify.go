package compiler

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/textdiff"
	"modec.dev/modec/compiler/verify"
)

// mostWider is how many wider decisions of a surface become diagnostics: they
// tend to come in hundreds by one cause.
const mostWider = 10

// Seed is the seed of a verification where nobody names one.
const Seed = 1

// Verification says how to verify.
type Verification struct {
	Seed uint64
	// Disk is what to verify; nil: the compiled files.
	Disk fs.FS
	// Built is the disk as a build leaves it; nil: as it is.
	Built fs.FS
	// Stale are the files of the disk that a build wrote from another source, and that nobody changed.
	Stale []string
	// Subjects limits the verification; nil: every mode, every role, and every role in each mode
	// that it may enter.
	Subjects []ir.SubjectRef
	Progress func(verify.Step)
	Seen     func(verify.Seen)
}

// Verify compares the compiled files with the source. It leaves out a target without a
// model of its agent. A wider decision is a diagnostic, an error.
func (r *Result) Verify(ctx context.Context, seed uint64, progress func(verify.Step)) (*verify.Report, diag.List) {
	return r.VerifyBy(ctx, Verification{Seed: seed, Progress: progress})
}

// VerifyBy compares files with the source: the compiled ones, or those of a disk with what people
// wrote beside modec's entries. There a wider decision by a file that differs from the compiled
// one is a foreign widening.
func (r *Result) VerifyBy(ctx context.Context, how Verification) (*verify.Report, diag.List) {
	var files, compiled fs.FS = r.FS(), nil
	list := "`modec verify -v` lists them"
	if how.Disk != nil {
		files, compiled = r.Over(how.Disk), files
		list = "`modec verify --disk -v` lists them, with --staged those of git's index"
	}
	report, diags := r.verify(ctx, files, compiled, how)
	if report == nil {
		return nil, diags
	}
	if how.Disk != nil {
		diags = append(diags, r.leavePrograms(report, how.Disk, how.Built)...)
		r.easeKnown(diags, how.Disk)
		r.tellForeign(report, how.Disk, how.Stale)
		tellUnloaded(report, diags)
		diags = append(diags, r.sampledByEdits(report, how.Disk)...)
	}
	diags = append(diags, acceptedAlone(report)...)
	return complete(ctx, report, append(diags, r.widerDiagnostics(report, list)...))
}

// easeKnown makes notes of the warnings about what was there before modec.
func (r *Result) easeKnown(diags diag.List, disk fs.FS) {
	lock, err := contract.ReadImport(disk, output.LockFile)
	if err != nil {
		return
	}
	known := output.KnownOf(lock)
	for i := range diags {
		known.Ease(&diags[i])
	}
}

// leavePrograms takes out of a report what something permits that was in its file when modec took the file over: a
// migration changes no decision, and names it. What a build holds in spite of it stays. Of what a program may permit of
// which nobody knows what it answers, it returns a warning, where no exception accepts the program.
func (r *Result) leavePrograms(report *verify.Report, disk, built fs.FS) (diags diag.List) {
	lock, _ := contract.ReadImport(disk, output.LockFile) // without one nothing is adopted
	adopted, places := output.AdoptedPrograms(lock), map[diag.Pos]*contract.Program{}
	for _, o := range r.Outputs {
		if t, ok := o.Target.(contract.Answered); ok {
			for _, p := range t.Programs(disk) {
				if was := adopted(p.At.File, p.Sum); p.Judged && (was || p.Unknown) {
					p.Unknown = p.Unknown && !was
					places[p.At] = &p
				}
			}
		}
	}
	accepts := func(target string, p *contract.Program, subject string) bool {
		return slices.ContainsFunc(r.Outputs, func(o contract.Artifacts) bool {
			return o.Target.Name() == target && slices.ContainsFunc(r.Input(o.Target).Exceptions,
				func(x contract.Exception) bool { return p.Accepts(&x, subject) })
		})
	}
	permits := func(*verify.Surface, *verify.Finding) bool { return true }
	if built != nil && len(places) > 0 {
		permits = r.permits(r.Over(built))
	}
	for i := range report.Surfaces {
		s := &report.Surfaces[i]
		s.Findings = slices.DeleteFunc(s.Findings, func(f verify.Finding) bool {
			p := places[f.At]
			if p != nil && !permits(s, &f) {
				return false
			}
			if p != nil && p.Unknown && !accepts(s.Target, p, f.Subject) {
				p.MayAllow(&diags, s.Target, f.Subject, "%s %q of %s, for which the source says %s: %s",
					f.Group, f.Action, f.Subject, f.Source, f.Rule)
				p.Unknown = false // once
			}
			switch {
			case p == nil:
				return false
			case f.Half == "access":
				s.Access.Wider--
				s.Access.Accepted++
			default:
				s.Approval.Wider--
				s.Approval.Accepted++
			}
			return true
		})
	}
	return diags
}

// permits returns whether the agents permit by some files what was found that they permit.
func (r *Result) permits(files fs.FS) func(s *verify.Surface, f *verify.Finding) bool {
	type judge struct{ target, surface string }
	judges, refs := map[judge]contract.Decider{}, map[string]ir.SubjectRef{}
	for _, o := range r.Outputs {
		t, ok := o.Target.(contract.Judged)
		if !ok {
			continue
		}
		deciders, _ := t.Open(files, r.Input(t).Options)
		for _, d := range deciders {
			judges[judge{t.Name(), d.Surface()}] = d
		}
	}
	add := func(ref ir.SubjectRef) { refs[ref.String()] = ref }
	for i := range r.Project.Roles {
		add(ir.SubjectRef{Role: r.Project.Roles[i].Name})
		for j := range r.Project.Modes {
			add(ir.SubjectRef{Role: r.Project.Roles[i].Name, Mode: r.Project.Modes[j].Slug})
		}
	}
	for i := range r.Project.Modes {
		add(ir.SubjectRef{Mode: r.Project.Modes[i].Slug})
	}
	return func(s *verify.Surface, f *verify.Finding) bool {
		d, a, err := judges[judge{s.Target, s.Surface}], policy.Action{}, error(nil)
		if a, err = policy.ParseAction(string(f.Group), f.Action); err != nil || d == nil {
			return true // of which nothing more is known
		}
		v := d.Decide(refs[f.Subject], a)
		return v.Hole.Past(v.Decision) >= f.Artifact
	}
}

// complete returns a report, or none where the context ended before all was compared: what was
// found until then is in the diagnostics.
func complete(ctx context.Context, report *verify.Report, diags diag.List) (*verify.Report, diag.List) {
	if stopped := Stopped(ctx); stopped != nil {
		return nil, append(diags, stopped...)
	}
	return report, diags
}

// tellForeign marks the findings on a disk by files that are not as they were compiled, and of agents
// that have such a file: what it lacks may be why another one permits more. A stale file is nobody's doing.
func (r *Result) tellForeign(report *verify.Report, disk fs.FS, stale []string) {
	foreign := map[string]bool{} // the compiled files
	for _, f := range r.Files() {
		data, err := fs.ReadFile(disk, f.Path)
		foreign[f.Path] = err != nil || !bytes.Equal(data, f.Data)
	}
	for _, f := range r.Sessions() {
		foreign[f.Path] = false
	}
	changed := map[string][]string{} // by target, what differs of its files and of the one that its hooks read
	for _, o := range r.Outputs {
		for _, f := range o.Files {
			if foreign[f.Path] {
				changed[o.Target.Name()] = append(changed[o.Target.Name()], f.Path)
			}
		}
	}
	isStale := func(file string) bool { return slices.Contains(stale, file) }
	for i := range report.Surfaces {
		for j := range report.Surfaces[i].Findings {
			f := &report.Surfaces[i].Findings[j]
			differs, compiled := foreign[f.At.File]
			by := changed[report.Surfaces[i].Target]
			if differs || !compiled && f.At.File != "" {
				by = []string{f.At.File}
			}
			f.Foreign = !compiled || len(by) > 0
			f.Stale = len(by) > 0 && !slices.ContainsFunc(by, func(file string) bool { return !isStale(file) })
		}
	}
	for _, o := range r.Outputs {
		for _, l := range contract.Displaced(o.Target, r.Input(o.Target).Project, disk, r.FS()) {
			tellDisplaced(report, o.Target.Name(), &l)
		}
	}
}

// tellUnloaded makes errors of the warnings about files of which an agent loads nothing, where that is why something is
// wider, and marks what is: one cause is one error.
func tellUnloaded(report *verify.Report, diags diag.List) {
	for i := range diags {
		d := &diags[i]
		if !d.Unloaded || d.Severity != diag.Warning {
			continue
		}
		var first *verify.Finding
		others := 0
		for j := range report.Surfaces {
			s := &report.Surfaces[j]
			for k := range s.Findings {
				f := &s.Findings[k]
				if s.Target != d.Target || !f.Foreign || f.Unloaded || !f.At.IsZero() && f.At.File != d.Pos.File {
					continue
				}
				if f.Unloaded = true; first == nil {
					first = f
				} else {
					others++
				}
			}
		}
		if first == nil {
			continue
		}
		d.Severity, d.Code, d.Subject = diag.Error, diag.ForeignWidening, first.Subject
		d.Message += fmt.Sprintf("; so nothing in the file holds: got %s for %s %q of %s (%s), want %s: %s",
			first.Artifact, first.Group, first.Action, first.Subject, first.Half, first.Source, first.Rule)
		if others > 0 {
			d.Message += fmt.Sprintf(", and %d more", others)
		}
		d.Hint = "mend what it names, and run it again"
	}
}

// tellDisplaced marks the findings of a target about a mode, another agent with the name of which somebody added: where
// a file of modec's is as it was compiled, that agent is why.
func tellDisplaced(report *verify.Report, target string, by *contract.Lodger) {
	mode := by.Subject().String()
	for i := range report.Surfaces {
		s := &report.Surfaces[i]
		for j := range s.Findings {
			f := &s.Findings[j]
			if s.Target == target && !f.Foreign && strings.HasSuffix(f.Subject, mode) {
				f.Foreign, f.At, f.By = true, by.At, "nothing: this file takes the place of modec's "+mode
			}
		}
	}
}

// acceptedAlone returns a warning for each exception that accepts one argument of what a rule permits, where the
// others were sampled.
func acceptedAlone(report *verify.Report) (diags diag.List) {
	said := map[diag.Pos]bool{}
	for i := range report.Surfaces {
		s := &report.Surfaces[i]
		for _, f := range s.Accepted {
			if !f.Alone || said[f.At] {
				continue
			}
			said[f.At] = true
			diags.Warnf(diag.ExceptionUsed, f.At, "the exception accepts %s %q of %s alone: what is like it was "+
				"sampled, and others may remain", f.Group, f.Action, f.Subject).
				Hint("name what it is about as a pattern, as the source would: `git push *`").
				Target(s.Target).
				Subject(f.Subject)
		}
	}
	return diags
}

// sampledByEdits returns an error for each reason why some arguments stand for all of a group of a subject that
// would be compared whole without what somebody wrote into the files. Exceptions accept it that are about the whole
// group.
func (r *Result) sampledByEdits(report *verify.Report, disk fs.FS) (diags diag.List) {
	for i := range report.Surfaces {
		s := &report.Surfaces[i]
		for _, x := range s.Sampled {
			var edits []diag.Pos
			var edited []string
			for _, o := range r.Outputs {
				if o.Target.Name() == s.Target && len(x.Edited) > 0 {
					edits, edited = editsOf(o, x.Group, disk), r.unaccepted(o.Target, x)
				}
			}
			if len(edited) == 0 {
				continue
			}
			of := edited[0]
			if n := len(edited) - 1; n > 0 {
				of += fmt.Sprintf(" and %d more", n)
			}
			var at diag.Pos
			if len(edits) > 0 {
				at = edits[0]
			}
			d := diags.Errorf(diag.ForeignWidening, at, "by what somebody changed it cannot be proved what %s may do "+
				"in the group %s: %s", of, x.Group, x.Why).
				Hint("take the rule out, or write into the source what it permits; some arguments were tried. " +
					"`modec verify --disk` prints the exceptions that accept it").
				Target(s.Target).
				Subject(edited[0]).
				Accepted(acceptingGroup(edited, x.Group)...)
			for _, more := range edits[min(1, len(edits)):] {
				d.Related(more, "or by this")
			}
		}
	}
	return diags
}

// inMode stands between the role and the mode in the name of a role in a mode.
const inMode = " in mode "

// unaccepted returns the subjects of which somebody's edit keeps a group from being compared whole, and of which no
// exception accepts all of it: a role in a mode has those of both.
func (r *Result) unaccepted(t contract.Target, x verify.Sampled) []string {
	in := r.Input(t)
	accepted := map[string]bool{}
	for i := range in.Exceptions {
		ref := in.Exceptions[i].Subject
		if by := in.ExceptsGroup(ref, x.Group); by != nil && !by.Partial {
			accepted[ref.String()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(x.Edited), func(subject string) bool {
		role, mode, pair := strings.Cut(subject, inMode)
		return accepted[role] || pair && accepted[(ir.SubjectRef{Mode: mode}).String()]
	})
}

// acceptingGroup returns what exceptions accept a group of some subjects. That of a role accepts it in its modes too.
func acceptingGroup(subjects []string, g ir.Group) (all []diag.Acceptance) {
	for _, subject := range subjects {
		subject, _, _ = strings.Cut(subject, inMode)
		if a := (diag.Acceptance{Subject: subject, What: string(g)}); !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all
}

// editsOf returns the first line of each file of a target about a group that is not as it was compiled, and those of
// one person.
func editsOf(o contract.Artifacts, g ir.Group, disk fs.FS) (edits []diag.Pos) {
	for _, f := range o.Files {
		data, err := fs.ReadFile(disk, f.Path)
		if err != nil || bytes.Equal(data, f.Data) || o.Target.Governs(f.Path, g) == contract.Neither {
			continue
		}
		at := diag.Pos{File: f.Path}
		for _, line := range textdiff.Lines(string(f.Data), string(data)) {
			if line.Op != textdiff.Same {
				at.Line, at.Col = max(line.New, line.Old), 1
			}
			if line.Op == textdiff.Insert {
				break
			}
		}
		edits = append(edits, at)
	}
	if lister, ok := o.Target.(contract.FileLister); ok {
		for _, f := range lister.AgentFiles() {
			compiled := func(c contract.File) bool { return c.Path == f.Path }
			if !f.Imported || f.Reason != contract.Private || slices.ContainsFunc(o.Files, compiled) {
				continue
			}
			if _, err := fs.Stat(disk, f.Path); err == nil {
				edits = append(edits, diag.Pos{File: f.Path, Line: 1, Col: 1})
			}
		}
	}
	return edits
}

// verify compares files with the source, and returns the diagnostics of the artifacts'
// readers.
func (r *Result) verify(
	ctx context.Context, fsys, compiled fs.FS, how Verification,
) (*verify.Report, diag.List) {
	req := verify.Request{Policy: r.Policy, Seed: how.Seed, Progress: how.Progress, Subjects: how.Subjects,
		Seen: how.Seen}
	for _, o := range r.Outputs {
		if j, ok := o.Target.(contract.Judged); ok {
			t := verify.Target{Target: j, Input: r.Input(o.Target), Files: fsys, Compiled: compiled,
				Kept: map[verify.Kept]bool{}}
			for _, d := range o.Losses {
				if d.Code == diag.Gap {
					t.Kept[verify.Kept{Subject: d.Subject, Group: ir.Group(d.Group)}] = true
				}
			}
			req.Targets = append(req.Targets, t)
		}
	}
	report, err := verify.Run(ctx, req)
	if report == nil {
		return nil, notVerified(ctx, err)
	}
	return report, slices.Clone(report.Diagnostics)
}

// widerDiagnostics returns the wider decisions as errors at the source's rule; list is the
// hint at a command that prints all of them.
func (r *Result) widerDiagnostics(report *verify.Report, list string) diag.List {
	var diags diag.List
	for i := range report.Surfaces {
		s := &report.Surfaces[i]
		told := slices.DeleteFunc(slices.Clone(s.Findings), func(f verify.Finding) bool { return f.Unloaded })
		for j, f := range told {
			if j == mostWider {
				diags.Errorf(diag.Wider, diag.Pos{}, "and %d more like these", len(told)-j).
					Hint(list).
					Target(s.Target)
				break
			}
			r.widerDiagnostic(&diags, s, f)
		}
	}
	return diags
}

// widerDiagnostic reports a finding: what the source decides, or where a foreign file is the
// cause, that file first.
func (r *Result) widerDiagnostic(diags *diag.List, s *verify.Surface, f verify.Finding) {
	code, hint := diag.Wider, "this is a defect of modec; please report it"
	switch {
	case f.Stale:
		code, hint = diag.ForeignWidening, "a build wrote what lies there from another source: run `modec build`"
	case f.Foreign && contract.IsPrivate(r.targets, f.At.File):
		code = diag.ForeignWidening
		hint = "take it out: it is your own, and the source permits nothing to one person alone"
	case f.Foreign:
		code = diag.ForeignWidening
		hint = "undo what somebody changed there, or say in the source what it permits " +
			"(`modec migrate` offers a patch); then `modec build`"
	}
	written := r.ownRule(s.Target, f)
	if written != nil {
		hint = "take the rule out of the source, or let `can` permit what it does; " +
			"an exception in modec.toml accepts it"
	}
	without := ""
	if f.Without {
		without = " without the hook"
	}
	permitted := diag.Related{Pos: f.At, Message: "permitted by " + f.By}
	at, others := f.Pos, []diag.Related{permitted}
	if !f.At.IsZero() && (f.Foreign || at.IsZero()) {
		at, others = f.At, []diag.Related{permitted, {Pos: f.Pos, Message: "decided by " + f.Rule}}
	}
	if written != nil {
		at = written.Pos
		others = []diag.Related{permitted, {Pos: f.Pos, Message: "decided by " + f.Rule}}
	}
	d := diags.Errorf(code, at, "got %s%s for %s %q of %s (%s), want %s: %s",
		f.Artifact, without, f.Group, f.Action, f.Subject, f.Half, f.Source, f.Rule).
		Target(s.Target).
		Subject(f.Subject).
		Loses(diag.Widening, string(f.Group)).
		Hint(hint)
	if !f.At.IsZero() {
		for _, r := range others {
			d.Related(r.Pos, r.Message)
		}
	}
}

// ownRule returns the rule of the source for one agent alone by which a finding's artifact permits; nil where it is no
// such rule.
func (r *Result) ownRule(target string, f verify.Finding) *ir.NativeRule {
	if f.Foreign {
		return nil
	}
	for _, o := range r.Outputs {
		if s, ok := o.Target.(contract.Sharer); ok && o.Target.Name() == target {
			target = s.Shares()
			break
		}
	}
	in := func(list []ir.NativeRule) *ir.NativeRule {
		i := slices.IndexFunc(list, func(n ir.NativeRule) bool {
			return n.Target == target && n.Text == f.By && n.Decision == f.Artifact
		})
		if i < 0 {
			return nil
		}
		return &list[i]
	}
	for i := range r.Project.Roles {
		role := &r.Project.Roles[i]
		if f.Subject == (ir.SubjectRef{Role: role.Name}).String() || role.Name == r.Project.Baseline {
			if n := in(role.Native); n != nil {
				return n
			}
		}
	}
	for i := range r.Project.Modes {
		m := &r.Project.Modes[i]
		if f.Subject == (ir.SubjectRef{Mode: m.Slug}).String() {
			return in(m.Native)
		}
	}
	return nil
}

// notVerified reports why verify returned no report.
func notVerified(ctx context.Context, err error) diag.List {
	if diags := Stopped(ctx); diags != nil {
		return diags
	}
	var diags diag.List
	diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
	return diags
}
