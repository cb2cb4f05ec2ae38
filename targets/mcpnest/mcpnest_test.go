package mcpnest

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
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

// The table names for each tool the roles that may call it.
func TestTable(t *testing.T) {
	roles := []ir.Role{
		role("clerk", ir.Allow, claims("roles", "clerk", "head")),
		role("guest", ir.Deny, claims("roles", "guest")),
		role("head", ir.Allow, claims("roles", "head")),
	}
	for version := 1; version <= 2; version++ {
		files, diags := one(t, map[string]any{"version": version}, roles...)
		want := []string{
			`  "list": { roles: ["clerk", "head"] },`,
			`  "refund": { roles: ["clerk", "head"] },`,
			`  "sell": { roles: ["clerk", "head"] },`,
		}
		if diff := cmp.Diff(want, rows(files)); diff != "" || len(diags) > 0 {
			t.Errorf("MCP-Nest %d: %v\n%s", version, diags, diff)
		}
	}
}

// Nobody may call a tool that every role denies, and it is still in the table:
// assertPolicy would refuse it otherwise.
func TestDeniedToolIsInTheTable(t *testing.T) {
	files, _ := one(t, nil, role("guest", ir.Deny, claims("roles", "guest")))
	if got := rows(files)[0]; got != `  "list": { roles: [] },` {
		t.Errorf("got %s", got)
	}
}

// A role may be everybody's, with a token or without.
func TestPrincipals(t *testing.T) {
	member, visitor := role("member", ir.Allow, nil), role("visitor", ir.Allow, nil)
	member.Principals, visitor.Principals = ir.Authenticated, ir.Anyone
	files, diags := one(t, nil, member, visitor)
	for _, want := range []string{`  "member": "authenticated",`, `  "visitor": "anyone",`} {
		if !strings.Contains(files["policy.ts"], want+"\n") {
			t.Errorf("got no line %s in\n%s", want, files["policy.ts"])
		}
	}
	if len(diags) > 0 {
		t.Error(diags)
	}
}

// MCP-Nest does not say of which server a resource is: a principal gets what every server gives,
// and the build says so where the servers differ.
func TestResources(t *testing.T) {
	clerk, head := role("clerk", ir.Deny, claims("roles", "clerk")), role("head", ir.Allow, claims("roles", "head"))
	clerk.Can.MCP = &ir.MCPTable{Entries: []ir.MCPEntry{{Key: "shop", Literal: true,
		Default: &ir.Default{Decision: ir.Allow}, Prompts: &ir.Default{Decision: ir.Deny}}}}
	till := ir.Server{Name: "till", DefaultEnabled: true, Tools: []ir.Tool{{Name: "open", Risk: "write"}}}
	files, diags := emit(t, &ir.Project{Servers: []ir.Server{shop(), till}, Roles: []ir.Role{clerk, head}},
		map[string]any{"servers": []string{"shop", "till"}})
	for _, want := range []string{
		`  "shop": { resources: ["clerk", "head"], prompts: ["head"] },`,
		`  "till": { resources: ["head"], prompts: ["head"] },`,
	} {
		if !strings.Contains(files["policy.ts"], want+"\n") {
			t.Errorf("got no line %s in\n%s", want, files["policy.ts"])
		}
	}
	if diff := cmp.Diff([]string{"mcpnest-shared-resources"}, codes(diags)); diff != "" {
		t.Error(diff)
	}
	if _, diags := one(t, nil, head); len(diags) > 0 {
		t.Errorf("one server: got %v", diags)
	}
}

// What a token has to be stands in the table, and what is missing or cannot be trusted stops the build.
func TestToken(t *testing.T) {
	clerk := role("clerk", ir.Allow, claims("roles", "clerk"))
	with := func(change map[string]any) map[string]any {
		options := map[string]any{"jwt": true, "issuer": "https://id.example", "audience": []string{"shop"},
			"jwks": "https://id.example/jwks"}
		for k, v := range change {
			options[k] = v
		}
		return options
	}
	files, diags := one(t, with(nil), clerk)
	if len(diags) > 0 || files["authentication.ts"] == "" || !strings.Contains(files["index.ts"], "TokenGuard") ||
		!strings.Contains(files["policy.ts"], `AUTHENTICATION = { issuer: "https://id.example", audience: ["shop"], `+
			`jwks: "https://id.example/jwks" } as const`) {
		t.Errorf("got %v, %v", diags, files)
	}
	for _, c := range []struct {
		change map[string]any
		want   int
	}{
		{map[string]any{"issuer": ""}, 1},
		{map[string]any{"audience": []string{}}, 1},
		{map[string]any{"jwks": ""}, 1},
		{map[string]any{"issuer": "", "jwks": "", "audience": []string(nil)}, 3},
		{map[string]any{"jwks": "http://id.example/jwks"}, 1},
		{map[string]any{"jwks": "http://127.0.0.1.example/jwks"}, 1},
		{map[string]any{"jwks": "https:///jwks"}, 1},
		{map[string]any{"jwks": "id.example/jwks"}, 1},
		{map[string]any{"jwks": "http://127.0.0.1:1/jwks"}, 0},
		{map[string]any{"jwks": "http://[::1]/jwks"}, 0},
		{map[string]any{"jwks": "http://localhost/jwks"}, 0},
		{map[string]any{"jwt": false}, 3}, // of no effect
	} {
		_, diags := one(t, with(c.change), clerk)
		if len(diags) != c.want || slices.ContainsFunc(codes(diags), func(s string) bool { return s != "mcpnest-token" }) {
			t.Errorf("%v: got %v, want %d", c.change, diags, c.want)
		}
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

// Each major is enforced by a file of its own, whatever the claims.
func TestFiles(t *testing.T) {
	for version, own := range map[int]string{1: "module.ts", 2: "strategy.ts"} {
		for _, claim := range []string{"roles", "team"} {
			files, _ := one(t, map[string]any{"version": version}, role("clerk", ir.Allow, claims(claim, "clerk")))
			want := []string{"decide.ts", "guards.ts", "index.ts", own, "policy.ts", "tools.ts"}
			slices.Sort(want)
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
				t.Errorf("MCP-Nest %d: %s", version, diff)
			}
		}
	}
}

// ECMAScript modules need the extension in every relative import, CommonJS none.
func TestExtension(t *testing.T) {
	for extension, end := range map[string]string{"js": ".js", "none": ""} {
		for version := 1; version <= 2; version++ {
			files, _ := one(t, map[string]any{"extension": extension, "version": version},
				role("b", ir.Allow, claims("team", "b")))
			for name, text := range files {
				for _, line := range strings.Split(text, "\n") {
					if _, path, ok := strings.Cut(line, " from './"); ok && !regexp.MustCompile(`^\w+`+end+`';$`).MatchString(path) {
						t.Errorf("%s: %s", name, line)
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
		{"the servers are named", []string{"shop"}, []ir.Role{clerk}, nil, 6},
		{"a name twice is once", []string{"shop", "shop"}, []ir.Role{clerk}, nil, 6},
		{"no server", nil, []ir.Role{clerk}, []string{"warning modec.toml mcpnest-no-servers"}, 0},
		{"not in the inventory", []string{"shpo"}, []ir.Role{clerk},
			[]string{"error " + toml.String() + " mcpnest-unknown-server"}, 0},
		{"tools of one name", []string{"shop", "twin"}, []ir.Role{clerk}, []string{
			"error " + at(1).String() + " mcpnest-duplicate-tool",
			"error " + at(2).String() + " mcpnest-duplicate-tool",
			"error " + at(3).String() + " mcpnest-duplicate-tool",
		}, 0},
		{"a role of nobody", []string{"shop"}, []ir.Role{clerk, role("x", ir.Allow, nil)},
			[]string{"warning " + at(10).String() + " mcpnest-unclaimed"}, 6},
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
	_, token := one(t, map[string]any{"jwt": true}, roles...)
	till := ir.Server{Name: "till", DefaultEnabled: false}
	_, others := emit(t, &ir.Project{Servers: []ir.Server{shop(), till}, Roles: []ir.Role{role("a", ir.Allow,
		claims("b", "c"))}}, map[string]any{"servers": []string{"shop", "till"}})
	table, _ := one(t, nil, role("clerk", ir.Allow, claims("roles", "clerk")))
	alone := memfs.FS{format.Policy: []byte(table["policy.ts"])}
	_, unknown := New().(contract.Judged).Open(alone, contract.Options{})
	reported := slices.Concat(codes(all), codes(none), codes(unknown), codes(token), codes(others),
		codes(reviewed("return request.user;")))
	slices.Sort(reported)
	slices.Sort(documented)
	if diff := cmp.Diff(documented, slices.Compact(reported)); diff != "" {
		t.Errorf("(-documented +reported)\n%s", diff)
	}
}

// reviewed reviews an application whose guard has a body, and one without a file.
func reviewed(body string) diag.List {
	target := New().(contract.Reviewer)
	options := func(glob string) contract.Options {
		return contract.NewOptions(target.Options(), map[string]any{"sources": []string{glob}}, nil)
	}
	files := memfs.FS{"src/a.ts": []byte("class A implements CanActivate { canActivate(context) { " + body + " } }\n" +
		"class T { @UseGuards(A) @Tool({}) t() {} }")}
	return append(target.Review(files, options("src/*.ts")), target.Review(files, options("lib/*.ts"))...)
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
	for _, name := range []string{"decide.ts", "guards.ts", "index.ts", "strategy.ts", "tools.ts"} {
		if diff := cmp.Diff(plain[name], files[name]); diff != "" {
			t.Errorf("%s depends on names:\n%s", name, diff)
		}
	}
}
