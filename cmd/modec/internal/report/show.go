package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/explain"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/verify"
)

// ShowWidth is how wide a table is at most.
const ShowWidth = 80

// decisionLook is how tables write a decision: as a letter for what no list names, as a small one
// for lists, and in which colour.
type decisionLook struct{ letter, small, colour, Words string }

var DecisionLooks = map[ir.Decision]decisionLook{
	ir.Deny:  {"D", "d", Red, "deny"},
	ir.Ask:   {"?", "?", Yellow, "ask"},
	ir.Allow: {"A", "a", green, "allow"},
	ir.Agent: {"-", "-", cyan, "left to the agent"},
}

// Letters writes a cell.
func Letters(c *explain.Cell) string {
	text := DecisionLooks[c.Decision].letter
	if len(c.Lists) > 0 {
		text += "+"
	}
	for _, d := range c.Lists {
		text += DecisionLooks[d].small
	}
	return text
}

// cellWidth is the width of the widest cell.
const cellWidth = len("A+d?-")

// Matrix prints the subjects and their cells.
func (u *Printer) Matrix(rows []explain.Row) {
	names, total := 0, 0
	for i := range rows {
		names = max(names, utf8.RuneCountInString(rowName(&rows[i])))
	}
	for _, g := range ir.Decided {
		total += columnWidth(g)
	}
	apart := names+1+total > ShowWidth // a name has a line of its own
	if apart {
		names = 3
	}
	kind := ""
	for i := range rows {
		r := &rows[i]
		if k, _, _ := strings.Cut(r.Subject, " "); k != kind {
			kind = k
			u.matrixHead(kind+"s", names)
		}
		name := rowName(r)
		if apart {
			u.Printf("%s\n", diag.Clean(name))
			name = ""
		}
		u.Printf("%s", fill(diag.Clean(name), names))
		for j := range r.Cells {
			c := &r.Cells[j]
			pad := ""
			if j < len(r.Cells)-1 {
				pad = strings.Repeat(" ", columnWidth(c.Group)-1-len(Letters(c)))
			}
			u.Printf(" %s%s", u.Paint(DecisionLooks[c.Decision].colour, Letters(c)), pad)
		}
		u.Printf("\n")
	}
	if len(rows) == 0 {
		u.Printf("the source has no mode and no role\n")
		return
	}
	u.Note("\nD deny  ? ask  A allow  - left to the agent: what no list names\n" +
		"behind +: what lists say otherwise\n")
	if slices.ContainsFunc(rows, func(r explain.Row) bool { return len(r.Steers) > 0 }) {
		u.Item(0, "", "!", steersNote)
	}
	for i := range rows {
		if text := besides(&rows[i]); text != "" {
			_, name, _ := strings.Cut(rows[i].Subject, " ")
			u.Item(0, "", "besides:", fmt.Sprintf("%s; `modec show %s` lists them", text, name))
		}
	}
}

// besides counts the rules of a subject that no cell shows, "" where there are none.
func besides(r *explain.Row) string {
	var counts []string
	for _, k := range r.Kept {
		counts = append(counts, fmt.Sprintf("%d %s for %s", len(k.Rules), k.Decision, k.Target))
	}
	if len(counts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s has rules for one agent alone, which no cell shows: %s", r.Subject,
		strings.Join(counts, ", "))
}

// steersNote says what denies beside open commands are worth.
const steersNote = "its commands are open: what it denies of reading, edits and commands steers an agent " +
	"and does not hold it"

func (u *Printer) matrixHead(kind string, names int) {
	line := fill(kind, names)
	for _, g := range ir.Decided {
		line += " " + fill(string(g), columnWidth(g)-1)
	}
	u.Printf("%s\n", u.Paint(Bold, strings.TrimRight(line, " ")))
}

func columnWidth(g ir.Group) int { return 1 + max(cellWidth, len(g)) }

func rowName(r *explain.Row) string {
	_, name, _ := strings.Cut(r.Subject, " ")
	if len(r.Steers) > 0 {
		name += " !"
	}
	return "  " + name
}

// fill pads a text with spaces.
func fill(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// unbroken stands for a space at which no line ends: a character that nothing is written with.
const unbroken = "\ue000"

// names prints a list behind what decides for it.
func (u *Printer) names(indent int, l RuleList) {
	whole := strings.NewReplacer(" ", unbroken, "\n", " ")
	text := whole.Replace(strings.Join(l.names, ",\n"))
	if l.server != "" {
		text = l.server + ": " + text
	}
	if l.more > 0 {
		text += fmt.Sprintf(" and %d more", l.more)
	}
	u.Item(indent, DecisionLooks[l.Decision].colour, fill(l.Title, 5), text)
}

// Item prints a text behind a word, below which the other lines of the text begin too.
func (u *Printer) Item(indent int, colour, word, text string) {
	margin := strings.Repeat(" ", indent)
	below := "\n" + margin + strings.Repeat(" ", utf8.RuneCountInString(word)+1)
	lines := strings.Split(Wrap(diag.Clean(text), ShowWidth-len(below)+1), "\n")
	u.Printf("%s%s %s\n", margin, u.Paint(colour, word), strings.ReplaceAll(strings.Join(lines, below), unbroken, " "))
}

// Sheet prints all that there is to know of a subject.
func (u *Printer) Sheet(x *explain.Sheet) {
	u.Printf("%s%s\n", u.Paint(Bold, diag.Clean(x.Subject)), place(x.Pos))
	if x.Description != "" {
		u.Printf("%s\n", Wrap(diag.Clean(x.Description), ShowWidth))
	}
	for i := range x.Source {
		u.sourcePart(x, &x.Source[i])
	}
	if len(x.Source) > 1 {
		u.Item(0, "", "together:", pairNote)
	}
	u.ownParts(x)
	u.servers(x.Servers)
	for i := range x.Agents {
		u.agentPart(&x.Agents[i], x.Cells)
	}
	if len(x.Elsewhere) > 0 {
		u.Printf("\nnot emitted for %s\n", strings.Join(x.Elsewhere, ", "))
	}
	if len(x.Steers) > 0 {
		u.Printf("\n")
		u.Item(0, Yellow, "does not hold:", steersText(x.Steers))
	}
}

// ownParts prints what the source says of a subject for one agent alone.
func (u *Printer) ownParts(x *explain.Sheet) {
	var last string
	of := func(target string) {
		if target != last {
			u.Printf("\n%s\n", u.Paint(Bold, fmt.Sprintf("for %s alone", target)))
		}
		last = target
	}
	for _, k := range x.Kept {
		of(k.Target)
		u.Item(2, DecisionLooks[k.Decision].colour, k.Decision.String(), strings.Join(k.Rules, ", "))
	}
	for _, o := range x.Own {
		of(o.Target)
		u.Item(2, "", diag.Clean(o.Key), o.Text)
	}
}

// steersText is the standing line of a subject whose commands are open.
func steersText(groups []ir.Group) string {
	return "the denies of " + ir.Names(groups) + ": " + steersNote
}

// pairNote says how a role in a mode is decided.
const pairNote = "the lower decision of the two holds; where one says nothing of a group, the other decides"

func (u *Printer) sourcePart(x *explain.Sheet, part *explain.Source) {
	title := "the source says"
	if len(x.Source) > 1 {
		title += " of " + part.Subject
	}
	u.Printf("\n%s\n", u.Paint(Bold, diag.Clean(title)))
	if part.PermissionMode != "" {
		u.Printf("  permission mode %s\n", diag.Clean(part.PermissionMode))
	}
	for i := range part.Groups {
		g := &part.Groups[i]
		look := DecisionLooks[g.Default]
		lists := ListsOf(g, extent(u.Verbose))
		text := look.Words
		if g.Closed() {
			text, look = "deny", DecisionLooks[ir.Deny]
		} else if len(lists) > 0 {
			text += ", but"
		}
		u.Printf("  %-9s %s\n", g.Group, u.Paint(look.colour, text))
		for _, l := range lists {
			u.names(12, l)
		}
	}
	if part.Restricted {
		u.Printf("  mcpRestrictions hold servers or tools back\n")
	}
	if o := part.Outside; o != nil {
		u.Printf("  outside the project at most: read %s, edit %s\n", o.Read, o.Edit)
	}
}

// RuleList is the rules of a group with one decision, of one server.
type RuleList struct {
	Decision      ir.Decision
	Title, server string
	names         []string
	more          int // names that are not shown
}

// Text writes the list on one line.
func (l *RuleList) Text() string {
	if l.server != "" {
		return l.server + ": " + strings.Join(l.names, ", ")
	}
	return strings.Join(l.names, ", ")
}

// extent is how much of a long list is shown, and of its reasons.
type extent bool

const (
	inShort extent = false
	InFull  extent = true
)

// mostRules is how many rules of a list are shown in short.
const mostRules = 8

// ListsOf returns the lists of a group in the order in which they decide, those of mcp by server.
func ListsOf(g *explain.Group, x extent) (lists []RuleList) {
	if g.Closed() {
		return nil
	}
	type key struct {
		server   string
		decision ir.Decision
	}
	of, order := map[key][]string{}, []string{}
	for _, r := range g.Rules {
		k := key{r.Server, r.Decision}
		if !slices.Contains(order, r.Server) {
			order = append(order, r.Server)
		}
		name := r.Pattern
		if r.Times != "" {
			name += " (" + r.Times + ")"
		}
		if !slices.Contains(of[k], name) {
			of[k] = append(of[k], name)
		}
	}
	for _, server := range order {
		for _, d := range []ir.Decision{ir.Deny, ir.Ask, ir.Allow, ir.Agent} {
			names := of[key{server, d}]
			if len(names) == 0 {
				continue
			}
			more := len(names) - mostRules
			if more <= 0 || x == InFull {
				more = 0
			}
			lists = append(lists, RuleList{d, d.String(), server, names[:len(names)-more], more})
		}
	}
	return lists
}

// servers prints what a subject may do with each tool.
func (u *Printer) servers(list []explain.Server) {
	if len(list) == 0 {
		return
	}
	u.Printf("\n%s\n", u.Paint(Bold, "servers and tools"))
	for i := range list {
		sv := &list[i]
		off := ""
		if sv.Off {
			off = "  (off by default)"
		}
		u.Printf("  %s%s\n", diag.Clean(sv.Server), off)
		for _, t := range ByDecision(sv) {
			u.names(4, t)
		}
	}
}

// ByDecision returns the tools of a server, a list for each decision.
func ByDecision(sv *explain.Server) (lists []RuleList) {
	for _, d := range []ir.Decision{ir.Deny, ir.Ask, ir.Allow, ir.Agent} {
		var names []string
		for _, t := range sv.Tools {
			if t.Decision == d {
				names = append(names, t.Name)
			}
		}
		switch {
		case len(names) == len(sv.Tools):
			lists = append(lists, RuleList{d, d.String(), "", []string{"everything"}, 0})
		case len(names) > 0:
			lists = append(lists, RuleList{d, d.String(), "", names, 0})
		}
	}
	return lists
}

// agentPart prints what holds a subject on a surface.
func (u *Printer) agentPart(a *explain.Agent, said []explain.Cell) {
	u.Printf("\n%s\n", u.Paint(Bold, a.Name()))
	u.Printf("  %-9s %-6s %-20s %-20s %s\n", "group", "source", "refuses", "asks", "in")
	for i := range a.Groups {
		g := &a.Groups[i]
		files := []string{}
		for _, name := range g.Artifacts {
			files = append(files, fmt.Sprint(slices.Index(a.Artifacts, name)+1))
		}
		of := slices.IndexFunc(said, func(c explain.Cell) bool { return c.Group == g.Group })
		held := u.holders(g.Access) + " " + u.holders(g.Approval)
		if g.Free() {
			held = fill(DecisionLooks[ir.Agent].Words, 41)
		}
		line := fmt.Sprintf("  %-9s %s %s %s", g.Group,
			u.Paint(DecisionLooks[said[of].Decision].colour, fill(Letters(&said[of]), 6)), held,
			strings.Join(files, ","))
		u.Printf("%s\n", strings.TrimRight(line, " "))
	}
	for i, name := range a.Artifacts {
		u.Printf("  %d %s\n", i+1, diag.Clean(name))
	}
	for _, line := range holesOf(a, extent(u.Verbose)) {
		u.Item(2, line.colour, line.word+":", line.text)
	}
}

// holders writes a cell of what holds a half.
func (u *Printer) holders(list []explain.Holder) string {
	names := make([]string, len(list))
	colour := ""
	for i, h := range list {
		names[i] = string(h)
		if h == explain.ByNothing {
			colour = Yellow
		}
	}
	return u.Paint(colour, fill(strings.Join(names, ", "), 20))
}

// holeLine is something that an agent does otherwise than the source says.
type holeLine struct{ word, colour, text string }

// holesOf lists what an agent does otherwise: what no format can say, and what the agent does in
// spite of its files. Holes of one reason are one line.
func holesOf(a *explain.Agent, x extent) (lines []holeLine) {
	for _, f := range a.Wider {
		lines = append(lines, holeLine{"wider", Red, compared(f)})
	}
	for _, g := range a.Groups {
		for _, c := range g.Changes {
			lines = append(lines, holeLine{"differs", "", fmt.Sprintf("%s: %s becomes %s, as %q (%s compared)",
				g.Group, c.Source, c.Here, c.Example, Count(c.Count, "decision"))})
		}
	}
	for _, d := range a.Losses {
		if d.Loss == diag.Text && x == inShort {
			continue
		}
		_, word := concern(d.Loss)
		text := fmt.Sprintf("%s [%s]", d.Message, d.Code)
		if d.Group != "" {
			text = string(d.Group) + ": " + text
		}
		if x == InFull && d.Hint != "" {
			text += "; " + d.Hint
		}
		colour := Yellow
		if word = strings.TrimSpace(word); word == "widened" {
			colour = Red
		}
		lines = append(lines, holeLine{word, colour, text})
	}
	for _, kind := range []struct {
		word string
		list []verify.Finding
	}{{"accepted", a.Accepted}, {"hole", a.Holes}} {
		lines = append(lines, reasonsOf(kind.word, kind.list, x)...)
	}
	if groups := groupsOf(a.HookOnly); groups != "" {
		lines = append(lines, holeLine{"without the hook", "", "what is denied is not refused: " + groups})
	}
	return lines
}

// reasonsOf returns a line for each reason of findings.
func reasonsOf(word string, list []verify.Finding, x extent) (lines []holeLine) {
	var order []string
	first, counts := map[string]verify.Finding{}, map[string]int{}
	for _, f := range list {
		if counts[f.By] == 0 {
			order, first[f.By] = append(order, f.By), f
		}
		counts[f.By] += f.Count
	}
	for _, why := range order {
		text := string(first[why].Group) + ": " + why
		if x == InFull {
			text = fmt.Sprintf("%s (%s, as %s)", why, Count(counts[why], "decision"), compared(first[why]))
		}
		lines = append(lines, holeLine{word, Yellow, text})
	}
	return lines
}

// groupsOf names the groups of findings.
func groupsOf(list []verify.Finding) string {
	return ir.Names(slices.DeleteFunc(slices.Clone(ir.Decided), func(g ir.Group) bool {
		return !slices.ContainsFunc(list, func(f verify.Finding) bool { return f.Group == g })
	}))
}

// MatrixReport is the JSON of all subjects.
type MatrixReport struct {
	Envelope
	HooksOff *HooksOff     `json:"hooksOff,omitempty"`
	Groups   []ir.Group    `json:"groups"`
	Subjects []explain.Row `json:"subjects" jsonschema:"modes first, in the order of the source"`
	Servers  []ToolList    `json:"servers"`
}

// ToolList is a server of the source with the names of its tools.
type ToolList struct {
	Server string   `json:"server"`
	Pos    diag.Pos `json:"pos"`
	ir.Place
	Tools []string `json:"tools"`
}

// SheetReport is the JSON of one subject.
type SheetReport struct {
	Envelope
	HooksOff *HooksOff `json:"hooksOff,omitempty"`
	explain.Sheet
}

// PageReport is the JSON of a page that was written.
type PageReport struct {
	Envelope
	File     string `json:"file" jsonschema:"the page"`
	Bytes    int    `json:"bytes"`
	Subjects int    `json:"subjects"`
}
