package suggest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/source"
	"modec.dev/modec/compiler/suggest"
)

// happened returns an event about a role's or a mode's action, written as "SERVER:TOOL" for a tool.
func happened(outcome audit.Outcome, decision, role, mode, group, about string) audit.Event {
	e := audit.Event{Time: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC), Via: audit.ViaHook, Outcome: outcome,
		Decision: decision, Role: role, Mode: mode, Group: group, About: about}
	if server, tool, ok := strings.Cut(about, ":"); ok && group == "mcp" {
		e.Via, e.Server, e.About = audit.ViaGateway, server, tool
	}
	return e
}

const wished = `
servers: {
	hub: {command: "hub", tools: {list: risk: "read", make: risk: "write", wipe: risk: "destructive", odd: {}}}
	off: {command: "off", defaultEnabled: false, tools: {one: risk: "read", two: risk: "read"}}
}
modes: m: {name: "M", roleDefinition: "You work.", can: {command: allow: ["make"], mcp: hub: {ask: ["list"]}}}
roles: dev: can: {
	edit: {allow: ["docs/**"], default: "ask"}
	read: {deny: [".env"], default: "ask"}
	command: {allow: ["make"], deny: ["git push *"], default: "ask"}
	web: "deny"
	modes: {allow: ["m"], default: "deny"}
	mcp: {hub: {ask: ["make", "wipe", "odd"], deny: ["l*"], default: "deny"}, default: "ask"}
}
roles: late: can: command: {allow: [{rule: "make release", until: "2026-12-31"}], default: "deny"}
roles: other: can: {web: {default: "deny"}, command: "ask", mcp: {hub: "ask", default: "deny"}}
`

// Each of them came three times. There is a patch where step is set, and has is a part of the source then; else has is
// the beginning of why there is none.
var wishCases = []struct {
	event     audit.Event
	step, has string
}{
	{happened(audit.Asked, "ask", "dev", "", "command", "go test ./..."), `ask → allow`, `command: {allow: ["make", "go test ./..."]`},
	{happened(audit.Asked, "ask", "other", "", "command", "go vet ./a"), `ask → allow`, `command: {allow: ["go vet ./a"], default: "ask"}`},
	{happened(audit.Refused, "ask", "dev", "", "edit", "README.md"), `ask → allow`, `edit: {allow: ["docs/**", "/README.md"]`},
	{happened(audit.Refused, "ask", "dev", "", "read", "src/a.go"), `ask → allow`, `read: {`},
	{happened(audit.Refused, "deny", "dev", "", "modes", "code"), `deny → ask`, `modes: {allow: ["m"], default: "deny", ask: ["code"]}`},
	{happened(audit.Refused, "deny", "other", "", "web", "a.example.com"), `deny → ask`, `web: {default: "deny", ask: ["a.example.com"]}`},
	{happened(audit.Done, "ask", "dev", "", "mcp", "hub:make"), `ask → allow`,
		`hub: {ask: ["wipe", "odd"], deny: ["l*"], default: "deny", allow: ["make"]}`},
	{happened(audit.Refused, "deny", "", "m", "mcp", "hub:odd"), `deny → ask`, `mcp: hub: {ask: ["list", "odd"]}`},
	{happened(audit.Refused, "ask", "other", "", "mcp", "hub:list"), `ask → allow`, `hub: {allow: ["list"], default: "ask"}`},
	{happened(audit.Refused, "deny", "other", "", "mcp", "hub:list"), ``, `rare`}, // denied then, asked about now
	{happened(audit.Declined, "ask", "dev", "", "modes", "code"), ``, `rare`},     // asked about then, denied now
	{happened(audit.Refused, "deny", "dev", "", "command", "make"), ``, `already`},
	{happened(audit.Refused, "deny", "dev", "", "modes", "nowhere"), ``, `the source would have an error: `},
	{happened(audit.Refused, "deny", "dev", "", "web", "b.example.com"), ``, `deny everything (modec/a.cue:`},
	{happened(audit.Refused, "deny", "dev", "", "read", ".env"), ``, `deny ".env" (modec/a.cue:`},
	{happened(audit.Refused, "deny", "dev", "", "command", "git push origin"), ``, `deny "git push *" (modec/a.cue:`},
	{happened(audit.Refused, "deny", "dev", "", "mcp", "hub:list"), ``, `deny "l*"`},
	{happened(audit.Done, "ask", "dev", "", "mcp", "hub:wipe"), ``, `the inventory says that it is destructive`},
	{happened(audit.Done, "ask", "dev", "", "mcp", "hub:odd"), ``, `the inventory does not say its risk`},
	{happened(audit.Declined, "ask", "other", "", "mcp", "hub:make"), ``, `a person was asked and did not agree 3 times`},
	{happened(audit.Refused, "deny", "dev", "", "mcp", "off:one"), ``, `a rule for it alone would change more: role dev: mcp off:*`},
	{happened(audit.Refused, "deny", "dev", "", "mcp", "new:one"), ``, `the inventory does not list it`},
	{happened(audit.Asked, "ask", "dev", "", "command", "rm -r build"), ``, `it may destroy something`},
	{happened(audit.Asked, "ask", "dev", "", "command", "curl -H 'Authorization: Bearer ***'"), ``, `the log masks a secret`},
	{happened(audit.Asked, "ask", "dev", "", "command", "ls *.go"), ``, `no rule names this and nothing else`},
	{happened(audit.Refused, "deny", "late", "", "command", "make release"), ``, `it is permitted at some times (allow "make release", modec/a.cue:`},
	{happened(audit.Refused, "deny", "late", "", "command", "make test"), `deny → ask`, `{allow: [{rule: "make release", until: "2026-12-31"}], default: "deny", ask: ["make test"]}`},
	{happened(audit.Asked, "ask", "gone", "", "command", "make"), ``, `the source has no such subject`},
	{happened(audit.Asked, "ask", "a,b", "", "mcp", "hub:make"), ``, ``},
	{happened(audit.Refused, "deny", "a,b", "", "mcp", "hub:make"), ``, `the caller has several roles`},
}

// What came again and again becomes the smallest rule that permits it by one step, and nothing that is to be held does.
func TestWishes(t *testing.T) {
	files, req, res := project(t, wished)
	for _, c := range wishCases {
		name := fmt.Sprintf("%s %s %s", c.event.Role+c.event.Mode, c.event.Group, c.event.About)
		var tally suggest.Tally
		for range 3 {
			tally.Add(&c.event)
		}
		in := suggest.Looking{FS: files, Request: req, Result: res, Seed: 1, Least: 4}
		if got, err := tally.Wishes(t.Context(), in); err != nil || len(got.List)+got.Already > 0 {
			t.Errorf("%s: got %+v, %v for three times", name, got, err)
		}
		in.Least = 3
		got, err := tally.Wishes(t.Context(), in)
		if err != nil {
			t.Fatal(name, err)
		}
		step, text := "", ""
		switch {
		case got.Already > 0:
			text = "already"
		case got.Rare > 0:
			text = "rare"
		case len(got.List) == 1 && got.List[0].Why != "":
			text = got.List[0].Why
			if len(got.List[0].Files) > 0 || len(got.List[0].Permits) > 0 {
				t.Errorf("%s: got a patch that is not suggested", name)
			}
		case len(got.List) == 1:
			step, text = check(t, name, req, res, &got.List[0], c.event)
		}
		if step != c.step || step == "" && !strings.HasPrefix(text, c.has) || !strings.Contains(text, c.has) ||
			c.has == "" && text != "" {
			t.Errorf("%s: got %s %s, want %s %s", name, step, text, c.step, c.has)
		}
	}
}

// check holds that a patch permits by one step what it is about, and nothing else.
func check(t *testing.T, name string, req compiler.Request, res *compiler.Result, w *suggest.Wish, ev audit.Event) (
	step, text string) {
	t.Helper()
	fsys, err := source.Overlay(req.FS, res.Config.Source, contract.InMemory(w.Files))
	if err != nil {
		t.Fatal(err)
	}
	req.FS = fsys
	after, diags := compiler.Open(t.Context(), req)
	if diags.HasErrors() {
		t.Fatal(name, diags)
	}
	ref := ir.SubjectRef{Role: ev.Role, Mode: ev.Mode}
	s, err := after.Policy.Subject(ref)
	if err != nil {
		t.Fatal(name, err)
	}
	is := s.Decide(policy.Action{Group: ir.Group(ev.Group), Server: ev.Server, Arg: ev.About})
	if is.Decision != w.To || w.To != w.Decision+1 || len(w.Permits) == 0 || w.Permits[0].Subject != ref.String() {
		t.Errorf("%s: got %s and %+v", name, is.Decision, w)
	}
	for _, f := range w.Files {
		text += string(f.Data)
	}
	return fmt.Sprintf("%s → %s", w.Decision, w.To), text
}
