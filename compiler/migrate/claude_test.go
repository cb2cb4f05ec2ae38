package migrate_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude"
	"modec.dev/modec/targets/claude/format"
)

// claudeRules are rules of every kind, with what Claude Code reads otherwise than
// the source among them.
var claudeRules = []string{
	"*", "Bash", "Bash(git *)", "Bash(git push:*)", "Bash(cat *)", "Bash(rm *)", "Bash( git * )", "Bash(@x)", "Bash(a && b)", "Bash(sudo:*)",
	"Edit", "Edit(src/**)", "Edit(/x/**)", "Edit(*.md)", "Edit(**)", "Edit(src/{a,b}.ts)", `Edit(a\ b.txt)`, "Write", "Write(x)", "NotebookEdit",
	"Read", "Read(.env)", "Read(./secrets/**)", "Read(//etc/**)", "Read(~/.ssh/**)", "Read(**)", "Read(/**)", "Grep", "Glob",
	"WebFetch", "WebFetch(domain:a.org)", "WebSearch", "Agent", "Agent(x)", "Task", "Skill", "CronCreate",
	"mcp__s__t", "mcp__s", "mcp__s__*", "mcp__*", "mcp__*__get", "mcp__u__t",
}

var (
	claudeModes = []string{"", "default", "plan", "acceptEdits", "dontAsk", "auto", "bypassPermissions"}
	claudeTools = []string{"Read, Bash, mcp__s__t", "Read", "'*'", "Edit, mcp__s", "mcp__*__get, Read", "Bash", "Read, Grep, Glob, WebFetch", "Agent, Edit"}
)

// someone makes up what a team may have.
type someone struct{ *rand.Rand }

func (r someone) one(of []string) string { return of[r.IntN(len(of))] }

func (r someone) rules(most int) []string {
	out := []string{}
	for range r.IntN(most + 1) {
		out = append(out, r.one(claudeRules))
	}
	return out
}

func (r someone) settings() string {
	permissions := map[string]any{"allow": r.rules(3), "deny": r.rules(2), "ask": r.rules(1)}
	if mode := r.one(claudeModes); mode != "" {
		permissions["defaultMode"] = mode
	}
	all := map[string]any{"permissions": permissions}
	if r.IntN(12) == 0 {
		all["agent"] = "x"
	}
	data, _ := json.Marshal(all)
	return string(data)
}

func (r someone) agent(name string) string {
	var b strings.Builder
	b.WriteString("---\nname: " + name + "\ndescription: d\n")
	for _, field := range []string{"tools", "disallowedTools"} {
		if r.IntN(3) == 0 {
			b.WriteString(field + ": " + r.one(claudeTools) + "\n")
		}
	}
	if mode := r.one(claudeModes); mode != "" {
		b.WriteString("permissionMode: " + mode + "\n")
	}
	return b.String() + "---\nprompt\n"
}

func (r someone) files() map[string]string {
	files := map[string]string{".mcp.json": `{"mcpServers": {"s": {"command": "x"}, "o": {"command": "y"}}}`, "m.json": `{"mcpServers": {"u": {"command": "x"}}}`}
	for _, name := range []string{"settings.json", "settings.local.json", "modec/own.settings.json"} {
		if r.IntN(2) == 0 {
			files[".claude/"+name] = r.settings()
		}
	}
	for _, name := range []string{"x", "y"} {
		if name == "x" || r.IntN(2) == 0 {
			files[".claude/agents/"+name+".md"] = r.agent(name)
		}
	}
	return files
}

func (r someone) flags() []string {
	var args []string
	for _, f := range [][]string{
		{"--permission-mode", r.one(claudeModes[1:])},
		{"--allowedTools", strings.Join(append(r.rules(3), "Glob"), ",")},
		{"--disallowedTools", strings.Join(append(r.rules(2), "Glob"), ",")},
		{"--tools", r.one([]string{"", "Read", "Bash,Read", "default", "Edit,Write", "Read,Edit,Agent"})},
		{"--mcp-config", "m.json"},
		{"--strict-mcp-config"},
		{"--agent", "x"},
		{"--settings", r.settings()},
		{"--setting-sources", r.one([]string{"project", "user,local", ""})},
	} {
		if r.IntN(3) == 0 {
			args = append(args, f...)
		}
	}
	return append(args, "-p")
}

// TestClaudeNeverWidens imports made-up settings, subagents and command lines: each
// becomes a source, and the proof that ends an import finds nothing wider.
func TestClaudeNeverWidens(t *testing.T) {
	r := someone{rand.New(rand.NewPCG(1, 2))}
	projects := 60
	if testing.Short() {
		projects = 20
	}
	for range projects {
		files, args := r.files(), r.flags()
		home := fstest.MapFS{}
		if r.IntN(3) == 0 {
			home[".claude/settings.json"] = &fstest.MapFile{Data: []byte(r.settings())}
		}
		for _, from := range []string{"claude", "claude-args"} {
			res, diags := run(t, files, func(q *migrate.Request) {
				q.From, q.Home = from, home
				if from == "claude-args" {
					q.Args = args
				}
			})
			if res == nil {
				t.Errorf("%s: %q %q %v\n%v", from, files, args, home, diags)
			}
		}
	}
}

// TestClaudeSessions: what is imported decides as the session does, where other
// agents could take it to mean more.
func TestClaudeSessions(t *testing.T) {
	const agents, settings, local = ".claude/agents/x.md", ".claude/settings.json", ".claude/settings.local.json"
	edit, read, command := ir.Edit, ir.Read, ir.Command
	for _, c := range []struct {
		name  string
		files map[string]string
		home  string // ~/.claude/settings.json
		args  []string
		ref   ir.SubjectRef
		want  map[policy.Action]ir.Decision
	}{
		{"a deny of the project holds for a command line", map[string]string{settings: `{"permissions": {"deny": ["Edit(src/**)"], "allow": ["Bash(make *)"]}}`}, "",
			[]string{"--permission-mode", "acceptEdits"}, ir.SubjectRef{Role: "claude-args"},
			map[policy.Action]ir.Decision{{Group: edit, Arg: "src/a"}: ir.Deny, {Group: edit, Arg: "a"}: ir.Allow, {Group: command, Arg: "make x"}: ir.Allow}},
		{"not where the sources leave it out", map[string]string{settings: `{"permissions": {"deny": ["Edit(src/**)"]}}`}, "",
			[]string{"--permission-mode", "acceptEdits", "--setting-sources", "user"}, ir.SubjectRef{Role: "claude-args"},
			map[policy.Action]ir.Decision{{Group: edit, Arg: "src/a"}: ir.Allow}},
		{"an agent's tools limit a command line", map[string]string{agents: "---\nname: x\ndescription: d\ntools: Read, mcp__s__t\n---\np\n", ".mcp.json": `{"mcpServers": {"s": {"command": "x"}}}`}, "",
			[]string{"--agent", "x", "--permission-mode", "bypassPermissions"}, ir.SubjectRef{Role: "claude-args"},
			map[policy.Action]ir.Decision{{Group: edit, Arg: "a"}: ir.Deny, {Group: read, Arg: "a"}: ir.Allow, {Group: command, Arg: "ls"}: ir.Deny,
				{Group: ir.MCP, Server: "s", Arg: "t"}: ir.Allow, {Group: ir.MCP, Server: "s", Arg: "u"}: ir.Deny}},
		{"and so they do where settings name it", map[string]string{agents: "---\nname: x\ndescription: d\ntools: Read\n---\np\n", settings: `{"agent": "x"}`}, "",
			nil, ir.SubjectRef{Role: "claude"},
			map[policy.Action]ir.Decision{{Group: edit, Arg: "a"}: ir.Deny, {Group: read, Arg: "a"}: ir.Allow}},
		{"its own list of servers is all that there is", map[string]string{"m.json": `{"mcpServers": {"u": {"command": "x"}}}`, ".mcp.json": `{"mcpServers": {"s": {"command": "x"}}}`}, "",
			[]string{"--mcp-config", "m.json", "--strict-mcp-config"}, ir.SubjectRef{Role: "claude-args"},
			map[policy.Action]ir.Decision{{Group: ir.MCP, Server: "u", Arg: "t"}: ir.Ask, {Group: ir.MCP, Server: "s", Arg: "t"}: ir.Deny}},
		{"braces in a deny", map[string]string{settings: `{"permissions": {"deny": ["Edit(src/{a,b}.ts)"], "defaultMode": "acceptEdits"}}`}, "",
			nil, ir.SubjectRef{Role: "claude"},
			map[policy.Action]ir.Decision{{Group: edit, Arg: "src/{a,b}.ts"}: ir.Deny, {Group: edit, Arg: "a"}: ir.Allow}},
		{"and for a subagent, which keeps no rules", map[string]string{settings: `{"permissions": {"deny": ["Edit(src/{a,b}.ts)"], "defaultMode": "acceptEdits"}}`, agents: "---\nname: x\ndescription: d\n---\np\n"}, "",
			nil, ir.SubjectRef{Mode: "x"},
			map[policy.Action]ir.Decision{{Group: edit, Arg: "src/{a,b}.ts"}: ir.Deny, {Group: edit, Arg: "a"}: ir.Allow}},
		{"a bare Write", map[string]string{settings: `{"permissions": {"deny": ["Write"], "defaultMode": "acceptEdits"}}`}, "",
			nil, ir.SubjectRef{Role: "claude"},
			map[policy.Action]ir.Decision{{Group: edit, Arg: "a"}: ir.Allow}},
		{"everything in bypassPermissions", map[string]string{settings: `{"permissions": {"deny": ["Agent(x)", "WebSearch", "Bash(@x)", "CronCreate", "Read(//etc/**)", "Edit(src/**)"], "defaultMode": "bypassPermissions"}}`}, "",
			nil, ir.SubjectRef{Role: "claude"},
			map[policy.Action]ir.Decision{{Group: ir.Modes, Arg: "x"}: ir.Deny, {Group: ir.Web, Arg: "a.org"}: ir.Allow, {Group: command, Arg: "@x"}: ir.Deny, {Group: ir.Unknown, Arg: "CronCreate"}: ir.Deny,
				{Group: command, Arg: "cat /etc/passwd"}: ir.Deny, {Group: command, Arg: "rm src/a"}: ir.Deny, {Group: command, Arg: "make"}: ir.Allow}},
		{"a deny of everything", map[string]string{settings: `{"permissions": {"deny": ["*"], "allow": ["Bash(ls *)"], "defaultMode": "bypassPermissions"}}`}, "",
			nil, ir.SubjectRef{Role: "claude"},
			map[policy.Action]ir.Decision{{Group: read, Arg: "a"}: ir.Deny, {Group: command, Arg: "ls x"}: ir.Deny, {Group: ir.MCP, Server: "s", Arg: "t"}: ir.Deny, {Group: ir.Unknown, Arg: "X"}: ir.Deny}},
		{"a blank at an end of an allow", map[string]string{settings: `{"permissions": {"allow": ["Bash( git * )"]}}`}, "",
			nil, ir.SubjectRef{Role: "claude"},
			map[policy.Action]ir.Decision{{Group: command, Arg: "git add ."}: ir.Ask}},
		{"a path from the user's folder, kept as it was meant", map[string]string{
			settings: `{"permissions": {"deny": ["Read(/z/**)"]}}`, local: `{"permissions": {"allow": ["Bash(make *)"]}}`}, `{"permissions": {"allow": ["Edit(/x/**)", "Bash(make *)"]}}`,
			nil, ir.SubjectRef{Role: "claude"},
			map[policy.Action]ir.Decision{{Group: edit, Arg: "x/a"}: ir.Ask, {Group: read, Arg: "z/a"}: ir.Deny, {Group: command, Arg: "make x"}: ir.Allow}},
		{"questions of the settings in a subagent that asks none", map[string]string{settings: `{"permissions": {"ask": ["Bash(git push *)"], "allow": ["Bash(git *)", "Bash(cat *)"]}}`, agents: "---\nname: x\ndescription: d\npermissionMode: dontAsk\n---\np\n"}, "",
			nil, ir.SubjectRef{Mode: "x"},
			map[policy.Action]ir.Decision{{Group: command, Arg: "git push x"}: ir.Deny, {Group: command, Arg: "git log"}: ir.Allow, {Group: command, Arg: "cat ../x"}: ir.Deny}},
		{"a pattern over servers in a list of tools", map[string]string{agents: "---\nname: x\ndescription: d\ntools: mcp__*__get, Read\n---\np\n", ".mcp.json": `{"mcpServers": {"s": {"command": "x"}}}`}, "",
			nil, ir.SubjectRef{Mode: "x"},
			map[policy.Action]ir.Decision{{Group: ir.MCP, Server: "s", Arg: "drop"}: ir.Deny}},
	} {
		home := fstest.MapFS{}
		if c.home != "" {
			home[".claude/settings.json"] = &fstest.MapFile{Data: []byte(c.home)}
		}
		res, diags := run(t, c.files, func(q *migrate.Request) {
			q.From, q.Home = "claude", home
			if c.args != nil {
				q.From, q.Args = "claude-args", c.args
			}
		})
		if res == nil {
			t.Errorf("%s: %v", c.name, diags)
			continue
		}
		s, err := policy.New(res.Project).Subject(c.ref)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for a, want := range c.want {
			got := s.Decide(a)
			only := slices.ContainsFunc(res.Project.Roles, func(r ir.Role) bool { return r.Targets != nil })
			switch {
			case got.Decision == ir.Agent && c.ref.Mode == "" && !only:
				got.Decision = claude.New().(contract.Judged).Alone(res.Project)[0].Decide(c.ref, a).Decision
			case got.Decision == ir.Agent || only: // the session decides, with the rest of what is built
				files, _ := claude.New().(contract.Judged).Open(res.Compiled.FS(), res.Compiled.Input(claude.New()).Options)
				got.Decision = files[0].Decide(c.ref, a).Decision
			}
			if got.Decision != want {
				t.Errorf("%s: %s %s%s: got %s by %s, want %s", c.name, a.Group, a.Server, a.Arg, got.Decision, got.Rule, want)
			}
		}
	}
}

// TestClaudeArgsErrors: what claude does not start with, and what may permit more
// than is known, is an error.
func TestClaudeArgsErrors(t *testing.T) {
	for want, args := range map[string][]string{
		`refuses the permission mode "yolo"`:                  {"--permission-mode", "yolo"},
		"--settings has no value":                             {"--settings"},
		`the settings file "no.json" is not there`:            {"--settings", "no.json"},
		`the servers file "no.json" is not there`:             {"--mcp-config", "no.json"},
		`no file of the project describes the agent "nobody"`: {"--agent", "nobody"},
		`refuses the setting source "system"`:                 {"--setting-sources", "system"},
		`modec does not know the flag "--brand-new"`:          {"--brand-new"},
		`the prompt file "no.md" cannot be read`:              {"--append-system-prompt-file", "no.md"},
		"Claude Code does not load the settings":              {"--settings", "{"},
		"Claude Code does not load the servers":               {"--mcp-config", "{"},
	} {
		res, diags := run(t, map[string]string{}, func(q *migrate.Request) { q.From, q.Args = "claude-args", args })
		if res != nil || !strings.Contains(diags.Error(), want) {
			t.Errorf("%q: got %v, want %s", args, diags, want)
		}
	}
}

// TestClaudePrompts: the text of a file stands before that of the flag.
func TestClaudePrompts(t *testing.T) {
	res, diags := run(t, map[string]string{"p.md": "from the file\n"}, func(q *migrate.Request) {
		q.From, q.Args = "claude-args", []string{"--append-system-prompt", "from the flag", "--append-system-prompt-file", "p.md"}
	})
	if res == nil {
		t.Fatal(diags)
	}
	if got := res.Project.Roles[0].AppendSystemPrompt; strings.Join(strings.Fields(got), " ") != "from the file from the flag" {
		t.Errorf("got %q", got)
	}
}

// TestClaudeSubagentsStay: a subagent's file is built again as it was, up to its layout, and no
// hook comes to it.
func TestClaudeSubagentsStay(t *testing.T) {
	for file, text := range map[string]string{
		"lists.md":           "---\nname: lists\ndescription: d\ntools: Bash, Read, KillShell, WebSearch, Bash(git *), mcp__gh__list\n---\np\n",
		"sequence.md":        "---\nname: sequence\ndescription: d\ntools: [\"Read\", \"Grep\", \"Task\"]\nmodel: gpt-5\n---\np\n",
		"server.md":          "---\nname: server\ndescription: d\ntools: Read, mcp__gh\ndisallowedTools: mcp__gh__drop\n---\np\n",
		"search.md":          "---\nname: search\ndescription: d\ntools: WebSearch\n---\np\n",
		"later.md":           "---\nname: later\ndescription: d\ntools: Read, ToolOfTomorrow, CronCreate\n---\np\n",
		"none.md":            "---\nname: none\ndescription: d\ntools: []\n---\np\n",
		"everything.md":      "---\nname: everything\ndescription: d\ntools: \"*\"\n---\np\n",
		"inherits.md":        "---\nname: inherits\ndescription: d\n---\np\n",
		"withheld.md":        "---\nname: withheld\ndescription: d\ndisallowedTools: Write, Edit\n---\np\n",
		"agent.md":           "---\nname: agent\ndescription: d\ndisallowedTools: [Agent, Bash]\n---\np\n",
		"plan.md":            "---\nname: plan\ndescription: d\ntools: Read, Edit, Bash\npermissionMode: plan\n---\np\n",
		"edits.md":           "---\nname: edits\ndescription: d\npermissionMode: acceptEdits\n---\np\n",
		"bypass.md":          "---\nname: bypass\ndescription: d\npermissionMode: bypassPermissions\n---\np\n",
		"refuses.md":         "---\nname: refuses\ndescription: d\ntools: Read, Bash\npermissionMode: dontAsk\n---\np\n",
		"memory.md":          "---\nname: memory\ndescription: d\ntools: Grep\nmemory: project\n---\np\n",
		"review/reviewer.md": "---\nname: Code Reviewer\ndescription: d\n---\np\n",
		"empty.md":           "---\nname: empty\ndescription: d\n---\n",
		"lenient.md":         "---\nname: lenient\ndescription: Use when: always, and \"often\"\n---\np\n",
		"keys.md": "---\nname: keys\ndescription: d\ncolor: magenta\nskills: [a, b]\nbackground: true\nisolation: worktree\n" +
			"initialPrompt: Go\nmcpServers:\n  - gh\n---\np\n",
	} {
		file = ".claude/agents/" + file
		res, diags := run(t, map[string]string{file: text}, func(q *migrate.Request) { q.From = "claude" })
		if res == nil {
			t.Errorf("%s: %v", file, diags)
			continue
		}
		built, ok := res.Compiled.FS()[file]
		if !ok {
			t.Errorf("%s: got %v, want the file", file, slices.Sorted(maps.Keys(res.Compiled.FS())))
			continue
		}
		if diff := cmp.Diff(subagent(t, file, []byte(text)), subagent(t, file, built)); diff != "" {
			t.Errorf("%s (-was +is)\n%s", file, diff)
		}
		for _, p := range res.Report.Proof {
			if p.Built.Compared == 0 {
				t.Errorf("%s: nothing was compared", file)
			}
		}
	}
}

// subagent returns what Claude Code reads of a subagent's file.
func subagent(t *testing.T, file string, data []byte) map[string]any {
	t.Helper()
	a, err := format.ReadAgent(file, data)
	if err != nil {
		t.Fatal(err)
	}
	fields := a.Root.Any().(map[string]any)
	for _, list := range []string{"tools", "disallowedTools"} {
		if v := a.Root.Get(list); v != nil {
			fields[list] = append([]string{}, format.ToolNames(v)...)
		}
	}
	fields["the prompt"] = strings.TrimSpace(a.Prompt)
	return fields
}

// TestClaudeSubagentRunsCode: a subagent that starts programs or servers stays where it is, and the report says why.
func TestClaudeSubagentRunsCode(t *testing.T) {
	const head, end = "---\nname: x\ndescription: d\n", "---\np\n"
	for key, of := range map[string]struct{ text, why string }{
		"hooks":      {"hooks:\n  Stop:\n    - hooks:\n        - {type: command, command: make}\n", "programs"},
		"mcpServers": {"mcpServers:\n  - own: {command: own-mcp}\n", "servers"},
	} {
		res, diags := run(t, map[string]string{".claude/agents/x.md": head + of.text + end,
			".claude/agents/y.md": "---\nname: y\ndescription: d\ntags: [a]\n---\np\n"}, nil)
		if res == nil {
			t.Fatal(diags)
		}
		if len(res.Project.Modes) != 1 || res.Project.Modes[0].Extra != nil {
			t.Errorf("%s: got %v, want the mode y without settings", key, res.Project.Modes)
		}
		if !slices.ContainsFunc(res.Report.Notes, func(n contract.Note) bool {
			return n.Kind == contract.Left && strings.HasPrefix(n.Why, key+": it starts "+of.why)
		}) {
			t.Errorf("no note says what %s starts: %v", key, res.Report.Notes)
		}
	}
}

// TestClaudeRulesStay: the rules of a file stay as they are written where the source would say more
// by them, or nothing, and no other rule comes to them.
func TestClaudeRulesStay(t *testing.T) {
	const file = ".claude/settings.json"
	lists := func(text []byte) map[ir.Decision][]string {
		s, err := format.ReadSettings(file, text)
		if err != nil {
			t.Fatal(err)
		}
		rules := map[ir.Decision][]string{}
		for _, item := range s.Rules {
			rule, _ := item.Str()
			rules[item.List] = append(rules[item.List], rule)
		}
		for _, l := range rules {
			slices.Sort(l)
		}
		return rules
	}
	for _, settings := range []string{
		`{"permissions": {"allow": ["WebSearch"], "deny": ["WebFetch(domain:x.com)"]}}`,
		`{"permissions": {"allow": ["WebFetch(domain:a.com)"], "deny": ["WebSearch"]}}`,
		`{"permissions": {"allow": ["WebSearch"], "deny": ["WebFetch"]}}`,
		`{"permissions": {"deny": ["Edit"]}}`,
		`{"permissions": {"deny": ["Write", "NotebookEdit", "Read", "Agent", "Monitor"]}}`,
		`{"permissions": {"ask": ["Edit", "Task", "WebFetch"]}}`,
		`{"permissions": {"allow": ["Read(src/**)", "Grep", "Glob", "Read(//usr/local/**)", "Task(x)", "Agent", "MultiEdit"]}}`,
		`{"permissions": {"allow": ["Bash", "Bash(git log:*)"], "ask": ["Bash(npm publish:*)"], "deny": ["Bash(rm:*)", "Read(.env)"]}}`,
		`{"permissions": {"allow": ["Bash(git log:*)"], "deny": ["Bash(git log \"x\")", "Bash(git log > x)"]}}`,
		`{"permissions": {"deny": ["Read(.env)", "Edit(src/{a,b}.ts)"]}}`,
		`{"permissions": {"allow": ["WebFetch(domain:*)", "WebFetch(domain:a.com)"], "deny": ["WebFetch(domain:x.com)"]}}`,
		`{"permissions": {"deny": ["WebFetch(domain:*)"]}}`,
		`{"permissions": {"allow": ["Bash(FOO=bar make)", "Bash(A=1 make test:*)", "Bash(make)"]}}`,
		`{"permissions": {"ask": ["Bash(FOO=bar make)"], "deny": ["Bash(A=1 rm:*)"]}}`,
		`{"permissions": {"allow": ["mcp__gh"], "deny": ["mcp__gh__delete"]}}`,
		`{"permissions": {"allow": ["mcp__gh"], "ask": ["mcp__gh__delete"]}}`,
		`{"permissions": {"allow": ["Bash", "Read", "Edit"], "deny": ["Bash(rm:*)", "Read(.env)", "Edit(./ci/**)"]}}`,
		`{"permissions": {"allow": ["WebFetch(domain:x.com)"], "ask": ["WebFetch"]}}`,
		`{"permissions": {"allow": ["Edit(README.md)", "Edit(*.md)", "Edit(.roomodes)", "Edit(src/*.ts)"]}}`,
	} {
		res, diags := run(t, map[string]string{
			file: settings, ".mcp.json": `{"mcpServers": {"gh": {"command": "gh-mcp"}}}`}, nil)
		if res == nil {
			t.Errorf("%s: %v", settings, diags)
			continue
		}
		artifacts, diags := claude.New().Emit(res.Compiled.Input(claude.New()))
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		built := map[ir.Decision][]string{}
		for _, f := range artifacts {
			if f.Path == file {
				built = lists(f.Data)
			}
		}
		if diff := cmp.Diff(lists([]byte(settings)), built); diff != "" {
			t.Errorf("%s (-was +built)\n%s", settings, diff)
		}
		if len(res.Report.Narrower) > 0 {
			t.Errorf("%s: got %v, want nothing narrower", settings, res.Report.Narrower)
		}
	}
}

// TestClaudeAcceptedEdits: a rule stays that the mode makes needless.
func TestClaudeAcceptedEdits(t *testing.T) {
	res, diags := run(t, map[string]string{".claude/settings.json": `{"permissions": {"allow": ["Edit(src/**)"], "defaultMode": "acceptEdits"}}`}, nil)
	if res == nil {
		t.Fatal(diags)
	}
	if built := string(res.Compiled.FS()[".claude/settings.json"]); !strings.Contains(built, `"Edit(src/**)"`) {
		t.Errorf("the rule is not in\n%s", built)
	}
}

// TestClaudeLostTools: a tool that no action of a group stands for is compared, and so is what becomes
// denied in place of asked about.
func TestClaudeLostTools(t *testing.T) {
	for settings, want := range map[string]migrate.Narrowing{
		`{"permissions": {"deny": ["mcp__*"]}}`: {
			Group: ir.MCP, Was: ir.Allow, Is: ir.Deny, Example: "ReadMcpResourceTool"},
		`{"permissions": {"deny": ["Read(.env)"], "allow": ["Edit(src/**)"]}}`: {
			Group: ir.Command, Was: ir.Ask, Is: ir.Deny, Example: "ls >> .env"},
	} {
		res, diags := run(t, map[string]string{".claude/settings.json": settings}, nil)
		if res == nil {
			t.Fatal(diags)
		}
		if !slices.ContainsFunc(res.Report.Narrower, func(n migrate.Narrowing) bool {
			return n.Group == want.Group && n.Was == want.Was && n.Is == want.Is && n.Example == want.Example
		}) {
			t.Errorf("%s: got %+v, want %+v among them", settings, res.Report.Narrower, want)
		}
	}
}

// TestClaudeRulesStayBesideSubagents: a subagent with the rules of the session, or with a permission mode of its
// own, takes nothing from what the session allows.
func TestClaudeRulesStayBesideSubagents(t *testing.T) {
	const file, agent = ".claude/settings.json", ".claude/agents/x.md"
	for _, settings := range []string{
		`{"permissions": {"allow": ["Bash", "Read", "Edit", "WebFetch"]}}`,
		`{"permissions": {"allow": ["Bash", "Read", "Edit"], "deny": ["Bash(rm -rf:*)", "Read(.env)"]}}`,
		`{"permissions": {"allow": ["Bash", "Edit"], "deny": ["Bash(rm:*)", "Edit(x/**)"]}}`,
		`{"permissions": {"allow": ["Bash", "Bash(npm test:*)", "Edit"], "deny": ["WebFetch"]}}`,
		`{"permissions": {"allow": ["Bash(ls)"], "deny": ["Read(.env)", "Read(./secrets/**)", "Edit(a/b.c)"]}}`,
	} {
		for _, front := range []string{"permissionMode: plan\n", "permissionMode: plan\ntools: Read, Grep, Bash\n",
			"permissionMode: acceptEdits\n", "tools: Bash\n", ""} {
			files := map[string]string{file: settings, agent: "---\nname: x\ndescription: d\n" + front + "---\np\n"}
			res, diags := run(t, files, nil)
			if res == nil {
				t.Errorf("%s, %q: %v", settings, front, diags)
				continue
			}
			if len(res.Report.Narrower) > 0 {
				t.Errorf("%s, %q: got %+v, want nothing narrower", settings, front, res.Report.Narrower)
			}
			built := string(res.Compiled.FS()[agent])
			if strings.Contains(front, "permissionMode") != strings.Contains(built, "permissionMode") {
				t.Errorf("%s: of %q the build made\n%s", settings, front, built)
			}
		}
	}
}

// TestClaudeFolderIsNotItsContents: a deny of what is in a folder leaves a file of its name, and an edit of a file
// is allowed beside guards that are listed as such.
func TestClaudeFolderIsNotItsContents(t *testing.T) {
	for _, settings := range []string{
		`{"permissions": {"deny": ["Read(./secrets/**)", "Edit(/docs/**)", "Edit(src/**)", "Edit(a/b/**)"], "ask": ["Read(x/**)"]}}`,
		`{"permissions": {"allow": ["Edit(/docs/**)", "Edit(*.md)", "Edit(.roomodes)"]}}`,
	} {
		res, diags := run(t, map[string]string{".claude/settings.json": settings}, nil)
		if res == nil {
			t.Fatal(diags)
		}
		for _, n := range res.Report.Narrower {
			t.Errorf("%s: got %+v, want nothing narrower", settings, n)
		}
		asks := strings.Contains(settings, `"ask"`)
		if built := string(res.Compiled.FS()[".claude/settings.json"]); strings.Contains(built, "defaultMode") != asks {
			t.Errorf("%s: guards alone need no mode, and what a person asks about does:\n%s", settings, built)
		}
		if slices.ContainsFunc(res.Report.Notes, func(n contract.Note) bool { return n.What == "no defaultMode" }) != asks {
			t.Errorf("%s: got the notes %v", settings, res.Report.Notes)
		}
	}
}
