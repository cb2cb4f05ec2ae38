package roo

import (
	"strings"
	"testing"

	"github.com/dlclark/regexp2"
	"github.com/goccy/go-yaml"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
)

var editRules = []ir.Rule{
	{Decision: ir.Allow, Pattern: ir.Pattern{Text: "docs/**"}},
	{Decision: ir.Allow, Pattern: ir.Pattern{Text: "*.md"}},
	{Decision: ir.Allow, Pattern: ir.Pattern{Kind: ir.Regex, Text: `^src/[a-z]+\.(ts|js)$`}},
	{Decision: ir.Ask, Pattern: ir.Pattern{Text: "infra/"}},
	{Decision: ir.Deny, Pattern: ir.Pattern{Text: "**/Secret?/*.{key,pem}"}},
	{Decision: ir.Deny, Pattern: ir.Pattern{Text: "Straße"}},
	{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.Regex, Text: `_gen\.`}},
}

// editor is a project of one mode with the edit rules that mask picks.
func editor(mask uint8, def ir.Decision, open bool) *ir.Project {
	t := &ir.Table{Default: &ir.Default{Decision: def}}
	for i, r := range editRules {
		if mask&(1<<i) != 0 {
			t.Rules = append(t.Rules, r)
		}
	}
	if open {
		t.Open = []ir.OpenPath{{Path: ".claude/x.md"}}
	}
	return &ir.Project{Version: ir.Version, ClosedInventory: true, Modes: []ir.Mode{{Slug: "m", Name: "M", RoleDefinition: "r", Can: ir.Can{Edit: t}}},
		Guards: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Text: ".claude/**"}, Pos: diag.Pos{File: "modec:guards", Line: 1}}}}
}

func emitter1(t *testing.T, p *ir.Project) (*emitter, *policy.Subject) {
	t.Helper()
	e := policy.New(p)
	s, err := e.Subject(ir.SubjectRef{Mode: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return &emitter{in: target.Input{Project: p, Policy: e, Options: target.NewOptions(New().Options(), nil, nil)}, name: "roo", dialect: stock}, s
}

// neverWider holds an emitted fileRegex to the source: Roo may edit only what
// the source does not deny, and every clean path that it does not.
func neverWider(t *testing.T, mask uint8, def ir.Decision, open bool, path string) {
	t.Helper()
	p := editor(mask, def, open)
	e, s := emitter1(t, p)
	g, ok := e.edit(&p.Modes[0], s)
	roo := false
	if ok {
		re, err := regexp2.Compile(g.regex, regexp2.ECMAScript)
		if err != nil {
			t.Fatalf("%q: %v", g.regex, err)
		}
		if roo, err = re.MatchString(path); err != nil {
			t.Fatal(err)
		}
	}
	d := s.Decide(policy.Action{Group: ir.Edit, Arg: path}).Decision
	if roo && d == ir.Deny {
		t.Errorf("Roo may edit %q, and the source denies it (rules %b, default %s)\n%s", path, mask, def, g.regex)
	}
	if plain := strings.IndexFunc(path, func(r rune) bool { return r > 0x7e || r < 0x20 || strings.ContainsRune(`\:~`, r) }) < 0; !roo && d > ir.Deny && plain && clean(path) && ok {
		t.Errorf("the source lets %q be edited, and Roo does not (rules %b, default %s)\n%s", path, mask, def, g.regex)
	}
}

func clean(p string) bool {
	for _, s := range strings.Split(p, "/") {
		if s == "" || s == "." || s == ".." {
			return false
		}
	}
	return true
}

var editPaths = []string{"docs/a", "docs", "a.md", "x/a.md", "A.MD", "src/a.ts", "src/A.ts", "src/a.tsx", "infra/x/y", "infra", "INFRA/x", "a/secret1/x.key", "Secret1/X.PEM", "strasse", "STRASSE", "straße/x", "a_gen.md", "_GEN.md", ".claude/x.md", ".CLAUDE/y.md", ".claude/y.md",
	"../a.md", "/a.md", "a//b.md", "./a.md", "docs/../.claude/x.md", `docs\a.md`, `.claude\x.md`, "~/a.md", "c:/a.md", "C:a.md", "docs/a\n.md", "\n.md", "e\u0301.md", "👩.md", "a\x00.md", "Secre\u0074\u0301/x.key"}

func TestEditIsNeverWider(t *testing.T) {
	for mask := range uint8(1 << len(editRules)) {
		for _, def := range []ir.Decision{ir.Deny, ir.Allow} {
			for _, path := range editPaths {
				neverWider(t, mask, def, mask%2 == 0, path)
			}
		}
	}
}

func FuzzEditIsNeverWider(f *testing.F) {
	for i, p := range editPaths {
		f.Add(uint8(i*37), i%2 == 0, i%3 == 0, p)
	}
	f.Fuzz(func(t *testing.T, mask uint8, allow, open bool, path string) {
		def := ir.Deny
		if allow {
			def = ir.Allow
		}
		if len(path) < 200 && path != "" && strings.ToValidUTF8(path, "") == path {
			neverWider(t, mask&0x7f, def, open, path)
		}
	})
}

// Roo cleans the raw text before it parses; what is written survives it.
func rooClean(s string) string {
	return strings.NewReplacer("\u00A0", " ", "\u200B", "", "\u200C", "", "\u200D", "", "\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-",
		"\u2018", "'", "\u2019", "'", "\u201C", `"`, "\u201D", `"`).Replace(s)
}

// asMap reads the modes file with its own keys.
func asMap(t *testing.T, out []byte) map[string]any {
	t.Helper()
	var got struct {
		CustomModes []map[string]any `yaml:"customModes"`
	}
	if err := yaml.Unmarshal([]byte(rooClean(string(out))), &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return got.CustomModes[0]
}

var hostile = []string{"He said “hi” — it’s\u00A0ok", "a\u200Db", "- x", "# no comment", "---\nfront\n---\n", "a: b", "'\"`", "x\ny\n\n", "\n\nlead", "  indented\nless", "tab\there\nand\t\n", "trailing  \nspace ", "👩‍💻", "\u2028\u2029\uFEFF", "\x1b[31m", "yes", "null", "12", "", "line\r\nend", "日本\n語\n"}

func TestTextSurvives(t *testing.T) {
	for _, text := range hostile {
		for _, write := range []func([]mode) []byte{writeYAML, writeJSON} {
			got := asMap(t, write([]mode{{slug: "m", name: text, role: text}}))
			if got["name"] != text || got["roleDefinition"] != text {
				t.Errorf("%q comes back as %q and %q", text, got["name"], got["roleDefinition"])
			}
		}
	}
}

func TestToolName(t *testing.T) {
	for in, want := range map[[2]string]string{
		{"my server", "get_x"}:         "mcp__my_server__get_x",
		{"a.b", "c--d"}:                "mcp__ab__c_d",
		{"9x", "t"}:                    "mcp___9x__t",
		{strings.Repeat("s", 70), "t"}: "mcp__" + strings.Repeat("s", 59),
	} {
		if got := toolName(in[0], in[1]); got != want {
			t.Errorf("%v: got %s, want %s", in, got, want)
		}
	}
}
