package model

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

func tree(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// opened returns the decider of a dialect over files, and what it warned of.
func opened(t *testing.T, dialect format.Dialect, files fs.FS) (contract.Decider, string) {
	t.Helper()
	d, diags := Open(files, dialect)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var b strings.Builder
	for _, d := range diags {
		fmt.Fprintf(&b, "%s: %s\n", d.Pos, d.Message)
	}
	return d, b.String()
}

// inShort is a verdict as the tables write it: "ask access", with " + ask" for a
// hole and the place last.
func inShort(v contract.Verdict) string {
	governs := map[contract.Halves]string{contract.Neither: " -", contract.Access: " access", contract.Both: " both"}
	s := v.Decision.String() + governs[v.Governs]
	if v.Hole != nil {
		s += " + " + v.Hole.Decision.String()
	}
	return s
}

func on(g ir.Group, arg string) policy.Action { return policy.Action{Group: g, Arg: arg} }

func tool(server, name string) policy.Action {
	return policy.Action{Group: ir.MCP, Server: server, Arg: name}
}

func resource(server string) policy.Action {
	return policy.Action{Group: ir.MCP, Server: server, Arg: "file:///x", Kind: policy.Resource}
}

const threeModes = `customModes:
  - slug: writer
    name: W
    roleDefinition: r
    groups:
      - read
      - - edit
        - fileRegex: "^docs/.*\\.md$"
      - mcp
    allowedMcpServers: [github]
  - slug: runner
    name: R
    roleDefinition: r
    groups: [[read, {fileRegex: "^never$"}], command, browser, mcp]
    allowedMcpServers: []
  - slug: nobody
    name: N
    roleDefinition: r
    groups: []
`

const threeServers = `{"mcpServers": {
	"github": {"command": "gh", "alwaysAllow": ["list"], "disabledTools": ["drop"]},
	"off": {"command": "x", "disabled": true, "alwaysAllow": ["*"]},
	"open": {"type": "sse", "url": "https://x/y", "alwaysAllow": ["*"], "disabledTools": ["drop"]}
}}`

func TestDecide(t *testing.T) {
	files := tree(map[string]string{
		".roomodes": threeModes, ".roo/mcp.json": threeServers, ".rooignore": "secrets/\n*.pem\n!ok.pem\n*.png\nb/*.key\n",
	})
	type row struct {
		mode   string
		action policy.Action
		roo    string
		zoo    string // "": the same
	}
	rows := []row{
		{"writer", on(ir.Read, "a.md"), "ask access", ""},
		{"writer", on(ir.Read, "K.PEM"), "deny access", ""},
		{"writer", on(ir.Read, "ok.pem"), "ask access", ""},
		{"writer", on(ir.Read, "a/../secrets/x"), "deny access", ""},
		{"writer", on(ir.Read, "../x.pem"), "ask - + ask", ""},
		{"writer", on(ir.Read, "a/../../x"), "ask - + ask", ""},
		{"writer", on(ir.Read, "/etc/passwd"), "ask - + ask", ""},
		{"writer", on(ir.Read, "~/x"), "ask - + ask", ""},
		{"writer", on(ir.Read, `C:\x`), "ask - + ask", ""},
		{"writer", on(ir.Read, `b\x.key`), "deny access", ""},
		{"writer", on(ir.Read, `b/x\y.key`), "deny access + ask", ""}, // one name where a backslash is no slash
		{"writer", on(ir.Read, `b/X\y.KEY`), "deny access + ask", ""},
		{"writer", on(ir.Read, `c/x\y.key`), "ask access", ""},
		{"writer", on(ir.Read, "a\x00"), "deny -", ""},
		{"writer", on(ir.Read, ".rooignore"), "deny access", ""},
		{"writer", on(ir.Read, ".zooignore"), "ask access", "deny access"},
		{"writer", on(ir.Edit, "docs/a.md"), "ask access", ""},
		{"writer", on(ir.Edit, "docs/../../x.md"), "ask access", ""}, // the path as it is written
		{"writer", on(ir.Edit, "docs/secrets/x.md"), "deny access", ""},
		{"writer", on(ir.Edit, "a.png"), "deny access + ask", ""}, // generate_image with the path a
		{"writer", on(ir.Edit, "secrets/a.png"), "deny access", ""},
		{"writer", on(ir.Edit, ".png"), "deny access", ""},
		{"writer", on(ir.Edit, "a.md"), "deny access + ask", ""},
		{"writer", on(ir.Edit, "DOCS/a.md"), "deny access + ask", ""},
		{"writer", on(ir.Command, "ls"), "deny access", ""},
		{"writer", on(ir.Web, "example.com"), "deny -", "deny access"},
		{"writer", on(ir.Modes, "code"), "ask -", ""},
		{"writer", on(ir.Unknown, "deploy"), "deny - + allow", ""},
		{"writer", tool("github", "list"), "allow both", ""},
		{"writer", tool("github", "get"), "ask both", ""},
		{"writer", tool("github", "drop"), "deny both", ""},
		{"writer", tool("github", contract.UnknownTool), "ask both", ""},
		{"writer", tool("off", "x"), "deny both", ""},
		{"writer", tool("open", "x"), "allow both", "deny access"},
		{"writer", tool("open", "drop"), "deny both", "deny access"},
		{"writer", tool("nowhere", "x"), "ask access", "deny access"},
		{"writer", resource("github"), "ask access + allow", ""},
		{"writer", resource("off"), "deny both", ""},
		{"writer", resource("open"), "ask access + allow", "deny access"},
		{"writer", policy.Action{Group: ir.MCP, Server: "github", Kind: policy.Prompt}, "deny -", ""},

		{"runner", on(ir.Read, "a.md"), "ask access", ""}, // fileRegex of read says nothing
		{"runner", on(ir.Read, "k.pem"), "deny access + ask", ""},
		{"runner", on(ir.Edit, "a.md"), "deny access + ask", ""},
		{"runner", on(ir.Command, "rm -rf /"), "ask access", ""},
		{"runner", on(ir.Command, " CAT -n k.pem"), "deny access", ""},
		{"runner", on(ir.Command, "cat 'k.pem'"), "ask access", ""}, // quotes and all
		{"runner", on(ir.Command, "cat ../k.pem"), "ask access", ""},
		{"runner", on(ir.Command, "cat /k.pem"), "ask access", ""},
		{"runner", on(ir.Command, "cat c:k.pem"), "ask access", ""},
		{"runner", on(ir.Command, "true && cat k.pem"), "ask access", ""},
		{"runner", on(ir.Command, ""), "ask access", ""},
		{"runner", on(ir.Web, "example.com"), "deny -", "deny access + ask"},
		{"runner", tool("github", "list"), "allow both", "deny access"},

		{"nobody", on(ir.Read, "a"), "deny access", ""},
		{"nobody", on(ir.Edit, "a"), "deny access", ""},
		{"nobody", tool("github", "list"), "deny access + allow", "deny access"},
		{"nobody", tool("github", "get"), "deny access + ask", "deny access"},
		{"nobody", tool("github", "drop"), "deny access", ""},
		{"nobody", tool("off", "x"), "deny both", ""},
		{"nobody", tool("nowhere", "x"), "deny access + ask", "deny access"},
		{"nobody", resource("github"), "deny access", ""},

		// The built-in modes are there as well.
		{"architect", on(ir.Edit, "a.md"), "ask access", ""},
		{"architect", on(ir.Edit, "a.go"), "deny access + ask", ""},
		{"ask", on(ir.Edit, "a.md"), "deny access", ""},
		{"code", on(ir.Edit, "../a.go"), "ask access", ""},
		{"code", on(ir.Web, "example.com"), "deny -", "ask access"},
		{"orchestrator", on(ir.Read, "a"), "deny access", ""},
		{"no-such", on(ir.Read, "a"), "deny -", ""},
	}
	for _, dialect := range []format.Dialect{format.Stock, format.Zoo} {
		d, warned := opened(t, dialect, files)
		if warned != "" || d.Surface() != "" || len(d.Assumes()) == 0 {
			t.Errorf("%s: warned %q, surface %q, assumes %q", dialect, warned, d.Surface(), d.Assumes())
		}
		for _, r := range rows {
			want := r.roo
			if dialect == format.Zoo && r.zoo != "" {
				want = r.zoo
			}
			v := d.Decide(ir.SubjectRef{Mode: r.mode}, r.action)
			if got := inShort(v); got != want {
				t.Errorf("%s: %s: %s %q: got %s, want %s (%s)", dialect, r.mode, r.action.Group, r.action.Server+r.action.Arg, got, want, v.Rule)
			}
			if r.mode != "no-such" && (v.Rule == "" || v.At.File == "") {
				t.Errorf("%s: %s: %v has no rule or no place: %+v", dialect, r.mode, r.action, v.Answer)
			}
		}
		for _, ref := range []ir.SubjectRef{{Role: "r"}, {Role: "r", Mode: "code"}, {}} {
			if v := d.Decide(ref, on(ir.Read, "a")); v != (contract.Verdict{}) {
				t.Errorf("%s: %v: got %+v, want no verdict: Roo has no roles", dialect, ref, v)
			}
		}
	}
}

// Whoever reads a verdict is led to the line that decides.
func TestPlaces(t *testing.T) {
	d, _ := opened(t, format.Stock, tree(map[string]string{
		".roomodes": threeModes, ".roo/mcp.json": threeServers, ".rooignore": "# no\n\n*.pem\n",
	}))
	for _, c := range []struct {
		mode   string
		action policy.Action
		want   string
	}{
		{"writer", on(ir.Read, "a"), ".roomodes:6:9 - read"},
		{"writer", on(ir.Edit, "x"), `.roomodes:8:22 fileRegex: ^docs/.*\.md$`},
		{"writer", on(ir.Read, "k.pem"), ".rooignore:3:1 *.pem"},
		{"writer", on(ir.Read, ".rooignore"), ".rooignore .rooignore"},
		{"writer", on(ir.Command, "ls"), ".roomodes:6:7 no group command"},
		{"writer", tool("github", "list"), ".roo/mcp.json:2:46 alwaysAllow: list"},
		{"writer", tool("github", "drop"), ".roo/mcp.json:2:73 disabledTools: drop"},
		{"writer", tool("off", "x"), ".roo/mcp.json:3:38 disabled: true"},
		{"writer", tool("no", "x"), ".roo/mcp.json no such server; the user may have one"},
		{"ask", on(ir.Read, "a"), ".roomodes built-in mode ask: read"},
	} {
		v := d.Decide(ir.SubjectRef{Mode: c.mode}, c.action)
		if got := v.At.String() + " " + v.Rule; got != c.want {
			t.Errorf("%s %v: got %s, want %s", c.mode, c.action, got, c.want)
		}
	}
}

// Which of its files an agent reads.
func TestWhichFile(t *testing.T) {
	mode := func(slug string) string {
		return "customModes: [{slug: " + slug + ", name: n, roleDefinition: r, groups: [read]}]"
	}
	all := map[string]string{
		".roomodes": mode("old"), ".zoomodes": mode("new"), ".rooignore": "old.txt", ".zooignore": "new.txt",
		".roo/mcp.json": `{"mcpServers": {"old": {"command": "x", "disabled": true}}}`,
		".zoo/mcp.json": `{"mcpServers": {"new": {"command": "x", "disabled": true}}}`,
	}
	without := func(names ...string) map[string]string {
		m := map[string]string{}
		for k, v := range all {
			m[k] = v
		}
		for _, n := range names {
			delete(m, n)
		}
		return m
	}
	for _, c := range []struct {
		name    string
		dialect format.Dialect
		files   map[string]string
		want    string // old or new, of modes, ignore file and servers
	}{
		{"Roo", format.Stock, all, "old old old"},
		{"Roo without its own", format.Stock, without(".roomodes", ".rooignore", ".roo/mcp.json"), "none none none"},
		{"Zoo", format.Zoo, all, "new new new"},
		{"Zoo without its own", format.Zoo, without(".zoomodes", ".zooignore", ".zoo/mcp.json"), "old old old"},
		{"Zoo with a broken file", format.Zoo, func() map[string]string {
			m := without()
			m[".zoomodes"] = "{"
			m[".zooignore"] = ""
			m[".zoo/mcp.json"] = "{"
			return m
		}(), "none none none"},
	} {
		d, _ := opened(t, c.dialect, tree(c.files))
		got := []string{"none", "none", "none"}
		for _, age := range []string{"old", "new"} {
			if d.Decide(ir.SubjectRef{Mode: age}, on(ir.Read, "x")).Decision > ir.Deny {
				got[0] = age
			}
			if d.Decide(ir.SubjectRef{Mode: "ask"}, on(ir.Read, age+".txt")).Decision == ir.Deny {
				got[1] = age
			}
			if d.Decide(ir.SubjectRef{Mode: "ask"}, tool(age, "x")).Decision == ir.Deny {
				got[2] = age
			}
		}
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
