package model_test

import (
	"encoding/json"
	"os"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/vscode/format"
	"modec.dev/modec/targets/vscode/model"
)

// TestReplay holds the model against what VS Code's own code said (1.128.1): its approver of commands, with its parser of
// lines, and its globs. The model may permit more only where it says why.
func TestReplay(t *testing.T) {
	var record struct {
		Terminal []struct {
			Settings json.RawMessage
			Lines    map[string]string
		}
		Globs []struct {
			Glob            string
			Matches, Others []string
		}
	}
	data, err := os.ReadFile("testdata/terminal.json")
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	if err != nil {
		t.Fatal(err)
	}
	more, all := 0, 0
	for _, c := range record.Terminal {
		deciders, diags := model.Open(memfs.FS{format.SettingsFile: c.Settings}, contract.Options{}.WithBaseline("r"))
		if len(deciders) != 1 || len(diags) > 0 {
			t.Fatalf("got %d deciders and %v of %s", len(deciders), diags, c.Settings)
		}
		for line, said := range c.Lines {
			v := deciders[0].Decide(ir.SubjectRef{Role: "r"}, policy.Action{Group: ir.Command, Arg: line})
			runs := v.Decision == ir.Allow || v.Hole != nil && v.Hole.Decision == ir.Allow
			all++
			switch {
			case said == "allow" && !runs:
				t.Errorf("VS Code runs %q unasked, and the model asks by %q\n%s", line, v.Rule, c.Settings)
			case said != "allow" && runs:
				more++
				if _, err := policy.ParseLine(line); err == nil {
					t.Errorf("VS Code asks about %q, and the model runs it by %q\n%s", line, v.Rule, c.Settings)
				}
			}
		}
	}
	t.Logf("%d lines, of %d the model permits more", all, more)
	for _, c := range record.Globs {
		expr, err := ecma.Compile(format.GlobExpression(c.Glob), ecma.Options{})
		if err != nil {
			t.Fatal(c.Glob, err)
		}
		for want, paths := range map[bool][]string{true: c.Matches, false: c.Others} {
			for _, p := range paths {
				if got, err := expr.Match(p); err != nil || got != want {
					t.Errorf("%s: got %v for %q, want %v (%s)", c.Glob, got, p, want, format.GlobExpression(c.Glob))
				}
			}
		}
	}
}
