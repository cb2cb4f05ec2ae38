package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcp/serve"
)

// lax is a target whose agent allows the web to everybody where a role is called wide.
type lax struct{}

func (lax) Name() string                             { return "lax" }
func (lax) Summary() string                          { return "a test" }
func (lax) Options() []contract.Option               { return nil }
func (lax) Codes() []diag.Doc                        { return nil }
func (lax) Owns() []string                           { return []string{"x.txt"} }
func (lax) Governs(string, ir.Group) contract.Halves { return contract.Both }
func (lax) Alone(*ir.Project) []contract.Decider     { return nil }
func (lax) Emit(in contract.Input) ([]contract.File, diag.List) {
	text := "nothing"
	if in.Project.Role("wide") != nil {
		text = "web"
	}
	return []contract.File{{Path: "x.txt", Data: []byte(text)}}, nil
}

func (lax) Open(fsys fs.FS, _ contract.Options) ([]contract.Decider, diag.List) {
	b, err := fs.ReadFile(fsys, "x.txt")
	if err != nil {
		return nil, nil
	}
	return []contract.Decider{laxDecider(b)}, nil
}

type laxDecider string

func (laxDecider) Surface() string   { return "" }
func (laxDecider) Assumes() []string { return nil }
func (d laxDecider) Decide(_ ir.SubjectRef, a policy.Action) contract.Verdict {
	v := contract.Verdict{Answer: contract.Answer{Governs: contract.Both, Rule: string(d), At: diag.Pos{File: "x.txt", Line: 1}}}
	if string(a.Group) == string(d) {
		v.Decision = ir.Allow
	}
	return v
}

// writing serves a project with the tools that write, and returns a function that calls a tool.
func writing(t *testing.T, dir, source, config string, more ...contract.Target) func(tool string, args any) (map[string]any, bool) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for name, text := range map[string]string{"modec.toml": "name = \"Shop\"\n" + config, "modec/a.cue": "package modec\n\n" + source} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e := testEnv(t.Context(), dir, io.Discard)
	e.targets = append(slices.Clone(e.targets), more...)
	l := &modelLoader{env: e, log: slog.New(slog.DiscardHandler)}
	m, diags := l.load()
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	s, err := serve.New(m, serve.Options{Version: "test", Writer: l, TryRestrictions: l.tryRestrictions, HideEnv: true})
	if err != nil {
		t.Fatal(err)
	}
	l.server = s
	in, input := io.Pipe()
	output, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context(), in, out) }()
	t.Cleanup(func() {
		input.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		s.Close()
	})
	lines, id := bufio.NewReader(output), 0
	ask := func(method string, params any) map[string]any {
		id++
		line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := input.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		for m["id"] != float64(id) { // a change is told beside
			answer, err := lines.ReadBytes('\n')
			if m = nil; err != nil || json.Unmarshal(answer, &m) != nil {
				t.Fatal(err, string(answer))
			}
		}
		return m
	}
	ask("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "x", "version": "1"}})
	if _, err := io.WriteString(input, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	return func(tool string, args any) (map[string]any, bool) {
		t.Helper()
		m := ask("tools/call", map[string]any{"name": tool, "arguments": args})
		if e, ok := m["error"].(map[string]any); ok {
			return e, false
		}
		res := m["result"].(map[string]any)
		out := res["structuredContent"].(map[string]any)
		out["text"] = res["content"].([]any)[0].(map[string]any)["text"]
		return out, res["isError"] == nil
	}
}

const shopRoles = `roles: {
	developer: {description: "Full access", permissionMode: "acceptEdits", allowedTools: ["Bash(git:*)"], disallowedTools: ["WebFetch"]}
	locked: {description: "Stays.", can: {read: "allow", web: "deny"}, env: TOKEN: "s3cret"}
}
modes: code: {name: "Code", roleDefinition: "You code.", can: {read: "allow", mcp: "ask"}, mcpRestrictions: disallowedServers: ["docs"]}
servers: {docs: command: "docs", github: {command: "gh", tools: list: {}}}
`

// What is written compiles, and nothing that it compiles to permits more than the source says.
func TestWritesAreVerified(t *testing.T) {
	dir := t.TempDir()
	call := writing(t, dir, shopRoles, "[targets.lax]\n", lax{})
	got, ok := call("set_roles", map[string]any{"roles": []any{map[string]any{"name": "wide", "description": "", "disallowed_tools": []string{"WebFetch"}}}})
	if text := fmt.Sprint(got["text"]); ok || got["changed"] != false || !strings.Contains(text, "want deny") {
		t.Errorf("a role with which the artifacts permit more was taken: %v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "modec/served/roles.cue")); err == nil {
		t.Error("it was written")
	}
	if got, ok = call("set_roles", map[string]any{"roles": []any{map[string]any{"name": "narrow", "description": ""}}}); !ok {
		t.Errorf("got %v", got)
	}
}

// What list_roles returns, set_roles accepts: list, add one, set all.
func TestRolesComeBack(t *testing.T) {
	dir := t.TempDir()
	call := writing(t, dir, shopRoles, "[targets.claude]\n")
	list := func() []any {
		got, ok := call("list_roles", map[string]any{"project": "sHoP"})
		if !ok {
			t.Fatal(got)
		}
		var text []any
		if err := json.Unmarshal([]byte(got["text"].(string)), &text); err != nil || len(text) != len(got["roles"].([]any)) {
			t.Errorf("got %v, which is no list of roles: %v", got["text"], err)
		}
		return got["roles"].([]any)
	}
	roles := list()
	first := roles[0].(map[string]any)
	if first["name"] != "developer" || first["permission_mode"] != "acceptEdits" || !reflect.DeepEqual(first["allowed_tools"], []any{"Bash(git:*)"}) ||
		!reflect.DeepEqual(first["disallowed_tools"], []any{"WebFetch"}) || first["tools"] != nil || first["set_by"] != "source" || first["flags"] == nil {
		t.Errorf("got %v", first)
	}
	if v, there := first["append_system_prompt"]; !there || v != nil {
		t.Errorf("a null is not there: %v", first)
	}
	added := map[string]any{"name": " reviewer ", "description": "Reads.", "permission_mode": "plan", "allowed_tools": []any{"Read", "Grep"},
		"disallowed_tools": []any{"Edit", "Write", "Bash"}, "tools": nil, "append_system_prompt": nil, "env": map[string]any{"KEY": "of-mine"}}
	got, ok := call("set_roles", map[string]any{"project": "shop", "roles": append(roles, added)})
	if !ok || len(got["roles"].([]any)) != 3 {
		t.Fatalf("got %v", got)
	}
	again := list()
	last := again[2].(map[string]any)
	if last["name"] != "reviewer" || last["set_by"] != "set_roles" || last["permission_mode"] != "plan" || !reflect.DeepEqual(last["allowed_tools"], added["allowed_tools"]) || !reflect.DeepEqual(last["disallowed_tools"], added["disallowed_tools"]) {
		t.Errorf("got %v", last)
	}
	if last["env"].(map[string]any)["KEY"] != serve.Hidden {
		t.Errorf("got %v", last["env"])
	}
	if got, ok := call("set_roles", map[string]any{"roles": again}); !ok {
		t.Fatalf("what list_roles returned is refused: %v", got)
	}
	file := filepath.Join(dir, "modec/served/roles.cue")
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "of-mine") || strings.Contains(string(data), "developer") {
		t.Errorf("got %s, %v", data, err)
	}
	again[0].(map[string]any)["description"] = "Another"
	if got, ok := call("set_roles", map[string]any{"roles": again}); ok || !strings.Contains(fmt.Sprint(got["text"]), `the source has role "developer" already`) {
		t.Errorf("a role of the source was changed: %v", got)
	}
	if got, ok := call("set_roles", map[string]any{"project": "else", "roles": []any{}}); ok || !strings.HasPrefix(got["message"].(string), "Project not found: else") {
		t.Errorf("got %v", got)
	}
	if got, ok := call("set_roles", map[string]any{"roles": []any{map[string]any{"name": "x", "description": "", "alowed_tools": []any{}}}}); ok || !strings.Contains(got["message"].(string), `"allowed_tools"`) {
		t.Errorf("a role's unknown field was taken: %v", got)
	}
	if got, ok := call("set_roles", map[string]any{"roles": []any{}}); !ok || len(list()) != 2 {
		t.Errorf("got %v", got)
	}
}

// What set_roles refuses has one form, with a code, and names the role instead of a line that nobody can read; what
// it takes compiles.
func TestSetRolesRefuses(t *testing.T) {
	dir := t.TempDir()
	call := writing(t, dir, shopRoles, "[targets.claude]\n")
	role := func(name string, more ...any) map[string]any {
		out := map[string]any{"name": name, "description": ""}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return map[string]any{"roles": []any{out}}
	}
	if got, ok := call("set_roles", map[string]any{"roles": []any{}}); !ok || fmt.Sprint(got["roles"]) != "[]" || got["changed"] != false || got["file"] != nil {
		t.Errorf("no roles where none were: got %v", got)
	}
	if got, _ := call("set_roles", role("x", "permission_mode", "yolo")); got["code"] != -32602.0 || !strings.Contains(fmt.Sprint(got["message"]), `"acceptEdits"`) {
		t.Errorf("got %v", got)
	}
	for name, c := range map[string]struct {
		args  map[string]any
		place string
	}{
		"a long name":          {role(strings.Repeat("x", 65)), "roles."},
		"a long file name":     {role(strings.Repeat("é", 40)), "roles."},
		"NUL in a name":        {role("a\x00b"), "roles."},
		"escape in a name":     {role("a\x1bb"), "roles."},
		"NUL in a prompt":      {role("a", "append_system_prompt", "x\x00"), "roles.a.appendSystemPrompt"},
		"NUL in a value":       {role("a", "env", map[string]any{"A": "\x00"}), "roles.a.env.A"},
		"a variable with =":    {role("a", "env", map[string]any{"A=": "x"}), "roles.a.env"},
		"a variable's line":    {role("a", "env", map[string]any{"A\nB": "x"}), "roles.a.env"},
		"a bad rule":           {role("a", "allowed_tools", []string{"Bash("}), "roles.a.allowedTools"},
		"a role of the source": {role("developer"), ""},
	} {
		got, ok := call("set_roles", c.args)
		text := fmt.Sprint(got["text"])
		if ok || got["changed"] != false || got["code"] != "VALIDATION_ERROR" || got["specCode"] != -32004.0 ||
			!strings.Contains(text, c.place) || strings.Contains(text, "served/roles.cue") {
			t.Errorf("%s: got %v", name, got)
		}
	}
	mark := role("a\uFEFFb", "description", "\uFEFFx", "append_system_prompt", "y\uFEFF", "env", map[string]any{"A\uFEFF": "\uFEFF"})
	if got, ok := call("set_roles", mark); !ok || !strings.Contains(fmt.Sprint(got["text"]), "\uFEFFx") {
		t.Errorf("got %v", got)
	}
	if got, ok := call("set_roles", map[string]any{"roles": []any{}}); !ok || fmt.Sprint(got["roles"]) != "[]" || got["changed"] != true {
		t.Errorf("no roles where some were: got %v", got)
	}
}

// Restrictions that people wrote are overridden in writing, and only by some that hold back more; without any, those
// in the source hold again. What would be refused is foretold.
func TestRestrictionsOverride(t *testing.T) {
	forms := map[string]string{
		"CUE":           shopRoles,
		"path":          strings.Replace(shopRoles, `can: {read: "allow", mcp: "ask"}, mcpRestrictions: disallowedServers: ["docs"]}`, `can: {read: "allow", mcp: "ask"}}`+"\nmodes: code: \"mcpRestrictions\": disallowedServers: [\"docs\"]", 1),
		"an expression": strings.Replace(shopRoles, `name: "Code"`, `name: "Co" + "de"`, 1),
	}
	child := "\nmodes: child: {extends: [\"code\"], name: \"Child\", roleDefinition: \"You code.\"}\n" +
		"modes: silent: {name: \"Silent\", roleDefinition: \"You read.\", can: read: \"allow\"}\n"
	docs, all := map[string]any{"disallowedServers": []string{"docs", "github"}}, map[string]any{"disallowedServers": []string{"github"}}
	for name, text := range forms {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			call := writing(t, dir, text+child, "[targets.claude]\n")
			servers := func(mode string) []string {
				got, _ := call("list_servers_for_mode", map[string]any{"mode_slug": mode})
				names := []string{}
				for _, s := range got["servers"].([]any) {
					names = append(names, s.(map[string]any)["name"].(string))
				}
				return names
			}
			for _, refused := range []struct {
				mode         string
				restrictions map[string]any
				words        string
			}{
				{"code", all, "restrictions only hold back"},
				{"code", map[string]any{}, "restrictions only hold back"},
				{"silent", docs, "says nothing of MCP"},
				{"child", docs, "would replace those of mode code"},
			} {
				args := map[string]any{"mode_slug": refused.mode, "restrictions": refused.restrictions}
				if got, ok := call("update_mode_restrictions", args); ok || !strings.Contains(fmt.Sprint(got["text"]), refused.words) {
					t.Errorf("%v: got %v", args, got)
				}
				if got, _ := call("validate_restrictions", args); got["valid"] != false || !strings.Contains(fmt.Sprint(got["problems"]), refused.words) {
					t.Errorf("%v: got %v", args, got)
				}
			}
			if got, _ := call("validate_restrictions", map[string]any{"mode_slug": "code", "restrictions": docs}); got["valid"] != true {
				t.Errorf("got %v", got)
			}
			file := filepath.Join(dir, "modec/served/mode-code.cue")
			if _, err := os.Stat(file); err == nil {
				t.Error("what was refused or only checked is written")
			}
			got, ok := call("update_mode_restrictions", map[string]any{"mode_slug": "code", "restrictions": docs})
			if !ok || len(servers("code"))+len(servers("child")) != 0 {
				t.Errorf("got %v, and %v, %v", got, servers("code"), servers("child"))
			}
			if text := fmt.Sprint(got["problems"]); !strings.Contains(text, "overridden") || !strings.Contains(text, "served/mode-code.cue:") {
				t.Errorf("got %v, which does not say what is overridden", got)
			}
			if got, ok := call("update_mode_restrictions", map[string]any{"mode_slug": "code"}); !ok || !slices.Equal(servers("code"), []string{"github"}) {
				t.Errorf("got %v, and %v", got, servers("code"))
			}
		})
	}
}
