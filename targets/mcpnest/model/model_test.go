package model_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcpnest"
	"modec.dev/modec/targets/mcpnest/format"
	"modec.dev/modec/targets/mcpnest/model"
)

// form is a form of the emitted code.
type form struct {
	version   int
	claim     string // one but "roles" needs the strategy in 2.x
	extension string
}

var (
	withStrategy = form{version: 2, claim: "team"}
	plain2       = form{version: 2, claim: "roles"}
	plain1       = form{version: 1, claim: "roles"}
)

// emit returns the stubs of a form by their names.
func emit(t testing.TB, f form) map[string]string {
	t.Helper()
	if f.extension == "" {
		f.extension = "none"
	}
	p := &ir.Project{Version: ir.Version, ClosedInventory: true,
		Servers: []ir.Server{{Name: "shop", DefaultEnabled: true, Tools: []ir.Tool{{Name: "sell", Risk: "write"}}}},
		Roles: []ir.Role{{Name: "clerk", Claims: map[string][]string{f.claim: {"clerk"}},
			Can: ir.Can{Default: &ir.Default{Decision: ir.Allow}}}}}
	e := policy.New(p)
	reach, err := contract.NewReach(e)
	if err != nil {
		t.Fatal(err)
	}
	target := mcpnest.New()
	files, diags := target.Emit(contract.Input{Project: p, Policy: e, Reach: reach,
		Options: contract.NewOptions(target.Options(), map[string]any{
			"servers": []string{"shop"}, "version": f.version, "extension": f.extension,
		}, nil)})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	out := map[string]string{}
	for _, file := range files {
		out[path.Base(file.Path)] = string(file.Data)
	}
	return out
}

// The end-to-end tests show what the code does; a change of it must be
// made known here after they have passed.
func TestKnownCode(t *testing.T) {
	guards, strategies := map[string]string{}, []string{}
	for _, extension := range []string{"none", "js"} {
		for _, f := range []form{plain1, plain2, withStrategy} {
			f.extension = extension
			files := emit(t, f)
			strategy, needed := files["strategy.ts"]
			guards[digest(files["guards.ts"])] = fmt.Sprintf("MCP-Nest %d, strategy %v", f.version, needed)
			if needed {
				strategies = append(strategies, digest(strategy))
			}
		}
	}
	knownGuards, knownStrategies := model.KnownCode()
	if d := cmp.Diff(guards, knownGuards); d != "" {
		t.Errorf("guards.ts has changed (-emitted +known):\n%s", d)
	}
	if d := cmp.Diff(strategies, knownStrategies); d != "" {
		t.Errorf("strategy.ts has changed (-emitted +known):\n%s", d)
	}
}

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func open(t testing.TB, files map[string]string, options map[string]any) []contract.Decider {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[path.Join(format.Dir, name)] = &fstest.MapFile{Data: []byte(text)}
	}
	deciders, diags := model.Open(fsys, contract.NewOptions(nil, options, nil))
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
				v := d.(contract.PersonDecider).DecidePerson(people[name],
					policy.Action{Group: ir.MCP, Server: "shop", Arg: tool})
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
		name string
		form form
		want []string
	}{
		{"2.x with the strategy", withStrategy,
			[]string{"list sell: clerk", "list list: auditor", "list list: clerk", "list list: temp",
				"call sell: clerk", "call list: auditor", "call list: clerk", "call list: temp"}},
		{"2.x", plain2, // without the strategy a list shows what @ToolRoles does not hide
			[]string{"list sell: clerk", "list list: anonymous", "list list: auditor", "list list: clerk",
				"list list: half", "list list: other name", "list list: stranger", "list list: temp",
				"call sell: clerk", "call list: auditor", "call list: clerk", "call list: temp"}},
		{"1.9", plain1,
			[]string{"list sell: clerk", "list sell: temp", "list list: auditor", "list list: clerk", "list list: temp",
				"call sell: clerk", "call sell: temp", "call list: auditor", "call list: clerk", "call list: temp"}},
	} {
		files := emit(t, c.form)
		files["policy.ts"] = known2
		got := may(open(t, files, map[string]any{"servers": []string{"shop"}}), people, tools...)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// Code that nobody has tested may permit everything.
func TestUnknownCode(t *testing.T) {
	for _, files := range []map[string]string{
		{"policy.ts": known2, "guards.ts": emit(t, plain2)["guards.ts"] + " "},
		{"policy.ts": known2},
		{"policy.ts": known2, "guards.ts": emit(t, withStrategy)["guards.ts"]}, // no strategy.ts
	} {
		got := may(open(t, files, map[string]any{"servers": []string{"shop"}}), map[string]map[string][]string{"x": {}},
			"sell")
		if d := cmp.Diff([]string{"list sell: x", "call sell: x"}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// What is no tool of the application's own servers is nobody's to judge here.
func TestNotGoverned(t *testing.T) {
	d := open(t, map[string]string{"policy.ts": known2, "guards.ts": emit(t, plain2)["guards.ts"]},
		map[string]any{"servers": []string{"shop"}})[0].(contract.PersonDecider)
	for _, a := range []policy.Action{
		{Group: ir.MCP, Server: "docs", Arg: "sell"},
		{Group: ir.MCP, Server: "shop", Arg: "x", Kind: policy.Resource},
		{Group: ir.Edit, Arg: "sell"},
	} {
		if v := d.DecidePerson(nil, a); v.Governs != contract.Neither {
			t.Errorf("%+v: got %+v", a, v)
		}
	}
	if v := d.Decide(ir.SubjectRef{Role: "clerk"},
		policy.Action{Group: ir.MCP, Server: "shop", Arg: "sell"}); v.Governs != contract.Neither {
		t.Errorf("a role without a person: got %+v", v)
	}
}

func TestBadTables(t *testing.T) {
	for _, text := range []string{
		"",
		"export const ROLE_CLAIMS = {};",
		"export const ROLE_CLAIMS = {} as const satisfies X;\nexport const TOOL_POLICY = {\"a\": b} as const " +
			"satisfies X;",
		"export const ROLE_CLAIMS = {\"a} as const satisfies X;",
		"export const ROLE_CLAIMS = [[[[[[[[[[[[[[[[[[[[",
		"export const ROLE_CLAIMS = {[a]: true} as const satisfies X;",
		"export const ROLE_CLAIMS = {\"a\" true} as const satisfies X;",
		"export const ROLE_CLAIMS = [true false] as const satisfies X;",
		"export const ROLE_CLAIMS = \"\\q\" as const satisfies X;",
	} {
		fsys := fstest.MapFS{format.Policy: &fstest.MapFile{Data: []byte(text)}}
		if d, diags := model.Open(fsys, contract.Options{}); !diags.HasErrors() || d != nil {
			t.Errorf("%q: got %v, want an error", text, d)
		}
	}
	if d, diags := model.Open(fstest.MapFS{}, contract.Options{}); d != nil || diags != nil {
		t.Errorf("no stubs: got %v, %v", d, diags)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(known2)
	guards := []byte(emit(f, plain2)["guards.ts"])
	f.Fuzz(func(t *testing.T, text string) {
		fsys := fstest.MapFS{format.Policy: &fstest.MapFile{Data: []byte(text)},
			format.Guards: &fstest.MapFile{Data: guards}}
		deciders, _ := model.Open(fsys, contract.NewOptions(nil, map[string]any{"servers": []string{"shop"}}, nil))
		may(deciders, map[string]map[string][]string{"clerk": {"roles": {"clerk"}}}, "sell", "")
	})
}
