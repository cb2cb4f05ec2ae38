package model_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/internal/replay"
)

// What is denied in another spelling the plugin refuses, as long as it is the one that a build wrote.
func TestHook(t *testing.T) {
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		"modec.toml": []byte("hooks = \"enforce\"\nbaseline = \"dev\"\n[targets.kilo]\n"),
		"modec/a.json": []byte(`{"modes": {"writer": {"name": "W", "roleDefinition": "w", "can":
				{"command": {"default": "allow", "deny": ["git push *"]}}}},
			"roles": {"dev": {"can": {"default": "allow", "command": {"default": "allow", "deny": ["rm *"]}}}}}`)}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	target := replay.Target(t, targets.All(), "kilo")
	for _, c := range []struct {
		name     string
		old, new string // in the plugins
		ref      ir.SubjectRef
		line     string
		open     bool // a hole permits it
	}{
		{name: "a role", ref: ir.SubjectRef{Role: "dev"}, line: "'rm' x"},
		{name: "a role in a mode", ref: ir.SubjectRef{Role: "dev", Mode: "writer"}, line: "git 'push' x"},
		{name: "a mode by itself", ref: ir.SubjectRef{Mode: "writer"}, line: "git 'push' x"},
		{name: "another plugin", old: "throw new Error", new: "console.log",
			ref: ir.SubjectRef{Role: "dev"}, line: "'rm' x", open: true},
		{name: "of another agent", old: "hook kilo", new: "hook opencode", ref: ir.SubjectRef{Role: "dev"}, line: "'rm' x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := memfs.FS{}
			for _, f := range slices.Concat(res.Files(), res.Sessions()) {
				files[f.Path] = f.Data
				if path.Ext(f.Path) == ".js" && c.old != "" {
					files[f.Path] = []byte(strings.Replace(string(f.Data), c.old, c.new, 1))
				}
			}
			deciders, _ := target.Open(files, res.Input(target).Options)
			v := deciders[0].Decide(c.ref, policy.Action{Group: ir.Command, Arg: c.line})
			if open := v.Hole != nil && v.Hole.Decision > v.Decision; v.Decision != ir.Deny || open != c.open {
				t.Errorf("%s, %s: got %s, a hole: %v; want deny, %v (%s)", c.ref, c.line, v.Decision, open, c.open, v.Rule)
			}
		})
	}
}
