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
	res, diags := compiler.Compile(t.Context(), compiler.Request{FS: replay.Fixture(t, "opencode-hooks"), Targets: targets.All()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	target := replay.Target(t, targets.All(), "opencode")
	line := func(text string) policy.Action { return policy.Action{Group: ir.Command, Arg: text} }
	worker := ir.SubjectRef{Role: "worker"}
	for _, c := range []struct {
		name     string
		changed  bool // the plugins: old to new, or away
		old, new string
		ref      ir.SubjectRef
		of       policy.Action
		want     ir.Decision
		open     bool // a hole permits it
	}{
		{name: "as it is", of: line("git 'push' x"), want: ir.Deny},
		{name: "a role in a mode", ref: ir.SubjectRef{Role: "worker", Mode: "writer"}, of: line("git 'push' x"), want: ir.Deny},
		{name: "a mode by itself", ref: ir.SubjectRef{Mode: "writer"}, of: line("git 'push' x"), want: ir.Deny},
		{name: "what is asked about", ref: ir.SubjectRef{Mode: "writer"}, of: line("npm 'publish' x"), want: ir.Deny},
		{name: "a redirect", of: line("ls > docs/legal/a"), want: ir.Deny},
		{name: "a file that is open", of: line("ls > docs/a"), want: ir.Allow},
		{name: "no plugin", changed: true, of: line("git 'push' x"), want: ir.Deny, open: true},
		{name: "another plugin", changed: true, old: "throw new Error", new: "console.log",
			of: line("git 'push' x"), want: ir.Deny, open: true},
		{name: "a line more", changed: true, old: "};\nconst session", new: "};\nlines['*'] = 'echo {}';\nconst session",
			of: line("git 'push' x"), want: ir.Deny, open: true},
		{name: "for no agent", changed: true, old: `"*":`, new: `"other":`, of: line("git 'push' x"), want: ir.Deny, open: true},
		{name: "of another agent", changed: true, old: "hook opencode", new: "hook claude", of: line("ls"), want: ir.Deny},
		{name: "of no answer", changed: true, old: "modec hook opencode", new: "echo {}",
			of: line("git 'push' x"), want: ir.Deny, open: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := memfs.FS{}
			for _, f := range slices.Concat(res.Files(), res.Sessions()) {
				files[f.Path] = f.Data
			}
			changed := 0
			for name, data := range files {
				switch {
				case !c.changed || path.Ext(name) != ".js":
				case c.old == "":
					delete(files, name)
					changed++
				case strings.Contains(string(data), c.old):
					files[name] = []byte(strings.ReplaceAll(string(data), c.old, c.new))
					changed++
				}
			}
			if c.changed && changed == 0 {
				t.Fatalf("no plugin has %q", c.old)
			}
			deciders, _ := target.Open(files, res.Input(target).Options)
			ref := c.ref
			if ref == (ir.SubjectRef{}) {
				ref = worker
			}
			v := deciders[0].Decide(ref, c.of)
			if open := v.Hole != nil && v.Hole.Decision > v.Decision; v.Decision != c.want || open != c.open {
				t.Errorf("%s, %s: got %s, a hole: %v; want %s, %v (%s)", ref, c.of.Arg, v.Decision, open, c.want, c.open, v.Rule)
			}
		})
	}
}
