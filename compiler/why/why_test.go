package why_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/why"
	"modec.dev/modec/targets"
)

const source = `package modec

servers: docs: {
	command: "docs-mcp"
	args: ["--stdio"]
	tools: {search: {}, drop: {}}
}
policies: house: can: command: deny: ["rm -rf *"]
modes: writer: {
	name:           "Writer"
	whenToUse:      "When text is due."
	roleDefinition: "You write."
	extends: ["house"]
	can: {
		read: "allow"
		edit: allow: ["docs/**"]
		mcp: docs: {allow: ["search"], deny: ["drop"]}
	}
}
roles: dev: {
	extends: ["house"]
	permissionMode: "acceptEdits"
	can: command: {
		allow: ["make test", "make lint"]
		deny: ["rm -rf *"]
		default: "ask"
	}
}
`

func compiled(t *testing.T) *compiler.Result {
	t.Helper()
	res, diags := compiler.Compile(
		t.Context(),
		compiler.Request{
			FS: fstest.MapFS{
				"modec.toml":  {Data: []byte("[targets.roo]\n[targets.claude]\n")},
				"modec/a.cue": {Data: []byte(source)},
			},
			Targets: targets.All(),
			Today:   time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		},
	)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return res
}

// TestLine finds the part behind lines of several artifacts.
func TestLine(t *testing.T) {
	res := compiled(t)
	for _, c := range []struct {
		file, line string
		want       []string
	}{
		{".roomodes", `name: "Writer"`, []string{"name of mode writer at 9 changes"}},
		{".roomodes", `roleDefinition: "You write."`, []string{"roleDefinition of mode writer at 9 changes"}},
		{"session:claude/dev.settings.json", `"Bash(make lint)"`, []string{`allow "make lint" in can.command of role dev at 24 makes`}},
		// Two make it, and each is enough.
		{"session:claude/dev.settings.json", `"Bash(rm -rf *)"`, []string{`deny "rm -rf *" in can.command of policy house of role dev at 8 makes`, `deny "rm -rf *" in can.command of role dev at 25 makes`}},
		{".mcp.json", `"command": "docs-mcp",`, []string{"command of server docs at 3 changes"}},
		{".mcp.json", `"--stdio"`, []string{"args of server docs at 3 makes"}},
		{".mcp.json", `{`, []string{"server docs at 3 makes"}},
		{".claude/agents/writer.md", `You write.`, []string{"roleDefinition of mode writer at 9 changes"}},
	} {
		_, emit, ok := res.Emitter(c.file)
		if !ok {
			t.Fatalf("no %s", c.file)
		}
		data, _ := emit(res.Project)
		line := 0
		for i, l := range strings.Split(string(data), "\n") {
			if strings.TrimSpace(l) == c.line {
				line = i + 1
				break
			}
		}
		if line == 0 {
			t.Errorf("%s has no line %s:\n%s", c.file, c.line, data)
			continue
		}
		tried := 0
		causes, err := why.Line(res.Project, emit, line, func(done, total int) {
			if tried++; done > total {
				t.Errorf("%d of %d", done, total)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range causes {
			of, effect := "", "changes"
			if x.Of != "" {
				of = " of " + x.Of
			}
			if x.Gone {
				effect = "makes"
			}
			got = append(got, fmt.Sprintf("%s%s at %d %s", x.What, of, x.Pos.Line, effect))
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %s\ngot  %q\nwant %q", c.file, c.line, got, c.want)
		}
		if tried == 0 {
			t.Error("no progress")
		}
	}
}

func TestNoLine(t *testing.T) {
	res := compiled(t)
	_, emit, _ := res.Emitter(".mcp.json")
	data, _ := emit(res.Project)
	n := strings.Count(string(data), "\n")
	for line, ok := range map[int]bool{-1: false, 0: false, 1: true, n: true, n + 1: false} {
		if _, err := why.Line(res.Project, emit, line, nil); (err == nil) != ok {
			t.Errorf("line %d of %d: got %v", line, n, err)
		}
	}
	if _, _, ok := res.Emitter("README.md"); ok {
		t.Error("README.md is an artifact")
	}
}

// TestShared finds the rule of a policy in a line that stays as long as any subject has the rule.
func TestShared(t *testing.T) {
	rule := func(line int, text string) ir.Rule {
		return ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: text}, From: "policy house",
			Pos: diag.Pos{File: "modec/house.cue", Line: line, Col: 1}}
	}
	of := func(slug string) ir.Mode {
		return ir.Mode{Slug: slug, Pos: diag.Pos{File: "modec/" + slug + ".cue", Line: 1, Col: 1},
			Can: ir.Can{Command: &ir.Table{Rules: []ir.Rule{rule(3, "rm *"), rule(2, "dd *")}}}}
	}
	project := &ir.Project{Version: ir.Version, Modes: []ir.Mode{of("a"), of("b"), of("c")}}
	emit := func(p *ir.Project) ([]byte, bool) {
		var lines []string
		for i := range p.Modes {
			for _, r := range p.Modes[i].Can.Command.Rules {
				lines = append(lines, r.Pattern.Text+"\n")
			}
		}
		slices.Sort(lines)
		return []byte(strings.Join(slices.Compact(lines), "")), true
	}
	causes, err := why.Line(project, emit, 2, nil)
	want := []why.Cause{{What: `deny "rm *" in can.command of policy house`, Of: "mode a and 2 more",
		Pos: diag.Pos{File: "modec/house.cue", Line: 3, Col: 1}, Gone: true}}
	if d := cmp.Diff(want, causes); err != nil || d != "" {
		t.Errorf("got error %v and causes (-want +got)\n%s", err, d)
	}
}

// A line that people wrote in their own way is that on which the same entry begins.
func TestEmittedInAnotherWay(t *testing.T) {
	for _, c := range []struct {
		name, disk, emitted string
		line, want          int
	}{
		{"a list in one line", "{\n\"a\": [\"x\", \"y\"]}", "{\n  \"a\": [\n    \"x\"\n  ]\n}", 2, 2},
		{"another order", "{\"a\": [\n\"x\",\n\"y\"\n]}",
			"{\n  \"a\": [\n    \"z\",\n    \"y\",\n    \"x\"\n  ]\n}", 2, 5},
		{"modes by their slug", "m:\n- {slug: b, n: 1}\n- {slug: a, n: 2}",
			"m:\n  - slug: a\n    n: 1\n  - slug: b\n    n: 1\n", 2, 4},
		{"front matter", "---\nname: a\ntools: Read, Grep\n---\nx", "---\nname: \"a\"\ntools: \"Grep\"\n---\nx", 3, 3},
		{"what is not emitted", "{\n\"a\": 1,\n\"b\": 2}", "{\n  \"a\": 1\n}", 3, 0},
		{"a comment", "# x\na: b\n", "a: \"b\"\n", 1, 0},
		{"a text", "x\n", "y\n", 1, 0},
	} {
		if got := why.Emitted([]byte(c.disk), []byte(c.emitted), c.line); got != c.want {
			t.Errorf("%s: got line %d, want %d", c.name, got, c.want)
		}
	}
}
