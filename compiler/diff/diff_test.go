package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

func rule(d ir.Decision, text string) ir.Rule {
	return ir.Rule{Decision: d, Pattern: ir.Pattern{Text: text}, Pos: diag.Pos{File: "m.cue", Line: len(text)}}
}

func def(d ir.Decision) *ir.Default { return &ir.Default{Decision: d} }

func github(rules ...ir.Rule) *ir.MCPTable {
	return &ir.MCPTable{Default: def(ir.Deny), Entries: []ir.MCPEntry{{Key: "github", Literal: true, Default: def(ir.Deny), Rules: rules}}}
}

func with(roles ...ir.Role) *ir.Project {
	return &ir.Project{Version: ir.Version, ClosedInventory: true, Roles: roles,
		Servers: []ir.Server{{Name: "github", Type: "stdio", Command: "gh", DefaultEnabled: true, Tools: []ir.Tool{{Name: "create_issue"}, {Name: "list_issues"}}}}}
}

func silent(p *ir.Project, d ir.Decision) *ir.Project {
	p.Unsaid = def(d)
	return p
}

// quiet leaves every group but web to the agent in writing.
func quiet() ir.Can {
	left := func() *ir.Table { return &ir.Table{Default: def(ir.Agent)} }
	return ir.Can{Unknown: def(ir.Agent), Read: left(), Edit: left(), Command: left(), MCP: &ir.MCPTable{Default: def(ir.Agent)}, Modes: left()}
}

func lines(r *Report) (out []string) {
	for _, c := range r.Changes {
		out = append(out, fmt.Sprintf("%s: %s %s %s %s %s", c.Subject, c.Group, c.What, c.Before.Decision, c.After.Decision, c.Kind))
	}
	for _, o := range r.Others {
		out = append(out, fmt.Sprintf("%s: %s %s", o.What, o.Text, o.Kind))
	}
	return out
}

func TestProjects(t *testing.T) {
	role := func(can ir.Can) ir.Role { return ir.Role{Name: "reviewer", Can: can} }
	for _, c := range []struct {
		name          string
		before, after *ir.Project
		want          []string
	}{
		{"nothing", with(role(ir.Can{})), with(role(ir.Can{})), nil},
		{"a place, a prompt and a description", with(ir.Role{Name: "reviewer", Pos: diag.Pos{File: "a", Line: 1}}),
			with(ir.Role{Name: "reviewer", Pos: diag.Pos{File: "b", Line: 2}, AppendSystemPrompt: "x", Description: "y"}), nil},
		{"a tool", with(role(ir.Can{MCP: github()})), with(role(ir.Can{MCP: github(rule(ir.Ask, "create_issue"))})),
			[]string{"role reviewer: mcp github:create_issue deny ask widened"}},
		{"a server's default", with(role(ir.Can{MCP: github()})), with(role(ir.Can{MCP: &ir.MCPTable{Default: def(ir.Deny), Entries: []ir.MCPEntry{{Key: "github", Literal: true, Default: def(ir.Allow)}}}})),
			[]string{"role reviewer: mcp github:* deny allow widened"}},
		{"a new deny of commands, and another default", with(role(ir.Can{Default: def(ir.Ask), Command: &ir.Table{Default: def(ir.Ask)}})),
			with(role(ir.Can{Default: def(ir.Ask), Command: &ir.Table{Default: def(ir.Allow), Rules: []ir.Rule{rule(ir.Deny, "rm *")}}})),
			[]string{"role reviewer: command anything else ask allow widened", "role reviewer: command a line that is not literal ask deny narrowed", "role reviewer: command rm * ask deny narrowed"}},
		{"released to the agent", with(role(ir.Can{Web: &ir.Table{Default: def(ir.Allow)}})), with(role(ir.Can{Web: &ir.Table{Default: def(ir.Agent)}})),
			[]string{"role reviewer: web anything else allow agent narrowed"}},
		{"released to the agent, and before asked about", with(role(ir.Can{Web: &ir.Table{Default: def(ir.Ask)}})), with(role(ir.Can{Web: &ir.Table{Default: def(ir.Agent)}})),
			[]string{"role reviewer: web anything else ask agent widened"}},
		{"an allow that goes", with(role(ir.Can{Default: def(ir.Agent), Command: &ir.Table{Rules: []ir.Rule{rule(ir.Allow, "ls"), rule(ir.Allow, "npm test *")}}})),
			with(role(ir.Can{Default: def(ir.Agent), Command: &ir.Table{Rules: []ir.Rule{rule(ir.Allow, "ls")}}})),
			[]string{"role reviewer: command npm test * allow agent narrowed"}},
		{"a silence that goes", silent(with(role(ir.Can{Command: &ir.Table{Default: def(ir.Deny)}, MCP: github(), Default: nil})), ir.Ask), with(role(ir.Can{Command: &ir.Table{Default: def(ir.Deny)}, MCP: github()})),
			[]string{
				"role reviewer: unknown anything else ask agent widened", "role reviewer: read anything else ask agent widened",
				"role reviewer: edit anything else ask agent widened", "role reviewer: edit anything else deny agent widened",
				"role reviewer: web anything else ask agent widened", "role reviewer: modes anything else ask agent widened",
			}},
		{"a permission mode", with(role(ir.Can{Default: def(ir.Agent)})), with(ir.Role{Name: "reviewer", PermissionMode: "dontAsk", Can: ir.Can{Default: def(ir.Agent)}}),
			[]string{`role reviewer: has the permission mode "dontAsk", and before "" changed`}},
		{"what a permission mode means", with(ir.Role{Name: "reviewer", PermissionMode: "default", Can: quiet()}), with(ir.Role{Name: "reviewer", PermissionMode: "dontAsk", Can: quiet()}),
			[]string{"role reviewer: web anything else ask deny narrowed", `role reviewer: has the permission mode "dontAsk", and before "default" changed`}},
		{"a deny that goes", with(role(ir.Can{Edit: &ir.Table{Default: def(ir.Allow), Rules: []ir.Rule{rule(ir.Deny, "secret/**")}}})), with(role(ir.Can{Edit: &ir.Table{Default: def(ir.Allow)}})),
			[]string{"role reviewer: edit secret/** deny allow widened"}},
		{"the widened subject first", with(ir.Role{Name: "a", Can: ir.Can{Web: &ir.Table{Default: def(ir.Allow)}}}, ir.Role{Name: "b", Can: ir.Can{Web: &ir.Table{Default: def(ir.Deny)}}}),
			with(ir.Role{Name: "a", Can: ir.Can{Web: &ir.Table{Default: def(ir.Deny)}}}, ir.Role{Name: "b", Can: ir.Can{Web: &ir.Table{Default: def(ir.Ask)}}}),
			[]string{"role b: web anything else deny ask widened", "role a: web anything else allow deny narrowed"}},
		{
			"Claude Code's own rules",
			with(ir.Role{Name: "r", Native: []ir.NativeRule{
				{Target: "claude", Decision: ir.Deny, Text: "Skill(x)"},
				{Target: "claude", Decision: ir.Allow, Text: "Monitor"},
			}}),
			with(ir.Role{Name: "r", Native: []ir.NativeRule{{Target: "claude", Decision: ir.Allow, Text: "WebSearch"}}}),
			[]string{
				"role r: has the rule allow WebSearch, for claude alone widened",
				"role r: no longer has the rule deny Skill(x), for claude alone widened",
				"role r: no longer has the rule allow Monitor, for claude alone narrowed",
			},
		},
		{"tools and claims", with(ir.Role{Name: "r", Tools: &[]string{"Read"}}), with(ir.Role{Name: "r", Claims: map[string][]string{"team": {"x", "y"}}}),
			[]string{"role r: has more built-in tools widened", "role r: needs the claims team: x or y, and before none changed"}},
	} {
		r, err := Projects(policy.New(c.before), policy.New(c.after), 1)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, lines(r)); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, d)
		}
		back, err := Projects(policy.New(c.after), policy.New(c.before), 1)
		if err != nil || back.Widened != r.Narrowed || back.Narrowed != r.Widened {
			t.Errorf("%s: there %d and %d, and back %d and %d (%v)", c.name, r.Widened, r.Narrowed, back.Widened, back.Narrowed, err)
		}
	}
}

// A change names the rules and places of both sides, and actions that it is about.
func TestChange(t *testing.T) {
	p := func(d ir.Decision) *policy.Engine {
		return policy.New(with(ir.Role{Name: "r", Can: ir.Can{Command: &ir.Table{Default: def(ir.Ask), Rules: []ir.Rule{rule(d, "git push *")}}}}))
	}
	r, err := Projects(p(ir.Deny), p(ir.Allow), 1)
	if err != nil || len(r.Changes) == 0 {
		t.Fatal(err, r)
	}
	c := r.Changes[slices.IndexFunc(r.Changes, func(c Change) bool { return c.What == "git push *" })]
	at := diag.Pos{File: "m.cue", Line: len("git push *")}
	if c.What != "git push *" || c.Before.Pos != at || c.After.Pos != at || c.Before.Rule != `deny "git push *"` || c.After.Rule != `allow "git push *"` {
		t.Errorf("got %+v", c)
	}
	if c.Count < len(c.Examples) || len(c.Examples) == 0 || !strings.HasPrefix(c.Examples[0], "git push") {
		t.Errorf("got %d actions, as %q", c.Count, c.Examples)
	}
}

// A subject of one side alone is a line for each group, with the most that it may.
func TestSubjectOfOneSide(t *testing.T) {
	is := with(ir.Role{Name: "r", PermissionMode: "dontAsk", Can: ir.Can{Read: &ir.Table{Default: def(ir.Allow)}, MCP: github(rule(ir.Ask, "list_issues"))}})
	r, err := Projects(policy.New(with()), policy.New(is), 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"role r: unknown * deny agent widened", "role r: read * deny allow widened", "role r: edit * deny agent widened",
		"role r: command * deny agent widened", "role r: web * deny agent widened",
		"role r: mcp github:* deny ask widened", "role r: modes * deny agent widened",
	}
	if d := cmp.Diff(want, lines(r)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, c := range r.Changes {
		if c.Only != "after" {
			t.Errorf("got %+v", c)
		}
	}
}

func TestSettings(t *testing.T) {
	role := func(name string, can ir.Can) ir.Role { return ir.Role{Name: name, Can: can} }
	p := policy.New(with(role("a", ir.Can{Default: def(ir.Deny)}), role("b", ir.Can{Default: def(ir.Deny), Web: &ir.Table{Default: def(ir.Allow)}})))
	set := func(baseline string) Settings {
		values := map[string]string{"targets.claude": "on"}
		if baseline != "" {
			values["baseline"] = baseline
		}
		values["targets.claude.hooks"] = "auto"
		return Settings{values, map[string]string{"targets.claude.hooks": "auto"},
			map[string]string{"baseline": baseline}, []string{"targets.claude"}}
	}
	value := func(k, v string) Settings { return Settings{Values: map[string]string{k: v}} }
	hooked := func(s Settings) Settings {
		s.Values["targets.claude.hooks"], s.Defaults = "true", nil
		return s
	}
	for _, c := range []struct {
		name    string
		was, is Settings
		want    []string
	}{
		{"another baseline that may do more", set("a"), set("b"), []string{`baseline: is "b", and was "a": role b may do more than role a: web `}},
		{"one that may do less", set("b"), set("a"), []string{`baseline: is "a", and was "b" changed`}},
		{"none", set("a"), set(""), []string{`baseline: is not set any more, and was "a": the files of the project hold no session any more widened`}},
		{"a first one", set(""), set("a"), []string{`baseline: is set to "a" changed`}},
		{"an agent that is no target any more", set(""), Settings{}, []string{`targets.claude: is not set any more, and was "on": nothing of the source restricts it any more widened`}},
		{"another option", set("a"), hooked(set("a")), []string{`targets.claude.hooks: is "true", and was "auto" changed`}},
		{"an agent that is one, with another option", Settings{}, hooked(set("")), []string{`targets.claude: is set to "on" changed`, `targets.claude.hooks: is set to "true" changed`}},
		{"hooks that enforce no more", value("hooks", "enforce"), value("hooks", "observe"), []string{`hooks: is "observe", and was "enforce": nothing holds any more what files cannot say widened`}},
		{"hooks that enforce", value("hooks", "off"), value("hooks", "enforce"), []string{`hooks: is "enforce", and was "off" changed`}},
		{"a gap that stays", value("targets.claude.partial", "drop"), value("targets.claude.partial", "keep"), []string{`targets.claude.partial: is "keep", and was "drop": what this target cannot say is not held back any more widened`}},
		{"one that goes", value("targets.claude.partial", "keep"), value("targets.claude.partial", "drop"), []string{`targets.claude.partial: is "drop", and was "keep" changed`}},
		{"one of a new target", Settings{}, value("targets.claude.partial", "keep"), []string{`targets.claude.partial: is set to "keep" changed`}},
		{"an agent that is one", Settings{}, set(""), []string{`targets.claude: is set to "on" changed`}},
	} {
		var r Report
		if err := r.Settings(p, p, c.was, c.is, "modec.toml", 1); err != nil {
			t.Fatal(err)
		}
		got := lines(&r)
		for i := range got {
			if i < len(c.want) && strings.HasSuffix(c.want[i], " web ") && strings.HasSuffix(got[i], " is allow, and was deny widened") {
				got[i] = got[i][:min(len(got[i]), len(c.want[i]))]
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, d)
		}
	}
}

func TestServersAndExceptions(t *testing.T) {
	a, b := with(), with()
	b.Servers = []ir.Server{{Name: "docs", Type: "http", URL: "https://x"}, a.Servers[0]}
	b.Servers[1].Command, b.Servers[1].Env = "other", map[string]string{"TOKEN": "secret"}
	r, err := Projects(policy.New(a), policy.New(b), 1)
	if err != nil {
		t.Fatal(err)
	}
	r.Exceptions([]Exception{{Text: "old"}, {Text: "kept"}}, []Exception{{Text: "kept"}, {Text: "new"}})
	want := []string{
		"server docs: is new: http https://x changed",
		"server github: starts as other, and before as gh widened",
		"server github: has another environment widened",
		"exception: accepts for new widened",
		"exception: no longer accepts for old narrowed",
	}
	if d := cmp.Diff(want, lines(r)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if strings.Contains(fmt.Sprint(lines(r)), "secret") {
		t.Error("the value of a variable is told")
	}
}

// What says nothing of targets is emitted for those that its project has: a project that gets a target more, and says of
// each thing where it was, takes nothing away.
func TestTargetsOfProjects(t *testing.T) {
	of := func(targets ...string) *policy.Engine {
		return policy.New(with(ir.Role{Name: "reviewer", Place: ir.Place{Targets: targets}}))
	}
	names := Targets{Before: []string{"claude"}, After: []string{"claude", "roo"}}
	for _, c := range []struct {
		before, after *policy.Engine
		want          []string
	}{
		{of(), of("claude"), nil},
		{of("claude", "roo"), of(), nil},
		{of(), of("roo"), []string{
			"role reviewer: is no longer emitted for claude: nothing restricts it there any more widened",
			"role reviewer: is emitted for roo too narrowed"}},
		{of("claude"), of(), []string{"role reviewer: is emitted for roo too narrowed"}},
	} {
		r, err := ProjectsFor(c.before, c.after, names, 1)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, lines(r)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	}
}

// A subject that a target no longer has is widened: nothing restricts it there any more.
func TestTargets(t *testing.T) {
	of := func(as string, targets ...string) *ir.Project {
		p := with(ir.Role{Name: "reviewer", Place: ir.Place{Targets: targets}})
		p.Servers[0].Place = ir.Place{Targets: targets, As: as}
		return p
	}
	for _, c := range []struct {
		before, after *ir.Project
		want          []string
	}{
		{of("", "roo"), of("", "roo"), nil},
		{of(""), of("", "roo"), []string{
			"role reviewer: is emitted for roo only, and before for every target: nothing restricts it there any more widened",
			"server github: is emitted for roo only, and before for every target changed"}},
		{of("", "claude", "roo"), of("", "roo", "zoo"), []string{
			"role reviewer: is no longer emitted for claude: nothing restricts it there any more widened",
			"role reviewer: is emitted for zoo too narrowed",
			"server github: is no longer emitted for claude changed", "server github: is emitted for zoo too changed"}},
		{of("", "roo"), of("gh"), []string{
			"role reviewer: is emitted for every target, and before for roo only narrowed",
			"server github: is emitted for every target, and before for roo only changed",
			`server github: is called "gh" in the files of its targets, and before "github" changed`}},
	} {
		r, err := Projects(policy.New(c.before), policy.New(c.after), 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, lines(r)); diff != "" {
			t.Error(diff)
		}
	}
}
