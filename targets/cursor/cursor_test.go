package cursor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/hook"
	"modec.dev/modec/targets/cursor/internal/shop"
)

var (
	at     = shop.At
	rule   = shop.Rule
	table  = shop.Table
	role   = shop.Role
	server = shop.Server
	mcp    = shop.MCP
	entry  = shop.Entry
)

func regex(d ir.Decision, text string, line int) ir.Rule {
	return ir.Rule{Decision: d, Pattern: ir.Pattern{Kind: ir.Regex, Text: text}, Pos: at(line)}
}

type options map[string]any

// with hooks, or without.
func hooksOf(off bool) options {
	if off {
		return options{"hooks": contract.Off}
	}
	return nil
}

func emit(t *testing.T, p *ir.Project, o options, exceptions ...contract.Exception) (map[string]string, diag.List) {
	t.Helper()
	e := policy.New(p)
	reach, err := contract.NewReach(e)
	if err != nil {
		t.Fatal(err)
	}
	hooks, ok := o["hooks"].(contract.HookState)
	if !ok {
		hooks = contract.Enforce
	}
	files, diags := New().Emit(contract.Input{Project: p, Policy: e, Reach: reach, Exceptions: exceptions,
		Options: contract.NewOptions(New().Options(), o,
			map[string]diag.Pos{"subject": {File: "modec.toml", Line: 4, Col: 1}}).WithHooks(hooks)})
	tree := map[string]string{}
	for _, f := range files {
		tree[f.Path] = string(f.Data)
	}
	return tree, diags
}

type lists struct {
	Permissions struct{ Allow, Deny []string } `json:"permissions"`
}

// cli returns the tokens of .cursor/cli.json that start with a keyword.
func cli(t *testing.T, tree map[string]string, keyword string) (allow, deny []string) {
	t.Helper()
	var l lists
	if text, ok := tree[".cursor/cli.json"]; ok {
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
	}
	pick := func(tokens []string) (out []string) {
		for _, token := range tokens {
			if strings.HasPrefix(token, keyword+"(") {
				out = append(out, strings.TrimSuffix(strings.TrimPrefix(token, keyword+"("), ")"))
			}
		}
		return out
	}
	return pick(l.Permissions.Allow), pick(l.Permissions.Deny)
}

func codes(l diag.List) []string {
	var out []string
	for _, d := range l {
		out = append(out, string(d.Code))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		name  string
		table *ir.Table
		off   bool // hooks = false
		allow []string
		deny  []string
		codes []string
	}{
		{name: "a prefix is its words",
			table: table(ir.Ask, rule(ir.Allow, "git log *", 1), rule(ir.Deny, "git push *", 2)),
			allow: []string{"git log"}, deny: []string{"git push"}},
		{name: "both spellings of a prefix", table: table(ir.Ask, rule(ir.Allow, "npm run:*", 1)),
			allow: []string{"npm run"}},
		{name: "an exact command matches nothing longer",
			table: table(ir.Ask, rule(ir.Allow, "npm ci", 1), rule(ir.Deny, "npm run publish", 2)),
			allow: []string{"npm:ci"}, deny: []string{"npm:run publish"}},
		{name: "one exact word has no form", table: table(ir.Ask, rule(ir.Allow, "ls", 1), rule(ir.Deny, "reboot", 2)),
			codes: []string{"cursor-approval"}},
		{name: "a wildcard inside has no form",
			table: table(ir.Ask, rule(ir.Allow, "git * main", 1), rule(ir.Deny, "git * --force", 2)),
			codes: []string{"cursor-approval"}},
		{name: "a prefix would approve what is asked below it",
			table: table(ir.Ask, rule(ir.Allow, "git *", 1), rule(ir.Ask, "git push *", 2)),
			codes: []string{"cursor-approval"}},
		{name: "a wrapper", table: table(ir.Ask, rule(ir.Allow, "xargs *", 1), rule(ir.Allow, "go test *", 2)),
			allow: []string{"xargs", "go test"}},
		{name: "hostile text is no entry",
			table: table(ir.Ask, rule(ir.Allow, `echo ")" *`, 1), rule(ir.Allow, "a{b,c} *", 2)),
			codes: []string{"cursor-approval"}},
		{name: "a bare allow", table: table(ir.Allow), allow: []string{"*"}},
		{name: "every command but some", table: table(ir.Allow, rule(ir.Deny, "rm *", 1)), deny: []string{"rm"},
			codes: []string{"cursor-approval"}},
		{name: "a list beside a default that allows", table: table(ir.Allow, rule(ir.Allow, "git log *", 1)),
			allow: []string{"*"}},
		{name: "a list with everything", table: table(ir.Allow, rule(ir.Allow, "git log *", 1), rule(ir.Allow, "*", 2)),
			allow: []string{"*"}},
		{name: "what is not listed is denied by the hook", table: table(ir.Deny, rule(ir.Allow, "go test *", 1)),
			allow: []string{"go test"}},
		{name: "nothing is permitted", table: table(ir.Deny), deny: everyCommand},
		{name: "a bare deny",
			table: table(ir.Ask, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: at(1)}),
			deny:  everyCommand},

		{name: "off: what Cursor lets a command do beside is its own matter", off: true,
			table: table(ir.Ask, rule(ir.Allow, "go test *", 1)), allow: []string{"go test"}},
		{name: "off: a default that denies", off: true, table: table(ir.Deny, rule(ir.Allow, "go test *", 1)),
			deny: everyCommand, codes: []string{"cursor-deny"}},
		{name: "off: a deny without a form", off: true, table: table(ir.Ask, rule(ir.Deny, "git * --force", 1)),
			deny: everyCommand, codes: []string{"cursor-deny"}},
		{name: "off: one exact word is denied with what follows", off: true,
			table: table(ir.Ask, rule(ir.Deny, "reboot", 1)), deny: []string{"reboot"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := role(ir.Can{Command: c.table, Read: table(ir.Allow), Edit: table(ir.Allow), Web: table(ir.Allow),
				Modes: table(ir.Allow)})
			tree, diags := emit(t, p, hooksOf(c.off))
			allow, deny := cli(t, tree, "Shell")
			if diff := gocmp.Diff([][]string{c.allow, c.deny, c.codes},
				[][]string{allow, deny, codes(diags)}); diff != "" {
				t.Errorf("allow, deny, codes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		name  string
		table *ir.Table
		off   bool
		deny  []string
		codes []string
	}{
		{name: "everything is allowed", table: table(ir.Allow)},
		{name: "a name at any depth, and what is below", table: table(ir.Allow, rule(ir.Deny, "*.pem", 1)),
			deny: []string{"**/*.pem", "**/*.pem/**"}},
		{name: "an anchored folder", table: table(ir.Allow, rule(ir.Deny, "/infra/", 1), rule(ir.Deny, "a/b/**", 2)),
			deny: []string{"infra", "infra/**", "a/b/**"}},
		{name: "braces are expanded", table: table(ir.Allow, rule(ir.Deny, "{a,b}/c", 1)),
			deny: []string{"a/c", "a/c/**", "b/c", "b/c/**"}},
		{name: "other glob characters become wider", table: table(ir.Allow, rule(ir.Deny, "x/?[a-c](1).md", 1)),
			deny: []string{"x/*1*.md", "x/*1*.md/**"}},
		{name: "an ask is refused", table: table(ir.Allow, rule(ir.Ask, "infra/**", 1)),
			deny: []string{"infra/**"}, codes: []string{"cursor-ask"}},
		{name: "everything is asked", table: table(ir.Ask), deny: everyPath,
			codes: []string{"cursor-ask"}},
		{name: "beside a hook, as a path of the workspace",
			table: table(ir.Allow, rule(ir.Deny, "/infra/", 1), rule(ir.Deny, "a/b/**", 2), regex(ir.Deny, "x", 3)),
			deny:  []string{"infra", "infra/**", "a/b/**"}},
		{name: "what is left", table: &ir.Table{Rules: []ir.Rule{rule(ir.Deny, "a/b", 1)}},
			deny: []string{"a/b", "a/b/**"}},
		{name: "an expression", table: table(ir.Allow, regex(ir.Deny, `_test\.go$`, 1))},
		{name: "what is not listed", table: table(ir.Deny, rule(ir.Allow, "**/*.md", 1))},
		{name: "everything is denied", table: table(ir.Deny), deny: everyPath},
		{name: "everything, as a glob", table: table(ir.Allow, rule(ir.Deny, "**", 1)), deny: everyPath},

		{name: "off: also as an absolute path", off: true, table: table(ir.Allow, rule(ir.Deny, "a/b", 1)),
			deny: []string{"**/a/b", "**/a/b/**"}, codes: []string{"cursor-cli-only"}},
		{name: "off: an expression", off: true, table: table(ir.Allow, regex(ir.Deny, `_test\.go$`, 1)),
			deny: everyPath, codes: []string{"cursor-deny"}},
		{name: "off: what is not listed", off: true, table: table(ir.Deny, rule(ir.Allow, "**/*.md", 1)),
			deny: everyPath, codes: []string{"cursor-deny"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := role(ir.Can{Edit: c.table, Read: table(ir.Allow), Command: table(ir.Ask), Web: table(ir.Allow),
				Modes: table(ir.Allow)})
			tree, diags := emit(t, p, hooksOf(c.off))
			allow, deny := cli(t, tree, "Write")
			if diff := gocmp.Diff([][]string{nil, c.deny, c.codes}, [][]string{allow, deny, codes(diags)}); diff != "" {
				t.Errorf("allow, deny, codes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHosts(t *testing.T) {
	for _, c := range []struct {
		name        string
		table       *ir.Table
		allow, deny []string
	}{
		{"a host", table(ir.Ask, rule(ir.Allow, "Docs.Example.com", 1), rule(ir.Deny, "evil.example", 2)),
			[]string{"docs.example.com"}, []string{"evil.example"}},
		{"everything", table(ir.Allow), []string{"*"}, nil},
		{"everything, and a list", table(ir.Allow, rule(ir.Allow, "good.example", 1)), []string{"*"}, nil},
		{"a list with everything", table(ir.Ask, rule(ir.Allow, "good.example", 1), rule(ir.Allow, "*", 2)),
			[]string{"*"}, nil},
		{"everything but", table(ir.Allow, rule(ir.Deny, "evil.example", 1)), nil, []string{"evil.example"}},
		{"a bare deny", table(ir.Ask, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}}), nil,
			[]string{"*"}},
		// Cursor's *.host is also the host.
		{"subdomains only", table(ir.Ask, rule(ir.Allow, "*.example.com", 1)), nil, nil},
		{"subdomains and the host", table(ir.Ask, rule(ir.Allow, "*.example.com", 1), rule(ir.Allow, "example.com", 2)),
			[]string{"*.example.com", "example.com"}, nil},
		{"denied subdomains of an allowed host",
			table(ir.Ask, rule(ir.Deny, "*.example.com", 1), rule(ir.Allow, "example.com", 2)), []string{"example.com"},
			nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, _ := emit(t, role(ir.Can{Web: c.table}), nil)
			allow, deny := cli(t, tree, "WebFetch")
			if diff := gocmp.Diff([][]string{c.allow, c.deny}, [][]string{allow, deny}); diff != "" {
				t.Errorf("allow, deny (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTools(t *testing.T) {
	github := server("github", 10, "list_issues", "create_issue", "delete_repo")
	for _, c := range []struct {
		name        string
		table       *ir.MCPTable
		servers     []ir.Server
		open, off   bool // inventory = "open"; hooks = false
		allow, deny []string
		codes       []string
	}{
		{name: "tool by tool", servers: []ir.Server{github},
			table: mcp(ir.Ask, entry("github", ir.Ask, rule(ir.Allow, "list_*", 1), rule(ir.Deny, "delete_*", 2))),
			allow: []string{"github:list_issues"}, deny: []string{"github:delete_repo"}},
		{name: "a server whole, with what it may grow", servers: []ir.Server{github},
			table: mcp(ir.Deny, entry("github", ir.Allow)), allow: []string{"github:*"}},
		{name: "listed tools only: what it grows is not allowed", servers: []ir.Server{github},
			table: mcp(ir.Deny,
				entry("github", ir.Ask, rule(ir.Allow, "list_issues", 1), rule(ir.Allow, "create_issue", 2),
					rule(ir.Allow, "delete_repo", 3))),
			allow: []string{"github:create_issue", "github:delete_repo", "github:list_issues"}},
		{name: "a server denied whole", servers: []ir.Server{github}, table: mcp(ir.Deny), deny: []string{"github:*"}},
		{name: "tools that differ in case have the lower decision",
			servers: []ir.Server{server("s", 10, "Get", "get", "put")},
			table: mcp(ir.Ask,
				entry("s", ir.Ask, rule(ir.Allow, "Get", 1), rule(ir.Deny, "get", 2), rule(ir.Allow, "put", 3))),
			allow: []string{"s:put"}, deny: []string{"s:Get"}},
		{name: "a name with glob characters", servers: []ir.Server{server("a[b]", 10, "x", "y")},
			table: mcp(ir.Ask, entry("a[b]", ir.Ask, rule(ir.Allow, "x", 1), rule(ir.Deny, "y", 2))),
			deny:  []string{"a*b*:y"}, codes: []string{"cursor-name"}},
		{name: "off and open: what a server may grow", open: true, off: true, servers: []ir.Server{github},
			table: mcp(ir.Ask, entry("github", ir.Deny, rule(ir.Allow, "list_issues", 1))),
			allow: []string{"github:list_issues"},
			deny:  []string{"github:*"},
			codes: []string{"cursor-deny"}},
		{name: "off and open: any server", open: true, off: true, servers: []ir.Server{github},
			table: mcp(ir.Deny, entry("github", ir.Allow)),
			allow: []string{"github:*"}, deny: []string{"*:*"}, codes: []string{"cursor-deny"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := role(ir.Can{MCP: c.table, Read: table(ir.Allow), Edit: table(ir.Allow), Web: table(ir.Allow),
				Command: table(ir.Ask)}, c.servers...)
			p.ClosedInventory = !c.open
			tree, diags := emit(t, p, hooksOf(c.off))
			allow, deny := cli(t, tree, "Mcp")
			if diff := gocmp.Diff([][]string{c.allow, c.deny, c.codes},
				[][]string{allow, deny, codes(diags)}); diff != "" {
				t.Errorf("allow, deny, codes (-want +got):\n%s", diff)
			}
		})
	}
}

// What Cursor's own settings say of MCP tools stands above every list: entries that decide
// nothing are not written, and each difference is said.
func TestOrganisation(t *testing.T) {
	can := ir.Can{MCP: mcp(ir.Ask, entry("docs", ir.Ask, rule(ir.Allow, "get", 1), rule(ir.Deny, "drop", 2)))}
	p := role(can, server("docs", 10, "get", "put", "drop"))
	const asks, runs = "Cursor asks about MCP tools that the source allows", "runs MCP tools that the source does not allow"
	for _, c := range []struct {
		options    options
		ide, cli   []string // the lists
		says, does string
	}{
		{options: options{}, ide: []string{"docs:get"}, cli: []string{"docs:get"}},
		{options: options{"mcpToolsProtection": true}, cli: []string{"docs:get"}, says: asks + " (docs:get)"},
		{options: options{"mcpToolAllowlist": []string{}}, says: asks + " (docs:get)"},
		{options: options{"mcpToolAllowlist": []string{"Docs:GET"}}},
		{options: options{"mcpToolAllowlist": []string{"docs:*"}}, does: runs + " (docs:*, docs:put)"},
		{options: options{"mcpToolAllowlist": []string{"docs:*"}, "hooks": contract.Off},
			does: runs + " (docs:*, docs:put, docs:drop)"},
	} {
		tree, diags := emit(t, p, c.options)
		var list struct{ McpAllowlist []string }
		text := tree["session:cursor/dev/permissions.json"]
		if err := json.Unmarshal([]byte(text[strings.Index(text, "{"):]), &list); err != nil {
			t.Fatal(err)
		}
		allow, _ := cli(t, tree, "Mcp")
		if !slices.Equal(list.McpAllowlist, c.ide) || !slices.Equal(allow, c.cli) {
			t.Errorf("%v: got the lists %q and %q, want %q and %q", c.options, list.McpAllowlist, allow, c.ide, c.cli)
		}
		var said []string
		for _, d := range diags {
			if d.Code == "cursor-organisation" {
				said = append(said, d.Message)
			}
		}
		if all := strings.Join(said, "\n"); !strings.Contains(all, c.says) || !strings.Contains(all, c.does) ||
			c.says+c.does == "" && all != "" {
			t.Errorf("%v: got %q, want %q and %q", c.options, all, c.says, c.does)
		}
	}
	if _, diags := emit(t, p, options{"mcpToolAllowlist": []string{"docs"}}); !diags.HasErrors() {
		t.Errorf("an entry that Cursor does not read: got %v", diags)
	}
}

func TestAliases(t *testing.T) {
	p := role(ir.Can{MCP: mcp(ir.Ask, entry("docs", ir.Ask, rule(ir.Allow, "get", 1)))}, server("docs", 10, "get"))
	tree, _ := emit(t, p, options{"aliases": true, "folder": "web"})
	if allow, _ := cli(t, tree, "Mcp"); !slices.Equal(allow,
		[]string{"docs:get", "project-0-web-docs:get", "user-docs:get"}) {
		t.Errorf("got %q, want the name and both prefixes", allow)
	}
}

func TestPermissions(t *testing.T) {
	p := role(ir.Can{MCP: mcp(ir.Deny, entry("docs", ir.Allow)),
		Command: table(ir.Ask, rule(ir.Allow, "git log *", 1))}, server("docs", 10, "get"))
	p.Roles[0].Name, p.Baseline = "dev\n\"approvalMode\": \"unrestricted\",\u202e//", ""
	tree, _ := emit(t, p, nil)
	var got string
	for path, data := range tree {
		if strings.HasSuffix(path, "/permissions.json") {
			got = data
		}
	}
	want := "// Written by modec for role dev \"approvalMode\": \"unrestricted\", // from the project's source; " +
		"edits are overwritten." + `
// In the home folder (~/.cursor) it replaces your own allowlists and pins the run mode.
{
  "approvalMode": "allowlist",
  "mcpAllowlist": [
    "docs:*"
  ],
  "terminalAllowlist": [
    "git log"
  ]
}
`
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("permissions.json (-want +got):\n%s", diff)
	}
}

func TestServers(t *testing.T) {
	docs := ir.Server{Name: "docs", Pos: at(10), Type: "http", URL: "https://docs.example/${REGION}",
		Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}, DefaultEnabled: true, TimeoutSeconds: 30}
	local := ir.Server{Name: "local", Pos: at(20), Type: "stdio", Command: "x", Args: []string{"--key", "${KEY}"},
		Env: map[string]string{"B": "2", "A": "${A}"}, Cwd: "sub", DefaultEnabled: true}
	never, off := server("never", 30), server("off", 40)
	off.DefaultEnabled = false
	p := role(ir.Can{MCP: mcp(ir.Ask, entry("never", ir.Deny), entry("off", ir.Ask))}, docs, local, never, off)
	p.Roles[0].Can.MCP.Entries[0].Rules = []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: at(2)}}
	tree, diags := emit(t, p, nil)
	want := `{
  "mcpServers": {
    "docs": {
      "url": "https://docs.example/${env:REGION}",
      "headers": {
        "Authorization": "Bearer ${env:TOKEN}"
      }
    },
    "local": {
      "type": "stdio",
      "command": "x",
      "args": [
        "--key",
        "${env:KEY}"
      ],
      "env": {
        "A": "${env:A}",
        "B": "2"
      }
    }
  }
}
`
	if diff := gocmp.Diff(want, tree[".cursor/mcp.json"]); diff != "" {
		t.Errorf("mcp.json (-want +got):\n%s", diff)
	}
	for _, code := range []string{"cursor-server-field", "cursor-server-off"} {
		if !slices.Contains(codes(diags), code) {
			t.Errorf("got %q, want %s among them", codes(diags), code)
		}
	}
	tree, diags = emit(t, p, nil,
		contract.Exception{Subject: ir.SubjectRef{Role: "dev"}, Group: ir.MCP, Server: "off", Pattern: "*", Reason: "r",
			Until: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), Pos: at(99)})
	if !strings.Contains(tree[".cursor/mcp.json"], `"off": {`) || !slices.Contains(codes(diags), "exception-used") {
		t.Errorf("an exception that names the server does not open it: %q", codes(diags))
	}
}

// Without a subject nothing is written for the project as a whole.
func TestSubject(t *testing.T) {
	p := role(
		ir.Can{Command: table(ir.Deny, rule(ir.Allow, "go test *", 1)), MCP: mcp(ir.Ask)},
		server("docs", 10, "get"),
	)
	p.Modes = []ir.Mode{{Slug: "code", Pos: at(5)}, {Slug: "dev", Pos: at(6)}}
	paths := func(o options) ([]string, diag.List) {
		tree, diags := emit(t, p, o)
		var list []string
		for path := range tree {
			list = append(list, path)
		}
		slices.Sort(list)
		return list, diags
	}
	lists := []string{".cursor/mcp.json", "session:cursor/dev/permissions.json"}
	profile := append([]string{"session:cursor/dev/cli.json", "session:cursor/dev/hooks.json"}, lists...)
	for _, c := range []struct {
		subject, baseline string
		want              []string
	}{
		{"", "dev", append([]string{".cursor/cli.json", ".cursor/hooks.json"}, lists...)},
		{"role:dev", "", append([]string{".cursor/cli.json", ".cursor/hooks.json"}, lists...)},
		{"code", "dev", append([]string{".cursor/cli.json", ".cursor/hooks.json",
			"session:cursor/mode%3Acode/permissions.json"}, profile...)},
		{"", "", profile},
	} {
		p.Baseline = c.baseline
		got, diags := paths(options{"subject": c.subject})
		slices.Sort(c.want)
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("subject %q, baseline %q (-want +got):\n%s", c.subject, c.baseline, diff)
		}
		if held := !slices.Contains(codes(diags), "cursor-not-held"); held != (c.subject+c.baseline != "") {
			t.Errorf("subject %q, baseline %q: got held %v", c.subject, c.baseline, held)
		}
	}
	for _, subject := range []string{"nobody", "dev"} { // "dev" is a role and a mode
		got, diags := paths(options{"subject": subject})
		if len(got) > 0 || !diags.HasErrors() || diags[0].Code != "cursor-unknown-subject" || diags[0].Pos.Line != 4 {
			t.Errorf("subject %q: got %v and %v, want one error at the option", subject, got, diags)
		}
	}
}

func TestCollisions(t *testing.T) {
	for _, c := range []struct {
		names   []string
		collide bool
	}{
		{[]string{"docs", "github"}, false},
		{[]string{"Docs", "docs"}, true},
		{[]string{" docs", "docs"}, true},
		{[]string{"docs", "user-docs"}, true},
		{[]string{"docs", "project-0-web-docs"}, true},
		{[]string{"docs", "project-docs"}, false},
		{[]string{"docs", "my-docs"}, false},
		{[]string{"docs", "\ufeffdocs"}, true},
		{[]string{"docs", "\u0085docs"}, false},
	} {
		var servers []ir.Server
		for i, n := range c.names {
			servers = append(servers, server(n, 10*(i+1)))
		}
		_, diags := emit(t, role(ir.Can{}, servers...), nil)
		if got := slices.Contains(codes(diags), "cursor-name-collision"); got != c.collide {
			t.Errorf("%q: got a collision %v, want %v", c.names, got, c.collide)
		}
	}
}

// hooksFile is a hooks.json.
type hooksFile struct {
	Version int
	Hooks   map[string][]struct {
		Type, Command string
		Timeout       int
		FailClosed    bool
	}
}

func readHooks(t *testing.T, text string) (f hooksFile) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// closed says something of every group.
func closed() ir.Can { return ir.Can{Default: &ir.Default{Decision: ir.Deny, Pos: at(1)}} }

// The command takes its input whole from a here-document as well as from standard input.
// Every hook is fail-closed.
func TestHooksFile(t *testing.T) {
	p := role(closed())
	p.Roles[0].Name, p.Baseline = "it's $(me)", "it's $(me)"
	every := hook.Events(ir.Decided)
	if len(every) != 6 {
		t.Errorf("got the events %q, want all that can refuse", every)
	}
	tree, _ := emit(t, p, nil)
	got := readHooks(t, tree[".cursor/hooks.json"])
	for _, event := range every {
		if h := got.Hooks[event]; len(h) != 1 || !h[0].FailClosed || h[0].Command != `{ modec hook cursor || exit 2; }` {
			t.Errorf("%s: got %+v", event, h)
		}
	}
	if len(got.Hooks) != len(every) || got.Version != 1 {
		t.Errorf("got %d events of version %d, want %q", len(got.Hooks), got.Version, every)
	}
	if n := strings.Count(tree[".cursor/hooks.json"], "\n"); n != 5+len(every) {
		t.Errorf("got %d lines, want one an event", n)
	}
	if tree, _ = emit(t, p, options{"hooks": contract.Off}); tree[".cursor/hooks.json"] != "" {
		t.Error("hooks off writes hooks")
	}
	p.Baseline = ""
	tree, _ = emit(t, p, nil)
	if tree[".cursor/hooks.json"] != "" || tree["session:cursor/it%27s%20%24%28me%29/hooks.json"] == "" {
		t.Error("no hooks in the profile")
	}
}

// A subject has no hook for an event whose groups it leaves to Cursor.
func TestHookEvents(t *testing.T) {
	read, shell := []string{
		"beforeReadFile",
		"beforeShellExecution",
		"beforeTabFileRead",
		"preToolUse",
	}, []string{
		"beforeShellExecution",
		"preToolUse",
	}
	deny := &ir.Default{Decision: ir.Deny, Pos: at(9)}
	left := func(rules ...ir.Rule) *ir.Table { return &ir.Table{Rules: rules} }
	filter := ir.Pattern{Kind: ir.Builtin, Text: "readonly_filters"}
	filters := left(ir.Rule{Decision: ir.Allow, Pattern: filter, Pos: at(1)})
	docs := server("docs", 10, "get")
	open := role(ir.Can{MCP: mcp(ir.Deny, entry("docs", ir.Allow))}, docs)
	open.ClosedInventory = false
	for _, c := range []struct {
		name    string
		project *ir.Project
		want    []string
	}{
		{"nothing is said", role(ir.Can{}), nil},
		{"a command is denied", role(ir.Can{Command: left(rule(ir.Deny, "git push *", 1))}), shell},
		{"a list of commands closes with ask",
			role(ir.Can{Command: table(ir.Ask, rule(ir.Allow, "ls *", 1))}), shell},
		{"a list of commands closes with deny",
			role(ir.Can{Command: table(ir.Deny, rule(ir.Allow, "ls *", 1))}), shell},
		{"every command is denied", role(ir.Can{Command: table(ir.Deny)}), shell},
		{"a set of commands is denied",
			role(ir.Can{Command: left(ir.Rule{Pattern: ir.Pattern{Kind: ir.Builtin, Text: "git_read"}, Pos: at(1)})}),
			shell},
		{"a filter may read", role(ir.Can{Command: filters, Read: table(ir.Allow)}), read},
		{"a filter may not read", role(ir.Can{Command: filters, Read: table(ir.Deny)}), read},
		{"a path is denied", role(ir.Can{Read: left(rule(ir.Deny, "secrets/", 1))}), read},
		{"a path is asked about", role(ir.Can{Read: left(rule(ir.Ask, "secrets/", 1))}), read},
		{"a path is allowed", role(ir.Can{Read: left(rule(ir.Allow, "secrets/", 1))}), read},
		{"an expression", role(ir.Can{Read: left(regex(ir.Deny, "x", 1))}), read},
		{"a list of paths closes with deny",
			role(ir.Can{Read: table(ir.Deny, rule(ir.Allow, "src/**", 1))}), read},
		{"every read is denied", role(ir.Can{Read: table(ir.Deny)}), read},
		{"every edit is asked about", role(ir.Can{Edit: table(ir.Ask)}), shell},
		{"a server is denied", role(ir.Can{MCP: mcp(ir.Agent, entry("docs", ir.Deny))}, docs),
			[]string{"beforeMCPExecution", "preToolUse"}},
		{"what lies outside", role(ir.Can{OutsideRead: deny}), read},
		{"an edit is denied", role(ir.Can{Edit: left(rule(ir.Deny, "x/**", 1))}), shell},
		{"a host is denied", role(ir.Can{Web: left(rule(ir.Deny, "evil.example", 1))}), []string{"preToolUse"}},
		{"a host is allowed", role(ir.Can{Web: left(rule(ir.Allow, "good.example", 1))}), []string{"preToolUse"}},
		{"a subagent is denied", role(ir.Can{Modes: left(rule(ir.Deny, "x", 1))}), []string{"subagentStart"}},
		{"unknown tools are denied", role(ir.Can{Unknown: deny}), []string{"preToolUse"}},
		{"a tool is denied", role(ir.Can{MCP: mcp(ir.Ask, entry("docs", ir.Ask, rule(ir.Deny, "get", 1)))}, docs),
			[]string{"beforeMCPExecution", "preToolUse"}},
		{"what an open inventory does not list", open, []string{"beforeMCPExecution", "preToolUse"}},
	} {
		tree, _ := emit(t, c.project, nil)
		var got []string
		if text := tree[".cursor/hooks.json"]; text != "" {
			got = slices.Sorted(maps.Keys(readHooks(t, text).Hooks))
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A subject that says nothing compiles to nothing, and one that says one thing to that.
func TestSilence(t *testing.T) {
	off := server("admin", 20, "drop")
	off.DefaultEnabled = false
	plan := role(ir.Can{})
	plan.Roles[0].PermissionMode = "bypassPermissions"
	left := func(rules ...ir.Rule) *ir.Table { return &ir.Table{Rules: rules} }
	cliOf := func(allow, deny string) string {
		list := func(token string) string {
			if token == "" {
				return "[]"
			}
			return "[\n      \"" + token + "\"\n    ]"
		}
		return "{\n  \"permissions\": {\n    \"allow\": " + list(
			allow,
		) + ",\n    \"deny\": " + list(
			deny,
		) + "\n  }\n}\n"
	}
	for _, c := range []struct {
		name    string
		project *ir.Project
		want    map[string]string // by the base name
	}{
		{"nothing", role(ir.Can{}), nil},
		{"nothing, beside a server that is off", role(ir.Can{}, off), nil},
		{"what is written as left", role(ir.Can{Command: table(ir.Agent), Read: table(ir.Agent)}), nil},
		{"one deny", role(ir.Can{Command: left(rule(ir.Deny, "git push *", 1))}),
			map[string]string{"cli.json": cliOf("", "Shell(git push)")}},
		{"one allow", role(ir.Can{Command: left(rule(ir.Allow, "git log *", 1))}), map[string]string{
			"cli.json": cliOf("Shell(git log)", ""), "permissions.json": `{
  "approvalMode": "allowlist",
  "terminalAllowlist": [
    "git log"
  ]
}
`}},
		{"what Cursor asks about anyway", role(ir.Can{Command: left(rule(ir.Ask, "git push *", 1))}), nil},
		{"an edit that closes nothing", role(ir.Can{Edit: left(rule(ir.Deny, "infra/**", 1))}), map[string]string{
			"cli.json": cliOf("", "Write(**/infra)\",\n      \"Write(**/infra/**)")}},
	} {
		tree, _ := emit(t, c.project, options{"hooks": contract.Off})
		want := map[string]string{}
		for base, text := range c.want {
			name := ".cursor/" + base
			if base == "permissions.json" {
				name, text = "session:cursor/dev/"+base, fmt.Sprintf(provenance, "role dev")+text
			}
			want[name] = text
		}
		delete(tree, ".cursor/mcp.json")
		if diff := gocmp.Diff(want, tree); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Every code that an emitter reports is documented, once.
func TestCodes(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range New().Codes() {
		if seen[string(d.Code)] || len(d.Text) < 80 {
			t.Errorf("%s: got %q, want one paragraph", d.Code, d.Text)
		}
		seen[string(d.Code)] = true
	}
	p := role(ir.Can{Command: table(ir.Ask, rule(ir.Allow, "ls", 1)), Edit: table(ir.Allow, regex(ir.Deny, "x", 1))},
		server("a?", 10, "x"))
	p.Roles[0].Native = []ir.NativeRule{{Text: "Skill(x)", Pos: at(3)}}
	for _, hooks := range []contract.HookState{contract.Enforce, contract.Off} {
		_, diags := emit(t, p, options{"hooks": hooks})
		for _, d := range diags {
			if !seen[string(d.Code)] || d.Pos.IsZero() {
				t.Errorf("got %v, want a documented code with a place", d)
			}
		}
	}
}

// A subject's name must not read as a comment: the engine would drop every hook.
func TestHooksFileWithoutComments(t *testing.T) {
	for _, name := range []string{"a//b", "a/*b*/c", "http://x///y/*"} {
		e := emitter{in: contract.Input{Project: role(closed())}}
		e.in.Policy = policy.New(e.in.Project)
		p, err := e.profile(ir.SubjectRef{Role: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		p.ref = ir.SubjectRef{Role: name}
		data := e.hooksJSON(p)
		if bytes.Contains(data, []byte("//")) || bytes.Contains(data, []byte("/*")) {
			t.Errorf("%s: got a comment in %s", name, data)
		}
		var doc struct {
			Hooks map[string][]struct{ Command string }
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		for event, entries := range doc.Hooks {
			if h, err := contract.ParseHookLine(entries[0].Command); err != nil || h.Subject != "role:"+name {
				t.Errorf("%s, %s: got %q, %v", name, event, h.Subject, err)
			}
		}
	}
}

// TestOwnTokens: a role's tokens for Cursor alone are written as they are, but for an allow in a group of
// which the source says more than tokens do.
func TestOwnTokens(t *testing.T) {
	own := func(d ir.Decision, text string) ir.NativeRule {
		return ir.NativeRule{Target: "cursor", Decision: d, Text: text, Pos: at(9), Own: true}
	}
	native := []ir.NativeRule{own(ir.Allow, "Shell(git:*)"), own(ir.Allow, "Shell(npm test)"),
		own(ir.Allow, "Shell(ls)"), own(ir.Deny, "Shell(git:push*)"),
		{Target: "claude", Decision: ir.Allow, Text: "Bash(ls)", Pos: at(9)}}
	for name, c := range map[string]struct {
		command     *ir.Table
		allow, deny []string
		codes       []string
	}{
		"alone": {nil, []string{"git:*", "npm test", "ls"}, []string{"git:push*"}, nil},
		"beside an allow": {&ir.Table{Rules: []ir.Rule{rule(ir.Allow, "npm test *", 1)}},
			[]string{"npm test", "git:*", "ls"}, []string{"git:push*"}, nil},
		"where it is asked": {table(ir.Ask), nil, []string{"git:push*"}, []string{"cursor-approval"}},
		"beside an ask": {&ir.Table{Rules: []ir.Rule{rule(ir.Ask, "git tag *", 1)}},
			[]string{"npm test", "ls"}, []string{"git:push*"}, []string{"cursor-approval"}},
		"beside an ask about one of the texts": {&ir.Table{Rules: []ir.Rule{rule(ir.Ask, "ls -a", 1)}},
			[]string{"npm test"}, []string{"git:push*"}, []string{"cursor-approval"}},
		"beside an ask about what begins anyhow": {&ir.Table{Rules: []ir.Rule{rule(ir.Ask, "* --force", 1)}}, nil,
			[]string{"git:push*"}, []string{"cursor-approval"}},
		"beside a deny that a hook holds": {&ir.Table{Rules: []ir.Rule{rule(ir.Deny, "git * x", 1)}},
			nil, []string{"git:push*"}, []string{"cursor-approval"}},
		"where all is denied": {table(ir.Deny),
			nil, []string{"*", "git:push*"}, []string{"cursor-approval"}},
	} {
		p := &ir.Project{Roles: []ir.Role{{Name: "r", Pos: at(1), Can: ir.Can{Command: c.command}, Native: native}}}
		tree, diags := emit(t, p, options{"subject": "role:r"})
		allow, deny := cli(t, tree, "Shell")
		got := slices.DeleteFunc(codes(diags), func(code string) bool { return code == "cursor-claude-rule" })
		if !slices.Equal(allow, c.allow) || !slices.Equal(deny, c.deny) || !slices.Equal(got, c.codes) {
			t.Errorf("%s: got %q, %q and %q, want %q, %q and %q", name, allow, deny, got, c.allow, c.deny, c.codes)
		}
	}
}
