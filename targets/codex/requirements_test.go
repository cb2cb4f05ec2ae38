package codex_test

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/codex/format"
)

// TestRequirements holds what is required of every session: no more than what each of them denies.
func TestRequirements(t *testing.T) {
	const (
		shut   = `"a": {"modes": [], "can": {"edit": "deny", "command": "deny", "read": "deny", "web": "deny", "mcp": "deny"}}`
		lists  = `"b": {"can": {"command": {"deny": ["git push *"], "default": "ask"}, "web": "allow", "mcp": "ask"}}`
		others = `"c": {"can": {"command": {"deny": ["git push *", "make *"], "default": "ask"}, "web": "deny", "mcp": "deny"}}`
		server = `"servers": {"s": {"command": "s", "tools": {"t": {}}}, "mine": {"type": "external"}}, `
	)
	for name, c := range map[string]struct {
		source string
		want   []string
		lacks  []string
	}{
		"all is denied": {`{"roles": {` + shut + `}}`, []string{
			`["untrusted", { granular = `, `allowed_sandbox_modes = ["read-only"]`, `allowed_web_search_modes = ["disabled"]`,
			"shell_tool = false", "view_image = false", "[mcp_servers]"}, []string{"[rules]", "workspace-write"}},
		"what one session needs is not required": {`{"roles": {` + shut + `, ` + lists + `}}`, []string{
			`["read-only", "workspace-write"]`, `{ token = "git" }, { token = "push" }`, "hooks = true"},
			[]string{"shell_tool", "allowed_web_search_modes", "mcp_servers"}},
		"of two lists what both deny": {`{"roles": {` + lists + `, ` + others + `}}`, []string{`{ token = "push" }`}, []string{"make"}},
		"a server whose entry is somebody's own": {
			`{` + server + `"roles": {"d": {"can": {"mcp": {"mine": "ask", "default": "deny"}}}}}`, nil, []string{"mcp_servers"}},
		"a server": {`{` + server + `"roles": {"d": {"can": {"mcp": {"s": "ask", "default": "deny"}}}}}`,
			[]string{"[mcp_servers.s.identity]\ncommand = \"s\""}, []string{"mine"}},
		"a role that says nothing": {`{"roles": {` + shut + `, "quiet": {}}}`, nil, []string{"allowed"}},
	} {
		res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
			config.File:    []byte("hooks = \"enforce\"\ninventory = \"closed\"\n[targets.codex]\nrequirements = true\n"),
			"modec/a.json": []byte(c.source)}})
		if diags.HasErrors() {
			t.Fatal(name, diags)
		}
		text, err := memfs.FS(res.FS()).ReadFile(format.RequirementsFile)
		if strings.Contains(c.source, "quiet") {
			if err == nil || len(diags) != 1 || diags[0].Code != "codex-requirements" || !strings.Contains(diags[0].Message, "quiet") {
				t.Errorf("%s: got %s and %v, want a warning", name, text, diags)
			}
			continue
		}
		if err != nil {
			t.Fatal(name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: got no %s in\n%s", name, want, text)
			}
		}
		for _, lacks := range c.lacks {
			if strings.Contains(string(text), lacks) {
				t.Errorf("%s: got %s in\n%s", name, lacks, text)
			}
		}
		if _, err := format.ReadRequirements("", text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnder holds what becomes of a configuration, as Codex 0.169 has it.
func TestUnder(t *testing.T) {
	const asks = `{granular = {sandbox_approval = false, rules = true, mcp_elicitations = true}}`
	for _, c := range []struct{ name, required, config, want string }{
		{"nothing required", "", `approval_policy = "never"`, "never"},
		{"another policy", `allowed_approval_policies = ["untrusted", "on-request"]`, `approval_policy = "never"`, ""},
		{"one of them", `allowed_approval_policies = ["untrusted", "on-request"]`, `approval_policy = "on-request"`, "on-request"},
		{"none where none is allowed", `allowed_approval_policies = ["on-request"]`, "", "on-request"},
		{"a table that is not there", `allowed_approval_policies = ["untrusted"]`, "approval_policy = " + asks, ""},
		{"a table that is there", `allowed_approval_policies = ["untrusted", ` + asks + `]`, "approval_policy = " + asks, "granular"},
		{"another sandbox", `allowed_sandbox_modes = ["read-only", "workspace-write"]`, `sandbox_mode = "danger-full-access"`,
			" read-only"},
		{"a search", `allowed_web_search_modes = ["disabled"]`, `web_search = "live"`, "  disabled"},
		{"a search that is not said", `allowed_web_search_modes = ["disabled"]`, "", "  disabled"},
		{"a feature", "features = {shell_tool = false}", "features = {shell_tool = true}", "   no shell"},
		{"a feature that is wanted", "features = {shell_tool = true}", "features = {shell_tool = false}", ""},
		{"servers", `mcp_servers.s.identity.command = "s"`,
			"mcp_servers = {s = {command = \"s\", args = [\"x\"]}, t = {command = \"s\"}}", "    s"},
		{"a server that is another", `mcp_servers.s.identity.command = "s"`, `mcp_servers.s = {command = "sh"}`, ""},
		{"no servers", "mcp_servers = {}", `mcp_servers.s = {url = "https://x/"}`, ""},
	} {
		q, err := format.ReadRequirements("r", []byte(c.required))
		if err != nil {
			t.Fatal(c.name, err)
		}
		conf, err := format.ReadConfig("c", []byte(c.config))
		if err != nil {
			t.Fatal(c.name, err)
		}
		u := conf.Under(q)
		got := []string{string(u.Policy), string(u.Sandbox), u.Search, "", ""}
		if !u.Feature("shell_tool", true) {
			got[3] = "no shell"
		}
		for _, s := range u.Servers {
			got[4] += s.Name
		}
		if text := strings.TrimRight(strings.Join(got, " "), " "); text != c.want {
			t.Errorf("%s: got %q, want %q", c.name, text, c.want)
		}
	}
	for _, bad := range []string{`allowed_sandbox_modes = ["workspace-write"]`, `allowed_approval_policies = ["on-failure"]`,
		`rules.prefix_rules = [{pattern = [{token = "ls"}], decision = "allow"}]`, "a"} {
		if _, err := format.ReadRequirements("r", []byte(bad)); err == nil {
			t.Errorf("%s: got no error", bad)
		}
	}
}

// TestForbids holds which lines a rule forbids: those that Codex splits into commands.
func TestForbids(t *testing.T) {
	q, err := format.ReadRequirements("r", []byte(
		`rules.prefix_rules = [{pattern = [{token = "git"}, {any_of = ["push", "fetch"]}], decision = "forbidden"},
{pattern = [{token = "ls"}], decision = "prompt"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{
		"git push": true, "git  push x": true, "git fetch": true, "true && git push": true, "git status; git push": true,
		"git status\ngit push": true, "git push | cat": true,
		"git": false, "git pushx": false, "git -C . push": false, "(git push)": false, "git push &": false, "git push > f": false,
		"git 'push'": false, "A=1 git push": false, "ls": false, "git push $X": false, "": false,
	} {
		if q.Forbids(line) != want {
			t.Errorf("%q: got %t", line, !want)
		}
	}
}
