package policy

import (
	"testing"

	"modec.dev/modec/compiler/ir"
)

// TestBehind compares what subjects may do with a gateway's tools with what they may do with the servers' own.
func TestBehind(t *testing.T) {
	entry := func(key string, rules ...ir.Rule) ir.MCPEntry {
		return ir.MCPEntry{Key: key, Literal: true, Rules: rules}
	}
	rule := func(d ir.Decision, text string) ir.Rule {
		return ir.Rule{Decision: d, Pattern: ir.Pattern{Kind: ir.Plain, Text: text}}
	}
	tools := func(names ...string) (list []ir.Tool) {
		for _, name := range names {
			list = append(list, ir.Tool{Name: name})
		}
		return list
	}
	deny := &ir.Default{Decision: ir.Deny}
	p := &ir.Project{Version: ir.Version, ClosedInventory: true,
		Servers: []ir.Server{
			{Name: "admin", Type: "stdio", Tools: tools("drop", "list")},
			{Name: "docs", Type: "stdio", DefaultEnabled: true, Tools: tools("get")},
			{Name: "mine", Type: ir.External, DefaultEnabled: true, Tools: tools("note")},
		},
		Modes: []ir.Mode{
			{Slug: "a", Can: ir.Can{MCP: &ir.MCPTable{Entries: []ir.MCPEntry{
				entry("docs", rule(ir.Allow, "get")), entry("mine", rule(ir.Ask, "note"))}}}},
			{Slug: "b", Can: ir.Can{MCP: &ir.MCPTable{Entries: []ir.MCPEntry{
				entry("admin", rule(ir.Allow, "list")), entry("docs", rule(ir.Ask, "get"))}}}},
		},
		Roles: []ir.Role{{Name: "r", Can: ir.Can{MCP: &ir.MCPTable{Default: deny, Entries: []ir.MCPEntry{
			entry("docs", rule(ir.Allow, "get"))}}}}},
		Gateways: map[string][]ir.Gateway{
			"all":  {{Name: "gw"}},
			"none": {{Name: "gw", Only: "role", Mode: "nobody"}},
			"each": {{Name: "gw-a", Mode: "a"}, {Name: "gw-b", Mode: "b"}},
		},
	}
	e := New(p)
	refs := append(p.Subjects(), ir.SubjectRef{Mode: "a", Role: "r"}, ir.SubjectRef{Mode: "b", Role: "r"})
	decide := func(e *Engine, ref ir.SubjectRef, server, tool string) ir.Decision {
		s, err := e.Subject(ref)
		if err != nil {
			t.Fatal(err)
		}
		return s.Decide(Action{Group: ir.MCP, Server: server, Arg: tool}).Decision
	}
	for _, ref := range refs {
		for _, sv := range p.Servers {
			for _, tool := range sv.Tools {
				want := decide(e, ref, sv.Name, tool.Name)
				server, name := "gw", sv.Name+"_"+tool.Name
				if sv.Type == ir.External {
					server, name = sv.Name, tool.Name
				}
				if got := decide(e.For("all"), ref, server, name); got != want {
					t.Errorf("%s: got %s for %s through the gateway, want %s", ref, got, name, want)
				}
			}
		}
		if got := decide(e.For("all"), ref, "gw", "docs_other"); got != ir.Deny {
			t.Errorf("%s: got %s for a tool that the inventory does not list, want deny", ref, got)
		}
	}
	for _, c := range []struct {
		mode, server, tool string
		want               ir.Decision
	}{
		{"a", "gw-a", "docs_get", ir.Allow}, {"a", "gw-b", "docs_get", ir.Deny}, {"b", "gw-b", "docs_get", ir.Ask},
		{"b", "gw-b", "admin_list", ir.Allow}, {"a", "gw-b", "admin_list", ir.Deny},
	} {
		if got := decide(e.For("each"), ir.SubjectRef{Mode: c.mode}, c.server, c.tool); got != c.want {
			t.Errorf("mode %s: got %s for %s of %s, want %s", c.mode, got, c.tool, c.server, c.want)
		}
	}
	for _, target := range []string{"all", "each", "none"} { // a hook's view, in which no subject was compiled
		view, quick := View(p, target), HookView(p, target)
		for _, ref := range refs {
			if view.Digest(ref) != quick.Digest(ref) {
				t.Errorf("%s: the hook's view of %s has another digest", target, ref)
			}
			for _, sv := range view.Servers {
				for _, tool := range append(sv.Tools, tools("docs_get", "admin_drop", "other")...) {
					want := decide(e.For(target), ref, sv.Name, tool.Name)
					if got := decide(New(quick), ref, sv.Name, tool.Name); got != want {
						t.Errorf("%s: a hook decides %s about %s of %s, want %s", target, got, tool.Name, ref, want)
					}
				}
			}
		}
	}
	gw := e.For("all").Project().Server("gw")
	if gw == nil || len(gw.Tools) != 2 { // what nobody may use is not there
		t.Errorf("the gateway has %v, want admin_list and docs_get", gw)
	}
	if s := e.ForServers("all").Project(); s.Server("docs") == nil || s.Server("gw") != nil {
		t.Error("the view of the servers has the gateway")
	}
	if e.For("other") != e {
		t.Error("a target without gateways has another view")
	}
}
