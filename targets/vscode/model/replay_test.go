package model_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/vscode/format"
	"modec.dev/modec/targets/vscode/model"
)

// read reads a file of JSON into a value.
func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(file, err)
	}
}

// TestReplay holds the model against what VS Code's own code said (make agents AGENTS=vscode): its approver of commands,
// with its parser of lines, and its globs. The model permits more of no line that a shell reads.
func TestReplay(t *testing.T) {
	var record struct {
		Lines []struct {
			Settings   map[string]any
			Allow, Ask []string
		}
		Globs []struct {
			Glob  string
			Files []string
		}
	}
	read(t, "../e2e/testdata/record.json", &record)
	var built map[string]any
	read(t, "../../../golden/vscode/vscode/.vscode/settings.json", &built)
	if last := record.Lines[len(record.Lines)-1]; !reflect.DeepEqual(last.Settings, built) {
		t.Error("the record is about other settings than a build writes: make agents AGENTS=vscode")
	}
	for _, c := range record.Lines {
		data, err := json.Marshal(c.Settings)
		if err != nil {
			t.Fatal(err)
		}
		deciders, diags := model.Open(memfs.FS{format.SettingsFile: data}, contract.Options{}.WithBaseline("r"))
		if len(deciders) != 1 || len(diags) > 0 {
			t.Fatalf("got %d deciders and %v of %s", len(deciders), diags, data)
		}
		runs := func(line string) (bool, string) {
			v := deciders[0].Decide(ir.SubjectRef{Role: "r"}, policy.Action{Group: ir.Command, Arg: line})
			return v.Decision == ir.Allow || v.Hole != nil && v.Hole.Decision == ir.Allow, v.Rule
		}
		for _, line := range c.Allow {
			if is, by := runs(line); !is {
				t.Errorf("VS Code runs %q unasked, and the model asks by %q\n%s", line, by, data)
			}
		}
		for _, line := range c.Ask {
			if is, by := runs(line); is {
				if _, err := policy.ParseLine(line); err == nil {
					t.Errorf("VS Code asks about %q, and the model runs it by %q\n%s", line, by, data)
				}
			}
		}
	}
	var cases struct{ Files []string }
	read(t, "../e2e/testdata/cases.json", &cases)
	for _, c := range record.Globs {
		for _, source := range []string{format.GlobExpression(c.Glob), format.PlainGlobExpression(c.Glob)} {
			expr, err := ecma.Compile(source, ecma.Options{})
			if err != nil {
				t.Fatal(c.Glob, err)
			}
			for _, file := range cases.Files {
				if got, err := expr.Match(file); err != nil || got != slices.Contains(c.Files, file) {
					t.Errorf("%s: got %v for %q (%s)", c.Glob, got, file, source)
				}
			}
		}
	}
}
