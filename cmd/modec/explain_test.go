package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/explain"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
)

// explainedSources are projects with hooks: of one the files alone cannot say what a role may do, of one what a mode may.
var explainedSources = map[string][2]string{
	"needed": {"hooks = \"enforce\"\nbaseline = \"dev\"\n[targets.claude]\n[targets.cursor]\n", `package modec
roles: dev: can: {
	read: {deny: [".env", "secrets/**", "../other/**", {regex: "\\.pem$"}], default: "allow"}
	edit: {allow: ["src/**", "docs/**"], deny: [".env", "secrets/**"], default: "ask"}
	command: {allow: ["@git_read", "git diff *", "go test *", "ls *", "cat *", "echo *", "cd *", "tail *"],
		ask: ["git push *"], deny: ["git push --force *", "rm -rf *"], default: "ask"}
	web: {allow: ["*.example.com"], default: "deny"}
}
`},
	"mode": {"hooks = \"enforce\"\nbaseline = \"dev\"\n[targets.roo]\n[targets.claude]\n[targets.cursor]\n", `package modec
modes: writer: {name: "W", roleDefinition: "You write.", can: {read: "allow", edit: allow: ["docs/**"]}}
roles: dev: can: {
	read: {deny: [".env", "secrets/**"], default: "allow"}
	edit: {allow: ["src/**", "docs/**"], deny: [".env", "secrets/**"], default: "ask"}
	command: {allow: ["git status *", "git diff *", "go test *", "ls *", "cat *", "echo *", "cd *", "tail *"],
		ask: ["git push *"], deny: ["git push --force *", "rm -rf *"], default: "ask"}
	web: "ask"
}
`},
	"always": {"hooks = \"enforce\"\nbaseline = \"dev\"\n[targets.claude]\n[targets.cursor]\n", `package modec
roles: dev: can: {
	read: {deny: ["../other/**"], default: "allow"}
	edit: {allow: ["**/*.md"], default: "deny"}
	command: {allow: ["*"], deny: ["rm *"]}
}
`},
}

// explainedLines and the others are what is asked about.
var (
	explainedLines = []string{
		"git diff", "git diff HEAD~1", "git diff HEAD^", "git log --output=x", "git status", "git push",
		"git push --force origin main", "git push --force", "'git' push", "g\"i\"t push --force x", "rm -rf x", "rm x",
		"ls", "ls -la src", "ls *", "ls ~", "ls ..", "cat .env", "cat src/../.env", "cat secrets/a", "cat ../other/x",
		"cat src/a > /tmp/out.txt", "cat src/a > out.txt", "cat src/a >> secrets/b", "cat < .env",
		"echo x > .git/config",
		"go test ./... > /tmp/out.txt 2>&1; tail -20 /tmp/out.txt", "go test ./... 2>&1 | tail -20", "go test ./...",
		"cd src && ls", "cd .. && ls", "cd ../other && cat x", "cd /tmp && ls", "cd secrets && cat a", "cd src; cat a",
		"echo $HOME", "echo \"$HOME\"", "echo $(rm -rf x)", "echo `ls`", "for f in *; do cat $f; done", "(ls)",
		"if true; then ls; fi", "ls # x", "ls | cat", "ls && ls", "ls; rm -rf /", "env X=1 git push", "X=1 ls",
		"sudo ls", "time git diff", "timeout 5 go test ./x", "bash -c 'git push'", "sh -c \"rm -rf x\"", "eval ls",
		"cat <<'EOF'\nx\nEOF", "cat <<EOF\n$(rm -rf x)\nEOF", "find . -delete", "xargs rm -rf < x", "nosuch --x",
		"echo a\\ b", "echo '[x]'", "echo [x]", "cat link/x", "cat src/link", "ls >&2", "ls &> x", "ls &", "! ls",
		"", " ", "ls\n", "{ ls; }", "echo {a,b}", "cat ./secrets/../src/a", "cat /etc/passwd", "cat ~/.ssh/id_rsa",
		"ls 'unclosed", "echo é", "echo \x01", "$X", "\"$X\" x", "git -C ../other diff", "git --no-pager diff",
	}
	explainedPaths = []string{
		"a", "src/a", "src/../.env", ".env", ".ENV", "docs/a.md", "docs/../src/a", "secrets/a", "secrets", "Secrets/a",
		"./secrets/a", "x/.env", "../other/x", "../other", "..", ".", "../../x", "/etc/passwd", "/", "~/x", "~",
		"key.pem", "a/b/key.pem", ".git/config", "sub/.git/config", "modec.toml", "modec/dev.cue",
		".claude/settings.json",
		".cursor/hooks.json", ".modec/policy.json", "link/x", "link", "src/link", "dangling", "a b", "é", "a.md",
		"x/a.md",
		".envrc", "HEAD", ".mcp.json", "src/", "notebook.ipynb", "C:\\x", "a\\b", "//x", "/proc/self/cwd/.env",
		"src//a",
		"ROOT/src/a", "ROOT/.env", "ROOT/../other/x", "ROOT/secrets/a", "ROOT", "OTHER/x",
	}
	explainedHosts = []string{"example.com", "docs.example.com", "DOCS.example.com.", "evil.test", "127.0.0.1"}
)

// TestExplainedAsHooked compares what modec explain says of an agent with what the hook
// answers that the build installed, combined with what the agent does without it.
func TestExplainedAsHooked(t *testing.T) {
	for name, source := range explainedSources {
		t.Run(name, func(t *testing.T) {
			h := newInstalled(t, source[0], source[1])
			asked := 0
			ask := func(g ir.Group, args []string) {
				for _, arg := range args {
					other := filepath.Join(filepath.Dir(h.dir), "other")
					arg = strings.NewReplacer("ROOT", h.dir, "OTHER", other).Replace(arg)
					asked += h.compare(t, policy.Action{Group: g, Arg: arg})
				}
			}
			ask(ir.Command, explainedLines)
			ask(ir.Read, explainedPaths)
			ask(ir.Edit, explainedPaths)
			ask(ir.Web, explainedHosts)
			if asked < 300 {
				t.Errorf("got %d comparisons, want 300 or more: does the build install a hook?", asked)
			}
		})
	}
}

// installed is a project with the hooks that a build installed.
type installed struct {
	*env
	policy  *policy.Engine
	judges  []explain.Model
	answers map[string]string            // by what was asked
	lines   map[string]contract.HookLine // by target and event
}

func newInstalled(t *testing.T, config, source string) *installed {
	t.Helper()
	parent, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(parent, "project")
	for name, text := range map[string]string{
		"project/modec.toml": config, "project/modec/dev.cue": source, "project/src/a": "", "project/secrets/a": "",
		"project/sub/.git/config": "", "other/x": "",
	} {
		file := filepath.Join(parent, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "../other", "src/link": "../secrets/a", "dangling": "../nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Skipf("this system makes no links: %v", err)
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), targets.All(), []string{"-C", dir, "build"}, nil, &out, &out); code != 0 {
		t.Fatalf("build: exit code %d\n%s", code, out.String())
	}
	h := &installed{env: testEnv(t.Context(), dir, &out), lines: map[string]contract.HookLine{}}
	res, diags := compiler.Compile(t.Context(), h.request())
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	h.policy, h.judges, h.answers = res.Policy, explain.Models(res, h.disk()), map[string]string{}
	for target, file := range map[string]string{"claude": ".claude/settings.json", "cursor": ".cursor/hooks.json"} {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for event, line := range installedHooks(t, data) {
			h.lines[target+" "+event] = line
		}
	}
	return h
}

// installedHooks returns the lines of modec in a file of hooks, by their events.
func installedHooks(t *testing.T, data []byte) map[string]contract.HookLine {
	t.Helper()
	type hook struct{ Command string }
	var file struct {
		Hooks map[string][]struct {
			hook
			Hooks []hook
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	lines := map[string]contract.HookLine{}
	for event, entries := range file.Hooks {
		for _, e := range entries {
			for _, h := range append(e.Hooks, e.hook) {
				if h.Command == "" {
					continue
				}
				line, err := contract.ParseHookLine(h.Command)
				if err != nil {
					t.Fatal(err)
				}
				lines[event] = line
			}
		}
	}
	return lines
}

// compare asks explain and the hooks about an action of the baseline, and returns how many
// verdicts it compared.
func (h *installed) compare(t *testing.T, a policy.Action) (compared int) {
	t.Helper()
	ref := ir.SubjectRef{Role: "dev"}
	s, err := h.policy.Subject(ref)
	if err != nil {
		t.Fatal(err)
	}
	verdicts, _ := explain.Verdicts(h.disk(), h.judges, ref, a, h.disk().Decide(s, a, h.dir))
	for _, v := range verdicts {
		if v.Target != "claude" && v.Target != "cursor" || a.Arg == "" {
			continue
		}
		bare := v.Decision
		if v.WithoutHook != nil {
			bare = *v.WithoutHook
		}
		want := ir.Deny // of the tools that do it, the most permissive
		for _, calls := range h.payloads(v.Target, v.Surface, a) {
			want = max(want, h.combined(t, v.Target, bare, calls))
		}
		if v.Decision != want {
			t.Errorf("%s %s %s %q: explain says %s, the hook and the rules say %s (%s without the hook)",
				v.Target, v.Surface, a.Group, a.Arg, v.Decision, want, bare)
		}
		compared++
	}
	return compared
}

// combined returns what an agent does that would do bare without its hook, and asks the hook
// about each of these payloads.
func (h *installed) combined(t *testing.T, target string, bare ir.Decision, calls []map[string]any) ir.Decision {
	t.Helper()
	for _, call := range calls {
		line, ok := h.lines[fmt.Sprint(target, " ", call["hook_event_name"])]
		if !ok {
			continue
		}
		switch h.answer(t, line, call) {
		case "deny":
			return ir.Deny
		case "ask":
			if call["hook_event_name"] == "PreToolUse" || call["hook_event_name"] == "beforeShellExecution" {
				bare = min(bare, ir.Ask)
			}
		}
	}
	return bare
}

// answer runs an installed hook as its agent would.
func (h *installed) answer(t *testing.T, line contract.HookLine, call map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	key := line.Agent + string(payload)
	if said, ok := h.answers[key]; ok {
		return said
	}
	h.answers[key] = h.run(t, line, payload)
	return h.answers[key]
}

func (h *installed) run(t *testing.T, line contract.HookLine, payload []byte) string {
	t.Helper()
	e := *h.env
	e.stdin = bytes.NewReader(payload)
	answer := (&hookCmd{
		Agent: line.Agent, Subject: line.Subject, Root: line.Root, MayAllow: line.MayAllow,
	}).answer(&e, new(hookRecord), time.Now())
	if answer.Exit != 0 {
		return "deny"
	}
	for _, decision := range []string{"deny", "ask", "allow"} {
		if regexp.MustCompile(fmt.Sprintf(`"(permission|permissionDecision)":\s*%q`, decision)).Match(answer.Stdout) {
			return decision
		}
	}
	return ""
}

// payloads returns what a target's hook is asked about an action: for each tool that does it,
// the calls of that tool.
func (h *installed) payloads(target, surface string, a policy.Action) [][]map[string]any {
	if target == "claude" {
		return h.claudePayloads(a)
	}
	event := func(name string, fields map[string]any) map[string]any {
		fields["hook_event_name"], fields["workspace_roots"] = name, []string{h.dir}
		return fields
	}
	pre := func(tool string, input map[string]any) map[string]any {
		return event("preToolUse", map[string]any{"tool_name": tool, "tool_input": input})
	}
	file := map[string]any{"file_path": a.Arg}
	switch a.Group {
	case ir.Command:
		return [][]map[string]any{{
			pre("Shell", map[string]any{"command": a.Arg, "cwd": h.dir}),
			event("beforeShellExecution", map[string]any{"command": a.Arg, "cwd": h.dir}),
		}}
	case ir.Read:
		tools := [][]map[string]any{{pre("Read", file), event("beforeReadFile", map[string]any{"file_path": a.Arg})},
			{pre("Grep", map[string]any{"pattern": "x", "file_path": a.Arg})}}
		if surface == "ide" {
			tools = append(tools, []map[string]any{event("beforeTabFileRead", map[string]any{"file_path": a.Arg})})
		}
		return tools
	case ir.Edit:
		return [][]map[string]any{{pre("Write", file)}}
	}
	return [][]map[string]any{{pre("Fetch", map[string]any{"url": "https://" + a.Arg + "/"})}}
}

func (h *installed) claudePayloads(a policy.Action) [][]map[string]any {
	file := a.Arg
	if !slices.ContainsFunc([]string{"/", "~"}, func(p string) bool { return strings.HasPrefix(file, p) }) {
		file = h.dir + "/" + file
	}
	inputs := map[ir.Group][2]any{
		ir.Command: {"Bash", map[string]any{"command": a.Arg}},
		ir.Read:    {"Read", map[string]any{"file_path": file}},
		ir.Edit:    {"Edit", map[string]any{"file_path": file}},
		ir.Web:     {"WebFetch", map[string]any{"url": "https://" + a.Arg + "/", "prompt": "x"}},
	}
	in := inputs[a.Group]
	return [][]map[string]any{{{"hook_event_name": "PreToolUse", "permission_mode": "default", "cwd": h.dir,
		"tool_name": in[0], "tool_input": in[1]}}}
}
