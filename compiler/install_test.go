package compiler_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/targets"
)

const installSource = `package modec

servers: docs: {command: "docs-mcp", tools: {search: risk: "read", write: risk: "write"}}
modes: a: {name: "A", roleDefinition: "You are a.", can: {read: "allow", mcp: docs: "ask"}}
roles: {
	dev: can: {
		read:    "allow"
		edit:    {default: "ask", allow: ["src/**"]}
		command: {default: "ask", deny: ["git push *"]}
		mcp: docs: "allow"
	}
	reader: {permissionMode: "plan", can: {read: "allow", edit: "deny", command: "deny", mcp: docs: "deny"}}
}
`

// installed is a project for the agents that are installed.
func installed(t *testing.T) *compiler.Result {
	t.Helper()
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		config.File:   []byte("[targets.claude]\n[targets.cursor]\n"),
		"modec/a.cue": []byte(installSource),
	}})
	if res == nil {
		t.Fatal(diags)
	}
	return res
}

// files reads what lies below a folder.
func files(t *testing.T, dir string) memfs.FS {
	t.Helper()
	out := memfs.FS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[p], err = os.ReadFile(filepath.Join(dir, p))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestInstall puts the files of every agent that has any into home folders in which
// people wrote before. What their own entries permit beyond the source is a warning at
// its line, and an uninstallation brings back what was there, to the byte.
func TestInstall(t *testing.T) {
	res := installed(t)
	own := map[string]string{
		".claude/settings.json": `{"permissions": {
  "allow": ["Edit(src/**)", "WebFetch(domain:example.com)", "Bash(make)"], "defaultMode": "acceptEdits"
}}`,
		".cursor/permissions.json": `{"mcpAllowlist": ["docs:search"], // mine
  "terminalAllowlist": ["make"], "approvalMode": "unrestricted"}`,
		".cursor/cli-config.json": `{"version":1,"editor":{"vimMode":true},` +
			`"permissions":{"allow":["Shell(ls)"],"deny":[]}}`,
		".cursor/hooks.json": "{\n\t\"version\": 1,\n\t\"hooks\": {\"stop\": [{\"command\": \"mine\"}]}\n}\n",
	}
	for _, c := range []struct {
		home map[string]string
		role string
		want []string
	}{
		{nil, "dev", nil},
		{nil, "reader", nil},
		// Claude Code asks about every command of dev, and the source leaves its hosts alone.
		{own, "dev", []string{
			"~/.cursor/cli-config.json:1:64 command", "~/.cursor/permissions.json:2:25 command",
		}},
		{own, "reader", []string{
			"~/.cursor/permissions.json:2:25 command", "~/.cursor/permissions.json:1:19 mcp",
			"~/.cursor/cli-config.json:1:64 command", // a line that no shell runs, which the hook denies as one
		}},
	} {
		home := t.TempDir()
		before := memfs.FS{}
		for name, text := range c.home {
			before[name] = []byte(text)
		}
		if err := os.CopyFS(home, before); err != nil {
			t.Fatal(err)
		}
		opt := output.InstallOptions{Home: home, Force: true}
		changes, diags := res.Install(t.Context(), ir.SubjectRef{Role: c.role}, "/project", targets.All(), opt)
		if diags.HasErrors() || len(changes) != len(own) {
			t.Fatalf("%s: got %v, %v", c.role, changes, diags)
		}
		got := map[string]int{}
		for _, d := range diags {
			if d.Code == diag.ForeignWidening {
				got[d.Pos.String()+" "+d.Group]++
				if d.Severity != diag.Warning || d.Loss != diag.Widening || d.Subject != "role "+c.role ||
					len(d.Related) != 1 || d.Related[0].Pos.File != "modec/a.cue" {
					t.Errorf("%s: got %+v", c.role, d)
				}
			}
		}
		want := map[string]int{}
		for _, w := range c.want {
			want[w]++
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", c.role, d)
		}
		for _, change := range changes {
			data, err := os.ReadFile(filepath.Join(home, change.Path))
			if err != nil || output.Sum(data) != change.SHA256 {
				t.Errorf("%s: %s is not as it was said to be: %v", c.role, change.Path, err)
			}
		}
		again, _ := res.Install(t.Context(), ir.SubjectRef{Role: c.role}, "/project", targets.All(), opt)
		for _, change := range again {
			if change.Action != output.Unchanged {
				t.Errorf("%s: a second installation does %s to %s", c.role, change.Action, change.Path)
			}
		}
		if _, diags := output.Uninstall(t.Context(), targets.All(), opt); diags.HasErrors() {
			t.Fatal(diags)
		}
		if d := cmp.Diff(before, files(t, home)); d != "" {
			t.Errorf("%s: (-before +after)\n%s", c.role, d)
		}
	}
}

// TestInstallOfAMode fails where an agent has no settings for a mode, and writes nothing.
func TestInstallOfAMode(t *testing.T) {
	res := installed(t)
	home := t.TempDir()
	mode, opt := ir.SubjectRef{Mode: "a"}, output.InstallOptions{Home: home}
	_, diags := res.Install(t.Context(), mode, "/project", targets.All(), opt)
	if !diags.HasErrors() || diags[0].Target != "claude" {
		t.Errorf("got %v, want a refusal of Claude Code's", diags)
	}
	if left := files(t, home); len(left) > 0 {
		t.Errorf("got %v, want nothing written", left)
	}
	var cursor []contract.Target
	for _, target := range targets.All() {
		if target.Name() == "cursor" {
			cursor = append(cursor, target)
		}
	}
	changes, diags := res.Install(t.Context(), mode, "/project", cursor, opt)
	if diags.HasErrors() || len(changes) != 3 {
		t.Errorf("got %v, %v", changes, diags)
	}
}
