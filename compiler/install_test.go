package compiler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/target"
	"modec.dev/modec/targets"
)

const installSource = `package modec

servers: docs: {command: "docs-mcp", tools: {search: risk: "read", write: risk: "write"}}
modes: a: {name: "A", roleDefinition: "You are a.", can: {read: "allow", mcp: docs: "ask"}}
roles: {
	dev: can: {read: "allow", edit: {default: "ask", allow: ["src/**"]}, command: {default: "ask", deny: ["git push *"]}, mcp: docs: "allow"}
	reader: {permissionMode: "plan", can: {read: "allow", edit: "deny", command: "deny", mcp: docs: "deny"}}
}
`

// installProject compiles a project for the agents that are installed.
func installProject(t *testing.T) (*Result, string) {
	t.Helper()
	root := t.TempDir()
	put(t, root, "modec.toml", "[targets.claude]\n[targets.cursor]\n")
	put(t, root, "modec/a.cue", installSource)
	res, diags := Compile(Request{Root: root, Targets: targets.All()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return res, root
}

func installers(res *Result) (list []target.Target) {
	for _, o := range res.Outputs {
		if _, ok := o.Target.(target.Installer); ok {
			list = append(list, o.Target)
		}
	}
	return list
}

// TestInstallAndUninstall makes home folders up, and installs and uninstalls subjects
// in turn: whatever was there is there again, to the byte.
func TestInstallAndUninstall(t *testing.T) {
	res, root := installProject(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 16 {
		home := t.TempDir()
		for p, text := range madeUpHome(rng) {
			put(t, home, p, text)
		}
		before := tree(t, home)
		opt := InstallOptions{Home: home, Force: true, Targets: installers(res)}
		for range 1 + rng.IntN(3) {
			ref := ir.SubjectRef{Role: []string{"dev", "reader"}[rng.IntN(2)]}
			some := opt
			if rng.IntN(3) == 0 {
				some.Targets = opt.Targets[:1]
			}
			changes, diags := res.Install(ref, root, some)
			if diags.HasErrors() {
				t.Fatalf("%d: %v\n%v", i, diags, before)
			}
			for _, c := range changes {
				got, err := os.ReadFile(filepath.Join(home, c.Path))
				if err != nil || Sum(got) != c.SHA256 {
					t.Fatalf("%d: %s is not as it was said to be: %v", i, c.Path, err)
				}
			}
			again, _ := res.Install(ref, root, some)
			for _, c := range again {
				if c.Action != Unchanged {
					t.Fatalf("%d: a second installation does %s to %s", i, c.Action, c.Path)
				}
			}
		}
		if _, diags := Uninstall(opt); diags.HasErrors() {
			t.Fatal(diags)
		}
		if d := cmp.Diff(before, tree(t, home)); d != "" {
			t.Fatalf("%d: (-before +after)\n%s", i, d)
		}
	}
}

// madeUpHome returns files as people have them: some, in several forms, with entries
// that modec writes too.
func madeUpHome(rng *rand.Rand) map[string]string {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	all := map[string]func() string{
		".claude/settings.json": func() string {
			return fmt.Sprintf(`{"model":"opus",%s"permissions":{"allow":[%s],"deny":["Read(secret)"]%s}}`, pick("", "\n\t", " "), pick("", `"mcp__docs"`, `"Bash(ls:*)", "Edit(./**)"`), pick("", `,"defaultMode":"acceptEdits"`, `, "disableAutoMode": "disable"`))
		},
		".cursor/permissions.json": func() string {
			return fmt.Sprintf("{\r\n  // mine\r\n  \"mcpAllowlist\": [%s],%s\r\n}\r\n", pick("", `"docs:*",`, `"a:b", "docs:search"`), pick("", ` "approvalMode": "unrestricted"`, ` "approvalMode": "allowlist",`))
		},
		".cursor/cli-config.json": func() string {
			return `{"version":1,"editor":{"vimMode":true},"permissions":{"allow":[` + pick("", `"Shell(ls)"`, `"Mcp(docs:*)"`) + `],"deny":[]}` + pick("", `,"approvalMode":"auto-review"`) + "}"
		},
		".cursor/hooks.json": func() string {
			return "{\n\t\"version\": 1,\n\t\"hooks\": {\n\t\t\"stop\": [{\"command\": \"mine\"}]" + pick("", ",\n\t\t\"preToolUse\": []") + "\n\t}\n}\n"
		},
	}
	out := map[string]string{}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if rng.IntN(3) > 0 {
			out[p] = all[p]()
		}
	}
	return out
}

// TestUninstallKeepsWhatPeopleWroteSince changes installed files as their agents and
// people do: written anew, with entries more, less and edited.
func TestUninstallKeepsWhatPeopleWroteSince(t *testing.T) {
	res, root := installProject(t)
	home := t.TempDir()
	put(t, home, ".cursor/cli-config.json", `{"version":1,"editor":{"vimMode":true},"approvalMode":"unrestricted","permissions":{"allow":["Shell(ls)"],"deny":[]}}`)
	opt := InstallOptions{Home: home, Force: true, Targets: installers(res)}
	if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	file := filepath.Join(home, ".cursor/cli-config.json")
	var v map[string]any
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	v["model"] = "mine"
	permissions := v["permissions"].(map[string]any)
	permissions["allow"] = append(permissions["allow"].([]any), "Shell(make)")
	if data, err = json.MarshalIndent(v, "", "    "); err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, diags := Uninstall(opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	if data, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	var got, want any
	json.Unmarshal(data, &got)
	json.Unmarshal([]byte(`{"version":1,"editor":{"vimMode":true},"approvalMode":"unrestricted","model":"mine","permissions":{"allow":["Shell(ls)","Shell(make)"],"deny":[]}}`), &want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestInstallIsFinished stops an installation after each file that it writes: the next
// uninstallation brings back what was there.
func TestInstallIsFinished(t *testing.T) {
	res, root := installProject(t)
	opt := InstallOptions{Targets: installers(res)}
	installed := t.TempDir()
	const mine = `{"mcpAllowlist": ["mine:*"]}`
	put(t, installed, ".cursor/permissions.json", mine)
	before := tree(t, installed)
	opt.Home = installed
	if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	after := tree(t, installed)
	state, originals := after[StateFile], map[string]string{}
	for p, text := range after {
		if strings.Contains(p, "/original/") {
			originals[p] = text
		}
	}
	files := []string{".claude/settings.json", ".cursor/cli-config.json", ".cursor/hooks.json", ".cursor/permissions.json"}
	for n := range len(files) + 1 {
		home := t.TempDir()
		for p, text := range before {
			put(t, home, p, text)
		}
		maps.Copy(originals, map[string]string{StateFile: state})
		for p, text := range originals {
			put(t, home, p, text)
		}
		for _, p := range files[:n] {
			put(t, home, p, after[p])
		}
		opt.Home = home
		if _, diags := Uninstall(opt); diags.HasErrors() {
			t.Fatal(diags)
		}
		if d := cmp.Diff(before, tree(t, home)); d != "" {
			t.Errorf("%d files: (-before +after)\n%s", n, d)
		}
	}
}

// TestInstallKeepsPermissions: a file that only its owner reads stays so, and so does
// what is kept of it.
func TestInstallKeepsPermissions(t *testing.T) {
	res, root := installProject(t)
	home := t.TempDir()
	put(t, home, ".claude/settings.json", `{"env": {"TOKEN": "x"}}`)
	file := filepath.Join(home, ".claude/settings.json")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, InstallOptions{Home: home, Targets: installers(res)}); diags.HasErrors() {
		t.Fatal(diags)
	}
	for p := range tree(t, home) {
		if info, err := os.Stat(filepath.Join(home, p)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, want 0600", p, info.Mode())
		}
	}
}

// TestUninstallTouchesOnlyWhatTargetsOwn gives it a state that names another file.
func TestUninstallTouchesOnlyWhatTargetsOwn(t *testing.T) {
	res, root := installProject(t)
	home := t.TempDir()
	put(t, home, ".ssh/config", "mine\n")
	opt := InstallOptions{Home: home, Targets: installers(res)}
	if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	state := filepath.Join(home, filepath.FromSlash(StateFile))
	data, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, []byte("\n[files.'.ssh/config']\ntarget = 'claude'\nproject = ''\nsubject = ''\nwritten = ['"+Sum([]byte("mine\n"))+"']\n[files.'.ssh/config'.entries]\n")...)
	if err := os.WriteFile(state, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, diags := Uninstall(opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	if got, err := os.ReadFile(filepath.Join(home, ".ssh/config")); err != nil || !bytes.Equal(got, []byte("mine\n")) {
		t.Errorf("got %q, %v", got, err)
	}
	if err := os.WriteFile(state, []byte("version = 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{
		func() error { _, d := Uninstall(opt); return refusal(d) },
		func() error { _, d := res.Install(ir.SubjectRef{Role: "dev"}, root, opt); return refusal(d) },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "bad-lock") {
			t.Errorf("got %v, want a state that is refused", err)
		}
	}
}

func refusal(l diag.List) error {
	if !l.HasErrors() {
		return nil
	}
	return errors.New(l[0].String())
}
