package codex_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets"
)

func launcher(t *testing.T) contract.Launcher {
	t.Helper()
	for _, target := range targets.All() {
		if l, ok := target.(contract.Launcher); ok && l.Name() == "codex" {
			return l
		}
	}
	t.Fatal("Codex cannot be started")
	return nil
}

func TestArgs(t *testing.T) {
	l := launcher(t)
	req := compiler.Request{Targets: targets.All(), FS: memfs.FS{
		config.File: []byte("hooks = \"enforce\"\n[targets.codex]\n"),
		"modec/a.json": []byte(`{"roles": {"dev": {"can": {"command": {"allow": ["make"], "default": "ask"}}}, "quiet": {},
"told": {"appendSystemPrompt": "Be brief."}, "off": {"modes": [], "can": {"edit": "deny", "command": "deny"}}},
"modes": {"m": {"name": "M", "roleDefinition": "You \"read\".", "can": {"read": "allow"}}}}`),
	}}
	res, diags := compiler.Compile(t.Context(), req)
	req.Unhooked = true
	unhooked, more := compiler.Compile(t.Context(), req)
	if diags.HasErrors() || more.HasErrors() {
		t.Fatal(diags, more)
	}
	for _, c := range []struct {
		ref      ir.SubjectRef
		opt      contract.ArgsOptions
		want     []string // in an argument each, in this order
		lacks    string
		code     string
		hooked   bool
		untrusts bool
	}{
		{ref: ir.SubjectRef{Role: "dev"}, want: []string{`sandbox_mode="workspace-write"`, "hooks={ PreToolUse",
			`agents={ m = { description = "m", config_file = "`,
			"sandbox_workspace_write={ writable_roots = [], network_access = false }"}, lacks: "approval_policy",
			hooked: true, untrusts: true},
		{ref: ir.SubjectRef{Role: "off"}, untrusts: true, lacks: "hooks=",
			want: []string{"approval_policy={ granular = { sandbox_approval = false", `sandbox_mode="read-only"`,
				"features={ shell_tool = false }"}},
		{ref: ir.SubjectRef{Role: "told"}, want: []string{`developer_instructions="Be brief.\n"`}, lacks: "sandbox_mode"},
		{ref: ir.SubjectRef{Role: "quiet"}, lacks: "-c"},
		{ref: ir.SubjectRef{Mode: "m"}, want: []string{`developer_instructions="You \"read\".\n"`}, hooked: true, untrusts: true},
		{ref: ir.SubjectRef{Role: "dev", Mode: "m"}, code: "codex-no-flags"},
		{ref: ir.SubjectRef{Role: "dev"}, opt: contract.ArgsOptions{FlagsOnly: true}, code: "codex-no-flags"},
		{ref: ir.SubjectRef{Role: "off"}, opt: contract.ArgsOptions{FlagsOnly: true}, untrusts: true},
	} {
		here, err := filepath.Abs("")
		if err != nil {
			t.Fatal(err)
		}
		c.opt.Root = here
		c.opt.Copies = &contract.Copies{Put: func(f contract.File) string { return "/run/" + f.Path }}
		of := res
		if c.ref.Role == "off" {
			of = unhooked
		}
		args, list := l.Args(of.Input(l), c.ref, c.opt)
		if c.code != "" {
			if len(list) != 1 || string(list[0].Code) != c.code || args != nil {
				t.Errorf("%s: got %q and %v, want %s", c.ref, args, list, c.code)
			}
			continue
		}
		if len(list) > 0 {
			t.Errorf("%s: got %v", c.ref, list)
		}
		at := 0
		for _, want := range c.want {
			i := slices.IndexFunc(args[at:], func(a string) bool { return strings.HasPrefix(a, want) })
			if i < 0 {
				t.Errorf("%s: got %q, want %q in it", c.ref, args, want)
				break
			}
			at += i
		}
		all := strings.Join(args, "\n")
		if c.lacks != "" && strings.Contains(all, c.lacks) {
			t.Errorf("%s: got %q with %s", c.ref, args, c.lacks)
		}
		if strings.Contains(all, "--dangerously-bypass-hook-trust") != c.hooked {
			t.Errorf("%s: got %q, want hooks %t", c.ref, args, c.hooked)
		}
		lock := "projects={ " + contract.QuoteTOML(here) + ` = { trust_level = "untrusted" }`
		if strings.Contains(all, lock) != c.untrusts {
			t.Errorf("%s: got %q, want a lock %t", c.ref, args, c.untrusts)
		}
	}
}

func TestReplaces(t *testing.T) {
	l := launcher(t)
	asks := []string{"-c", `sandbox_mode="workspace-write"`, "-c", `mcp_servers={ docs = { url = "https://x/" } }`}
	said := append(slices.Clone(asks), "-c", `approval_policy="on-request"`)
	for _, c := range []struct {
		name  string
		own   []string
		given []string
		files map[string]string
		want  string // how the answer begins
	}{
		{name: "a prompt", own: []string{"fix it"}},
		{name: "another model", own: []string{"-m", "gpt-5.5", "-c", "model_reasoning_effort=high", "-c", `tui.theme="x"`, "fix it"}},
		{name: "no terminal", own: []string{"exec", "fix it"}},
		{name: "a word that is a command too, as a prompt", own: []string{"fix", "review"}},
		{name: "a value that is a command too", own: []string{"-m", "review", "fix it"}},
		{name: "behind --", own: []string{"--", "--yolo"}},
		{name: "a profile", own: []string{"-p", "x"}, want: "-p"},
		{name: "a profile in one word", own: []string{"-px"}, want: "-px"},
		{name: "a sandbox", own: []string{"exec", "--sandbox=danger-full-access", "x"}, want: "--sandbox=danger-full-access"},
		{name: "no questions", own: []string{"-a", "never"}, want: "-a"},
		{name: "a key", own: []string{"-c", "approval_policy=never"}, want: "-c"},
		{name: "a key in one word", own: []string{"--config=features.hooks=false"}, want: "--config=features.hooks=false"},
		{name: "a key that only begins as one", own: []string{"-c", "models=x"}, want: "-c"},
		{name: "yolo", own: []string{"fix it", "--yolo"}, want: "--yolo"},
		{name: "another folder", own: []string{"-C", "/"}, want: "-C"},
		{name: "a feature", own: []string{"--disable", "hooks"}, want: "--disable"},
		{name: "a session from before", own: []string{"resume", "--last"}, want: "resume"},
		{name: "a server for others", own: []string{"-m", "x", "app-server"}, want: "app-server"},
		{name: "a policy of the user", given: asks,
			files: map[string]string{"config.toml": `approval_policy = "on-request"`}, want: "approval_policy"},
		{name: "a profile of permissions", given: asks, files: map[string]string{"config.toml": `default_permissions = ":workspace"`},
			want: "approval_policy"},
		{name: "a policy of the user beside one that is given", given: said,
			files: map[string]string{"config.toml": `approval_policy = "never"`}},
		{name: "a reviewer", given: said,
			files: map[string]string{"config.toml": `approvals_reviewer = "auto_review"`}, want: "approvals_reviewer"},
		{name: "a server of the same name", given: said, files: map[string]string{"config.toml": "[mcp_servers.docs]\nurl = \"https://y/\""},
			want: "the server docs"},
		{name: "a server whose tools have the same names", given: []string{"-c", `sandbox_mode="read-only"`, "-c",
			`mcp_servers={ my-docs = { command = "x" } }`, "-c", `approval_policy="on-request"`},
			files: map[string]string{"config.toml": "[mcp_servers.my_docs]\ncommand = \"y\""}, want: "the server my_docs"},
		{name: "such a server that is off", given: []string{"-c", `sandbox_mode="read-only"`, "-c",
			`mcp_servers={ my-docs = { command = "x" } }`, "-c", `approval_policy="on-request"`},
			files: map[string]string{"config.toml": "[mcp_servers.my_docs]\ncommand = \"y\"\nenabled = false"}},
		{name: "another server", given: asks, files: map[string]string{"config.toml": "[mcp_servers.mine]\ncommand = \"x\""}},
		{name: "what Codex does not read", given: asks, files: map[string]string{"config.toml": "a"}, want: "CONFIG"},
		{name: "a rule that allows", given: asks, files: map[string]string{"rules/a.rules": `prefix_rule(pattern=["npm"])`}, want: "RULES"},
		{name: "a rule that allows beside one that does not", given: asks,
			files: map[string]string{"rules/a.rules": "prefix_rule(pattern=[\"a\"], decision=\"prompt\")\n" +
				"prefix_rule(pattern=[\"npm\"], decision=\"allow\")"}, want: "RULES"},
		{name: "rules that hold back", given: asks,
			files: map[string]string{"rules/a.rules": `prefix_rule(pattern=["npm"], decision = "forbidden")`}},
		{name: "rules that hold back, with all that they may have", given: asks,
			files: map[string]string{"rules/a.rules": "# mine\nprefix_rule(\n  pattern = [\"git\", ['push', \"pull\"]],\n" +
				"  decision = 'prompt',\n  justification = \"x\",\n  match = [[\"git\", \"push\"], \"git pull\"],\n)\n" +
				`network_rule(host="x.org", protocol="https", decision="forbidden")`}},
		{name: "a rule by another name", given: asks, files: map[string]string{
			"rules/a.rules": "f = prefix_rule\nf(pattern=[\"npm\"], decision=\"allow\")"}, want: "RULES"},
		{name: "a rule that hides its decision", given: asks, files: map[string]string{
			"rules/a.rules": "d = \"allow\"\nprefix_rule(pattern=[\"npm\"], decision=d) # decision=\"prompt\""}, want: "RULES"},
		{name: "rules of a function", given: asks, files: map[string]string{
			"rules/a.rules": "def f(r):\n  r(pattern=[\"npm\"])\n[f(x) for x in [prefix_rule]]"}, want: "RULES"},
		{name: "a rule in a text over lines", given: asks, files: map[string]string{
			"rules/a.rules": "prefix_rule(pattern=[\"\"\"], decision=\"prompt\")\n#\"\"\"], decision=\"allow\")"}, want: "RULES"},
		{name: "a hook that answers", given: said, files: map[string]string{
			"hooks.json": `{"hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": "yes"}]}]}}`},
			want: "a hook for PermissionRequest"},
		{name: "a hook that answers, of the configuration", given: said, files: map[string]string{
			"config.toml": "[[hooks.PermissionRequest]]\n[[hooks.PermissionRequest.hooks]]\ntype = \"command\"\ncommand = \"yes\""},
			want: "a hook for PermissionRequest"},
		{name: "another hook", given: said, files: map[string]string{
			"hooks.json": `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]}}`}},
		{name: "nothing is held", files: map[string]string{"config.toml": `approval_policy = "never"`}},
	} {
		home := t.TempDir()
		for file, text := range c.files {
			at := filepath.Join(home, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]string{"CONFIG": filepath.Join(home, "config.toml"), "RULES": filepath.Join(home, "rules")}[c.want]
		if want == "" {
			want = c.want
		}
		x, ok := l.Replaces(contract.CommandLine{Given: c.given, Own: c.own, Env: []string{"HOME=/nowhere", "CODEX_HOME=" + home}})
		if ok != (want != "") || !strings.HasPrefix(x.What, want) || ok && (x.Does == "" || x.Instead == "") {
			t.Errorf("%s: got %+v, %t, want %q", c.name, x, ok, want)
		}
	}
}

// harmless are the options and commands of Codex that take nothing away from a configuration.
var harmless = []string{
	"--color", "--cyber-access-program", "--dangerously-bypass-hook-trust", "--ephemeral", "--help", "--ignore-rules",
	"--ignore-user-config", "--image", "--json", "--local-provider", "--model", "--no-alt-screen", "--no-daemon", "--oss",
	"--output-last-message", "--output-schema", "--remote-auth-token-env", "--skip-git-repo-check", "--strict-config",
	"--thread-source", "--version", "exec", "e",
}

// TestOptions: of every option and command that the program has somebody said whether a session may have it.
func TestOptions(t *testing.T) {
	data, err := os.ReadFile("e2e/testdata/options.txt")
	if err != nil {
		t.Fatal(err)
	}
	l := launcher(t)
	n := 0
	for line := range strings.Lines(string(data)) {
		long, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, word := range strings.Fields(line) {
			n++
			if _, refused := l.Replaces(contract.CommandLine{Own: []string{word, "x"}}); refused == slices.Contains(harmless, long) {
				t.Errorf("%s: refused %t, and among the harmless %t", word, refused, !refused)
			}
		}
	}
	if n < 60 {
		t.Errorf("got %d options and commands", n)
	}
}
