package migrate

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// draw makes random permissions out of a few patterns that overlap.
type draw struct{ *rand.Rand }

func pick[T any](d draw, from ...T) T { return from[d.IntN(len(from))] }

func (d draw) fallback() *ir.Default {
	if d.IntN(2) == 0 {
		return nil
	}
	return &ir.Default{Decision: ir.Decision(d.IntN(3))}
}

func (d draw) rules(patterns ...string) []ir.Rule {
	var out []ir.Rule
	for range d.IntN(4) {
		r := ir.Rule{Decision: ir.Decision(d.IntN(3)), Pattern: ir.Pattern{Text: pick(d, patterns...)}}
		if d.IntN(12) == 0 {
			r = ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}}
		}
		out = append(out, r)
	}
	return out
}

func (d draw) can() ir.Can {
	var c ir.Can
	for _, g := range []struct {
		t        **ir.Table
		patterns []string
	}{
		{&c.Read, []string{"**", "*.md", "src/", "src/**", "a.md"}}, {&c.Edit, []string{"**", "*.md", "src/", "src/**", "a.md"}},
		{&c.Command, []string{"*", "git *", "git push *", "ls"}}, {&c.Web, []string{"*", "a.org", "*.a.org"}}, {&c.Modes, []string{"*", "code", "ask"}},
	} {
		if d.IntN(4) > 0 {
			*g.t = &ir.Table{Default: d.fallback(), Rules: d.rules(g.patterns...)}
		}
	}
	if d.IntN(3) == 0 {
		c.Edit = &ir.Table{Default: &ir.Default{Decision: ir.Allow}, Open: []ir.OpenPath{{Path: "CLAUDE.md"}}}
	}
	if d.IntN(4) > 0 {
		c.MCP = &ir.MCPTable{Default: d.fallback()}
		for _, key := range []string{"docs", "admin", "*", "d*", "?dmin"} {
			if d.IntN(3) == 0 {
				c.MCP.Entries = append(c.MCP.Entries, ir.MCPEntry{Key: key, Literal: !strings.ContainsAny(key, "*?"), Default: d.fallback(), Rules: d.rules("*", "get", "g*", "drop"), Resources: d.fallback(), From: pick(d, "", "policy p")})
			}
		}
	}
	c.Default, c.Unknown, c.OutsideRead, c.OutsideEdit = d.fallback(), d.fallback(), d.fallback(), d.fallback()
	return c
}

// TestMeetIsLower compares the meet of two sources with each of them: it is
// never above one, and it is itself where both are equal.
func TestMeetIsLower(t *testing.T) {
	var actions []policy.Action
	for g, args := range map[ir.Group][]string{
		ir.Read: {"a.md", "src", "src/x.md", "b", "../x", "SRC/a"}, ir.Edit: {"a.md", "src/x", "CLAUDE.md", "../a.md", "b"},
		ir.Command: {"git push x", "git log", "ls", "ls > x", "$x", "rm a"}, ir.Web: {"a.org", "b.a.org", "c.org"}, ir.Modes: {"code", "ask", "x"}, ir.Unknown: {"X"},
	} {
		for _, a := range args {
			actions = append(actions, policy.Action{Group: g, Arg: a})
		}
	}
	for _, server := range []string{"docs", "admin", "other"} {
		for _, tool := range []string{"get", "drop", "x"} {
			actions = append(actions, policy.Action{Group: ir.MCP, Server: server, Arg: tool})
		}
		actions = append(actions, policy.Action{Group: ir.MCP, Server: server, Arg: "x", Kind: policy.Resource})
	}
	servers := []ir.Server{{Name: "admin", Tools: []ir.Tool{{Name: "drop"}, {Name: "get"}}}, {Name: "docs", DefaultEnabled: true, Tools: []ir.Tool{{Name: "get"}}}}
	off := map[string]bool{"admin": true}
	d := draw{rand.New(rand.NewPCG(1, 2))}
	kept, of := 0, 0
	for n := range 4000 {
		a, b := d.can(), d.can()
		same := n%4 == 0
		if same {
			b = a
		}
		p := &ir.Project{Version: ir.Version, Servers: servers, Guards: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Text: "CLAUDE.md"}}}}
		if n%2 == 0 {
			p.Modes = []ir.Mode{{Slug: "a", Can: a}, {Slug: "b", Can: b}, {Slug: "m", Can: meet(explicit(a, diag.Pos{}, nil, off), explicit(b, diag.Pos{}, nil, off))}}
			implicit(&p.Modes[2].Can, nil)
		} else {
			modes := []string{"", "default", "plan", "acceptEdits", "dontAsk", "bypassPermissions"}
			ra, rb := ir.Role{Name: "a", Can: a, PermissionMode: pick(d, modes...)}, ir.Role{Name: "b", Can: b, PermissionMode: pick(d, modes...)}
			if same {
				rb.PermissionMode = ra.PermissionMode
			}
			if d.IntN(3) == 0 {
				ra.Modes = &[]string{"code"}
				if same {
					rb.Modes = ra.Modes
				}
			}
			met := meetRoles(ra, rb, off)
			met.Name = "m"
			implicit(&met.Can, &met)
			p.Roles = []ir.Role{ra, rb, met}
		}
		e := policy.New(p)
		ref := func(name string) ir.SubjectRef {
			if n%2 == 0 {
				return ir.SubjectRef{Mode: name}
			}
			return ir.SubjectRef{Role: name}
		}
		var of3 [3]*policy.Subject
		for i, name := range []string{"a", "b", "m"} {
			s, err := e.Subject(ref(name))
			if err != nil {
				t.Fatal(err)
			}
			of3[i] = s
		}
		for _, action := range actions {
			x, y, m := of3[0].Decide(action), of3[1].Decide(action), of3[2].Decide(action)
			if m.Decision == ir.Agent && action.Arg == "CLAUDE.md" {
				continue // a guard is silent where the agent asks by itself
			}
			if m.Decision > min(x.Decision, y.Decision) {
				t.Fatalf("%d: %+v: got %s (%s), want no more than %s (%s) and %s (%s)", n, action, m.Decision, m.Rule, x.Decision, x.Rule, y.Decision, y.Rule)
			}
			if of++; m.Decision == min(x.Decision, y.Decision) {
				kept++
			} else if same && !slices.Contains([]ir.Group{ir.MCP}, action.Group) {
				t.Fatalf("%d: %+v: got %s of two equal sides, want %s", n, action, m.Decision, x.Decision)
			}
		}
	}
	if share := 100 * float64(kept) / float64(of); share < 95 {
		t.Errorf("the meet is the lower decision in %.1f %% of the cases, want 95 %%", share)
	} else {
		t.Logf("the meet is the lower decision in %.1f %% of the cases", share)
	}
}
