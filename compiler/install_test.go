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

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
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

func installers(res *Result) (list []contract.Target) {
	for _, o := range res.Outputs {
		if _, ok := o.Target.(contract.Installer); ok {
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
	for i := range 60 {
		home := t.TempDir()
		for p, text := range madeUpHome(rng) {
			put(t, home, p, text)
		}
		before := tree(t, home)
		opt := InstallOptions{Home: home, Force: true, Targets: installers(res), unjudged: i > 3}
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

// TestInterruptedAnywhere kills installations and uninstallations before each change of
// the disk: the next uninstallation brings back what was there.
func TestInterruptedAnywhere(t *testing.T) {
	res, root := installProject(t)
	all := installers(res)
	dev, reader := ir.SubjectRef{Role: "dev"}, ir.SubjectRef{Role: "reader"}
	before := map[string]string{
		".cursor/permissions.json": `{"mcpAllowlist": ["mine:*"], "approvalMode": "unrestricted"}`,
		".claude/settings.json":    `{"model": "opus", "permissions": {"defaultMode": "acceptEdits"}}`,
	}
	edited := `{"mcpAllowlist": ["mine:*", "docs:*", "late:*"], "approvalMode": "allowlist", "terminalAllowlist": []}`
	type step func(opt InstallOptions) diag.List
	install := func(ref ir.SubjectRef) step {
		return func(opt InstallOptions) diag.List { _, d := res.Install(ref, root, opt); return d }
	}
	some := func(s step, of ...contract.Target) step {
		return func(opt InstallOptions) diag.List { opt.Targets = of; return s(opt) }
	}
	uninstall := func(opt InstallOptions) diag.List { _, d := Uninstall(opt); return d }
	edit := func(opt InstallOptions) diag.List {
		put(t, opt.Home, ".cursor/permissions.json", edited)
		return nil
	}
	for name, c := range map[string]struct {
		done   []step
		killed step
		edited bool
	}{
		"a first installation":        {nil, install(dev), false},
		"another over it":             {[]step{install(dev)}, install(reader), false},
		"another over an edited file": {[]step{install(dev), edit}, install(reader), true},
		"an uninstallation":           {[]step{install(dev)}, uninstall, false},
		"one of an edited file":       {[]step{install(dev), edit}, uninstall, true},
		"one of a part":               {[]step{install(dev)}, some(uninstall, all[0]), false},
		"an installation of a part":   {[]step{install(dev)}, some(install(reader), all[1]), false},
		"another after one of a part": {[]step{install(dev), some(uninstall, all[0])}, install(reader), false},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				home := t.TempDir()
				for p, text := range before {
					put(t, home, p, text)
				}
				opt := InstallOptions{Home: home, Force: true, Targets: all, unjudged: true}
				for _, s := range c.done {
					if d := s(opt); d.HasErrors() {
						t.Fatal(d)
					}
				}
				left := n
				killed := func() (killed bool) {
					defer func() { killed = recover() != nil }()
					with := opt
					with.step = func() {
						if left--; left < 0 {
							panic("killed")
						}
					}
					if d := c.killed(with); d.HasErrors() {
						t.Fatal(d)
					}
					return false
				}()
				if n%2 == 1 { // or somebody goes on first
					if d := install(dev)(opt); d.HasErrors() {
						t.Fatal(d)
					}
				}
				if d := uninstall(opt); d.HasErrors() {
					t.Fatal(d)
				}
				got := tree(t, home)
				if c.edited {
					if got := canonicalJSON(t, got[".cursor/permissions.json"]); got != `{"approvalMode":"unrestricted","mcpAllowlist":["mine:*","late:*"]}` && got != `{"approvalMode":"unrestricted","mcpAllowlist":["mine:*","late:*"],"terminalAllowlist":[]}` {
						t.Fatalf("step %d: got %s", n, got)
					}
					got[".cursor/permissions.json"] = before[".cursor/permissions.json"]
				}
				if d := cmp.Diff(before, got); d != "" {
					t.Fatalf("step %d: (-before +after)\n%s", n, d)
				}
				if !killed {
					if n < 3 {
						t.Fatalf("got %d steps", n)
					}
					return
				}
			}
		})
	}
}

func canonicalJSON(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestInterruptedTwice kills two changes in a row, or one before a change of another
// agent's files.
func TestInterruptedTwice(t *testing.T) {
	res, root := installProject(t)
	all := installers(res)
	before := map[string]string{".claude/settings.json": `{"model": "opus"}`}
	killed := func(n int, opt InstallOptions, do func(InstallOptions) diag.List) {
		defer func() { recover() }()
		opt.step = func() {
			if n--; n < 0 {
				panic("killed")
			}
		}
		do(opt)
	}
	install := func(role string) func(InstallOptions) diag.List {
		return func(opt InstallOptions) diag.List {
			_, d := res.Install(ir.SubjectRef{Role: role}, root, opt)
			return d
		}
	}
	uninstall := func(opt InstallOptions) diag.List { _, d := Uninstall(opt); return d }
	for n := range 8 {
		for m := range 8 {
			for name, second := range map[string]func(InstallOptions) diag.List{"installed": install("dev"), "taken out": uninstall} {
				home := t.TempDir()
				for p, text := range before {
					put(t, home, p, text)
				}
				opt := InstallOptions{Home: home, Force: true, Targets: all, unjudged: true}
				if d := install("dev")(opt); d.HasErrors() {
					t.Fatal(d)
				}
				killed(n, opt, install("reader"))
				part := opt
				if m%2 == 1 {
					part.Targets = all[m/2%2 : m/2%2+1]
				}
				killed(m, part, second)
				if d := uninstall(opt); d.HasErrors() {
					t.Fatal(d)
				}
				if d := cmp.Diff(before, tree(t, home)); d != "" {
					t.Fatalf("killed at %d, %s and killed at %d: (-before +after)\n%s", n, name, m, d)
				}
			}
		}
	}
}

// TestInstallsExcludeEachOther: one runs at a time, and the other says so.
func TestInstallsExcludeEachOther(t *testing.T) {
	res, root := installProject(t)
	home := t.TempDir()
	opt := InstallOptions{Home: home, Targets: installers(res)}
	inside := opt
	done := false
	inside.step = func() {
		if !done {
			done = true
			if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, opt); !diags.HasErrors() || !strings.Contains(diags[0].Message, "another modec") {
				t.Errorf("got %v, want a refusal", diags)
			}
		}
	}
	if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, inside); diags.HasErrors() || !done {
		t.Error(diags, done)
	}
}

// TestHomesOfLinks: a folder that is a link into the home stays one, and one that leads
// out of it is refused.
func TestHomesOfLinks(t *testing.T) {
	res, root := installProject(t)
	home := t.TempDir()
	put(t, home, "dotfiles/cursor/mine.txt", "mine")
	if err := os.Symlink("dotfiles/cursor", filepath.Join(home, ".cursor")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, home)
	opt := InstallOptions{Home: home, Targets: installers(res)}
	if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	if _, err := os.Stat(filepath.Join(home, "dotfiles/cursor/hooks.json")); err != nil {
		t.Error(err)
	}
	if _, diags := Uninstall(opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	if d := cmp.Diff(before, tree(t, home)); d != "" {
		t.Error(d)
	}
	if info, err := os.Lstat(filepath.Join(home, ".cursor")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if err := os.Remove(filepath.Join(home, ".cursor")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(home, ".cursor")); err != nil {
		t.Fatal(err)
	}
	if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, opt); !diags.HasErrors() {
		t.Error("an installation left the home folder")
	}
	if err := os.Remove(filepath.Join(home, ".cursor")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	if _, diags := Uninstall(opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	for dir, want := range map[string]bool{".cursor": true, ".claude": false, ".local": false} {
		if _, err := os.Stat(filepath.Join(home, dir)); (err == nil) != want {
			t.Errorf("%s: %v, want it to be there: %v", dir, err, want)
		}
	}
}

// TestMissingFilesKeepTheirOriginals: a file that is moved away for a while gets back
// what was there once it is back.
func TestMissingFilesKeepTheirOriginals(t *testing.T) {
	res, root := installProject(t)
	home := t.TempDir()
	const mine = `{"approvalMode": "unrestricted"}`
	put(t, home, ".cursor/permissions.json", mine)
	file := filepath.Join(home, ".cursor/permissions.json")
	opt := InstallOptions{Home: home, Force: true, Targets: installers(res)}
	if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	if _, diags := Uninstall(opt); diags.HasErrors() || !strings.Contains(fmt.Sprint(diags), "which stays in") {
		t.Errorf("got %v", diags)
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
	if _, diags := Uninstall(opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	if d := cmp.Diff(map[string]string{".cursor/permissions.json": mine}, tree(t, home)); d != "" {
		t.Error(d)
	}
	// Installed anew while it is away, its bytes stay where the warning says.
	if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, opt)
	if kept := originalOf(Sum([]byte(mine))); diags.HasErrors() || !strings.Contains(fmt.Sprint(diags), kept) {
		t.Errorf("got %v", diags)
	} else if got, err := os.ReadFile(filepath.Join(home, filepath.FromSlash(kept))); err != nil || string(got) != mine {
		t.Errorf("got %q, %v", got, err)
	}
	if _, diags := Uninstall(opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	if got, err := os.ReadFile(filepath.Join(home, filepath.FromSlash(originalOf(Sum([]byte(mine)))))); err != nil || string(got) != mine {
		t.Errorf("after the end: got %q, %v", got, err)
	}
}

// TestInstallRefusesWhatHoldsNothing: with hooks switched off, or with another value in
// the place of a list, the installed file would hold less than it says.
func TestInstallRefusesWhatHoldsNothing(t *testing.T) {
	res, root := installProject(t)
	for _, text := range []string{`{"disableAllHooks": true}`, `{"hooks": null}`, `{"permissions": {"deny": null}}`, `{"permissions": []}`} {
		home := t.TempDir()
		put(t, home, ".claude/settings.json", text)
		before := tree(t, home)
		if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, InstallOptions{Home: home, Force: true, Targets: installers(res)}); !diags.HasErrors() {
			t.Errorf("%s: it is installed", text)
		}
		if d := cmp.Diff(before, tree(t, home)); d != "" {
			t.Errorf("%s: %s", text, d)
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
	data = append(data, []byte("\n[files.'.ssh/config']\ntarget = 'claude'\nproject = ''\nsubject = ''\nwritten = '"+Sum([]byte("mine\n"))+"'\n[files.'.ssh/config'.entries]\n")...)
	if err := os.WriteFile(state, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, diags := res.Install(ir.SubjectRef{Role: "dev"}, root, opt); diags.HasErrors() {
		t.Fatal(diags)
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
