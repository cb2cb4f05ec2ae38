package verify

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// stub is a decider that answers every action alike.
type stub struct {
	verdict contract.Verdict
	group   ir.Group // the only one that it holds
}

func (s stub) Surface() string   { return "" }
func (s stub) Assumes() []string { return nil }
func (s stub) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	if a.Group != s.group || ref.Role != "" {
		return contract.Verdict{}
	}
	return s.verdict
}

func answers(d ir.Decision, h contract.Halves) contract.Verdict {
	return contract.Verdict{Answer: contract.Answer{Decision: d, Governs: h, Rule: "rule", At: diag.Pos{File: "f", Line: 1}}}
}

func bare(v contract.Verdict, d ir.Decision) contract.Verdict {
	v.Bare = &contract.Answer{Decision: d, Governs: contract.Both, Rule: "bare rule"}
	return v
}

// source decides the same for every tool of the server s.
func source(d ir.Decision) *ir.Project {
	return &ir.Project{Version: ir.Version, ClosedInventory: true,
		Servers: []ir.Server{{Name: "s", DefaultEnabled: true, Tools: []ir.Tool{{Name: "t", Risk: "destructive"}}}},
		Modes:   []ir.Mode{{Slug: "m", Can: ir.Can{MCP: &ir.MCPTable{Default: &ir.Default{Decision: d}}}}}}
}

func judged(p *ir.Project, v contract.Verdict, x ...contract.Exception) Surface {
	e := policy.New(p)
	j := &job{
		target:  &Target{Target: one{}, Input: contract.Input{Project: p, Policy: e, Exceptions: x}},
		ref:     ir.SubjectRef{Mode: "m"},
		decider: stub{v, ir.MCP},
	}
	list, err := Universe(e, j.ref, nil, 1)
	if err != nil {
		panic(err)
	}
	var tool []Witness
	for _, w := range list {
		if w.Group == ir.MCP && w.Arg == "t" {
			tool = append(tool, w)
		}
	}
	u, err := newUniverse(context.Background(), e, j.ref)
	if err != nil {
		panic(err)
	}
	j.compare(context.Background(), Request{Policy: e}, u, pointers(tool))
	s := Surface{Governed: map[ir.Group]contract.Halves{}}
	j.into(&s)
	return s
}

// The halves of a decision are compared one by one, each where it is governed.
func TestHalves(t *testing.T) {
	outcome := func(s Surface) string {
		word := func(t Tally) string {
			switch {
			case t.Compared == 0:
				return "-"
			case t.Equal == 1:
				return "equal"
			case t.Narrower == 1:
				return "narrower"
			}
			return "wider"
		}
		return word(s.Access) + " " + word(s.Approval)
	}
	for _, c := range []struct {
		source, artifact ir.Decision
		governs          contract.Halves
		want             string
		wider            int
	}{
		{ir.Deny, ir.Deny, contract.Both, "equal equal", 0},
		{ir.Deny, ir.Ask, contract.Both, "wider equal", 1},
		{ir.Deny, ir.Allow, contract.Both, "wider wider", 2},
		{ir.Ask, ir.Deny, contract.Both, "narrower equal", 0},
		{ir.Ask, ir.Ask, contract.Both, "equal equal", 0},
		{ir.Ask, ir.Allow, contract.Both, "equal wider", 1},
		{ir.Allow, ir.Deny, contract.Both, "narrower narrower", 0},
		{ir.Allow, ir.Ask, contract.Both, "equal narrower", 0},
		{ir.Allow, ir.Allow, contract.Both, "equal equal", 0},

		{ir.Deny, ir.Deny, contract.Access, "equal -", 0},
		{ir.Deny, ir.Allow, contract.Access, "wider -", 1},
		{ir.Ask, ir.Allow, contract.Access, "equal -", 0},
		{ir.Ask, ir.Deny, contract.Access, "narrower -", 0},

		{ir.Deny, ir.Ask, contract.Approval, "- equal", 0},
		{ir.Deny, ir.Allow, contract.Approval, "- wider", 1},
		{ir.Ask, ir.Allow, contract.Approval, "- wider", 1},
		{ir.Allow, ir.Ask, contract.Approval, "- narrower", 0},

		{ir.Deny, ir.Allow, contract.Neither, "- -", 0},
	} {
		s := judged(source(c.source), answers(c.artifact, c.governs))
		if got := outcome(s); got != c.want || len(s.Findings) != c.wider {
			t.Errorf("source %s, artifact %s, governs %d: got %s and %d findings, want %s and %d", c.source, c.artifact, c.governs, got, len(s.Findings), c.want, c.wider)
		}
	}
}

// Without its hook an artifact may ask about what the source denies, and never
// approve it.
func TestWithoutTheHook(t *testing.T) {
	for _, c := range []struct {
		source, hooked, bare ir.Decision
		wider, hookOnly      int
	}{
		{ir.Deny, ir.Deny, ir.Deny, 0, 0},
		{ir.Deny, ir.Deny, ir.Ask, 0, 1},
		{ir.Deny, ir.Deny, ir.Allow, 1, 0},
		{ir.Ask, ir.Ask, ir.Deny, 0, 0},
		{ir.Ask, ir.Ask, ir.Allow, 1, 0},
		{ir.Allow, ir.Allow, ir.Ask, 0, 0},
		{ir.Allow, ir.Allow, ir.Allow, 0, 0},
		{ir.Deny, ir.Ask, ir.Allow, 2, 0}, // with the hook and without
	} {
		s := judged(source(c.source), bare(answers(c.hooked, contract.Both), c.bare))
		if len(s.Findings) != c.wider || s.Counts.HookOnly != c.hookOnly {
			t.Errorf("source %s, hook %s, without %s: got %d wider and %d by the hook, want %d and %d", c.source, c.hooked, c.bare, len(s.Findings), s.Counts.HookOnly, c.wider, c.hookOnly)
		}
	}
}

// An exception accepts what it names, and a destructive tool only by its name.
func TestExceptions(t *testing.T) {
	m := ir.SubjectRef{Mode: "m"}
	until := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		x        contract.Exception
		accepted bool
	}{
		{contract.Exception{Subject: m, Group: ir.MCP, Server: "s", Pattern: "t"}, true},
		{contract.Exception{Subject: m, Group: ir.MCP, Server: "s", Pattern: "*"}, false},
		{contract.Exception{Subject: m, Group: ir.MCP}, false},
		{contract.Exception{Subject: m, Group: ir.Edit}, false},
		{contract.Exception{Subject: ir.SubjectRef{Mode: "n"}, Group: ir.MCP, Server: "s", Pattern: "t"}, false},
	} {
		c.x.Until = until
		s := judged(source(ir.Deny), answers(ir.Allow, contract.Both), c.x)
		if got := len(s.Findings) == 0 && s.Counts.Accepted > 0 && len(s.Accepted) > 0; got != c.accepted {
			t.Errorf("%+v: got accepted %v, want %v (%+v)", c.x, got, c.accepted, s.Findings)
		}
	}
	p := source(ir.Deny)
	p.Servers[0].Tools[0].Risk = "read"
	accepted := contract.Exception{Subject: m, Group: ir.MCP, Server: "s", Pattern: "*", Until: until}
	if s := judged(p, answers(ir.Allow, contract.Both), accepted); len(s.Findings) > 0 {
		t.Errorf("a server's other tools: got %+v", s.Findings)
	}
}

// A hole is counted apart, where the artifact itself is not wider.
func TestHoles(t *testing.T) {
	v := answers(ir.Deny, contract.Access)
	v.Hole = &contract.Hole{Decision: ir.Allow, Why: "because"}
	if s := judged(source(ir.Deny), v); len(s.Findings) != 0 || s.Counts.Holes != 1 || s.Holes[0].By != "because" {
		t.Errorf("got %+v", s)
	}
	if s := judged(source(ir.Allow), v); s.Counts.Holes != 0 {
		t.Errorf("a hole where the source allows: got %+v", s.Holes)
	}
}

// What a closed inventory says does not exist is counted apart.
func TestAssumed(t *testing.T) {
	for _, closed := range []bool{true, false} {
		p := source(ir.Deny)
		p.ClosedInventory = closed
		report, err := Run(t.Context(), Request{Policy: policy.New(p), Targets: []Target{{
			Target: one{v: answers(ir.Allow, contract.Both)},
			Input:  contract.Input{Project: p},
			Files:  fstest.MapFS{},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		s := report.Surfaces[0]
		var wider []string
		for _, f := range s.Findings {
			wider = append(wider, f.Action)
		}
		want := []string{"s:t"}
		if !closed {
			want = []string{"s:t", "s:unlisted", "s (resource)", "s (prompt)", contract.UnknownServer + ":unlisted"}
		}
		wider = slices.Compact(wider) // both halves
		if d := cmp.Diff(want, wider); d != "" {
			t.Errorf("closed %v (-want +wider):\n%s", closed, d)
		}
		if closed != (s.Counts.Assumed > 0 && len(s.Assumed) > 0) {
			t.Errorf("closed %v: got %d assumed", closed, s.Counts.Assumed)
		}
	}
}

// one is a target with one surface.
type one struct {
	contract.Target
	v contract.Verdict
}

func (one) Name() string                             { return "one" }
func (one) Alone(*ir.Project) []contract.Decider     { return nil }
func (one) Governs(string, ir.Group) contract.Halves { return contract.Both }
func (o one) Open(fsys fs.FS, _ contract.Options) ([]contract.Decider, diag.List) {
	return []contract.Decider{stub{o.v, ir.MCP}}, nil
}

// A share of nothing is whole.
func TestPercent(t *testing.T) {
	for s, want := range map[Share]string{{}: "100.0", {1, 2}: "50.0", {3, 3}: "100.0"} {
		if got := fmt.Sprintf("%.1f", s.Percent()); got != want {
			t.Errorf("%+v: got %s, want %s", s, got, want)
		}
	}
}

func TestRegexSamples(t *testing.T) {
	for re, want := range map[string][]string{
		`^src/[a-c]+\.md$`:              {"src/a.md", "src/c.md"},
		`a|b|c`:                         {"a", "b", "c"},
		`x{2}y?`:                        {"xx", "xxy"},
		`^(?!a)(d(/.*)?|b(c|[ж-я])|x)$`: {"d", "x", "d/", "bc", "d/x", "bж", "bя"},
		`(evil)/\1`:                     {"evil/evil"},
		`[^a]\x22?`:                     {"x", `x"`},
		`\bq\b|[]`:                      {"", "q"},
		`(`:                             nil,
	} {
		if d := cmp.Diff(want, regexSamples(re)); d != "" {
			t.Errorf("%s (-want +got):\n%s", re, d)
		}
	}
}

// An expression that repeats what repeats has no endless text.
func TestRegexSamplesAreBounded(t *testing.T) {
	for _, re := range []string{`((a{900}){900}){900}`, strings.Repeat(`[ab]{200}`, 500), strings.Repeat("a", mostUnits+1)} {
		for _, text := range regexSamples(re) {
			if len(text) > mostUnits {
				t.Fatalf("%.20s: got a text of %d letters, want at most %d", re, len(text), mostUnits)
			}
		}
	}
	if got := regexSamples(strings.Repeat("a", mostUnits)); len(got) != 1 || len(got[0]) != mostUnits {
		t.Errorf("got %d texts, want one of %d letters", len(got), mostUnits)
	}
}

func TestGlobSamples(t *testing.T) {
	for glob, want := range map[string][]string{
		"docs/**/*.md": {"docs/a/b/x.md", "docs/Name.v2.md", "docs/.d/.hid.md"},
		"/src/":        {"src/x", "src/Name.v2", "src/.hid"},
		"{a,b}?":       {"aq", "aq", "aq", "bq", "bq", "bq"},
		"[^a]x":        {"Zx", "Zx", "Zx"},
		"[b-d]":        {"b", "b", "b"},
		`\*`:           {"*", "*", "*"},
		"[":            nil,
	} {
		if d := cmp.Diff(want, fileSamples(ir.Pattern{Text: glob})); d != "" {
			t.Errorf("%s (-want +got):\n%s", glob, d)
		}
	}
}

// Whatever a pattern is, making witnesses of it does not fail.
func FuzzWitnesses(f *testing.F) {
	f.Add("docs/**", "git push *", "*.a.org")
	f.Add("[", "\\", "")
	f.Fuzz(func(t *testing.T, glob, command, host string) {
		p := source(ir.Deny)
		rules := func(s string) *ir.Table {
			return &ir.Table{Rules: []ir.Rule{{Decision: ir.Ask, Pattern: ir.Pattern{Text: s}}, {Pattern: ir.Pattern{Text: s + "x"}}}}
		}
		p.Modes[0].Can.Edit, p.Modes[0].Can.Command, p.Modes[0].Can.Web = rules(glob), rules(command), rules(host)
		p.Modes[0].Can.Read = &ir.Table{Rules: []ir.Rule{{Decision: ir.Ask, Pattern: ir.Pattern{Kind: ir.Regex, Text: glob}}}}
		_, _ = Universe(policy.New(p), ir.SubjectRef{Mode: "m"}, nil, 1)
	})
}

// Without the hook a role in a mode is held by the role's own rules: what they
// permit to the role is no widening, anything more is.
func TestRoleInModeWithoutTheHook(t *testing.T) {
	for _, c := range []struct {
		role            ir.Decision
		wider, hookOnly int
	}{{ir.Allow, 0, 1}, {ir.Ask, 1, 0}, {ir.Deny, 1, 0}} {
		p := source(ir.Deny)
		p.Roles = []ir.Role{{Name: "r", Can: ir.Can{MCP: &ir.MCPTable{Default: &ir.Default{Decision: c.role}}}}}
		e := policy.New(p)
		ref := ir.SubjectRef{Role: "r", Mode: "m"}
		list, err := Universe(e, ref, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		j := &job{target: &Target{Target: one{}, Input: contract.Input{Project: p, Policy: e}}, ref: ref}
		for i := range list {
			if list[i].Group == ir.MCP && list[i].Arg == "t" {
				j.governs = map[ir.Group]contract.Halves{}
				list[i].usual = &list[i].Source
				j.judge(&list[i], bare(answers(ir.Deny, contract.Both), ir.Allow))
			}
		}
		if len(j.out.Findings) != c.wider || j.out.Bare.HookOnly != c.hookOnly {
			t.Errorf("a role that is told %s: got %d wider and %d by the hook, want %d and %d", c.role, len(j.out.Findings), j.out.Bare.HookOnly, c.wider, c.hookOnly)
		}
	}
}

// What the source leaves to the agent is compared with what the agent does by itself, holes
// on both sides included, and what a person's own entry permits there is no defect.
func TestLeftToTheAgent(t *testing.T) {
	p := source(ir.Deny)
	hole := func(v contract.Verdict) contract.Verdict {
		v.Hole = &contract.Hole{Decision: ir.Allow, Why: "by itself"}
		return v
	}
	ask, allow, deny := answers(ir.Ask, contract.Both), answers(ir.Allow, contract.Both), answers(ir.Deny, contract.Both)
	for _, c := range []struct {
		name                    string
		alone, artifact         contract.Verdict
		compiled                *contract.Verdict
		wider, narrower, filled int
		holes                   int
	}{
		{name: "the same", alone: ask, artifact: ask},
		{name: "more", alone: ask, artifact: allow, wider: 1},
		{name: "less", alone: ask, artifact: deny, narrower: 1},
		{name: "a refusal that becomes a question", alone: deny, artifact: ask, wider: 1},
		{name: "the agent's own hole", alone: hole(ask), artifact: hole(ask)},
		{name: "a hole that is closed", alone: hole(ask), artifact: ask, narrower: 1},
		{name: "a hole of the artifacts", alone: ask, artifact: hole(ask), holes: 1},
		{name: "without the hook", alone: ask, artifact: bare(ask, ir.Allow), wider: 1},
		{name: "a person's own entry", alone: ask, artifact: allow, compiled: &ask, filled: 1},
		{name: "modec's own entry", alone: ask, artifact: allow, compiled: &allow, wider: 1},
	} {
		j := &job{target: &Target{Target: one{}, Input: contract.Input{Project: p, Policy: policy.New(p)}}, ref: ir.SubjectRef{Mode: "m"},
			alone: stub{c.alone, ir.MCP}, governs: map[ir.Group]contract.Halves{}, left: map[ir.Group]bool{}}
		if c.compiled != nil {
			j.compiled = stub{*c.compiled, ir.MCP}
		}
		action := policy.Action{Group: ir.MCP, Server: "s", Arg: "t"}
		left := policy.Result{Decision: ir.Agent}
		j.judge(&Witness{Action: action, Source: left, usual: &left}, c.artifact)
		o := &j.out
		narrower := o.Access.Narrower + o.Approval.Narrower
		if o.Bare != nil {
			narrower += o.Bare.Narrower
		}
		if len(o.Findings) != c.wider || narrower != c.narrower || o.Counts.Filled != c.filled || o.Counts.Holes != c.holes {
			t.Errorf("%s: got %d wider, %d narrower, %d filled and %d holes", c.name, len(o.Findings), narrower, o.Counts.Filled, o.Counts.Holes)
		}
		if !j.left[ir.MCP] || o.Utility != (Utility{}) {
			t.Errorf("%s: got left %v and utility %v", c.name, j.left, o.Utility)
		}
	}
}
