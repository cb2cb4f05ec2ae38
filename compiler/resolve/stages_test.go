package resolve_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/resolve"
	"modec.dev/modec/compiler/shape"
	"modec.dev/modec/compiler/source"
	"modec.dev/modec/targets"
)

// copyOf returns a node that shares nothing with another.
func copyOf(n *source.Node) *source.Node {
	out := &source.Node{Kind: n.Kind, Pos: n.Pos, Text: n.Text}
	for _, f := range n.Fields {
		out.Set(source.Field{Name: f.Name, Pos: f.Pos, Node: copyOf(f.Node)})
	}
	for _, e := range n.Elems {
		out.Elems = append(out.Elems, copyOf(e))
	}
	return out
}

// TestStagesTakeValues holds on every fixture, valid or not, that checking and
// resolving leave the data as it is, that they say the same when asked again, and that
// whatever they report has a place.
func TestStagesTakeValues(t *testing.T) {
	sources := map[string]memfs.FS{}
	add := func(project, name string, data []byte) {
		if sources[project] == nil {
			sources[project] = memfs.FS{}
		}
		sources[project][name] = data
	}
	const fixtures = "../../fixtures"
	err := filepath.WalkDir(fixtures, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(fixtures, p)
		project, name, _ := strings.Cut(filepath.ToSlash(rel), "/")
		if project != "invalid" {
			add(project, name, b)
			return err
		}
		for _, f := range txtar.Parse(b).Files {
			add(rel, f.Name, f.Data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for project, files := range sources {
		tree, _ := source.Load(files, "modec")
		if tree.Root == nil {
			continue
		}
		before := copyOf(tree.Root)
		data, usable, diags := shape.Check(tree.Root)
		if _, _, again := shape.Check(tree.Root); !cmp.Equal(diags, again) {
			t.Errorf("%s: checked again: %s", project, cmp.Diff(diags, again))
		}
		if !source.Equal(before, tree.Root) {
			t.Errorf("%s: the check changed its data", project)
		}
		if !usable {
			continue
		}
		s := resolve.Settings{ClosedInventory: true, Dialects: contract.Dialects(targets.All())}
		before = copyOf(data)
		p, list := resolve.Resolve(data, tree.Texts, s)
		again, listAgain := resolve.Resolve(data, tree.Texts, s)
		if d := cmp.Diff(p, again); d != "" {
			t.Errorf("%s: resolved again: %s", project, d)
		}
		if d := cmp.Diff(list, listAgain); d != "" {
			t.Errorf("%s: resolved again: %s", project, d)
		}
		if !source.Equal(before, data) {
			t.Errorf("%s: resolving changed its data", project)
		}
		for _, d := range append(diags, list...) {
			if d.Pos.Line == 0 || d.Code == "" {
				t.Errorf("%s: %v has no place", project, d)
			}
		}
		checked++
	}
	if checked < 40 {
		t.Errorf("checked %d sources, want at least 40", checked)
	}
}

// grammar is a target with a rule grammar of its own: "run X" is neutral, "odd" its own,
// and "call SERVER TOOL" refers to the inventory.
type grammar struct{ contract.Target }

const codeBadRule diag.Code = "bad-test-rule"

func (grammar) Name() string       { return "test" }
func (grammar) BadRule() diag.Code { return codeBadRule }

func (grammar) RuleLists() []contract.RuleList {
	return []contract.RuleList{
		{Field: "disallowedTools", Decision: ir.Deny},
		{Field: "allowedTools", Decision: ir.Allow},
	}
}

func (grammar) TranslateRule(text string, d ir.Decision, inv contract.Inventory) ([]contract.NeutralRule, bool, error) {
	words := strings.Fields(text)
	switch words[0] {
	case "run":
		return []contract.NeutralRule{{Group: ir.Command, Pattern: ir.Pattern{Text: words[1]}}}, true, nil
	case "call":
		var known []string
		for _, s := range inv.Servers() {
			known = append(known, s.Name)
		}
		if !slices.Contains(known, words[1]) {
			return nil, inv.UnknownServer(words[1], known), nil
		}
		inv.Tool(words[1], words[2])
		return []contract.NeutralRule{{Group: ir.MCP, Server: words[1], Pattern: ir.Pattern{Text: words[2]}}}, true, nil
	case "enter":
		return []contract.NeutralRule{{Group: ir.Modes, Pattern: ir.Pattern{Text: words[1]}}}, inv.Mode(words[1]), nil
	case "odd":
		return nil, false, nil
	}
	return nil, false, errors.New("want run, call, enter or odd")
}

// Rules of a dialect become neutral where the dialect says so, stay its own where it
// does not, and are reported at their place where it cannot read them.
func TestDialect(t *testing.T) {
	tree, diags := source.Load(memfs.FS{"modec/a.cue": []byte(`package modec
servers: docs: {command: "d", tools: get: {}}
modes: a: {name: "A", roleDefinition: "r"}
roles: parent: allowedTools: ["run ls", "odd", "call docs get"]
roles: child: {extends: ["parent"], disallowedTools: ["run rm"], allowedTools: ["enter a", "enter b"]}
roles: bad: {disallowedTools: ["what"], allowedTools: ["call dosc get", "call docs gte"]}
`)}, "modec")
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	settings := resolve.Settings{ClosedInventory: true, Dialects: []contract.Dialect{grammar{}}}
	p, diags := resolve.Resolve(tree.Root, nil, settings)
	var got []string
	for _, d := range diags {
		got = append(got, d.String())
	}
	if d := cmp.Diff([]string{
		`modec/a.cue:6:32: error: got "what": want run, call, enter or odd [bad-test-rule]`,
		`modec/a.cue:6:56: error: got unknown server "dosc", want one of "docs" [unknown-server]`,
		`modec/a.cue:6:73: error: got unknown tool "gte", want one of "get" [unknown-tool]`,
	}, got); d != "" {
		t.Error(d)
	}
	at := func(line, col int) diag.Pos { return diag.Pos{File: "modec/a.cue", Line: line, Col: col} }
	child := p.Role("child")
	if d := cmp.Diff([]ir.NativeRule{
		{Target: "test", Decision: ir.Allow, Text: "enter b", Pos: at(5, 92)},
		{Target: "test", Decision: ir.Allow, Text: "odd", Pos: at(4, 41), From: "role parent"},
	}, child.Native); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]ir.Rule{
		{Decision: ir.Deny, Pattern: ir.Pattern{Text: "rm"}, Pos: at(5, 55)},
		{Decision: ir.Allow, Pattern: ir.Pattern{Text: "ls"}, Pos: at(4, 31), From: "role parent"},
	}, child.Can.Command.Rules); d != "" {
		t.Error(d)
	}
	for ask, want := range map[string]ir.Decision{
		"child command ls": ir.Allow, "child command rm": ir.Deny, "child command cp": ir.Agent,
		"child mcp docs:get": ir.Allow, "parent mcp docs:get": ir.Allow, "child modes a": ir.Allow,
	} {
		if got := decide(t, p, ask); got != want {
			t.Errorf("%s: got %s, want %s", ask, got, want)
		}
	}
}

// What an MCP entry says is inherited by its key, the child's own before it.
func TestEntriesAreInherited(t *testing.T) {
	p := model(t, map[string]string{"a.cue": `package modec
servers: docs: {command: "d", tools: {get: {}, put: {}}}
servers: other: {command: "o", tools: x: {}}
policies: {
	base: can: mcp: {default: "deny", docs: {allow: ["get"], default: "ask", resources: "deny"}, "o*": "ask"}
	more: {extends: ["base"], can: mcp: docs: {deny: ["put"], prompts: "ask"}}
}
modes: a: {name: "A", roleDefinition: "r", extends: ["more", "base"], can: mcp: docs: "allow"}
`})
	for ask, want := range map[string]ir.Decision{
		"a mcp docs:get": ir.Allow, "a mcp docs:put": ir.Deny, "a mcp other:x": ir.Ask,
	} {
		if got := decide(t, p, ask); got != want {
			t.Errorf("%s: got %s, want %s", ask, got, want)
		}
	}
	var got []string
	for _, e := range p.Mode("a").Can.MCP.Entries {
		got = append(got, e.Key+" of "+e.From)
	}
	want := []string{"docs of ", "docs of policy more", "docs of policy base", "o* of policy base"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
