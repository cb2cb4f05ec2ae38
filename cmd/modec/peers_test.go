package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// peer is a project in which a test does what a comparable tool was seen to get wrong.
type peer struct {
	*testing.T
	dir string
}

// more returns one more file of the source.
func more(cue string) map[string]string {
	return map[string]string{"modec/b.cue": "package modec\n\n" + cue + "\n"}
}

func newPeer(t *testing.T, files map[string]string) *peer {
	t.Helper()
	t.Setenv("MODEC_CACHE", "off")
	p := &peer{t, t.TempDir()}
	p.write("modec.toml", "hooks = \"enforce\"\nbaseline = \"dev\"\n[targets.claude]\n[targets.cursor]\n[targets.roo]\n")
	p.write("modec/dev.cue", `package modec

roles: dev: can: {
	command: {allow: ["git diff *"], deny: ["rm -rf *"], default: "ask"}
	web: {allow: ["docs.example.com"], default: "deny"}
}
`)
	for name, text := range files {
		p.write(name, text)
	}
	return p
}

func (p *peer) write(name, text string) {
	p.Helper()
	mustWrite(p.T, filepath.Join(p.dir, name), []byte(text))
}

func (p *peer) read(name string) string {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.Error(err)
	}
	return string(data)
}

// modec runs a command and holds its exit code.
func (p *peer) modec(code int, args ...string) string {
	p.Helper()
	out := answer(p.T, append([]string{"-C", p.dir}, args...)...)
	if !strings.HasPrefix(out, "exit "+string(rune('0'+code))) {
		p.Errorf("modec %s: got %s, want exit %d", strings.Join(args, " "), out, code)
	}
	return out
}

// peerSession begins the folders beside the project, one for each target.
const peerSession = "../session-"

// session writes what sessions of a role are started with.
func (p *peer) session(role, target string) {
	p.Helper()
	p.modec(0, "args", role, "--target", target, "--accept", "--out", filepath.Join(p.dir, peerSession+target))
}

func (p *peer) has(name, text string, want bool) {
	p.Helper()
	if got := strings.Contains(p.read(name), text); got != want {
		p.Errorf("%s has %q: got %v, want %v:\n%s", name, text, got, want, p.read(name))
	}
}

// TestPeers holds modec against failures that were observed in comparable tools, by
// the number of the observation. Those that cannot apply are left out: 7 (modec writes
// no command lists of Roo), 21 (no failure).
func TestPeers(t *testing.T) {
	for name, test := range peers {
		t.Run(name, test)
	}
}

var peers = map[string]func(*testing.T){
	"01 a mode that says nothing may do nothing": func(t *testing.T) {
		p := newPeer(t, more(`modes: reviewer: {name: "R", roleDefinition: "r"}`))
		p.modec(0, "build")
		p.has(".roomodes", "groups: []", true)
	},
	"02 an imported read-only subagent stays read-only": func(t *testing.T) {
		p := &peer{t, t.TempDir()}
		p.write(".claude/agents/r.md", "---\nname: r\ndescription: d\ntools: Read, Grep, Bash(git diff:*)\n"+
			"disallowedTools: Write\npermissionMode: plan\n---\nYou review.\n")
		p.modec(0, "migrate")
		p.has("modec/modes/r.cue", `targets: ["claude"]`, true) // no other agent has its mode plan
		p.modec(0, "build", "--target", "roo")
		if _, err := os.Stat(filepath.Join(p.dir, ".roomodes")); err == nil {
			for _, group := range []string{"- edit", "- mcp", "- command"} {
				p.has(".roomodes", group, false)
			}
		}
	},
	"03 two roles have their own permissions in each format": func(t *testing.T) {
		p := newPeer(t, more(`roles: other: can: command: {allow: ["make *"], default: "deny"}`))
		p.modec(0, "build")
		p.session("other", "claude")
		p.session("other", "cursor")
		for dev, other := range map[string]string{
			".claude/settings.json": peerSession + "claude/other.settings.json",
			".cursor/cli.json":      peerSession + "cursor/cli.json",
			".cursor/hooks.json":    peerSession + "cursor/hooks.json",
		} {
			if p.read(dev) == p.read(other) {
				t.Errorf("%s and %s: the same", dev, other)
			}
		}
		p.has(".claude/settings.json", "Bash(git diff *)", true)
		p.has(".claude/settings.json", "Bash(make *)", false)
		p.has(peerSession+"claude/other.settings.json", "Bash(make *)", true)
		p.has(peerSession+"claude/other.settings.json", "git diff", false)
	},
	"04 a deny of a command matches in Cursor's own grammar": func(t *testing.T) {
		p := newPeer(t, nil)
		p.modec(0, "build")
		p.has(".cursor/cli.json", "Shell(rm -rf *)", false)
		if out := p.modec(1, "explain", "dev", "command", "rm -rf /"); !strings.Contains(out, "deny") {
			t.Error(out)
		}
		p.modec(0, "verify", "--target", "cursor", "--disk")
	},
	"05 a host is written as the format wants it": func(t *testing.T) {
		p := newPeer(t, nil)
		p.modec(0, "build")
		p.has(".cursor/cli.json", "domain:", false)
		p.has(".cursor/cli.json", "WebFetch(docs.example.com)", true)
		p.has(".claude/settings.json", "WebFetch(domain:docs.example.com)", true)
	},
	"06 a rule that a format cannot say is told, unless only errors are asked for": func(t *testing.T) {
		p := newPeer(t, more(`roles: other: can: edit: "ask"`))
		const loss = "Cursor cannot ask about edit"
		if out := p.modec(0, "build", "--quiet"); strings.Contains(out, loss) {
			t.Error(out)
		}
		p.modec(0, "clean")
		if out := p.modec(0, "build"); !strings.Contains(out, loss) {
			t.Error(out)
		}
		if out := p.modec(0, "build", "--dry-run", "--quiet", "--json"); !strings.Contains(out, loss) {
			t.Error(out)
		}
	},
	"08 a person's own deny survives a merge": func(t *testing.T) {
		p := newPeer(t, map[string]string{
			".cursor/cli.json":      `{"permissions": {"allow": ["Shell(mine)"], "deny": ["Shell(shutdown)"]}}`,
			".claude/settings.json": `{"permissions": {"deny": ["Bash(shutdown:*)"]}}`,
		})
		settings := p.read(".claude/settings.json")
		p.modec(0, "build")
		p.has(".claude/settings.json", `{"permissions": {"deny": ["Bash(shutdown:*)", "`, true)
		p.has(".cursor/cli.json", "Shell(shutdown)", true)
		p.has(".cursor/cli.json", "Shell(mine)", true)
		p.modec(0, "clean")
		if got := p.read(".claude/settings.json"); got != settings {
			t.Errorf("got %s after a clean, want the settings as they were", got)
		}
	},
	"09 an allow that is revoked goes": func(t *testing.T) {
		p := newPeer(t, nil)
		p.modec(0, "build")
		p.has(".cursor/cli.json", "WebFetch(docs.example.com)", true)
		p.has(".claude/settings.json", "WebFetch(domain:docs.example.com)", true)
		p.write("modec/dev.cue", "package modec\n\nroles: dev: can: command: {deny: [\"rm -rf *\"], default: \"ask\"}\n")
		p.modec(0, "build")
		p.has(".cursor/cli.json", "Shell(rm -rf)", true)
		p.has(".cursor/cli.json", "WebFetch", false)
		p.has(".claude/settings.json", "Bash(rm -rf *)", true)
		p.has(".claude/settings.json", "WebFetch", false)
		p.write("modec/dev.cue", "package modec\n\nroles: dev: {}\n")
		p.write("modec.toml", "baseline = \"dev\"\n[targets.claude]\n[targets.cursor]\n[targets.roo]\n")
		p.modec(0, "build")
		for _, name := range []string{".cursor", ".claude", ".modec"} { // nothing is left to say
			if _, err := os.Stat(filepath.Join(p.dir, name)); !os.IsNotExist(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
	},
	"10 a hand-made file is not overwritten": func(t *testing.T) {
		p := newPeer(t, map[string]string{
			".roomodes":    "customModes: [] # mine\n",
			"modec/m.yaml": "modes:\n  code: {name: Code, roleDefinition: You write code., can: {read: allow}}\n",
		})
		if out := p.modec(1, "build"); !strings.Contains(out, "[not-ours]") {
			t.Error(out)
		}
		p.has(".roomodes", "# mine", true)
	},
	"11 a slip in one file stops the build and deletes nothing": func(t *testing.T) {
		p := newPeer(t, map[string]string{"modec/b.yaml": "roles:\n  other: {description: d}\n"})
		p.modec(0, "build")
		before := treeOf(t, p.dir)
		p.write("modec/b.yaml", "roles:\n  other: {description: d\n")
		delete(before, filepath.Join("modec", "b.yaml"))
		p.modec(1, "build")
		p.modec(1, "build", "--quiet")
		after := treeOf(t, p.dir)
		delete(after, filepath.Join("modec", "b.yaml"))
		if len(before) != len(after) || before[".roomodes"] != after[".roomodes"] {
			t.Error("the artifacts changed")
		}
	},
	"12 a category that does not exist is an error": func(t *testing.T) {
		p := newPeer(t, more(`roles: other: can: bassh: {allow: ["git diff *"]}`))
		if out := p.modec(1, "build"); !strings.Contains(out, "unknown-field") {
			t.Error(out)
		}
	},
	"13 unknown groups, keys, servers and broken expressions are errors": func(t *testing.T) {
		for _, text := range []string{
			"modes: m: {name: \"M\", roleDefinition: \"r\", can: reed: \"allow\"}",
			"modes: m: {name: \"M\", roleDefinition: \"r\", can: edit: allow: [{regex: \"([\"}]}",
			"modes: m: {name: \"M\", roleDefinition: \"r\", colour: \"red\"}",
			"modes: m: {name: \"M\", roleDefinition: \"r\", can: mcp: nowhere: \"allow\"}",
		} {
			newPeer(t, map[string]string{"modec/b.cue": "package modec\n\n" + text + "\n"}).modec(1, "build")
		}
	},
	"14 a bad value leaves nothing half written": func(t *testing.T) {
		p := newPeer(t, more(`roles: other: can: web: "maybe"`))
		before := len(treeOf(t, p.dir))
		out := p.modec(1, "build")
		if len(treeOf(t, p.dir)) != before || strings.Count(out, "maybe") > 2 {
			t.Errorf("%d files, and then %d: %s", before, len(treeOf(t, p.dir)), out)
		}
	},
	"15 a second import does not overwrite the first": func(t *testing.T) {
		p := &peer{t, t.TempDir()}
		p.write(".claude/settings.json", `{"permissions": {"deny": ["Bash(curl *)"]}}`)
		p.write(".cursor/cli.json", `{"permissions": {"allow": ["Shell(ls)"], "deny": []}}`)
		p.modec(0, "migrate", "--from", "claude")
		source := treeOf(t, p.dir)
		p.modec(0, "migrate", "--from", "cursor") // beside it
		for name, text := range source {
			if treeOf(t, p.dir)[name] != text {
				t.Errorf("%s changed", name)
			}
		}
		p.write("modec/roles/claude.cue", "package modec\n")
		p.modec(1, "migrate", "--from", "claude")
		p.has("modec/roles/claude.cue", "curl", false)
		p.modec(0, "migrate", "--force") // both at once
		p.has("modec/roles/claude.cue", "curl", true)
		p.has("modec/roles/cursor-cli.cue", "ls", true)
	},
	"16 a rule in two lists is told of, and patterns are understood": func(t *testing.T) {
		p := &peer{t, t.TempDir()}
		p.write(".claude/settings.json",
			`{"permissions": {"allow": ["Bash(git diff:*)", "Bash(make *)"], "deny": ["Bash(make *)"]}}`)
		p.modec(0, "migrate")
		p.has("modec/roles/claude.cue", `"git diff`, true)
		if out := p.modec(1, "lint"); !strings.Contains(out, "void-rule") {
			t.Error(out)
		}
		p.modec(1, "explain", "claude", "command", "make x")
	},
	"17 a second build says nothing of its own entries": func(t *testing.T) {
		p := newPeer(t, nil)
		p.modec(0, "build")
		if out := p.modec(0, "build"); strings.Count(out, "\n") != 2 || !strings.Contains(out, "up to date") {
			t.Error(out)
		}
	},
	"18 JSON is the same each time": func(t *testing.T) {
		p := newPeer(t, nil)
		p.modec(0, "build")
		first := p.modec(0, "build", "--json")
		if second := p.modec(0, "build", "--json"); first != second {
			t.Error("two runs differ")
		}
		var v any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(first, "exit 0\n")), &v); err != nil {
			t.Error(err)
		}
	},
	"19 a remote server has a type that Roo knows": func(t *testing.T) {
		p := newPeer(t, more(`servers: docs: url: "https://docs.example.com/mcp"
modes: m: {name: "M", roleDefinition: "r", can: mcp: docs: "ask"}`))
		p.modec(0, "build")
		p.has(".roo/mcp.json", `"type": "streamable-http"`, true)
	},
	"20 front matter has no key that the agent does not know": func(t *testing.T) {
		p := newPeer(t, more(`modes: m: {name: "M", roleDefinition: "r", whenToUse: "w", can: read: "allow"}`))
		p.modec(0, "build")
		known := strings.Fields("name description tools disallowedTools model permissionMode hooks color " +
			"effort maxTurns")
		front, _, _ := strings.Cut(strings.TrimPrefix(p.read(".claude/agents/m.md"), "---\n"), "\n---\n")
		for line := range strings.Lines(front) {
			key, _, _ := strings.Cut(line, ":")
			if line[0] != ' ' && line[0] != '#' && !slices.Contains(known, strings.TrimSpace(key)) {
				t.Errorf("got the key %s", key)
			}
		}
	},
	"22 rules that Claude Code accepts and never matches are not written": func(t *testing.T) {
		p := newPeer(t, more(`roles: other: disallowedTools: ["Write(docs/**)"]`))
		p.modec(0, "build")
		p.session("other", "claude")
		p.has(peerSession+"claude/other.settings.json", "Write(docs", false)
		p.has(peerSession+"claude/other.settings.json", "Edit(", true)
	},
}
