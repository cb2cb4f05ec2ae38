package model_test

import (
	"flag"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/copilot/model"
	"modec.dev/modec/targets/internal/replay"
)

var update = flag.Bool("update", false, "rewrite what Copilot is asked")

// TestReplay writes with -update what Copilot is asked, and holds the model against what Copilot did (`make agents`).
func TestReplay(t *testing.T) {
	res := compiled(t)
	script := replay.NewScript(res.Project)
	ask(t, script, res)
	script.Replay(t, *update, "copilot", replay.Case{
		Packages:  []string{"@github/copilot-linux-x64"},
		Artifacts: replay.Artifacts(res.Outputs, ".github/", "session:copilot/"),
	})
}

// compiled compiles the showcase.
func compiled(t *testing.T) *compiler.Result {
	t.Helper()
	today := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	files := replay.Fixture(t, "acme")
	res, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All(), Today: today})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return res
}

// ask asks about each subject: of the actions that are many each a part.
func ask(t *testing.T, script *replay.Script, res *compiler.Result) {
	t.Helper()
	target := replay.Target(t, targets.All(), "copilot")
	deciders, diags := target.Open(res.FS(), res.Input(target).Options)
	d := contract.OnSurface(deciders, "session")
	if len(diags) > 0 || d == nil {
		t.Fatal(diags)
	}
	for i, ref := range res.Project.Subjects() {
		s := script.Session(ref)
		for j, a := range actions(res.Project) {
			many := a.Group == ir.Read || a.Group == ir.Edit || a.Group == ir.Command || a.Group == ir.MCP
			said := d.Decide(ref, a).Decision
			// Without network Copilot has no tool that fetches: what is allowed there is not seen.
			seen := a.Group != ir.Web || said < ir.Allow
			if c, ok := model.CallOf(a); ok && seen && (!many || j%3 == i%3) {
				s.Ask(c.Tool, c.Input, said)
			}
		}
	}
}

// actions are asked about the subjects.
func actions(p *ir.Project) (out []policy.Action) {
	for _, g := range []ir.Group{ir.Read, ir.Edit} {
		for _, arg := range paths {
			out = append(out, policy.Action{Group: g, Arg: arg})
		}
	}
	for _, arg := range lines {
		out = append(out, policy.Action{Group: ir.Command, Arg: arg})
	}
	for _, host := range []string{"example.org", "docs.acme.example"} {
		out = append(out, policy.Action{Group: ir.Web, Arg: host})
	}
	for _, slug := range append(p.ModeNames(), contract.UnknownMode) {
		out = append(out, policy.Action{Group: ir.Modes, Arg: slug})
	}
	for i := range p.Servers {
		sv := &p.Servers[i]
		for j := range sv.Tools {
			out = append(out, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: sv.Tools[j].Name})
		}
	}
	return out
}

var paths = []string{
	"README.md", "src/a.go", "docs/a.md", "docs/legal/x.md", "docs/../src/b.go", "./docs/b.md", "/etc/modec-test", "../x.md",
	".env", "x/.env", ".ENV", "secrets/a", "SECRETS/a", "key.pem", "adr/0001-plan.md", "docs/adr/0001-plan.md", "modec.toml",
	"x/modec.toml", "modec/roles/a.cue", ".git/config", "x/.git/hooks/a", ".github/copilot/settings.json", ".github/agents/code.agent.md",
	".claude/settings.json", "package.json", "web/package.json", "infra/main.tf", "db/migrations/applied/1.sql",
	"docs/日本語.md", "docs/a b.md", "finance/q1.md", "reports/a.md",
}

var lines = []string{
	"git status", "git log --oneline -5", "git add .", "git commit -m wip", "git push", "git push origin main",
	"env git push", "git -C . push", "/usr/bin/git push", "\"git\" push", "g\\it push", "git $(echo push)", "FOO=1 git push",
	"sh -c 'git push'", "bash -c \"git push\"", "git status; git push", "git status && git push", "git status | cat",
	"(git push)", "{ git push; }", "if true; then git push; fi", "! git status", "git status &", "npm test", "npm run lint",
	"npm test > out.txt", "npm test > .env", "npm audit", "rm -rf x", "rm -f x", "rm x", "sudo ls", "ls", "ls -la", "pwd",
	"cat README.md", "cat .env", "echo hi", "curl https://example.org", "git log > .modec/x", "git status # git push",
	"cat <<EOF\nx\nEOF", "true", "cd docs && git status", "git status\ngit push", "eval git push", "timeout 5 git push",
}
