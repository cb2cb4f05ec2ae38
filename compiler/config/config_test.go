package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
)

// fake is a target in name and options only.
type fake struct {
	name    string
	options []contract.Option
}

func (f fake) Name() string                                   { return f.name }
func (fake) Summary() string                                  { return "a test" }
func (f fake) Options() []contract.Option                     { return f.options }
func (fake) Codes() []diag.Doc                                { return nil }
func (fake) Owns() []string                                   { return nil }
func (fake) Governs(string, ir.Group) contract.Halves         { return contract.Neither }
func (fake) Emit(contract.Input) ([]contract.File, diag.List) { return nil, nil }

var fakes = []contract.Target{
	fake{name: "roo", options: []contract.Option{
		{Name: "dialect", Type: contract.String, Default: "stock", Choices: []string{"stock", "zoo"}},
		{Name: "version", Type: contract.Int, Default: 2, Choices: []string{"1", "2"}},
	}},
	fake{name: "claude", options: []contract.Option{
		{Name: "hooks", Type: contract.Bool, Default: true},
		{Name: "servers", Type: contract.Strings},
	}},
}

// load reads text as a project's modec.toml.
func load(text string) (*Config, diag.List) {
	return Load(memfs.FS{File: []byte(text)}, "the project", fakes)
}

func TestConfig(t *testing.T) {
	cfg, diags := load(`
name = "acme"
baseline = "developer"

[targets.claude]
servers = ["a", "b"]
on_loss = {mcp = "error"}

[targets.roo]
version = 1
`)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if cfg.Name != "acme" || cfg.Source != "modec" || !cfg.Closed || cfg.Baseline != "developer" {
		t.Errorf("got %+v", cfg)
	}
	if len(cfg.Targets) != 2 || cfg.Targets[0].Target.Name() != "roo" {
		t.Fatalf("got targets %v, want roo before claude: the order of the target table", cfg.Targets)
	}
	roo, claude := cfg.Targets[0], cfg.Targets[1]
	if roo.Options.String("dialect") != "stock" || roo.Options.Int("version") != 1 {
		t.Error("a default or a value of roo is lost")
	}
	if got := roo.Options.Pos("version").String(); got != "modec.toml:10:11" {
		t.Errorf("got version at %s, want modec.toml:10:11", got)
	}
	if !claude.Options.Bool("hooks") || !cmp.Equal(claude.Options.Strings("servers"), []string{"a", "b"}) {
		t.Error("a default or a value of claude is lost")
	}
	if !claude.Fails(ir.MCP) || claude.Fails(ir.Edit) {
		t.Error("on_loss by group is lost")
	}
	if want := (map[ir.Group]string{"": "narrow", ir.MCP: "error"}); !cmp.Equal(claude.OnLoss, want) {
		t.Errorf("got %v, want %v", claude.OnLoss, want)
	}
}

// Every problem is reported, each at its place.
func TestConfigErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"syntax", "name = \"a", `modec.toml:1:9: error: unterminated basic string [config-syntax]`},
		{"unknown option", "nmae = 1", `modec.toml:1:1: error: got unknown option "nmae", ` +
			`want one of "audit", "baseline", "exceptions", "hooks", "inventory", "lint", "modec", "name", "on_loss", "partial", "source", ` +
			`"targets", "unsaid", "verify" [unknown-option]`},
		{"unknown target", "[targets.rooo]", `modec.toml:1:10: error: got unknown target "rooo", ` +
			`want one of "roo", "claude" [unknown-target]`},
		{"bad version", "modec = \"1.2.0\"",
			`modec.toml:1:9: error: got "1.2.0", want ">=" and a version [bad-config]`},
		{"bad choice", "inventory = \"ajar\"", `modec.toml:1:13: error: got "ajar", ` +
			`want one of "closed", "open" [bad-config]`},
		{"wrong type", "name = 3", `modec.toml:1:8: error: got 3, want text [bad-config]`},
		{"bad integer", "[targets.roo]\nversion = 3", `modec.toml:2:11: error: got "3", ` +
			`want one of "1", "2" [bad-config]`},
		{"bad list", "[targets.claude]\nservers = [\"a\", 1]", `modec.toml:2:17: error: got 1, want text [bad-config]`},
		{"bad on_loss", "on_loss = \"widen\"", `modec.toml:1:11: error: got "widen", ` +
			`want one of "narrow", "error" [bad-config]`},
		{"bad on_loss group", "[targets.roo]\non_loss = {shell = \"error\"}",
			`modec.toml:2:12: error: got unknown tool group "shell", ` +
				`want one of "read", "edit", "command", "web", "mcp", "modes" [bad-config]`},
		{"source outside", "source = \"../x\"", `modec.toml:1:10: error: got "../x", ` +
			`want a folder inside the project [bad-config]`},
		{"targets no table", "targets = 1", `modec.toml:1:11: error: got 1, want tables [targets.NAME] [bad-config]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, diags := load(c.text)
			if got := diags.Error(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestNoConfig(t *testing.T) {
	_, diags := Load(memfs.FS{}, "the project", nil)
	if len(diags) != 1 || diags[0].Code != "no-project" {
		t.Errorf("got %v, want no-project", diags)
	}
}

func exceptionProject() *ir.Project {
	return &ir.Project{
		Modes:   []ir.Mode{{Slug: "code"}},
		Servers: []ir.Server{{Name: "github", Tools: []ir.Tool{{Name: "create_issue"}}}},
	}
}

func TestExceptions(t *testing.T) {
	const head = "[[exceptions]]\ntarget = \"roo\"\nsubject = \"code\"\nreason = \"r\"\nuntil = 2026-11-20\n"
	for _, c := range []struct {
		what            string
		group           ir.Group
		server, pattern string
	}{
		{"mcp", ir.MCP, "", ""},
		{"mcp github", ir.MCP, "github", "*"},
		{"mcp github:create_issue", ir.MCP, "github", "create_issue"},
		{"command git push *", ir.Command, "", "git push *"},
	} {
		cfg, diags := load(head + "what = \"" + c.what + "\"")
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		byTarget, diags := cfg.Exceptions(exceptionProject(), time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC))
		if len(diags) > 0 || len(byTarget["roo"]) != 1 {
			t.Fatalf("%s: got %v %v", c.what, byTarget, diags)
		}
		e := byTarget["roo"][0]
		if e.Group != c.group || e.Server != c.server || e.Pattern != c.pattern || e.Subject.Mode != "code" {
			t.Errorf("%s: got %+v", c.what, e)
		}
	}
	cfg, _ := load(head + "what = \"hook ./gate.sh --x\"")
	byTarget, diags := cfg.Exceptions(exceptionProject(), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
	if len(diags) > 0 || len(byTarget["roo"]) != 1 || byTarget["roo"][0].Entry != "hook ./gate.sh --x" ||
		byTarget["roo"][0].Group != "" {
		t.Errorf("a program: got %+v %v", byTarget, diags)
	}
	cfg, diags = load("[[exceptions]]\ntarget = \"roo\"\nreason = \"r\"\nuntil = 2027-01-01\nwhat = \"hook ./gate.sh\"")
	byTarget, more := cfg.Exceptions(exceptionProject(), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
	if len(diags)+len(more) > 0 || len(byTarget["roo"]) != 1 || byTarget["roo"][0].Subject != (ir.SubjectRef{}) {
		t.Errorf("a program of every session: got %+v %v %v", byTarget, diags, more)
	}
}

func TestExceptionErrors(t *testing.T) {
	const head = "[[exceptions]]\ntarget = \"roo\"\nreason = \"r\"\n"
	for _, c := range []struct{ name, text, want string }{
		{"expired", `subject = "code"
what = "mcp"
until = 2026-11-19`, `modec.toml:6:9: error: the exception ended on 2026-11-19 [exception-expired]`},
		{"unknown subject", `subject = "cod"
what = "mcp"
until = 2099-01-01`, `modec.toml:4:11: error: got subject "cod", want one of "code"; did you mean "code"? [unknown-subject]`},
		{"unknown server", `subject = "code"
what = "mcp gitlab"
until = 2099-01-01`, `modec.toml:5:8: error: got unknown server "gitlab", want one of the inventory [bad-exception]`},
		{"unknown tool", `subject = "code"
what = "mcp github:x"
until = 2099-01-01`, `modec.toml:5:8: error: got unknown tool "x" of server "github", ` +
			`want one of the inventory or "*" [bad-exception]`},
		{"unknown group", `subject = "code"
what = "shell x"
until = 2099-01-01`, `modec.toml:5:8: error: got tool group "shell", ` +
			`want one of "read", "edit", "command", "web", "mcp", "modes" [bad-exception]`},
		{"no date", `subject = "code"
what = "mcp"
until = "soon"`, `modec.toml:6:9: error: got "soon", want a date such as 2027-01-31 [bad-config]`},
		{"incomplete", `subject = "code"
what = "mcp"`, `modec.toml:1:3: error: the exception has no until: the last day on which it holds. ` +
			`After it, the exception is an error [bad-config]`},
		{"unknown key", `subject = "code"
what = "mcp"
untill = 2099-01-01
until = 2099-01-01`, `modec.toml:6:1: error: got unknown key "untill", ` +
			`want one of "reason", "subject", "target", "until", "what" [bad-config]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, diags := load(head + c.text)
			if !diags.HasErrors() {
				_, diags = cfg.Exceptions(exceptionProject(), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
			}
			if got := diags.Error(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A project may ask for a modec that is new enough; one from a work tree is.
func TestVersion(t *testing.T) {
	cfg, diags := load("modec = \">=1.2.0\"\n")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for version, want := range map[string]string{
		"1.2.0": "", "v1.2.1": "", "2.0.0-rc.1": "", "devel": "", "": "",
		"1.1.9":      `modec.toml:1:9: error: the project needs modec 1.2.0 or newer, and this is 1.1.9 [old-modec]`,
		"1.2.0-rc.1": `modec.toml:1:9: error: the project needs modec 1.2.0 or newer, and this is 1.2.0-rc.1 [old-modec]`,
	} {
		list := cfg.CheckVersion(version)
		if got := list.Error(); got != want && (len(list) > 0 || want != "") {
			t.Errorf("%q: got %s, want %s", version, got, want)
		}
	}
}

// TestAcceptance reads back each table that accepts something, and finds what accepts more or
// nothing refused.
func TestAcceptance(t *testing.T) {
	project := &ir.Project{
		Modes:   []ir.Mode{{Slug: "both"}},
		Roles:   []ir.Role{{Name: "dev"}, {Name: "both"}},
		Servers: []ir.Server{{Name: "shop", Tools: []ir.Tool{{Name: "sell"}}}},
	}
	until := time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		subject string
		group   ir.Group
		action  string
		written bool
	}{
		{"role dev", ir.MCP, "shop:sell", true},
		{"mode both", ir.Command, `git commit -m 'a "b"'`, true},
		{"role both", ir.Edit, `.git/"config"`, true},
		{"role dev", ir.Command, "one\ntwo", true},
		{"role dev", ir.MCP, "shop:buy", false},           // no tool of the inventory
		{"role dev", ir.MCP, "shop (resource)", false},    // no tool at all
		{"role dev", ir.MCP, "shop:*", false},             // all of the server
		{"role dev", ir.Command, "", false},               // the whole group
		{"role dev", ir.Command, "*", false},              // the whole group
		{"role dev", ir.Command, " ls", false},            // read back it would be another line
		{"role dev", ir.Unknown, "Tool", false},           // no group of an exception
		{"role dev in mode both", ir.Edit, "a.md", false}, // an exception is of a mode or a role
		{"role gone", ir.Edit, "a.md", false},
	} {
		a := Acceptance{Target: "roo", Subject: test.subject, Group: test.group, Action: test.action, Until: until}
		text := a.Table(project)
		if !test.written {
			if text != "" {
				t.Errorf("%s %s %q: got\n%s", test.subject, test.group, test.action, text)
			}
			continue
		}
		cfg, diags := load("[targets.roo]\n" + text)
		if len(diags) > 0 {
			t.Errorf("%s\n%v", text, diags)
			continue
		}
		read, diags := cfg.Exceptions(project, until)
		if len(diags) > 0 || len(read["roo"]) != 1 {
			t.Errorf("%s\ngot %d exceptions and %v", text, len(read["roo"]), diags)
			continue
		}
		a.Whole = true
		if whole := a.Table(project); !strings.Contains(whole, "what = '"+string(test.group)+"'\n") {
			t.Errorf("%s: got\n%s", test.group, whole)
		}
		e := read["roo"][0]
		action := e.Pattern
		if e.Server != "" {
			action = e.Server + ":" + e.Pattern
		}
		if e.Subject.String() != test.subject || e.Group != test.group || action != test.action || !e.Until.Equal(until) {
			t.Errorf("%s\ngot %+v", text, e)
		}
	}
}
