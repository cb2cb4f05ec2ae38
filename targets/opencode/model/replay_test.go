package model_test

import (
	"bytes"
	"flag"
	"fmt"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/internal/replay"
	"modec.dev/modec/targets/opencode/format"
	"modec.dev/modec/targets/opencode/model"
)

var update = flag.Bool("update", false, "rewrite what the program is asked")

// asked is e2e/testdata/decide.json: what opencode is asked, by the project and the agent, and what the model says.
type asked struct {
	Tools    map[string]map[string][]string // of the servers of each project
	Files    []string                       // that a session finds
	Sessions []session
}

type session struct {
	Project, File, Agent string
	Calls                []model.Call
	Verdicts             []ir.Decision
}

// TestReplay writes with -update what opencode is asked, and holds the model against what it did (`make agents`).
func TestReplay(t *testing.T) {
	today := asked{Tools: map[string]map[string][]string{}, Files: []string{"README.md", "docs/a.md"}}
	artifacts := map[string][]byte{}
	for _, name := range []string{"acme", "opencode"} {
		res := compiled(t, name)
		for file, data := range replay.Artifacts(res.Outputs, nil, format.SessionsDir+"/", format.ConfigFile) {
			artifacts[name+"/"+file] = data
		}
		today.Tools[name] = map[string][]string{}
		for i := range res.Project.Servers {
			sv := &res.Project.Servers[i]
			tools := []string{contract.UnknownTool}
			for _, tool := range sv.Tools {
				tools = append(tools, tool.Name)
			}
			today.Tools[name][sv.Name] = tools
		}
		today.Sessions = append(today.Sessions, sessions(t, name, res)...)
	}
	data, n := today.text(t)
	if replay.Questions(t, *update, "opencode", data, n, 500) {
		return
	}
	replay.Run(t, replay.Case{
		Folder:    "../e2e",
		Packages:  []string{"opencode-linux-x64"},
		Artifacts: artifacts,
		Actions:   today.actions(),
		Want:      today.expected(t),
	})
}

// text returns the file, and how many calls it has.
func (a asked) text(t *testing.T) ([]byte, int) {
	t.Helper()
	var b bytes.Buffer
	line := func(v any) string { return replay.JSON(t, v) }
	fmt.Fprintf(&b, "{\"Tools\": %s,\n \"Files\": %s,\n \"Sessions\": [", line(a.Tools), line(a.Files))
	n := 0
	for i, s := range a.Sessions {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n {\"Project\": %q, \"File\": %q, \"Agent\": %q, \"Calls\": [", s.Project, s.File, s.Agent)
		for j, c := range s.Calls {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n  %s", line([]any{c.Tool, c.Input, s.Verdicts[j]}))
			n++
		}
		b.WriteString("]}")
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), n
}

// compiled compiles a fixture for opencode.
func compiled(t *testing.T, name string) *compiler.Result {
	t.Helper()
	today := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	files := replay.Fixture(t, name)
	res, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All(), Today: today})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return res
}

// sessions returns what is asked about the subjects of a project.
func sessions(t *testing.T, name string, res *compiler.Result) (out []session) {
	t.Helper()
	target := replay.Target(t, targets.All(), "opencode")
	// The files of sessions are asked about alone: what every session reads has the same agents.
	fsys := memfs.FS{}
	for file, data := range replay.Artifacts(res.Outputs, nil, format.SessionsDir+"/") {
		fsys[file] = data
	}
	d := replay.Decider(t, target, fsys, res.Input(target).Options).(contract.Container)
	refs := res.Project.Subjects()
	for i := range res.Project.Roles {
		for j := range res.Project.Modes {
			refs = append(refs, ir.SubjectRef{Role: res.Project.Roles[i].Name, Mode: res.Project.Modes[j].Slug})
		}
	}
	for _, ref := range refs {
		if !d.Contains(ref) {
			continue
		}
		of := ref
		if ref.Role != "" {
			of.Mode = ""
		}
		s := session{Project: name, File: format.SessionFile(of), Agent: ref.Mode}
		if s.Agent == "" {
			s.Agent = ref.Role
		}
		for i, a := range actions(res.Project) {
			if every := 7; ref.Role != "" && ref.Mode != "" && i%(2*every) != len(out)%(2*every) || i%every != len(out)%every {
				continue // each subject is asked about other ones
			}
			s.Calls = append(s.Calls, model.CallOf(a))
			s.Verdicts = append(s.Verdicts, model.Program(d, ref, a))
		}
		out = append(out, s)
	}
	return out
}

// actions are asked about every subject.
func actions(p *ir.Project) (out []policy.Action) {
	add := func(g ir.Group, args ...string) {
		for _, arg := range args {
			out = append(out, policy.Action{Group: g, Arg: arg})
		}
	}
	add(ir.Read, readable...)
	add(ir.Edit, paths...)
	add(ir.Command, lines...)
	add(ir.Web, "docs.acme.example", "docs.example.com", "sub.nodejs.org", "pastebin.com", "a.ngrok.io", "x.evil.example")
	for i := range p.Servers {
		sv := &p.Servers[i]
		for j := range sv.Tools {
			out = append(out, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: sv.Tools[j].Name})
		}
		out = append(out, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool})
	}
	add(ir.Unknown, "todowrite")
	return out
}

var (
	readable = []string{"README.md", "docs/a.md", ".env", "x/.env", ".env.example", "secrets/a", "a/secrets/b", "key.pem",
		"finance/q1.md", "SECRETS/a"}
	paths = []string{
		"README.md", "src/a.go", "src/ci/x.yml", "src/gen/a.go", "docs/a.md", "docs/x/y/b.md", "docs/legal/x.md",
		"docs/draft-1.md", "docs/../src/a.go", "./docs/a.md", ".env", "x/.env", ".ENV", ".env.local", "key.pem",
		"adr/0001-plan.md", "docs/adr/0001-plan.md", "modec.toml", "modec/roles/a.cue", "sub/modec.toml", "package.json",
		"web/package.json", "package-lock.json", "infra/main.tf", "db/migrations/applied/1.sql", "notes/a1.txt",
		"notes/c1.txt", "notes/a/1.txt", "x.csv", "a/x.tsv", "docs/日本語.md", "docs/a b.md", "CHANGELOG.md", "reports/a/b",
		".changeset/a", ".opencode/x", "a/HEAD", "apps/web/messages/de.json",
	}
	// lines do no harm where they run.
	lines = []string{
		"git status", "git status --short", "git  status", " git status", "git log", "git log --oneline -5", "git diff",
		"git diff HEAD", "git add .", "git add -A && git status", "git commit -m wip", "git commit -m 'fix it'",
		"git commit -m \"fix it\"", "git push", "git push origin main", "git push --force", "git push -f origin main",
		"git 'push'", "git -C . push", "FOO=1 git push", "git status; git push", "git status && git push", "git status | cat",
		"(git status)", "{ git status; }", "if true; then git status; fi", "! git status", "npm test", "npm testx",
		"npm audit", "npm audit --json", "git status > out.txt", "git status 2>&1", "git status < README.md", "> out2.txt",
		"X=1", "export Y=1", "cd docs", "cd docs && git status", "ls", "ls -la", "ls | cat", "pwd", "cat README.md", "echo hi",
		"echo 'x > y'", "true", "git status $(echo x)", "echo \"$HOME\"", "make", "make all", "go testx ./...",
		"ls # git push", "ls *.md", "f() { ls; }", "kubectl get pods", "sudo -V", "psql -d prod --version", "[ -f x ]",
		"git status\ngit log", "git status &", "test -f x", "rm -rf nothing",
	}
)

// actions returns what is asked, as e2e/decide.test.mjs puts it into the key.
func (a asked) actions() any {
	var out []any
	for _, s := range a.Sessions {
		out = append(out, map[string]any{"project": s.Project, "file": s.File, "agent": s.Agent, "calls": s.Calls})
	}
	return out
}

// expected returns what the model says.
func (a asked) expected(t *testing.T) (out []replay.Expected) {
	for _, s := range a.Sessions {
		e := replay.Expected{Session: s.Project + " " + s.File + " " + s.Agent}
		for i, c := range s.Calls {
			e.Add(replay.JSON(t, c), s.Verdicts[i])
		}
		out = append(out, e)
	}
	return out
}
