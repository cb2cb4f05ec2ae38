package model_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/gemini/format"
	"modec.dev/modec/targets/gemini/model"
	"modec.dev/modec/targets/internal/replay"
)

var update = flag.Bool("update", false, "rewrite what the real engine is asked")

// asked is e2e/testdata/decide.json: what Gemini CLI's own engine is asked, by the project and the session, and
// what the model says.
type asked struct {
	Sessions []session
}

type session struct {
	Project, Subagent string
	Policies          []string // its own, and that of the agents
	Calls             []model.EngineCall
	Verdicts          []ir.Decision
}

// TestReplay writes with -update what the engine is asked, and holds the model against what the engine
// answered (`make agents`).
func TestReplay(t *testing.T) {
	var today asked
	artifacts := map[string][]byte{}
	for _, name := range []string{"acme", "gemini"} {
		res := compiled(t, name)
		for file, data := range replay.Artifacts(res.Outputs, ".gemini/", "session:gemini/") {
			artifacts[name+"/"+file] = data
		}
		today.Sessions = append(today.Sessions, sessions(t, name, res)...)
	}
	var b bytes.Buffer
	b.WriteString("{\"Sessions\": [")
	n := 0
	for i, s := range today.Sessions {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n {\"Project\": %q, \"Policies\": [\"%s\"], \"Subagent\": %q, \"Calls\": [", s.Project,
			strings.Join(s.Policies, `", "`), s.Subagent)
		for j, c := range s.Calls {
			row := replay.JSON(t, []any{c.Tool, c.Server, c.Args, s.Verdicts[j]})
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n  %s", row)
			n++
		}
		b.WriteString("]}")
	}
	b.WriteString("\n]}\n")
	if replay.Questions(t, *update, "gemini", b.Bytes(), n, 3000) {
		return
	}
	replay.Run(t, replay.Case{
		Folder:    "../e2e",
		Packages:  []string{"@google/gemini-cli-core"},
		Artifacts: artifacts,
		Actions:   today.actions(),
		Want:      today.expected(t),
	})
}

// compiled compiles a fixture for Gemini CLI.
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
	target := replay.Target(t, targets.All(), "gemini")
	d := replay.Decider(t, target, res.FS(), res.Input(target).Options).(contract.Container)
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
		s := session{Project: name}
		file := ref
		if ref.Role != "" {
			file, s.Subagent = ir.SubjectRef{Role: ref.Role}, ref.Mode
		}
		for _, policy := range []string{format.PolicyFile(file), format.AgentsPolicy} {
			if _, err := fs.Stat(res.FS(), policy); err == nil {
				s.Policies = append(s.Policies, policy)
			}
		}
		if len(s.Policies) == 0 {
			continue // the role says nothing, and the agent's list of tools holds the mode
		}
		for i, a := range actions(res.Project) {
			if s.Subagent != "" && i%8 != len(out)%8 {
				continue // each pair is asked about other ones
			}
			if s.Subagent != "" && a.Group == ir.Modes {
				continue // an agent has no tool for it
			}
			s.Calls = append(s.Calls, model.Calls(a)...)
			s.Verdicts = append(s.Verdicts, model.Engine(d, ref, a)...)
		}
		out = append(out, s)
	}
	return out
}

// actions are asked about every subject.
func actions(p *ir.Project) (out []policy.Action) {
	for _, g := range []ir.Group{ir.Read, ir.Edit} {
		for _, arg := range paths {
			out = append(out, policy.Action{Group: g, Arg: arg})
		}
	}
	for _, arg := range lines {
		out = append(out, policy.Action{Group: ir.Command, Arg: arg})
	}
	for _, arg := range []string{"", "docs.acme.example", "docs.example.com", "sub.nodejs.org", "nodejs.org", "pastebin.com",
		"a.ngrok.io", "x.evil.example", "example.org"} {
		out = append(out, policy.Action{Group: ir.Web, Arg: arg})
	}
	for _, slug := range append(p.ModeNames(), contract.UnknownMode) {
		out = append(out, policy.Action{Group: ir.Modes, Arg: slug})
	}
	for i := range p.Servers {
		sv := &p.Servers[i]
		for j := range sv.Tools {
			out = append(out, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: sv.Tools[j].Name})
		}
		out = append(out, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool},
			policy.Action{Group: ir.MCP, Server: sv.Name, Arg: "any", Kind: policy.Resource})
	}
	out = append(out, policy.Action{Group: ir.MCP, Server: contract.UnknownServer, Arg: contract.UnknownTool})
	for _, tool := range []string{"save_memory", "glob", "grep_search", "list_directory", "update_topic", "complete_task"} {
		out = append(out, policy.Action{Group: ir.Unknown, Arg: tool})
	}
	return out
}

var paths = []string{
	"README.md", "src/a.go", "src/ci/x.yml", "src/gen/a.go", "docs/a.md", "docs/x/y/b.md", "docs/legal/x.md",
	"docs/draft-1.md", "docs/../src/a.go", "./docs/a.md", "docs//a.md", "/etc/passwd", "/project/docs/a.md", "../x.md",
	".env", "x/.env", ".ENV", ".env.local", "secrets/a", "SECRETS/a", "a/secrets", "key.pem", "deep/er/key.pem",
	"adr/0001-plan.md", "docs/adr/0001-plan.md", "docs/adr/1-plan.md", "modec.toml", "modec/roles/a.cue", ".git/config",
	".gemini/settings.json", ".gemini/policies/developer.toml", ".GEMINI/x", "package.json", "web/package.json",
	"package-lock.json", "infra/main.tf", "db/migrations/applied/1.sql", "DB/migrations/applied/1.sql",
	"db/./migrations/applied/1.sql", "notes/a1.txt", "notes/c1.txt", "x.csv", "docs/日本語.md", "docs/ｅ.md", "docs/a\".md",
	"docs/a\\b.md", "docs/a .md", "docs/a.", "docs/a b.md", "~/x", "finance/q1.md", "Dockerfile", "x\ny", "docs/ſecrets/x",
}

var lines = []string{
	"git status", "git status --short", "git  status", " git status", "git log", "git log --oneline -5", "git diff",
	"git diff HEAD~1", "git add .", "git add -A && git status", "git commit -m wip", "git commit -m 'fix it'",
	"git commit -m \"fix it\"", "git push", "git push origin main", "git push --force", "git push -f origin main",
	"env git push", "git -C . push", "/usr/bin/git push", "\"git\" push", "g\\it push", "git $(echo push)",
	"FOO=1 git push", "sh -c 'git push'", "bash -c \"git push\"", "echo push | xargs git", "git status; git push",
	"git status && git push", "git status || git push", "git status | sh", "git status & git push", "git status &",
	"git status;", "git status |& cat", "(git push)", "{ git push; }", "if true; then git push; fi", "! git status",
	"npm test", "npm test -- --watch", "npm testx", "npm run build", "npm run docs:build", "npm ci", "npm ci --force",
	"npm ci && npm test", "npm test > out.txt", "npm test 2>&1", "npm test < in", "npm test <<< x", "npm test $(rm x)",
	"npm test `rm x`", "npm test \"$HOME\"", "npm test *.go", "npm test # x", "npm test\nrm x", "npm test ~/x", "rm -rf x",
	"rm -r -f x", "rm x", "sudo ls", "ls", "ls -la", "ls | sh", "pwd", "cat README.md", "cat .env", "echo hi", "node x.js",
	"npx tsc --noEmit", "npx vitest run a.test.ts", "kubectl get pods", "kubectl delete pod x", "kubectl logs a | tail",
	"psql -d proddb", "curl https://example.org", "go test ./...", "make", "make all", "g++ -o x x.cpp", "cd docs && npm test",
	"true", "", "(", "echo 'x", "a && ", "git status &&& ls", "git * --stat", "git log --stat", "eval git push",
	"command git push", "exec git push", "X=y", "export PATH=.", "alias g=git", "function f { git push; }", "f() { ls; }",
	"cat <<EOF\nx\nEOF", "git status # git push", "timeout 5 npm test", "npm audit", "npm audit --json",
}

// actions returns what is asked, as e2e/decide.test.mjs puts it into the key.
func (a asked) actions() any {
	var out []any
	for _, s := range a.Sessions {
		out = append(out, map[string]any{"project": s.Project, "policies": s.Policies, "subagent": s.Subagent, "calls": s.Calls})
	}
	return out
}

// expected returns what the model says.
func (a asked) expected(t *testing.T) (out []replay.Expected) {
	for _, s := range a.Sessions {
		e := replay.Expected{Session: s.Project + " " + s.Policies[0] + " " + s.Subagent}
		for i, c := range s.Calls {
			e.Add(replay.JSON(t, c), s.Verdicts[i])
		}
		out = append(out, e)
	}
	return out
}
