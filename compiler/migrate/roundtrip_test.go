package migrate_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/targets"
)

// formats are the targets whose artifacts can be imported again.
var formats = []string{"roo", "zoo", "cursor", "claude", "thurbox"}

// TestRoundTrip imports what modec itself emitted for every fixture, builds it,
// imports that again and builds again: after a few rounds nothing changes, and no step
// is wider.
func TestRoundTrip(t *testing.T) {
	fixtures, err := filepath.Glob("../../fixtures/*/modec.toml")
	if err != nil || len(fixtures) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, config := range fixtures {
		for _, from := range formats {
			t.Run(from+"/"+filepath.Base(filepath.Dir(config)), func(t *testing.T) {
				t.Parallel()
				second, ok := rebuilt(t, from, emitted(t, filepath.Dir(config), from))
				if !ok {
					return // nothing of it names a mode, a role or a server
				}
				third, ok := rebuilt(t, from, second)
				if !ok {
					third = second // servers that nobody may use are built for nobody
				}
				// What the first import made narrower may make more needless, and the project's
				// settings become a role's file before they are read as one.
				for round := 0; round < 2 && !cmp.Equal(second, third, sortedJSON); round++ {
					second = third
					if third, ok = rebuilt(t, from, second); !ok {
						t.Fatal("what was built holds nothing")
					}
				}
				if d := cmp.Diff(second, third, sortedJSON); d != "" {
					t.Errorf("built from the import, and from its import (-want +got)\n%s", d)
				}
			})
		}
	}
}

// sortedJSON compares JSON files without regard to the order of lists of texts:
// rules have none.
var sortedJSON = cmp.Comparer(func(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return cmp.Equal(sorted(x), sorted(y))
})

func sorted(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = sorted(v[i])
		}
		slices.SortFunc(out, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return out
	case map[string]any:
		for k := range v {
			v[k] = sorted(v[k])
		}
	}
	return v
}

// emitted compiles a fixture for one target, without its hook.
func emitted(t *testing.T, dir, from string) map[string]string {
	t.Helper()
	files := tree1(t, dir)
	tree := fstest.MapFS{}
	for name, text := range files {
		if name == "modec.toml" {
			text = regexp.MustCompile(`(?ms)^\[targets\..*?(^\[\[|\z)`).ReplaceAllString(text, "$1")
			text = regexp.MustCompile(`(?m)^\[\[exceptions(.|\n)*`).ReplaceAllString(text, "")
			text += "\n[targets." + from + "]\n"
		}
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	res, diags := compiler.Compile(t.Context(), compiler.Request{FS: tree, Targets: targets.All(), Today: today, Unhooked: true})
	if res == nil {
		t.Fatal(diags)
	}
	return artifacts(res, from)
}

func artifacts(res *compiler.Result, from string) map[string]string {
	out := map[string]string{}
	for _, o := range res.Outputs {
		if o.Target.Name() == from {
			for _, f := range o.Files {
				out[f.Path] = string(f.Data)
			}
		}
	}
	return out
}

func tree1(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, err := os.ReadFile(filepath.Join(dir, p))
			files[p] = string(b)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// rebuilt migrates files and returns what the target builds of the result; false
// where there is nothing to migrate.
func rebuilt(t *testing.T, from string, files map[string]string) (map[string]string, bool) {
	t.Helper()
	res, diags := run(t, files, func(r *migrate.Request) { r.From = from })
	if res == nil {
		if strings.Contains(diags.Error(), "nothing-to-migrate") {
			return nil, false
		}
		t.Fatal(diags)
	}
	tree := res.FS.(memfs.FS)
	built, diags := compiler.Compile(t.Context(), compiler.Request{FS: tree, Targets: targets.All(), Today: today, Unhooked: true})
	if built == nil {
		t.Fatal(diags)
	}
	return artifacts(built, from), true
}

// FuzzImport: no file makes an importer panic, and what is imported compiles and is
// not wider than the file.
func FuzzImport(f *testing.F) {
	names := []string{".roomodes", ".zoomodes", ".kilocodemodes", ".roo/mcp.json", ".rooignore", ".claude/settings.json", ".claude/agents/a.md", ".mcp.json", ".cursor/permissions.json", ".cursor/cli.json", ".cursor/mcp.json", ".thurbox/set_roles.json"}
	for i, name := range names {
		for _, tree := range []string{"roo", "zoo", "cursor", "claude", "thurbox"} {
			for _, kase := range []string{"promise", "unicode", "minimal"} {
				if b, err := os.ReadFile(filepath.Join("../../golden", kase, tree, name)); err == nil && len(b) < 1500 { // a long one is minimised for a minute
					f.Add(uint8(i), string(b))
				}
			}
		}
	}
	f.Add(uint8(0), "customModes:\n  - slug: a\n    name: A\n    roleDefinition: |\n      a\n    groups:\n      - read\n      - [edit, {fileRegex: '^(src|docs)/.*\\.md$', description: d}]\n      - mcp\n")
	f.Add(uint8(3), `{"mcpServers": {"a": {"command": "x", "alwaysAllow": ["*", "b"], "disabledTools": ["c"]}, "d": {"url": "https://d", "type": "sse", "disabled": true}}}`)
	f.Add(uint8(11), `{"roles": [{"name": "a", "description": "", "allowed_tools": ["Bash(a,b)"], "tools": ""}]}`)
	f.Add(uint8(6), "---\nname: a\ndescription: b: c\ntools: Read, mcp__x__y, Bash(git *)\n---\nbody")
	f.Add(uint8(5), `{"permissions": {"allow": ["Bash(a:*)", "Edit(/b/**)", "mcp__x__y*"], "deny": ["Read(~/.ssh)", "Bash(a | b)"], "defaultMode": "plan"}}`)
	f.Add(uint8(8), `{"mcpAllowlist": ["a:b*"], "terminalAllowlist": ["git:*", "x ?"]}`)
	f.Add(uint8(4), "*.[oa]\n!x\n\\#y\n/z/**\n")
	f.Add(uint8(4), "*[a]\n!x\n\\#y\n/z/*(\n")
	f.Add(uint8(10), `{"mcpServers": {"t": {"type": "", "url": "http://", "": {"": "\b"}}}}`)
	f.Fuzz(func(t *testing.T, i uint8, text string) {
		files := map[string]string{names[int(i)%len(names)]: text}
		if int(i)%len(names) == 3 || int(i)%len(names) == 4 { // they say something of modes only
			files[".roomodes"] = "customModes:\n  - {slug: a, name: A, roleDefinition: a, groups: [read, edit, command, mcp]}\n"
		}
		res, diags := run(t, files, nil)
		if res == nil {
			for _, d := range diags {
				if d.Code == "import-widens" || strings.HasPrefix(d.Pos.File, "modec/") {
					t.Fatalf("%s of %q", d, text)
				}
			}
		}
	})
}
