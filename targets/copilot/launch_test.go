package copilot_test

import (
	"maps"
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

func launcher(t *testing.T) contract.EnvironmentLauncher {
	for _, target := range targets.All() {
		if l, ok := target.(contract.EnvironmentLauncher); ok && l.Name() == "copilot" {
			return l
		}
	}
	t.Fatal("Copilot cannot be started")
	return nil
}

// copies notes what a session is started from.
type copies struct {
	folder contract.Folder
	files  map[string]string
}

func (c *copies) of() *contract.Copies {
	c.files = map[string]string{}
	return &contract.Copies{
		Put:    func(f contract.File) string { c.files[f.Path] = string(f.Data); return "/run/" + f.Path },
		Folder: func(f contract.Folder) string { c.folder = f; return "/run/" + f.Name },
	}
}

func TestLaunch(t *testing.T) {
	l := launcher(t)
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		config.File: []byte("hooks = \"enforce\"\ninventory = \"closed\"\n[targets.copilot]\n"),
		"modec/a.json": []byte(`{"servers": {"docs": {"url": "https://d.example/mcp", "tools": {"get": {}, "put": {}}}},
"roles": {"dev": {"env": {"B": "2", "A": "1"}, "appendSystemPrompt": "Be brief.", "modes": ["m"],
	"can": {"command": {"allow": ["make"], "default": "ask"}, "edit": "deny", "mcp": {"docs": {"allow": ["get"], "deny": ["put"]}, "default": "deny"}}},
"quiet": {}, "told": {"appendSystemPrompt": "Be brief."}, "off": {"modes": [], "can": {"default": "deny"}}},
"modes": {"m": {"name": "M", "roleDefinition": "You read.", "can": {"read": "allow"}}, "n": {"name": "N", "roleDefinition": "x", "can": {"read": "allow"}}}}`),
	}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	const always = "COPILOT_ALLOW_ALL= COPILOT_ASSISTED_APPROVAL="
	for _, c := range []struct {
		ref       ir.SubjectRef
		args, env string
		files     string // in the folder
		hooked    string // agents that ask by themselves
	}{
		{ref: ir.SubjectRef{Role: "dev"},
			args:  "--no-remote --excluded-tools=create,edit,apply_patch --disable-builtin-mcps --additional-mcp-config=@/run/dev.mcp.json",
			env:   "A=1 B=2 COPILOT_HOME=/run/copilot-dev " + always,
			files: "agents/m.agent.md copilot-instructions.md hooks/modec.json"},
		{ref: ir.SubjectRef{Role: "told"}, env: "COPILOT_HOME=/run/copilot-told " + always,
			files: "agents/m.agent.md agents/n.agent.md copilot-instructions.md", hooked: "agents/m.agent.md agents/n.agent.md"},
		{ref: ir.SubjectRef{Role: "quiet"}},
		{ref: ir.SubjectRef{Mode: "m"}, files: "agents/m.agent.md copilot-instructions.md hooks/modec.json",
			args: "--no-remote --excluded-tools=create,edit,apply_patch,bash,write_bash,read_bash,stop_bash,list_bash,powershell,write_powershell," +
				"read_powershell,stop_powershell,list_powershell,web_fetch,web_search,task,skill,read_agent,list_agents,write_agent " +
				"--disable-builtin-mcps --agent=m",
			env: "COPILOT_HOME=/run/copilot-mode%3Am " + always},
	} {
		var at copies
		opt := contract.ArgsOptions{Copies: at.of()}
		in := res.Input(l)
		in.Root = "/p"
		args, list := l.Args(in, c.ref, opt)
		env, more := l.Environment(in, c.ref, opt)
		if len(list)+len(more) > 0 {
			t.Errorf("%s: got %v %v", c.ref, list, more)
		}
		var files, hooked []string
		for _, f := range at.folder.Files {
			files = append(files, f.Path)
			text := string(f.Data)
			if asks := strings.Contains(text, "modec hook"); asks && strings.HasPrefix(f.Path, "agents/") {
				hooked = append(hooked, f.Path)
			} else if f.Path == "hooks/modec.json" && !strings.Contains(text, "--root /p --subject "+
				strings.Replace(strings.Replace(c.ref.String(), " ", ":", 1), "\n", "", 1)) {
				t.Errorf("%s: got the hook %s", c.ref, text)
			}
		}
		slices.Sort(files)
		for _, x := range []struct{ what, got, want string }{
			{"arguments", strings.Join(args, " "), c.args}, {"variables", strings.Join(env, " "), c.env},
			{"files", strings.Join(files, " "), c.files}, {"agents that ask", strings.Join(hooked, " "), c.hooked},
		} {
			if x.got != x.want {
				t.Errorf("%s, %s: got %q, want %q", c.ref, x.what, x.got, x.want)
			}
		}
		if c.ref.Role == "dev" && !strings.Contains(at.files["dev.mcp.json"], `"tools": [
        "get"
      ]`) {
			t.Errorf("got the servers %s", slices.Collect(maps.Values(at.files)))
		}
	}
	for _, c := range []struct {
		ref ir.SubjectRef
		opt contract.ArgsOptions
	}{
		{ir.SubjectRef{Role: "dev", Mode: "m"}, contract.ArgsOptions{Copies: (&copies{}).of()}},
		{ir.SubjectRef{Role: "dev"}, contract.ArgsOptions{FlagsOnly: true}},
		{ir.SubjectRef{Role: "off"}, contract.ArgsOptions{FlagsOnly: true}},
	} {
		args, list := l.Args(res.Input(l), c.ref, c.opt)
		if len(list) != 1 || list[0].Code != "copilot-no-flags" || args != nil {
			t.Errorf("%s: got %q and %v, want copilot-no-flags", c.ref, args, list)
		}
	}
}

// A project that turns every hook off is not one in which a session starts that a hook holds.
func TestHooksOff(t *testing.T) {
	l := launcher(t)
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		config.File:    []byte("hooks = \"enforce\"\n[targets.copilot]\n"),
		"modec/a.json": []byte(`{"roles": {"dev": {"can": {"edit": "ask", "command": "ask"}}}}`)}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, file := range []string{".github/copilot/settings.json", ".github/copilot/settings.local.json", ".claude/settings.json", ".claude/settings.local.json"} {
		for text, refused := range map[string]bool{`{"disableAllHooks": true}`: true, "{ // yes\n\"disableAllHooks\": true,}": true,
			`{"disableAllHooks": false}`: false, `{}`: false} {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, list := l.Args(res.Input(l), ir.SubjectRef{Role: "dev"}, contract.ArgsOptions{Root: dir, Copies: (&copies{}).of()})
			if got := len(list) == 1 && list[0].Code == "copilot-hooks-off" && list[0].Pos.File == file; got != refused {
				t.Errorf("%s with %s: got %v, want a refusal %t", file, text, list, refused)
			}
		}
	}
}

func TestReplaces(t *testing.T) {
	l := launcher(t)
	for _, c := range []struct {
		name string
		own  []string
		want string // what is refused
	}{
		{"a prompt", []string{"-p", "fix it"}, ""},
		{"a prompt that is an option", []string{"-p", "--yolo"}, ""},
		{"a prompt that is a command", []string{"-i", "help"}, ""},
		{"another model", []string{"--model", "gpt-5.5", "--reasoning-effort=high"}, ""},
		{"less", []string{"--deny-tool", "shell(rm)", "--disable-mcp-server=docs", "--excluded-tools", "bash"}, ""},
		{"planning", []string{"--mode", "plan"}, ""},
		{"signing in", []string{"login"}, ""},
		{"behind --", []string{"--", "--yolo"}, ""},
		{"everything", []string{"--allow-all"}, "--allow-all"},
		{"yolo", []string{"-p", "x", "--yolo"}, "--yolo"},
		{"every tool", []string{"--allow-all-tools"}, "--allow-all-tools"},
		{"a tool", []string{"--allow-tool=shell"}, "--allow-tool=shell"},
		{"another folder", []string{"--add-dir", "/x"}, "--add-dir"},
		{"elsewhere", []string{"-C/x"}, "-C/x"},
		{"another agent", []string{"--agent", "x"}, "--agent"},
		{"other servers", []string{"--additional-mcp-config", "{}"}, "--additional-mcp-config"},
		{"trust", []string{"--trust-folder", "-p", "x"}, "--trust-folder"},
		{"nobody is there", []string{"--mode", "autopilot"}, "--mode"},
		{"nobody is there, in one word", []string{"--mode=autopilot"}, "--mode=autopilot"},
		{"a plugin", []string{"--plugin-dir", "x"}, "--plugin-dir"},
		{"a command", []string{"mcp", "add"}, "mcp"},
		{"a command behind an option", []string{"--log-level", "debug", "plugin"}, "plugin"},
	} {
		got, ok := l.Replaces(contract.CommandLine{Given: []string{"--disable-builtin-mcps"}, Own: c.own, Env: []string{"COPILOT_HOME=x"}})
		if ok != (c.want != "") || got.What != c.want {
			t.Errorf("%s: got %+v, want %q", c.name, got, c.want)
		}
	}
	if got, ok := l.Replaces(contract.CommandLine{Own: []string{"--yolo"}}); ok {
		t.Errorf("a subject that says nothing: got %+v", got)
	}
}

// harmless are the options and commands of Copilot that take nothing away from a session.
var harmless = []string{
	"--allow-all-mcp-server-instructions", "--attachment", "--auto-tier", "--banner", "--bash-env", "--context", "--continue",
	"--deny-tool", "--deny-url", "--disable-builtin-mcps", "--disable-client-telemetry", "--disable-mcp-server",
	"--disallow-temp-dir", "--dynamic-retrieval", "--enable-memory", "--environment-compute-id", "--excluded-tools", "--fleet",
	"--help", "--interactive", "--log-dir", "--log-level", "--max-ai-credits", "--max-autopilot-continues", "--mcp-github-auth",
	"--mode", "--model", "--mouse", "--name", "--no-ask-user", "--no-auto-update", "--no-bash-env", "--no-color",
	"--no-custom-instructions", "--no-eager-powershell-resolution", "--no-experimental", "--no-mouse", "--no-remote",
	"--no-remote-export", "--output-format", "--plain-diff", "--plan", "--prompt", "--reasoning-effort", "--remote-export",
	"--resume", "--screen-reader", "--secret-env-vars", "--session-id", "--share", "--share-gist", "--silent", "--stream",
	"--usage-output-file", "--version", "login",
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
		for word := range strings.FieldsSeq(line) {
			n++
			_, refused := l.Replaces(contract.CommandLine{Given: []string{"x"}, Own: []string{word, "x"}})
			if refused == slices.Contains(harmless, long) {
				t.Errorf("%s: refused %t, and among the harmless %t", word, refused, !refused)
			}
		}
	}
	if n < 60 {
		t.Errorf("got %d options and commands", n)
	}
}
