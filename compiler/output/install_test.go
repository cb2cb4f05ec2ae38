package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/resolve"
	"modec.dev/modec/compiler/source"
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

// agents installs the real files of the agents that have any in a home folder.
type agents struct {
	t     *testing.T
	roles map[string]Installation
}

func newAgents(t *testing.T) *agents {
	t.Helper()
	tree, diags := source.Load(memfs.FS{"modec/a.cue": []byte(installSource)}, "modec")
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	settings := resolve.Settings{ClosedInventory: true, Targets: targets.All()}
	p, diags := resolve.Resolve(tree.Root, nil, settings)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	engine := policy.New(p)
	reach, err := contract.NewReach(engine)
	if err != nil {
		t.Fatal(err)
	}
	a := &agents{t: t, roles: map[string]Installation{}}
	for _, role := range p.RoleNames() {
		in := Installation{Subject: ir.SubjectRef{Role: role}, Root: "/project"}
		for _, agent := range targets.All() {
			installer, ok := agent.(contract.Installer)
			if !ok {
				continue
			}
			files, diags := installer.Install(contract.Input{
				Project: p, Policy: engine, Reach: reach,
				Options: contract.NewOptions(agent.Options(), nil, nil),
				Beside:  []string{"cursor", "claude"},
			}, in.Subject, contract.PolicyCopy{File: "/home/policy.json", Root: in.Root})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			in.Homes = append(in.Homes, HomeFiles{installer, files})
		}
		if len(in.Homes) != 2 {
			t.Fatalf("got %d agents, want Claude Code and Cursor", len(in.Homes))
		}
		a.roles[role] = in
	}
	return a
}

// targets are the agents at some places, all of them where none is given.
func (a *agents) targets(of ...int) (list []contract.Target) {
	for i, h := range a.roles["dev"].Homes {
		if len(of) == 0 || slices.Contains(of, i) {
			list = append(list, h.Target)
		}
	}
	return list
}

func (a *agents) install(role string, opt InstallOptions, of ...int) ([]Change, diag.List) {
	in := a.roles[role]
	in.Homes = nil
	for i, h := range a.roles[role].Homes {
		if len(of) == 0 || slices.Contains(of, i) {
			in.Homes = append(in.Homes, h)
		}
	}
	changes, _, diags := Install(a.t.Context(), in, opt)
	return changes, diags
}

func (a *agents) uninstall(opt InstallOptions, of ...int) diag.List {
	_, diags := Uninstall(a.t.Context(), a.targets(of...), opt)
	return diags
}

// mustInstall installs the role dev for every agent.
func (a *agents) mustInstall(opt InstallOptions) {
	a.t.Helper()
	if _, diags := a.install("dev", opt); diags.HasErrors() {
		a.t.Fatal(diags)
	}
}

func (a *agents) mustUninstall(opt InstallOptions) {
	a.t.Helper()
	if diags := a.uninstall(opt); diags.HasErrors() {
		a.t.Fatal(diags)
	}
}

// TestInstallAndUninstall makes home folders up, and installs and uninstalls subjects
// in turn: whatever was there is there again, to the byte.
func TestInstallAndUninstall(t *testing.T) {
	a := newAgents(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		home := quickDir(t)
		for p, text := range madeUpHome(rng) {
			put(t, home, p, text)
		}
		before := tree(t, home)
		opt := InstallOptions{Home: home, Force: true}
		for range 1 + rng.IntN(3) {
			role := []string{"dev", "reader"}[rng.IntN(2)]
			var some []int
			if rng.IntN(3) == 0 {
				some = []int{0}
			}
			changes, diags := a.install(role, opt, some...)
			if diags.HasErrors() {
				t.Fatalf("%d: %v\n%v", i, diags, before)
			}
			for _, c := range changes {
				got, err := os.ReadFile(filepath.Join(home, c.Path))
				if c.Action == Remove && errors.Is(err, fs.ErrNotExist) {
					continue // of the role before, which this one does not need
				}
				if err != nil || Sum(got) != c.SHA256 {
					t.Fatalf("%d: %s is not as it was said to be: %s, %v", i, c.Path, c.Action, err)
				}
			}
			again, _ := a.install(role, opt, some...)
			for _, c := range again {
				if c.Action != Unchanged {
					t.Fatalf("%d: a second installation does %s to %s", i, c.Action, c.Path)
				}
			}
		}
		a.mustUninstall(opt)
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
			return fmt.Sprintf(
				`{"model":"opus",%s"permissions":{"allow":[%s],"deny":["Read(secret)"]%s}}`,
				pick("", "\n\t", " "),
				pick("", `"mcp__docs"`, `"Bash(ls:*)", "Edit(./**)"`),
				pick("", `,"defaultMode":"acceptEdits"`, `, "disableAutoMode": "disable"`),
			)
		},
		".cursor/permissions.json": func() string {
			return fmt.Sprintf(
				"{\r\n  // mine\r\n  \"mcpAllowlist\": [%s],%s\r\n}\r\n",
				pick("", `"docs:*",`, `"a:b", "docs:search"`),
				pick("", ` "approvalMode": "unrestricted"`, ` "approvalMode": "allowlist",`),
			)
		},
		".cursor/cli-config.json": func() string {
			return fmt.Sprintf(
				`{"version":1,"editor":{"vimMode":true},"permissions":{"allow":[%s],"deny":[]}%s}`,
				pick("", `"Shell(ls)"`, `"Mcp(docs:*)"`), pick("", `,"approvalMode":"auto-review"`),
			)
		},
		".cursor/hooks.json": func() string {
			return fmt.Sprintf("{\n\t\"version\": 1,\n\t\"hooks\": {\n"+
				"\t\t\"stop\": [{\"command\": \"mine\"}]%s\n\t}\n}\n", pick("", ",\n\t\t\"preToolUse\": []"))
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
	a := newAgents(t)
	home := t.TempDir()
	put(t, home, ".cursor/cli-config.json", `{"version":1,"editor":{"vimMode":true},`+
		`"approvalMode":"unrestricted","permissions":{"allow":["Shell(ls)"],"deny":[]}}`)
	opt := InstallOptions{Home: home, Force: true}
	a.mustInstall(opt)
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
	a.mustUninstall(opt)
	if data, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	var got, want any
	json.Unmarshal(data, &got)
	json.Unmarshal([]byte(`{"version":1,"editor":{"vimMode":true},"approvalMode":"unrestricted","model":"mine",`+
		`"permissions":{"allow":["Shell(ls)","Shell(make)"],"deny":[]}}`), &want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestInterruptedAnywhere kills installations and uninstallations before each change of
// the disk: the next uninstallation brings back what was there.
func TestInterruptedAnywhere(t *testing.T) {
	a := newAgents(t)
	before := map[string]string{
		".cursor/permissions.json": `{"mcpAllowlist": ["mine:*"], "approvalMode": "unrestricted"}`,
		".claude/settings.json":    `{"model": "opus", "permissions": {"defaultMode": "acceptEdits"}}`,
	}
	edited := `{"mcpAllowlist": ["mine:*", "docs:*", "late:*"], "approvalMode": "allowlist", "terminalAllowlist": []}`
	type action func(opt InstallOptions) diag.List
	install := func(role string, of ...int) action {
		return func(opt InstallOptions) diag.List { _, d := a.install(role, opt, of...); return d }
	}
	uninstall := func(of ...int) action {
		return func(opt InstallOptions) diag.List { return a.uninstall(opt, of...) }
	}
	edit := func(opt InstallOptions) diag.List {
		put(t, opt.Home, ".cursor/permissions.json", edited)
		return nil
	}
	for name, c := range map[string]struct {
		done   []action
		killed action
		edited bool
	}{
		"a first installation":        {nil, install("dev"), false},
		"another over it":             {[]action{install("dev")}, install("reader"), false},
		"another over an edited file": {[]action{install("dev"), edit}, install("reader"), true},
		"an uninstallation":           {[]action{install("dev")}, uninstall(), false},
		"one of an edited file":       {[]action{install("dev"), edit}, uninstall(), true},
		"one of a part":               {[]action{install("dev")}, uninstall(0), false},
		"an installation of a part":   {[]action{install("dev")}, install("reader", 1), false},
		"another after one of a part": {[]action{install("dev"), uninstall(0)}, install("reader"), false},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				home := quickDir(t)
				for p, text := range before {
					put(t, home, p, text)
				}
				opt := InstallOptions{Home: home, Force: true}
				for _, s := range c.done {
					if d := s(opt); d.HasErrors() {
						t.Fatal(d)
					}
				}
				left := n
				killed := func() (killed bool) {
					defer func() { killed = recover() != nil }()
					with := opt
					with.step = func(step) {
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
					if d := install("dev")(opt); d.HasErrors() {
						t.Fatal(d)
					}
				}
				if d := uninstall()(opt); d.HasErrors() {
					t.Fatal(d)
				}
				got := tree(t, home)
				if c.edited {
					const late = `{"approvalMode":"unrestricted","mcpAllowlist":["mine:*","late:*"]`
					left := canonicalJSON(t, got[".cursor/permissions.json"])
					if left != late+`}` && left != late+`,"terminalAllowlist":[]}` {
						t.Fatalf("step %d: got %s", n, left)
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
	a := newAgents(t)
	before := map[string]string{".claude/settings.json": `{"model": "opus"}`}
	killed := func(n int, opt InstallOptions, do func(InstallOptions)) {
		defer func() { recover() }()
		opt.step = func(s step) {
			if s == staging {
				return // what is staged and not in place says nothing
			}
			if n--; n < 0 {
				panic("killed")
			}
		}
		do(opt)
	}
	for n := range 8 {
		for m := range 8 {
			var part []int
			if m%2 == 1 {
				part = []int{m / 2 % 2}
			}
			for name, second := range map[string]func(InstallOptions){
				"installed": func(opt InstallOptions) { a.install("dev", opt, part...) },
				"taken out": func(opt InstallOptions) { a.uninstall(opt, part...) },
			} {
				home := quickDir(t)
				for p, text := range before {
					put(t, home, p, text)
				}
				opt := InstallOptions{Home: home, Force: true}
				a.mustInstall(opt)
				killed(n, opt, func(opt InstallOptions) { a.install("reader", opt) })
				killed(m, opt, second)
				a.mustUninstall(opt)
				if d := cmp.Diff(before, tree(t, home)); d != "" {
					t.Fatalf("killed at %d, %s and killed at %d: (-before +after)\n%s", n, name, m, d)
				}
			}
		}
	}
}

// TestInstallsExcludeEachOther: one runs at a time, and the other says so.
func TestInstallsExcludeEachOther(t *testing.T) {
	a := newAgents(t)
	home := t.TempDir()
	opt := InstallOptions{Home: home}
	inside := opt
	done := false
	inside.step = func(step) {
		if !done {
			done = true
			_, diags := a.install("dev", opt)
			if !diags.HasErrors() || !strings.Contains(diags[0].Message, "another modec") {
				t.Errorf("got %v, want a refusal", diags)
			}
		}
	}
	if _, diags := a.install("dev", inside); diags.HasErrors() || !done {
		t.Error(diags, done)
	}
}

// TestHomesOfLinks: a folder that is a link into the home stays one, and one that leads
// out of it is refused.
func TestHomesOfLinks(t *testing.T) {
	a := newAgents(t)
	home := t.TempDir()
	put(t, home, "dotfiles/cursor/mine.txt", "mine")
	if err := os.Symlink("dotfiles/cursor", filepath.Join(home, ".cursor")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, home)
	opt := InstallOptions{Home: home}
	a.mustInstall(opt)
	if _, err := os.Stat(filepath.Join(home, "dotfiles/cursor/hooks.json")); err != nil {
		t.Error(err)
	}
	a.mustUninstall(opt)
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
	if _, diags := a.install("dev", opt); !diags.HasErrors() {
		t.Error("an installation left the home folder")
	}
	if err := os.Remove(filepath.Join(home, ".cursor")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o755); err != nil {
		t.Fatal(err)
	}
	a.mustInstall(opt)
	a.mustUninstall(opt)
	for dir, want := range map[string]bool{".cursor": true, ".claude": false, ".local": false} {
		if _, err := os.Stat(filepath.Join(home, dir)); (err == nil) != want {
			t.Errorf("%s: %v, want it to be there: %v", dir, err, want)
		}
	}
}

// TestMissingFilesKeepTheirOriginals: a file that is moved away for a while gets back
// what was there once it is back.
func TestMissingFilesKeepTheirOriginals(t *testing.T) {
	a := newAgents(t)
	home := t.TempDir()
	const mine = `{"approvalMode": "unrestricted"}`
	put(t, home, ".cursor/permissions.json", mine)
	file := filepath.Join(home, ".cursor/permissions.json")
	opt := InstallOptions{Home: home, Force: true}
	a.mustInstall(opt)
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	if diags := a.uninstall(opt); diags.HasErrors() || !strings.Contains(fmt.Sprint(diags), "stays in ~") {
		t.Errorf("got %v", diags)
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
	a.mustUninstall(opt)
	if d := cmp.Diff(map[string]string{".cursor/permissions.json": mine}, tree(t, home)); d != "" {
		t.Error(d)
	}
	// Installed anew while it is away, its bytes stay where the warning says.
	a.mustInstall(opt)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	kept := originalOf(Sum([]byte(mine)))
	file = filepath.Join(home, filepath.FromSlash(kept))
	if _, diags := a.install("dev", opt); diags.HasErrors() || !strings.Contains(fmt.Sprint(diags), kept) {
		t.Errorf("got %v", diags)
	} else if got, err := os.ReadFile(file); err != nil || string(got) != mine {
		t.Errorf("got %q, %v", got, err)
	}
	a.mustUninstall(opt)
	if got, err := os.ReadFile(file); err != nil || string(got) != mine {
		t.Errorf("after the end: got %q, %v", got, err)
	}
}

// TestInstallRefusesWhatHoldsNothing: with hooks switched off, or with another value in
// the place of a list, the installed file would hold less than it says.
func TestInstallRefusesWhatHoldsNothing(t *testing.T) {
	a := newAgents(t)
	for _, text := range []string{
		`{"disableAllHooks": true}`, `{"hooks": null}`, `{"permissions": {"deny": null}}`, `{"permissions": []}`,
	} {
		home := t.TempDir()
		put(t, home, ".claude/settings.json", text)
		before := tree(t, home)
		if _, diags := a.install("dev", InstallOptions{Home: home, Force: true}); !diags.HasErrors() {
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
	a := newAgents(t)
	home := t.TempDir()
	put(t, home, ".claude/settings.json", `{"env": {"TOKEN": "x"}}`)
	file := filepath.Join(home, ".claude/settings.json")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, diags := a.install("dev", InstallOptions{Home: home}); diags.HasErrors() {
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
	a := newAgents(t)
	home := t.TempDir()
	put(t, home, ".ssh/config", "mine\n")
	opt := InstallOptions{Home: home}
	a.mustInstall(opt)
	state := filepath.Join(home, filepath.FromSlash(StateFile))
	data, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	data = fmt.Appendf(data, "\n[files.'.ssh/config']\ntarget = 'claude'\nproject = ''\nsubject = ''\n"+
		"written = '%s'\n[files.'.ssh/config'.entries]\n", Sum([]byte("mine\n")))
	if err := os.WriteFile(state, data, 0o600); err != nil {
		t.Fatal(err)
	}
	a.mustInstall(opt)
	a.mustUninstall(opt)
	if got, err := os.ReadFile(filepath.Join(home, ".ssh/config")); err != nil || !bytes.Equal(got, []byte("mine\n")) {
		t.Errorf("got %q, %v", got, err)
	}
	if err := os.WriteFile(state, []byte("version = 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{
		func() error { return refusal(a.uninstall(opt)) },
		func() error { _, d := a.install("dev", opt); return refusal(d) },
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
