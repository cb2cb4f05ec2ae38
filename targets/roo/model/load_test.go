package model

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

// One bad mode costs the whole file: what is left are the built-in modes, and
// a warning says so.
func TestBadModes(t *testing.T) {
	for _, c := range []struct {
		name        string
		dialect     format.Dialect
		text, warns string
	}{
		{
			"a bad slug",
			format.Stock,
			strings.Replace(oneMode("[]", ""), "slug: a", "slug: a_b", 1),
			"slug must contain only letters numbers and dashes",
		},
		{"web in Roo", format.Stock, oneMode("[web]", ""), ".roomodes:5:14: customModes.0.groups.0: invalid group"},
		{"two of a group", format.Stock, oneMode("[read, read]", ""), ".roomodes:5:20: customModes.0.groups.1: duplicate groups are not allowed"},
		{
			"no expression",
			format.Stock,
			oneMode(`[[edit, {fileRegex: "("}]]`, ""),
			".roomodes:5:33: customModes.0.groups.0.1.fileRegex: invalid regular expression pattern: want a \")\" for the \"(\"",
		},
		{
			"two of a slug",
			format.Stock,
			oneMode("[]", "  - {slug: a, name: n, roleDefinition: r, groups: []}\n"),
			"duplicate mode slugs are not allowed",
		},
		{"no text", format.Stock, oneMode("[]", "    whenToUse: 1\n"), ".roomodes:6:16: customModes.0.whenToUse: whenToUse must be a string"},
		{"no modes", format.Stock, "x: 1\n", "it has no customModes"},
		{"no YAML and no JSON", format.Stock, "{", ".roomodes"},
		{"one server as text", format.Zoo, oneMode("[]", "    allowedMcpServers: x\n"), "allowedMcpServers must be an array of strings"},
		{"a server by number", format.Zoo, oneMode("[]", "    allowedMcpServers: [1]\n"), "allowedMcpServers must be an array of strings"},
		{"no restrictions", format.Restrictions, oneMode("[]", "    mcpRestrictions: x\n"), "mcpRestrictions must be an object"},
		{
			"both server lists",
			format.Restrictions,
			oneMode("[]", "    mcpRestrictions: {allowedServers: [a], disallowedServers: [b]}\n"),
			"mcpRestrictions has both server lists",
		},
		{
			"a tool on both lists",
			format.Restrictions,
			oneMode("[]", "    mcpRestrictions:\n"+
				"      allowedTools: [{serverName: s, toolName: t}]\n"+
				"      disallowedTools: [{serverName: s, toolName: t}]\n"),
			"a tool is allowed and disallowed",
		},
		{
			"half a tool",
			format.Restrictions,
			oneMode("[]", "    mcpRestrictions: {allowedTools: [{serverName: s}]}\n"),
			"an entry names a server and a tool",
		},
	} {
		d, warned := opened(t, c.dialect, tree(map[string]string{".roomodes": c.text}))
		if !strings.Contains(warned, c.warns) || strings.Count(warned, "\n") != 1 {
			t.Errorf("%s: warned %q, want %q", c.name, warned, c.warns)
		}
		if v := d.Decide(ir.SubjectRef{Mode: "a"}, on(ir.Read, "x")); v != (contract.Verdict{}) {
			t.Errorf("%s: the file's mode is there: %+v", c.name, v)
		}
		if v := d.Decide(ir.SubjectRef{Mode: "code"}, on(ir.Read, "x")); v.Decision != ir.Ask {
			t.Errorf("%s: the built-in mode is gone: %+v", c.name, v)
		}
	}
	// What a dialect does not know it drops in silence.
	for _, dialect := range []format.Dialect{format.Stock, format.Zoo, format.Restrictions} {
		old := oneMode("[read, browser]", "    rulesFiles: 1\n")
		if _, warned := opened(t, dialect, tree(map[string]string{".roomodes": old})); warned != "" {
			t.Errorf("%s: warned %q", dialect, warned)
		}
	}
	unread := oneMode("[]", "    mcpRestrictions: x\n    allowedMcpServers: x\n")
	if _, warned := opened(t, format.Stock, tree(map[string]string{".roomodes": unread})); warned != "" {
		t.Errorf("Roo warned %q of keys that it drops", warned)
	}
}

// One bad server costs the whole file: of none of its servers anything is held
// then, but the user may have one of that name.
func TestServers(t *testing.T) {
	for _, c := range []struct {
		config string
		loads  bool
	}{
		{`{"command": "x"}`, true},
		{`{"command": "x", "type": "stdio", "args": [], "env": {"A": "b"}, "cwd": ".", "timeout": 3600, "more": 1}`, true},
		{`{"url": "https://x", "type": "sse", "headers": {"A": "b"}}`, true},
		{`{"url": "https://x", "type": "streamable-http"}`, true},
		{`{"url": "https://x"}`, true}, // taken for sse
		{`{"url": "x"}`, false},
		{`{"url": "https://x", "command": "x"}`, false},
		{`{"url": "https://x", "type": "stdio"}`, false},
		{`{"url": "https://x", "args": []}`, false},
		{`{"command": "x", "type": "sse"}`, false},
		{`{"command": "x", "type": "http"}`, false},
		{`{"command": "x", "headers": {}}`, false},
		{`{"command": ""}`, false},
		{`{"command": 1}`, false},
		{`{"type": "stdio"}`, false},
		{`{"command": "x", "args": "y"}`, false},
		{`{"command": "x", "env": {"A": 1}}`, false},
		{`{"command": "x", "disabled": "yes"}`, false},
		{`{"command": "x", "alwaysAllow": "*"}`, false},
		{`{"command": "x", "disabledTools": [1]}`, false},
		{`{"command": "x", "timeout": 0}`, false},
		{`{"command": "x", "timeout": 3601}`, false},
		{`{"command": "x", "timeout": "60"}`, false},
		{`[]`, false},
		{`null`, false},
	} {
		d, warned := opened(t, format.Stock, tree(map[string]string{
			".roo/mcp.json": `{"mcpServers": {"good": {"command": "x", "disabled": true}, "s": ` + c.config + `}}`,
		}))
		v := d.Decide(ir.SubjectRef{Mode: "ask"}, tool("good", "x"))
		if loaded := v.Decision == ir.Deny; loaded != c.loads || loaded != (warned == "") {
			t.Errorf("%s: loads %v, want %v; warned %q", c.config, loaded, c.loads, warned)
		}
	}
	for _, text := range []string{
		"", "{}", "[]", "{", `{"mcpServers": []}`, "{\"mcpServers\": {},}", "// c\n{\"mcpServers\": {}}",
		"\uFEFF{\"mcpServers\": {}}",
	} {
		if _, warned := opened(t, format.Stock, tree(map[string]string{".roo/mcp.json": text})); warned == "" {
			t.Errorf("%q loads", text)
		}
	}
	// The last of two equal keys holds.
	d, _ := opened(t, format.Stock, tree(map[string]string{
		".roo/mcp.json": `{"mcpServers": {"s": {"bad": 1}, "s": {"command": "x", "disabled": true, "disabled": false}}}`,
	}))
	if v := d.Decide(ir.SubjectRef{Mode: "ask"}, tool("s", "x")); inShort(v) != "ask both" {
		t.Errorf("got %s, want the last of two equal keys", inShort(v))
	}
}

// The restriction plan, and its code where that permits more.
func TestRestrictions(t *testing.T) {
	servers := `{"mcpServers": {
		"on": {"command": "x", "alwaysAllow": ["*"]},
		"off": {"command": "x", "defaultEnabled": false},
		"gone": {"command": "x", "disabled": true}
	}}`
	for _, c := range []struct {
		restrictions string
		want         string // of on:t, on:u, off:t, gone:t, the resources of on and off, and a server that is not there
	}{
		{"", "allow allow deny deny ask deny ask"},
		{"{}", "allow allow deny deny ask deny ask"},
		{"{allowedServers: [off]}", "deny deny ask deny deny ask deny"},
		{"{allowedServers: ['o*']}", "allow allow ask deny ask ask deny"},
		{"{allowedServers: ['O*']}", "allow allow ask deny ask ask deny"}, // a later state ignores case
		{"{allowedServers: [On]}", "deny deny deny deny deny deny deny"},
		{"{allowedServers: ['o?']}", "allow allow deny deny ask deny deny"},
		{"{allowedServers: []}", "deny deny deny deny deny deny deny"},
		{"{allowedServers: [gone]}", "deny deny deny deny deny deny deny"},
		{"{disallowedServers: [on]}", "deny deny deny deny deny deny ask"},
		{"{disallowedServers: ['O*']}", "allow allow deny deny ask deny ask"},
		{"{disallowedServers: ['*']}", "deny deny deny deny deny deny deny"},
		{"{allowedTools: [{serverName: on, toolName: t}]}", "allow deny deny deny ask deny deny"},
		{"{allowedTools: [{serverName: 'o*', toolName: t}]}", "allow deny ask deny ask ask deny"}, // the plan opens by a tool
		{"{allowedTools: []}", "allow allow deny deny ask deny ask"},                              // the code takes it for absent
		{"{allowedTools: [{serverName: ' ', toolName: t}]}", "allow allow deny deny ask deny ask"},
		{"{disallowedTools: [{serverName: '*', toolName: t}]}", "deny allow deny deny ask deny deny"},
		{"{disallowedTools: [{serverName: on, toolName: '*'}]}", "deny deny deny deny ask deny ask"},
		{
			"{allowedTools: [{serverName: on, toolName: '*'}], disallowedTools: [{serverName: on, toolName: t}]}",
			"deny allow deny deny ask deny deny",
		},
		{"{allowedServers: [off], allowedTools: [{serverName: on, toolName: t}]}", "deny deny deny deny deny ask deny"},
		{"{allowedServers: ['a.b', '(']}", "deny deny deny deny deny deny deny"},
	} {
		more := ""
		if c.restrictions != "" {
			more = "    mcpRestrictions: " + c.restrictions + "\n"
		}
		d, warned := opened(t, format.Restrictions, tree(map[string]string{".roomodes": oneMode("[mcp]", more), ".roo/mcp.json": servers}))
		var got []string
		for _, a := range []policy.Action{
			tool("on", "t"), tool("on", "u"), tool("off", "t"), tool("gone", "t"),
			resource("on"), resource("off"), tool("else", "t"),
		} {
			got = append(got, d.Decide(ir.SubjectRef{Mode: "a"}, a).Decision.String())
		}
		if s := strings.Join(got, " "); s != c.want || warned != "" {
			t.Errorf("%s: got %s, want %s; warned %q", c.restrictions, s, c.want, warned)
		}
	}
	// The plan's tools check the group themselves.
	d, _ := opened(t, format.Restrictions, tree(map[string]string{".roomodes": oneMode("[]", ""), ".roo/mcp.json": servers}))
	if v := d.Decide(ir.SubjectRef{Mode: "a"}, tool("on", "t")); inShort(v) != "deny access" {
		t.Errorf("without the group: got %s", inShort(v))
	}
	// Roo itself knows neither key.
	d, _ = opened(t, format.Stock, tree(map[string]string{
		".roomodes":     oneMode("[mcp]", "    mcpRestrictions: {allowedServers: []}\n"),
		".roo/mcp.json": servers,
	}))
	if v := d.Decide(ir.SubjectRef{Mode: "a"}, tool("off", "t")); inShort(v) != "ask both" {
		t.Errorf("stock Roo: got %s", inShort(v))
	}
}

// An expression that does not end in time may match in Roo. One that is late again and
// again is not tried any more.
func TestSlowExpression(t *testing.T) {
	d, _ := opened(t, format.Stock, tree(map[string]string{".roomodes": oneMode(`[[edit, {fileRegex: "^(?:ab|a|b)+$"}]]`, "")}))
	re := d.(*decider).modes["a"].groups["edit"].regex.prepared()
	for range maxLate + 2 {
		if v := d.Decide(ir.SubjectRef{Mode: "a"}, on(ir.Edit, strings.Repeat("ab", 60)+"c")); v.Decision != ir.Ask {
			t.Errorf("got %s", inShort(v))
		}
	}
	if n := re.late.Load(); n != maxLate {
		t.Errorf("got %d evaluations that were too late, want %d", n, maxLate)
	}
	if v := d.Decide(ir.SubjectRef{Mode: "a"}, on(ir.Edit, "x")); v.Decision != ir.Ask {
		t.Errorf("got %s for a path that would not match, want ask: nothing is tried", inShort(v))
	}
}

func FuzzDecide(f *testing.F) {
	for _, text := range loadTexts {
		f.Add(text, threeServers, "*.pem\n!a\n", "docs/a.md")
	}
	for _, text := range ignoreTexts {
		f.Add(threeModes, "{}", text, "a/b")
	}
	for _, source := range []string{"", "(", "^docs/.*$", "(a)*b", "[😀]", "(?<=é)."} {
		f.Add(`{"customModes":[{"slug":"a","name":"n","roleDefinition":"r","groups":[["edit",{"fileRegex":"`+source+`"}]]}]}`, "{", "", "é😀")
	}
	f.Add(
		oneMode("[mcp]",
			"    mcpRestrictions: {allowedServers: ['*'], allowedTools: [{serverName: '?', toolName: '('}]}\n"),
		`{"mcpServers": {"s": {"url": "x:", "defaultEnabled": false}}}`, "\\", "\x00")
	f.Fuzz(func(t *testing.T, modes, servers, ignored, arg string) {
		files := tree(map[string]string{".roomodes": modes, ".roo/mcp.json": servers, ".rooignore": ignored})
		for _, dialect := range []format.Dialect{format.Stock, format.Zoo, format.Restrictions} {
			d, _ := Open(files, dialect)
			for _, slug := range []string{"a", "writer", "architect", "code"} {
				for _, g := range append([]ir.Group{ir.Unknown, "none"}, ir.Groups...) {
					for _, kind := range []policy.MCPKind{policy.Tool, policy.Resource, policy.Prompt} {
						v := d.Decide(ir.SubjectRef{Mode: slug}, policy.Action{Group: g, Server: arg, Arg: arg, Kind: kind})
						if v.Governs&contract.Approval == 0 && v.Decision == ir.Allow {
							t.Errorf("%s %s %q: allows what it does not govern", slug, g, arg)
						}
					}
				}
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	d, _ := Open(tree(map[string]string{
		".roomodes": threeModes, ".roo/mcp.json": threeServers, ".rooignore": "*.pem\nsecrets/\n.env\n.env.*\n",
	}), format.Stock)
	for _, a := range []policy.Action{
		on(ir.Read, "docs/guide/a.md"),
		on(ir.Edit, "docs/guide/a.md"),
		on(ir.Command, "cat docs/guide/a.md"),
		tool("github", "list"),
	} {
		b.Run(string(a.Group), func(b *testing.B) {
			for range b.N {
				d.Decide(ir.SubjectRef{Mode: "writer"}, a)
			}
		})
	}
}
