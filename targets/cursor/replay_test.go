package cursor_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/cursor"
	"modec.dev/modec/targets/internal/replay"
)

// asked is e2e/testdata/decide.json: what the engine was asked, and what the model says.
type asked struct {
	Profiles []map[string]any // "dir", and rows by the name of their list
	Matches  []struct {
		Token   string
		Against []string
		Matches bool
	}
	Files []struct {
		Text  string
		Taken bool
	}
}

// lists are a profile's lists of rows. The last of a row is what the model says.
var lists = []string{"mcp", "commands", "reads", "writes", "hosts", "hooks"}

// TestReplay holds the target against what Cursor's own engine did in e2e/decide.test.mjs.
func TestReplay(t *testing.T) {
	root, err := filepath.Abs("../../fixtures/acme")
	if err != nil {
		t.Fatal(err)
	}
	today := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	res, diags := compiler.Compile(t.Context(), compiler.Request{Root: root, Targets: targets.All(), Today: today})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	data, err := os.ReadFile("e2e/testdata/decide.json")
	if err != nil {
		t.Fatal(err)
	}
	var a asked
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatal(err)
	}
	replay.Run(t, replay.Case{
		Folder:    "e2e",
		Packages:  []string{"@cursor/sdk"},
		Artifacts: replay.Artifacts(res.Outputs, ".cursor/", "session:cursor/"),
		Actions:   a.actions(),
		Want:      a.expected(),
		Hooker:    cursor.New().(contract.Hooker),
		Policy:    replay.Hooks(t, res.PolicyJSON()),
	})
}

// actions returns what the engine was asked, as e2e/decide.test.mjs puts it into the key.
func (a asked) actions() any {
	var profiles, matches, files []any
	for _, p := range a.Profiles {
		profile := map[string]any{"dir": p["dir"]}
		for _, name := range lists {
			rows := []any{}
			for _, row := range p[name].([]any) {
				rows = append(rows, row.([]any)[:len(row.([]any))-1])
			}
			profile[name] = rows
		}
		profiles = append(profiles, profile)
	}
	for _, m := range a.Matches {
		matches = append(matches, map[string]any{"token": m.Token, "against": m.Against})
	}
	for _, f := range a.Files {
		files = append(files, f.Text)
	}
	return map[string]any{"profiles": profiles, "matches": matches, "files": files}
}

// expected returns what the model says.
func (a asked) expected() []replay.Expected {
	var all []replay.Expected
	for _, p := range a.Profiles {
		for _, name := range lists {
			e := replay.Expected{Session: fmt.Sprint(p["dir"], " ", name)}
			for _, row := range p[name].([]any) {
				row := row.([]any)
				e.Add(fmt.Sprint(row[:len(row)-1]...), row[len(row)-1])
			}
			if len(e.Actions) > 0 {
				all = append(all, e)
			}
		}
	}
	matches, files := replay.Expected{Session: "matches"}, replay.Expected{Session: "files"}
	for _, m := range a.Matches {
		matches.Add(fmt.Sprint(m.Token, m.Against), m.Matches)
	}
	for _, f := range a.Files {
		files.Add(f.Text, f.Taken)
	}
	return append(all, matches, files)
}
