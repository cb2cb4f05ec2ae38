package mcpnest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// The end-to-end tests hold the meaning of the code; a change of it must be
// made known here after they have passed.
func TestKnownCode(t *testing.T) {
	emitted := map[string]code{}
	var strategies []string
	for _, suffix := range []string{"", ".js"} {
		for _, s := range []stub{{version: 1}, {version: 2}, {version: 2, strategy: true}} {
			s.suffix = suffix
			emitted[fmt.Sprintf("%x", sha256.Sum256([]byte(s.guards())))] = code{s.version, s.strategy}
		}
		strategies = append(strategies, fmt.Sprintf("%x", sha256.Sum256([]byte(stub{suffix: suffix}.strategyTS()))))
	}
	if d := cmp.Diff(emitted, knownCode, cmp.AllowUnexported(code{})); d != "" {
		t.Errorf("guards.ts has changed (-emitted +known):\n%s", d)
	}
	if d := cmp.Diff(strategies, knownStrategy); d != "" {
		t.Errorf("strategy.ts has changed (-emitted +known):\n%s", d)
	}
}

func open(t testing.TB, files map[string]string, options map[string]any) []contract.Decider {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[dir+name] = &fstest.MapFile{Data: []byte(text)}
	}
	deciders, diags := New().(contract.Judged).Open(fsys, contract.NewOptions(New().Options(), options, nil))
	if diags.HasErrors() {
		t.Fatalf("%v", diags)
	}
	return deciders
}

// may lists who may do what: "call list: clerk".
func may(deciders []contract.Decider, people map[string]map[string][]string, tools ...string) []string {
	var out []string
	for _, d := range deciders {
		for _, tool := range tools {
			for _, name := range slices.Sorted(maps.Keys(people)) {
				v := d.(contract.PersonDecider).DecidePerson(people[name], policy.Action{Group: ir.MCP, Server: "shop", Arg: tool})
				if v.Decision == ir.Allow {
					out = append(out, d.Surface()+" "+tool+": "+name)
				}
			}
		}
	}
	return out
}

const known2 = "export const ROLE_CLAIMS = {\n" +
	`  "clerk": { "roles": ["clerk", "temp"] },` + "\n" +
	`  "audit": { "roles": ["audit"], "team": ["a"] },` + "\n" +
	`  "nobody": {},` + "\n" +
	"} as const satisfies Record<string, Record<string, readonly string[]>>;\n\n" +
	"export const TOOL_POLICY = {\n" +
	`  "sell": { roles: ["clerk"], hidden: true, listed: ["clerk"] },` + "\n" +
	`  "list": { roles: ["audit", "clerk"], hidden: false, listed: [] },` + "\n" +
	`  "wipe": { roles: ["nobody"], hidden: true, listed: [] },` + "\n" +
	`  ["__proto__"]: { roles: [], hidden: true, listed: [] },` + "\n" +
	"} as const satisfies Record<string, ToolPolicy>;\n"

func TestDecide(t *testing.T) {
	people := map[string]map[string][]string{
		"clerk":      {"roles": {"clerk"}},
		"temp":       {"roles": {"temp"}}, // the guard takes it, @ToolRoles does not list it
		"auditor":    {"roles": {"audit"}, "team": {"a", "b"}},
		"half":       {"roles": {"audit"}},
		"stranger":   {"roles": {"x"}},
		"anonymous":  {},
		"other name": {"role": {"clerk"}},
	}
	tools := []string{"sell", "list", "wipe", "gone", "__proto__"}
	for _, c := range []struct {
		name  string
		stub  stub
		extra map[string]string
		want  []string
	}{
		{"2.x with the strategy", stub{version: 2, strategy: true}, map[string]string{"strategy.ts": stub{}.strategyTS()},
			[]string{"list sell: clerk", "list list: auditor", "list list: clerk", "list list: temp", "call sell: clerk", "call list: auditor", "call list: clerk", "call list: temp"}},
		{"2.x", stub{version: 2}, nil, // without the strategy a list shows what @ToolRoles does not hide
			[]string{"list sell: clerk", "list list: anonymous", "list list: auditor", "list list: clerk", "list list: half", "list list: other name", "list list: stranger", "list list: temp", "call sell: clerk", "call list: auditor", "call list: clerk", "call list: temp"}},
		{"1.9", stub{version: 1}, nil,
			[]string{"list sell: clerk", "list sell: temp", "list list: auditor", "list list: clerk", "list list: temp", "call sell: clerk", "call sell: temp", "call list: auditor", "call list: clerk", "call list: temp"}},
	} {
		files := map[string]string{"policy.ts": known2, "guards.ts": c.stub.guards()}
		maps.Copy(files, c.extra)
		got := may(open(t, files, map[string]any{"servers": []string{"shop"}}), people, tools...)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// Code that nobody has tested may permit everything.
func TestUnknownCode(t *testing.T) {
	for _, files := range []map[string]string{
		{"policy.ts": known2, "guards.ts": stub{version: 2}.guards() + " "},
		{"policy.ts": known2},
		{"policy.ts": known2, "guards.ts": stub{version: 2, strategy: true}.guards()}, // no strategy.ts
	} {
		got := may(open(t, files, map[string]any{"servers": []string{"shop"}}), map[string]map[string][]string{"x": {}}, "sell")
		if d := cmp.Diff([]string{"list sell: x", "call sell: x"}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// What is no tool of the application's own servers is nobody's to judge here.
func TestNotGoverned(t *testing.T) {
	d := open(t, map[string]string{"policy.ts": known2, "guards.ts": stub{version: 2}.guards()}, map[string]any{"servers": []string{"shop"}})[0].(contract.PersonDecider)
	for _, a := range []policy.Action{
		{Group: ir.MCP, Server: "docs", Arg: "sell"},
		{Group: ir.MCP, Server: "shop", Arg: "x", Kind: policy.Resource},
		{Group: ir.Edit, Arg: "sell"},
	} {
		if v := d.DecidePerson(nil, a); v.Governs != contract.Neither {
			t.Errorf("%+v: got %+v", a, v)
		}
	}
	if v := d.Decide(ir.SubjectRef{Role: "clerk"}, policy.Action{Group: ir.MCP, Server: "shop", Arg: "sell"}); v.Governs != contract.Neither {
		t.Errorf("a role without a person: got %+v", v)
	}
}

func TestBadTables(t *testing.T) {
	for _, text := range []string{
		"",
		"export const ROLE_CLAIMS = {};",
		"export const ROLE_CLAIMS = {} as const satisfies X;\nexport const TOOL_POLICY = {\"a\": b} as const satisfies X;",
		"export const ROLE_CLAIMS = {\"a} as const satisfies X;",
		"export const ROLE_CLAIMS = [[[[[[[[[[[[[[[[[[[[",
		"export const ROLE_CLAIMS = {[a]: true} as const satisfies X;",
		"export const ROLE_CLAIMS = {\"a\" true} as const satisfies X;",
		"export const ROLE_CLAIMS = [true false] as const satisfies X;",
		"export const ROLE_CLAIMS = \"\\q\" as const satisfies X;",
	} {
		fsys := fstest.MapFS{dir + "policy.ts": &fstest.MapFile{Data: []byte(text)}}
		if d, diags := New().(contract.Judged).Open(fsys, contract.Options{}); !diags.HasErrors() || d != nil {
			t.Errorf("%q: got %v, want an error", text, d)
		}
	}
	if d, diags := New().(contract.Judged).Open(fstest.MapFS{}, contract.Options{}); d != nil || diags != nil {
		t.Errorf("no stubs: got %v, %v", d, diags)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(known2)
	f.Fuzz(func(t *testing.T, text string) {
		fsys := fstest.MapFS{dir + "policy.ts": &fstest.MapFile{Data: []byte(text)}, dir + "guards.ts": &fstest.MapFile{Data: []byte(stub{version: 2}.guards())}}
		deciders, _ := New().(contract.Judged).Open(fsys, contract.NewOptions(New().Options(), map[string]any{"servers": []string{"shop"}}, nil))
		may(deciders, map[string]map[string][]string{"clerk": {"roles": {"clerk"}}}, "sell", "")
	})
}
