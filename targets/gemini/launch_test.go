package gemini_test

import (
	"os"
	"path"
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
		if l, ok := target.(contract.Launcher); ok && l.Name() == "gemini" {
			return l
		}
	}
	t.Fatal("Gemini CLI cannot be started")
	return nil
}

func TestArgs(t *testing.T) {
	l := launcher(t)
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		config.File: []byte("[targets.gemini]\n"),
		"modec/a.json": []byte(`{"roles": {"dev": {"can": {"edit": "deny"}}, "quiet": {}, "a,b": {"can": {"edit": "deny"}}},
"modes": {"m": {"name": "M", "roleDefinition": "x", "can": {"read": "allow"}}}}`),
	}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	in := func(dir string) contract.ArgsOptions {
		return contract.ArgsOptions{Copies: &contract.Copies{Put: func(f contract.File) string { return dir + path.Base(f.Path) }}}
	}
	both := func(dir, file string) []string {
		own, agents := dir+file, dir+"+modes.toml"
		return []string{"--policy=" + own, "--policy=" + agents, "--admin-policy=" + own, "--admin-policy=" + agents}
	}
	for _, c := range []struct {
		ref  ir.SubjectRef
		opt  contract.ArgsOptions
		want []string
		code string
	}{
		{ir.SubjectRef{Role: "dev"}, in("up/"), both("up/", "dev.toml"), ""},
		{ir.SubjectRef{Mode: "m"}, in(""), both("", "mode%3Am.toml"), "gemini-prompt"},
		{ir.SubjectRef{Role: "quiet"}, in(""), []string{"--policy=+modes.toml", "--admin-policy=+modes.toml"}, ""},
		{ir.SubjectRef{Role: "dev", Mode: "m"}, contract.ArgsOptions{}, nil, "gemini-no-flags"},
		{ir.SubjectRef{Role: "dev"}, contract.ArgsOptions{FlagsOnly: true}, nil, "gemini-no-flags"},
		{ir.SubjectRef{Role: "dev"}, in("a,b/"), nil, "gemini-no-flags"},
	} {
		args, list := l.Args(res.Input(l), c.ref, c.opt)
		if code := ""; !slices.Equal(args, c.want) {
			t.Errorf("%s: got %q, want %q", c.ref, args, c.want)
		} else if len(list) > 0 {
			if code = string(list[0].Code); code != c.code || len(list) > 1 {
				t.Errorf("%s: got %v, want %s", c.ref, list, c.code)
			}
		} else if c.code != "" {
			t.Errorf("%s: got no diagnostic, want %s", c.ref, c.code)
		}
	}
}

func TestReplaces(t *testing.T) {
	l := launcher(t)
	for _, c := range []struct {
		own  []string
		want string
	}{
		{[]string{"-p", "fix it"}, ""},
		{[]string{"--policy", "x.toml"}, "--policy"},
		{[]string{"-m", "x", "--admin-policy=x.toml"}, "--admin-policy"},
		{[]string{"--adminPolicy=x.toml"}, "--adminPolicy"},
		{[]string{"--yolo"}, "--yolo"},
		{[]string{"-y"}, "-y"},
		{[]string{"-dy"}, "-dy"},
		{[]string{"--approval-mode", "yolo"}, "--approval-mode"},
		{[]string{"--approval-mode=auto_edit"}, "--approval-mode"},
		{[]string{"--approval-mode", "plan"}, ""},
		{[]string{"--approval-mode=default"}, ""},
		{[]string{"--approval-mode"}, "--approval-mode"},
		{[]string{"--include-directories", "/"}, "--include-directories"},
		{[]string{"--allowed-mcp-server-names", "x"}, "--allowed-mcp-server-names"},
		{[]string{"mcp", "add", "x"}, "mcp"},
		{[]string{"--", "--yolo"}, ""},
	} {
		x, ok := l.Replaces(contract.CommandLine{Own: c.own})
		if x.What != c.want || ok != (c.want != "") {
			t.Errorf("%q: got %q, %t, want %q", c.own, x.What, ok, c.want)
		}
	}
}

// harmless are the options of Gemini CLI that take nothing away from a policy.
var harmless = []string{
	"--accept-raw-output-risk", "--acp", "--debug", "--delete-session", "--experimental-acp", "--extensions", "--help",
	"--list-extensions", "--list-sessions", "--model", "--output-format", "--prompt", "--prompt-interactive", "--raw-output",
	"--resume", "--sandbox", "--screen-reader", "--session-file", "--session-id", "--skip-trust", "--version",
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
		for _, word := range strings.Fields(line) {
			n++
			_, refused := l.Replaces(contract.CommandLine{Own: []string{word}})
			long, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if refused == slices.Contains(harmless, long) {
				t.Errorf("%s: refused %t, and among the harmless %t", word, refused, !refused)
			}
		}
	}
	if n < 30 {
		t.Errorf("got %d options and commands", n)
	}
}
