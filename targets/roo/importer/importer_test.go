package importer

import (
	"strings"
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
	"modec.dev/modec/targets/roo/model"
)

func tool(server, name string) policy.Action {
	return policy.Action{Group: ir.MCP, Server: server, Arg: name}
}

// importedMode imports files with every group approved, and decides with the mode m.
func importedMode(t *testing.T, d format.Dialect, files map[string]string) (contract.Imported, func(policy.Action) ir.Decision) {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	got, diags := Import(contract.Source{Root: fsys, Approved: ir.Groups}, d)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	s, err := policy.New(got.Project).Subject(ir.SubjectRef{Mode: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return got, func(a policy.Action) ir.Decision { return s.Decide(a).Decision }
}

const everyGroup = "customModes:\n  - slug: m\n    name: M\n    roleDefinition: r\n    groups: [read, edit, command, mcp]\n"

func TestNoListOpensADisabledServer(t *testing.T) {
	const servers = `{"mcpServers": {"off": {"command": "x", "disabled": true, "alwaysAllow": ["t"]}, "on": {"command": "x", "alwaysAllow": ["t"]}}}`
	for _, limits := range []string{
		"    allowedMcpServers: [\"off\", \"on\"]\n",
		"    mcpRestrictions: {allowedServers: [\"off\", \"on\"]}\n",
		"    mcpRestrictions: {allowedTools: [{serverName: \"off\", toolName: t}, {serverName: \"on\", toolName: t}]}\n",
		"",
	} {
		_, decide := importedMode(t, format.Stock, map[string]string{".roomodes": everyGroup + limits, ".roo/mcp.json": servers})
		if d := decide(tool("off", "t")); d != ir.Deny {
			t.Errorf("%sa tool of a server that is off: got %s, want deny", limits, d)
		}
		if d := decide(tool("on", "t")); d == ir.Deny {
			t.Errorf("%sa tool of a server that is on: got deny", limits)
		}
	}
	_, decide := importedMode(
		t,
		format.Zoo,
		map[string]string{
			".zoomodes":     everyGroup + "    allowedMcpServers: [\"off\", \"on\"]\n",
			".zoo/mcp.json": servers,
		},
	)
	if off, on := decide(tool("off", "t")), decide(tool("on", "t")); off != ir.Deny || on == ir.Deny {
		t.Errorf("Zoo: got %s for a server that is off and %s for one that is on", off, on)
	}
}

func TestApprovalOfMCPIsWhatTheServersFileSays(t *testing.T) {
	_, decide := importedMode(t, format.Stock, map[string]string{
		".roomodes":     everyGroup,
		".roo/mcp.json": `{"mcpServers": {"a": {"command": "x", "alwaysAllow": ["t"]}, "b": {"command": "x"}}}`,
	})
	for call, want := range map[policy.Action]ir.Decision{tool("a", "t"): ir.Allow, tool("a", "other"): ir.Ask, tool("b", "t"): ir.Ask} {
		if d := decide(call); d != want {
			t.Errorf("%s:%s: got %s, want %s", call.Server, call.Arg, d, want)
		}
	}
}

func TestTheIgnoreFileHoldsForCommandsToo(t *testing.T) {
	_, decide := importedMode(t, format.Stock, map[string]string{".roomodes": everyGroup, ".rooignore": "/secret/\n*.pem\n"})
	for line, want := range map[string]ir.Decision{"cat secret/a": ir.Ask, "head -n 1 x/a.pem": ir.Ask, "cat .rooignore": ir.Ask, "cat a": ir.Allow} {
		if d := decide(policy.Action{Group: ir.Command, Arg: line}); d != want {
			t.Errorf("%s: got %s, want %s", line, d, want)
		}
	}
	for _, g := range []ir.Group{ir.Read, ir.Edit} {
		if d := decide(policy.Action{Group: g, Arg: ".rooignore"}); d != ir.Deny {
			t.Errorf("%s .rooignore: got %s, want deny", g, d)
		}
	}
}

// An expression never becomes a glob over more paths than it matches, nor does it
// match more in an engine that counts a character beyond U+FFFF once.
func TestNoExpressionGrows(t *testing.T) {
	for re, paths := range map[string][]string{
		`^/README\.md$`: {"README.md", "x/README.md"},
		`^.\.md$`:       {"😀.md"},
		`^(a|)/b$`:      {"b"},
		`^[^/]\.md$`:    {"😀.md"},
	} {
		_, decide := importedMode(
			t,
			format.Stock,
			map[string]string{".roomodes": strings.Replace(everyGroup, " edit,", " [edit, {fileRegex: '"+re+"'}],", 1)},
		)
		judged, err := ecma.Compile(re, ecma.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			if ok, err := judged.Match(p); ok || err != nil {
				t.Fatalf("%s matches %s: the case shows nothing", re, p)
			}
			if d := decide(policy.Action{Group: ir.Edit, Arg: p}); d != ir.Deny {
				t.Errorf("%s: edit %s: got %s, want deny", re, p, d)
			}
		}
	}
}

func TestTextsOfFilesWithCRLF(t *testing.T) {
	text := "customModes:\n  - slug: m\n    name: M\n    roleDefinition: >-\n      one\n      two\n\n      three\n    customInstructions: |\n      a\n       b\n    whenToUse: \"x\n      y\"\n    groups: [read]\n"
	want, _ := importedMode(t, format.Stock, map[string]string{".roomodes": text})
	got, _ := importedMode(t, format.Stock, map[string]string{".roomodes": strings.ReplaceAll(text, "\n", "\r\n")})
	w, g := want.Project.Modes[0], got.Project.Modes[0]
	if w.RoleDefinition != "one two\nthree" || w.WhenToUse != "x y" {
		t.Fatalf("got %q and %q without CR", w.RoleDefinition, w.WhenToUse)
	}
	if g.RoleDefinition != w.RoleDefinition || g.CustomInstructions != w.CustomInstructions || g.WhenToUse != w.WhenToUse {
		t.Errorf("got %q, %q, %q, want %q, %q, %q", g.RoleDefinition, g.CustomInstructions, g.WhenToUse, w.RoleDefinition, w.CustomInstructions, w.WhenToUse)
	}
}

// A server of the project holds over one of the same name of the user's.
func TestServersOfTwoFilesAreOneTree(t *testing.T) {
	home := fstest.MapFS{".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json": {Data: []byte(`{"mcpServers": {"a": {"command": "y", "alwaysAllow": ["u"]}, "b": {"command": "y", "alwaysAllow": ["t"]}}}`)}}
	root := fstest.MapFS{".roomodes": {Data: []byte(everyGroup)}, ".roo/mcp.json": {Data: []byte(`{"mcpServers": {"a": {"command": "x", "alwaysAllow": ["t"]}}}`)}}
	got, diags := Import(contract.Source{Root: root, Home: home, Approved: ir.Groups}, format.Stock)
	if diags.HasErrors() || len(got.Originals) != 1 {
		t.Fatal(diags, len(got.Originals))
	}
	decider, _ := model.Open(got.Originals[0].Files, format.Stock)
	s, err := policy.New(got.Project).Subject(ir.SubjectRef{Mode: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[policy.Action]ir.Decision{tool("a", "t"): ir.Allow, tool("a", "u"): ir.Ask, tool("b", "t"): ir.Allow} {
		if was, is := decider.Decide(ir.SubjectRef{Mode: "m"}, call).Decision, s.Decide(call).Decision; was != want || is != want {
			t.Errorf("%s:%s: got %s of the files and %s of the import, want %s", call.Server, call.Arg, was, is, want)
		}
	}
}

func TestImportErrorsHaveALine(t *testing.T) {
	for text, want := range map[string]string{
		"{\n \"mcpServers\": {\n  x}}":                       ".roo/mcp.json:3:",
		"{\n \"mcpServers\": {\n  \"a\": {\"command\": 1}}}": ".roo/mcp.json:3:",
		"[]": ".roo/mcp.json:1:1:",
	} {
		_, diags := Import(contract.Source{Root: fstest.MapFS{".roo/mcp.json": {Data: []byte(text)}}}, format.Stock)
		if !strings.HasPrefix(diags.Error(), want) {
			t.Errorf("%q: got %v, want it at %s", text, diags, want)
		}
	}
}

// Every rules file has a name of its own in the one folder that a mode has here.
func TestRulesFilesKeepApart(t *testing.T) {
	got, _ := importedMode(t, format.Stock, map[string]string{".roomodes": everyGroup +
		"    rulesFiles: [{relativePath: a/b.md, content: x}, {relativePath: a-b.md, content: y}, {relativePath: A-B.md, content: z}]\n"})
	var names []string
	for _, r := range got.Project.Modes[0].Rules {
		names = append(names, r.Name+"="+r.Text)
	}
	if s := strings.Join(names, " "); s != "a-b.md=x a-b-2.md=y A-B-3.md=z" {
		t.Errorf("got %s", s)
	}
}
