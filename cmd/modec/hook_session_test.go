package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/compiler/session"
	"modec.dev/modec/targets"
)

// place is a project in which the baseline may not run `make`, with a home folder of its own.
type place struct {
	t    *testing.T
	root string
}

const (
	narrow = "package modec\n\nroles: dev: can: command: {deny: [\"make\"], default: \"allow\"}\n" +
		"roles: lead: can: command: \"allow\"\n"
	wide   = "package modec\n\nroles: dev: can: command: \"allow\"\nroles: lead: can: command: \"allow\"\n"
	closed = "package modec\n\nroles: dev: can: command: \"deny\"\nroles: lead: can: command: \"allow\"\n"
)

func newPlace(t *testing.T) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	old := session.Home
	session.Home = func() (string, error) { return home, nil }
	t.Cleanup(func() { session.Home = old })
	p := &place{t, filepath.Join(dir, "project")}
	mustWrite(t, filepath.Join(p.root, "modec.toml"), []byte("baseline = \"dev\"\n"))
	p.source(narrow)
	p.git("init", "-q")
	p.git("add", ".")
	p.git("commit", "-qm", "first")
	return p
}

func (p *place) git(args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-C", p.root}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
}

func (p *place) source(text string) {
	mustWrite(p.t, filepath.Join(p.root, "modec/a.cue"), []byte(text))
}

// make returns what the hook of a session says in a folder about `make`: deny, ask, allow, abstain, or why it refuses.
func (p *place) make(of, folder string, flags ...string) string {
	p.t.Helper()
	dir := filepath.Join(p.root, folder)
	p.t.Chdir(dir)
	payload := fmt.Sprintf(`{"session_id":%q,"hook_event_name":"PreToolUse","tool_name":"Bash","cwd":%q,`+
		`"tool_input":{"command":"make"}}`, of, dir)
	var out, errs bytes.Buffer
	code := run(p.t.Context(), targets.All(), append([]string{"hook", "claude"}, flags...), strings.NewReader(payload), &out, &errs)
	if code != 0 {
		return errs.String()
	}
	return decisionOf(out.String())
}

// The first call of a session fixes its project and its policy: nothing that happens to the source later makes it wider.
func TestSessionIsFixed(t *testing.T) {
	for name, change := range map[string]func(p *place) (folder string){
		"a wider source": func(p *place) string { p.source(wide); return "" },
		"another branch": func(p *place) string {
			p.source(wide)
			p.git("commit", "-qam", "wide")
			return ""
		},
		"a source that does not compile": func(p *place) string { p.source("package modec\n\nroles: {"); return "" },
		"no source": func(p *place) string {
			if err := os.RemoveAll(filepath.Join(p.root, "modec")); err != nil {
				p.t.Fatal(err)
			}
			return ""
		},
		"no modec.toml": func(p *place) string {
			if err := os.Remove(filepath.Join(p.root, "modec.toml")); err != nil {
				p.t.Fatal(err)
			}
			return ""
		},
		"a project in a subfolder": func(p *place) string {
			mustWrite(p.t, filepath.Join(p.root, "sub/modec.toml"), []byte("baseline = \"dev\"\n"))
			mustWrite(p.t, filepath.Join(p.root, "sub/modec/a.cue"), []byte(wide))
			return "sub"
		},
		"a repository in a subfolder": func(p *place) string {
			mustWrite(p.t, filepath.Join(p.root, "sub/modec.toml"), []byte("baseline = \"dev\"\n"))
			mustWrite(p.t, filepath.Join(p.root, "sub/modec/a.cue"), []byte(wide))
			mustWrite(p.t, filepath.Join(p.root, "sub/.git/HEAD"), []byte("ref: refs/heads/main\n"))
			return "sub"
		},
		"an empty .git in a subfolder": func(p *place) string {
			mustWrite(p.t, filepath.Join(p.root, "sub/modec.toml"), []byte("baseline = \"dev\"\n"))
			mustWrite(p.t, filepath.Join(p.root, "sub/modec/a.cue"), []byte(wide))
			mustWrite(p.t, filepath.Join(p.root, "sub/.git"), nil)
			return "sub"
		},
		"a work tree": func(p *place) string {
			p.source(wide)
			p.git("commit", "-qam", "wide")
			p.git("worktree", "add", "-q", "tree")
			return "tree"
		},
		"a folder without a project": func(*place) string { return ".." },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			if got := p.make("s", ""); got != "deny" {
				t.Fatalf("the first call: got %s", got)
			}
			folder := change(p)
			if got := p.make("s", folder); got != "deny" {
				t.Errorf("got %s", got)
			}
			if strings.HasSuffix(name, "in a subfolder") { // a session that begins there is of the same project
				if got := p.make("new", folder); got != "deny" {
					t.Errorf("a new session: got %s", got)
				}
				link := filepath.Join(t.TempDir(), "link")
				if err := os.Symlink(filepath.Join(p.root, folder), link); err != nil {
					t.Fatal(err)
				}
				p.root = link
				if got := p.make("by a link", ""); got != "deny" {
					t.Errorf("a session by a link: got %s", got)
				}
			}
		})
	}
}

// A later source lowers a session, sessions are apart, and one that begins in a subfolder is of the outermost project.
func TestSessionsAreApart(t *testing.T) {
	p := newPlace(t)
	p.source(wide)
	if got := p.make("first", ""); got != "abstain" {
		t.Fatalf("got %s", got)
	}
	p.source(closed)
	if got := p.make("first", ""); got != "deny" {
		t.Errorf("a later source that denies: got %s", got)
	}
	p.source("package modec\n\nroles: {")
	if got := p.make("first", ""); got != "deny" {
		t.Errorf("a source that does not compile after it: got %s", got)
	}
	p.source(narrow)
	mustWrite(t, filepath.Join(p.root, "sub/modec.toml"), []byte("baseline = \"lead\"\n"))
	mustWrite(t, filepath.Join(p.root, "sub/modec/a.cue"), []byte(wide))
	if got := p.make("second", "sub"); got != "deny" {
		t.Errorf("a session in a subfolder: got %s", got)
	}
	p.source(wide)
	if got := p.make("second", ""); got != "deny" {
		t.Errorf("the second session: got %s", got)
	}
	if got := p.make("first", ""); got != "abstain" {
		t.Errorf("the first session: got %s", got)
	}
	if got := p.make("third", "", "--subject", "role:lead", "--may-allow", "--root", p.root); got != "allow" {
		t.Errorf("a session that was started: got %s", got)
	}
	t.Setenv("MODEC_SUBJECT", "role:lead")
	p.source(narrow)
	if got := p.make("fourth", ""); got != "deny" {
		t.Errorf("a variable that names another role: got %s", got)
	}
}

// What a session began with is not taken from another file, and where nothing can be kept no session begins.
func TestSessionCache(t *testing.T) {
	p := newPlace(t)
	p.make("s", "")
	home, _ := session.Home()
	files, err := filepath.Glob(filepath.Join(home, ".cache/modec/hooks/policy-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %q, %v", files, err)
	}
	p.source(wide)
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	poisoned := bytes.ReplaceAll(data, []byte(`"deny"`), []byte(`"allow"`))
	if bytes.Equal(poisoned, data) {
		t.Fatalf("nothing to poison in %s", data)
	}
	mustWrite(t, files[0], poisoned)
	if got := p.make("s", ""); !strings.Contains(got, "no longer there") {
		t.Errorf("a policy that somebody changed: got %s", got)
	}
	p.source(narrow)
	if got := p.make("s", ""); got != "deny" {
		t.Errorf("the source that the session began with: got %s", got)
	}
	if err := os.RemoveAll(filepath.Join(home, ".cache/modec/hooks")); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(home, ".cache/modec/hooks"), nil)
	if got := p.make("new", ""); !strings.Contains(got, "cannot be kept") {
		t.Errorf("a cache that nobody can write: got %s", got)
	}
}

// A hook decides as anywhere where its process has no variables of a home.
func TestHookWithoutHome(t *testing.T) {
	p := newPlace(t)
	p.source("package modec\n\nroles: dev: can: {read: \"allow\", command: \"ask\"}\n")
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
	t.Chdir(p.root)
	payload := `{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":"Grep","tool_input":{"file_path":"README.md"},` +
		fmt.Sprintf(`"workspace_roots":[%q]}`, p.root)
	var out, errs bytes.Buffer
	code := run(t.Context(), targets.All(), []string{"hook", "cursor"}, strings.NewReader(payload), &out, &errs)
	if got := decisionOf(out.String()); code != 0 || got != "abstain" {
		t.Errorf("got %d, %s%s", code, &out, &errs)
	}
}

// No role opens what modec keeps for itself, whatever it may do outside of the project: not by a tool, nor by a redirect,
// nor through a link.
func TestModecsOwnFiles(t *testing.T) {
	p := newPlace(t)
	p.source("package modec\n\nroles: dev: can: {default: \"allow\", outside: \"allow\"}\nroles: lead: {}\n")
	home, _ := session.Home()
	cache := filepath.Join(home, ".cache/modec/sessions/x.json")
	mustWrite(t, cache, nil)
	if err := os.Symlink(filepath.Dir(cache), filepath.Join(p.root, "link")); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	tell := func(agent, of, payload, want string) {
		t.Helper()
		t.Chdir(p.root)
		var out, errs bytes.Buffer
		args := []string{"hook", agent, "--subject", of}
		if code := run(t.Context(), targets.All(), args, strings.NewReader(payload), &out, &errs); code != 0 {
			t.Errorf("%s, %s: exit %d, %s", of, payload, code, &errs)
		} else if got := decisionOf(out.String()); got != want {
			t.Errorf("%s, %s: got %s, want %s", of, payload, got, want)
		}
	}
	for _, of := range []string{"role:dev", "role:lead"} {
		tell("cursor", of, fmt.Sprintf(`{"conversation_id":"s","hook_event_name":"preToolUse","workspace_roots":[%q],`+
			`"tool_name":"Delete","tool_input":{"file_path":%q}}`, p.root, cache), "deny")
		for call, want := range map[string]string{
			fmt.Sprintf(`"Write","tool_input":{"file_path":%q}`, cache):                                            "deny",
			fmt.Sprintf(`"Read","tool_input":{"file_path":%q}`, filepath.Join(state, "modec/off/key")):             "deny",
			fmt.Sprintf(`"Read","tool_input":{"file_path":%q}`, filepath.Join(home, ".local/state/modec/off/key")): "deny",
			`"Write","tool_input":{"file_path":"link/new"}`:                                                        "deny",
			fmt.Sprintf(`"Bash","tool_input":{"command":"echo x > %s"}`, cache):                                    "deny",
			fmt.Sprintf(`"Write","tool_input":{"file_path":%q}`, filepath.Join(home, ".cache/other/x")):            "abstain",
			`"Write","tool_input":{"file_path":"src/x"}`:                                                           "abstain",
		} {
			tell("claude", of, fmt.Sprintf(`{"session_id":"s","hook_event_name":"PreToolUse","cwd":%q,"tool_name":%s}`,
				p.root, call), want)
		}
	}
}
