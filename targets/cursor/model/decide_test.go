package model

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/hook"
	"modec.dev/modec/targets/cursor/internal/shop"
)

const devHook = `{ modec hook cursor --subject role:dev || exit 2; }`

// hooksOf writes a hooks.json with one entry for each gating event.
func hooksOf(entry string) string {
	var b strings.Builder
	for _, e := range []string{"beforeMCPExecution", "beforeReadFile", "beforeShellExecution", "beforeTabFileRead",
		"preToolUse", "subagentStart"} {
		fmt.Fprintf(&b, "%q: [%s],", e, entry)
	}
	return `{"version": 1, "hooks": {` + strings.TrimSuffix(b.String(), ",") + `}}`
}

func entryOf(command string) string {
	return fmt.Sprintf(`{"command": %q, "timeout": 10, "failClosed": true}`, command)
}

const (
	devPermissions = `{
  // a comment
  "approvalMode": "allowlist",
  "mcpAllowlist": ["docs:get", "github:list_issues"],
  "terminalAllowlist": ["git log"],
}`
	devCLI = `{"permissions": {
  "allow": ["Mcp(docs:get)", "Mcp(github:list_issues)", "Shell(git log)", "WebFetch(docs.example)"],
  "deny": ["Mcp(github:delete_repo)", "Shell(git push)", "Read(**/secrets/**)", "Write(.cursor/**)"]
}}`
)

// files is what a build of shop may write; more lays files over it, "" takes
// one away.
func files(t *testing.T, more map[string]string) fstest.MapFS {
	t.Helper()
	model, err := shop.Project().Decisions().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	out := fstest.MapFS{}
	all := map[string]string{contract.PolicyFile: string(model), "session:cursor/dev/permissions.json": devPermissions,
		"session:cursor/dev/cli.json": devCLI, "session:cursor/dev/hooks.json": hooksOf(entryOf(devHook))}
	for name, data := range more {
		all[name] = data
	}
	for name, data := range all {
		if data != "" {
			out[name] = &fstest.MapFile{Data: []byte(data)}
		}
	}
	return out
}

func openFiles(t *testing.T, fsys fstest.MapFS) (ide, cli contract.Decider, diags diag.List) {
	t.Helper()
	deciders, diags := Open(fsys, contract.Options{}, hook.Answer)
	if len(deciders) != 2 || deciders[0].Surface() != "ide" || deciders[1].Surface() != "cli" {
		t.Fatalf("got %d deciders, want ide and cli: %v", len(deciders), diags)
	}
	return deciders[0], deciders[1], diags
}

var dev = ir.SubjectRef{Role: "dev"}

// short writes an answer as decision and halves: "deny both".
func short(a *contract.Answer) string {
	if a == nil {
		return "-"
	}
	return a.Decision.String() +
		map[contract.Halves]string{contract.Neither: "", contract.Access: " access", contract.Approval: " approval",
			contract.Both: " both"}[a.Governs]
}

func TestDecide(t *testing.T) {
	ide, cli, diags := openFiles(t, files(t, nil))
	if len(diags) > 0 {
		t.Errorf("got %v, want no warning", diags)
	}
	act := func(g ir.Group, arg string) policy.Action { return policy.Action{Group: g, Arg: arg} }
	tool := func(server, name string) policy.Action {
		return policy.Action{Group: ir.MCP, Server: server, Arg: name}
	}
	for _, c := range []struct {
		name              string
		a                 policy.Action
		ide, ideBare      string
		cli, cliBare      string
		ideHole, cliHole  ir.Decision
		ideRule, cliRules string // what the rule starts with; "" is not held
	}{
		{"a read", act(ir.Read, "src/a.go"), "allow access", "allow", "allow access", "allow access", 0, 0, "", ""},
		{"a denied read", act(ir.Read, "secrets/key"), "deny access", "allow", "deny access", "deny access", ir.Allow,
			ir.Allow, "preToolUse: { modec", "preToolUse: { modec"},
		{"a read that is asked is refused", act(ir.Read, "contracts/x"), "deny access", "allow", "deny access",
			"allow access", ir.Allow, ir.Allow, "", ""},
		{"another case passes the tokens", act(ir.Read, "SECRETS/key"), "deny access", "allow", "deny access",
			"allow access", ir.Allow, ir.Allow, "", ""},
		{"a line break passes the tokens", act(ir.Read, "a\nb/secrets/key"), "deny access", "allow", "deny access",
			"allow access", ir.Allow, ir.Allow, "", ""},
		{"an edit", act(ir.Edit, "src/a.go"), "allow access", "allow", "allow access", "allow access", 0, 0, "", ""},
		{"an edit by default", act(ir.Edit, "README.md"), "deny access", "allow", "deny access", "allow access", 0, 0,
			"", ""},
		{"a relative token holds nothing", act(ir.Edit, ".cursor/hooks.json"), "deny access", "allow", "deny access",
			"allow access", 0, 0, "", ""},
		{"out of the project", act(ir.Edit, "../src/x"), "deny access", "ask", "deny access", "ask", 0, 0, "", ""},
		{"a home path", act(ir.Edit, "~/src/x"), "deny access", "ask", "deny access", "ask", 0, 0, "", ""},
		{"NUL", act(ir.Edit, "src/a\x00b"), "deny access", "ask", "deny access", "ask", 0, 0, "", ""},
		{"an allowed command", act(ir.Command, "git log -3"), "allow both", "allow approval", "allow both",
			"allow both", 0, 0, "git log", "Shell(git log)"},
		{"an unlisted command", act(ir.Command, "make"), "ask both", "ask approval", "ask both", "ask both", 0, 0,
			"no entry", "no entry"},
		{"a denied command", act(ir.Command, "git push"), "deny both", "ask approval", "deny both", "deny both", 0, 0,
			"beforeShellExecution", "beforeShellExecution"},
		{"a denied command in another spelling", act(ir.Command, "/usr/bin/git push"), "deny both", "ask approval",
			"deny both", "ask both", 0, 0, "", ""},
		{"the hook asks where the list allows", act(ir.Command, "git log > x"), "deny both", "allow approval",
			"deny both", "allow both", 0, 0, "", ""},
		{"an assignment", act(ir.Command, "PAGER=x git log"), "ask both", "allow approval", "ask both", "allow both", 0,
			0, "beforeShellExecution", "beforeShellExecution"},
		{"no command", act(ir.Command, ""), "deny both", "ask approval", "deny both", "ask both", 0, 0, "", ""},
		{"a listed host", act(ir.Web, "docs.example"), "allow access", "allow", "allow both", "allow approval", 0, 0,
			"", "WebFetch(docs.example)"},
		{"a host that is asked is refused", act(ir.Web, "maybe.example"), "deny access", "allow", "deny both",
			"ask approval", 0, 0, "", ""},
		{"an unlisted host", act(ir.Web, "evil.example"), "deny access", "allow", "deny both", "ask approval", 0, 0, "",
			""},
		{"a host that is none", act(ir.Web, "a b"), "deny access", "allow", "deny both", "ask approval", 0, 0, "", ""},
		{"a search", act(ir.Web, ""), "deny access", "allow", "deny both", "ask approval", 0, 0, "", ""},
		{"a listed tool", tool("github", "list_issues"), "allow both", "allow approval", "allow both", "allow both", 0,
			0, "github:list_issues", "Mcp(github:list_issues)"},
		{"an asked tool", tool("github", "create_issue"), "ask both", "ask approval", "ask both", "ask both", 0, 0,
			"no entry", "no Mcp token"},
		{"a denied tool", tool("github", "delete_repo"), "deny both", "ask approval", "deny both", "deny both", 0, 0,
			"", ""},
		{"a server that is off", tool("admin", "drop"), "deny both", "ask approval", "deny both", "ask both", 0, 0, "",
			""},
		{"an unknown tool of an open server", tool("docs", "other"), "ask both", "ask approval", "ask both", "ask both",
			0, 0, "", ""},
		{"an unknown server", tool("nobody", "x"), "deny both", "ask approval", "deny both", "ask both", 0, 0, "", ""},
		{"a resource", policy.Action{Group: ir.MCP, Server: "docs", Kind: policy.Resource, Arg: "x"}, "allow access",
			"allow", "allow access", "allow", 0, 0, "", ""},
		{"a resource that is asked is refused",
			policy.Action{Group: ir.MCP, Server: "github", Kind: policy.Resource, Arg: "x"}, "deny access", "allow",
			"deny access", "allow", 0, 0, "", ""},
		{"a prompt is a person's", policy.Action{Group: ir.MCP, Server: "admin", Kind: policy.Prompt, Arg: "x"},
			"allow", "-", "allow", "-", 0, 0, "", ""},
		{"a subagent", act(ir.Modes, "explore"), "allow access", "allow", "allow access", "allow", 0, 0, "", ""},
		{"another subagent", act(ir.Modes, "shell"), "deny access", "allow", "deny access", "allow", 0, 0, "", ""},
		{"a subagent without a type", act(ir.Modes, ""), "deny access", "allow", "deny access", "allow", 0, 0, "", ""},
		{"an unknown tool, of which nothing is said", act(ir.Unknown, "Telepathy"), "allow access", "allow",
			"allow access", "allow", 0, 0, "", ""},
	} {
		for _, s := range []struct {
			decider          contract.Decider
			want, bare, rule string
			hole             ir.Decision
		}{{ide, c.ide, c.ideBare, c.ideRule, c.ideHole}, {cli, c.cli, c.cliBare, c.cliRules, c.cliHole}} {
			v := s.decider.Decide(dev, c.a)
			if got := short(&v.Answer); got != s.want {
				t.Errorf("%s, %s: got %s by %q, want %s", c.name, s.decider.Surface(), got, v.Rule, s.want)
			}
			if v.BareHole != nil { // what the engine runs all the same
				v.Bare.Decision = max(v.Bare.Decision, v.BareHole.Decision)
			}
			if got := short(v.Bare); got != s.bare {
				t.Errorf("%s, %s without hooks: got %s, want %s", c.name, s.decider.Surface(), got, s.bare)
			}
			if !strings.HasPrefix(v.Rule, s.rule) {
				t.Errorf("%s, %s: got the rule %q, want %q", c.name, s.decider.Surface(), v.Rule, s.rule)
			}
			if v.Rule == "" || v.At.File == "" && v.Governs&contract.Approval != 0 {
				t.Errorf("%s, %s: got the rule %q at %v, want both", c.name, s.decider.Surface(), v.Rule, v.At)
			}
			hole := ir.Deny
			if v.Hole != nil {
				hole = v.Hole.Decision
			}
			if hole != s.hole {
				t.Errorf("%s, %s: got the hole %+v, want %s", c.name, s.decider.Surface(), v.Hole, s.hole)
			}
		}
	}
	for _, ref := range []ir.SubjectRef{{}, {Role: "nobody"}, {Mode: "dev"}, {Role: "dev", Mode: "x"}} {
		if v := cli.Decide(ref, act(ir.Read, "x")); v != (contract.Verdict{}) {
			t.Errorf("%v is held by nothing: got %+v", ref, v)
		}
	}
}

// What is typed into a running shell may do what the line of a command may not,
// where every command is allowed.
func TestTypedHole(t *testing.T) {
	for allow, want := range map[string]bool{"*": true, "ls *": false} {
		p := shop.Role(ir.Can{Command: shop.Table(ir.Ask, shop.Rule(ir.Allow, allow, 1)), Edit: shop.Table(ir.Deny)})
		model, err := p.Decisions().Marshal()
		if err != nil {
			t.Fatal(err)
		}
		_, cli, _ := openFiles(t, files(t, map[string]string{contract.PolicyFile: string(model)}))
		v := cli.Decide(dev, policy.Action{Group: ir.Command, Arg: "ls > out"})
		if v.Decision != ir.Deny || (v.Hole != nil) != want {
			t.Errorf("allow %s: got %s and the hole %+v, want %v", allow, v.Decision, v.Hole, want)
		}
	}
}

// What Cursor makes of hooks that are not those that a build writes. A read is
// asked of two events, a tool of three.
func TestForeignHooks(t *testing.T) {
	only := func(event, entry string) string {
		return `{"version": 1, "hooks": {"` + event + `": [` + entry + `]}}`
	}
	modecEntry := entryOf(devHook)
	denied := policy.Action{Group: ir.Edit, Arg: "README.md"}
	push := policy.Action{Group: ir.Command, Arg: "git push"}
	log := policy.Action{Group: ir.Command, Arg: "PAGER=x git log"}
	drop := policy.Action{Group: ir.MCP, Server: "admin", Arg: "drop"}
	allowed := policy.Action{Group: ir.Edit, Arg: "src/x.go"}
	for _, c := range []struct {
		name, hooks string
		a           policy.Action
		ide, cli    ir.Decision
		warns       string // part of the warning; "" for none
	}{
		{"as built", hooksOf(modecEntry), denied, ir.Deny, ir.Deny, ""},
		{"with comments", "// x\n" + hooksOf(modecEntry) + "/* y\n */", denied, ir.Deny, ir.Deny, ""},
		{"no entry for the event", only("beforeReadFile", modecEntry), denied, ir.Allow, ir.Allow, ""},
		{"another event of the same tool", only("beforeShellExecution", modecEntry), push, ir.Deny, ir.Deny, ""},
		{"the wrong event for a command", only("preToolUse", modecEntry), push, ir.Ask, ir.Deny, ""},
		{"a matcher that matches",
			only("preToolUse",
				strings.Replace(modecEntry, "{", `{"matcher": "^(Write|Delete|StrReplace|EditNotebook)$",`, 1)), denied,
			ir.Deny, ir.Deny, ""},
		{"a matcher that misses one tool",
			only("preToolUse", strings.Replace(modecEntry, "{", `{"matcher": "Write",`, 1)), denied, ir.Allow, ir.Allow,
			""},
		{"a program that says nothing", `{"version": 1, "hooks": {"afterFileEdit": [{"command": "./format.sh"}]}}`,
			policy.Action{Group: ir.Read, Arg: "secrets/x"}, ir.Allow, ir.Deny,
			"a person's own program"},
		{"a matcher is a search",
			only("beforeShellExecution", strings.Replace(modecEntry, "{", `{"matcher": "push",`, 1)), push, ir.Deny,
			ir.Deny, ""},
		{"a matcher of the command that misses",
			only("beforeShellExecution", strings.Replace(modecEntry, "{", `{"matcher": "^rm",`, 1)), log, ir.Allow,
			ir.Allow, ""},
		{"a matcher of MCP tools",
			only("beforeMCPExecution", strings.Replace(modecEntry, "{", `{"matcher": "^MCP:drop$",`, 1)), drop, ir.Deny,
			ir.Deny, ""},
		{"the matcher *", only("preToolUse", strings.Replace(modecEntry, "{", `{"matcher": "*",`, 1)), denied, ir.Deny,
			ir.Deny, ""},
		{"a matcher that is none", only("preToolUse", strings.Replace(modecEntry, "{", `{"matcher": "(",`, 1)), denied,
			ir.Allow, ir.Allow, "runs none of these hooks: preToolUse: got a matcher"},
		{"a matcher that is no text", only("preToolUse", strings.Replace(modecEntry, "{", `{"matcher": null,`, 1)),
			denied, ir.Allow, ir.Allow, "runs none of these hooks"},
		{"no version", strings.Replace(hooksOf(modecEntry), `"version": 1,`, "", 1), denied, ir.Allow, ir.Allow,
			"got no version"},
		{"half a version", strings.Replace(hooksOf(modecEntry), `"version": 1,`, `"version": 1.5,`, 1), denied,
			ir.Allow, ir.Allow, "got no version"},
		{"no hooks", `{"version": 1}`, denied, ir.Allow, ir.Allow, "got no hooks"},
		{"an unknown event", strings.Replace(hooksOf(modecEntry), `"preToolUse":`, `"x": [], "preToolUse":`, 1), denied,
			ir.Allow, ir.Allow, `got the event "x"`},
		{"an event that is no list",
			strings.Replace(hooksOf(modecEntry), `"preToolUse":`, `"stop": {}, "preToolUse":`, 1), denied, ir.Allow,
			ir.Allow, "stop: got an object, want a list"},
		{"one bad entry takes all away",
			strings.Replace(hooksOf(modecEntry), `"preToolUse": [`, `"preToolUse": [{"command": 1},`, 1), denied,
			ir.Allow, ir.Allow, "got a hook without a command"},
		{"a type that is none",
			strings.Replace(hooksOf(modecEntry), `"preToolUse": [`, `"preToolUse": [{"type": "x", "command": "y"},`, 1),
			denied, ir.Allow, ir.Allow, "unknown type"},
		{"no time at all", only("preToolUse", strings.Replace(modecEntry, "10", "0", 1)), denied, ir.Allow, ir.Allow,
			"timeout"},
		{"a loop_limit of none", only("preToolUse", strings.Replace(modecEntry, "{", `{"loop_limit": 0,`, 1)), denied,
			ir.Allow, ir.Allow, "loop_limit"},
		{"failClosed as a text", only("preToolUse", strings.Replace(modecEntry, "true", `"true"`, 1)), denied, ir.Allow,
			ir.Allow, "failClosed"},
		{"no JSON", "{", denied, ir.Allow, ir.Allow, "runs none of these hooks"},
		{"an address cuts the file off", strings.Replace(hooksOf(modecEntry), "role:dev", "role:dev//x", 1), denied,
			ir.Allow, ir.Allow, "runs none of these hooks"},
		{"one of them denies",
			strings.Replace(hooksOf(modecEntry), `"preToolUse": [`, `"preToolUse": [{"command": "true"},`, 1), denied,
			ir.Deny, ir.Deny, "is not known"},
		{"a stranger may allow", hooksOf(`{"command": "./check.sh", "failClosed": true}`), log, ir.Allow, ir.Ask,
			"is not known"}, // the CLI takes no allow of a hook, and has a hole for the line with and without it
		{"in the IDE also what no list holds", hooksOf(`{"command": "./check.sh", "failClosed": true}`),
			policy.Action{Group: ir.Command, Arg: "make"}, ir.Allow, ir.Ask, "is not known"},
		{"a hook that asks a model", hooksOf(`{"type": "prompt", "prompt": "is it safe?"}`), denied, ir.Allow, ir.Allow,
			"asks a model"},
		{"not closed, beside a modec that is there",
			hooksOf(`{"command": "modec hook cursor --subject role:dev", "timeout": 10}`),
			denied, ir.Allow, ir.Allow, "lets every call pass where modec is missing"},
		{"closed by Cursor",
			hooksOf(`{"failClosed": true,
				"command": "modec hook cursor --subject role:dev"}`),
			denied, ir.Deny, ir.Deny, ""},
		{"closed by the line", hooksOf(strings.Replace(modecEntry, `, "failClosed": true`, "", 1)), denied, ir.Deny,
			ir.Deny, ""},
		{"too little time, and open",
			hooksOf(strings.NewReplacer(`, "failClosed": true`, "", "10", "2").Replace(modecEntry)), denied, ir.Allow,
			ir.Allow, "may end before"},
		{"too little time, but closed", hooksOf(strings.Replace(modecEntry, "10", "1", 1)), denied, ir.Deny, ir.Deny,
			""},
		{"another agent's hook refuses", hooksOf(strings.Replace(modecEntry, "cursor", "claude", 1)), allowed, ir.Deny,
			ir.Deny, `the hook is for "claude"`},
		{"a subject of nobody refuses", hooksOf(strings.Replace(modecEntry, "role:dev", "role:nobody", 1)), allowed,
			ir.Deny, ir.Deny, `got subject "role:nobody"`},
		{"passes where modec refuses", hooksOf(entryOf(strings.Replace(devHook, "exit 2", "echo '{}'", 1))), denied,
			ir.Allow, ir.Allow, "goes on where modec fails"},
		{"a hook that may allow", hooksOf(strings.Replace(modecEntry, " || exit 2", " --may-allow || exit 2", 1)),
			policy.Action{Group: ir.MCP, Server: "docs", Arg: "other"}, ir.Allow, ir.Ask, ""},
	} {
		ide, cli, diags := openFiles(t, files(t, map[string]string{"session:cursor/dev/hooks.json": c.hooks}))
		for d, want := range map[contract.Decider]ir.Decision{ide: c.ide, cli: c.cli} {
			if v := d.Decide(dev, c.a); v.Decision != want {
				t.Errorf("%s, %s: got %s by %q, want %s", c.name, d.Surface(), v.Decision, v.Rule, want)
			}
		}
		message := ""
		if len(diags) > 0 {
			message = diags[0].Message
		}
		if (c.warns == "") != (len(diags) == 0) || !strings.Contains(message, c.warns) {
			t.Errorf("%s: got the warning %q, want %q", c.name, message, c.warns)
		}
	}
}

// Without hooks, what goes past a deny token by its spelling is a hole of the
// engine, and what no token was there for is not.
func TestSpellingHoles(t *testing.T) {
	_, cli, _ := openFiles(t,
		files(t, map[string]string{"session:cursor/dev/hooks.json": "",
			"session:cursor/dev/cli.json": `{"permissions": {
			"allow": ["Shell(ls)"], "deny": ["Read(**/secrets/**)", "Shell(rm*)", "Shell(*)"]}}`}))
	for _, c := range []struct {
		group    ir.Group
		arg      string
		decision ir.Decision
		hole     ir.Decision // Deny: none
	}{
		{ir.Read, "secrets/x", ir.Deny, ir.Deny},
		{ir.Read, "SECRETS/x", ir.Deny, ir.Allow},
		{ir.Read, "ſecrets/x", ir.Deny, ir.Allow},
		{ir.Read, "secrets/x\ny", ir.Deny, ir.Allow},
		{ir.Read, `secrets\x`, ir.Deny, ir.Allow},
		{ir.Read, "src/x", ir.Allow, ir.Deny},
		{ir.Edit, "secrets/x", ir.Allow, ir.Deny},
		{ir.Command, "make", ir.Deny, ir.Deny},
		{ir.Command, "X=1", ir.Deny, ir.Ask},
		{ir.Command, "&&", ir.Deny, ir.Ask},
		{ir.Command, "; ls", ir.Deny, ir.Allow},
	} {
		v := cli.Decide(dev, policy.Action{Group: c.group, Arg: c.arg})
		hole := ir.Deny
		if v.Hole != nil {
			hole = v.Hole.Decision
		}
		if v.Decision != c.decision || hole != c.hole || v.Bare != nil {
			t.Errorf("%s %q: got %s by %q and the hole %+v, want %s, %s", c.group, c.arg, v.Decision, v.Rule, v.Hole,
				c.decision, c.hole)
		}
	}
}

// Which files decide for whom.
func TestFiles(t *testing.T) {
	const guided = "session:cursor/dev/"
	open := `{"permissions": {"allow": ["Mcp(*:*)", "Shell(*)"], "deny": []}}`
	create := policy.Action{Group: ir.MCP, Server: "github", Arg: "create_issue"}
	for _, c := range []struct {
		name     string
		more     map[string]string
		a        policy.Action
		ide, cli string
	}{
		{"a profile", nil, create, "ask both", "ask both"},
		{"the project's own cli.json counts where it permits more",
			map[string]string{".cursor/cli.json": open, ".cursor/hooks.json": hooksOf(entryOf(devHook))}, create,
			"ask both", "allow both"},
		{"and its hooks",
			map[string]string{".cursor/hooks.json": strings.ReplaceAll(hooksOf(entryOf(devHook)), "preToolUse",
				"stop")}, policy.Action{Group: ir.Edit, Arg: "README.md"}, "allow access", "allow access"},
		{"the project's own files without a profile",
			map[string]string{guided + "permissions.json": "", guided + "cli.json": "", guided + "hooks.json": "",
				".cursor/cli.json": devCLI, ".cursor/hooks.json": hooksOf(entryOf(devHook))}, create, "ask both",
			"ask both"},
		{"its own permissions.json adds to the lists of the IDE by the documentation",
			map[string]string{".cursor/permissions.json": `{"mcpAllowlist": ["*:*"]}`}, create, "allow both",
			"ask both"},
		{"also where a profile has none",
			map[string]string{".cursor/permissions.json": `{"mcpAllowlist": ["github:*"]}`, guided +
				"permissions.json": "", guided + "hooks.json": ""}, create, "allow approval", "ask both"},
		{"and its run mode runs everything",
			map[string]string{".cursor/permissions.json": `{"approvalMode": "unrestricted"}`, guided +
				"hooks.json": ""}, policy.Action{Group: ir.Command, Arg: "make"}, "allow approval", "ask both"},
		{"what holds back there is not taken by other versions",
			map[string]string{".cursor/permissions.json": `{"approvalMode": "manual", "mcpAllowlist": []}`, guided +
				"hooks.json": ""}, policy.Action{Group: ir.Command, Arg: "git log"}, "allow approval", "allow both"},
		{"hooks of somebody's own alone hold nothing",
			map[string]string{guided + "hooks.json": "", guided + "cli.json": "",
				".cursor/hooks.json": `{"version": 1, "hooks": {"afterFileEdit": [{"command": "./format.sh"}]}}`},
			policy.Action{Group: ir.Read, Arg: "secrets/x"}, "allow", "allow"},
		{"and may allow what the lists ask about",
			map[string]string{guided + "hooks.json": "", guided + "cli.json": "",
				".cursor/hooks.json": `{"version": 1, "hooks": {"beforeShellExecution": [{"command": "./ask.sh"}]}}`},
			policy.Action{Group: ir.Command, Arg: "make"}, "allow approval", "ask"},
		{"no policy: the hooks refuse", map[string]string{contract.PolicyFile: ""},
			policy.Action{Group: ir.Read, Arg: "src/x"}, "deny access", "deny access"},
		{"a policy that cannot be read: the hooks refuse", map[string]string{contract.PolicyFile: "{}"},
			policy.Action{Group: ir.Read, Arg: "src/x"}, "deny access", "deny access"},
		{"no hooks", map[string]string{guided + "hooks.json": ""}, create, "ask approval", "ask both"},
		{"no list in the IDE is the user's own, which allows nothing",
			map[string]string{guided + "permissions.json": "", guided + "hooks.json": ""}, create, "ask", "ask both"},
		{"a list that cannot be read too",
			map[string]string{guided + "permissions.json": "{", guided + "hooks.json": ""}, create, "ask",
			"ask both"},
		{"and tokens that cannot be read",
			map[string]string{guided + "cli.json": devCLI + "// x", guided + "hooks.json": ""}, create, "ask approval",
			"ask"},
		{"manual asks about commands",
			map[string]string{guided +
				"permissions.json": strings.Replace(devPermissions, `"allowlist"`, `"manual"`, 1), guided +
				"hooks.json": ""}, policy.Action{Group: ir.Command, Arg: "git log"}, "ask approval", "allow both"},
		{"Run Everything runs everything",
			map[string]string{guided + "permissions.json": `{"approvalMode": "unrestricted"}`, guided +
				"hooks.json": ""}, create, "allow approval", "ask both"},
		{"an empty list without a mode is the settings'",
			map[string]string{guided + "permissions.json": `{"mcpAllowlist": []}`, guided + "hooks.json": ""}, create,
			"ask", "ask both"},
		{"an empty list with a mode is empty",
			map[string]string{guided + "permissions.json": `{"approvalMode": "allowlist", "mcpAllowlist": []}`, guided +
				"hooks.json": ""}, create, "ask approval", "ask both"},
		{"a list of globs is read as the engine reads it",
			map[string]string{guided + "permissions.json": `{"mcpAllowlist": ["git*:create_*"]}`, guided +
				"hooks.json": ""}, create, "allow approval", "ask both"},
		{"an alias in the list",
			map[string]string{guided + "permissions.json": `{"mcpAllowlist": ["user-github:create_issue"]}`, guided +
				"hooks.json": ""}, create, "allow approval", "ask both"},
		{"texts that are none",
			map[string]string{guided + "permissions.json": `{"mcpAllowlist": [1, "github:create_issue", null]}`,
				guided + "hooks.json": ""}, create, "allow approval", "ask both"},
	} {
		subject := contract.NewOptions(nil, map[string]any{"subject": "role:dev"}, nil)
		deciders, _ := Open(files(t, c.more), subject, hook.Answer)
		if len(deciders) != 2 {
			t.Errorf("%s: got %d deciders", c.name, len(deciders))
			continue
		}
		for i, want := range []string{c.ide, c.cli} {
			if v := deciders[i].Decide(dev, c.a); short(&v.Answer) != want {
				t.Errorf("%s, %s: got %s by %q, want %s", c.name, deciders[i].Surface(), short(&v.Answer), v.Rule, want)
			}
		}
	}
}

// Cursor's own settings stand above the lists, in the editor and on the command line.
func TestSettings(t *testing.T) {
	tool := func(server, name string) policy.Action {
		return policy.Action{Group: ir.MCP, Server: server, Arg: name}
	}
	for _, c := range []struct {
		options  map[string]any
		a        policy.Action
		ide, cli string
	}{
		{nil, tool("docs", "get"), "allow both", "allow both"},
		{map[string]any{"mcpToolsProtection": true}, tool("docs", "get"), "ask both", "allow both"},
		{map[string]any{"mcpToolAllowlist": []string{}}, tool("docs", "get"), "ask both", "ask both"},
		{map[string]any{"mcpToolAllowlist": []string{"docs:*"}}, tool("docs", "get"), "ask both runs", "ask both runs"},
		{map[string]any{"mcpToolAllowlist": []string{"github:*"}}, tool("github", "create_issue"), "ask both runs",
			"ask both runs"},
		{map[string]any{"mcpToolAllowlist": []string{"github:*"}}, tool("github", "delete_repo"), "deny both", "deny both"},
	} {
		deciders, _ := Open(files(t, nil), contract.NewOptions(nil, c.options, nil), hook.Answer)
		for i, want := range []string{c.ide, c.cli} {
			v := deciders[i].Decide(dev, c.a)
			got := short(&v.Answer)
			if v.Hole != nil {
				got += " runs"
			}
			if got != want {
				t.Errorf("%v, %s of %s: got %s by %q, want %s", c.options, c.a.Arg, deciders[i].Surface(), got, v.Rule, want)
			}
		}
	}
}

// A profile is its folder's subject, however it is called.
func TestProfileOf(t *testing.T) {
	p := shop.Project()
	p.Roles[0].Name = "a//b c"
	p.Modes = []ir.Mode{{Slug: "arch", Name: "Arch"}}
	o := opened{project: p}
	for dir, want := range map[string]ir.SubjectRef{"a%2F%2Fb%20c": {Role: "a//b c"}, "mode%3Aarch": {Mode: "arch"},
		"dev": {}} {
		if got, ok := o.profileOf(dir); got != want || ok != (want != ir.SubjectRef{}) {
			t.Errorf("%s: got %v, %v, want %v", dir, got, ok, want)
		}
	}
	o.project = nil
	for dir, want := range map[string]ir.SubjectRef{"a%2F%2Fb%20c": {Role: "a//b c"}, "mode%3Aarch": {Mode: "arch"},
		"dev": {Role: "dev"}} {
		if got, ok := o.profileOf(dir); got != want || !ok {
			t.Errorf("without a policy, %s: got %v, %v, want %v", dir, got, ok, want)
		}
	}
	if _, ok := o.profileOf("%zz"); ok {
		t.Error("%zz is a name")
	}
}

func TestConcurrent(t *testing.T) {
	ide, cli, _ := openFiles(t, files(t, nil))
	var wg sync.WaitGroup
	for _, d := range []contract.Decider{ide, cli, ide, cli} {
		wg.Go(func() {
			for range 20 {
				for _, line := range []string{"git log", "git push", "make"} {
					if v := d.Decide(dev, policy.Action{Group: ir.Command, Arg: line}); v.Rule == "" {
						t.Errorf("%s: got no rule", line)
					}
				}
			}
		})
	}
	wg.Wait()
}

// What Cursor does by itself is what it does with files that say nothing of it.
func TestAlone(t *testing.T) {
	deciders := Alone()
	if len(deciders) != 2 || deciders[0].Surface() != "ide" || deciders[1].Surface() != "cli" {
		t.Fatalf("got %d deciders, want ide and cli", len(deciders))
	}
	hooks := strings.ReplaceAll(hooksOf(entryOf(devHook)), "role:dev", "role:quiet")
	p := shop.Project()
	p.Roles = append(p.Roles, ir.Role{Name: "quiet"})
	model, err := p.Decisions().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	ide, cli, diags := openFiles(t, files(t, map[string]string{contract.PolicyFile: string(model),
		"session:cursor/quiet/hooks.json": hooks,
		"session:cursor/quiet/cli.json":   `{"permissions": {"allow": [], "deny": []}}`}))
	if len(diags) > 0 {
		t.Errorf("got %v, want no warning", diags)
	}
	act := func(g ir.Group, arg string) policy.Action { return policy.Action{Group: g, Arg: arg} }
	for _, c := range []struct {
		a        policy.Action
		ide, cli ir.Decision
	}{
		{act(ir.Read, "src/a.go"), ir.Allow, ir.Allow},
		{act(ir.Read, "/etc/passwd"), ir.Ask, ir.Ask},
		{act(ir.Read, `C:\x`), ir.Ask, ir.Ask},
		{act(ir.Edit, ".vscode/tasks.json"), ir.Allow, ir.Allow},
		{act(ir.Edit, "../x"), ir.Ask, ir.Ask},
		{act(ir.Command, "ls"), ir.Ask, ir.Ask},
		{act(ir.Command, "git push > x"), ir.Ask, ir.Ask},
		{act(ir.Web, "docs.example"), ir.Allow, ir.Ask},
		{policy.Action{Group: ir.MCP, Server: "docs", Arg: "get"}, ir.Ask, ir.Ask},
		{policy.Action{Group: ir.MCP, Server: "docs", Kind: policy.Resource, Arg: "x"}, ir.Allow, ir.Allow},
		{act(ir.Modes, "explore"), ir.Allow, ir.Allow},
		{act(ir.Unknown, "Telepathy"), ir.Allow, ir.Allow},
	} {
		for i, want := range []ir.Decision{c.ide, c.cli} {
			v := deciders[i].Decide(ir.SubjectRef{Role: "quiet"}, c.a)
			if v.Decision != want || v.Governs != contract.Both || v.Rule == "" || v.Bare != nil {
				t.Errorf("%s, %v: got %+v, want %s", deciders[i].Surface(), c.a, v, want)
			}
			with := []contract.Decider{ide, cli}[i].Decide(ir.SubjectRef{Role: "quiet"}, c.a)
			if with.Decision != want {
				t.Errorf("%s, %v: got %s by %q with a hook that abstains, want %s", deciders[i].Surface(), c.a,
					with.Decision, with.Rule, want)
			}
		}
	}
}

// Without a hook a build writes no policy: the option and the baseline say whose the
// project's own files are.
func TestProjectWideWithoutPolicy(t *testing.T) {
	quietly := map[string]string{
		contract.PolicyFile:             "",
		"session:cursor/dev/hooks.json": "",
		".cursor/cli.json":              devCLI,
	}
	for _, c := range []struct {
		subject, baseline string
		want              ir.SubjectRef
	}{
		{"", "lead", ir.SubjectRef{Role: "lead"}},
		{"role:lead", "dev", ir.SubjectRef{Role: "lead"}},
		{"lead", "", ir.SubjectRef{Role: "lead"}},
		{"mode:lead", "dev", ir.SubjectRef{Mode: "lead"}},
	} {
		o := contract.NewOptions(nil, map[string]any{"subject": c.subject}, nil).WithBaseline(c.baseline)
		deciders, _ := Open(files(t, quietly), o, hook.Answer)
		v := deciders[1].Decide(c.want, policy.Action{Group: ir.Command, Arg: "git push"})
		if v.Decision != ir.Deny || v.Governs != contract.Both {
			t.Errorf("subject %q, baseline %q: got %+v for %s, want a deny", c.subject, c.baseline, v, c.want)
		}
	}
}

func TestAssumes(t *testing.T) {
	ide, cli, _ := openFiles(t, files(t, nil))
	for _, d := range []contract.Decider{ide, cli} {
		if all := strings.Join(d.Assumes(), "\n"); !strings.Contains(strings.ToLower(all), "allowlist") ||
			strings.Contains(all, "\n\n") {
			t.Errorf("%s assumes %q, which does not name the run mode", d.Surface(), all)
		}
	}
	if d, diags := Open(fstest.MapFS{}, contract.Options{}, hook.Answer); d != nil || len(diags) > 0 {
		t.Errorf("without artifacts: got %d deciders, %v", len(d), diags)
	}
}

// Whatever the artifacts are, nothing panics, and what is denied with hooks is
// not permitted by a rule without a name.
func FuzzOpen(f *testing.F) {
	f.Add(devPermissions, devCLI, hooksOf(entryOf(devHook)), "secrets/key", "git push; `x`", "docs", "get")
	f.Add(`{"mcpAllowlist":["*:*","a:*"]}`, `{"permissions":{"deny":["Shell(**)","Read(~/*)"]}}`,
		hooksOf(`{"command":"true","matcher":"(a+)+$"}`), "~/x", "a <<E\nE\n", "*", "\xff")
	f.Add(`[]`, `null`, `{"version":1,"hooks":{"preToolUse":[{"type":"prompt","prompt":"x"}]}}`, "\x00", "time", "", "")
	f.Add(``, `{"permissions":[]}`, `{"version":1,"hooks":{"preToolUse":[null]}}`, "file://", "let x=1; coproc a", ":",
		"::mcpScope:")
	f.Fuzz(func(t *testing.T, permissions, cli, hooks, path, line, server, tool string) {
		fsys := files(t,
			map[string]string{"session:cursor/dev/permissions.json": permissions, "session:cursor/dev/cli.json": cli,
				"session:cursor/dev/hooks.json": hooks, ".cursor/hooks.json": hooks})
		deciders, diags := Open(fsys, contract.Options{}, hook.Answer)
		if diags.HasErrors() {
			t.Fatalf("got errors: %v", diags)
		}
		for _, d := range deciders {
			for _, a := range []policy.Action{
				{Group: ir.Read, Arg: path}, {Group: ir.Edit, Arg: path}, {Group: ir.Command, Arg: line},
				{Group: ir.Web, Arg: server}, {Group: ir.MCP, Server: server, Arg: tool},
				{Group: ir.MCP, Server: server, Arg: tool, Kind: policy.Resource},
				{Group: ir.MCP, Server: server, Kind: policy.Prompt}, {Group: ir.Modes, Arg: tool},
				{Group: ir.Unknown, Arg: tool}, {Group: ir.Group(tool)},
			} {
				v := d.Decide(dev, a)
				if v.Bare != nil && v.Decision > v.Bare.Decision && d.Surface() == "cli" {
					t.Errorf("%v: the hooks turn %s into %s", a, short(v.Bare), short(&v.Answer))
				}
				if cmp.Or(v.Rule, "nothing") == "nothing" && v != (contract.Verdict{}) {
					t.Errorf("%v: got %+v without a rule", a, v)
				}
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	t := &testing.T{}
	_, cli, _ := openFiles(t, files(t, nil))
	for _, a := range []policy.Action{{Group: ir.Read, Arg: "src/a.go"}, {Group: ir.Read, Arg: "secrets/x"},
		{Group: ir.Command, Arg: "git log | wc -l"}, {Group: ir.MCP, Server: "github", Arg: "list_issues"}} {
		b.Run(string(a.Group), func(b *testing.B) {
			for b.Loop() {
				cli.Decide(dev, a)
			}
		})
	}
}
