package asked

import (
	"encoding/json"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// Call is a call of a tool as the program gets it.
type Call struct {
	Tool  string
	Input map[string]any
}

// MarshalJSON writes a call as the end-to-end tests hand it to the program.
func (c Call) MarshalJSON() ([]byte, error) { return json.Marshal([]any{c.Tool, c.Input}) }

// callOf returns the call that does an action.
func callOf(a policy.Action) Call {
	switch a.Group {
	case ir.Read:
		return Call{"read", map[string]any{"filePath": "$DIR/" + a.Arg}}
	case ir.Edit:
		return Call{"write", map[string]any{"filePath": "$DIR/" + a.Arg, "content": "x"}}
	case ir.Command:
		return Call{"bash", map[string]any{"command": a.Arg, "description": "x"}}
	case ir.Web:
		return Call{"webfetch", map[string]any{"url": "https://" + a.Arg + "/", "format": "text"}}
	case ir.Modes:
		return Call{"task", map[string]any{"subagent_type": a.Arg, "description": "x", "prompt": "x"}}
	case ir.MCP:
		return Call{format.ToolKey(a.Server, a.Arg), map[string]any{}}
	}
	switch a.Arg {
	case "glob", "grep":
		return Call{a.Arg, map[string]any{"pattern": "x"}}
	}
	return Call{a.Arg, map[string]any{"todos": []any{}}}
}

// about returns what is asked about every subject.
func (a *Asked) about(p *ir.Project) (out []policy.Action) {
	add := func(g ir.Group, args ...string) {
		for _, arg := range args {
			out = append(out, policy.Action{Group: g, Arg: arg})
		}
	}
	add(ir.Read, append(slices.Clip(readable), a.Readable...)...)
	add(ir.Edit, append(slices.Clip(paths), a.Paths...)...)
	add(ir.Command, append(slices.Clip(lines), a.Lines...)...)
	add(ir.Web, "docs.acme.example", "docs.example.com", "sub.nodejs.org", "pastebin.com", "a.ngrok.io",
		"x.evil.example")
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
	readable = []string{"README.md", "docs/a.md", ".env", "x/.env", ".env.example", "secrets/a", "a/secrets/b",
		"key.pem", "finance/q1.md", "SECRETS/a"}
	paths = []string{
		"README.md", "src/a.go", "src/ci/x.yml", "src/gen/a.go", "docs/a.md", "docs/x/y/b.md", "docs/legal/x.md",
		"docs/draft-1.md", "docs/../src/a.go", "./docs/a.md", ".env", "x/.env", ".ENV", ".env.local", "key.pem",
		"adr/0001-plan.md", "docs/adr/0001-plan.md", "modec.toml", "modec/roles/a.cue", "sub/modec.toml",
		"package.json", "web/package.json", "package-lock.json", "infra/main.tf", "db/migrations/applied/1.sql",
		"notes/a1.txt", "notes/c1.txt", "notes/a/1.txt", "x.csv", "a/x.tsv", "docs/日本語.md", "docs/a b.md",
		"CHANGELOG.md",
		"reports/a/b", ".changeset/a", ".opencode/x", "a/HEAD", "apps/web/messages/de.json",
	}
	// lines do no harm where they run.
	lines = []string{
		"git status 2>/dev/null", "git log && git status >r91", "git log | git status 2>&1", "! git log >r92",
		"git status >r93 && git log", "git log; git status >r94 -s", "git log && git status >r95 -s",
		"git status", "git status --short", "git  status", " git status", "git log", "git log --oneline -5", "git diff",
		"git diff HEAD", "git add .", "git add -A && git status", "git commit -m wip", "git commit -m 'fix it'",
		"git commit -m \"fix it\"", "git push", "git push origin main", "git push --force", "git push -f origin main",
		"git 'push'", "git -C . push", "FOO=1 git push", "git status; git push", "git status && git push",
		"git status | cat", "(git status)", "{ git status; }", "if true; then git status; fi", "! git status",
		"npm test",
		"npm testx", "npm audit", "npm audit --json", "git status > out.txt", "git status 2>&1",
		"git status < README.md",
		"> out2.txt", "X=1", "export Y=1", "cd docs", "cd docs && git status", "ls", "ls -la", "ls | cat", "pwd",
		"cat README.md", "echo hi", "echo 'x > y'", "true", "git status $(echo x)", "echo \"$HOME\"", "make",
		"make all",
		"go testx ./...", "ls # git push", "ls *.md", "f() { ls; }", "kubectl get pods", "sudo -V",
		"psql -d prod --version", "[ -f x ]",
		"git status\ngit log", "git status &", "test -f x", "rm -rf nothing",
	}
)
