package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/verify"
)

// beside are the codes of warnings about what lies beside what modec wrote.
var beside = []diag.Code{diag.ForeignWidening, diag.ForeignSubject, diag.ForeignAgent, diag.ForeignFolder}

func OutcomeOf(r *verify.Report, diags diag.List) string {
	if n := r.Wider(); n > 0 {
		return Count(n, "decision") + " wider than the source"
	}
	wider, links, theirs := 0, 0, 0
	for i := range diags {
		switch d := &diags[i]; {
		case d.Severity == diag.Warning && slices.Contains(beside, d.Code):
			theirs++
		case d.Severity != diag.Error:
		case d.Code == diag.ForeignWidening:
			wider++
		case d.Code == diag.LinkOut:
			links++
		}
	}
	if wider > 0 {
		return "what modec wrote is not wider than the source, but what lies beside it is: " + Count(wider, "error")
	}
	if links > 0 {
		return "what " + Count(links, "link") + " out of the project permit is not known, and nothing else is wider " +
			"than the source"
	}
	if r.Halves() == 0 && !r.Unchanged {
		return "no artifact decides about a subject of the source, so that this proves nothing"
	}
	if theirs > 0 {
		return "nothing that modec wrote is wider than the source, which does not hold what lies beside it: " +
			Count(theirs, "warning")
	}
	return "nothing is wider than the source"
}

// Own prints what one person has for themselves; with -v it is among the notes.
func (u *Printer) Own(list diag.List) {
	for _, d := range list {
		if d.Code == diag.ForeignOwn && !u.Verbose && !u.Quiet {
			u.Render.Render(u.Err, d)
		}
	}
}

// mostAcceptances is how many tables of exceptions a verification prints without -v.
const mostAcceptances = 5

// Acceptances prints the exceptions that accept what is wider: where it takes many of them, it is not to be accepted
// one by one.
func (u *Printer) Acceptances(blocks []string) {
	if len(blocks) > mostAcceptances && !u.Verbose {
		u.Printf("to accept this takes %s (-v prints them): undo it, or say in the source what is meant\n",
			Count(len(blocks), "exception"))
		return
	}
	for i, b := range blocks {
		if i == 0 {
			u.Printf("to accept this, paste into modec.toml, with your reason and your date:\n")
		}
		u.Printf("\n%s", b)
	}
}

// VerifyLines is the most lines of a verification of a few surfaces without -v: each one beyond has a line more.
const (
	VerifyLines = 15
	fewSurfaces = 8
)

// LinesFor returns how many lines a verification of so many surfaces has at most.
func LinesFor(surfaces int) int { return VerifyLines + max(0, surfaces-fewSurfaces) }

// Verify prints a report: a line for each surface, and a line for each kind of finding that
// is not a defect. With -v it prints all that was compared, and what differs. It returns how
// many lines remain of [LinesFor].
func (u *Printer) Verify(r *verify.Report) (remaining int) {
	if u.Verbose {
		for i := range r.Surfaces {
			u.surface(&r.Surfaces[i])
		}
		u.elsewhere(r)
		return 0
	}
	lines := 0
	for i := range r.Surfaces {
		s := &r.Surfaces[i]
		u.Printf("%s: %s\n", surfaceName(s), diag.Clean(summaryOfSurface(s)))
		lines++
	}
	for _, kind := range []struct {
		title string
		of    func(*verify.Surface) string
	}{
		{"assumed not to exist", func(s *verify.Surface) string { return positive(s.Counts.Assumed) }},
		{"not governed for some subjects", ungoverned},
		{"left to the agents", left},
		{filledTitle, Filled},
	} {
		if text := BySurface(r.Surfaces, kind.of); text != "" {
			u.Printf("%s: %s\n", kind.title, diag.Clean(text))
			lines++
		}
	}
	if text := exactness(r.Surfaces); text != "" {
		u.Printf("%s\n", diag.Clean(text))
		lines++
	}
	return LinesFor(len(r.Surfaces)) - lines - u.elsewhere(r)
}

// elsewhere says what each target does not emit, because that is for other targets. It returns
// how many lines it printed.
func (u *Printer) elsewhere(r *verify.Report) (lines int) {
	for _, e := range r.Elsewhere {
		var parts []string
		for _, of := range []struct {
			what  string
			names []string
		}{{"mode", e.Modes}, {"role", e.Roles}, {"server", e.Servers}} {
			if len(of.names) == 0 {
				continue
			}
			shown := of.names
			if !u.Verbose && len(shown) > mostElsewhere {
				shown = append(slices.Clone(shown[:mostElsewhere]), "…")
			}
			parts = append(parts, fmt.Sprintf("%s (%s)", Count(len(of.names), of.what), strings.Join(shown, ", ")))
		}
		u.Printf("not held by %s, which has other targets: %s\n", e.Target, diag.Clean(strings.Join(parts, ", ")))
	}
	return len(r.Elsewhere)
}

// mostElsewhere is how many names of a kind a line of [Printer.elsewhere] has without -v.
const mostElsewhere = 4

// exactly stands before the groups of which every plain argument was verified.
const exactly = "exact but for other ways to write the same: "

// exactness says of which groups every plain argument was verified on all surfaces that govern them, and of
// which some stand for all: on which surfaces, of which subjects and why.
func exactness(surfaces []verify.Surface) string {
	type reason struct {
		group ir.Group
		why   string
	}
	type sample struct{ surfaces, subjects []string }
	exact, of, parts := map[ir.Group]bool{}, map[reason]*sample{}, map[string]bool{}
	for i := range surfaces {
		s := &surfaces[i]
		for _, g := range s.Exact {
			exact[g] = true
		}
		for _, x := range s.Sampled {
			if len(x.Subjects) == 0 {
				parts[cmp.Or(x.Part, string(x.Group))] = true
				continue
			}
			at := reason{x.Group, x.Why}
			if of[at] == nil {
				of[at] = &sample{}
			}
			of[at].surfaces = append(of[at].surfaces, surfaceName(s))
			of[at].subjects = append(of[at].subjects, x.Subjects...)
		}
	}
	var sampled []string
	for at, x := range of {
		delete(exact, at.group)
		slices.Sort(x.subjects)
		sampled = append(sampled, fmt.Sprintf("%s of %s for %s (%s)", at.group, someOf(distinct(x.surfaces)),
			someOf(slices.Compact(x.subjects)), at.why))
	}
	slices.Sort(sampled)
	sampled = append(sampled, slices.Sorted(maps.Keys(parts))...)
	var texts []string
	groups := slices.DeleteFunc(slices.Clone(ir.Groups), func(g ir.Group) bool { return !exact[g] })
	if len(groups) > 0 {
		texts = append(texts, exactly+listGroups(groups))
	}
	if len(sampled) > 0 {
		texts = append(texts, "sampled: "+strings.Join(sampled, ", "))
	}
	return strings.Join(texts, "; ")
}

// Missing lists artifacts that are not on disk, and says what mends it.
func (u *Printer) Missing(names []string, next string) {
	for _, name := range names {
		u.Printf("missing: %s\n", diag.Clean(name))
	}
	u.Note("next: %s\n", next)
}

// BySurface lists what there is to say of each surface; those of which the same is to be said
// stand together.
func BySurface(surfaces []verify.Surface, of func(*verify.Surface) string) string {
	var order []string
	names := map[string][]string{}
	for i := range surfaces {
		text := of(&surfaces[i])
		if text == "" {
			continue
		}
		if names[text] == nil {
			order = append(order, text)
		}
		names[text] = append(names[text], surfaceName(&surfaces[i]))
	}
	for i, text := range order {
		order[i] = strings.Join(names[text], ", ") + " " + text
	}
	return strings.Join(order, "; ")
}

func surfaceName(s *verify.Surface) string {
	if s.Surface == "" {
		return s.Target
	}
	return s.Target + " " + s.Surface
}

const filledTitle = "allowed by entries of your own"

// Filled says how many decisions somebody's own entries allow, and which entries these are, the first ones.
func Filled(s *verify.Surface) string {
	var by []string
	for i := range s.Filled {
		if entry := s.Filled[i].By; !slices.Contains(by, entry) {
			by = append(by, entry)
		}
	}
	n := positive(s.Counts.Filled)
	if len(by) == 0 {
		return n
	}
	shown := strings.Join(by[:min(mostEntries, len(by))], ", ")
	if len(by) > mostEntries {
		shown += ", …"
	}
	return n + " by " + shown
}

// mostEntries is how many entries a line names without -v.
const mostEntries = 4

// kept says how much of what the source allows and asks about a surface keeps, in percent with some
// decimals; "" where the source does neither.
func kept(x verify.Utility, decimals int) string {
	var parts []string
	for _, of := range []struct {
		verify.Share
		what string
	}{{x.Allow, "allows"}, {x.Ask, "asks"}} {
		if of.Of > 0 {
			parts = append(parts, fmt.Sprintf("%.*f %% of the %s", decimals, of.Percent(), of.what))
		}
	}
	return strings.Join(parts, ", ")
}

// summaryOfSurface says in a line what came out for a surface.
func summaryOfSurface(s *verify.Surface) string {
	if s.Subjects == 0 {
		return "has none of the subjects"
	}
	wider, narrower := len(s.Findings), s.Counts.Narrower
	text := fmt.Sprintf("%s of %s, %d narrower, %d wider",
		Count(s.Compared, "decision"), Count(s.Subjects, "subject"), narrower, wider)
	if kept := kept(s.Utility, 0); kept != "" {
		text += "; keeps " + kept
	}
	if n := s.Counts.HookOnly; n > 0 {
		text += fmt.Sprintf("; %d by the hook alone", n)
	}
	if n := s.Counts.Accepted; n > 0 {
		text += fmt.Sprintf("; %d accepted by exceptions", n)
	}
	if n := s.Counts.Kept; n > 0 {
		text += fmt.Sprintf("; %d in groups that are kept", n)
	}
	if n := s.Counts.Holes; n > 0 {
		text += "; " + Count(n, "hole")
	}
	return text
}

// ungoverned returns the groups and halves that no file of a surface governs.
func ungoverned(s *verify.Surface) string {
	var halves []string
	for _, half := range []string{"access", "approval"} {
		var groups []string
		for _, x := range s.Ungoverned {
			if g, ok := strings.CutPrefix(x, half+" of "); ok {
				groups = append(groups, g)
			}
		}
		if len(groups) > 0 {
			halves = append(halves, half+" of "+allBut(groups))
		}
	}
	return strings.Join(halves, " and ")
}

// allBut lists tool groups, or those that are missing where these are fewer.
func allBut(groups []string) string {
	var others []string
	for _, g := range ir.Decided {
		if !slices.Contains(groups, string(g)) {
			others = append(others, string(g))
		}
	}
	switch {
	case len(others) == 0:
		return "everything"
	case len(others) < len(groups):
		return "all but " + strings.Join(others, ", ")
	}
	return strings.Join(groups, ", ")
}

// left says which groups the subjects of a surface leave to the agent.
func left(s *verify.Surface) string {
	var groups []string
	for _, g := range ir.Decided {
		if n := len(s.Left[g]); n > 0 {
			groups = append(groups, fmt.Sprintf("%s of %d", g, n))
		}
	}
	return strings.Join(groups, ", ")
}

func (u *Printer) surface(s *verify.Surface) {
	u.Printf("%s: %s of %s\n", surfaceName(s), Count(s.Compared, "decision"), Count(s.Subjects, "subject"))
	u.tally("access", s.Access)
	u.tally("approval", s.Approval)
	if s.Bare != nil {
		u.tally("approval without the hook", *s.Bare)
	}
	if kept := kept(s.Utility, 1); kept != "" {
		u.Printf("  keeps %s\n", kept)
	}
	for _, f := range s.Findings { // the diagnostics contain the first of each surface
		u.Printf("  wider: %s, %s%s\n", diag.Clean(f.Subject), compared(f), place(f.At))
	}
	u.reasons("accepted", s.Accepted, byReason)
	u.reasons("narrower", s.Narrower, byReason)
	u.reasons("hole", s.Holes, byReason)
	u.reasons("held by the hook only", s.HookOnly, byGroup)
	u.reasons("assumed not to exist", s.Assumed, byGroup)
	u.reasons("allowed by an entry of your own", s.Filled, byReason)
	for _, a := range s.Assumes {
		u.Printf("  assumed: %s\n", diag.Clean(a))
	}
	if len(s.Ungoverned) > 0 {
		u.Printf("  not governed for some subjects: %s\n", ungoverned(s))
	}
	if len(s.Exact) > 0 {
		u.Printf("  %s%s\n", exactly, listGroups(s.Exact))
	}
	for _, x := range s.Sampled {
		u.Printf("  sampled: %s%s: %s\n", cmp.Or(x.Part, string(x.Group)), diag.Clean(ofSubjects(x.Subjects)), x.Why)
	}
	for _, g := range ir.Decided {
		if names := s.Left[g]; len(names) > 0 {
			u.Printf("  left to the agent: %s of %s\n", g, diag.Clean(strings.Join(names, ", ")))
		}
	}
}

func listGroups(groups []ir.Group) string {
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = string(g)
	}
	return strings.Join(names, ", ")
}

// ofSubjects names subjects behind something of theirs, "" for all.
func ofSubjects(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " of " + strings.Join(names, ", ")
}

// compared writes an action and what both sides decide.
func compared(f verify.Finding) string {
	action, by, without := diag.Clean(fmt.Sprintf("%q", f.Action)), "by the source", ""
	if f.Left() {
		by = "by the agent itself" // to which the source leaves it
	}
	if f.Without {
		without = " without the hook"
	}
	return fmt.Sprintf("%s %s: %s %s, %s here%s", f.Group, action, f.Source, by, f.Artifact, without)
}

func (u *Printer) tally(half string, t verify.Tally) {
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
	u.Printf("  %-25s %7d compared %7d equal %6d narrower %4d wider%s\n",
		half, t.Compared, t.Equal, t.Narrower, t.Wider, more)
}

// byReason and byGroup are what findings are grouped by.
func byReason(f verify.Finding) string { return f.By }
func byGroup(f verify.Finding) string  { return string(f.Group) }

// reasons prints what is not a defect: each reason, and below it a line for each subject and place
// with an example.
func (u *Printer) reasons(word string, list []verify.Finding, by func(verify.Finding) string) {
	type reason struct {
		first verify.Finding
		count int
	}
	var order []string
	reasons := map[string]*reason{}
	for _, f := range list {
		key := by(f) + f.Subject + f.At.String()
		if reasons[key] == nil {
			reasons[key] = &reason{first: f}
			order = append(order, key)
		}
		reasons[key].count += f.Count
	}
	said := map[string]bool{} // the reasons
	for _, key := range order {
		by := reasons[key].first.By
		if said[by] {
			continue
		}
		said[by] = true
		u.Printf("  %s: %s\n", word, diag.Clean(cmp.Or(by, "nothing there says it")))
		for _, other := range order {
			if f := reasons[other].first; f.By == by {
				u.Printf("      %s of %s, as %s%s\n", Count(reasons[other].count, "decision"),
					diag.Clean(f.Subject), compared(f), place(f.At))
			}
		}
	}
}

// VerifyReport is the JSON of a verification.
type VerifyReport struct {
	Envelope
	Status  string   `json:"status" enum:"ok,failed" jsonschema:"failed: something is wider, or nothing was compared"`
	Disk    bool     `json:"disk,omitempty" jsonschema:"the files were judged as they lie"`
	Missing []string `json:"missing,omitempty" jsonschema:"artifacts that are not there; their targets were not judged"`
	// Exceptions are of the findings that are wider; a finding may have none.
	Exceptions []string `json:"exceptions,omitempty" jsonschema:"for modec.toml, each accepts a decision that is wider"`
	*verify.Report
}
