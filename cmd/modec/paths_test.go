package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
)

// hooked is a built project at a disk with links, and what lies around it.
type hooked struct {
	t                      *testing.T
	home, root, link, away string // the project is home/proj; link leads there
	engine                 *policy.Engine
}

// newHooked builds a project in which a role may write below books and may not read secrets.
func newHooked(t *testing.T) *hooked {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &hooked{t: t, home: filepath.Join(dir, "home", "ann"), link: filepath.Join(dir, "via"),
		away: filepath.Join(dir, "away")}
	h.root = filepath.Join(h.home, "proj")
	t.Setenv("HOME", h.home)
	for name, text := range map[string]string{
		"modec.toml": "hooks = \"enforce\"\nbaseline = \"dev\"\n[targets.claude]\n[targets.cursor]\n",
		"modec/dev.cue": `package modec
roles: dev: can: {
	default: "ask"
	read: {allow: ["**"], deny: ["secrets/"]}
	edit: {allow: ["books/**"], deny: ["src/"], default: "allow"}
	command: {allow: ["ls *", "cat *"], deny: ["rm *"], default: "ask"}
}
roles: reader: can: {
	default: "deny"
	read: {allow: ["**"], deny: ["secrets/"]}
	command: allow: ["@readonly_filters", "@git_read"]
}
`,
		"src/a": "", "books/a": "", "secrets/key": "", "secrets/deep/x": "", "deep/a/b/x": "", "a": "", "key": "",
	} {
		mustWrite(t, filepath.Join(h.root, name), []byte(text))
	}
	mustWrite(t, filepath.Join(h.away, "x"), nil)
	h.built(map[string]string{
		filepath.Join(h.root, "books/tosrc"): "../src", filepath.Join(h.root, "books/out"): h.away,
		filepath.Join(h.root, "deeper"): "secrets/deep", filepath.Join(h.root, "books/gone"): "nowhere",
		filepath.Join(h.root, "process"): "/proc/self/cwd", filepath.Join(h.root, "input"): "/dev/stdin",
		filepath.Join(h.root, "books/loop"): "loop", filepath.Join(h.away, "back"): h.root, h.link: h.root,
	})
	return h
}

// built makes links, by their names, and builds the project.
func (h *hooked) built(links map[string]string) {
	t := h.t
	t.Helper()
	for name, to := range links {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	if out := answer(t, "-C", h.root, "build"); !strings.HasPrefix(out, "exit 0") {
		t.Fatal(out)
	}
	req := testEnv(t.Context(), h.root, io.Discard).request()
	res, diags := compiler.Open(t.Context(), req)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	h.engine = res.Policy
}

// says returns what the hook of an agent answers: allow, ask, deny or abstain.
func (h *hooked) says(agent, role string, payload map[string]any) string {
	data, err := json.Marshal(payload)
	if err != nil {
		h.t.Fatal(err)
	}
	hooker := (&env{targets: targets.All()}).hooker(agent)
	a := hooker.Hook(contract.HookRequest{Payload: data, Policy: h.engine, Subject: ir.SubjectRef{Role: role},
		Root: h.root, MayAllow: true, Resolve: contract.ResolveLinks, Home: h.home, Same: contract.SameFolder, Folds: true})
	if a.Exit != 0 {
		h.t.Fatalf("%s: exit %d: %s", data, a.Exit, a.Stderr)
	}
	return decisionOf(string(a.Stdout))
}

// decisionOf returns the decision in a hook's answer.
func decisionOf(answer string) string {
	answer = strings.ReplaceAll(answer, ": ", ":")
	for _, d := range []string{"allow", "ask", "deny"} {
		for _, key := range []string{`"permissionDecision"`, `"permission"`} {
			if strings.Contains(answer, key+`:"`+d+`"`) {
				return d
			}
		}
	}
	return "abstain"
}

// `modec hook` knows the home of the user who runs it.
func TestHookKnowsHome(t *testing.T) {
	h := newHooked(t)
	payload := `{"hook_event_name":"PreToolUse","tool_name":"Read","cwd":"/","tool_input":{"file_path":"~/proj/secrets/key"}}`
	var out, errs bytes.Buffer
	args := []string{"hook", "claude", "--root", h.root, "--subject", "role:dev", "--may-allow"}
	code := run(t.Context(), targets.All(), args, strings.NewReader(payload), &out, &errs)
	if code != 0 || decisionOf(out.String()) != "deny" {
		t.Errorf("got exit %d, %s%s", code, &out, &errs)
	}
}

// line returns what the hook of an agent answers the role dev about a command line.
func (h *hooked) line(agent, cwd, line string) string { return h.lineOf(agent, "dev", cwd, line) }

func (h *hooked) lineOf(agent, role, cwd, line string) string {
	if agent == "cursor" {
		return h.says(agent, role, map[string]any{"hook_event_name": "beforeShellExecution", "command": line, "cwd": cwd,
			"workspace_roots": []string{h.root}})
	}
	return h.says(agent, role, map[string]any{"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": cwd,
		"tool_input": map[string]string{"command": line}})
}

// file returns what the hook of an agent answers about a tool that opens a file.
func (h *hooked) file(agent, cwd, group, file string) string {
	return h.fileOf(agent, "dev", cwd, group, file)
}

func (h *hooked) fileOf(agent, role, cwd, group, file string) string {
	tool, event := map[string]string{"read": "Read", "edit": "Write"}[group], "PreToolUse"
	if agent == "cursor" {
		event = "preToolUse"
	}
	return h.says(agent, role, map[string]any{"hook_event_name": event, "tool_name": tool, "cwd": cwd,
		"tool_input": map[string]string{"file_path": file}})
}

// A path is judged alike by whatever tool it comes: as it is written, mapped into the project,
// and where its links lead.
func TestPathsOfHooks(t *testing.T) {
	h := newHooked(t)
	all := func(format string) string {
		return strings.NewReplacer("ROOT", h.root, "VIA", h.link, "AWAY", h.away, "PID", fmt.Sprint(os.Getpid())).Replace(format)
	}
	for _, c := range []struct{ cwd, group, path, want string }{
		{"ROOT", "edit", "books/x", "allow"},
		{"ROOT", "edit", "books/tosrc/x", "deny"},
		{"ROOT", "edit", "books/out/x", "deny"},
		{"ROOT", "edit", "books/gone", "deny"},
		{"ROOT", "edit", "books/loop", "deny"},
		{"ROOT", "edit", "ROOT/books/x", "allow"},
		{"ROOT", "edit", "ROOT/books/tosrc/x", "deny"},
		{"ROOT", "edit", "VIA/books/x", "allow"},
		{"ROOT", "edit", "VIA/src/x", "deny"},
		{"ROOT", "edit", "AWAY/back/books/x", "allow"},
		{"ROOT", "edit", "AWAY/back/src/x", "deny"},
		{"ROOT", "edit", "AWAY/x", "deny"},
		{"ROOT", "edit", "~/proj/src/x", "deny"},
		{"ROOT", "read", "src/a", "allow"},
		{"ROOT", "read", "ROOT/src/a", "allow"},
		{"ROOT", "read", "ROOT/secrets/key", "deny"},
		{"ROOT", "read", "VIA/secrets/key", "deny"},
		{"ROOT", "read", "~/proj/secrets/key", "deny"},
		{"ROOT", "read", "~ann/proj/secrets/key", "deny"},
		{"ROOT", "read", "~+/secrets/key", "deny"},
		{"ROOT", "read", "~/proj/src/a", "ask"}, // programs differ about "~"
		{"ROOT", "read", "/proc/self/cwd/secrets/key", "deny"},
		{"ROOT", "read", "/proc/PID/cwd/secrets/key", "deny"},
		{"ROOT", "read", "/proc/self/task/PID/cwd/secrets/key", "deny"},
		{"ROOT", "read", "/dev/fd/../cwd/secrets/key", "deny"},
		{"ROOT", "read", "/proc/self/rootROOT/secrets/key", "deny"},
		{"ROOT", "read", "/proc/self/cwd/src/a", "deny"},
		{"ROOT", "read", "../../../../../../../../../proc/self/cwd/src/a", "deny"},
		{"ROOT", "read", "../../../../../../../../../proc/self/cwd/secrets/key", "deny"},
		{"ROOT", "read", "~/../../../../../../../../../proc/self/cwd/src/a", "deny"},
		{"ROOT", "read", "/dev/stdin/src/a", "deny"},
		{"ROOT", "read", "/proc/self/fd/0/src/a", "deny"},
		{"ROOT", "read", "/dev/stdin", "ask"},
		{"ROOT", "read", "/proc/self/status", "deny"},
		{"ROOT", "read", "/proc/self/../..ROOT/src/a", "allow"},
		{"ROOT", "read", "/proc/self/../..ROOT/deeper/x", "deny"},
		{"ROOT", "read", "process/src/a", "deny"},
		{"ROOT", "read", "input", "ask"},
		{"ROOT", "read", "src/../secrets/key", "deny"},
		{"ROOT", "read", "../proj/secrets/key", "deny"},
		{"ROOT", "read", "../proj/src/a", "allow"},
		{"ROOT", "read", "deeper/../key", "deny"}, // a program that cleans reads key, the system secrets/key
		{"ROOT", "read", "ROOT/deeper/../key", "deny"},
		{"ROOT", "read", "/etc/passwd", "ask"},
		{"ROOT", "read", "SECRETS/key", "deny"},
		{"ROOT", "read", "secrets./key", "deny"},
		{"ROOT", "read", "secrets:x/key", "deny"},
		{"ROOT", "read", "s\u200decrets/key", "deny"},
		{"ROOT", "read", "deep/a./b", "deny"},
		{"ROOT/books", "read", "../secrets/key", "deny"},
		{"ROOT/books", "read", "a", "allow"},
		{"ROOT/books/tosrc", "edit", "x", "deny"},
		{"ROOT/deeper", "read", "../key", "deny"},
		{"VIA/books", "edit", "x", "allow"},
		{"VIA", "read", "secrets/key", "deny"},
		{"AWAY", "read", "../home/ann/proj/secrets/key", "deny"},
		{"AWAY", "read", "back/secrets/key", "deny"},
		{"AWAY", "read", "/proc/self/cwd/back/secrets/key", "deny"},
	} {
		cwd, path := all(c.cwd), all(c.path)
		line := "cat < " + path
		if c.group == "edit" {
			line = "ls > " + path
		}
		for _, agent := range []string{"claude", "cursor"} {
			want := c.want
			if got := h.line(agent, cwd, line); got != want {
				t.Errorf("%s in %s: %s: got %s, want %s", agent, c.cwd, line, got, want)
			}
			if agent == "cursor" && want == "ask" {
				want = "deny" // it cannot ask about files
			}
			if got := h.file(agent, cwd, c.group, path); got != want {
				t.Errorf("%s in %s: %s %s: got %s, want %s", agent, c.cwd, c.group, c.path, got, want)
			}
		}
	}
	for _, c := range []struct{ cwd, line, want string }{
		{"ROOT", "cd books && ls > x", "allow"},
		{"ROOT", "cd books/tosrc && ls > x", "deny"},
		{"ROOT", "cd ROOT/books && ls > x", "allow"},
		{"ROOT", "cd VIA/books && ls > x", "allow"},
		{"ROOT", "cd AWAY/back/books && ls > x", "allow"},
		{"ROOT", "cd books && cat < ../secrets/key", "deny"},
		{"ROOT", "cd books && cat < ROOT/secrets/key", "deny"},
		{"ROOT", "cd books/out && ls", "ask"},
		{"ROOT", "cd books/out && cat < back/secrets/key", "deny"},
		{"ROOT", "cd deeper && cat < ../key", "deny"},
		{"ROOT", "cd deeper/.. && cat < key", "deny"},
		{"ROOT", "cd books/gone && ls", "ask"},
		{"ROOT/books", "cd .. && cat < src/a", "allow"},
		{"ROOT/deeper", "cd .. && cat < key", "deny"}, // shells go up to where they came from, or to secrets
		{"AWAY", "ls", "ask"},
		{"AWAY", "cd ROOT && cat < secrets/key", "deny"},
		{"ROOT/books/out", "ls", "ask"},
		{"ROOT", "ls > books/x 2> books/tosrc/y", "deny"},
	} {
		for _, agent := range []string{"claude", "cursor"} {
			if got := h.line(agent, all(c.cwd), all(c.line)); got != c.want {
				t.Errorf("%s in %s: %s: got %s, want %s", agent, c.cwd, c.line, got, c.want)
			}
		}
	}
}

// Whatever path opens a denied file, by links as the system follows them or cleaned as programs
// do first, is denied.
func TestPathsThatOpenASecret(t *testing.T) {
	h := newHooked(t)
	for _, name := range []string{"secrets/key", "secrets/deep/x"} {
		mustWrite(t, filepath.Join(h.root, name), []byte("secret"))
	}
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"..", "..", ".", "", "books", "tosrc", "out", "back", "secrets", "key", "deep", "deeper", "src", "x", "proj", "gone"}
	starts := []string{"", "", "", h.root + "/", h.link + "/", h.away + "/", h.home + "//"}
	secrets := 0
	for range 20000 {
		path := starts[r.IntN(len(starts))]
		for range 1 + r.IntN(5) {
			path += parts[r.IntN(len(parts))] + "/"
		}
		if path = strings.TrimSuffix(path, "/"); path == "" {
			continue
		}
		cwd := []string{h.root, filepath.Join(h.root, "books"), filepath.Join(h.root, "deeper"), h.link, h.away}[r.IntN(5)]
		at := path
		if !filepath.IsAbs(path) {
			at = cwd + "/" + path
		}
		system, _ := os.ReadFile(at)
		program, _ := os.ReadFile(filepath.Clean(at))
		if string(system) != "secret" && string(program) != "secret" {
			continue
		}
		secrets++
		for _, agent := range []string{"claude", "cursor"} {
			if got := h.file(agent, cwd, "read", path); got != "deny" {
				t.Errorf("%s in %s: read %s: got %s", agent, cwd, path, got)
			}
			if got := h.line(agent, cwd, "cat < "+path); got != "deny" {
				t.Errorf("%s in %s: cat < %s: got %s", agent, cwd, path, got)
			}
		}
	}
	if secrets < 40 {
		t.Errorf("got %d paths that open a secret, want more", secrets)
	}
}

// `modec explain` judges a path as the hooks do.
func TestExplainKnowsTheDisk(t *testing.T) {
	h := newHooked(t)
	for _, c := range []struct{ group, arg, want string }{
		{"edit", "books/x", "exit 0\nallow:"}, {"edit", h.root + "/books/x", "exit 0\nallow:"},
		{"edit", "books/tosrc/x", "exit 1\ndeny:"}, {"read", h.link + "/secrets/key", "exit 1\ndeny:"},
		{"read", "secrets./key", "exit 1\ndeny:"}, {"command", "ls > books/tosrc/x", "exit 1\ndeny:"},
		{"command", "cd " + h.link + "/books && ls > x", "exit 0\nallow:"},
	} {
		if got := answer(t, "-C", h.root, "explain", "role:dev", c.group, c.arg); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: got %s", c.group, c.arg, got)
		}
	}
}

// The operands of the built-in sets are files like those of redirects.
func TestPathsOfOperands(t *testing.T) {
	h := newHooked(t)
	for line, want := range map[string]string{
		"cat src/a": "allow", "cat " + h.root + "/src/a": "allow", "cat " + h.link + "/src/a": "allow",
		"cat secrets/key": "deny", "cat " + h.link + "/secrets/key": "deny", "cat deeper/x": "deny",
		"cat deeper/../key": "deny", "cat books/out/x": "ask", "cat secrets./key": "deny", "cat /proc/self/cwd/secrets/key": "deny",
		"git show HEAD:src/a": "allow", "git show HEAD:secrets/key": "deny", "git diff " + h.root + "/secrets/key": "deny",
	} {
		for _, agent := range []string{"claude", "cursor"} {
			if got := h.lineOf(agent, "reader", h.root, line); got != want {
				t.Errorf("%s: %s: got %s, want %s", agent, line, got, want)
			}
		}
	}
}

// A pattern of the home folder holds for a file there however the file is written.
func TestPathsAtHome(t *testing.T) {
	h := newHooked(t)
	mustWrite(t, filepath.Join(h.root, "modec/keeper.cue"), []byte(`package modec
roles: keeper: can: {
	default: "allow"
	outside: {read: "allow", edit: "allow"}
	read: {deny: ["~/.ssh/**", "~/{.aws,proj/local}/**", {regex: "^~/[.]gnupg/"}], ask: ["~/asked/**"], default: "allow"}
	edit: {deny: ["~/.ssh/**"], default: "allow"}
	command: {allow: ["@readonly_filters"], default: "deny"}
}
`))
	for _, name := range []string{".ssh/id", ".aws/key", ".gnupg/x", "asked/x", "free/x", "proj/local/x"} {
		mustWrite(t, filepath.Join(h.home, name), nil)
	}
	h.built(map[string]string{
		filepath.Join(h.root, "keys"): "../.ssh", filepath.Join(h.away, "house"): h.home,
	})
	spelled := func(name string) []string {
		return []string{"~/" + name, "~ann/" + name, h.home + "/" + name, "../" + name, h.away + "/house/" + name,
			h.home + "/free/../" + name, "/" + h.home + "//./" + name}
	}
	for name, want := range map[string]string{".ssh/id": "deny", ".aws/key": "deny", ".gnupg/x": "deny", "asked/x": "ask",
		"free/x": "allow", "proj/local/x": "deny", "proj/src/a": "allow"} {
		edit := "allow"
		if name == ".ssh/id" {
			edit = "deny"
		}
		for _, file := range spelled(name) {
			h.keeps(file, want, edit)
		}
	}
	h.keeps("local/x", "deny", "allow")
	h.keeps("keys/id", "deny", "deny")
	h.keeps("src/a", "allow", "allow")
	h.keeps(".ssh/id", "allow", "allow") // of the project
}

// keeps fails unless the role keeper may read and edit a file as it says.
func (h *hooked) keeps(file, read, edit string) {
	for _, agent := range []string{"claude", "cursor"} {
		for group, want := range map[string]string{"read": read, "edit": edit} {
			if agent == "cursor" && want == "ask" {
				want = "deny" // it cannot ask about files
			}
			if got := h.fileOf(agent, "keeper", h.root, group, file); got != want {
				h.t.Errorf("%s: %s %s: got %s, want %s", agent, group, file, got, want)
			}
		}
	}
	if !strings.HasPrefix(file, "~") { // that line is not plain
		for _, line := range []string{"cat < " + file, "head -n 1 " + file} {
			if got := h.lineOf("claude", "keeper", h.root, line); got != read {
				h.t.Errorf("%s: got %s, want %s", line, got, read)
			}
		}
	}
	if got := answer(h.t, "-C", h.root, "explain", "role:keeper", "read", file); !strings.Contains(got, read+":") {
		h.t.Errorf("explain %s: got %s, want %s", file, got, read)
	}
}
