package policy_test

import (
	"slices"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// places is a project with two definitions of one server and of one mode, each for its target.
func places() *ir.Project {
	only := func(target, as string) ir.Place { return ir.Place{Targets: []string{target}, As: as} }
	allow := func(key string) ir.MCPEntry {
		return ir.MCPEntry{Key: key, Literal: true, Default: &ir.Default{Decision: ir.Allow}}
	}
	deny := ir.MCPEntry{Key: "wiki", Literal: true, Default: &ir.Default{Decision: ir.Allow},
		Rules: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Text: "drop"}}}}
	glob := ir.MCPEntry{Key: "*-claude", Rules: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Text: "drop"}}}}
	return &ir.Project{
		Version: ir.Version, ClosedInventory: true, Baseline: "dev",
		Servers: []ir.Server{
			{Name: "docs", Place: only("roo", ""), Type: "http", URL: "https://roo.example.com", DefaultEnabled: true},
			{Name: "docs-claude", Place: only("claude", "docs"), Type: "http", URL: "https://claude.example.com", DefaultEnabled: true},
			{Name: "wiki", Place: only("roo", ""), Type: "stdio", Command: "wiki", DefaultEnabled: true},
			{Name: "news", Place: only("roo", ""), Type: "stdio", Command: "news", DefaultEnabled: true},
		},
		Modes: []ir.Mode{{Slug: "ask", Place: only("roo", "")}, {Slug: "ask-claude", Place: only("claude", "ask")}},
		Roles: []ir.Role{{Name: "dev", Modes: &[]string{"ask", "ask-claude", "code"}, Can: ir.Can{
			MCP: &ir.MCPTable{Default: &ir.Default{Decision: ir.Ask},
				Entries: []ir.MCPEntry{allow("docs-claude"), allow("news"), deny, glob}},
		}}},
	}
}

func TestView(t *testing.T) {
	p := places()
	e := policy.New(p)
	claude := e.For("claude")
	view := claude.Project()
	var names []string
	for _, s := range view.Servers {
		names = append(names, s.Name+" "+s.Type)
	}
	// wiki is denied in part, so that Claude Code is told of it; news is only allowed.
	if want := []string{"docs http", "wiki external"}; !slices.Equal(names, want) {
		t.Errorf("got the servers %q, want %q", names, want)
	}
	if view.Server("docs").URL != "https://claude.example.com" || view.Server("wiki").Command != "" {
		t.Error("a server is not the target's own")
	}
	if len(view.Modes) != 1 || view.Modes[0].Slug != "ask" || !slices.Equal(*view.Roles[0].Modes, []string{"ask", "code"}) {
		t.Errorf("got the modes %v, entered %v", view.Modes, *view.Roles[0].Modes)
	}
	s, err := claude.Subject(ir.SubjectRef{Role: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	for action, want := range map[policy.Action]ir.Decision{
		{Group: ir.MCP, Server: "docs", Arg: "get"}:  ir.Allow,
		{Group: ir.MCP, Server: "docs", Arg: "drop"}: ir.Deny, // by the pattern over its own name
		{Group: ir.MCP, Server: "wiki", Arg: "drop"}: ir.Deny,
		{Group: ir.MCP, Server: "wiki", Arg: "get"}:  ir.Ask, // its allow is for Roo
		{Group: ir.MCP, Server: "news", Arg: "get"}:  ir.Ask,
	} {
		if got := s.Decide(action).Decision; got != want {
			t.Errorf("%s:%s is %s, want %s", action.Server, action.Arg, got, want)
		}
	}
	if policy.View(view, "claude") != view || e.For("claude") != claude {
		t.Error("the view of a view is another one")
	}
	if got := places(); len(p.Servers) != len(got.Servers) || p.Roles[0].Can.MCP.Entries[0].Key != "docs-claude" {
		t.Error("the project itself changed")
	}
	if ref, ok := policy.InView(p, "claude", ir.SubjectRef{Mode: "ask-claude", Role: "dev"}); !ok || ref.Mode != "ask" {
		t.Errorf("got %v", ref)
	}
	if ref, ok := policy.InView(p, "claude", ir.SubjectRef{Mode: "ask"}); ok {
		t.Errorf("got %v for what is for Roo alone", ref)
	}
	whole := &ir.Project{Servers: []ir.Server{{Name: "docs"}}}
	if policy.View(whole, "roo") != whole {
		t.Error("a project without targets has another view")
	}
}
