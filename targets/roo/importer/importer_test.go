package importer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

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

// A key of mcpRestrictions that nobody knows may be a list that somebody counts on.
func TestUnknownRestrictions(t *testing.T) {
	got, _ := importedMode(t, format.Stock, map[string]string{
		".roomodes": everyGroup + "    mcpRestrictions: {allowServers: [a], disallowedServers: [b]}\n"})
	if !strings.Contains(fmt.Sprint(got.Notes), "allowServers mcpRestrictions has no such key") {
		t.Errorf("got %v", got.Notes)
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
	for line, want := range map[string]ir.Decision{"cat secret/a": ir.Deny, "head -n 1 x/a.pem": ir.Deny, "cat .rooignore": ir.Deny, "cat a": ir.Allow} {
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

// What refuses something first is taken apart, as modec writes it: what the ignore file says goes, and what is left are
// the rules of the source. Any other expression is the one thing that it permits.
func TestWrittenExpressions(t *testing.T) {
	known := names([]string{"modec.toml", "modec/**", ".modec", ".git", "HEAD", ".roo", ".roomodes", "*.pem", "**/secrets/*"})
	glob := func(text string) ir.Pattern { return ir.Pattern{Text: text} }
	regex := func(text string) ir.Pattern { return ir.Pattern{Kind: ir.Regex, Text: text} }
	for _, c := range []struct {
		name, source string
		want         access
	}{
		{"known names alone", `^(?!(modec|(.*/)?(HEAD|\.(git|modec|roo(modes)?)|modec\.toml))(/|$)).*$`, access{all: true}},
		{"what is permitted", `^(?!(.*/)?HEAD(/|$))docs(/.*)?$`, access{permits: []string{`^docs(/|$)`}}},
		{"several", `^(?!vendor(/|$))((.*/)?i18n|.*\.mdx?|src/[^/]*\.go|.*x(?=y).*)$`,
			access{permits: []string{`(^|/)i18n$`, `\.mdx?$`, `^src/[^/]*\.go$`, `x(?=y)`}, denies: []ir.Pattern{glob("/vendor")}}},
		{"what a mode denies", `^(?!(db/applied|vendor|(.*/)?(.*\.(key|pem)|\.env(\..*)?|a/b|x(.*/)?y))(/|$)).*$`,
			access{all: true, denies: []ir.Pattern{glob("db/applied"), glob("/vendor"), glob("*.key"), glob(".env"), glob(".env.*"),
				glob("**/a/b"), regex(`(^|/)x(.*/)?y(/|$)`)}}},
		{"an expression that a mode denies", `^(?!.*(a|b)$|c).*$`,
			access{all: true, denies: []ir.Pattern{regex(`(a|b)$`), regex(`^c`)}}},
		{"no end", `^(?!vendor(/|$)).*`, access{permits: []string{""}, outside: true}},
		{"nothing that is refused", `^docs(/.*)?$`, access{permits: []string{""}}},
		{"somebody's own", `^(?!~)\.md$`, access{permits: []string{`^\.md$`}, denies: []ir.Pattern{regex(`^~`)}}},
	} {
		if len(c.want.permits) == 1 && c.want.permits[0] == "" {
			c.want.permits[0] = c.source
		}
		if d := cmp.Diff(c.want, accessOf(c.source, known), cmp.AllowUnexported(access{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
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
	got, _ := importedMode(t, format.Stock, map[string]string{"custom_modes.yaml": everyGroup +
		"    rulesFiles: [{relativePath: a/b.md, content: x}, {relativePath: a-b.md, content: y}, {relativePath: A-B.md, content: z}]\n"})
	var names []string
	for _, r := range got.Project.Modes[0].Rules {
		names = append(names, r.Name+"="+r.Text)
	}
	if s := strings.Join(names, " "); s != "a-b.md=x a-b-2.md=y A-B-3.md=z" {
		t.Errorf("got %s", s)
	}
}

// The texts of an export are none of a mode where the agent reads the file itself: it drops them.
func TestRulesFilesOfALiveFile(t *testing.T) {
	for _, list := range []string{"[{relativePath: a.md, content: x}]", "[{relativePath: ../../x, content: x}]", "1"} {
		got, _ := importedMode(t, format.Stock, map[string]string{".roomodes": everyGroup + "    rulesFiles: " + list + "\n"})
		m := got.Project.Modes[0]
		if len(m.Rules) > 0 || m.Extra["roo"].Fields["rulesFiles"] != nil {
			t.Errorf("%s: got the rules %v and %v, want none", list, m.Rules, m.Extra)
		}
		if !slices.ContainsFunc(got.Notes, func(n contract.Note) bool { return n.What == "rulesFiles" && n.Kind == contract.Left }) {
			t.Errorf("%s: no note names it", list)
		}
	}
}

// What the agent reads otherwise is kept: a mode is emitted again as it was. What it does not read stays in the file.
func TestAModeIsKeptAsItIsWritten(t *testing.T) {
	const text = "customModes:\n  - slug: m\n    name: \"👩\u200d💻 M\"\n    roleDefinition: a — b\n    iconName: x\n    source: global\n" +
		"    groups: [command, browser, [edit, {fileRegex: '\\.roomodes$|\\.md$', description: texts — all}]]\n"
	fsys := fstest.MapFS{".roomodes": {Data: []byte(text)}}
	got, diags := Import(contract.Source{Root: fsys}, format.Stock)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	m := got.Project.Modes[0]
	fields := map[string]any{"groups": []any{"command", "browser", "edit"}, "source": "global"}
	if d := cmp.Diff(fields, m.Extra["roo"].Fields); d != "" {
		t.Error(d)
	}
	if m.Name != "👩\u200d💻 M" || m.RoleDefinition != "a — b" || m.Can.Edit.Description != "texts — all" {
		t.Errorf("got %q, %q, %q", m.Name, m.RoleDefinition, m.Can.Edit.Description)
	}
}

// What an expression takes outside the project is asked about there, and one that takes everything is
// none.
func TestExpressionsThatLeadOutside(t *testing.T) {
	for re, want := range map[string]string{
		`\.md$`: "ask", `^.*\.md$`: "ask", `(^|/)docs/`: "ask", `^/etc/`: "ask", `^[A-Z]:/x`: "ask", `^(\.\./)+docs/`: "ask",
		`^docs/`: "", `^[a-z/]+\.md$`: "ask", `^[a-z]+/[a-z.]+\.md$`: "", `^docs/.*\.\./x$`: "", `^\.github/.*`: "", `^\.`: "ask",
		`.*`: "agent", ``: "agent", `^`: "agent", `.?`: "agent", `^.*$`: "ask",
	} {
		text := strings.Replace(everyGroup, " edit,", " [edit, {fileRegex: '"+re+"', description: d}],", 1)
		fsys := fstest.MapFS{".roomodes": {Data: []byte(text)}}
		got, diags := Import(contract.Source{Root: fsys}, format.Stock)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		can, is := got.Project.Modes[0].Can, ""
		if can.OutsideEdit != nil {
			is = can.OutsideEdit.Decision.String()
		} else if can.Edit.Default != nil {
			is = can.Edit.Default.Decision.String()
		}
		if is != want || can.Edit.Description != "d" {
			t.Errorf("%s: got %q (%q), want %q", re, is, can.Edit.Description, want)
		}
	}
}

// Lines of an ignore file deny what the agent refuses by them, and more only where a note says so. A file of which a
// line takes something back stays as it is.
func TestIgnoreLines(t *testing.T) {
	paths := []string{"x.md", "a/x.md", "a", "a/b", "b", "ab", "acb", "a/q/b", "x", "#y", "y", "m[", "m",
		".env", ".env.example", "ok.pem", "a/ok.pem",
		"k.pem", "secrets/pub.md", "secrets/x", "B/secrets/pub.md", ".rooignore"}
	for file, want := range map[string]struct {
		rules, left string
	}{
		"./x.md": {}, "a//b": {}, "../x": {}, "a/../b": {}, "/": {}, "//x": {}, "./": {}, "m[": {}, "!": {}, "!x": {},
		"a**b":                                 {rules: "a*b"},
		`\#y`:                                  {rules: "#y"},
		"a/**/b":                               {rules: "a/**/b"},
		"**/b":                                 {rules: "**/b"},
		"!ok.pem\n*.pem":                       {rules: "*.pem"},
		"*.pem\n!ok.pem":                       {left: "!ok.pem"},
		".env\n!.env.example":                  {rules: ".env"},
		".env*\n!.env.example":                 {left: "!.env.example"},
		"secrets\n!secrets/pub.md":             {rules: "secrets"},
		"Secrets/\n!/secrets/pub.md":           {rules: "**/Secrets/*"},
		"/secrets/\n!secrets/pub.md":           {rules: "/secrets/*"},
		"secrets/*\n!secrets/pub.md":           {left: "!secrets/pub.md"},
		"/secrets\n!B/secrets/pub.md":          {rules: "/secrets"},
		"secrets/\n!secrets/\n!secrets/pub.md": {left: "!secrets/"},
		"a/":                                   {rules: "**/a/*"},
		"/a/b/":                                {rules: "/a/b/*"},
		"*.d/":                                 {rules: "**/*.d/*"},
	} {
		files := map[string]string{".roomodes": everyGroup, ".rooignore": file}
		got, decide := importedMode(t, format.Stock, files)
		var rules, left []string
		for _, r := range got.Project.Modes[0].Can.Read.Rules {
			if r.Pattern.Text != ".rooignore" {
				rules = append(rules, r.Pattern.Text)
			}
		}
		for _, n := range got.Notes {
			if n.Kind == contract.Left {
				left = append(left, n.What)
			}
		}
		if is := strings.Join(rules, " "); is != want.rules || strings.Join(left, "\n") != want.left {
			t.Errorf("%q: got %s, left %q; want %s, left %q", file, is, left, want.rules, want.left)
		}
		d, _ := model.Open(got.Originals[0].Files, format.Stock)
		for _, p := range paths {
			read := policy.Action{Group: ir.Read, Arg: p}
			if was, is := d.Decide(ir.SubjectRef{Mode: "m"}, read).Decision > ir.Deny, decide(read) > ir.Deny; was != is {
				t.Errorf("%q: %s: the agent permits it: %t, and the import: %t", file, p, was, is)
			}
		}
	}
}
