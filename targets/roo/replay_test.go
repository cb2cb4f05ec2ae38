package roo_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/internal/replay"
)

// asked is e2e/testdata/decide.json: what Roo's own code was asked, and what the model says.
type asked struct {
	Loads []struct {
		Text  string
		Modes map[string][]string
	}
	Ignores      []struct{ Text, Held, Refused string }
	Paths, Lines []string
	Acme         []struct {
		Mode, Group string
		Tried       []string
		Denied      string
	}
}

// TestReplay holds the target against what Roo's own code did in e2e/decide.test.mjs.
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
		Packages:  []string{"@roo-code/types", "ignore", "strip-bom", "yaml", "zod"},
		Artifacts: replay.Artifacts(res.Outputs, ".roomodes", ".rooignore"),
		Actions:   a.actions(),
		Want:      a.expected(t),
	})
}

// actions returns what was asked, as e2e/decide.test.mjs puts it into the key.
func (a asked) actions() any {
	var loads, ignores []string
	var acme []any
	for _, c := range a.Loads {
		loads = append(loads, c.Text)
	}
	for _, c := range a.Ignores {
		ignores = append(ignores, c.Text)
	}
	for _, c := range a.Acme {
		acme = append(acme, map[string]any{"mode": c.Mode, "group": c.Group, "tried": c.Tried})
	}
	return map[string]any{"loads": loads, "ignores": ignores, "paths": a.Paths, "lines": a.Lines, "acme": acme}
}

// expected returns what the model says.
func (a asked) expected(t *testing.T) []replay.Expected {
	loads, acme := replay.Expected{Session: "loads"}, replay.Expected{Session: "acme"}
	for _, c := range a.Loads {
		modes, err := json.Marshal(c.Modes)
		if err != nil {
			t.Fatal(err)
		}
		loads.Add(c.Text, string(modes))
	}
	paths, lines := replay.Expected{Session: "ignores, paths"}, replay.Expected{Session: "ignores, lines"}
	for _, c := range a.Ignores {
		paths.Add(c.Text, c.Held)
		lines.Add(c.Text, c.Refused)
	}
	for _, c := range a.Acme {
		var denied strings.Builder
		for i, arg := range c.Tried {
			// Whoever writes ~ means the home folder, which Roo reaches by another path.
			if c.Group != "read" || !strings.HasPrefix(arg, "~") {
				denied.WriteByte(c.Denied[i])
			}
		}
		acme.Add(c.Mode+" "+c.Group, denied.String())
	}
	return []replay.Expected{loads, paths, lines, acme}
}
