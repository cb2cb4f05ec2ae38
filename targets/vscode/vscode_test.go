package vscode_test

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/vscode"
	"modec.dev/modec/targets/vscode/format"
)

// TestServers holds which servers are listed: those of which the session may use everything.
func TestServers(t *testing.T) {
	const servers = `"servers": {"a": {"command": "a", "tools": {"x": {}, "y": {}}}, "off": {"command": "o", "defaultEnabled": false, "tools": {"z": {}}}}`
	const based, alone = "baseline = \"r\"\n", ""
	for name, c := range map[string]struct{ base, roles, listed, code string }{
		"all is allowed":          {based, `"r": {"can": {"mcp": {"a": "allow"}}}`, "a", ""},
		"one is asked about":      {based, `"r": {"can": {"mcp": {"a": {"allow": ["x"], "default": "ask"}}}}`, "a", ""},
		"one is denied":           {based, `"r": {"can": {"mcp": {"a": {"allow": ["x"], "default": "deny"}}}}`, "", "vscode-tools"},
		"all are denied":          {based, `"r": {"can": {"mcp": "deny"}}`, "", ""},
		"resources are denied":    {based, `"r": {"can": {"mcp": {"a": {"default": "allow", "resources": "deny"}}}}`, "", "vscode-tools"},
		"nothing is said":         {based, `"r": {}`, "a", ""},
		"opened by its name":      {based, `"r": {"can": {"mcp": {"off": {"allow": ["z"], "default": "ask"}, "a": "deny"}}}`, "off", ""},
		"for another role":        {based, `"r": {"can": {"mcp": "deny"}}, "s": {"can": {"mcp": {"a": "allow"}}}`, "", ""},
		"no baseline":             {alone, `"s": {"can": {"mcp": {"a": {"allow": ["x"], "default": "deny"}}}}, "t": {"can": {"mcp": {"a": {"allow": ["y"], "default": "deny"}}}}`, "a", ""},
		"nobody may use one":      {alone, `"s": {"can": {"mcp": {"a": {"allow": ["x"], "default": "deny"}}}}`, "", "vscode-tools"},
		"no baseline, and opened": {alone, `"s": {"can": {"mcp": {"off": {"allow": ["z"], "default": "ask"}, "a": "deny"}}}`, "", ""},
	} {
		res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
			config.File:    []byte(c.base + "inventory = \"closed\"\n[targets.vscode]\n"),
			"modec/a.json": []byte("{" + servers + `, "roles": {` + c.roles + "}}")}})
		if diags.HasErrors() {
			t.Fatal(name, diags)
		}
		code := ""
		for _, d := range res.Outputs[0].Losses {
			code += string(d.Code)
		}
		if code != c.code {
			t.Errorf("%s: got %v, want %q", name, res.Outputs[0].Losses, c.code)
		}
		listed := ""
		if data, err := memfs.FS(res.FS()).ReadFile(format.ServersFile); err == nil {
			root, err := format.ReadServers("", data)
			if err != nil {
				t.Fatal(name, err)
			}
			for _, m := range root.Get(format.ServersKey).Fields() {
				listed += m.Key
			}
		}
		if listed != c.listed {
			t.Errorf("%s: got the servers %q, want %q", name, listed, c.listed)
		}
	}
}

// TestModel holds what VS Code starts by a list that people edited.
func TestModel(t *testing.T) {
	o := contract.Options{}.WithBaseline("r")
	judged := vscode.New().(contract.Judged)
	for _, c := range []struct{ name, text, warns, starts string }{
		{"a list", `{"servers": {"a": {"command": "a"}, "b": {"url": "https://b/"}}, /* mine */}`, "", "ab"},
		{"an entry without a start", `{"servers": {"a": {"type": "stdio"}, "b": {"url": "https://b/"}}}`, "\"a\"", "b"},
		{"another agent's key", `{"mcpServers": {"a": {"command": "a"}}}`, "", ""},
		{"no JSON", `{`, "starts no server", ""},
		{"no object", `{"servers": []}`, "want an object", ""},
	} {
		deciders, diags := judged.Open(memfs.FS{format.ServersFile: []byte(c.text)}, o)
		if len(deciders) != 1 || (len(diags) > 0) != (c.warns != "") || len(diags) > 0 && !strings.Contains(diags[0].Message, c.warns) {
			t.Fatalf("%s: got %d deciders and %v, want %q", c.name, len(deciders), diags, c.warns)
		}
		starts := ""
		for _, server := range []string{"a", "b"} {
			v := deciders[0].Decide(ir.SubjectRef{Role: "r"}, policy.Action{Group: ir.MCP, Server: server, Arg: "x"})
			if v.Governs != contract.Access {
				t.Errorf("%s: got %v for %s, want access", c.name, v.Governs, server)
			}
			if v.Decision > ir.Deny {
				starts += server
			}
		}
		if starts != c.starts {
			t.Errorf("%s: got %q, want %q", c.name, starts, c.starts)
		}
		if v := deciders[0].Decide(ir.SubjectRef{Mode: "m"}, policy.Action{Group: ir.MCP, Server: "a", Arg: "x"}); v.Governs != contract.Neither {
			t.Errorf("%s: got %v for a mode, want nothing", c.name, v)
		}
	}
	if deciders, _ := judged.Open(memfs.FS{}, o); deciders != nil {
		t.Error("got a decider without a list")
	}
}
