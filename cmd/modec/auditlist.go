package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

type auditCmd struct {
	List   auditListCmd   `cmd:"" default:"withargs" group:"subcommands" help:"List events, or sum them up by rule."`
	Verify auditVerifyCmd `cmd:"" group:"subcommands" help:"Find lines that are missing, cut, edited or moved."`
}

type auditListCmd struct {
	textOrJSON
	Denied  bool   `help:"Only what was refused."`
	Role    string `placeholder:"NAME" help:"Only of a role."`
	Mode    string `placeholder:"SLUG" help:"Only of a mode."`
	By      string `placeholder:"ID" help:"Only of somebody: the subject of a token, or a token's name."`
	Tool    string `placeholder:"NAME" help:"Only of a tool or an action; SERVER:TOOL of a server's."`
	Since   string `placeholder:"TIME" help:"Only since then: 30m, 24h or 7d ago, a date, or a time of RFC 3339."`
	Follow  bool   `xor:"how" help:"Go on with the events that come, until ^C; with --json one a line."`
	Summary bool   `xor:"how" help:"Count the events by rule instead."`
	Unused  bool   `xor:"how" help:"List the allows and asks of the source by which nothing was decided."`
	Suggest bool   `xor:"how" help:"Show rules that would permit what was refused or asked about again and again."`
	Times   int    `default:"3" placeholder:"N" help:"With --suggest: how often that has to have been."`
	Patch   string `placeholder:"ID" help:"With --suggest: print the patch of one suggestion alone."`
}

func (auditListCmd) reports() []any {
	return []any{auditReport{}, wishReport{}, unusedReport{}, report.Outcome{}}
}

// auditReport is the JSON of a list of events.
type auditReport struct {
	report.Envelope
	File    string        `json:"file"`
	Events  []audit.Event `json:"events,omitempty" jsonschema:"the oldest first"`
	Summary []ruleUse     `json:"summary,omitempty" jsonschema:"with --summary, the most used rule first"`
}

// ruleUse is how often a rule decided.
type ruleUse struct {
	Outcome  audit.Outcome `json:"outcome"`
	Rule     string        `json:"rule"`
	Place    string        `json:"place,omitempty"`
	Count    int           `json:"count"`
	First    time.Time     `json:"first"`
	Last     time.Time     `json:"last"`
	Subjects []string      `json:"subjects"`
	Tools    []string      `json:"tools"`
}

var errNoAudit = errors.New("the project has no audit: write [audit] with a file into modec.toml and build again; " +
	"`modec help source` shows it")

// openAudit returns the log of the project. It fails where the project has none.
func (e *env) openAudit() (*audit.Log, error) {
	log, err := e.auditLog()
	if err == nil && log == nil {
		err = errNoAudit
	}
	return log, err
}

func (c *auditListCmd) Run(e *env) error {
	switch {
	case !c.Suggest && c.Patch != "":
		return errors.New("--patch is for --suggest: `modec audit --suggest` lists what there are patches for")
	case c.Suggest && c.Times < 1:
		return fmt.Errorf("got --times %d, want 1 or more", c.Times)
	case c.Suggest:
		return c.suggest(e)
	case c.Unused:
		return c.unused(e)
	}
	since, err := sinceTime(c.Since, time.Now())
	if err != nil {
		return err
	}
	log, err := e.openAudit()
	if err != nil {
		return err
	}
	var list []audit.Event
	var last uint64
	err = audit.Read(log.File(), func(ev audit.Event) {
		last = max(last, ev.N)
		if c.wants(&ev, since) {
			list = append(list, ev)
		}
	})
	if err != nil {
		return err
	}
	report := auditReport{Envelope: e.ui.Envelope(), File: e.fromRoot(log.File())}
	switch {
	case c.Follow:
		return c.follow(e, log.File(), list, since, last)
	case c.Summary:
		report.Summary = sums(list)
		return printAuditSummary(e.ui, report)
	case e.ui.JSON:
		report.Events = list
		return e.ui.Emit(report)
	}
	printEvents(e.ui, list)
	return nil
}

// wants reports whether an event passes the filters.
func (c *auditListCmd) wants(ev *audit.Event, since time.Time) bool {
	filter := audit.Filter{Denied: c.Denied, Role: c.Role, Mode: c.Mode, Tool: c.Tool}
	return filter.Wants(ev) && (c.By == "" || c.By == nameOf(ev)) && !ev.Time.Before(since)
}

// sinceTime reads the value of --since.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("got --since %s, want a time such as 30m, 24h or 7d, or a date such as 2026-11-24",
		text)
}

// followEvery is how often a log that is followed is looked at.
const followEvery = 250 * time.Millisecond

// follow prints events as they come.
func (c *auditListCmd) follow(e *env, file string, list []audit.Event, since time.Time, last uint64) error {
	e.ui.Endless = true
	print := func(list []audit.Event) error {
		if !e.ui.JSON {
			printEvents(e.ui, list)
			return nil
		}
		for i := range list {
			text, err := json.Marshal(list[i])
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(e.ui.Out, "%s\n", diag.EscapeJSON(text)); err != nil {
				return err
			}
		}
		return nil
	}
	var before os.FileInfo
	for {
		if err := print(list); err != nil {
			return err
		}
		select {
		case <-e.ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
		list = nil
		now, err := os.Stat(file)
		if err != nil || before != nil && os.SameFile(now, before) && now.Size() == before.Size() {
			continue
		}
		before = now
		from := last
		err = audit.Read(file, func(ev audit.Event) {
			if ev.N > from && c.wants(&ev, since) {
				list = append(list, ev)
			}
			last = max(last, ev.N)
		})
		if err != nil {
			return err
		}
	}
}

// sums counts events by what decided, the most frequent first.
func sums(list []audit.Event) []ruleUse {
	type key struct {
		outcome     audit.Outcome
		rule, place string
	}
	all := map[key]*ruleUse{}
	for i := range list {
		ev := &list[i]
		k := key{ev.Outcome, cmp.Or(ev.Rule, ev.Detail, ev.Tool), ev.Place}
		u := all[k]
		if u == nil {
			u = &ruleUse{Outcome: k.outcome, Rule: k.rule, Place: k.place, First: ev.Time}
			all[k] = u
		}
		u.Count, u.Last = u.Count+1, ev.Time
		u.Subjects, u.Tools = with(u.Subjects, subjectOf(ev)), with(u.Tools, toolOf(ev))
	}
	out := make([]ruleUse, 0, len(all))
	for u := range maps.Values(all) {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(a, b ruleUse) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Place, b.Place),
			cmp.Compare(a.Outcome, b.Outcome))
	})
	return out
}

// with returns a sorted list with a text in it.
func with(list []string, text string) []string {
	if i, found := slices.BinarySearch(list, text); !found && text != "" {
		return slices.Insert(list, i, text)
	}
	return list
}

func subjectOf(ev *audit.Event) string {
	if ev.Role == "" && ev.Mode == "" {
		return ""
	}
	return ir.SubjectRef{Role: ev.Role, Mode: ev.Mode}.String()
}

func toolOf(ev *audit.Event) string {
	if ev.Server != "" && ev.Via != audit.ViaHook {
		return ev.Server + ":" + ev.Tool
	}
	return ev.Tool
}

// nameOf returns who acted, where the log knows: of the ID of a token's owner without the issuer.
func nameOf(ev *audit.Event) string {
	if _, id, ok := strings.Cut(ev.Principal, " "); ok {
		return id
	}
	return ev.Principal
}

// whoOf says as whom somebody acted, and who it was where they came with a token: who works at this machine is no news.
func whoOf(ev *audit.Event) string {
	subject, id := subjectOf(ev), nameOf(ev)
	switch {
	case subject == "":
		return id
	case id == ev.Principal:
		return subject
	}
	return subject + " (" + id + ")"
}

// mostOfCell is how many letters a cell of the list has: callers choose names, and one must not spread all lines.
const mostOfCell = 60

func clipped(text string) string {
	letters := []rune(diag.Clean(text))
	if len(letters) > mostOfCell {
		return string(letters[:mostOfCell-1]) + "…"
	}
	return string(letters)
}

// printEvents prints one event a line.
func printEvents(u *report.Printer, list []audit.Event) {
	w := tabwriter.NewWriter(u.Out, 0, 4, 2, ' ', 0)
	for i := range list {
		ev := &list[i]
		text := cmp.Or(ev.Rule, ev.Detail)
		if ev.Rule != "" && ev.Place != "" {
			text += " (" + ev.Place + ")"
		}
		if ev.Rule != "" && ev.Detail != "" {
			text += ": " + ev.Detail
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", ev.Time.Local().Format("2006-01-02 15:04:05"), ev.Outcome,
			clipped(whoOf(ev)), clipped(toolOf(ev)), diag.Clean(text))
	}
	w.Flush()
}

// printAuditSummary prints how often each rule decided.
func printAuditSummary(u *report.Printer, r auditReport) error {
	if u.JSON {
		return u.Emit(r)
	}
	w := tabwriter.NewWriter(u.Out, 0, 4, 2, ' ', tabwriter.AlignRight)
	for _, s := range r.Summary {
		rule := s.Rule
		if s.Place != "" {
			rule += " (" + s.Place + ")"
		}
		fmt.Fprintf(w, "%d\t%s\t  %s: %s\n", s.Count, s.Outcome, diag.Clean(rule),
			diag.Clean(strings.Join(append(s.Subjects, s.Tools...), ", ")))
	}
	return w.Flush()
}

type auditVerifyCmd struct {
	textOrJSON
}

func (auditVerifyCmd) reports() []any { return []any{auditVerified{}} }

// printAuditVerified is the JSON of a check.
type auditVerified struct {
	report.Envelope
	Status   string          `json:"status" enum:"whole,changed"`
	File     string          `json:"file"`
	Files    int             `json:"files"`
	Events   int             `json:"events"`
	First    uint64          `json:"first" jsonschema:"the number of the first event that is kept"`
	Last     uint64          `json:"last" jsonschema:"the number of the last event that was written"`
	Aside    int             `json:"aside" jsonschema:"events that the next program that writes one adds"`
	Findings []audit.Finding `json:"findings"`
}

func (c *auditVerifyCmd) Run(e *env) error {
	log, err := e.openAudit()
	if err != nil {
		return err
	}
	v, err := log.Verify()
	if err != nil {
		return err
	}
	out := auditVerified{Envelope: e.ui.Envelope(), Status: "whole", File: e.fromRoot(log.File()), Files: v.Files,
		Events: v.Events, First: v.First, Last: v.Last, Aside: v.Aside, Findings: v.Findings}
	for i := range out.Findings {
		out.Findings[i].File = e.fromRoot(out.Findings[i].File)
	}
	if len(v.Findings) > 0 {
		out.Status = "changed"
	}
	if e.ui.JSON {
		err = e.ui.Emit(out)
	} else {
		printAuditVerified(e.ui, &out)
	}
	if err == nil && len(v.Findings) > 0 {
		return report.ExitFindings
	}
	return err
}

func printAuditVerified(u *report.Printer, v *auditVerified) {
	for _, f := range v.Findings {
		at := f.File
		if f.Line > 0 {
			at += ":" + strconv.Itoa(f.Line)
		}
		u.Printf("%s: %s\n", diag.Clean(at), f.Text)
	}
	switch {
	case v.Last == 0:
		u.Printf("%s: nothing was written yet\n", diag.Clean(v.File))
	case len(v.Findings) == 0:
		u.Printf("%s: %s as they were written\n", diag.Clean(v.File), report.Are(v.Events, "event"))
	}
	if v.Aside > 0 {
		u.Note("%s not in the chain yet: the next event adds them\n", report.Are(v.Aside, "event"))
	}
}
