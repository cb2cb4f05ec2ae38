package model

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/roo/format"
)

var update = flag.Bool("update", false, "rewrite e2e/testdata/decide.json")

// TestAgentData holds e2e/testdata/decide.json to what the decider says:
// e2e/decide.test.mjs asks Roo's own schema, YAML reader and ignore reader the same.
func TestAgentData(t *testing.T) {
	data, err := json.MarshalIndent(map[string]any{
		"loads": loadCases(), "paths": ignoreTried, "lines": linesTried, "ignores": ignoreCases(), "acme": acmeCases(t),
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	path := filepath.Join("..", "e2e", "testdata", "decide.json")
	if *update {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%s is stale (%v): `go test ./targets/roo/model -update` rewrites it", path, err)
	}
}

// loadCase is a modes file, and the modes that it has with their groups; nil
// where it does not load.
type loadCase struct {
	Text  string              `json:"text"`
	Modes map[string][]string `json:"modes"`
}

func oneMode(groups, more string) string {
	return "customModes:\n  - slug: a\n    name: n\n    roleDefinition: r\n    groups: " + groups + "\n" + more
}

// loadTexts are modes files with every corner of the loader.
var loadTexts = []string{
	"", "customModes:\n", "customModes: []\n", "customModes: 0\n", "customModes: x\n", "customModes: {}\n", "- slug: a\n", "x: 1\n", "{", "null", "~",
	"customModes:\n\t- slug: a\n", "customModes: []\ncustomModes: []\n", "---\ncustomModes: []\n---\nx: 1\n", "---\ncustomModes: []\n", "# c\n---\ncustomModes: []\n", "customModes: []\n---\n", "customModes: []\n...\n", "%YAML 1.2\n---\ncustomModes: []\n",
	oneMode("[]", ""), oneMode("[read, edit, command, mcp, modes]", ""), oneMode("[read, read]", ""), oneMode("[edit, [edit, {fileRegex: x}]]", ""),
	oneMode("[browser, [browser, {}], [browser], read]", ""), oneMode("[web]", ""), oneMode("[foo]", ""), oneMode("[Read]", ""), oneMode("[1]", ""), oneMode("[null]", ""), oneMode("null", ""), oneMode("read", ""), oneMode("{read: {}}", ""),
	oneMode(`[[edit, {fileRegex: "("}]]`, ""), oneMode(`[[read, {fileRegex: "("}]]`, ""), oneMode(`[[edit, {fileRegex: "(?i)\\.md$"}]]`, ""), oneMode(`[[edit, {fileRegex: "^(?!src/).*$"}]]`, ""), oneMode(`[[edit, {fileRegex: ""}]]`, ""), oneMode(`[[edit, {fileRegex: null}]]`, ""), oneMode(`[[edit, {fileRegex: 1}]]`, ""), oneMode(`[[edit, {fileRegex: 1_0}]]`, ""), oneMode(`[[edit, {description: 1}]]`, ""), oneMode(`[[edit, {description: d, more: 1}]]`, ""),
	oneMode("[[edit]]", ""), oneMode("[[edit, {}, {}]]", ""), oneMode("[[edit, []]]", ""), oneMode("[[edit, null]]", ""), oneMode("[[mcp, {allowedMcpServers: [x]}]]", ""), oneMode("[{edit: {fileRegex: x}}]", ""), oneMode("[[]]", ""),
	oneMode("\n      - read\n      - - edit\n        - fileRegex: \\.md$\n          description: md", ""),
	oneMode("[read]", "    mcpRestrictions: {allowedServers: 1}\n    allowedMcpServers: [y]\n    rulesFiles: 1\n"),
	oneMode("[read]", "    whenToUse: null\n"), oneMode("[read]", "    whenToUse: 1\n"), oneMode("[read]", "    description: yes\n"), oneMode("[read]", "    description: true\n"), oneMode("[read]", "    customInstructions: \"\"\n"), oneMode("[read]", "    source: project\n"), oneMode("[read]", "    source: organization\n"), oneMode("[read]", "    source: null\n"),
	oneMode("[read]", "  - {slug: b, name: n, roleDefinition: r, groups: []}\n"), oneMode("[read]", "  - {slug: a, name: n, roleDefinition: r, groups: []}\n"), oneMode("[read]", "  - {slug: b, name: n, roleDefinition: r}\n"), oneMode("[read]", "  - null\n"), oneMode("[read]", "other: 1\n"),
	strings.Replace(oneMode("[]", ""), "slug: a", "slug: a_b", 1), strings.Replace(oneMode("[]", ""), "slug: a", `slug: ""`, 1), strings.Replace(oneMode("[]", ""), "slug: a", `slug: "a\n"`, 1), strings.Replace(oneMode("[]", ""), "slug: a", "slug: 123", 1), strings.Replace(oneMode("[]", ""), "slug: a", "slug: A-1", 1), strings.Replace(oneMode("[]", ""), "slug: a", "slug: null", 1), strings.Replace(oneMode("[]", ""), "slug: a", "slug: 0o7", 1),
	strings.Replace(oneMode("[]", ""), "name: n", "name: \"\"", 1), strings.Replace(oneMode("[]", ""), "name: n", "name: ' '", 1), strings.Replace(oneMode("[]", ""), "name: n", "name: yes", 1), strings.Replace(oneMode("[]", ""), "name: n", "name: 1.5", 1), strings.Replace(oneMode("[]", ""), "name: n", "name: [n]", 1), strings.Replace(oneMode("[]", ""), "name: n", "nam: n", 1),
	// What cleaning does to the raw text.
	strings.Replace(oneMode("[]", ""), "name: n", "name: \"He said “hi”\"", 1), strings.Replace(oneMode("[]", ""), "name: n", "name: He said “hi”", 1), strings.Replace(oneMode("[]", ""), "name: n", "name: 'It’s'", 1), strings.Replace(oneMode("[]", ""), "name: n", "name: — b", 1), strings.Replace(oneMode("[]", ""), "name: n", "name: \u200b", 1), strings.Replace(oneMode("[]", ""), "name: n", "name:\u00a0n", 1), strings.Replace(oneMode("[read]", ""), "slug: a", "slug: a–b", 1), strings.Replace(oneMode("[read]", ""), "slug: a", "slug: a\u200d", 1),
	"\uFEFF" + oneMode("[read]", ""),
	// JSON, and the fallback to it.
	`{"customModes":[{"slug":"a","name":"He “hi”","roleDefinition":"r — x","groups":["read"]}]}`, "\uFEFF" + `{"customModes":[{"slug":"a","name":"n","roleDefinition":"r","groups":["read"]}]}`, "\uFEFF" + `{"customModes":[{"slug":"a","name":"He “hi”","roleDefinition":"r","groups":["read"]}]}`,
	"{\n// c\n\"customModes\":[]}", "{\n\t\"customModes\":[\n\t\t{\"slug\":\"a\",\"name\":\"n\",\"roleDefinition\":\"r\",\"groups\":[\"read\"]}\n\t]\n}", `{"customModes":[{"slug":"a","name":"n","roleDefinition":"r","groups":["read",]},]}`, `{"customModes":[],"customModes":[]}`, `{"customModes":[{"slug":"a","name":"“","roleDefinition":"r","groups":["read"],"groups":["edit"]}]}`,
	// Anchors are followed, a merge key is an ordinary key.
	strings.Replace(oneMode("[read]", ""), "groups", "gro\tups", 1), strings.Replace(oneMode("[read]", ""), "slug: a", "slug:\ta", 1), strings.Replace(oneMode("[read]", ""), "slug: a", "slug: a\t# c", 1),
	"x: &x {roleDefinition: r, groups: [read]}\ncustomModes:\n  - <<: *x\n    slug: a\n    name: n\n", "customModes:\n  - slug: a\n    name: n\n    roleDefinition: &r hi\n    groups: &g [read]\n  - slug: b\n    name: n\n    roleDefinition: *r\n    groups: *g\n", "customModes: *x\n",
}

func loadCases() []loadCase {
	var cases []loadCase
	for _, text := range loadTexts {
		c := loadCase{Text: text}
		if modes, err := format.ReadModes(".roomodes", []byte(text), format.Stock); err == nil {
			c.Modes = map[string][]string{}
			for _, m := range modes {
				groups := []string{}
				for _, g := range m.Groups {
					groups = append(groups, g.Name)
				}
				slices.Sort(groups)
				c.Modes[m.Slug] = groups
			}
		}
		cases = append(cases, c)
	}
	return cases
}

// bits writes an answer for each of a list: 1 for yes.
func bits(list []string, yes func(string) bool) string {
	b := make([]byte, len(list))
	for i, s := range list {
		b[i] = '0'
		if yes(s) {
			b[i] = '1'
		}
	}
	return string(b)
}

// ignoreCase is an ignore file and which paths and command lines it keeps
// from Roo's tools.
type ignoreCase struct {
	Text    string `json:"text"`
	Held    string `json:"held"`
	Refused string `json:"refused"`
}

var ignoreTexts = []string{
	"", "\n", "# c\n", "*\n", "*\n!a\n", "a\n", "/a\n", "a/\n", "/a/\n", "a/b\n", "a/*\n", "a/**\n", "**/a\n", "**/a/b\n", "a/**/b\n", "**\n", "*.pem\n!ok.pem\n", "dir/\n!dir/x\n", "dir/*\n!dir/x\n", "!a\n", "\\!a\n", "\\#a\n", "#a\n", "a \n", "a\\ \n", "a\\\n", "a\\\\\n", " a\n", "  \n", "[ab]\n", "[!ab]\n", "[^ab]\n", "[b-a]\n", "[a\n", "a]\n", "[]\n", "?\n", "a?\n", "a*b\n", "*a*\n", "a**b\n", "***\n", "a.b\n", "a+b\n", "(a)\n", "{a,b}\n", "a|b\n", "$a\n", "^a\n", ".\n", "..\n", "./a\n", "../a\n", "/\n", "//\n", "a//b\n", "a\r\nb\r\n", "\uFEFFa\n", "\uFEFF#a\n", "é\n", "É\n", "K\n", "\u212a\n", "ſ\n", "ß\n", "Σ\n", "😀\n", "😀?\n", "[😀]\n", "a\u00a0\n", "a\tb\n", "[[:alpha:]]\n", "a[/]b\n", "\\a\n", "\\*\n", "\\[a]\n", "a\\/b\n", "*.[kK]ey\n[sſ]ecret[sſ]\n.env.*\n", "a\n!a\na\n", "a/\n!a/b\n", "!*\n*\n", ".rooignore\n", "!.rooignore\n", "a{2}\n", "(\n", "[z-a]\n[\n", "a[]b\n", "[a-\n", "x[\\]y\n", "*/\n", "*/b\n", "/*\n!/a\n", "/*/b\n",
}

var ignoreTried = []string{
	"", ".", "..", "a", "A", "b", "ab", "a/b", "a/b/c", "x/a", "x/a/b", "x/y/b", "a/x/b", "a/x/y/b", "dir", "dir/x", "dir/y", "dir/x/z", "k.pem", "x/K.PEM", "ok.pem", ".env", ".env.local", "a.b", "axb", "a+b", "(a)", "{a,b}", "a|b", "$a", "^a", "#a", "!a", "a ", " a", "\\a", "a\\b", "*", "[a]", "]", "a]", "é", "É", "e\u0301", "k", "K", "\u212a", "s", "ſ", "x.Key", "x.\u212aey", "secrets/x", "ſecretſ", "ß", "ẞ", "σ", "ς", "😀", "😀x", "x😀", "a\u00a0", "a\tb", "alpha", "l", ".rooignore", "x/.rooignore", "./a", "a/", "x/../a", "../a", "/a", "a/../../a", "...", "..a", "a\nb", "aa", "a{2}", "a[]b", "x]y", "a/./b", "a\\..\\b", "z",
}

var linesTried = []string{"cat a", "CAT a", "cat 'a'", "cat -a", "cat /a", "cat x:a", "cat  x\ta", "echo a", "grep p a/b", "", " ", "cat", "sed\u00a0a", "type a\\b", "cat ../a", "cat ~/a", "cat b && cat a", "true; cat a", "Get-Content a"}

func ignoreCases() []ignoreCase {
	var cases []ignoreCase
	for _, text := range ignoreTexts {
		g := openIgnore(tree(map[string]string{".rooignore": text}), ".rooignore")
		cases = append(cases, ignoreCase{
			Text:    text,
			Held:    bits(ignoreTried, func(p string) bool { return g.refuses(p) != nil }),
			Refused: bits(linesTried, func(line string) bool { return g.command(line) != nil }),
		})
	}
	return cases
}

// acmeCase is what a mode of the showcase is denied in Roo. The artifacts are
// those of golden, which e2e builds anew.
type acmeCase struct {
	Mode   string   `json:"mode"`
	Group  ir.Group `json:"group"`
	Tried  []string `json:"tried"`
	Denied string   `json:"denied"`
}

func acmeCases(t *testing.T) []acmeCase {
	t.Helper()
	d, warned := opened(t, format.Stock, os.DirFS(filepath.Join("..", "..", "..", "golden", "acme", "roo")))
	if warned != "" {
		t.Fatal(warned)
	}
	data, err := os.ReadFile(filepath.Join("..", "e2e", "testdata", "paths.json"))
	var edited []string
	if err == nil {
		err = json.Unmarshal(data, &edited)
	}
	if err != nil {
		t.Fatal(err)
	}
	var cases []acmeCase
	for _, mode := range []string{"architect", "ask", "code", "debug", "docs-writer", "orchestrator", "release-manager", "security-review"} {
		for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command} {
			tried := []string{"cat .env", "cat k.pem", "cat 'k.pem'", "rm -rf /"}
			if g != ir.Command {
				tried = slices.DeleteFunc(slices.Concat(edited, ignoreTried), func(p string) bool { return strings.Contains(p, "\x00") })
			}
			cases = append(cases, acmeCase{mode, g, tried, bits(tried, func(arg string) bool {
				v := d.Decide(ir.SubjectRef{Mode: mode}, on(g, arg))
				letters := v.Hole != nil && strings.HasPrefix(v.Hole.Why, "letters are compared")
				return v.Decision == ir.Deny && !letters
			})})
		}
	}
	return cases
}
