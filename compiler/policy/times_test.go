package policy_test

import (
	"testing"
	"time"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

var (
	december = ir.Times{From: "2026-12-01", Until: "2026-12-31"}
	mornings = ir.Times{Daily: "06:00-12:00"}

	november = time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)
	evening  = time.Date(2026, 12, 1, 20, 0, 0, 0, time.UTC)
	morning  = time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC)
	january  = time.Date(2027, 1, 1, 6, 0, 0, 0, time.UTC)
)

// timed is a project with a role whose groups have the same allows and different rests.
func timed(t *testing.T) *policy.Engine {
	t.Helper()
	allow := func(text string, x ir.Times) ir.Rule {
		return ir.Rule{Decision: ir.Allow, Pattern: ir.Pattern{Text: text}, Times: x}
	}
	rest := func(d ir.Decision) *ir.Default { return &ir.Default{Decision: d} }
	tools := []ir.Rule{allow("close", december)}
	p := &ir.Project{Version: ir.Version,
		Servers: []ir.Server{
			{Name: "git", DefaultEnabled: true, Tools: []ir.Tool{{Name: "close"}, {Name: "list"}}},
			{Name: "other", DefaultEnabled: true, Tools: []ir.Tool{{Name: "close"}, {Name: "list"}}},
			{Name: "admin", Tools: []ir.Tool{{Name: "close"}, {Name: "list"}}},
		},
		Modes: []ir.Mode{{Slug: "m", Can: ir.Can{
			Command: &ir.Table{Timed: []ir.Rule{allow("make", december)}},
			Edit:    &ir.Table{Rules: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Text: "docs/secret"}}}, Timed: []ir.Rule{allow("docs/**", december)}},
		}}},
		Roles: []ir.Role{{Name: "r", Can: ir.Can{
			Read:    &ir.Table{Default: rest(ir.Allow), Timed: []ir.Rule{allow("a", december)}},
			Edit:    &ir.Table{Timed: []ir.Rule{allow("docs/**", december), allow("src/**", mornings)}},
			Command: &ir.Table{Default: rest(ir.Ask), Timed: []ir.Rule{allow("make", december), allow("make", mornings)}},
			Web:     &ir.Table{Default: rest(ir.Deny), Timed: []ir.Rule{allow("a.example.com", december)}},
			MCP: &ir.MCPTable{Default: rest(ir.Allow), Entries: []ir.MCPEntry{
				{Key: "admin", Literal: true, Default: rest(ir.Deny), Timed: tools},
				{Key: "git", Literal: true, Default: rest(ir.Deny), Timed: tools},
				{Key: "o*", Timed: tools},
			}},
		}}},
	}
	policy.AddClosedTimes(p)
	return policy.New(p)
}

func TestAt(t *testing.T) {
	e := timed(t)
	role, mode := ir.SubjectRef{Role: "r"}, ir.SubjectRef{Mode: "m"}
	for _, c := range []struct {
		ref    ir.SubjectRef
		a      policy.Action
		closed ir.Decision
		open   ir.Decision // in December, in the evening
	}{
		{role, policy.Action{Group: ir.Read, Arg: "a"}, ir.Ask, ir.Allow},
		{role, policy.Action{Group: ir.Read, Arg: "b"}, ir.Allow, ir.Allow},
		{role, policy.Action{Group: ir.Edit, Arg: "docs/x"}, ir.Ask, ir.Allow}, // left to the agent
		{role, policy.Action{Group: ir.Edit, Arg: "src/x"}, ir.Ask, ir.Ask},
		{role, policy.Action{Group: ir.Edit, Arg: "x"}, ir.Agent, ir.Agent},
		{role, policy.Action{Group: ir.Command, Arg: "make"}, ir.Ask, ir.Allow},
		{role, policy.Action{Group: ir.Web, Arg: "a.example.com"}, ir.Deny, ir.Allow},
		{role, policy.Action{Group: ir.MCP, Server: "git", Arg: "close"}, ir.Deny, ir.Allow},
		{role, policy.Action{Group: ir.MCP, Server: "git", Arg: "list"}, ir.Deny, ir.Deny},
		{role, policy.Action{Group: ir.MCP, Server: "other", Arg: "close"}, ir.Ask, ir.Allow},
		{role, policy.Action{Group: ir.MCP, Server: "other", Arg: "list"}, ir.Allow, ir.Allow},
		{role, policy.Action{Group: ir.MCP, Server: "admin", Arg: "close"}, ir.Deny, ir.Allow},
		{mode, policy.Action{Group: ir.Command, Arg: "make"}, ir.Deny, ir.Allow},
		{mode, policy.Action{Group: ir.Edit, Arg: "docs/x"}, ir.Deny, ir.Allow},
		{mode, policy.Action{Group: ir.Edit, Arg: "docs/secret/x"}, ir.Deny, ir.Deny},
		{ir.SubjectRef{Role: "r", Mode: "m"}, policy.Action{Group: ir.Edit, Arg: "src/x"}, ir.Deny, ir.Deny},
		{ir.SubjectRef{Role: "r", Mode: "m"}, policy.Action{Group: ir.Edit, Arg: "docs/x"}, ir.Deny, ir.Allow},
	} {
		decide := func(e *policy.Engine) ir.Decision {
			s, err := e.Subject(c.ref)
			if err != nil {
				t.Fatal(err)
			}
			return s.Decide(c.a).Decision
		}
		for what, e := range map[string]*policy.Engine{"a build": e, "november": e.At(november), "january": e.At(january)} {
			want := c.closed
			if what == "january" && (c.a.Arg == "make" || c.a.Arg == "src/x") && c.ref == role {
				want = ir.Allow // it is a morning
			}
			if got := decide(e); got != want {
				t.Errorf("%s in %s, %+v: got %s, want %s", c.ref, what, c.a, got, want)
			}
		}
		if got := decide(e.At(evening)); got != c.open {
			t.Errorf("%s in its times, %+v: got %s, want %s", c.ref, c.a, got, c.open)
		}
		if got := decide(e.Opened()); got < c.open {
			t.Errorf("%s with all times open, %+v: got %s", c.ref, c.a, got)
		}
	}
}

// An engine is made once for what is open, keeps the digests of the policy, and knows its views.
func TestAtOnce(t *testing.T) {
	e := timed(t)
	if !e.Timed() || e.At(november) != e || e.At(evening) != e.At(evening.Add(time.Hour)) || e.At(evening) == e.At(morning) ||
		e.At(morning) != e.Opened() {
		t.Error("engines are not those of what is open")
	}
	ref := ir.SubjectRef{Role: "r"}
	if e.Opened().Digest(ref) != e.Digest(ref) || e.For("x").Digest(ref) != e.At(evening).For("x").Digest(ref) {
		t.Error("the digest of a policy depends on the time")
	}
	without := *e.Project()
	without.Roles = []ir.Role{without.Roles[0]}
	without.Roles[0].Can.Web = &ir.Table{Default: &ir.Default{Decision: ir.Deny}}
	if without.Digest(ref) == e.Digest(ref) {
		t.Error("the digest of a policy does not depend on its times")
	}
	p := *e.Project()
	p.Roles = []ir.Role{p.Roles[0]}
	p.Roles[0].As = "ar"
	v := policy.New(&p).At(evening).For("x")
	s, err := v.Subject(ir.SubjectRef{Role: "ar"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Decide(policy.Action{Group: ir.Command, Arg: "make"}).Decision; got != ir.Allow {
		t.Errorf("a view at a time: got %s", got)
	}
	if e := policy.New(&ir.Project{}); e.Timed() || e.At(evening) != e || e.Opened() != e {
		t.Error("a project without times depends on the time")
	}
}

func BenchmarkAt(b *testing.B) {
	allow := ir.Rule{Decision: ir.Allow, Pattern: ir.Pattern{Text: "make"}, Times: december}
	e := policy.New(&ir.Project{Roles: []ir.Role{{Name: "r", Can: ir.Can{Command: &ir.Table{Timed: []ir.Rule{allow}}}}}})
	for b.Loop() {
		e.At(evening)
	}
}

// Outside of its times an allow over several servers never permits what one of them denies.
func TestTimesOverServers(t *testing.T) {
	rest := func(d ir.Decision) *ir.Default { return &ir.Default{Decision: d} }
	allow := ir.Rule{Decision: ir.Allow, Pattern: ir.Pattern{Text: "*"}, Times: december}
	for _, c := range []struct {
		all, git  *ir.Default // of the glob, and of git
		git1, x   ir.Decision // outside of the times, git's tool and another server's
		resources ir.Decision // of git
	}{
		{rest(ir.Deny), rest(ir.Agent), ir.Deny, ir.Deny, ir.Deny},
		{rest(ir.Agent), rest(ir.Deny), ir.Deny, ir.Deny, ir.Deny},
		{rest(ir.Ask), rest(ir.Agent), ir.Ask, ir.Ask, ir.Ask},
		{rest(ir.Agent), rest(ir.Agent), ir.Ask, ir.Ask, ir.Ask},
		{rest(ir.Ask), rest(ir.Deny), ir.Deny, ir.Ask, ir.Deny},
	} {
		p := &ir.Project{Version: ir.Version,
			Servers: []ir.Server{{Name: "git", DefaultEnabled: true, Tools: []ir.Tool{{Name: "x"}}}},
			Roles: []ir.Role{{Name: "r", Can: ir.Can{MCP: &ir.MCPTable{Entries: []ir.MCPEntry{
				{Key: "git", Literal: true, Default: c.git}, {Key: "*", Default: c.all, Timed: []ir.Rule{allow}}}}}}}}
		policy.AddClosedTimes(p)
		e := policy.New(p)
		s, err := e.Subject(ir.SubjectRef{Role: "r"})
		if err != nil {
			t.Fatal(err)
		}
		open, err := e.Opened().Subject(ir.SubjectRef{Role: "r"})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []struct {
			policy.Action
			want ir.Decision
		}{
			{policy.Action{Group: ir.MCP, Server: "git", Arg: "x"}, c.git1}, {policy.Action{Group: ir.MCP, Server: "other", Arg: "x"}, c.x},
			{policy.Action{Group: ir.MCP, Server: "git", Kind: policy.Resource}, c.resources},
		} {
			got := s.Decide(a.Action).Decision
			if got != a.want || open.Decide(a.Action).Decision < got {
				t.Errorf("%s, git %s, %+v: got %s, and open %s", c.all.Decision, c.git.Decision, a, got, open.Decide(a.Action).Decision)
			}
		}
	}
}
