package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/targets"
)

// canaryLines are command lines that state a secret §, as permission rules, prompts and hooks repeat them.
var canaryLines = []string{
	`curl -H "Authorization: Bearer §" https://x.example`, `curl -H 'X-Foo: §' https://x.example`, `mysql -p§ app`,
	`mysql -p'§' app`, `docker login -u me -p §`, `docker run -e API_KEY=§ image`, `PGPASSWORD=§ psql`,
	`aws configure set aws_secret_access_key §`, `redis-cli -u redis://:§@h ping`, `export X_TOKEN=§`,
	`heroku config:set API_TOKEN=§`, `gh secret set NAME -b §`, `server --api-key=§`, `server --token §`,
	`server -k §`,
	`git clone https://§@x.example/r`, `curl https://x.example/?api_key=§`, `curl https://mcp.x.example/mcp/sse/§`,
	`curl -u me:§ https://x.example`, `deploy sbp_§§`, `deploy ctx7sk-§`, `deploy sk-proj-§§`, `deploy figd_§§`,
	`deploy lin_api_§§`, `echo § | docker login --password-stdin`, `sshpass -p § ssh x`, `fly secrets set NAME=§`,
}

// canaryEntries are members of an MCP server's entry that state a secret §.
var canaryEntries = []string{
	`"command": "npx", "args": ["-y", "srv", "--header", "X-Foo:§"]`, `"command": "srv", "args": ["-k", "§"]`,
	`"command": "sh", "args": ["-c", "LINE"]`, `"command": "srv", "env": {"OPTIONS": "--token §"}`,
	`"command": "srv", "cwd": "/srv/§§"`, `"type": "KIND", "url": "https://§@x.example/mcp"`,
	`"type": "KIND", "url": "https://mcp.x.example/s/§/mcp"`,
	`"type": "KIND", "url": "https://x.example/mcp", "headers": {"X-Foo": "§"}`,
	`"command": "mysql", "args": ["-p§"]`,
	`"command": "docker", "args": ["run", "-e", "API_KEY=§", "image"]`, `"command": "srv", "env": {"X": "figd_§§"}`,
}

// canaryFiles are files of agents with a secret in each of their texts: LINE stands for a command line,
// ENTRY for members of a server's entry.
var canaryFiles = map[string]string{
	".claude/settings.json": `{
  "env": {"DEPLOY_TOKEN": "§", "OPTIONS": "LINE"},
  "apiKeyHelper": "LINE",
  "statusLine": {"type": "command", "command": "LINE"},
  "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "LINE"}]}]},
  "permissions": {
    "allow": ["Bash(LINE)", "Bash(LINE:*)", "Bash(LINE *)", "Read(//srv/§§/**)", "Bash(npm test)"],
    "ask": ["Bash(LINE)", "Bash(LINE:*)", "Bash(git push:*)"],
    "deny": ["Bash(LINE)", "Bash(LINE:*)", "Edit(/§§)", "Bash(rm:*)"],
    "additionalDirectories": ["/srv/§§"]
  }
}
`,
	".claude/agents/one.md":  "---\nname: one\ndescription: Helps with `LINE`.\n---\nYou help.\n",
	".claude/agents/two.md":  "---\nname: two\ndescription: Helps.\ntools: Read\n---\nLog in with\n\n    LINE\n",
	".claude/agents/tres.md": "---\nname: tres\ndescription: Helps.\ntools: Bash(LINE), Read\n---\nYou help.\n",
	".claude/commands/x.md":  "Run `LINE`.\n",
	".claude/skills/go/SKILL.md": "---\nname: go\ndescription: d\nhooks:\n  PreToolUse:\n    - hooks:\n" +
		"        - type: command\n          command: |-\n            LINE\n---\nGo.\n",
	"CLAUDE.md":           "Run `LINE`.\n",
	".mcp.json":           `{"mcpServers": {"a": {ENTRY}, "b": {ENTRY}, "open": {"command": "open"}}}` + "\n",
	".cursor/mcp.json":    `{"mcpServers": {"a": {ENTRY}, "b": {ENTRY}, "open": {"command": "open"}}}` + "\n",
	".cursor/cli.json":    `{"permissions": {"allow": ["Shell(LINE)", "Shell(ls)"], "deny": ["Shell(LINE)", "Read(.env)"]}}` + "\n",
	".cursor/rules/x.mdc": "---\ndescription: LINE\n---\nRun `LINE`.\n",
	".cursor/hooks.json":  `{"version": 1, "hooks": {"beforeShellExecution": [{"command": "guard --token §"}]}}` + "\n",
	".roo/mcp.json":       `{"mcpServers": {"a": {ENTRY, "alwaysAllow": ["get"]}, "b": {ENTRY}, "open": {"command": "open"}}}` + "\n",
	".roo/rules/x.md":     "Run `LINE`.\n",
	".roo/rules-dev/x.md": "Run `LINE`.\n",
	".roomodes": `# LINE
customModes:
  # LINE
  - slug: dev
    name: Dev sbp_§§
    roleDefinition: |-
      You develop.
      LINE
    customInstructions: |-
      Run LINE
    whenToUse: |-
      After LINE
    description: |-
      Before LINE
    groups:
      - read
      - - edit
        - fileRegex: \.md$ # LINE
          description: |-
            Behind LINE
      - command
      - mcp
  - slug: plan
    name: Plan
    roleDefinition: You plan.
    groups: [read]
`,
}

// TestCanaries plants another secret in every text of a repository that several agents share. None ever
// appears in a file but its own, nor in anything that a command prints, and each file but .roomodes,
// which a build writes whole, keeps what it has. The originals that are kept for clean are copies.
func TestCanaries(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		dir, home := t.TempDir(), t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
		t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
		if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		planted := map[string]string{} // the file of each secret
		before := map[string]string{}
		for name, text := range canaryFiles {
			before[name] = plant(r, name, text, planted)
			mustWrite(t, filepath.Join(dir, name), []byte(before[name]))
		}
		tell := func(line ...string) {
			var out bytes.Buffer
			args := append([]string{"-C", dir}, line...)
			code := run(t.Context(), targets.All(), args, strings.NewReader(""), &out, &out)
			if code > 0 && (line[0] == "migrate" || line[0] == "build") {
				t.Fatalf("%s: exit %d\n%s", line, code, &out)
			}
			for s, file := range planted {
				if text := out.String(); strings.Contains(text, s) {
					i := strings.Index(text, s)
					t.Errorf("%s prints the secret of %s: %s\n%s", line, file, text[max(0, i-200):min(len(text), i+60)],
						lineOf(before[file], s))
				}
			}
		}
		for _, line := range []string{
			"migrate --dry-run --json", "migrate -v", "build --diff", "build", "build --check", "lint -v",
			"lint --json", "verify -v", "verify --disk --json", "list", "list --json", "show", "show --json",
			"show claude", "show dev --json", "doctor", "doctor --json", "migrate --json", "migrate -v",
			"explain claude command ls", "explain dev command ls --json", "why .roomodes", "why .mcp.json:1",
			"why .claude/settings.json", "why .cursor/mcp.json", "why .roo/mcp.json --json", "suggest",
		} {
			tell(strings.Fields(line)...)
		}
		tell("show", "--html", filepath.Join(dir, "page.html"))
		for name, text := range files(t, dir) {
			for s, file := range planted {
				if name != file && strings.Contains(text, s) {
					t.Errorf("%s has the secret of %s:\n%s\n%s", name, file, lineOf(text, s), lineOf(before[file], s))
				}
				if name == file && file != ".roomodes" && !strings.Contains(text, s) {
					t.Errorf("%s has lost its secret:\n%s", file, lineOf(before[file], s))
				}
			}
		}
		err := filepath.WalkDir(home, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(p)
			for s := range planted {
				if filepath.Base(filepath.Dir(p)) != "originals" && bytes.Contains(data, []byte(s)) {
					t.Errorf("%s has the secret of %s", p, planted[s])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		tell("clean")
		for name, text := range before {
			if after := files(t, dir)[name]; after != text {
				t.Errorf("%s is\n%s\nafter clean, and was\n%s", name, after, text)
			}
		}
	}
}

// plant replaces the marks in a file's text by secrets and what states them.
func plant(r *rand.Rand, name, text string, planted map[string]string) string {
	quoted := strings.HasSuffix(name, ".json")
	replace := func(text, mark string, by func() string) string {
		parts := strings.Split(text, mark)
		for i := range parts[1:] {
			parts[i+1] = by() + parts[i+1]
		}
		return strings.Join(parts, "")
	}
	drawn := func(n int) func() string {
		return func() string {
			s := ""
			for len(s) < n {
				for _, of := range []string{"ghkmnpqrtwxz", "23456789", "HKMNPQRTWXZ"} {
					s += of[r.IntN(len(of)):][:1]
				}
			}
			planted[s] = name
			return s
		}
	}
	text = replace(text, "ENTRY", func() string { return canaryEntries[r.IntN(len(canaryEntries))] })
	kind := map[string]string{".roo/mcp.json": "streamable-http"}[name]
	text = strings.ReplaceAll(text, "KIND", cmp.Or(kind, "http"))
	text = replace(text, "LINE", func() string {
		line := canaryLines[r.IntN(len(canaryLines))]
		if quoted {
			data, _ := json.Marshal(line)
			line = string(data[1 : len(data)-1])
		}
		return line
	})
	text = replace(text, "§§", drawn(42))
	text = replace(text, "§", drawn(18))
	return text
}

// lineOf returns the line of a text in which something stands.
func lineOf(text, what string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, what) {
			return line
		}
	}
	return ""
}
