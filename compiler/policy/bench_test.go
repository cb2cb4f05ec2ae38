package policy

import (
	"fmt"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// heldList is what every mode of a real project holds back.
var heldList = deny("modec.toml", "modec.lock", "modec/**", ".modec/**", ".claude/**", ".cursor/**", ".roo/**", ".zoo/**", ".roomodes",
	".zoomodes", ".mcp.json",
	"CLAUDE.md", "AGENTS.md", ".vscode/**", ".git/**", ".thurbox/**", "modec.model.json")

// company is a project of n modes that share most of their rules, with 5
// servers of 8 tools.
func company(n int) *ir.Project {
	p := &ir.Project{Version: ir.Version}
	for i := range 5 {
		sv := ir.Server{Name: fmt.Sprintf("server%d", i), DefaultEnabled: i > 0}
		for j := range 8 {
			sv.Tools = append(sv.Tools, ir.Tool{Name: fmt.Sprintf("tool_%d", j)})
		}
		p.Servers = append(p.Servers, sv)
	}
	for i := range n {
		p.Modes = append(p.Modes, ir.Mode{Slug: fmt.Sprintf("mode-%04d", i), Can: ir.Can{
			Read:    table(allow("**"), deny(".env", "*.pem", "secrets/**")),
			Edit:    table(allow("**/*.md", "src/**/*.{ts,tsx}", "docs/"), ask("package.json"), deny("**/generated/**"), heldList),
			Command: withDefault(table(allow("git status", "git log *", "npm run *", "@git_read"), ask("git commit *"), deny("git push *", "rm -rf *")), ir.Ask),
			Web:     table(allow("docs.example.com", "*.example.org"), deny("evil.example.org")),
			MCP:     mcp(with(entry("server1", allow("tool_*"), deny("tool_7")), otherwise(ir.Ask)), with(entry("*"), otherwise(ir.Ask)), entry("server0", allow("tool_1"))),
		}})
	}
	return p
}

func first(b testing.TB) *Subject {
	return mustSubject(b, company(1), ir.SubjectRef{Mode: "mode-0000"})
}

// decisions are what an agent asks for most.
var decisions = []struct {
	name   string
	a      Action
	d      ir.Decision
	allocs float64 // at most; -1: as many as the shell parser needs
}{
	{"mcp tool", Action{Group: ir.MCP, Server: "server1", Arg: "tool_3"}, ir.Allow, 0},
	{"mcp tool of a server that is opened", Action{Group: ir.MCP, Server: "server0", Arg: "tool_2"}, ir.Ask, 0},
	{"read allowed", Action{Group: ir.Read, Arg: "src/components/button.tsx"}, ir.Allow, 0},
	{"read denied", Action{Group: ir.Read, Arg: "config/.env"}, ir.Deny, 0},
	{"edit allowed", Action{Group: ir.Edit, Arg: "src/components/Button.tsx"}, ir.Allow, 0},
	{"edit by suffix", Action{Group: ir.Edit, Arg: "docs/guide/README.md"}, ir.Allow, 0},
	{"edit held", Action{Group: ir.Edit, Arg: ".claude/agents/x.md"}, ir.Deny, 0},
	{"edit denied by default", Action{Group: ir.Edit, Arg: "go.sum"}, ir.Deny, 0},
	{"web", Action{Group: ir.Web, Arg: "docs.example.com"}, ir.Allow, 0},
	{"command", Action{Group: ir.Command, Arg: "git log --oneline -5"}, ir.Allow, -1},
	{"command line", Action{Group: ir.Command, Arg: `cd src && git log -n 5 2>/dev/null | git log && npm run build`}, ir.Allow, -1},
	{"command denied behind a wrapper", Action{Group: ir.Command, Arg: `sudo -u x sh -c "git push origin"`}, ir.Deny, -1},
}

func BenchmarkDecide(b *testing.B) {
	s := first(b)
	for _, d := range decisions {
		b.Run(d.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Decide(d.a)
			}
		})
	}
	re := mode(b, ir.Can{Edit: table(allow(`/^src\/.*\.(ts|tsx|js|jsx)$/`))})
	b.Run("regex", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			re.Decide(Action{Group: ir.Edit, Arg: "src/components/button.tsx"})
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := company(n)
			b.ReportAllocs()
			for b.Loop() {
				e := New(p)
				for _, ref := range p.Subjects() {
					s, err := e.Subject(ref)
					if err != nil {
						b.Fatal(err)
					}
					s.Decide(Action{Group: ir.MCP, Server: "server1", Arg: "tool_3"})
				}
			}
		})
	}
}

// Lines made to be slow take time in proportion to their length.
func BenchmarkHostileLines(b *testing.B) {
	s := first(b)
	for name, unit := range map[string]string{
		"subshells": "(", "substitutions": "$(", "backquotes": "`", "blocks": "{ ", "finds": "find -exec ", "wrappers": "sudo ", "quotes": "'a'\"b\"", "loops": "while cd a; do ",
		"ifs": "if cd a; then ", "braces": "{a,", "variables": "$a", "heredocs": "<<a ", "evals": "eval ", "arithmetic": "$((", "cases": "case a in a) ", "functions": "f() { ", "tests": "[[ ( ", "xargs": "xargs -I$a ",
		"commands": "ls;", "moves": "cd a; ls >b; ", "finished": "if ls; then ls $a *; fi; ", "nested": "ls $(ls $a); ", "scripts": "sh -c 'ls'; ", "wrapped": "sudo -u x git $a;", "and": "cd a && cd b || ls > c; ",
	} {
		b.Run(name, func(b *testing.B) {
			line := strings.Repeat(unit, maxLine/len(unit))
			for b.Loop() {
				s.Decide(Action{Group: ir.Command, Arg: line})
			}
		})
	}
}
