package main

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/verify"
)

func outcomeOf(r *verify.Report) string {
	if n := r.Wider(); n > 0 {
		return count(n, "decision") + " wider than the source"
	}
	return "nothing is wider than the source"
}

// verify prints a report: for each surface what was compared, and what differs.
func (u *ui) verify(r *verify.Report) {
	for i := range r.Surfaces {
		u.surface(&r.Surfaces[i])
	}
}

func (u *ui) surface(s *verify.Surface) {
	name := s.Target
	if s.Surface != "" {
		name += " " + s.Surface
	}
	u.printf("%s: %s of %s\n", name, count(s.Compared, "decision"), count(s.Subjects, "subject"))
	u.tally("access", s.Access)
	u.tally("approval", s.Approval)
	if s.Bare != nil {
		u.tally("approval without the hook", *s.Bare)
	}
	if x := s.Utility; x.Allow.Of+x.Ask.Of > 0 {
		u.printf("  keeps %.1f %% of the allows and %.1f %% of the asks\n", x.Allow.Percent(), x.Ask.Percent())
	}
	if u.verbose { // the diagnostics hold the first of each surface
		for _, f := range s.Findings {
			u.printf("  wider: %s, %s%s\n", diag.Clean(f.Subject), compared(f), place(f.At))
		}
	}
	u.reasons("accepted", s.Accepted, byReason)
	u.reasons("hole", s.Holes, byReason)
	u.reasons("held by the hook only", s.HookOnly, byGroup)
	u.reasons("assumed not to exist", s.Assumed, byGroup)
	for _, a := range s.Assumes {
		u.printf("  assumed: %s\n", diag.Clean(a))
	}
	if len(s.Ungoverned) > 0 {
		u.printf("  held by nothing here: %s\n", strings.Join(s.Ungoverned, ", "))
	}
}

// compared writes an action and what both sides decide.
func compared(f verify.Finding) string {
	action := diag.Clean(fmt.Sprintf("%q", f.Action))
	return fmt.Sprintf("%s %s: %s by the source, %s here", f.Group, action, f.Source, f.Artifact)
}

func (u *ui) tally(half string, t verify.Tally) {
	if t.Compared == 0 {
		return
	}
	more := ""
	if t.Accepted > 0 {
		more = fmt.Sprintf(" %d accepted", t.Accepted)
	}
	if t.HookOnly > 0 {
		more += fmt.Sprintf(" %d by the hook only", t.HookOnly)
	}
	u.printf("  %-25s %7d compared %7d equal %6d narrower %4d wider%s\n",
		half, t.Compared, t.Equal, t.Narrower, t.Wider, more)
}

// byReason and byGroup are what findings are grouped by.
func byReason(f verify.Finding) string { return f.By }
func byGroup(f verify.Finding) string  { return string(f.Group) }

// reasons prints what is not a defect: one line for each reason, with an example. With
// -v it prints one for each subject and line.
func (u *ui) reasons(word string, list []verify.Finding, by func(verify.Finding) string) {
	type reason struct {
		first    verify.Finding
		count    int
		subjects []string
	}
	var order []string
	reasons := map[string]*reason{}
	for _, f := range list {
		key := by(f)
		if u.verbose {
			key += f.Subject + f.At.String()
		}
		r := reasons[key]
		if r == nil {
			r = &reason{first: f}
			reasons[key] = r
			order = append(order, key)
		}
		r.count += f.Count
		if !slices.Contains(r.subjects, f.Subject) {
			r.subjects = append(r.subjects, f.Subject)
		}
	}
	for _, key := range order {
		r := reasons[key]
		f := r.first
		of := f.Subject
		if len(r.subjects) > 1 {
			of = count(len(r.subjects), "subject")
		}
		u.printf("  %s: %s of %s, as %s\n", word, count(r.count, "decision"), diag.Clean(of), compared(f))
		if f.By != "" {
			u.printf("      %s%s\n", diag.Clean(f.By), place(f.At))
		}
	}
}
