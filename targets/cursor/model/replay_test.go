package model

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
	"modec.dev/modec/targets/cursor/hook"
)

var update = flag.Bool("update", false, "rewrite e2e/testdata/decide.json")

// replay is e2e/testdata/decide.json: what the decider takes the engine's
// matcher and its hook runner to answer for the golden build of acme.
// e2e/decide.test.mjs asks the engine itself.
type replay struct {
	Root     string // stands for the workspace in payloads and paths
	Profiles []replayProfile
	Matches  []replayMatch
	Files    []replayHookFile
}

type replayProfile struct {
	Dir                            string      // below the build
	MCP                            [][3]string // server, tool, verdict of the tokens
	Commands, Reads, Writes, Hosts [][2]string
	Hooks                          [][3]any // event, payload, permission
}

// replayMatch is a token that no build writes.
type replayMatch struct {
	Token   string   `json:"token"`
	Against []string `json:"against"` // a command, a server and a tool, a path or a host
	Matches bool     `json:"matches"`
}

// replayHookFile is a hooks.json that people may write, and whether the engine
// takes it.
type replayHookFile struct {
	Text  string `json:"text"`
	Taken bool   `json:"taken"`
}

var replayPaths = []string{"README.md", "src/index.ts", ".env", "a/.env.local", "config/.ENV", "server.pem",
	"secrets/key", "a/secrets/b/c", "package.json", "apps/web/package.json", ".github/workflows/ci.yml",
	"infra/main.tf", ".cursor/hooks.json", ".cursor/cli.json", "modec/modes/x.cue", "modec.toml",
	".modec/policy.json", ".git/config", "CLAUDE.md", "docs/CLAUDE.md", "db/migrations/applied/1.sql", ".roomodes",
	"../x", "../../etc/passwd", "a/../.env", "./.env", "/etc/passwd", "~/.ssh/id_rsa", "C:/x",
	"e\u0301/.env", "a\nb/.env", "a b/*.pem", "", "."}

var replayCommands = []string{"npm ci", "npm ci --x", "npm test", "npm  test", "npm testx", "npm run lint",
	"npm run build && rm -rf /", "npm audit", "npm audit --json", "npm publish", "git status", "git status -s",
	"git diff HEAD", "git add .", "git commit -m 'a\nb'",
	"git push", "git push -f", "git push origin a/b", "git reset --hard HEAD~1", "/usr/bin/git push -f", "rm -rf /",
	"rm -fr x", "'rm' -rf x", "sudo id", "FOO=1 sudo id", "echo $(sudo id)", "curl https://a.b/c",
	"terraform apply", "kubectl delete pod x", "ls", "ls > out", "ls > ../out", "./run.sh", ".hidden", "a/b",
	"bash -c 'sudo id'", "time npm test", "X=1", "", "$X", "npm test '", "echo \u2028 sudo"}

func TestReplay(t *testing.T) {
	build := fstest.MapFS{}
	for _, dir := range []string{"../../../golden/acme/cursor", "../../../golden/acme/modec"} {
		if err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(p)))
			if name, ok := strings.CutPrefix(p, "session/"); ok {
				p = contract.SessionPath("cursor", name)
			}
			build[p] = &fstest.MapFile{Data: bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	build[contract.PolicyFile] = build["policy.json"]
	deciders, diags := Open(build, contract.Options{}, hook.Answer)
	if len(deciders) != 2 || len(diags) > 0 {
		t.Fatalf("got %d deciders, %v", len(deciders), diags)
	}
	d := deciders[1].(*decider)
	out := replay{Root: root}
	for _, r := range d.project.Roles {
		out.Profiles = append(out.Profiles, d.replay(t, r.Name))
	}
	out.Matches = replayMatches(t)
	out.Files = replayFiles()
	got := out.lines(t)
	const file = "../e2e/testdata/decide.json"
	if *update {
		if err := os.MkdirAll(path.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")), got) {
		t.Errorf("%s is stale: `go test ./targets/cursor/model -run TestReplay -update` rewrites it", file)
	}
}

// lines writes a row on each line.
func (r *replay) lines(t *testing.T) []byte {
	var b bytes.Buffer
	rows := func(name string, n int, row func(i int) any, end string) {
		fmt.Fprintf(&b, "%q: [", name)
		for i := range n {
			line, err := json.Marshal(row(i))
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n%s", line)
		}
		b.WriteString("]" + end + "\n")
	}
	fmt.Fprintf(&b, "{\"root\": %q,\n\"profiles\": [", r.Root)
	for i, p := range r.Profiles {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "{\"dir\": %q,\n", p.Dir)
		rows("mcp", len(p.MCP), func(i int) any { return p.MCP[i] }, ",")
		rows("commands", len(p.Commands), func(i int) any { return p.Commands[i] }, ",")
		rows("reads", len(p.Reads), func(i int) any { return p.Reads[i] }, ",")
		rows("writes", len(p.Writes), func(i int) any { return p.Writes[i] }, ",")
		rows("hosts", len(p.Hosts), func(i int) any { return p.Hosts[i] }, ",")
		rows("hooks", len(p.Hooks), func(i int) any { return p.Hooks[i] }, "}")
	}
	b.WriteString("],\n")
	rows("matches", len(r.Matches), func(i int) any { return r.Matches[i] }, ",")
	rows("files", len(r.Files), func(i int) any { return r.Files[i] }, "}")
	return b.Bytes()
}

// replay asks the model about one profile.
func (d *decider) replay(t *testing.T, role string) replayProfile {
	r := replayer{t: t, decider: d, setup: d.setups[ir.SubjectRef{Role: role}][0], calls: map[string]bool{}}
	r.Dir = "session:cursor/" + contract.PathName(role)
	if role == "developer" { // the baseline
		r.Dir = ".cursor"
	}
	// The hooks of one role that allows and one that denies are enough.
	r.hooked = role == "developer" || role == "auditor"
	r.servers()
	r.commands()
	r.paths()
	for _, h := range []string{"docs.acme.example", "x.docs.acme.example", "DOCS.acme.example", "pastebin.com",
		"x.pastebin.com", "evil.example", "developer.mozilla.org", "127.0.0.1", "docs.acme.example."} {
		a := policy.Action{Group: ir.Web, Arg: h}
		r.Hosts = append(r.Hosts, [2]string{h, r.tokens.decide(a, "", settings{}).Decision.String()})
		r.ask(a)
	}
	for _, slug := range []string{"architect", "ask", "code", "nobody", ""} {
		r.ask(policy.Action{Group: ir.Modes, Arg: slug})
	}
	r.ask(policy.Action{Group: ir.Unknown, Arg: "Telepathy"})
	return r.replayProfile
}

// replayer fills a profile.
type replayer struct {
	replayProfile
	setup
	t       *testing.T
	decider *decider
	hooked  bool
	calls   map[string]bool // those that are in the profile
}

// ask adds what the hooks answer to the calls of an action, where they are wanted.
func (r *replayer) ask(a policy.Action) {
	for _, on := range []surface{cli, ide} {
		for _, list := range r.decider.tools(on, a) {
			for _, c := range list {
				if r.hooked {
					r.call(c)
				}
			}
		}
	}
}

func (r *replayer) call(c call) {
	said, _ := r.decider.ask(r.hooks, c)
	e := c.payload
	e.Event, e.Version, e.Roots = "", "", nil // the engine sets these
	b, err := json.Marshal(e)
	if err != nil {
		r.t.Fatal(err)
	}
	if key := c.event + string(b); !r.calls[key] {
		r.calls[key] = true
		r.Hooks = append(r.Hooks, [3]any{c.event, e, cmpOr(said)})
	}
}

func (r *replayer) servers() {
	nobody := ir.Server{Name: "nobody", Tools: []ir.Tool{{Name: "x"}}}
	for i, sv := range append(slices.Clone(r.decider.project.Servers), nobody) {
		for j, tool := range sv.Tools {
			a := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: tool.Name}
			for _, id := range []string{sv.Name, strings.ToUpper(sv.Name) + "::mcpScope:x"} {
				r.MCP = append(r.MCP, [3]string{id, tool.Name, r.tokens.decide(a, id, settings{}).Decision.String()})
			}
			if (i+j)%4 == 0 {
				r.ask(a)
			}
		}
		r.ask(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: "a://b", Kind: policy.Resource})
	}
}

func (r *replayer) commands() {
	seen := map[string]bool{}
	for _, line := range replayCommands {
		for _, c := range splitShell(line).commands {
			if !seen[c] {
				seen[c] = true
				r.Commands = append(r.Commands, [2]string{c, r.tokens.commandToken(c)})
			}
		}
		r.ask(policy.Action{Group: ir.Command, Arg: line})
	}
}

func (r *replayer) paths() {
	for _, f := range replayPaths {
		read, edit := policy.Action{Group: ir.Read, Arg: f}, policy.Action{Group: ir.Edit, Arg: f}
		r.Reads = append(r.Reads, [2]string{absolute(f), r.tokens.pathToken(read)})
		r.Writes = append(r.Writes, [2]string{absolute(f), r.tokens.pathToken(edit)})
		r.ask(read)
		r.ask(edit)
	}
}

// cmpOr names the lack of an opinion as engine.mjs does.
func cmpOr(said opinion) opinion {
	if said == none {
		return "none"
	}
	return said
}

// pathToken is what the tokens say of one path: they deny it or they do not.
func (t *tokensFile) pathToken(a policy.Action) string {
	if t.decide(a, "", settings{}).Decision == ir.Deny {
		return "deny"
	}
	return "allow"
}

// commandToken is what the tokens say of one simple command.
func (t *tokensFile) commandToken(command string) string {
	matches := func(tok *token) bool { return tok.matchesShell(command) }
	switch {
	case find(t.deny, format.Shell, matches) != nil:
		return "deny"
	case find(t.allow, format.Shell, matches) != nil:
		return "allow"
	}
	return "ask"
}

// replayMatches holds the corners of the grammar.
func replayMatches(t *testing.T) []replayMatch {
	var out []replayMatch
	for _, c := range []struct {
		token   string
		against [][]string
	}{
		{"Shell(git)",
			[][]string{{"git"}, {"git push"}, {"gitk"}, {"/usr/bin/git"}, {" git "}, {"git\tpush"}, {"GIT"}}},
		{"Bash( git push )", [][]string{{"git push"}, {"git push -f"}, {"git  push"}, {"git pushx"}}},
		{"Shell(npm:ci)", [][]string{{"npm ci"}, {"npm  ci"}, {"npm ci x"}, {"npm"}, {"npm:ci"}}},
		{"Shell(npm:*)", [][]string{{"npm"}, {"npm run a/b"}, {"npm 'a\nb'"}}},
		{"Shell(git:push*)", [][]string{{"git push origin a/b"}, {"git pull"}, {"git\npush"}}},
		{"Shell(*)", [][]string{{"anything"}, {"a\nb"}, {"a 'b\nc'"}, {"a\u2028b"}}},
		{"Shell(a?[b]{c,d})", [][]string{{"a?[b]{c,d}"}, {"axbc"}}},
		{"Shell()", [][]string{{"ls"}, {""}, {" "}}},
		{"Shell(a)b)", [][]string{{"a)b"}, {"a"}}},
		{"shell(git)", [][]string{{"git"}}},
		{"Shell(git) x", [][]string{{"git"}}},
		{"Shell(a\nb)", [][]string{{"a\nb"}}},
		{"Mcp(GitHub : LIST)",
			[][]string{{"github", "list"}, {" GITHUB ", "List"}, {"user-github", "list"},
				{"github::mcpScope:a", "list"}}},
		{"Mcp(github:l*)", [][]string{{"github", "list/all"}, {"github", "l\nx"}, {"github", "xl"}}},
		{"Mcp(*:*)", [][]string{{"a", "b\nc"}, {"", ""}}},
		{"Mcp(*git*:?)", [][]string{{"project-0-x-github", "?"}, {"github", "x"}}},
		{"Mcp(a:b:c)", [][]string{{"a", "b:c"}, {"a:b", "c"}}},
		{"Mcp(a)", [][]string{{"a", "a"}}},
		{"Mcp(a:)", [][]string{{"a", ""}, {"a", "b"}}},
		{"Read(**/.env)", [][]string{{"/w/.env"}, {".env"}, {"/w/.ENV"}, {"/a\nb/.env"}}},
		{"Read(.env)", [][]string{{"/w/.env"}, {".env"}}},
		{"Write(**)", [][]string{{"/w/x"}, {"/w/a\nb"}}},
		{"WebFetch(*.a.example)", [][]string{{"a.example"}, {"b.c.a.example"}, {"xa.example"}, {"A.Example"}}},
		{"WebFetch(10.0.0.0/8)", [][]string{{"10.1.2.3"}, {"11.1.2.3"}, {"10.example"}}},
		{"WebFetch(fe80::/10)", [][]string{{"fe80::1"}, {"[fe80::1]"}, {"ff80::1"}}},
		{"WebFetch(*)", [][]string{{"x"}, {""}}},
		{"WebFetch(docs.*)", [][]string{{"docs.example"}}},
	} {
		tok, ok := parsed(c.token)
		for _, against := range c.against {
			m := replayMatch{Token: c.token, Against: against}
			switch {
			case !ok:
			case tok.Keyword == format.Shell:
				m.Matches = tok.matchesShell(against[0])
			case tok.Keyword == format.MCP:
				m.Matches = tok.matchesMCP(against[0], against[1])
			case tok.Keyword == format.WebFetch:
				m.Matches = tok.host.match(against[0])
			default:
				m.Matches = tok.whole.match(against[0])
			}
			out = append(out, m)
		}
	}
	if len(out) < 60 {
		t.Errorf("got %d matches", len(out))
	}
	return out
}

func replayFiles() []replayHookFile {
	good := hooksOf(entryOf(devHook))
	entry := func(more string) string {
		return `{"version": 1, "hooks": {"preToolUse": [{"command": "x"` + more + `}]}}`
	}
	var out []replayHookFile
	for _, text := range []string{good, "// x\n" + good + "/* y\n */",
		strings.Replace(good, "role:dev", "role:dev//x", 1), strings.Replace(good, "role:dev", "role:/*x*/dev", 1), "{",
		"[]", "null", `{"version": 1}`, `{"hooks": {}}`, `{"version": 0, "hooks": {}}`,
		`{"version": 1.5, "hooks": {}}`, `{"version": 1.0, "hooks": {}}`, `{"version": "1", "hooks": {}}`,
		`{"version": 1, "hooks": []}`, `{"version": 1, "hooks": {"x": []}}`,
		`{"version": 1, "hooks": {"stop": {}}}`, `{"version": 1, "hooks": {"stop": null}}`,
		`{"version": 1, "hooks": {"stop": [1]}}`, `{"version": 1, "hooks": {},}`, entry(""), entry(`, "x": 1`),
		entry(`, "type": "command"`), entry(`, "type": "prompt"`), entry(`, "type": "prompt", "prompt": "p"`),
		entry(`, "type": "prompt", "prompt": " "`), entry(`, "type": null`), entry(`, "type": "x"`),
		entry(`, "matcher": ""`), entry(`, "matcher": "*"`), entry(`, "matcher": "("`), entry(`, "matcher": "(?<x>a)"`),
		entry(`, "matcher": null`), entry(`, "timeout": 0`), entry(`, "timeout": 0.5`), entry(`, "timeout": "1"`),
		entry(`, "timeout": null`), entry(`, "timeout": 1e9`),
		entry(`, "failClosed": "true"`), entry(`, "failClosed": null`), entry(`, "loop_limit": null`),
		entry(`, "loop_limit": 0`), entry(`, "loop_limit": 1.5`), entry(`, "loop_limit": "1"`),
		`{"version": 1, "hooks": {"preToolUse": [{"command": ""}]}}`,
		`{"version": 1, "hooks": {"preToolUse": [{"command": null}]}}`, `{"version": 1, "hooks": {"preToolUse": [{}]}}`,
	} {
		_, err := format.ReadHooks("f", []byte(text))
		out = append(out, replayHookFile{text, err == nil})
	}
	for _, e := range append(slices.Clone(format.HookEvents), "beforeEverything") {
		text := `{"version": 1, "hooks": {"` + e + `": []}}`
		_, err := format.ReadHooks("f", []byte(text))
		out = append(out, replayHookFile{text, err == nil})
	}
	return out
}
