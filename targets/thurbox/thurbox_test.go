package thurbox

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/thurbox/format"
)

func emit(t *testing.T, roles ...ir.Role) (map[string]string, diag.List) {
	t.Helper()
	p := &ir.Project{Version: ir.Version, Name: "acme", Roles: roles, ClosedInventory: true}
	e := policy.New(p)
	reach, err := contract.NewReach(e)
	if err != nil {
		t.Fatal(err)
	}
	options := contract.NewOptions(New().Options(), nil, nil)
	in := contract.Input{Project: p, Policy: e, Reach: reach, Options: options, Beside: []string{"claude"}}
	files, diags := New().Emit(in)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	out := map[string]string{}
	for _, f := range files {
		out[f.Path] = string(f.Data)
	}
	return out, diags
}

func commands(d ir.Decision, patterns ...string) ir.Can {
	t := &ir.Table{}
	for _, p := range patterns {
		t.Rules = append(t.Rules, ir.Rule{Decision: d, Pattern: ir.Pattern{Text: p}})
	}
	return ir.Can{Command: t}
}

type call struct {
	Project string
	Roles   []map[string]any
}

func roles(t *testing.T, files map[string]string) call {
	t.Helper()
	var c call
	if err := json.Unmarshal([]byte(files[format.RolesPath]), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// A permission mode is written where it is not the one that Thurbox passes by itself, and
// every rule is whole.
func TestSetRoles(t *testing.T) {
	files, _ := emit(t, ir.Role{Name: "dev", Description: "d", Can: commands(ir.Deny, "git push *")},
		ir.Role{Name: "quick", PermissionMode: "acceptEdits"})
	c := roles(t, files)
	_, written := c.Roles[0]["permission_mode"]
	if c.Project != "acme" || written || c.Roles[0]["description"] != "d" || c.Roles[1]["permission_mode"] != "acceptEdits" {
		t.Errorf("got %+v", c)
	}
	if !strings.Contains(files[format.RolesPath], `"Bash(git push *)"`) {
		t.Errorf("the deny is lost:\n%s", files[format.RolesPath])
	}
}

// A comma tears a rule in Thurbox's database: an allow goes, a deny grows.
func TestComma(t *testing.T) {
	files, diags := emit(t, ir.Role{Name: "a", Can: commands(ir.Deny, "foo a,b")})
	var denied []string
	for _, d := range roles(t, files).Roles[0]["disallowed_tools"].([]any) {
		if strings.Contains(d.(string), ",") {
			t.Errorf("%q would be torn", d)
		}
		denied = append(denied, d.(string))
	}
	if !strings.Contains(strings.Join(denied, " "), "Bash") {
		t.Errorf("got %v, want Bash denied", denied)
	}
	found := false
	for _, d := range diags {
		found = found || d.Code == "thurbox-comma" && d.Loss == diag.Narrowing
	}
	if !found {
		t.Errorf("got %v, want thurbox-comma", diags)
	}
}

// An allow that a rule to ask about may hold back is left out: flags cannot ask.
func TestAskIsNotAllowed(t *testing.T) {
	can := commands(ir.Allow, "git *")
	can.Command.Rules = append(can.Command.Rules, ir.Rule{Decision: ir.Ask, Pattern: ir.Pattern{Text: "git push *"}})
	files, _ := emit(t, ir.Role{Name: "a", Can: can})
	if strings.Contains(files[format.RolesPath], `"Bash(git *)"`) {
		t.Errorf("git push would run unasked:\n%s", files[format.RolesPath])
	}
}

func TestLongName(t *testing.T) {
	files, diags := emit(t, ir.Role{Name: strings.Repeat("é", 33)})
	if n := len(roles(t, files).Roles); n != 0 {
		t.Errorf("got %d roles, want none", n)
	}
	if len(diags) == 0 || diags[len(diags)-1].Code != "thurbox-name" {
		t.Errorf("got %v, want thurbox-name", diags)
	}
	files, _ = emit(t, ir.Role{Name: strings.Repeat("é", 32)})
	if n := len(roles(t, files).Roles); n != 1 {
		t.Errorf("got %d roles, want one: 64 bytes are allowed", n)
	}
}

// An agent of agents.toml is a session of its role, whatever its name.
func TestAgents(t *testing.T) {
	name := "it's \"ours\"\n[[agents]]"
	files, _ := emit(t, ir.Role{Name: name, Can: commands(ir.Deny, "rm *")})
	var got format.Agents
	if err := toml.Unmarshal([]byte(files[format.AgentsPath]), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Agents) != 1 || got.Agents[0].Name != name || got.Agents[0].Command != "modec" {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff([]string{"--session-id", "{id}"}, got.Agents[0].NewSessionArgs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"run", "role:" + name, "--", "claude"}, got.Agents[0].Args); diff != "" {
		t.Error(diff)
	}
}

// A torn allow would allow its pieces: it is left out, the others stay.
func TestCommaInAllow(t *testing.T) {
	can := commands(ir.Allow, "foo a,b", "foo c")
	can.Command.Default = &ir.Default{Decision: ir.Deny}
	files, diags := emit(t, ir.Role{Name: "a", Can: can, PermissionMode: "dontAsk"})
	text := files[format.RolesPath]
	if strings.Contains(text, "a,b") || !strings.Contains(text, `"Bash(foo c)"`) {
		t.Errorf("got\n%s", text)
	}
	found := false
	for _, d := range diags {
		found = found || d.Code == "thurbox-comma" && d.Loss == diag.Narrowing && d.Subject == "role a"
	}
	if !found {
		t.Errorf("got %v, want thurbox-comma", diags)
	}
}
