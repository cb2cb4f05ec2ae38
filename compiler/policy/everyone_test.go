package policy

import (
	"testing"

	"modec.dev/modec/compiler/ir"
)

// TestEveryoneLowers holds that a ceiling permits nothing that was not, for a mode, a role and the pair, and that what
// it denies or asks about is no more than that.
func TestEveryoneLowers(t *testing.T) {
	for _, model := range drawn(300) {
		p := (&source{model}).project()
		if p.Everyone == nil {
			continue
		}
		p.Everyone.Command = table(deny("git push *"), ask("ls *"))
		for _, of := range []*ir.Can{&p.Modes[0].Can, &p.Roles[0].Can} {
			of.Command = table(allow("git *", "@git_read", "sudo *"), deny("sh *"))
		}
		without := *p
		without.Everyone = nil
		for _, ref := range []ir.SubjectRef{{Mode: "m"}, {Role: "r"}, {Mode: "m", Role: "r"}} {
			before, after := mustSubject(t, &without, ref), mustSubject(t, p, ref)
			all := actions("x")
			for _, line := range fuzzLines {
				all = append(all, Action{Group: ir.Command, Arg: line})
			}
			for _, a := range all {
				if b, got := before.Decide(a), after.Decide(a); got.Decision > b.Decision {
					t.Errorf("%s: %s %s %q: got %s (%s) under a ceiling, want at most %s (%s)", ref, a.Group, a.Server, a.Arg,
						got.Decision, got.Rule, b.Decision, b.Rule)
				}
				if b, got := before.DecideWithoutAgent(a), after.DecideWithoutAgent(a); a.Group != ir.Command && got.Decision > b.Decision {
					t.Errorf("%s without an agent: %s %s %q: got %s (%s) under a ceiling, want at most %s (%s)", ref, a.Group, a.Server,
						a.Arg, got.Decision, got.Rule, b.Decision, b.Rule)
				}
			}
		}
	}
}

// TestEveryone decides some actions of subjects under one ceiling.
func TestEveryone(t *testing.T) {
	p := &ir.Project{
		Servers: standard,
		Everyone: &ir.Can{
			Read: table(deny(".env")), Edit: table(ask(".vscode/")), Web: bare(ir.Ask),
			Command: table(deny("git push --force *"), ask("git push *")),
			MCP: &ir.MCPTable{Entries: []ir.MCPEntry{
				{Key: "github", Literal: true, Rules: append(deny("delete_*"), ask("create_*")...)},
			}},
		},
		Modes: []ir.Mode{
			{Slug: "docs", Can: ir.Can{Read: bare(ir.Allow), Edit: table(allow("docs/**"))}},
			{Slug: "silent", Can: ir.Can{Read: bare(ir.Allow)}},
		},
		Roles: []ir.Role{
			{Name: "all", Can: ir.Can{Default: def(ir.Allow)}},
			{Name: "left"},
			{Name: "strict", PermissionMode: "dontAsk"},
		},
	}
	mode, role := func(s string) ir.SubjectRef { return ir.SubjectRef{Mode: s} },
		func(s string) ir.SubjectRef { return ir.SubjectRef{Role: s} }
	for _, test := range []struct {
		ref  ir.SubjectRef
		act  Action
		want ir.Decision
	}{
		{mode("docs"), Action{Group: ir.Read, Arg: "a/.env"}, ir.Deny},
		{mode("docs"), Action{Group: ir.Read, Arg: "a"}, ir.Allow},
		{mode("docs"), Action{Group: ir.Edit, Arg: "docs/a.md"}, ir.Allow},
		{mode("docs"), Action{Group: ir.Edit, Arg: "docs/.vscode/a"}, ir.Ask},
		{mode("docs"), Action{Group: ir.Edit, Arg: ".vscode/a"}, ir.Deny}, // an ask of everyone opens nothing
		{mode("docs"), Action{Group: ir.Command, Arg: "git push"}, ir.Deny},
		{mode("docs"), Action{Group: ir.Web, Arg: "a.org"}, ir.Deny},
		{role("all"), Action{Group: ir.Command, Arg: "git push"}, ir.Ask},
		{role("all"), Action{Group: ir.Command, Arg: "git push --force x"}, ir.Deny},
		{role("all"), Action{Group: ir.Command, Arg: "sudo git push --force x"}, ir.Deny},
		{role("all"), Action{Group: ir.Command, Arg: "$X push"}, ir.Deny},
		{role("all"), Action{Group: ir.Web, Arg: "a.org"}, ir.Ask},
		{role("all"), Action{Group: ir.MCP, Server: "github", Arg: "delete_repo"}, ir.Deny},
		{role("all"), Action{Group: ir.MCP, Server: "github", Arg: "create_issue"}, ir.Ask},
		{role("all"), Action{Group: ir.MCP, Server: "github", Arg: "list_issues"}, ir.Allow},
		{role("left"), Action{Group: ir.Command, Arg: "git push"}, ir.Ask},
		{role("left"), Action{Group: ir.Command, Arg: "ls"}, ir.Agent},
		{role("left"), Action{Group: ir.Read, Arg: "a"}, ir.Agent},
		{role("strict"), Action{Group: ir.Command, Arg: "git push"}, ir.Deny}, // dontAsk denies what it leaves
		// A mode that does not mention commands leaves them to the role, also where everyone states something of them.
		{ir.SubjectRef{Role: "all", Mode: "silent"}, Action{Group: ir.Command, Arg: "ls"}, ir.Allow},
		{ir.SubjectRef{Role: "all", Mode: "silent"}, Action{Group: ir.Command, Arg: "git push"}, ir.Ask},
	} {
		if got := mustSubject(t, p, test.ref).Decide(test.act); got.Decision != test.want {
			t.Errorf("%s: %s %q: got %s (%s), want %s", test.ref, test.act.Group, test.act.Arg, got.Decision, got.Rule, test.want)
		}
	}
}

// TestRulesBelow holds that the rules with what everyone is asked about permit no more than the subject's own.
func TestRulesBelow(t *testing.T) {
	for _, test := range []struct {
		own, ask, want []ir.Rule
	}{
		{allow("docs/**"), ask("src/**"), allow("docs/**")},
		{allow("docs/a/**"), ask("docs/**"), ask("docs/a/**")},
		{allow("docs/a.md"), ask("docs/**"), nil}, // an ask would reach docs/a.md/x, which the mode denies
		{allow("d*"), ask("**"), nil},
		{allow("**"), ask("docs/"), append(allow("**"), ask("docs/")...)},
		{allow("docs/**"), ask(".vscode/"), append(allow("docs/**"), deny(".vscode/")...)},
	} {
		p := &ir.Project{Everyone: &ir.Can{Read: table(test.ask)}, Modes: []ir.Mode{{Slug: "m", Can: ir.Can{Read: table(test.own)}}}}
		got := mustSubject(t, p, ir.SubjectRef{Mode: "m"}).Rules(ir.Read)
		same := len(got) == len(test.want)
		for i := range got {
			same = same && got[i].Decision == test.want[i].Decision && got[i].Pattern == test.want[i].Pattern
		}
		if !same {
			t.Errorf("%v under %v: got %v, want %v", test.own, test.ask, got, test.want)
		}
	}
}
