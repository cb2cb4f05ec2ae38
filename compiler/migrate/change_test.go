package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/memfs"
)

// TestApply makes changes of a source with comments and a layout of its own.
func TestApply(t *testing.T) {
	const was = `package modec

// Who writes.
modes: docs: {
	name: "Docs" // in English
	can: {
		edit: {
			allow: ["docs/**"] // and nothing else
		}
		mcp: github: "allow"
	}
	mcpRestrictions: {
		allowedServers: ["github"]
		disallowedTools: [{serverName: "github", toolName: "delete_*"}, {toolName: "x", serverName: "y"}]
	}
}

policies: house: can: command: deny: ["rm *"]
`
	mode := func(at ...string) []string { return append([]string{"modes", "docs"}, at...) }
	for _, c := range []struct {
		name    string
		changes []Change
		old, is string // what stands in the place of what; "": a file of its own
		why     string
	}{
		{"an item", []Change{{At: mode("can", "edit", "allow"), Do: Add, Value: "*.md"}},
			`["docs/**"] //`, `["docs/**", "*.md"] //`, ""},
		{"an expression", []Change{{At: mode("can", "edit", "allow"), Do: Add, Value: `^a\.md$`, Form: RegexItem}},
			`["docs/**"] //`, `["docs/**", {regex: #"^a\.md$"#}] //`, ""},
		{"the last item of a list", []Change{{At: []string{"policies", "house", "can", "command", "deny"}, Do: Drop, Value: "rm *"}},
			"\n\npolicies: house: can: command: deny: [\"rm *\"]\n", "\n", ""},
		{"the last item of a list that limits", []Change{{At: mode("mcpRestrictions", "allowedServers"), Do: Drop, Value: "github"}},
			`allowedServers: ["github"]`, `allowedServers: []`, ""},
		{"a list that limits", []Change{{At: mode("mcpRestrictions", "allowedServers"), Do: Unset}},
			"\t\tallowedServers: [\"github\"]\n", "", ""},
		{"a tool", []Change{{At: mode("mcpRestrictions", "disallowedTools"), Do: Add, Value: "github:merge_*", Form: ToolItem}},
			`serverName: "y"}]`, `serverName: "y"}, {serverName: "github", toolName: "merge_*"}]`, ""},
		{"a tool out, however it is written", []Change{{At: mode("mcpRestrictions", "disallowedTools"), Do: Drop, Value: "y:x", Form: ToolItem}},
			`, {toolName: "x", serverName: "y"}]`, `]`, ""},
		{"a word becomes a table", []Change{{At: mode("can", "mcp", "github", "deny"), Do: Add, Value: "delete_*"}},
			`github: "allow"`, `github: {deny: ["delete_*"], default: "allow"}`, ""},
		{"beside a field without braces", []Change{{At: mode("can", "mcp", "docs", "deny"), Do: Add, Value: "x"}},
			"github: \"allow\"\n", "{github: \"allow\", docs: deny: [\"x\"]}\n", ""},
		{"a default", []Change{{At: mode("can", "mcp", "github"), Do: Decide, Value: "ask"}},
			`github: "allow"`, `github: "ask"`, ""},
		{"two after another", []Change{{At: mode("can", "edit", "allow"), Do: Add, Value: "a"}, {At: mode("can", "edit", "allow"), Do: Drop, Value: "docs/**"}},
			`["docs/**"] //`, `["a"] //`, ""},
		{"a text", []Change{{At: mode("name"), Do: Say, Value: "Texts"}}, `name: "Docs"`, `name: "Texts"`, ""},
		{"what is not there", []Change{{At: mode("can", "edit", "allow"), Do: Drop, Value: "x"}}, "", "",
			`cannot take "x" out of modes.docs.can.edit.allow: the list at modec/a.cue:8:11 does not say it alone`},
		{"what is there", []Change{{At: mode("can", "edit", "allow"), Do: Add, Value: "docs/**"}}, "", "", "the source says it already"},
		{"nothing", []Change{{At: mode("can"), Do: "x"}}, "", "", "want add, drop"},
	} {
		files, err := Apply(memfs.FS{"modec/a.cue": []byte(was)}, "modec", c.changes...)
		if c.why != "" {
			if err == nil || !strings.Contains(err.Error(), c.why) || files != nil {
				t.Errorf("%s: got %v and %d files, want %s", c.name, err, len(files), c.why)
			}
			continue
		}
		if err != nil || len(files) != 1 || files[0].Path != "modec/a.cue" {
			t.Errorf("%s: got %d files and %v", c.name, len(files), err)
			continue
		}
		want := strings.Replace(was, c.old, c.is, 1)
		if want == was {
			t.Fatalf("%s: the source has no %s", c.name, c.old)
		}
		if d := cmp.Diff(want, string(files[0].Data)); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, d)
		}
	}
	calm := Change{At: []string{"policies", "calm", "can", "command"}, Do: Decide, Value: "ask"}
	const said = "policies: calm: can: command: \"ask\"\n"
	for _, c := range []struct{ was, file, is string }{
		{was, "modec/a.cue", was + "\n" + said}, // beside the others
		{"package modec\n\nroles: {}\n", "modec/policies/calm.edits.cue", "package modec\n\n" + said},
	} {
		files, err := Apply(memfs.FS{"modec/a.cue": []byte(c.was)}, "modec", calm)
		if err != nil || len(files) != 1 || files[0].Path != c.file || string(files[0].Data) != c.is {
			t.Errorf("a policy that is new: got %d files and %v, want %s:\n%s", len(files), err, c.file, c.is)
		}
	}
}
