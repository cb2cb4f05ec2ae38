package model_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcpnest"
	"modec.dev/modec/targets/mcpnest/format"
	"modec.dev/modec/targets/mcpnest/model"
)

// emit returns the stubs by their names.
func emit(t testing.TB, options map[string]any) map[string]string {
	t.Helper()
	p := &ir.Project{Version: ir.Version, ClosedInventory: true,
		Servers: []ir.Server{{Name: "shop", DefaultEnabled: true, Tools: []ir.Tool{{Name: "sell", Risk: "write"}}}},
		Roles: []ir.Role{{Name: "clerk", Claims: map[string][]string{"roles": {"clerk"}},
			Can: ir.Can{Default: &ir.Default{Decision: ir.Allow}}}}}
	e := policy.New(p)
	reach, err := contract.NewReach(e)
	if err != nil {
		t.Fatal(err)
	}
	target := mcpnest.New()
	options["servers"] = []string{"shop"}
	files, diags := target.Emit(contract.Input{Project: p, Policy: e, Reach: reach,
		Options: contract.NewOptions(target.Options(), options, nil)})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	out := map[string]string{}
	for _, file := range files {
		out[path.Base(file.Path)] = string(file.Data)
	}
	return out
}

var update = flag.Bool("update", false, "take the emitted code for known")

// verified are the options of stubs that verify tokens.
func verified(version int, extension string) map[string]any {
	return map[string]any{"version": version, "extension": extension, "jwt": true, "issuer": "https://id.example",
		"audience": []string{"shop"}, "jwks": "https://id.example/jwks"}
}

// The end-to-end tests show what the code does; a change of it must be
// made known here after they have passed.
func TestKnownCode(t *testing.T) {
	emitted := map[string]map[string]int{}
	for _, extension := range []string{"none", "js"} {
		for version := 1; version <= 2; version++ {
			for name, text := range emit(t, verified(version, extension)) {
				name = path.Join(format.Dir, name)
				if name == format.Policy || name == format.Index { // what is of the source, and what decides nothing
					continue
				}
				if emitted[name] == nil {
					emitted[name] = map[string]int{}
				}
				if _, ok := emitted[name][digest(text)]; ok && version == 2 { // the same for both
					emitted[name][digest(text)] = 0
					continue
				}
				emitted[name][digest(text)] = version
			}
		}
	}
	if *update {
		b, err := json.MarshalIndent(emitted, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("known.json", append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(emitted, model.KnownCode()); d != "" {
		t.Errorf("the code has changed (-emitted +known):\n%s", d)
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

// may lists who may do what: "sell: clerk".
func may(deciders []contract.Decider, people map[string]map[string][]string, kind policy.MCPKind,
	names ...string) []string {
	var out []string
	for _, d := range deciders {
		for _, name := range names {
			for _, who := range slices.Sorted(maps.Keys(people)) {
				v := d.(contract.PersonDecider).DecidePerson(people[who],
					policy.Action{Group: ir.MCP, Server: "shop", Arg: name, Kind: kind})
				if v.Decision == ir.Allow {
					out = append(out, name+": "+who)
				}
			}
		}
	}
	return out
}

const table = "export const ROLE_CLAIMS = {\n" +
	`  "clerk": { "roles": ["clerk", "temp"] },` + "\n" +
	`  "audit": { "roles": ["audit"], "team": ["a"] },` + "\n" +
	`  "nobody": {},` + "\n" +
	`  "member": "authenticated",` + "\n" +
	`  "visitor": "anyone",` + "\n" +
	`  "misspelt": "everyone",` + "\n" +
	"} as const satisfies Record<string, RoleClaims>;\n\n" +
	"export const TOOL_POLICY = {\n" +
	`  "sell": { roles: ["clerk"] },` + "\n" +
	`  "list": { roles: ["audit", "clerk"] },` + "\n" +
	`  "wipe": { roles: ["nobody", "misspelt", "gone"] },` + "\n" +
	`  "look": { roles: ["member"] },` + "\n" +
	`  "hello": { roles: ["visitor"] },` + "\n" +
	`  ["__proto__"]: { roles: [] },` + "\n" +
	"} as const satisfies Record<string, ToolPolicy>;\n\n" +
	"export const RESOURCE_POLICY = {\n" +
	`  "shop": { resources: ["audit", "clerk"], prompts: ["clerk"] },` + "\n" +
	`  "till": { resources: ["audit"], prompts: ["clerk", "visitor"] },` + "\n" +
	"} as const satisfies Record<string, ResourcePolicy>;\n"

var shop = map[string]any{"servers": []string{"shop", "till"}}

func TestDecide(t *testing.T) {
	people := map[string]map[string][]string{
		"clerk":      {"roles": {"clerk"}},
		"temp":       {"roles": {"temp"}},
		"auditor":    {"roles": {"audit"}, "team": {"a", "b"}},
		"half":       {"roles": {"audit"}},
		"stranger":   {},
		"anonymous":  nil,
		"other name": {"role": {"clerk"}},
	}
	want := []string{"sell: clerk", "sell: temp", "list: auditor", "list: clerk", "list: temp",
		"look: auditor", "look: clerk", "look: half", "look: other name", "look: stranger", "look: temp",
		"hello: anonymous", "hello: auditor", "hello: clerk", "hello: half", "hello: other name", "hello: stranger",
		"hello: temp"}
	for version := 1; version <= 2; version++ {
		files := emit(t, map[string]any{"version": version})
		files["policy.ts"] = table
		got := may(open(t, files, shop), people, policy.Tool, "sell", "list", "wipe", "gone", "look", "hello", "__proto__")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("MCP-Nest %d (-want +got):\n%s", version, d)
		}
		for kind, want := range map[policy.MCPKind][]string{
			policy.Resource: {"x: auditor"}, // each server has to give them
			policy.Prompt:   {"x: clerk", "x: temp"},
		} {
			if d := cmp.Diff(want, may(open(t, files, shop), people, kind, "x")); d != "" {
				t.Errorf("MCP-Nest %d, kind %d (-want +got):\n%s", version, kind, d)
			}
		}
	}
}

// Code that nobody has tested may permit everything.
func TestUnknownCode(t *testing.T) {
	for version := 1; version <= 2; version++ {
		for _, name := range []string{"guards.ts", "decide.ts", "tools.ts", "authentication.ts", "strategy.ts", "module.ts"} {
			files := emit(t, verified(version, "none"))
			if _, ok := files[name]; !ok {
				continue
			}
			files["policy.ts"] = table
			files[name] += " "
			unknown(t, files, name+" is changed")
			delete(files, name)
			if name != "authentication.ts" { // without it the application does not compile
				unknown(t, files, name+" is gone")
			}
		}
	}
	files := emit(t, map[string]any{"version": 2})
	files["policy.ts"], files["guards.ts"] = table, emit(t, map[string]any{"version": 1})["guards.ts"]
	unknown(t, files, "the parts are of two versions")
}

func unknown(t *testing.T, files map[string]string, what string) {
	t.Helper()
	got := may(open(t, files, shop), map[string]map[string][]string{"x": nil}, policy.Tool, "sell")
	if d := cmp.Diff([]string{"sell: x"}, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// What is no tool of the application's own servers is nobody's to judge here.
func TestNotGoverned(t *testing.T) {
	d := open(t, map[string]string{"policy.ts": table}, shop)[0].(contract.PersonDecider)
	for _, a := range []policy.Action{
		{Group: ir.MCP, Server: "docs", Arg: "sell"},
		{Group: ir.MCP, Server: "docs", Kind: policy.Resource},
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
	f.Add(table)
	files := emit(f, map[string]any{"version": 2})
	f.Fuzz(func(t *testing.T, text string) {
		fsys := memfs.FS{}
		for name, code := range files {
			fsys[path.Join(format.Dir, name)] = []byte(code)
		}
		fsys[format.Policy] = []byte(text)
		deciders, _ := model.Open(fsys, contract.NewOptions(nil, shop, nil))
		may(deciders, map[string]map[string][]string{"clerk": {"roles": {"clerk"}}}, policy.Tool, "sell", "")
	})
}
