package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/explain"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/output"
)

// keepReport is the JSON of a clean that keeps the files.
type keepReport struct {
	report.Envelope
	Status  string          `json:"status" enum:"ok"`
	DryRun  bool            `json:"dryRun,omitempty" jsonschema:"nothing was changed"`
	Files   []output.Change `json:"files" jsonschema:"unchanged: it stays as it is"`
	Loosens []departure     `json:"loosens" jsonschema:"what only the hooks refuse or ask about"`
	Narrows []departure     `json:"narrows" jsonschema:"what only the hooks allow"`
}

// departure is what changes for a group of a subject on a surface when its hook goes.
type departure struct {
	Subject string   `json:"subject"`
	Target  string   `json:"target"`
	Surface string   `json:"surface,omitempty"`
	Group   ir.Group `json:"group"`
	What    string   `json:"what"`
	allowed bool     // what was denied or asked about is allowed
}

// keep leaves the agents' files to the team, with the rules that they have.
func (c *cleanCmd) keep(e *env) error {
	if c.Out != "" || c.Force {
		return errors.New("--keep leaves the project's files as they are built: leave out --out and --force")
	}
	before, diags := compiler.Compile(e.ctx, e.request())
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	changes, diags := before.Write(e.ctx, e.checking(e.dir))
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	for _, x := range changes {
		if x.Action != output.Unchanged {
			return fmt.Errorf("%s is %s, and nothing was changed: run `modec build` first, so that you leave with "+
				"what the source says", x.Path, x.State)
		}
	}
	req := e.request()
	req.Unhooked = true
	after, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	loosens, narrows, diags := e.departures(before, after)
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	if !e.ui.JSON {
		printDepartures(e.ui, "allowed from now on", report.Red, loosens, departure.isAllowed)
		printDepartures(e.ui, "no longer held", report.Yellow, loosens, departure.isNotAllowed)
		printDepartures(e.ui, "narrower", "", narrows, departure.isNotAllowed)
	}
	if len(loosens) > 0 && !c.DryRun && !c.Accept {
		if err := e.confirm("Leave modec although that is no longer held?", "--accept"); err != nil {
			return err
		}
	}
	opt := e.outputs(e.dir)
	opt.DryRun = c.DryRun
	changes, diags = after.Eject(e.ctx, opt)
	switch {
	case diags.HasErrors():
		return e.ui.Fail(diags)
	case e.ui.JSON:
		return e.ui.Emit(keepReport{e.ui.Envelope(), "ok", c.DryRun, changes, loosens, narrows})
	}
	printKeptFiles(e.ui, changes, c.DryRun)
	return nil
}

// printDepartures compares what holds each mode and role with its hooks and without.
func (e *env) departures(before, after *compiler.Result) (loosens, narrows []departure, diags diag.List) {
	refs := before.Project.Subjects()
	with, diags := e.sheets(before, refs)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	without, diags := e.sheets(after, refs)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	for i := range with {
		for j := range with[i].Agents {
			a := &with[i].Agents[j]
			k := slices.IndexFunc(without[i].Agents, func(b explain.Agent) bool {
				return b.Target == a.Target && b.Surface == a.Surface
			})
			b := &explain.Agent{} // no file holds it there any more
			if k >= 0 {
				b = &without[i].Agents[k]
			}
			less, more := departs(a, b)
			for _, of := range []struct {
				from []departure
				to   *[]departure
			}{{less, &loosens}, {more, &narrows}} {
				for _, d := range of.from {
					d.Subject, d.Target, d.Surface = with[i].Subject, a.Target, a.Surface
					*of.to = append(*of.to, d)
				}
			}
		}
	}
	return loosens, narrows, nil
}

// departs compares a surface with the hook and without it.
func departs(a, b *explain.Agent) (loosens, narrows []departure) {
	for i := range a.Groups {
		with := &a.Groups[i]
		nothing := []explain.Holder{explain.ByNothing}
		without := &explain.Holding{Access: nothing, Approval: nothing}
		if k := slices.IndexFunc(b.Groups, func(h explain.Holding) bool { return h.Group == with.Group }); k >= 0 {
			without = &b.Groups[k]
		}
		lost := func(with, without []explain.Holder) bool {
			return slices.Contains(with, explain.ByHook) && slices.Contains(without, explain.ByNothing)
		}
		if lost(with.Access, without.Access) {
			loosens = append(loosens, departure{Group: with.Group, What: "no file refuses what is denied"})
		}
		if lost(with.Approval, without.Approval) {
			loosens = append(loosens, departure{Group: with.Group, What: "no file asks about what is to be asked"})
		}
		for _, c := range without.Changes {
			known := func(o explain.Change) bool { return o.Source == c.Source && o.Here == c.Here }
			if slices.ContainsFunc(with.Changes, known) {
				continue
			}
			d := departure{Group: with.Group, allowed: c.Here == ir.Allow,
				What: fmt.Sprintf("%s becomes %s, as %q", c.Source, c.Here, c.Example)}
			if c.Here > c.Source {
				loosens = append(loosens, d)
			} else {
				narrows = append(narrows, d)
			}
		}
	}
	return loosens, narrows
}

func (d departure) isAllowed() bool    { return d.allowed }
func (d departure) isNotAllowed() bool { return !d.allowed }

// mostSubjects is how many subjects of a departure are named.
const mostSubjects = 4

// printDepartures prints what changes: a line for each group of a surface with its subjects, with -v one for
// each kind of change.
func printDepartures(u *report.Printer, word, colour string, list []departure, is func(departure) bool) {
	var order []string
	of := map[string][]string{}
	for _, d := range list {
		if !is(d) {
			continue
		}
		what := strings.TrimSpace(d.Target+" "+d.Surface) + ": " + string(d.Group)
		if u.Verbose {
			what += ": " + d.What
		}
		if of[what] == nil {
			order = append(order, what)
		}
		if !slices.Contains(of[what], d.Subject) {
			of[what] = append(of[what], d.Subject)
		}
	}
	for _, what := range order {
		names, more := of[what], ""
		if n := len(names) - mostSubjects; n > 0 && !u.Verbose {
			names, more = names[:mostSubjects], fmt.Sprintf(" and %d more", n)
		}
		u.Item(0, colour, word+":", what+" of "+strings.Join(names, ", ")+more)
	}
}

// keptFiles prints what became of the files.
func printKeptFiles(u *report.Printer, changes []output.Change, dry bool) {
	words := map[output.Action]string{output.Update: "rewrote without the hook", output.Create: "wrote",
		output.Remove: "removed"}
	if dry {
		words = map[output.Action]string{output.Update: "would rewrite without the hook", output.Create: "would write",
			output.Remove: "would remove"}
	}
	left := 0
	for _, x := range changes {
		if x.Action != output.Remove {
			left++
		}
		if x.Action != output.Unchanged {
			u.Note("%s %s\n", words[x.Action], diag.Clean(x.Path))
		}
	}
	if u.Verbose {
		u.Diffs(changes, func(x output.Change) bool { return x.Path != output.LockFile })
	}
	verb := "are"
	switch {
	case dry:
		verb = "would be"
	case left == 1:
		verb = "is"
	}
	u.Note("%s %s yours; modec.toml and modec/ stay until you remove them\n", report.Count(left, "file"), verb)
}
