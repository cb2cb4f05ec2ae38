package mcpnest

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcpnest/format"
)

// shop is a server with a tool of each risk, one to a line of the source.
func shop() ir.Server {
	return ir.Server{Name: "shop", DefaultEnabled: true, Tools: []ir.Tool{
		{Name: "list", Risk: "read", Pos: at(1)},
		{Name: "refund", Risk: "destructive", Pos: at(2)},
		{Name: "sell", Risk: "write", Pos: at(3)},
	}}
}

func at(line int) diag.Pos { return diag.Pos{File: "modec/p.cue", Line: line, Col: 2} }

// role decides the same for every tool.
func role(name string, d ir.Decision, claims map[string][]string) ir.Role {
	return ir.Role{Name: name, Pos: at(10), Claims: claims, Can: ir.Can{Default: &ir.Default{Decision: d, Pos: at(11)}}}
}

func claims(name string, values ...string) map[string][]string {
	return map[string][]string{name: values}
}

func emit(t *testing.T, p *ir.Project, options map[string]any) (map[string]string, diag.List) {
	t.Helper()
	p.Version, p.ClosedInventory = ir.Version, true
	e := policy.New(p)
	reach, err := contract.NewReach(e)
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]diag.Pos{}
	for name := range options {
		set[name] = diag.Pos{File: "modec.toml", Line: 4, Col: 1}
	}
	files, diags := New().Emit(contract.Input{Project: p, Policy: e, Reach: reach,
		Options: contract.NewOptions(New().Options(), options, set)})
	out := map[string]string{}
	for _, f := range files {
		out[path.Base(f.Path)] = string(f.Data)
	}
	return out, diags
}

func one(t *testing.T, options map[string]any, roles ...ir.Role) (map[string]string, diag.List) {
	t.Helper()
	if options == nil {
		options = map[string]any{}
	}
	options["servers"] = []string{"shop"}
	return emit(t, &ir.Project{Servers: []ir.Server{shop()}, Roles: roles}, options)
}

// rows are the lines of the policy table.
func rows(files map[string]string) []string {
	_, table, _ := strings.Cut(files["policy.ts"], "TOOL_POLICY = {\n")
	table, _, _ = strings.Cut(table, "}"+" as const")
	return slices.DeleteFunc(strings.Split(table, "\n"), func(s string) bool { return s == "" })
}

func codes(list diag.List) []string {
	out := []string{}
	for _, d := range list {
		out = append(out, string(d.Code))
	}
	return out
}

// The table names for each tool the roles that may call it; 2.x also who is
// listed it.
func TestTable(t *testing.T) {
	roles := []ir.Role{
		role("clerk", ir.Allow, claims("roles", "clerk", "head")),
		role("guest", ir.Deny, claims("roles", "guest")),
		role("head", ir.Allow, claims("roles", "head")),
	}
	files, diags := one(t, nil, roles...)
	want := []string{
		`  "list": { roles: ["clerk", "head"], hidden: true, listed: ["clerk", "head"] },`,
		`  "refund": { roles: ["clerk", "head"], hidden: true, listed: ["clerk", "head"] },`,
		`  "sell": { roles: ["clerk", "head"], hidden: true, listed: ["clerk", "head"] },`,
	}
	if diff := cmp.Diff(want, rows(files)); diff != "" || len(diags) > 0 {
		t.Errorf("2.x: %v\n%s", diags, diff)
	}
	files, diags = one(t, map[string]any{"version": 1}, roles...)
	want = []string{
		`  "list": { roles: ["clerk", "head"] },`,
		`  "refund": { roles: ["clerk", "head"] },`,
		`  "sell": { roles: ["clerk", "head"] },`,
	}
	if diff := cmp.Diff(want, rows(files)); diff != "" || len(diags) > 0 {
		t.Errorf("1.9: %v\n%s", diags, diff)
	}
}

// Nobody may call a tool that every role denies, and it is still in the table:
// assertPolicy would refuse it otherwise.
func TestDeniedToolIsInTheTable(t *testing.T) {
	files, _ := one(t, nil, role("guest", ir.Deny, claims("roles", "guest")))
	if got := rows(files)[0]; got != `  "list": { roles: [], hidden: true, listed: [] },` {
		t.Errorf("got %s", got)
	}
	if !strings.Contains(files["guards.ts"], "['modec:nobody']") { // ToolRoles takes no empty list
		t.Error("nobody is listed the tool, and ToolRoles is given no role")
	}
}

// A server has no agent that could decide: what a role leaves unsaid is refused.
func TestNothingIsLeftToAnAgent(t *testing.T) {
	files, diags := one(t, map[string]any{"unheld_ask": "permit"}, role("quiet", ir.Agent, claims("roles", "quiet")),
		ir.Role{Name: "silent", Claims: claims("roles", "silent"), PermissionMode: "bypassPermissions"})
	for _, row := range rows(files) {
		if !strings.Contains(row, "roles: []") {
			t.Errorf("got %s, want no role", row)
		}
	}
	if len(diags) > 0 {
		t.Error(diags)
	}
}

// A server cannot ask: an ask is left to the client, but for destructive tools.
func TestUnheldAsk(t *testing.T) {
	for option, want := range map[string][]string{
		"":       {"list", "sell"},
		"permit": {"list", "refund", "sell"},
		"deny":   {},
	} {
		options := map[string]any{}
		if option != "" {
			options["unheld_ask"] = option
		}
		files, diags := one(t, options, role("clerk", ir.Ask, claims("roles", "clerk")))
		got := []string{}
		for _, row := range rows(files) {
			if strings.Contains(row, `roles: ["clerk"]`) {
				got = append(got, strings.Split(row, `"`)[1])
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("unheld_ask = %q:\n%s", option, diff)
		}
		if refused := 3 - len(want); len(diags) != refused {
			t.Errorf("unheld_ask = %q: got %d losses, want %d: %v", option, len(diags), refused, diags)
		}
		for _, d := range diags {
			if d.Code != "mcpnest-unheld-ask" || d.Loss != diag.Narrowing || d.Subject != "role clerk" ||
				d.Pos != at(11) {
				t.Errorf("got %+v", d)
			}
		}
	}
}

// Where other claims than roles decide, the list of 2.x needs the strategy, and
// assertPolicy demands it. 1.9 never does.
func TestStrategy(t *testing.T) {
	for _, c := range []struct {
		claims map[string][]string
		want   bool
	}{
		{claims("roles", "clerk"), false},
		{claims("realm_access.roles", "clerk"), true},
		{map[string][]string{"roles": {"clerk"}, "shift": {"night"}}, true},
	} {
		for _, version := range []int{1, 2} {
			files, diags := one(t, map[string]any{"version": version}, role("clerk", ir.Allow, c.claims))
			want := c.want && version == 2
			if len(diags) > 0 {
				t.Errorf("%v: got %v", c.claims, diags)
			}
			if got := files["strategy.ts"] != ""; got != want {
				t.Errorf("%v in %d: got strategy.ts %v, want %v", c.claims, version, got, want)
			}
			if got := strings.Contains(files["guards.ts"], "strategy: PolicyMcpStrategy"); got != want {
				t.Errorf("%v in %d: got the strategy in assertPolicy %v, want %v", c.claims, version, got, want)
			}
			if got := strings.Contains(files["index.ts"], "'./strategy'"); got != want {
				t.Errorf("%v in %d: got the strategy exported %v, want %v", c.claims, version, got, want)
			}
			if got := strings.Contains(rows(files)[0], "hidden: true"); got != (version == 2 && !c.want) {
				t.Errorf("%v in %d: got %s", c.claims, version, rows(files)[0])
			}
		}
	}
}

// One role by another claim is enough: ToolRoles would hide the tool from it.
func TestOneOtherClaimUnhides(t *testing.T) {
	files, _ := one(t, nil, role("a", ir.Allow, claims("roles", "a")), role("b", ir.Allow, claims("team", "b")))
	if got := rows(files)[0]; got != `  "list": { roles: ["a", "b"], hidden: false, listed: [] },` {
		t.Errorf("got %s", got)
	}
}

// ECMAScript modules need the extension in every relative import.
func TestExtension(t *testing.T) {
	files, _ := one(t, map[string]any{"extension": "js"}, role("b", ir.Allow, claims("team", "b")))
	for name, text := range files {
		for _, line := range strings.Split(text, "\n") {
			if _, path, ok := strings.Cut(line, " from './"); ok && !strings.HasSuffix(path, ".js';") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

// Placeholders of the emitted code are all replaced.
func TestNoPlaceholder(t *testing.T) {
	for _, version := range []int{1, 2} {
		for _, claim := range []string{"roles", "team"} {
			files, _ := one(t, map[string]any{"version": version}, role("b", ir.Allow, claims(claim, "b")))
			for name, text := range files {
				for _, placeholder := range []string{"SUFFIX", "STRATEGY_", "APP"} {
					if strings.Contains(text, placeholder) {
						t.Errorf("%s of %d has %s", name, version, placeholder)
					}
				}
			}
		}
	}
}

func TestDiagnostics(t *testing.T) {
	clerk := role("clerk", ir.Allow, claims("roles", "clerk"))
	twin := shop()
	twin.Name = "twin"
	toml := diag.Pos{File: "modec.toml", Line: 4, Col: 1}
	for _, c := range []struct {
		name    string
		servers []string
		roles   []ir.Role
		want    []string // severity, place and code
		files   int
	}{
		{"the servers are named", []string{"shop"}, []ir.Role{clerk}, nil, 3},
		{"a name twice is once", []string{"shop", "shop"}, []ir.Role{clerk}, nil, 3},
		{"no server", nil, []ir.Role{clerk}, []string{"warning modec.toml mcpnest-no-servers"}, 0},
		{"not in the inventory", []string{"shpo"}, []ir.Role{clerk},
			[]string{"error " + toml.String() + " mcpnest-unknown-server"}, 0},
		{"tools of one name", []string{"shop", "twin"}, []ir.Role{clerk}, []string{
			"error " + at(1).String() + " mcpnest-duplicate-tool",
			"error " + at(2).String() + " mcpnest-duplicate-tool",
			"error " + at(3).String() + " mcpnest-duplicate-tool",
		}, 0},
		{"a role of nobody", []string{"shop"}, []ir.Role{clerk, role("x", ir.Allow, nil)},
			[]string{"warning " + at(10).String() + " mcpnest-unclaimed"}, 3},
	} {
		options := map[string]any{}
		if c.servers != nil {
			options["servers"] = c.servers
		}
		files, diags := emit(t, &ir.Project{Servers: []ir.Server{shop(), twin}, Roles: c.roles}, options)
		var got []string
		for _, d := range diags {
			got = append(got, d.Severity.String()+" "+d.Pos.String()+" "+string(d.Code))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
		if len(files) != c.files {
			t.Errorf("%s: got %d files, want %d", c.name, len(files), c.files)
		}
	}
}

// A role without claims is in no table: a token cannot make a person it.
func TestUnclaimedRoleIsNowhere(t *testing.T) {
	files, _ := one(t, nil, role("ghost", ir.Allow, nil))
	for name, text := range files {
		if strings.Contains(text, "ghost") {
			t.Errorf("%s names it:\n%s", name, text)
		}
	}
}

// Every code that can be reported is documented.
func TestCodes(t *testing.T) {
	documented := []string{}
	for _, d := range New().Codes() {
		documented = append(documented, string(d.Code))
	}
	twin := shop()
	twin.Name = "twin"
	roles := []ir.Role{role("clerk", ir.Ask, claims("roles", "clerk")), role("x", ir.Allow, nil)}
	_, all := emit(t, &ir.Project{Servers: []ir.Server{shop(), twin}, Roles: roles},
		map[string]any{"servers": []string{"shop", "twin", "none"}})
	_, none := emit(t, &ir.Project{}, nil)
	table, _ := one(t, nil, role("clerk", ir.Allow, claims("roles", "clerk")))
	alone := memfs.FS{format.Policy: []byte(table["policy.ts"])}
	_, unknown := New().(contract.Judged).Open(alone, contract.Options{})
	reported := slices.Concat(codes(all), codes(none), codes(unknown))
	slices.Sort(reported)
	slices.Sort(documented)
	if diff := cmp.Diff(documented, slices.Compact(reported)); diff != "" {
		t.Errorf("(-documented +reported)\n%s", diff)
	}
}

func TestGoverns(t *testing.T) {
	for _, c := range []struct {
		path string
		g    ir.Group
		want contract.Halves
	}{
		{"mcp-nest/modec/guards.ts", ir.MCP, contract.Access},
		{"mcp-nest/modec/guards.ts", ir.Edit, contract.Neither},
		{"mcp-nest/other.ts", ir.MCP, contract.Neither},
	} {
		if got := New().Governs(c.path, c.g); got != c.want {
			t.Errorf("%s %s: got %v, want %v", c.path, c.g, got, c.want)
		}
	}
}

// hostile are names that end a string, a comment or a script, hide what they
// are, or mean something to JavaScript.
var hostile = []string{
	`"`, `'`, "`${x}`", `\`, `\"`, "*/", "//", "</script>", "<!--", "\n", "\r", "\x00", "\u2028", "\u2029",
	"\u202eevil", "a\u200bb", "\u00ad", "\ufeff", "🏴\U000E0067\U000E007F", "👩‍💻", "監査役",
	"__proto__", "constructor",
	"7",
}

func TestText(t *testing.T) {
	for _, s := range append(hostile, "") {
		literal(t, s)
	}
	if got := key("__proto__"); got != `["__proto__"]` { // {"__proto__": x} sets the prototype
		t.Errorf("got %s", got)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(literal)
}

// literal fails unless a string's literal is one line that means the string and
// shows what it holds.
func literal(t *testing.T, s string) {
	t.Helper()
	q := text(s)
	var back string
	if err := json.Unmarshal([]byte(q), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") &&
		back != string([]rune(s)) {
		t.Errorf("%q: got %s, which means %q (%v)", s, q, back, err)
	}
	if strings.ContainsAny(q, "\n\r\u2028\u2029\u202e\u200b<>") {
		t.Errorf("%q: got %q", s, q)
	}
}

// Hostile names arrive in the table and nowhere else, one line each.
func TestHostileNames(t *testing.T) {
	var roles []ir.Role
	for _, s := range slices.Sorted(slices.Values(hostile)) {
		roles = append(roles, role(s, ir.Allow, claims("c"+s, "v"+s)))
	}
	files, _ := one(t, nil, roles...)
	lines := strings.Split(files["policy.ts"], "\n")
	for _, s := range hostile {
		want := "  " + key(s) + ": { " + key("c"+s) + ": [" + text("v"+s) + "] },"
		if !slices.Contains(lines, want) {
			t.Errorf("no line %s", want)
		}
	}
	plain, _ := one(t, nil, role("a", ir.Allow, claims("b", "c")))
	for _, name := range []string{"guards.ts", "index.ts", "strategy.ts"} {
		if diff := cmp.Diff(plain[name], files[name]); diff != "" {
			t.Errorf("%s depends on names:\n%s", name, diff)
		}
	}
}
