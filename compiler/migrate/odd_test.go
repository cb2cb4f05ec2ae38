package migrate_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// oddWords are words of command lines that shells, agents and the source may read in
// different ways.
var oddWords = []string{
	"git", "make", "npm", "rm", "cat", "python3", "docker", "./run.sh", "/usr/bin/env", "../x", "~/bin/x", "sudo", "timeout", "nohup",
	"env", "xargs", "bash", "eval", "FOO=bar", "A=", "30", "-c", "-m", "--flag=a b", "test", "[", "]", "[[", "(", ")", "{", "}", "!", "#x",
	`"msg"`, `"a b"`, `'a b'`, `'`, `"`, "\\", `print\(1\)`, `a\ b`, "$HOME", "${X}", "$(date)", "`date`", "$'x'", "$((1+1))", "*", "**", "?", "[a-z]",
	"{a,b}", "a*b", "*.md", "src/**", ":*", "a:b", "run:*", "@x", "@git_read", "%", "=", "é", "日本", "\u200b", "\t", "a\tb", "a  b", "~", ".", "..", "/", "-", "--", "+x",
	"|", "||", "&&", ";", "&", ">", ">>", "<", "2>&1", "> /dev/null", "<<EOF", "<(x)", "\n", "a\nb", "if", "then", "for", "while", "done", "cd", "cd src &&", "time", "exec", "command",
	"http://localhost:3000/a?b=c&d=e", "x@1.2.3", "^", "K\u212a", "\u017f", "\\*", "\\n", "\"", "$",
}

var oddPaths = []string{
	"a", "src", "**", "*", "*.md", ".env", ".env*", "/", "//", "~", "~/.ssh", "..", ".", "./", "a b", "a\\ b", "[a-z]", "[!a]", "[", "]", "[]", "{a,b}", "{", "?", "!", "#x",
	"é", "日本", "\u212a", "\u017f", "$HOME", "C:", "\\", "(x)", "x)", "@", "+(a)", "a:b", ":*", "modec.toml", ".git", ".claude", "node_modules", "'", "\"", "\t", "%20", "*a*b*", "a**b", "***",
}

var oddServers = []string{"s", "o", "s__t", "s__*", "s__get_*", "*", "*__get", "*__*", "u__t", "s__a.b", "s__a b", "s__", "__t", "", "a b", "s?", "s__t?", "my-server__t", "my.server", "S__T", "s__*t*", "plugin_x_y__t", "s__t__u", "deny", "é"}

// odd draws odd rules.
type odd struct{ *rand.Rand }

func (r odd) one(of []string) string { return of[r.IntN(len(of))] }

func (r odd) few(of []string, most int, sep string) string {
	var out []string
	for range 1 + r.IntN(most) {
		out = append(out, r.one(of))
	}
	return strings.Join(out, sep)
}

func (r odd) line() string {
	s := r.few(oddWords, 4, " ")
	switch r.IntN(8) {
	case 0, 1:
		s += ":*"
	case 2:
		s += " *"
	case 3:
		s += "*"
	case 4:
		s = " " + s + " "
	}
	return s
}

func (r odd) path() string {
	s := r.few(oddPaths, 3, r.one([]string{"/", "/", "/", ""}))
	return r.one([]string{"", "", "", "/", "./", "//", "~/", "!"}) + s + r.one([]string{"", "", "/", "/**", "/*"})
}

func (r odd) host() string {
	return r.one([]string{"domain:", "domain:", "domain:", "", "https://"}) + r.one([]string{"a.org", "*.a.org", "*", "a.*", "A.ORG", "é.org", "a.org.", "a.org:8080", "a.org/x", "[::1]", "", " ", "a_b.org", "*a.org", "a b", "1.2.3.4", "xn--x", "**", "a..b"})
}

func (r odd) rule() string {
	switch r.IntN(10) {
	case 0, 1, 2, 3:
		return r.one([]string{"Bash", "Bash", "Bash", "Bash", "PowerShell", "Monitor"}) + "(" + r.line() + ")"
	case 4, 5, 6:
		return r.one([]string{"Read", "Edit", "Read", "Edit", "Write", "Glob", "Grep", "MultiEdit", "NotebookEdit", "LSP", "Cd"}) + "(" + r.path() + ")"
	case 7:
		return r.one([]string{"WebFetch(" + r.host() + ")", "WebSearch(" + r.host() + ")"})
	case 8:
		return "mcp__" + r.one(oddServers)
	}
	return r.one([]string{
		"", " ", "*", "Bash", "Bash()", "Bash(", "Bash(a", "bash(ls)", "Read", "Edit", "Write", "NotebookEdit", "MultiEdit", "Glob", "Grep", "LS", "LSP", "WebFetch", "WebSearch",
		"Agent", "Agent(x)", "Agent(*)", "Agent(model:opus)", "Task", "Task(a b)", "Task(*)", "Skill", "Skill(x)", "Skill(x *)", "Skill(*)", "TodoWrite", "CronCreate", "ExitPlanMode", "SlashCommand(/x:*)", "SlashCommand",
		"BashOutput", "KillShell", "B*", "*Edit", "Mcp__x", "mcp__s(x)", "mcp__", "mcp", "Bash (ls)", "(x)", "Foo(bar)", "Bash(*)", "Bash(:*)", "Bash(**)", "Bash(* *)", "Read(foo:*)", "Bash(command:rm *)",
	})
}

func (r odd) list() []any {
	out := []any{}
	for range r.IntN(4) {
		out = append(out, r.rule())
	}
	if r.IntN(20) == 0 {
		out = append(out, []any{1, nil, true, []any{}, map[string]any{}}[r.IntN(5)])
	}
	return out
}

func (r odd) settings() string {
	p := map[string]any{}
	for _, key := range []string{"allow", "allow", "ask", "deny"} {
		if r.IntN(2) == 0 {
			p[key] = r.list()
		}
	}
	if r.IntN(3) == 0 {
		p["defaultMode"] = r.one(claudeModes[1:])
	}
	data, _ := json.Marshal(map[string]any{"permissions": p})
	return string(data)
}

func (r odd) cursorEntry() string {
	switch r.IntN(3) {
	case 0:
		return r.few(oddWords, 3, r.one([]string{" ", ":", ""}))
	case 1:
		return r.line()
	}
	return r.one([]string{"", " ", "*", "**", "git", "git *", "git:*", "a:b:c", ":", "npm run lint:*", "rm -rf", "docker compose*", "g?t", "git;ls", "(git)", "git|cat", "!git", "a=b c"})
}

func (r odd) cursorTool() string {
	return r.few([]string{"s", "o", "S", "*", "a b", "s*", "", "é", "user-s", "project-0-x-s", "x{a,b}", "s?"}, 1, "") + r.one([]string{":", ":", ":", "", "::", "__"}) +
		r.few([]string{"t", "get_*", "*", "", "T", "a b", "a.b", "é", "[a]", "t?", "(a)", "**", "*_x"}, 2, "")
}

func (r odd) token() string {
	switch r.IntN(6) {
	case 0, 1:
		return "Shell(" + r.cursorEntry() + ")"
	case 2:
		return r.one([]string{"Read", "Write"}) + "(" + r.path() + ")"
	case 3:
		return "WebFetch(" + strings.TrimPrefix(r.host(), "domain:") + ")"
	case 4:
		return "Mcp(" + r.cursorTool() + ")"
	}
	return r.one([]string{"", "Shell", "Shell()", "shell(ls)", "Shell(ls", "Bash(ls)", "Mcp(s)", "Delete(x)", "Read()", "Write", "Shell(ls) ", " Shell(ls)", "Shell((ls))", "Edit(x)", "Task(x)"})
}

func (r odd) many(draw func() string, most int) []any {
	out := []any{}
	for range r.IntN(most + 1) {
		out = append(out, draw())
	}
	if r.IntN(20) == 0 {
		out = append(out, []any{1, nil, true, []any{}, map[string]any{}}[r.IntN(5)])
	}
	return out
}

func jsonOf(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

func (r odd) lists() string {
	m := map[string]any{}
	if r.IntN(4) > 0 {
		m["terminalAllowlist"] = r.many(r.cursorEntry, 4)
	}
	if r.IntN(2) == 0 {
		m["mcpAllowlist"] = r.many(r.cursorTool, 3)
	}
	if r.IntN(2) == 0 {
		m["approvalMode"] = r.one([]string{"allowlist", "manual", "unrestricted", "auto-review", "x", ""})
	}
	return jsonOf(m)
}

func (r odd) tokens() string {
	m := map[string]any{}
	for _, key := range []string{"allow", "deny"} {
		if r.IntN(4) > 0 {
			m[key] = r.many(r.token, 3)
		}
	}
	return jsonOf(map[string]any{"version": 1, "permissions": m})
}

func (r odd) regex() string {
	return r.one([]string{"", "", "^", "(?!x)", "(?=.*a)"}) + r.few([]string{`\.md`, "src/", "a|b", ".*", "[a-z]+", "(a|b)", `\d{2,}`, "é", `\w`, `\s`, "^", "$", `\b`, `(?<n>x)`, `\k<n>`, `(a)\1`, "[^/]+", "x?", "a*?", `\u0041`, `\/`, `[\s\S]`, "{", "}", `\p{L}`, `(?<=a)b`, `\.\.`, " ", "(?:a)", `[^]`, "[]", `\x41`, `\cA`, "a{0}", `\0`}, 4, "") + r.one([]string{"", "$", "$|^x"})
}

func (r odd) roomodes() string {
	var modes []any
	for i := range 1 + r.IntN(2) {
		groups := []any{}
		for _, g := range []string{"read", "edit", "browser", "command", "mcp", "modes"} {
			switch r.IntN(4) {
			case 0:
				groups = append(groups, g)
			case 1:
				o := map[string]any{"fileRegex": r.regex()}
				if r.IntN(3) == 0 {
					o["description"] = r.line()
				}
				groups = append(groups, []any{g, o})
			}
		}
		modes = append(modes, map[string]any{"slug": fmt.Sprintf("%s%d", r.one([]string{"a", "Code", "x-y", "9", "code"}), i), "name": r.one([]string{"A", "é", "🏗️ A", " x "}),
			"roleDefinition": r.one([]string{"You.", "a\n\nb", "\t x", "`$x`", " "}), "groups": groups, "customInstructions": r.one([]string{"", "x", "# y\n- z", `"""`}), "whenToUse": r.one([]string{"", "w"})})
	}
	return jsonOf(map[string]any{"customModes": modes})
}

func (r odd) rooServers() string {
	servers := map[string]any{}
	tool := func() string {
		return r.one([]string{"t", "get_x", "*", "", "a b", "é", "a.b", "a*", "t?", "A/b", ":", "@x", strings.Repeat("x", 200)})
	}
	for range r.IntN(3) {
		s := map[string]any{}
		if r.IntN(2) == 0 {
			s["command"], s["args"] = r.one([]string{"npx", "a b", "${env:X}", "é"}), []string{r.line()}
		} else {
			s["type"], s["url"] = r.one([]string{"sse", "streamable-http"}), r.one([]string{"http://a.org/x", "https://${env:H}", "ws://x", "ftp://a"})
		}
		for _, key := range []string{"alwaysAllow", "disabledTools"} {
			if r.IntN(2) == 0 {
				l := []string{}
				for range r.IntN(4) {
					l = append(l, tool())
				}
				s[key] = l
			}
		}
		if r.IntN(3) == 0 {
			s["disabled"] = r.IntN(2) == 0
		}
		if r.IntN(5) == 0 {
			s["timeout"] = 1 + r.IntN(3600)
		}
		servers[r.one([]string{"s", "o", "a b", "é", "S", "a.b", "a:b", "default", "*", "", "x/y", "@a/b"})] = s
	}
	return jsonOf(map[string]any{"mcpServers": servers})
}

func (r odd) subagent() string {
	tool := func() string {
		return r.one([]string{"Read", "Edit", "Write", "Bash", "Bash(git *)", "Bash(git commit -m \"a, b\")", "*", "mcp__s", "mcp__s__t", "mcp__*__t", "mcp__s__a b", "mcp__", "mcp__é", "Agent(x)", "Task", "WebFetch", "WebSearch", "Skill", "Foo", "foo", "Read(x)", "LSP", "Grep", "''", "All tools", "mcp__my.server__t", "edit", "NotebookEdit", "TodoWrite", "Agent", "mcp__s__*", "mcp__s__t?"})
	}
	tools := func() string {
		var out []string
		for range 1 + r.IntN(4) {
			out = append(out, tool())
		}
		if r.IntN(3) == 0 {
			return jsonOf(out)
		}
		return strings.Join(out, ", ")
	}
	var b strings.Builder
	b.WriteString("---\nname: " + r.one([]string{"x", "x y", "X", "é", "code-reviewer", "a/b", "a_b", "123"}) + "\ndescription: " + r.one([]string{"d", "|\n  a\n  b", "'it''s'", "\"a: b\"", "Use when: x"}) + "\n")
	for _, f := range []string{"tools", "disallowedTools"} {
		if r.IntN(2) == 0 {
			b.WriteString(f + ": " + tools() + "\n")
		}
	}
	if r.IntN(3) == 0 {
		b.WriteString("permissionMode: " + r.one([]string{"plan", "acceptEdits", "dontAsk", "bypassPermissions", "bogus", "default", "auto", "manual"}) + "\n")
	}
	if r.IntN(3) == 0 {
		b.WriteString("model: " + r.one([]string{"sonnet", "inherit", "gpt", "claude-x", "opusplan", "3"}) + "\n")
	}
	b.WriteString(r.one([]string{"", "color: red\n", "category: x\n", "hooks: {}\n", "skills: [a]\n", "maxTurns: 3\n", "mcpServers: [s]\n"}))
	return b.String() + "---\n" + r.one([]string{"prompt\n", "", "\n\n# A\n", "```x\n```\n"})
}

func (r odd) ignore() string {
	return r.path() + "\n" + r.path() + "\n# x\n" + r.path() + "\n"
}

// oddProjects are the files of a project of which each agent loads all.
var oddProjects = [][]string{
	{".claude/settings.json"},
	{".claude/settings.json"},
	{".claude/agents/x.md", ".claude/settings.json", ".mcp.json"},
	{".cursor/permissions.json", ".cursor/mcp.json"},
	{".cursor/cli.json"},
	{".roomodes", ".roo/mcp.json", ".rooignore"},
	{".roo/mcp.json"},
}

// TestOdd migrates projects with rules that the source cannot say as their agents do: one such
// rule never costs a file. A file is refused only where its agent does not load it.
func TestOdd(t *testing.T) {
	r := odd{rand.New(rand.NewPCG(1, 2))}
	draw := map[string]func() string{
		".claude/settings.json": r.settings, ".claude/agents/x.md": r.subagent, ".mcp.json": r.rooServers,
		".cursor/permissions.json": r.lists, ".cursor/cli.json": r.tokens, ".cursor/mcp.json": r.rooServers,
		".roomodes": r.roomodes, ".roo/mcp.json": r.rooServers, ".rooignore": r.ignore,
	}
	refused := func(d diag.Diagnostic) bool { // an error of modec's, not the agent's
		return d.Severity == diag.Error && d.Code != "roo-import" && d.Code != diag.NothingToMigrate
	}
	migrated := 0
	for i := range 500 {
		files := map[string]string{}
		for _, name := range oddProjects[i%len(oddProjects)] {
			files[name] = draw[name]()
		}
		res, diags := run(t, files, nil)
		if res != nil {
			migrated++
		}
		if slices.ContainsFunc(diags, refused) {
			t.Errorf("%v\n%v", files, diags)
		}
	}
	if migrated < 400 {
		t.Errorf("only %d were migrated", migrated)
	}
}

// TestQuotedRule: a rule that only Claude Code compares as it is written stays as it is, and costs
// no other rule.
func TestQuotedRule(t *testing.T) {
	for _, text := range []string{`git commit -m "msg"`, "timeout 30 make:*", `pkill -f "next dev"`, `python3 -c "print\(1\)"`} {
		res, diags := run(t, map[string]string{".claude/settings.json": jsonOf(map[string]any{
			"permissions": map[string]any{"allow": []string{"Bash(" + text + ")", "Bash(npm test)"}},
		})}, nil)
		if res == nil {
			t.Fatal(text, diags)
		}
		role := res.Compiled.Project.Role("claude")
		if len(role.Native) != 1 || role.Native[0].Text != "Bash("+text+")" || len(role.Can.Command.Rules) != 1 {
			t.Errorf("%s: got %+v", text, role)
		}
	}
}

// A difference that the proof finds is taken out of what the source says, and noted: the rule stays for its
// agent alone, as it is written.
func TestMended(t *testing.T) {
	res, diags := run(t, map[string]string{
		".cursor/cli.json": `{"permissions": {"allow": ["WebFetch(1.2.3.4)", "WebFetch(a.org)"], "deny": []}}`}, nil)
	if res == nil {
		t.Fatal(diags)
	}
	s, err := res.Compiled.Policy.Subject(ir.SubjectRef{Role: "cursor-cli"})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]ir.Decision{"1.2.3.4": ir.Agent, "a.org": ir.Allow} {
		if got := s.Decide(policy.Action{Group: ir.Web, Arg: host}).Decision; got != want {
			t.Errorf("%s: got %s, want %s", host, got, want)
		}
	}
	if !slices.ContainsFunc(res.Report.Notes, func(n contract.Note) bool {
		return n.Kind == contract.Kept && strings.HasSuffix(n.What, "WebFetch(1.2.3.4)") &&
			strings.Contains(n.Why, "the source would permit more by it")
	}) {
		t.Errorf("got %v", res.Report.Notes)
	}
	if built := string(res.Compiled.FS()[".cursor/cli.json"]); !strings.Contains(built, "WebFetch(1.2.3.4)") {
		t.Errorf("the rule is not in\n%s", built)
	}
}
