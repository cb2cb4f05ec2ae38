package mcpnest

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
)

// shop is a project of one server with a tool of each risk, and the roles.
func shop(roles ...ir.Role) *ir.Project {
	return &ir.Project{Version: ir.Version, ClosedInventory: true, Roles: roles,
		Servers: []ir.Server{{Name: "shop", Type: "http", URL: "https://shop.example", DefaultEnabled: true,
			Tools: []ir.Tool{{Name: "list", Risk: "read"}, {Name: "refund", Risk: "destructive"}}}}}
}

func role(name string, d ir.Decision, claims map[string][]string) ir.Role {
	return ir.Role{Name: name, Claims: claims, Can: ir.Can{MCP: &ir.MCPTable{Default: &ir.Default{Decision: d}}}}
}

func emit(t *testing.T, p *ir.Project, options map[string]any) (string, diag.List) {
	t.Helper()
	if options["servers"] == nil {
		options["servers"] = []string{"shop"}
	}
	files, diags := New().Emit(target.Input{Project: p, Policy: policy.New(p), Options: target.NewOptions(New().Options(), options, nil)})
	for _, f := range files {
		if f.Path == dir+"policy.ts" {
			return string(f.Data), diags
		}
	}
	return "", diags
}

func codes(diags diag.List) string {
	var list []string
	for _, d := range diags {
		list = append(list, d.Code)
	}
	return strings.Join(list, " ")
}

var byRole = map[string][]string{"roles": {"r"}}

// An ask is left to the client, but not for a destructive tool.
func TestUnheldAsk(t *testing.T) {
	for _, c := range []struct{ unheld, list, refund string }{
		{"", `"list": { roles: ["r"]`, `"refund": { roles: []`},
		{"permit", `"list": { roles: ["r"]`, `"refund": { roles: ["r"]`},
		{"deny", `"list": { roles: []`, `"refund": { roles: []`},
	} {
		options := map[string]any{}
		if c.unheld != "" {
			options["unheld_ask"] = c.unheld
		}
		out, _ := emit(t, shop(role("r", ir.Ask, byRole)), options)
		if !strings.Contains(out, c.list) || !strings.Contains(out, c.refund) {
			t.Errorf("unheld_ask %q:\n%s", c.unheld, out)
		}
	}
}

// A tool that nobody may call is hidden from everybody, never left open.
func TestNobody(t *testing.T) {
	out, _ := emit(t, shop(role("r", ir.Deny, byRole)), map[string]any{})
	if !strings.Contains(out, `"list": { roles: [], hidden: true, listed: [] }`) {
		t.Errorf("got\n%s", out)
	}
	if !strings.Contains(guardsV2(""), "policy.listed.length > 0 ? [...policy.listed] : NOBODY") {
		t.Error("an empty list of roles would be no restriction")
	}
}

// A role without claims is held by nobody; one with other claims is blocked and
// not hidden.
func TestClaims(t *testing.T) {
	out, diags := emit(t, shop(role("r", ir.Allow, nil)), map[string]any{})
	if strings.Contains(out, `"r"`) || !strings.Contains(codes(diags), "mcpnest-unclaimed") {
		t.Errorf("got %s\n%s", codes(diags), out)
	}
	out, diags = emit(t, shop(role("r", ir.Allow, map[string][]string{"realm_access.roles": {"x"}})), map[string]any{})
	if !strings.Contains(out, `hidden: false, listed: []`) || !strings.Contains(codes(diags), "mcpnest-not-hidden") {
		t.Errorf("got %s\n%s", codes(diags), out)
	}
	if _, diags = emit(t, shop(role("r", ir.Allow, map[string][]string{"x": {"x"}})), map[string]any{"version": 1}); strings.Contains(codes(diags), "mcpnest-not-hidden") {
		t.Error("1.9 hides by the guard itself")
	}
}

// Names of the source are data: no name ends a string, sets a prototype or
// reorders a line.
func TestHostileNames(t *testing.T) {
	out, _ := emit(t, shop(role(`"; process.exit() //`, ir.Allow, byRole), role("__proto__", ir.Allow, map[string][]string{"__proto__": {"a\u202Eb\u2028</script>"}})), map[string]any{})
	for _, bad := range []string{"\u202E", "\u2028", "</script>", `"__proto__": {`, `"__proto__": [`} {
		if strings.Contains(out, bad) {
			t.Errorf("%q stands in\n%s", bad, out)
		}
	}
	if !strings.Contains(out, `["__proto__"]: {`) || !strings.Contains(out, `"\"; process.exit() //"`) {
		t.Errorf("a name is lost:\n%s", out)
	}
}

func TestServers(t *testing.T) {
	p := shop(role("r", ir.Allow, byRole))
	if _, diags := emit(t, p, map[string]any{"servers": []string{}}); codes(diags) != "mcpnest-no-servers" {
		t.Errorf("got %s, want mcpnest-no-servers", codes(diags))
	}
	if _, diags := emit(t, p, map[string]any{"servers": []string{"shp"}}); codes(diags) != "mcpnest-unknown-server" || !diags.HasErrors() {
		t.Errorf("got %s, want mcpnest-unknown-server", codes(diags))
	}
	p.Servers = append([]ir.Server{{Name: "other", Command: "x", DefaultEnabled: true, Tools: []ir.Tool{{Name: "list"}}}}, p.Servers...)
	if _, diags := emit(t, p, map[string]any{"servers": []string{"shop", "other"}}); !strings.Contains(codes(diags), "mcpnest-duplicate-tool") {
		t.Errorf("got %s, want mcpnest-duplicate-tool", codes(diags))
	}
}
