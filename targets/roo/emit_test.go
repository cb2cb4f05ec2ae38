package roo

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

// The dialects, as the option names them.
const (
	stock        = string(format.Stock)
	restrictions = string(format.Restrictions)
	zoo          = string(format.Zoo)
)

func at(line int) diag.Pos { return diag.Pos{File: "modec/a.cue", Line: line} }

func def(d ir.Decision) *ir.Default { return &ir.Default{Decision: d, Pos: at(90)} }

func rule(d ir.Decision, text string, line int) ir.Rule {
	return ir.Rule{Decision: d, Pattern: ir.Pattern{Text: text}, Pos: at(line)}
}

// mcp is a table of one entry for each server.
func mcp(entries ...ir.MCPEntry) *ir.MCPTable { return &ir.MCPTable{Entries: entries} }

func entry(server string, d ir.Decision, rules ...ir.Rule) ir.MCPEntry {
	return ir.MCPEntry{Key: server, Literal: true, Default: def(d), Rules: rules, Pos: at(80)}
}

// project is one with the servers docs (read, write) and admin (drop), the
// latter off by default, and a mode for each table, m0 and on.
func project(modes ...ir.Can) *ir.Project {
	p := &ir.Project{Version: ir.Version, ClosedInventory: true, Servers: []ir.Server{
		{Name: "admin", Pos: at(1), Type: "http", URL: "https://x.example", Tools: []ir.Tool{{Name: "drop", Pos: at(2), Risk: "destructive"}}},
		{Name: "docs", Pos: at(3), Type: "stdio", Command: "docs-mcp", DefaultEnabled: true, Tools: []ir.Tool{{Name: "read", Pos: at(4), Risk: "read"}, {Name: "write", Pos: at(5), Risk: "write"}}},
	}}
	for i, c := range modes {
		p.Modes = append(p.Modes, ir.Mode{Slug: "m" + string(rune('0'+i)), Pos: at(10 + i), Name: "M", RoleDefinition: "r", Can: c})
	}
	return p
}

type set map[string]any

// build emits a project; exceptions are "mode group server pattern".
func build(t *testing.T, to contract.Target, p *ir.Project, options set, exceptions ...string) (map[string]string, diag.List) {
	t.Helper()
	engine := policy.New(p)
	reach, err := contract.NewReach(engine)
	if err != nil {
		t.Fatal(err)
	}
	in := contract.Input{Project: p, Policy: engine, Reach: reach, Options: contract.NewOptions(to.Options(), options, nil)}
	for i, x := range exceptions {
		f := append(strings.Fields(x), "", "")
		in.Exceptions = append(
			in.Exceptions,
			contract.Exception{
				Subject: ir.SubjectRef{Mode: f[0]},
				Group:   ir.Group(f[1]),
				Server:  f[2],
				Pattern: f[3],
				Reason:  "because",
				Until:   time.Date(2099, 1, 2, 0, 0, 0, 0, time.UTC),
				Pos:     at(60 + i),
			},
		)
	}
	list, diags := to.Emit(in)
	files := map[string]string{}
	for _, f := range list {
		files[f.Path] = string(f.Data)
	}
	for _, d := range diags {
		if d.Code == diag.ExceptionUsed {
			continue // the compiler's own
		}
		if !slices.ContainsFunc(to.Codes(), func(doc diag.Doc) bool { return doc.Code == d.Code }) {
			t.Errorf("%s is not documented", d.Code)
		}
		if d.Target != to.Name() && d.Code != "roo-unknown-setting" {
			t.Errorf("%v names the target %q", d, d.Target)
		}
	}
	return files, diags
}

// groups returns the group names of each mode, by slug, and any other key of
// the mode that limits MCP.
func groups(t *testing.T, file string) map[string]string {
	t.Helper()
	var got struct {
		CustomModes []struct {
			Slug         string
			Groups       []any
			Servers      []string                         `json:"allowedMcpServers"`
			Restrictions struct{ AllowedTools []toolKey } `json:"mcpRestrictions"`
		}
	}
	if err := json.Unmarshal([]byte(file), &got); err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	out := map[string]string{}
	for _, m := range got.CustomModes {
		var words []string
		for _, g := range m.Groups {
			if pair, ok := g.([]any); ok {
				g = pair[0]
			}
			words = append(words, g.(string))
		}
		words = append(words, m.Servers...)
		for _, k := range m.Restrictions.AllowedTools {
			words = append(words, k.ServerName+":"+k.ToolName)
		}
		out[m.Slug] = strings.Join(words, " ")
	}
	return out
}

type toolKey struct{ ServerName, ToolName string }

// agent returns the target that emits a dialect.
func agent(dialect string) contract.Target {
	if dialect == zoo {
		return NewZoo()
	}
	return New()
}

// said lists diagnostics as "line subject code direction".
func said(diags diag.List) []string {
	var out []string
	for _, d := range diags {
		out = append(out, strings.TrimPrefix(d.Pos.String(), "modec/a.cue:")+" "+d.Subject+" "+string(d.Code)+" "+string(d.Loss))
	}
	slices.Sort(out)
	return out
}

// A group that is all or nothing stays where nothing of it is denied.
func TestWholeGroups(t *testing.T) {
	table := func(d ir.Decision, rules ...ir.Rule) *ir.Table { return &ir.Table{Default: def(d), Rules: rules} }
	for _, c := range []struct {
		name      string
		can       ir.Can
		exception string
		roo, zoo  string
		said      []string
	}{
		{"everything may be done", ir.Can{Read: table(ir.Allow), Command: table(ir.Ask), Web: table(ir.Ask)}, "", "read command", "read command web", nil},
		{"nothing is said", ir.Can{}, "", "", "", nil},
		{"all is denied", ir.Can{Read: table(ir.Allow, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: at(20)})}, "", "", "", nil},
		{"some commands are listed", ir.Can{Command: table(ir.Deny, rule(ir.Allow, "ls", 20))}, "", "", "", []string{"90 mode m0 roo-command narrowing"}},
		{"a command is denied", ir.Can{Command: table(ir.Ask, rule(ir.Deny, "rm *", 20))}, "", "", "", []string{"20 mode m0 roo-command narrowing"}},
		{"a command is denied, and the group excepted", ir.Can{Command: table(ir.Ask, rule(ir.Deny, "rm *", 20))}, "m0 command", "command", "command", []string{"60 mode m0 exception-used widening"}},
		{"an exception for one command is none for the group", ir.Can{Command: table(ir.Ask, rule(ir.Deny, "rm *", 20))}, "m0 command  ls", "", "", []string{"20 mode m0 roo-command narrowing"}},
		{"some paths may be read", ir.Can{Read: table(ir.Deny, rule(ir.Allow, "docs/**", 20))}, "", "", "", []string{"90 mode m0 roo-read narrowing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var exceptions []string
			if c.exception != "" {
				exceptions = []string{c.exception}
			}
			for to, want := range map[contract.Target]string{New(): c.roo, NewZoo(): c.zoo} {
				p := project(c.can)
				p.Servers = nil
				file := ".roomodes"
				if to.Name() == "zoo" {
					file = ".zoomodes"
				}
				files, diags := build(t, to, p, set{"format": "json"}, exceptions...)
				if got := groups(t, files[file])["m0"]; got != want {
					t.Errorf("%s: got %q, want %q", to.Name(), got, want)
				}
				if diff := cmp.Diff(c.said, said(diags)); diff != "" {
					t.Errorf("%s: %s", to.Name(), diff)
				}
			}
		})
	}
}

// MCP is all or nothing, by server, or by tool.
func TestMCP(t *testing.T) {
	const unnamed = "3 mode m0 roo-mcp-approval narrowing" // no name of a tool is known, so that none is in alwaysAllow
	all, read, none := mcp(entry("docs", ir.Allow)), mcp(entry("docs", ir.Ask, rule(ir.Deny, "write", 21))), (*ir.MCPTable)(nil)
	quiet := func() *ir.MCPTable {
		e := entry("docs", ir.Ask)
		e.Resources = &ir.Default{Decision: ir.Deny, Pos: at(22)}
		return mcp(e)
	}()
	for _, c := range []struct {
		name                       string
		modes                      []*ir.MCPTable
		open                       bool
		exceptions                 []string
		stock, zoo, restrictions   string // what m0 keeps
		saidStock, saidZoo, saidBy []string
	}{
		{"every tool is permitted", []*ir.MCPTable{all}, false, nil, "mcp", "mcp docs", "mcp docs:*", nil, nil, nil},
		{"what every mode denies costs none its group", []*ir.MCPTable{read, read}, false, nil, "mcp", "mcp docs", "mcp docs:*", nil, nil, nil},
		{"one tool is denied to one mode", []*ir.MCPTable{read, all}, false, nil, "", "", "mcp docs:read",
			[]string{"21 mode m0 roo-mcp narrowing", "90 mode m1 roo-mcp-approval narrowing"}, []string{"21 mode m0 roo-mcp narrowing", "90 mode m1 roo-mcp-approval narrowing"}, []string{"90 mode m1 roo-mcp-approval narrowing"}},
		{"a tool is excepted, and then asked about everywhere", []*ir.MCPTable{read, all}, false, []string{"m0 mcp docs write"}, "mcp", "mcp docs", "mcp docs:read",
			[]string{"21 mode m1 roo-mcp-approval narrowing", "60 mode m0 exception-used widening", "90 mode m1 roo-mcp-approval narrowing"},
			[]string{"21 mode m1 roo-mcp-approval narrowing", "60 mode m0 exception-used widening", "90 mode m1 roo-mcp-approval narrowing"}, []string{"90 mode m1 roo-mcp-approval narrowing"}},
		{"a mode without MCP", []*ir.MCPTable{none, all}, false, nil, "", "", "", nil, nil, nil},
		{"resources are denied where the tools are not", []*ir.MCPTable{quiet}, false, nil, "", "", "",
			[]string{"22 mode m0 roo-mcp narrowing"}, []string{"22 mode m0 roo-mcp narrowing"}, []string{"22 mode m0 roo-mcp narrowing"}},
		{"tools that nobody lists, in an open inventory", []*ir.MCPTable{mcp(entry("docs", ir.Deny, rule(ir.Ask, "*d", 20), rule(ir.Ask, "write", 20)))}, true, nil, "", "", "",
			[]string{"90 mode m0 roo-mcp narrowing"}, []string{"90 mode m0 roo-mcp narrowing"}, []string{"90 mode m0 roo-mcp narrowing"}},
		{"an exception for the whole server holds for those", []*ir.MCPTable{mcp(entry("docs", ir.Deny, rule(ir.Ask, "*d", 20), rule(ir.Ask, "write", 20)))}, true, []string{"m0 mcp docs *"}, "", "mcp docs", "mcp docs:read docs:write",
			[]string{"10 mode m0 roo-mcp narrowing"}, []string{"60 mode m0 exception-used widening", "60 mode m0 exception-used widening"}, []string{"60 mode m0 exception-used widening"}},
		{"everything is permitted, of servers that nobody lists too", []*ir.MCPTable{{Default: &ir.Default{Decision: ir.Ask, Pos: at(23)}}}, true, nil, "mcp", "mcp", "mcp", nil, nil, nil},
		{"one server is permitted, and others are not", []*ir.MCPTable{all}, true, nil, "", "mcp docs", "mcp docs:*", []string{"10 mode m0 roo-mcp narrowing", unnamed}, []string{unnamed}, []string{unnamed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for dialect, want := range map[string]struct {
				keeps string
				said  []string
			}{stock: {c.stock, c.saidStock}, zoo: {c.zoo, c.saidZoo}, restrictions: {c.restrictions, c.saidBy}} {
				var modes []ir.Can
				for _, m := range c.modes {
					modes = append(modes, ir.Can{MCP: m})
				}
				p := project(modes...)
				p.ClosedInventory = !c.open
				files, diags := build(t, agent(dialect), p, set{"format": "json", "dialect": dialect}, c.exceptions...)
				file := files[".roomodes"] + files[".zoomodes"]
				if got := groups(t, file)["m0"]; got != want.keeps {
					t.Errorf("%s: got %q, want %q", dialect, got, want.keeps)
				}
				if diff := cmp.Diff(want.said, said(diags)); diff != "" {
					t.Errorf("%s: %s", dialect, diff)
				}
			}
		})
	}
}

// A server that is off by default is there for the modes that name it.
func TestServerOffByDefault(t *testing.T) {
	named := ir.Can{MCP: mcp(entry("admin", ir.Ask), entry("docs", ir.Allow))}
	unnamed := ir.Can{MCP: mcp(entry("docs", ir.Allow))}
	for dialect, want := range map[string][2]string{stock: {"mcp", "mcp"}, zoo: {"mcp admin docs", "mcp docs"}, restrictions: {"mcp admin:* docs:*", "mcp docs:*"}} {
		files, diags := build(t, agent(dialect), project(named, unnamed), set{"format": "json", "dialect": dialect})
		got := groups(t, files[".roomodes"]+files[".zoomodes"])
		if got["m0"] != want[0] || got["m1"] != want[1] {
			t.Errorf("%s: got %v, want %v", dialect, got, want)
		}
		off := strings.Contains(files[".roo/mcp.json"]+files[".zoo/mcp.json"], `"disabled": true`)
		if lost := slices.Equal(said(diags), []string{"1  roo-mcp-off narrowing"}); off != (dialect == stock) || lost != off {
			t.Errorf("%s: disabled %v, %v", dialect, off, diags)
		}
		if def := strings.Contains(files[".roo/mcp.json"], `"defaultEnabled": false`); def != (dialect == restrictions) {
			t.Errorf("%s: defaultEnabled %v", dialect, def)
		}
	}
}

func TestServerNameThatIsAPattern(t *testing.T) {
	p := project(ir.Can{MCP: &ir.MCPTable{Default: def(ir.Ask)}})
	p.Servers[1].Name = "doc?"
	files, diags := build(t, New(), p, set{"format": "json", "dialect": restrictions})
	if got := groups(t, files[".roomodes"])["m0"]; got != "" || !slices.Equal(said(diags), []string{"3 mode m0 roo-mcp narrowing"}) {
		t.Errorf("got %q, %v", got, diags)
	}
}

// mcp.json says what holds for all modes at once.
func TestServersFile(t *testing.T) {
	p := project(
		ir.Can{MCP: mcp(entry("docs", ir.Allow, rule(ir.Deny, "write", 20)))},
		ir.Can{MCP: mcp(entry("docs", ir.Allow, rule(ir.Deny, "write", 20)))},
	)
	p.Servers[1].Args = []string{"--key", "${KEY}"}
	p.Servers[1].TimeoutSeconds = 90
	p.Servers[0].Headers = map[string]string{"A": "Bearer ${KEY} “x”"}
	files, diags := build(t, New(), p, nil)
	want := `{
  "mcpServers": {
    "admin": {
      "type": "streamable-http",
      "url": "https://x.example",
      "headers": {
        "A": "Bearer ${env:KEY} \u201cx\u201d"
      },
      "disabled": true
    },
    "docs": {
      "type": "stdio",
      "command": "docs-mcp",
      "args": [
        "--key",
        "${env:KEY}"
      ],
      "timeout": 90,
      "alwaysAllow": [
        "read"
      ],
      "disabledTools": [
        "write"
      ]
    }
  }
}
`
	if diff := cmp.Diff(want, files[".roo/mcp.json"]); diff != "" || len(diags) > 0 {
		t.Error(diff, diags)
	}
}

func TestNamesThatRooTakesForOne(t *testing.T) {
	for _, c := range []struct{ server, tool, want string }{
		{"docs2", "read", ""},
		{"do.cs", "other", `the servers "docs" and "do.cs" are one name to Roo, which drops characters: give them names that differ in letters and digits`},
		{"", "re.ad", "the tools docs:read and docs:re.ad are one name to Roo, which drops characters and cuts at 64: give them names that differ before that"},
		{"", "re-ad", ""},
		{"", "wri--te", ""},
	} {
		p := project(ir.Can{})
		if c.server == "" {
			p.Servers[1].Tools = append(p.Servers[1].Tools, ir.Tool{Name: c.tool, Pos: at(7)})
		} else {
			p.Servers = append(p.Servers, ir.Server{Name: c.server, Pos: at(7), Type: "stdio", Command: "x", Tools: []ir.Tool{{Name: c.tool}}})
		}
		files, diags := build(t, New(), p, nil)
		got := ""
		if len(diags) > 0 {
			got = diags[0].Message
		}
		if got != c.want || (len(files) == 0) != (c.want != "") {
			t.Errorf("%s %s: got %q, %d files", c.server, c.tool, got, len(files))
		}
	}
}

// The built-in modes that are not named lose every group only when asked.
func TestShadow(t *testing.T) {
	p := project(ir.Can{Read: &ir.Table{Default: def(ir.Allow)}})
	p.Modes[0].Slug = "code"
	files, _ := build(t, New(), p, set{"format": "json", "builtins": "shadow"})
	want := map[string]string{"architect": "", "ask": "", "code": "read", "debug": "", "orchestrator": ""}
	if diff := cmp.Diff(want, groups(t, files[".roomodes"])); diff != "" {
		t.Error(diff)
	}
	files, _ = build(t, New(), p, set{"format": "json"})
	if got := groups(t, files[".roomodes"]); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestRulesFilesAndPaths(t *testing.T) {
	p := project(ir.Can{Read: &ir.Table{Default: def(ir.Allow), Rules: []ir.Rule{rule(ir.Deny, "*.pem", 20)}}})
	p.Modes[0].Rules = []ir.RuleFile{{Name: "a.md", Text: "“rules”\n"}}
	for to, want := range map[contract.Target][]string{
		New():    {".roo/mcp.json", ".roo/rules-m0/a.md", ".rooignore", ".roomodes"},
		NewZoo(): {".zoo/mcp.json", ".zoo/rules-m0/a.md", ".zooignore", ".zoomodes"},
	} {
		files, _ := build(t, to, p, nil)
		var got []string
		for path := range files {
			got = append(got, path)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || files[want[1]] != "“rules”\n" {
			t.Error(diff)
		}
		if got := to.Governs(want[3], ir.Edit); got != contract.Access {
			t.Errorf("%s governs %v of edit", want[3], got)
		}
		for _, g := range []ir.Group{ir.Modes, ir.Unknown} {
			if got := to.Governs(want[3], g); got != contract.Neither {
				t.Errorf("%s governs %v of %s", want[3], got, g)
			}
		}
	}
}

func TestExtraAndModel(t *testing.T) {
	p := project(ir.Can{})
	p.Modes[0].Model = "opus"
	_, diags := build(t, New(), p, nil)
	if !slices.Equal(said(diags), []string{"10 mode m0 roo-model text"}) {
		t.Error(diags)
	}
	p.Modes[0].Model = ""
	p.Modes[0].Can = ir.Can{Read: &ir.Table{Default: def(ir.Ask)}, Command: &ir.Table{Default: def(ir.Ask)}}
	extra := func(fields map[string]any) (string, diag.List) {
		p.Modes[0].Extra = map[string]ir.Extra{"roo": {Fields: fields, Pos: at(30)}}
		files, diags := build(t, New(), p, nil)
		_, modes, _ := strings.Cut(files[".roomodes"], "groups:\n")
		return modes, diags
	}
	got, diags := extra(map[string]any{"groups": []any{"command", "browser", "read"}, "source": "global"})
	want := "      - command\n      - browser\n      - read\n" +
		"    \"source\": \"global\"\n"
	if len(diags) > 0 || strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\n%v", got, diags)
	}
	if got, _ := extra(map[string]any{"groups": []any{"command"}}); got != "      - command\n      - read\n" {
		t.Errorf("a group that the order leaves out is last: got\n%s", got)
	}
	got, diags = extra(map[string]any{"groups": []any{"edit", "command", "read"}})
	if got != "      - command\n      - read\n" || len(diags) != 1 || diags[0].Severity != diag.Warning {
		t.Errorf("a group that can denies is left out with a warning: got\n%s\n%v", got, diags)
	}
	for _, bad := range []map[string]any{
		{"groups": []any{"read", "read"}}, {"groups": []any{"web"}}, {"groups": "read"},
		{"source": "elsewhere"},
	} {
		if _, diags := extra(bad); !diags.HasErrors() || diags[0].Code != "roo-unknown-setting" || diags[0].Pos != at(30) {
			t.Errorf("%v: got %v", bad, diags)
		}
	}
}
