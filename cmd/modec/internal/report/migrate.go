package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/suggest"
)

// noteOrder is the order in which notes are printed. Without -v, what is understood is
// only counted.
var noteOrder = []contract.NoteKind{
	contract.Repaired, contract.Secret, contract.Apart, contract.Conflict, contract.NeedsDecision,
	contract.Kept, contract.Refused, contract.Left, contract.Understood,
}

// Migrated prints the report of a migration. The list of its files has a title.
func (u *Printer) Migrated(res *migrate.Result, title string) {
	rep := &res.Report
	list := func(word string, names []string) {
		if len(names) > 0 {
			u.Printf("%-12s %s\n", word, diag.Clean(strings.Join(names, ", ")))
		}
	}
	list("read", rep.Files)
	list("modes", rep.Modes)
	list("roles", inModes(res.Project, rep.Roles))
	list("servers", rep.Servers)
	if len(rep.Silent) > 0 {
		u.Printf("%-12s nothing is permitted, asked about or denied in %s\n", "no rules",
			diag.Clean(strings.Join(rep.Silent, ", ")))
	}
	rules := rep.Rules
	u.Printf("%-12s %d of %s (%.1f %%)\n", "understood", rules.Understood, Count(rules.Of, "rule"), rules.Percent())
	for _, kind := range noteOrder {
		if kind == contract.Understood && !u.Verbose {
			continue
		}
		u.MigrateNotes(slices.DeleteFunc(slices.Clone(rep.Notes), func(n contract.Note) bool { return n.Kind != kind }))
	}
	u.Seen(rep.Seen)
	for i, f := range res.Files {
		if i == 0 {
			u.Printf("%s\n", title)
		}
		u.Printf("  %-40s %s\n", diag.Clean(f.Path), Size(len(f.Data)))
	}
	u.Proof(rep)
}

// mostNested is how many folders with files of their own are printed.
const mostNested = 10

// Seen prints what is there and is not imported: a line for each reason, and for each project in a
// folder of its own.
func (u *Printer) Seen(list []migrate.Seen) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b migrate.Seen) int {
		return cmp.Or(slices.Index(contract.Reasons, a.Reason)-slices.Index(contract.Reasons, b.Reason),
			strings.Compare(a.Why, b.Why))
	})
	nested := 0
	for i := 0; i < len(list); {
		x, names := list[i], []string{}
		for ; i < len(list) && list[i].Why == x.Why && (len(names) == 0 || x.Next == ""); i++ {
			names = append(names, sighted(list[i]))
		}
		line := fmt.Sprintf("%-15s %s: %s", "not-imported", strings.Join(names, ", "), x.Why)
		if x.Next != "" {
			if nested++; nested > mostNested && !u.Verbose {
				continue
			}
			line += "; next: " + x.Next
		}
		u.Printf("  %s\n", diag.Clean(line))
	}
	if more := nested - mostNested; more > 0 && !u.Verbose {
		u.Printf("  %-15s %s more with a project of its own (-v lists them)\n", "not-imported", Count(more, "folder"))
	}
}

// sighted names what was seen.
func sighted(x migrate.Seen) string {
	files := Count(x.Files, "file")
	if x.More {
		files += " or more"
	}
	switch {
	case x.Next != "":
		return fmt.Sprintf("%s (%s)", x.Path, Few(x.Names))
	case strings.HasPrefix(x.Path, "**/") && x.Files == 1:
		return Few(x.Names)
	case len(x.Names) > 0 && !strings.HasPrefix(x.Path, "**/"):
		return fmt.Sprintf("%s (%s: %s)", x.Path, files, Few(x.Names))
	case x.Files > 1 || x.Files > 0 && strings.HasSuffix(x.Path, "/"):
		return fmt.Sprintf("%s (%s)", x.Path, files)
	}
	return x.Path
}

// Proof prints how the new source compares with the original files.
func (u *Printer) Proof(rep *migrate.Report) {
	source, built := rep.Total()
	u.Printf("proof: of %s in the original files the new source has %s",
		Count(source.Compared, "decision"), tallied(source))
	if built.Compared > 0 {
		u.Printf("; of %d what is built from it has %s", built.Compared, tallied(built))
	}
	u.Printf("\n")
	if line := inParts(source, built); line != "" {
		u.Printf("       %s\n", diag.Clean(line))
	}
	for _, line := range narrowings(rep.Narrower) {
		u.Printf("  %s\n", line)
	}
}

// inParts says of which lines of commands the new source allows each part and the original does not allow the whole:
// what is built decides as the original, unless it is among them.
func inParts(source, built migrate.Tally) string {
	switch {
	case built.Parts > 0:
		return fmt.Sprintf("%s now allowed because each part is, as %q", Are(built.Parts, "combined command"),
			diag.Short(built.Part))
	case source.Parts > 0:
		return fmt.Sprintf("%s allowed by the source alone, which compares a line by its words and parts, as %q: "+
			"what is built decides as before", Are(source.Parts, "combined command"), diag.Short(source.Part))
	}
	return ""
}

// Are returns a number of things and the verb for them.
func Are(n int, what string) string {
	if n == 1 {
		return Count(n, what) + " is"
	}
	return Count(n, what) + " are"
}

// inModes adds to the names of roles the permission modes in which their sessions begin.
func inModes(p *ir.Project, names []string) []string {
	names = slices.Clone(names)
	for i, name := range names {
		if r := p.Role(name); r != nil && r.PermissionMode != "" {
			names[i] = fmt.Sprintf("%s (%s)", name, r.PermissionMode)
		}
	}
	return names
}

func tallied(t migrate.Tally) string {
	return fmt.Sprintf("%d equal, %d narrower, %d wider", t.Equal, t.Narrower, t.Wider)
}

// reason is why something is narrower, as a line says it.
type reason struct {
	was, is ir.Decision
	rule    string
	form    migrate.Form
}

// narrowings says what the rules permit less than the files did: a line for each reason.
func narrowings(list []migrate.Narrowing) (lines []string) {
	var order []reason
	by := map[reason][]migrate.Narrowing{}
	for _, n := range list {
		source := func(o migrate.Narrowing) bool { // says it already
			return !o.Built && o.File == n.File && o.Group == n.Group && o.Was == n.Was && o.Is == n.Is &&
				o.Form == n.Form && o.Example == n.Example && o.Count == n.Count
		}
		if n.Built && slices.ContainsFunc(list, source) {
			continue
		}
		r := reason{n.Was, n.Is, shortRule(n.Rule, n.Form), n.Form}
		same := func(o migrate.Narrowing) bool { // by the source and by what is built of it
			return o.Built != n.Built && o.File == n.File && o.Group == n.Group && o.Example == n.Example
		}
		if by[r] == nil {
			order = append(order, r)
		}
		if !slices.ContainsFunc(by[r], same) {
			by[r] = append(by[r], n)
		}
	}
	for _, r := range order {
		lines = append(lines, diag.Clean(r.line(by[r])))
	}
	return lines
}

// line says what is narrower for a reason.
func (r reason) line(list []migrate.Narrowing) string {
	var files, examples, places []string
	more := 0
	for _, n := range list {
		if !slices.Contains(files, n.File) {
			files = append(files, n.File)
		}
		if at := n.At.String(); !n.At.IsZero() && !slices.Contains(places, at) {
			places = append(places, at)
		}
		example := fmt.Sprintf("%s %q", n.Group, diag.Short(n.Example))
		if more += n.Count; !slices.Contains(examples, example) && len(examples) < mostExamples {
			examples, more = append(examples, example), more-1
		}
	}
	line := fmt.Sprintf("%-15s %s: %s", "narrower", Some(files), strings.Join(examples, ", "))
	if more > 0 {
		line += fmt.Sprintf(" and %d more", more)
	}
	if r.form != "" {
		line += ", " + string(r.form)
	}
	is := map[ir.Decision]string{ir.Deny: "denied", ir.Ask: "asked about", ir.Agent: "left to the agent"}
	said := map[ir.Decision]string{ir.Ask: "asked about", ir.Allow: "allowed"}
	line += fmt.Sprintf(": %s before, %s now: %s", said[r.was], is[r.is], r.rule)
	if len(places) > 0 {
		line += " (" + Some(places) + ")"
	}
	return line
}

// shortRule is a rule as a line has room for it: what names it, where its text is long, and why it does not take a
// path of another form.
func shortRule(rule string, form migrate.Form) string {
	if g, ok := strings.CutSuffix(rule, policy.NoDefault); ok {
		return "no rule of " + g + " allows it"
	}
	short := diag.Short(rule)
	switch key, _, ok := strings.Cut(rule, ": "); {
	case ok && short != rule && form != "":
		return "the new " + key + " takes usual paths inside the project only"
	case ok && short != rule:
		return "the new " + key
	}
	return short
}

// mostExamples is how many actions a reason names.
const mostExamples = 2

// MigrateNotes prints notes of one kind. What stays as it is written is a line for each file and reason, but with -v.
func (u *Printer) MigrateNotes(notes []contract.Note) {
	const printed = -1
	type reason struct{ file, why string }
	of := func(n contract.Note) reason { return reason{n.Pos.File, n.Why} }
	many := map[reason]int{}
	for _, n := range notes {
		if n.Kind == contract.Kept && !u.Verbose {
			many[of(n)]++
		}
	}
	for _, n := range notes {
		switch all := many[of(n)]; {
		case all > 1:
			n.What += fmt.Sprintf(", and %d more there (-v lists them)", all-1)
			many[of(n)] = printed
		case all == printed:
			continue
		}
		u.migrateNote(n)
	}
}

func (u *Printer) migrateNote(n contract.Note) {
	line := fmt.Sprintf("%-15s %s", n.Kind, n.Pos)
	if n.Subject != "" {
		line += " " + n.Subject + ":"
	}
	line += " " + n.What
	if n.Why != "" {
		line += ": " + n.Why
	}
	u.Printf("  %s\n", diag.Clean(line))
}

// MigrateReport is the JSON of a migration.
type MigrateReport struct {
	Envelope
	Status  string   `json:"status" enum:"ok,dry-run,current,nothing,edited" jsonschema:"written says of what"`
	Written []string `json:"written" jsonschema:"the files of the new source"`
	*migrate.Report
	Edits       []migrate.Edit       `json:"edits,omitempty" jsonschema:"what people changed in files that modec wrote"`
	Coming      []string             `json:"coming,omitempty" jsonschema:"files that the source has nothing of"`
	Widens      []string             `json:"widens,omitempty" jsonschema:"what these edits permit more"`
	Suggestions []suggest.Suggestion `json:"suggestions,omitempty"`
	Patches     []Patch              `json:"patches,omitempty"`
	Diagnostics diag.List            `json:"diagnostics"`
}
