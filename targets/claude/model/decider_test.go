package model

import (
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
)

const noAuto = `"disableAutoMode":"disable","disableBypassPermissionsMode":"disable"`

// permissions writes a settings file.
func permissions(mode string, allow, ask, deny []string) string {
	all := map[string][]string{"allow": allow, "ask": ask, "deny": deny}
	maps.DeleteFunc(all, func(_ string, rules []string) bool { return rules == nil })
	lists, _ := json.Marshal(all)
	return `{"permissions":{"defaultMode":"` + mode + `",` + noAuto + `,` + string(lists[1:]) + `}`
}

// opened is the decider of a project with one role r.
func opened(t testing.TB, settings string, more fstest.MapFS) contract.Decider {
	t.Helper()
	fsys := fstest.MapFS{"session:claude/r.settings.json": {Data: []byte(settings)}}
	for name, f := range more {
		fsys[name] = f
	}
	deciders, diags := Open(fsys, roleR.Role)
	if diags.HasErrors() || len(deciders) != 1 {
		t.Fatalf("got %d deciders, %v", len(deciders), diags)
	}
	return deciders[0]
}

var roleR = ir.SubjectRef{Role: "r"}

func check(t *testing.T, d contract.Decider, g ir.Group, want map[ir.Decision][]string) {
	t.Helper()
	for decision, list := range want {
		for _, arg := range list {
			if v := d.Decide(roleR, policy.Action{Group: g, Arg: arg}); does(v) != decision {
				t.Errorf("%s %q: got %s by %s, want %s", g, arg, v.Decision, v.Rule, decision)
			}
		}
	}
}

// TestSandbox holds commands in the sandbox to what 2.1.330 did: they run unasked but where a deny or an ask for some
// of them matches. An ask for all does not hold there, and one of a hook does.
func TestSandbox(t *testing.T) {
	const on = `"sandbox":{"enabled":true,"autoAllowBashIfSandboxed":true}`
	all := map[ir.Decision][]string{ir.Allow: {"touch a", "curl x", "touch a > x", "touch a; mkdir c",
		"git status"}}
	asks := map[ir.Decision][]string{ir.Ask: {"touch a", "curl x"}, ir.Allow: {"git status"}}
	for settings, want := range map[string]map[ir.Decision][]string{
		`{` + on + `}`:                   all,
		`{"sandbox":{"enabled":true}}`:   all, // the vendor decides
		`{"sandbox":{"enabled":false}}`:  asks,
		`{"sandbox":{"enabled":"true"}}`: asks,
		`{"permissions":{}}`:             asks,
		`{"sandbox":{"enabled":true,"autoAllowBashIfSandboxed":false}}`: asks,
		`{` + on + `,"permissions":{"ask":["Bash"]}}`:                   all,
		`{` + on + `,"permissions":{"ask":["Bash(*)"]}}`:                all,
		`{` + on + `,"permissions":{"ask":["Bash(touch *)"]}}`: {
			ir.Ask: {"touch a", "touch a > x", "ls; touch a"}, ir.Allow: {"curl x"}},
		`{` + on + `,"permissions":{"deny":["Bash(touch *)"]}}`: {
			ir.Deny: {"touch a", "touch a > x", "ls; touch a"}, ir.Allow: {"curl x"}},
		`{` + on + `,"permissions":{"defaultMode":"dontAsk"}}`: {ir.Allow: {"touch a", "curl x"}},
	} {
		t.Run(settings, func(t *testing.T) { check(t, opened(t, settings, nil), ir.Command, want) })
	}
	deciders, _ := Open(fstest.MapFS{
		".claude/settings.json":       {Data: []byte(`{` + on + `}`)},
		".claude/settings.local.json": {Data: []byte(`{"sandbox":{"autoAllowBashIfSandboxed":false}}`)},
	}, roleR.Role)
	check(t, deciders[0], ir.Command, asks) // the last file that writes a value holds
}

func TestDecideCommand(t *testing.T) {
	edits := func(mode string) string {
		allow := []string{"Edit(ok/**)", "Bash(cat *)", "Bash(okc *)"}
		return permissions(mode, allow, []string{"Edit(sec/**)"}, []string{"Edit(.env)"})
	}
	for name, c := range map[string]struct {
		settings string
		want     map[ir.Decision][]string
	}{
		"reading": {permissions("default", nil, nil, nil), observedReading},
		"rules": {permissions("default", []string{"Bash(foo *)", "Edit(docs/**)"}, []string{"Bash(ask *)"},
			[]string{"Bash(den *)", "Read(.env)"}), observedRules},
		"default": {edits("default"), observedDefault},
		"accept":  {edits("acceptEdits"), observedAccept},
		"whole": {permissions("default", []string{"Bash"}, nil, []string{"Bash(den *)", "Edit(.env)"}),
			observedWhole},
		"exact": {permissions("default", []string{"Bash(npm ci)", "Bash(foo:*)", "Bash(fooz*)", "Bash(npx y *)"}, nil,
			[]string{"Bash(den x)", "Bash(git push * -f *)"}), map[ir.Decision][]string{
			ir.Allow: {"timeout 5 npm ci", "'npm' ci", "  npm ci  ", "npm ci\n", "foo  'a b'", "fooz y", "npx y *",
				"ls '", "ls |", "npm ci </dev/null", "cat .en?"},
			ir.Ask: {`"foo a"`, "npm  ci", "timeout 5 npm  ci", "NPM ci", "./npm ci", "X=1 npm ci", "foo;bar",
				"foo:x", `"npm ci"`, "bash -c 'den x'", "git push x -f", "git push -f"},
			ir.Deny: {"den  x", "'den' x", "FOO=1 den x", "git push x -f y"},
		}},
	} {
		t.Run(name, func(t *testing.T) { check(t, opened(t, c.settings, nil), ir.Command, c.want) })
	}
}

// Observed on 2.1.329, as are the tables of commands.
func TestDecidePaths(t *testing.T) {
	settings := func(mode string) string {
		return permissions(mode,
			[]string{"Edit(gen/**)", "Edit(//tmp/q/**)", "Edit(*.md)", "Edit(src/*)", "Edit(~/hh/**)",
				"Read(//etc/hostname)"},
			[]string{"Edit(sec/**)", "Edit(/pk.md)"},
			[]string{"Edit(node/**)", "Edit(.env)", "Edit(deep/x/**)", "Edit(CLAUDE.md)", "Edit(q*)", "Read(priv/**)"})
	}
	check(t, opened(t, settings("default"), nil), ir.Edit, map[ir.Decision][]string{
		ir.Allow: {"gen/a", "src/gen/a", "a.md", "d/a.md", "x.md/run.sh", "src/a", "src/b/c", "pk.md", "gen/./a",
			"gen//a", "GEN/a", "é.md", "e\u0301.md", "gen/a b", "gen/.d/f", "/tmp/q/a", "~/hh/a", "x\n.md", "gen/a "},
		ir.Ask: {"abs/a", "sec/a", "d/sec/a", "d/deep/x/a", ".claude/modec/pk.md", "gen/../z", "../z", ".git/x",
			".claude/x.md", ".vscode/x.md", ".mcp.json", "gen/.git/x", "/abs/a", `gen\a`, "C:/x.md", `\\h\s`},
		ir.Deny: {"b/q/a.x", "node/a", "d/node/a", "NODE/a", ".ENV", ".env", "d/.env", ".env/x", "deep/x/a",
			"claude.md", "CLAUDE.md", "sub/CLAUDE.md", "q", "d/qq", "priv/a", "PRIV/a", "a\x00.md"},
	})
	check(t, opened(t, settings("acceptEdits"), nil), ir.Edit, map[ir.Decision][]string{
		ir.Allow: {"abs/a", "d/deep/x/a", "gen/../z"},
		ir.Ask:   {".claude/modec/abs/a", "sec/a", "../z", ".git/x", ".mcp.json"},
		ir.Deny:  {"node/a", ".env"},
	})
	check(t, opened(t, settings("plan"), nil), ir.Edit, map[ir.Decision][]string{ir.Ask: {"gen/a", "a.md", "z"},
		ir.Deny: {".env"}})
	check(t, opened(t, settings("dontAsk"), nil), ir.Edit, map[ir.Decision][]string{ir.Allow: {"gen/a"},
		ir.Deny: {"z", "sec/a", ".git/x"}})
	check(t, opened(t, settings("default"), nil), ir.Read, map[ir.Decision][]string{
		ir.Allow: {"README.md", "/etc/hostname", "~/hh/a", "/tmp/q/a", "$HOME/x"},
		ir.Ask:   {"../x", "/etc/passwd", "~/x", "C:/x"},
		ir.Deny:  {"priv/a", "d/priv/a"},
	})
}

func TestDecideElse(t *testing.T) {
	d := opened(t, permissions("default",
		[]string{"WebFetch(domain:ex.com)", "WebFetch(domain:*.star.com)", "WebFetch(domain:xn--bcher-kva.ex)",
			"mcp__s__get_*", "mcp__*__x", "Agent(code)"},
		[]string{"Agent(Plan)", "mcp__s__put"},
		[]string{"Agent(Explore)", "WebFetch(domain:den.com)", "mcp__s__del", "mcp__off", "mcp__*__drop_*",
			"CronCreate"}),
		nil)
	check(t, d, ir.Web, map[ir.Decision][]string{
		ir.Allow: {"EX.com", "ex.com.:8443", "b.star.com", "a.b.star.com", "ex.com:8443", "bücher.ex",
			"docs.python.org"},
		ir.Ask:  {"a.ex.com", "star.com", "localhost", "github.com", "xex.com"},
		ir.Deny: {"den.com.", "DEN.com", "", "a/b"},
	})
	check(t, d, ir.Modes, map[ir.Decision][]string{
		ir.Allow: {"code", "general-purpose"}, ir.Ask: {"Plan"}, ir.Deny: {"Explore"}})
	check(t, d, ir.Unknown, map[ir.Decision][]string{
		ir.Allow: {"ScheduleWakeup", "BrandNewTool"}, ir.Deny: {"CronCreate", ""}})
	for tool, want := range map[string]ir.Decision{
		"get_x": ir.Allow, "put": ir.Ask, "del": ir.Deny, "x": ir.Ask, "drop_all": ir.Deny,
	} {
		if v := d.Decide(roleR, policy.Action{Group: ir.MCP, Server: "s", Arg: tool}); v.Decision != want {
			t.Errorf("%s: got %s, want %s", tool, v.Decision, want)
		}
	}
	if v := d.Decide(roleR, policy.Action{Group: ir.MCP, Server: "off", Arg: "x"}); v.Decision != ir.Deny {
		t.Errorf("a server that is denied: got %s", v.Decision)
	}
	resource := policy.Action{Group: ir.MCP, Server: "s", Arg: "r", Kind: policy.Resource}
	if v := d.Decide(roleR, resource); does(v) != ir.Allow {
		t.Errorf("a resource is read without a question: got %s", v.Decision)
	}
	prompt := policy.Action{Group: ir.MCP, Server: "s", Arg: "r", Kind: policy.Prompt}
	if v := d.Decide(roleR, prompt); v.Governs != contract.Neither {
		t.Errorf("a prompt is a person's: got %+v", v)
	}
	nobody, read := ir.SubjectRef{Mode: "nobody"}, policy.Action{Group: ir.Read, Arg: "a"}
	if v := d.Decide(nobody, read); v != (contract.Verdict{}) {
		t.Errorf("a mode that is not there: got %+v", v)
	}
	quiet := ir.SubjectRef{Role: "quiet"}
	for a, want := range map[policy.Action]ir.Decision{
		read: ir.Allow, {Group: ir.Edit, Arg: "a"}: ir.Ask, {Group: ir.MCP, Server: "s", Arg: "get_x"}: ir.Ask,
	} {
		if v := d.Decide(quiet, a); v.Decision != want || v.Governs&contract.Approval == 0 {
			t.Errorf("a role without a file, %v: got %+v, want %s as of Claude Code by itself", a, v, want)
		}
	}
}

// policyFile is what the hooks of these tests read: a role dev and a mode code with the
// same permissions.
func policyFile(t testing.TB) []byte {
	t.Helper()
	ruleOf := func(d ir.Decision, text string) ir.Rule {
		return ir.Rule{Decision: d, Pattern: ir.Pattern{Text: text}, Pos: diag.Pos{File: "f", Line: 1, Col: 1}}
	}
	by := func(d ir.Decision) *ir.Default { return &ir.Default{Decision: d} }
	docs := ir.MCPEntry{Key: "my docs", Literal: true, Default: by(ir.Deny),
		Rules: []ir.Rule{ruleOf(ir.Allow, "get_*"), ruleOf(ir.Ask, "put")}}
	can := ir.Can{
		Read: &ir.Table{Default: by(ir.Allow), Rules: []ir.Rule{ruleOf(ir.Deny, ".env")}},
		Edit: &ir.Table{Default: by(ir.Deny),
			Rules: []ir.Rule{ruleOf(ir.Allow, "docs/**"), ruleOf(ir.Ask, "src/**")}},
		Command: &ir.Table{Default: by(ir.Ask),
			Rules: []ir.Rule{ruleOf(ir.Allow, "git status"), ruleOf(ir.Deny, "git push *")}},
		Web:   &ir.Table{Default: by(ir.Ask), Rules: []ir.Rule{ruleOf(ir.Allow, "*.example.com")}},
		Modes: &ir.Table{Default: by(ir.Deny), Rules: []ir.Rule{ruleOf(ir.Allow, "code")}},
		MCP:   &ir.MCPTable{Default: by(ir.Deny), Entries: []ir.MCPEntry{docs}},

		Unknown: by(ir.Ask),
	}
	p := &ir.Project{
		Version: ir.Version, ClosedInventory: true,
		Servers: []ir.Server{{Name: "my docs", Type: "stdio", Command: "docs", DefaultEnabled: true,
			Tools: []ir.Tool{{Name: "del"}, {Name: "get_x"}, {Name: "put"}}}},
		Modes: []ir.Mode{{Slug: "code", Name: "Code", RoleDefinition: "You code.", Can: can}},
		Roles: []ir.Role{{Name: "dev", Can: can}},
	}
	data, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// hooked is a project whose role r and mode m have hooks on the policy of policyFile, as
// its role dev and its mode code.
func hooked(t testing.TB, mode, line string, rules ...string) contract.Decider {
	t.Helper()
	command, _ := json.Marshal(line)
	settings := strings.TrimSuffix(permissions(mode, rules, []string{"Bash(asked *)"}, []string{"Bash(held *)"}), "}") +
		`,"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":` + string(command) + `}]}]}}`
	return opened(t, settings, fstest.MapFS{
		contract.PolicyFile: {Data: policyFile(t)},
		".claude/agents/m.md": {Data: []byte(`---
name: m
description: d
tools: [Read, Edit, Write, Grep, mcp__my_docs__get_x]
hooks:
  PreToolUse:
    - matcher: "*"
      hooks:
        - type: command
          command: >-
            modec hook claude --subject mode:code || exit 2
---
You code.
`)},
	})
}

const hookLine = `modec hook claude --root . --subject role:dev --may-allow || exit 2`

const projectLine = `modec hook claude --subject role:dev || exit 2`

// What the hook of a project's file decides by is known, and nothing of one that is about another folder.
func TestKnown(t *testing.T) {
	for line, want := range map[string]bool{
		hookLine:                          false, // which lies in no file of a project
		projectLine:                       true,
		Allows("PreToolUse"):              true,
		`echo "{}"`:                       true,
		`echo "${ANSWER}"`:                false,
		"./gate.sh":                       false,
		projectLine + "; ./gate.sh":       false,
		"modec hook cursor --model x":     false,
		`echo {\"decision\":\"approve\"}`: true,
	} {
		if got := Known(line); got != want {
			t.Errorf("%s: got known %v, want %v", line, got, want)
		}
	}
	if !grants("PreToolUse", "{\"decision\":\"approve\"}") {
		t.Error("an answer in the form of before does not allow")
	}
}

func TestDecideHook(t *testing.T) {
	type want struct {
		group     ir.Group
		arg       string
		with, off ir.Decision
	}
	for name, c := range map[string]struct {
		d    contract.Decider
		want []want
	}{
		"default": {hooked(t, "default", hookLine, "Bash(free *)"), []want{
			{ir.Command, "git status", ir.Allow, ir.Allow}, // it only reads
			{ir.Command, "git push x", ir.Deny, ir.Ask},
			{ir.Command, "free x", ir.Ask, ir.Allow}, // the hook's ask lowers an allow rule
			{ir.Command, "ls", ir.Ask, ir.Allow},
			{ir.Command, "held x", ir.Deny, ir.Deny},
			{ir.Edit, "docs/a", ir.Allow, ir.Ask}, // the hook's allow skips the question
			{ir.Edit, "src/a", ir.Ask, ir.Ask},
			{ir.Edit, "x", ir.Deny, ir.Ask},
			{ir.Read, ".env", ir.Deny, ir.Allow},
			{ir.Web, "a.example.com", ir.Allow, ir.Ask},
			{ir.Modes, "code", ir.Allow, ir.Allow},
			{ir.Modes, "else", ir.Deny, ir.Allow},
			{ir.Unknown, "BrandNew", ir.Ask, ir.Allow},
		}},
		// A hook's ask would be put to a person even in dontAsk, so that modec's refuses.
		"dontAsk": {hooked(t, "dontAsk", hookLine, "Bash(free *)"), []want{
			{ir.Edit, "src/a", ir.Deny, ir.Deny}, {ir.Command, "free x", ir.Deny, ir.Allow},
			{ir.Command, "asked x", ir.Deny, ir.Deny}, {ir.Edit, "docs/a", ir.Allow, ir.Deny},
		}},
		"plan": {hooked(t, "plan", hookLine, "Edit(docs/**)"),
			[]want{{ir.Edit, "docs/a", ir.Ask, ir.Ask}, {ir.Edit, "x", ir.Deny, ir.Ask},
				{ir.Read, "a", ir.Allow, ir.Allow}}},
		"another subject": {hooked(t, "default", strings.Replace(hookLine, "role:dev", "role:nobody", 1)),
			[]want{{ir.Read, "a", ir.Deny, ir.Allow}}},
		"without allow": {hooked(t, "default", strings.Replace(hookLine, " --may-allow", "", 1)),
			[]want{{ir.Edit, "docs/a", ir.Ask, ir.Ask}, {ir.Edit, "x", ir.Deny, ir.Ask}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range c.want {
				v := c.d.Decide(roleR, policy.Action{Group: w.group, Arg: w.arg})
				if does(v) != w.with || v.Bare == nil || doesBare(v) != w.off {
					t.Errorf("%s %q: got %s by %s, and %v without the hook, want %s and %s", w.group, w.arg,
						v.Decision, v.Rule, v.Bare, w.with, w.off)
				}
			}
		})
	}
	for name, line := range map[string]string{
		"somebody else's": "check.sh", "for another agent": strings.Replace(hookLine, "hook claude", "hook cursor", 1),
	} {
		d := hooked(t, "default", line)
		if v := d.Decide(roleR, policy.Action{Group: ir.Read, Arg: ".env"}); v.Decision != ir.Allow || v.Bare != nil {
			t.Errorf("a hook %s holds nothing: got %+v", name, v)
		}
	}
}

func TestDecideMode(t *testing.T) {
	d := hooked(t, "acceptEdits", hookLine)
	mode, pair := ir.SubjectRef{Mode: "m"}, ir.SubjectRef{Role: "r", Mode: "m"}
	for _, c := range []struct {
		ref  ir.SubjectRef
		a    policy.Action
		want ir.Decision
	}{
		{mode, policy.Action{Group: ir.Edit, Arg: "docs/a"}, ir.Ask}, // only --settings may allow
		{mode, policy.Action{Group: ir.Edit, Arg: "x"}, ir.Deny},
		{mode, policy.Action{Group: ir.Read, Arg: "a"}, ir.Allow},
		{mode, policy.Action{Group: ir.Web, Arg: "a.example.com"}, ir.Deny}, // its tools leave it out
		{mode, policy.Action{Group: ir.Modes, Arg: "code"}, ir.Deny},
		{mode, policy.Action{Group: ir.Unknown, Arg: "BrandNew"}, ir.Deny},
		{mode, policy.Action{Group: ir.MCP, Server: "my docs", Arg: "get_x"}, ir.Ask},
		{mode, policy.Action{Group: ir.MCP, Server: "my docs", Arg: "del"}, ir.Deny},
		{pair, policy.Action{Group: ir.Edit, Arg: "docs/a"}, ir.Allow},
		{pair, policy.Action{Group: ir.Edit, Arg: "x"}, ir.Deny},
		{pair, policy.Action{Group: ir.Web, Arg: "a.example.com"}, ir.Deny},
	} {
		if v := d.Decide(c.ref, c.a); v.Decision != c.want {
			t.Errorf("%s, %s %q: got %s by %s, want %s", c.ref, c.a.Group, c.a.Arg, v.Decision, v.Rule, c.want)
		}
	}
	// Grep over the project meets what the hook would refuse to open.
	v := d.Decide(mode, policy.Action{Group: ir.Read, Arg: ".env"})
	if v.Decision != ir.Deny || v.Hole == nil || v.Hole.Decision != ir.Allow {
		t.Errorf("got %+v, want a refusal with a hole", v)
	}
	// Where Bash is offered, Grep is not.
	if v := d.Decide(roleR, policy.Action{Group: ir.Read, Arg: ".env"}); v.Hole != nil {
		t.Errorf("got the hole %q in a session with Bash", v.Hole.Why)
	}
	v = d.Decide(mode, policy.Action{Group: ir.Edit, Arg: "x"})
	if v.Governs != contract.Both || v.Bare.Governs != contract.Access {
		t.Errorf("a subagent holds both halves with its hook and access without: got %+v", v)
	}
}

// What Claude Code does not load or leaves out is reported with its place.
func TestOpenReports(t *testing.T) {
	fsys := fstest.MapFS{
		"session:claude/r.settings.json": {Data: []byte(
			"{\"permissions\":{\"allow\":[\"Bash(git\",\n\"Write(docs/**)\",\"mcp__*\", 3]}}")},
		"session:claude/broken.settings.json":    {Data: []byte("{")},
		"session:claude/mode.settings.json":      {Data: []byte(`{"permissions":{"defaultMode":"never"}}`)},
		"session:claude/%E4%B8%80.settings.json": {Data: []byte(`{}`)},
		".claude/agents/none.md":                 {Data: []byte("no front matter")},
		".claude/settings.json": {Data: []byte(
			`{"permissions":{"deny":["Read(x)"],"defaultMode":"auto"}}`)},
		".claude/settings.local.json": {Data: []byte(`{"permissions":{"allow":["Edit(y)"]}}`)},
	}
	deciders, diags := Open(fsys, "base")
	if len(diags) != 7 || diags.HasErrors() {
		t.Errorf("got %d diagnostics, want 7 warnings:\n%v", len(diags), diags.Error())
	}
	want := map[ir.Decision]policy.Action{
		ir.Deny:  {Group: ir.Read, Arg: "x"},
		ir.Allow: {Group: ir.Edit, Arg: "y"},
		ir.Ask:   {Group: ir.Edit, Arg: "z"},
	}
	alone := map[policy.Action]ir.Decision{want[ir.Deny]: ir.Allow, want[ir.Allow]: ir.Ask, want[ir.Ask]: ir.Ask}
	for _, role := range []string{"base", "r", "broken", "一"} {
		for decision, a := range want {
			if role != "base" { // a role that is not the baseline is started without them
				decision = alone[a]
			}
			if v := deciders[0].Decide(ir.SubjectRef{Role: role}, a); v.Decision != decision {
				t.Errorf("%s, %v: got %s, want %s: the project's own settings hold in the baseline's sessions",
					role, a, v.Decision, decision)
			}
		}
	}
}

// In a mode that approves commands, a line that passes a rule is a hole of the agent, and one
// that no rule is about is the mode's.
func TestHolesOfBypass(t *testing.T) {
	args := []string{"--permission-mode", "bypassPermissions", "--disallowedTools", "Bash(git push *) Edit(//**/.env)"}
	s, _, err := OpenArgs(memfs.FS{}, args, diag.Pos{File: "args"})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]struct {
		ir.Decision
		hole bool
	}{
		"make":                    {ir.Allow, false},
		"git push x":              {ir.Deny, false},
		"echo a > .env":           {ir.Deny, false},
		"echo a > $X":             {ir.Ask, true},
		"echo a > b":              {ir.Allow, false},
		"GIT push x":              {ir.Ask, true},
		"git -C x push":           {ir.Ask, true},
		"sh -c 'git push x'":      {ir.Ask, true},
		"$X":                      {ir.Ask, true},
		"find -exec git push x +": {ir.Ask, true},
	} {
		v := s.Decide(policy.Action{Group: ir.Command, Arg: line})
		if v.Decision != want.Decision || (v.Hole != nil) != want.hole {
			t.Errorf("%s: got %s and the hole %+v, want %+v", line, v.Decision, v.Hole, want)
		}
	}
}

// A rule about a program that runs another one takes a shell and its line among the arguments, too: the source looks
// at that line.
func TestShellsAmongArguments(t *testing.T) {
	fsys := memfs.FS{"session:claude/r.settings.json": []byte(permissions("default",
		[]string{"Bash(xargs:*)", "Bash(sudo *)", "Bash(bash x.sh)"}, nil, nil))}
	deciders, _ := Open(fsys, "")
	for line, hole := range map[string]bool{
		"xargs rm":                  false,
		"xargs bash -c":             true,
		"sudo -u me /bin/bash -c x": true,
		"sudo ls":                   false,
		"bash x.sh":                 false,
	} {
		v := deciders[0].Decide(ir.SubjectRef{Role: "r"}, policy.Action{Group: ir.Command, Arg: line})
		want := ir.Allow
		if hole {
			want = ir.Ask
		}
		if v.Decision != want || (v.Hole != nil) != hole {
			t.Errorf("%s: got %s and the hole %+v", line, v.Decision, v.Hole)
		}
	}
}

func TestOpenArgs(t *testing.T) {
	settings := permissions("plan", []string{"Bash(foo *)"}, nil, nil)
	fsys := fstest.MapFS{"r.settings.json": {Data: []byte(settings)}}
	for _, c := range []struct {
		args []string
		a    policy.Action
		want ir.Decision
	}{
		{[]string{"--allowedTools", "Bash(a b,c),Bash(touch *)"}, policy.Action{Group: ir.Command, Arg: "touch x"},
			ir.Allow},
		{[]string{"--allowedTools", "Bash(a b,c) Bash(touch *)"}, policy.Action{Group: ir.Command, Arg: "a b,c"},
			ir.Allow},
		{[]string{"--allowed-tools", "Bash(a)", "Bash(touch *)", "--model", "x"},
			policy.Action{Group: ir.Command, Arg: "touch x"}, ir.Allow},
		{[]string{"--allowedTools=Bash(touch *)", "--disallowed-tools", "Bash(touch y)"},
			policy.Action{Group: ir.Command, Arg: "touch y"}, ir.Deny},
		{[]string{"--disallowedTools", "Edit,Write"}, policy.Action{Group: ir.Edit, Arg: "x"}, ir.Deny},
		{[]string{"--tools", "Read,Bash(git *)"}, policy.Action{Group: ir.Command, Arg: "ls"}, ir.Deny},
		{[]string{"--tools", ""}, policy.Action{Group: ir.Read, Arg: "x"}, ir.Deny},
		{[]string{"--tools", "default"}, policy.Action{Group: ir.Read, Arg: "x"}, ir.Allow},
		{[]string{"--tools", "Read"}, policy.Action{Group: ir.MCP, Server: "s", Arg: "t"}, ir.Ask},
		{[]string{"--strict-mcp-config"}, policy.Action{Group: ir.MCP, Server: "s", Arg: "t"}, ir.Deny},
		{[]string{"--settings=r.settings.json", "--permission-mode=acceptEdits"},
			policy.Action{Group: ir.Edit, Arg: "x"}, ir.Allow},
		{[]string{"--settings", "r.settings.json", "--append-system-prompt=--tools"},
			policy.Action{Group: ir.Command, Arg: "foo x"}, ir.Allow},
		{[]string{"--permission-mode", "plan"}, policy.Action{Group: ir.Command, Arg: "foo x"},
			ir.Allow}, // the classifier of auto may say so
		{[]string{"--dangerously-skip-permissions"}, policy.Action{Group: ir.Edit, Arg: "/x"}, ir.Allow},
	} {
		s, _, err := OpenArgs(fsys, c.args, diag.Pos{File: "args"})
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
		} else if v := s.Decide(c.a); v.Decision != c.want {
			t.Errorf("%q, %s %q: got %s by %s, want %s", c.args, c.a.Group, c.a.Arg, v.Decision, v.Rule, c.want)
		}
	}
	for _, args := range [][]string{
		{"--permission-mode", "bogus"}, {"--permission-mode"}, {"--settings", "gone.json"},
	} {
		if _, _, err := OpenArgs(fsys, args, diag.Pos{File: "args"}); err == nil {
			t.Errorf("%q: got no error: claude does not start with it", args)
		}
	}
}

func TestDecideConcurrently(t *testing.T) {
	d := hooked(t, "default", hookLine, "Bash(free *)")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				for _, a := range []policy.Action{
					{Group: ir.Command, Arg: "free x && ls > docs/a"},
					{Group: ir.Read, Arg: ".env"},
					{Group: ir.Web, Arg: "a.example.com"},
				} {
					d.Decide(roleR, a)
				}
			}
		})
	}
	wg.Wait()
	if v := d.Decide(roleR, policy.Action{Group: ir.Edit, Arg: "docs/a"}); v.Decision != ir.Allow {
		t.Errorf("got %s after many at once, want allow", v.Decision)
	}
}

func BenchmarkDecide(b *testing.B) {
	d := hooked(b, "default", hookLine, "Bash(free *)")
	for _, a := range []policy.Action{
		{Group: ir.Command, Arg: "npm test && git log --oneline | head"},
		{Group: ir.Read, Arg: "src/a.ts"},
		{Group: ir.MCP, Server: "my docs", Arg: "get_x"},
	} {
		b.Run(string(a.Group), func(b *testing.B) {
			for b.Loop() {
				d.Decide(ir.SubjectRef{Role: "r", Mode: "m"}, a)
			}
		})
	}
}

// FuzzOpen: whatever lies in the files, opening and deciding never panic, and
// what a deny rule of the flags names is never permitted.
func FuzzOpen(f *testing.F) {
	settings := permissions("default", []string{"Bash(git *)"}, []string{"Edit(a/**)"},
		[]string{"Read(.env)", "Edit([!a-z]*)"})
	f.Add([]byte(settings), []byte("---\nname: m\ntools: Read, Bash\n---\n"), "git log | cat <<E\nx\nE")
	hook := `{"hooks":{"PreToolUse":[{"matcher":"(","hooks":[{"type":"command","command":"modec hook claude"}]}]}}`
	f.Add([]byte(hook), []byte("---\n"), "$(x")
	f.Add([]byte(`{"permissions":{"deny":["Edit(\\)","Edit([)","Bash(\\*)","Edit(a[]-b]c)"]}}`),
		[]byte("---\nname: [\n---"), "time ! (a) & b")
	f.Fuzz(func(t *testing.T, settings, agent []byte, arg string) {
		fsys := fstest.MapFS{"session:claude/r.settings.json": {Data: settings}, ".claude/agents/m.md": {Data: agent},
			contract.PolicyFile: {Data: agent}, ".mcp.json": {Data: settings}}
		deciders, _ := Open(fsys, "")
		for _, d := range deciders {
			for _, ref := range []ir.SubjectRef{roleR, {Mode: "m"}, {Role: "r", Mode: "m"}} {
				for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.Modes, ir.Unknown} {
					d.Decide(ref, policy.Action{Group: g, Arg: arg})
				}
				d.Decide(ref, policy.Action{Group: ir.MCP, Server: arg, Arg: arg})
			}
		}
		s, _, err := OpenArgs(fsys, []string{"--allowedTools", arg, "--disallowedTools", "Bash(held *)"},
			diag.Pos{File: "args"})
		if err != nil {
			t.Fatal(err)
		}
		if v := s.Decide(policy.Action{Group: ir.Command, Arg: "held " + "x"}); v.Decision != ir.Deny {
			t.Errorf("got %s for what a deny rule names", v.Decision)
		}
	})
}

// does is what Claude Code does in the end: what the rules and hooks say, and
// what it approves beyond them. A search over a folder is another call.
func does(v contract.Verdict) ir.Decision {
	if v.Hole != nil && !strings.Contains(v.Hole.Why, "over the project's folder") {
		return max(v.Decision, v.Hole.Decision)
	}
	return v.Decision
}

func doesBare(v contract.Verdict) ir.Decision {
	if v.Bare == nil {
		return does(v)
	}
	if v.BareHole != nil {
		return max(v.Bare.Decision, v.BareHole.Decision)
	}
	return v.Bare.Decision
}

// An allow for PowerShell compares lines without case, and permits nothing of a line that it does not match as a whole.
func TestDecidePowerShell(t *testing.T) {
	d := opened(t, `{"permissions": {"allow": ["PowerShell(npm test *)"], "deny": ["Edit(.git/**)"]}}`, nil)
	for line, want := range map[string]ir.Decision{
		"npm test x": ir.Allow, "npm test": ir.Allow, "NPM tesT x": ir.Allow, "npm test && npm test x": ir.Allow,
		"npm test && rm x": ir.Ask, "npm test '": ir.Ask, "npm test > x": ir.Ask, "npm testx": ir.Ask,
		"ls > .git/config": ir.Deny, "npm test > .git/config": ir.Deny,
	} {
		v := d.Decide(roleR, policy.Action{Group: ir.Command, Arg: line})
		if got := does(v); got != want {
			t.Errorf("%s: got %s by %s, want %s", line, got, v.Rule, want)
		}
	}
}
