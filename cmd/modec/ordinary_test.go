package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"modec.dev/modec/targets"
)

// ordinary draws files as teams write them: rules in the words of the vendors' own documents, in any combination.
type ordinary struct{ *rand.Rand }

// some returns a few of some texts, in their order.
func (o ordinary) some(most int, of ...string) []string {
	list := []string{}
	for _, i := range o.Perm(len(of))[:o.IntN(min(most, len(of))+1)] {
		list = append(list, of[i])
	}
	return list
}

// one returns one of some texts, "" now and then.
func (o ordinary) one(of ...string) string {
	if i := o.IntN(len(of) + 1); i < len(of) {
		return of[i]
	}
	return ""
}

// sparse returns an object without what is empty in it.
func sparse(of map[string]any) map[string]any {
	for key, value := range of {
		switch v := value.(type) {
		case string:
			if v == "" {
				delete(of, key)
			}
		case []string:
			if len(v) == 0 {
				delete(of, key)
			}
		case map[string]any:
			if len(v) == 0 {
				delete(of, key)
			}
		}
	}
	return of
}

// decided gives each of some texts one of some values.
func (o ordinary) decided(most int, values []any, of ...string) map[string]any {
	list := map[string]any{}
	for _, text := range o.some(most, of...) {
		list[text] = values[o.IntN(len(values))]
	}
	return list
}

func (o ordinary) claude() (name string, file any) {
	deck := o.some(18, "Bash", "Bash(ls)", "Bash(ls:*)", "Bash(npm test)", "Bash(npm run *)", "Bash(npm run test:*)",
		"Bash(git status)", "Bash(git diff:*)", "Bash(git push:*)", "Bash(git push --force *)", "Bash(rm -rf *)", "Bash(sudo:*)",
		"Bash(curl:*)", "Bash(docker compose:*)", "Bash(cat:*)", "Bash(find:*)", "Read", "Read(.env)", "Read(./.env)", "Read(./.env.*)",
		"Read(./secrets/**)", "Read(**/*.pem)", "Read(~/.ssh/**)", "Read(//etc/**)", "Edit", "Write", "NotebookEdit",
		"Edit(src/**)", "Edit(/docs/**)", "Edit(./**)", "Edit(package-lock.json)", "Edit(**/*.md)", "Edit(infra/**)", "Grep", "Glob",
		"WebSearch", "WebFetch", "WebFetch(domain:github.com)", "WebFetch(domain:*.example.org)", "mcp__github", "mcp__github__*",
		"mcp__github__get_issue", "mcp__linear__create_issue", "Task", "TodoWrite", "Skill(review)", "Agent(reviewer)")
	deal := func(most int) (list []string) {
		n := min(o.IntN(most+1), len(deck))
		list, deck = deck[:n], deck[n:]
		return list
	}
	return ".claude/settings.json", sparse(map[string]any{"permissions": sparse(map[string]any{
		"allow": deal(9), "ask": deal(4), "deny": deal(5),
		"defaultMode": o.one("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "", ""),
	})})
}

func (o ordinary) cursor() (name string, file any) {
	rules := func(most int) []string {
		return o.some(most, "Shell(ls)", "Shell(git)", "Shell(npm)", "Shell(npm:test*)", "Shell(git:push*)", "Shell(rm)", "Shell(curl)",
			"Read(**)", "Read(src/**)", "Read(.env*)", "Read(**/*.pem)", "Write(src/**)", "Write(**)", "Write(package.json)", "Write(**/*.env)",
			"WebFetch(github.com)", "WebFetch(*.example.org)", "Mcp(github:*)", "Mcp(github:get_issue)", "Mcp(*:*)")
	}
	return ".cursor/cli.json", map[string]any{"permissions": map[string]any{"allow": rules(8), "deny": rules(4)}}
}

func (o ordinary) opencode() (name string, file any) {
	d := []any{"allow", "ask", "deny"}
	commands := o.decided(6, d, "*", "ls *", "git status", "git diff *", "git push *", "git push --force *",
		"rm *", "npm run *", "npm test", "curl *")
	paths := o.decided(4, d, "*", "src/**", "*.md", "*.env", "infra/*")
	either := func(list map[string]any) any {
		if len(list) == 0 {
			return d[o.IntN(3)]
		}
		return list
	}
	p := map[string]any{"bash": either(commands), "edit": either(paths)}
	for _, key := range o.some(3, "webfetch", "read", "task", "external_directory") {
		p[key] = d[o.IntN(3)]
	}
	return "opencode.json", map[string]any{"permission": p}
}

func (o ordinary) gemini() (name string, file any) {
	tools := func(most int) []string {
		return o.some(most, "run_shell_command(git status)", "run_shell_command(npm)", "run_shell_command(ls)", "run_shell_command(rm)",
			"read_file", "write_file", "replace", "web_fetch", "google_web_search", "run_shell_command")
	}
	return ".gemini/settings.json", sparse(map[string]any{"tools": sparse(map[string]any{
		"allowed": tools(4), "exclude": tools(3), "core": o.some(o.IntN(2)*6, "read_file", "run_shell_command", "glob", "write_file"),
	})})
}

func (o ordinary) vscode() (name string, file any) {
	b := []any{true, false}
	return ".vscode/settings.json", sparse(map[string]any{
		"chat.tools.terminal.autoApprove": o.decided(6, b, "ls", "git status", "git push", "npm test", "rm", "curl",
			"/^git (log|diff)/", "docker"),
		"chat.tools.edits.autoApprove": o.decided(4, b, "**/*", "**/*.md", "**/.env", "src/**", "package.json"),
	})
}

func (o ordinary) codex() (name string, file any) {
	text := ""
	if p := o.one("on-request", "never"); p != "" {
		text += fmt.Sprintf("approval_policy = %q\n", p)
	}
	if m := o.one("read-only", "workspace-write"); m != "" {
		text += fmt.Sprintf("sandbox_mode = %q\n", m)
	}
	if o.IntN(2) == 0 {
		text += "[mcp_servers.docs]\ncommand = \"docs-mcp\"\n"
		if tools := o.some(3, "search", "read", "write"); len(tools) > 0 {
			text += fmt.Sprintf("enabled_tools = [\"%s\"]\n", strings.Join(tools, `", "`))
		}
	}
	return ".codex/config.toml", text
}

func (o ordinary) copilot() (name string, file any) {
	text := "---\nname: reviewer\ndescription: Reviews changes\n"
	if tools := o.some(4, "read", "search", "edit", "execute", "github/get_issue", "web", "*"); len(tools) > 0 {
		text += fmt.Sprintf("tools: [\"%s\"]\n", strings.Join(tools, `", "`))
	}
	return ".github/agents/reviewer.agent.md", text + "---\nReview.\n"
}

func (o ordinary) subagent() (name string, file any) {
	text := "---\nname: reviewer\ndescription: Reviews changes\n"
	if tools := o.some(5, "Read", "Grep", "Glob", "Edit", "Write", "Bash", "WebFetch", "mcp__github__get_issue"); len(tools) > 0 {
		text += "tools: " + strings.Join(tools, ", ") + "\n"
	}
	if tools := o.some(2, "Bash", "Write", "Task"); len(tools) > 0 {
		text += "disallowedTools: " + strings.Join(tools, ", ") + "\n"
	}
	if mode := o.one("default", "acceptEdits", "plan", "dontAsk"); mode != "" {
		text += "permissionMode: " + mode + "\n"
	}
	return ".claude/agents/reviewer.md", text + "---\nReview.\n"
}

func (o ordinary) roo() (name string, file any) {
	groups := []any{}
	for _, g := range o.some(4, "read", "edit", "command", "browser", "mcp") {
		if g == "edit" && o.IntN(2) == 0 {
			groups = append(groups, []any{"edit", map[string]any{"fileRegex": o.one(`\.md$`, `^docs/.*$`, `\.(ts|tsx)$`) + "$"}})
			continue
		}
		groups = append(groups, g)
	}
	return ".roomodes", map[string]any{"customModes": []any{map[string]any{
		"slug": o.one("docs", "code", "review") + "x", "name": "Docs", "roleDefinition": "You write.", "groups": groups,
	}}}
}

func (o ordinary) kilo() (name string, file any) {
	_, like := o.opencode()
	return ".kilo/kilo.json", like
}

// servers are those of a list in an agent's own words: some of the same ones in every list.
func (o ordinary) servers(local func(words []string, env map[string]string) map[string]any) map[string]any {
	all := map[string]any{}
	for _, name := range o.some(2, "fs", "github") {
		env := map[string]string{}
		if o.IntN(3) == 0 {
			env["LOG"] = "info"
		}
		all[name] = local([]string{"npx", "-y", name + "-mcp@1.0.0"}, env)
	}
	return all
}

// withServers adds servers to the files that have some.
func (o ordinary) withServers(files map[string]any) {
	for _, name := range []string{"opencode.json", ".kilo/kilo.json"} {
		if file, ok := files[name].(map[string]any); ok {
			file["mcp"] = o.servers(func(words []string, env map[string]string) map[string]any {
				s := map[string]any{"type": "local", "command": words}
				if len(env) > 0 {
					s["environment"] = env
				}
				return s
			})
			sparse(file)
		}
	}
	if o.IntN(4) == 0 {
		files[".mcp.json"] = map[string]any{"mcpServers": o.servers(func(words []string, env map[string]string) map[string]any {
			s := map[string]any{"command": words[0], "args": words[1:]}
			if len(env) > 0 {
				s["env"] = env
			}
			return s
		})}
	}
}

// besideOpencode adds to opencode's settings the older way to say which tools there are, agents, and a second file.
func (o ordinary) besideOpencode(files map[string]any) {
	settings, ok := files["opencode.json"].(map[string]any)
	if !ok {
		return
	}
	if o.IntN(3) == 0 {
		settings["tools"] = o.decided(2, []any{true, false}, "bash", "write", "webfetch", "task")
	}
	if o.IntN(3) == 0 {
		_, like := o.opencode()
		settings["agent"] = map[string]any{cmp.Or(o.one("build", "plan", "general"), "docs"): like}
	}
	if o.IntN(4) == 0 {
		_, like := o.opencode()
		files["opencode.jsonc"] = like
	}
	sparse(settings)
}

func (o ordinary) permissions() (name string, file any) {
	return ".cursor/permissions.json", sparse(map[string]any{
		"terminalAllowlist": o.some(5, "git", "git status", "npm test", "npm:run*", "ls", "rm", "curl"),
		"mcpAllowlist":      o.some(3, "github:*", "github:get_issue", "*:*", "docs:search"),
	})
}

// TestOrdinaryFiles lives two days with files that nobody chose: import, build without --force, what checks, and an
// import again; then somebody adds a mode, and builds and checks again. The sixty by default are the same ones each
// time; MODEC_ORDINARY says how many, from which seed.
func TestOrdinaryFiles(t *testing.T) {
	first, count := uint64(1), 60
	if testing.Short() {
		count = 15
	}
	if seed, n, ok := strings.Cut(os.Getenv("MODEC_ORDINARY"), ":"); ok {
		first, _ = strconv.ParseUint(seed, 10, 64)
		count, _ = strconv.Atoi(n)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for seed := first; seed < first+uint64(count); seed++ {
		o := ordinary{rand.New(rand.NewPCG(seed, 0))}
		draw := []func() (string, any){o.claude, o.cursor, o.claude, o.opencode, o.claude, o.gemini, o.vscode, o.codex,
			o.copilot, o.subagent, o.roo, o.permissions}
		drawn := map[string]any{}
		for i := range 1 + o.IntN(4)/2 { // of one agent, or of two or three
			name, file := draw[(seed+uint64(i)*5)%uint64(len(draw))]()
			drawn[name] = file
		}
		if o := (ordinary{rand.New(rand.NewPCG(seed, 1))}); o.IntN(2) == 0 { // what is drawn before stays the same
			if _, ok := drawn["opencode.json"]; ok || o.IntN(8) == 0 {
				name, file := o.kilo()
				drawn[name] = file
			}
			o.withServers(drawn)
			o.besideOpencode(drawn)
		}
		files := map[string][]byte{}
		for name, file := range drawn {
			text, ok := file.(string)
			if data, err := json.Marshal(file); !ok && err == nil {
				text = string(data)
			}
			files[name] = []byte(text)
		}
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { adoptOrdinary(t, files) })
	}
}

// planner is a mode that somebody adds.
const planner = `package modec

modes: "zz-planner": {
	name: "Planner", whenToUse: "To plan.", roleDefinition: "You plan."
	can: {read: "allow", edit: {allow: ["docs/**"], default: "deny"}, command: {allow: ["git status"], default: "deny"}}
}
`

func adoptOrdinary(t *testing.T, files map[string][]byte) {
	dir, all := t.TempDir(), ""
	for _, name := range slices.Sorted(maps.Keys(files)) {
		mustWrite(t, filepath.Join(dir, name), files[name])
		all += fmt.Sprintf("%s %s\n", name, files[name])
	}
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git: %v\n%s", err, out)
	}
	for i, line := range []string{"migrate", "build", "build --check", "verify --disk", "migrate", "build",
		"build", "build --check", "verify", "verify --disk", "migrate"} {
		if i == 6 {
			mustWrite(t, filepath.Join(dir, "modec/modes/zz-planner.cue"), []byte(planner))
		}
		var out, errs bytes.Buffer
		code := run(t.Context(), targets.All(), append([]string{"-C", dir}, strings.Fields(line)...), nil, &out, &errs)
		text := out.String() + errs.String()
		if i == 0 && (strings.Contains(text, "nothing-to-migrate") || strings.Contains(text, "nothing to import")) {
			return
		}
		if code != 0 || i == 1 && len(files) == 1 && strings.Contains(text, "is left out") {
			source, _ := filepath.Glob(filepath.Join(dir, "modec", "*", "*.cue"))
			for _, f := range slices.Sorted(slices.Values(source)) {
				b, _ := os.ReadFile(f)
				text += string(b)
			}
			t.Fatalf("%smodec %s: exit %d\n%s", all, line, code, text)
		}
	}
}
