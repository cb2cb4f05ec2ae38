package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude"
	"modec.dev/modec/targets/roo"
)

const source = `package modec

servers: {
	github: {command: "github-mcp", tools: {list_issues: risk: "read", create_issue: risk: "write"}}
	docs: {command: "docs-mcp", defaultEnabled: false}
}
modes: {
	architect: {name: "Architect", description: "Plans.", whenToUse: "Before code.", roleDefinition: "You plan.", customInstructions: "Write plans.",
		can: {read: "allow", edit: allow: ["**/*.md"], mcp: github: {allow: ["list_*"]}}}
	code: {name: "Code", roleDefinition: "You write code.", can: {read: "allow", edit: {default: "allow", deny: [".env"]}, command: {default: "ask", deny: ["git push *"]}, mcp: github: "ask", modes: "allow"}}
	locked: {name: "Locked", roleDefinition: "You stay.", can: {read: "allow", modes: "deny"}}
}
roles: {
	dev: {description: "Works.", can: {read: "allow", edit: "allow", command: "ask", mcp: github: "allow"}}
	planner: {modes: ["architect"], can: read: "allow"}
}
`

// planPrompt is the system prompt of architect.
const planPrompt = "You plan.\n\nWrite plans.\n\nMCP servers and tools that you may use in this mode:\n- github: list_issues"

var agents = []contract.Target{roo.New(), claude.New()}

// compiled makes a model of a source.
func compiled(t testing.TB, text string) *Model {
	t.Helper()
	fsys := fstest.MapFS{"modec.toml": {Data: []byte("name = \"shop\"\n[targets.roo]\n")}, "modec/a.cue": {Data: []byte(text)}}
	res, diags := compiler.Open(t.Context(), compiler.Request{FS: fsys, Targets: agents})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return NewModel("/project", agents, res.Project)
}

func serve(t testing.TB, opt Options) *Server {
	t.Helper()
	opt.Version = "test"
	s, err := New(compiled(t, source), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// eras are a revision with sessions and one without.
var eras = []string{"2025-11-25", "2026-07-28"}

// connect returns a client of an endpoint.
func connect(t testing.TB, s *Server, mode, era string, opt *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	if opt == nil {
		opt = &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}}
	}
	server, client := sdk.NewInMemoryTransports()
	ss, err := s.scope(mode).sdk.Connect(context.Background(), server, nil)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opt).Connect(context.Background(), client, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close(); ss.Wait() })
	return cs
}

// call calls a tool, holds the output against the tool's own schema, and decodes it.
func call[Out any](t testing.TB, cs *sdk.ClientSession, name string, args map[string]any) (out Out, refused bool) {
	t.Helper()
	res, err := cs.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	b, err := json.Marshal(res.StructuredContent)
	if err != nil || res.StructuredContent == nil {
		t.Fatalf("%s: got no structured content: %v %+v", name, err, res.Content)
	}
	var v any
	if err := errors.Join(json.Unmarshal(b, &v), json.Unmarshal(b, &out)); err != nil {
		t.Fatal(err)
	}
	sh, ok := shapes.Load(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	r, err := sh.(*shape).out.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(v); err != nil {
		t.Errorf("%s: the output is not what its schema says: %v\n%s", name, err, b)
	}
	if text := res.Content[len(res.Content)-1].(*sdk.TextContent).Text; !json.Valid([]byte(text)) {
		t.Errorf("%s: got text that is no JSON: %s", name, text)
	}
	return out, res.IsError
}

// fails calls a tool that is to fail, and returns the error's data.
func fails(t testing.TB, cs *sdk.ClientSession, name string, args map[string]any, want code) map[string]any {
	t.Helper()
	_, err := cs.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: args})
	return wireData(t, err, want)
}

func wireData(t testing.TB, err error, want code) map[string]any {
	t.Helper()
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an error %s", err, want)
	}
	var data map[string]any
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatalf("%v: %s", err, e.Data)
	}
	if n, ok := specCodes[want]; data["code"] != string(want) || ok && data["specCode"] != float64(n) || e.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("got %d %s, want %s", e.Code, e.Data, want)
	}
	return data
}

// TestWalk goes through the specification's examples in both eras: a task in code, a
// write that is allowed, another mode, and a write that is refused there.
func TestWalk(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			cs := connect(t, serve(t, Options{}), "", era, nil)
			task, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "code", "initial_message": "Say hello."})
			if !strings.HasPrefix(task.SessionID, "ses_") || task.ModeSlug != "code" || task.State != "pending" || !strings.HasPrefix(task.SystemPrompt, "You write code.\n\nMCP servers and tools") {
				t.Errorf("got %+v", task)
			}
			write := map[string]any{"session_id": task.SessionID, "tool_name": "write_to_file", "file_path": "hello.py"}
			v, refused := call[validateOutput](t, cs, "validate_tool_use", write)
			if !v.Allowed || refused || v.Mode != "code" || v.ToolName != "write_to_file" {
				t.Errorf("got %+v", v)
			}
			sw, _ := call[switchModeOutput](t, cs, "switch_mode", map[string]any{"session_id": task.SessionID, "new_mode_slug": "architect", "reason": "to plan"})
			if sw.OldMode != "code" || sw.NewMode != "architect" || !slices.Equal(sw.LostGroups, []string{"edit", "command", "mcp", "modes"}) || !slices.Equal(sw.GainedGroups, []string{"mcp"}) || !slices.Contains(sw.Changes, groupChange{"edit", "not .env", "only **/*.md"}) {
				t.Errorf("got %+v", sw)
			}
			v, refused = call[validateOutput](t, cs, "validate_tool_use", write)
			if v.Allowed || !refused || v.Code != "FILE_RESTRICTION_ERROR" || v.SpecCode != -32006 || v.Restriction != "file" || !strings.Contains(v.Place, "modec/a.cue:") ||
				!slices.Equal(v.AllowedPatterns, []string{"**/*.md"}) || !slices.Equal(v.AllowedInModes, []string{"code", "debug"}) {
				t.Errorf("got %+v", v)
			}
			done, _ := call[completeTaskOutput](t, cs, "complete_task", map[string]any{"session_id": task.SessionID, "result": "said"})
			if done.Status != "completed" || done.TaskID != task.TaskID {
				t.Errorf("got %+v", done)
			}
			info, _ := call[taskInfoOutput](t, cs, "get_task_info", map[string]any{"session_id": task.SessionID, "include_messages": true, "include_hierarchy": true})
			if info.Status != "completed" || info.Result != "said" || len(info.ModeHistory) != 2 || info.ModeHistory[1].Reason != "to plan" || info.Messages[0].Text != "Say hello." {
				t.Errorf("got %+v", info)
			}
			fails(t, cs, "switch_mode", map[string]any{"session_id": task.SessionID, "new_mode_slug": "code"}, validationError)
			fails(t, cs, "complete_task", map[string]any{"session_id": task.SessionID}, validationError)
			fails(t, cs, "validate_tool_use", map[string]any{"session_id": task.SessionID, "tool_name": "edit", "file_path": "a.go"}, validationError)
		})
	}
}

// TestValidate asks by the names of every agent.
func TestValidate(t *testing.T) {
	cs := connect(t, serve(t, Options{}), "", eras[0], nil)
	for _, c := range []struct {
		args string
		want string // decision, restriction, code
	}{
		{`{"mode": "architect", "tool_name": "read_file", "file_path": "a.go"}`, "allow  "},
		{`{"mode": "architect", "tool_name": "Write", "file_path": "/project/docs/a.md"}`, "allow  "},
		{`{"mode": "architect", "tool_name": "Edit", "file_path": "/elsewhere/a.md"}`, "deny file FILE_RESTRICTION_ERROR"},
		{`{"mode": "architect", "tool_name": "edit", "file_path": "docs/../a.md"}`, "allow  "},
		{`{"mode": "architect", "tool_name": "apply_diff", "file_path": ".mcp.json"}`, "deny file FILE_RESTRICTION_ERROR"},
		{`{"mode": "architect", "tool_name": "edit"}`, "ask  "},
		{`{"mode": "architect", "tool_name": "Edit"}`, "ask  "},
		{`{"mode": "architect", "tool_name": "read"}`, "allow  "},
		{`{"mode": "architect", "tool_name": "Grep"}`, "allow  "},
		{`{"mode": "code", "tool_name": "PowerShell", "command": "ls"}`, "deny command TOOL_RESTRICTION_ERROR"},
		{`{"mode": "code", "tool_name": "WebSearch"}`, "deny tool_group TOOL_RESTRICTION_ERROR"},
		{`{"mode": "architect", "tool_name": "ReadMcpResourceTool", "server": "github"}`, "deny server TOOL_RESTRICTION_ERROR"},
		{`{"mode": "architect", "tool_name": "ListMcpResourcesTool"}`, "deny server TOOL_RESTRICTION_ERROR"},
		{`{"mode": "code", "tool_name": "mcp__"}`, "deny server TOOL_RESTRICTION_ERROR"},
		{`{"mode": "code", "role": "dev", "tool_name": "Edit", "file_path": ".env"}`, "deny file FILE_RESTRICTION_ERROR"},
		{`{"mode": "architect", "tool_name": "execute_command", "command": "ls"}`, "deny tool_group TOOL_RESTRICTION_ERROR"},
		{`{"mode": "code", "tool_name": "execute_command", "command": "ls && git push origin main"}`, "deny command TOOL_RESTRICTION_ERROR"},
		{`{"mode": "code", "tool_name": "Bash", "command": "ls"}`, "ask  "},
		{`{"mode": "code", "role": "dev", "tool_name": "Bash", "command": "git push"}`, "deny command TOOL_RESTRICTION_ERROR"},
		{`{"role": "dev", "tool_name": "Bash"}`, "ask  "},
		{`{"mode": "architect", "tool_name": "use_mcp_tool", "server": "github", "mcp_tool": "list_issues"}`, "allow  "},
		{`{"mode": "architect", "tool_name": "use_mcp_tool", "server": "github", "mcp_tool": "create_issue"}`, "deny server TOOL_RESTRICTION_ERROR"},
		{`{"mode": "architect", "tool_name": "use_mcp_tool", "server": "github"}`, "ask  "},
		{`{"mode": "architect", "tool_name": "use_mcp_tool"}`, "ask  "},
		{`{"mode": "locked", "tool_name": "mcp"}`, "deny tool_group TOOL_RESTRICTION_ERROR"},
		{`{"mode": "code", "tool_name": "mcp__github__create_issue"}`, "ask  "},
		{`{"mode": "code", "tool_name": "mcp__nobody__x"}`, "deny server TOOL_RESTRICTION_ERROR"},
		{`{"mode": "code", "tool_name": "fetch_web_content", "url": "https://example.com/x"}`, "deny tool_group TOOL_RESTRICTION_ERROR"},
		{`{"mode": "code", "tool_name": "switch_mode", "target_mode": "architect"}`, "allow  "},
		{`{"role": "planner", "mode": "code", "tool_name": "read_file", "file_path": "a"}`, "deny mode TOOL_RESTRICTION_ERROR"},
		{`{"role": "planner", "tool_name": "new_task", "target_mode": "code"}`, "deny mode TOOL_RESTRICTION_ERROR"},
		{`{"mode": "architect", "tool_name": "attempt_completion"}`, "allow  "},
		{`{"mode": "architect", "tool_name": "TodoWrite"}`, "allow  "},
		{`{"mode": "architect", "tool_name": "brand_new_tool"}`, "deny tool_group TOOL_RESTRICTION_ERROR"},
		{`{"mode": "architect", "tool_name": "list_files"}`, "allow  "},
	} {
		var args map[string]any
		if err := json.Unmarshal([]byte(c.args), &args); err != nil {
			t.Fatal(err)
		}
		v, refused := call[validateOutput](t, cs, "validate_tool_use", args)
		if got := v.Decision + " " + v.Restriction + " " + v.Code; got != c.want || refused != (v.Decision == "deny") || v.Allowed == refused || v.Rule == "" {
			t.Errorf("%s: got %s (%+v), want %s", c.args, got, v, c.want)
		}
	}
	for args, want := range map[string]code{
		`{"tool_name": "edit"}`:                                             validationError,
		`{"mode": "code", "tool_name": ""}`:                                 validationError,
		`{"mode": "nope", "tool_name": "edit"}`:                             modeNotFound,
		`{"role": "nope", "tool_name": "edit"}`:                             roleNotFound,
		`{"session_id": "ses_x", "tool_name": "edit"}`:                      taskNotFound,
		`{"session_id": "ses_x", "mode": "code", "tool_name": "edit"}`:      validationError,
		`{"mode": "code", "tool_name": "web", "url": "https:/evil.test"}`:   validationError,
		`{"mode": "code", "tool_name": "web", "url": "https://"}`:           validationError,
		`{"mode": "code", "tool_name": "edit", "file_path": "a\u0000b"}`:    validationError,
		`{"mode": "code", "tool_name": "use_mcp_tool", "mcp_tool": "list"}`: validationError,
	} {
		var v map[string]any
		if err := json.Unmarshal([]byte(args), &v); err != nil {
			t.Fatal(err)
		}
		fails(t, cs, "validate_tool_use", v, want)
	}
}

// TestEveryToolSaysWhatThePolicySays compares answers with the engine for every subject
// and group.
func TestAnswersAreThePolicys(t *testing.T) {
	s := serve(t, Options{})
	cs := connect(t, s, "", eras[1], nil)
	m := s.Model()
	for i := range m.Project.Modes {
		slug := m.Project.Modes[i].Slug
		for _, p := range []string{"a.md", "src/x.go", ".env", "modec.toml"} {
			for _, g := range []string{"read", "edit"} {
				x, _ := call[explainOutput](t, cs, "explain", map[string]any{"mode": slug, "action": g, "arg": p})
				v, _ := call[validateOutput](t, cs, "validate_tool_use", map[string]any{"mode": slug, "tool_name": g, "file_path": p})
				if x.Decision != v.Decision {
					t.Errorf("%s %s %s: explain says %s and validate_tool_use %s", slug, g, p, x.Decision, v.Decision)
				}
			}
		}
	}
}

// What a role leaves to the agent is shown as such, and a call of it is asked about.
func TestLeftToTheAgent(t *testing.T) {
	s := serve(t, Options{})
	cs := connect(t, s, "", eras[1], nil)
	for _, args := range []map[string]any{
		{"role": "dev", "tool_name": "WebFetch", "url": "https://example.com/x"},
		{"role": "planner", "tool_name": "execute_command", "command": "ls"},
		{"role": "planner", "tool_name": "use_mcp_tool", "server": "github"},
		{"role": "planner", "tool_name": "brand_new_tool"},
	} {
		v, refused := call[validateOutput](t, cs, "validate_tool_use", args)
		if v.Decision != "ask" || !v.RequiresApproval || refused || !strings.Contains(v.Reason, "leaves it to the agent itself") {
			t.Errorf("%v: got %+v, want an ask that says who decides", args, v)
		}
	}
	x, _ := call[explainOutput](t, cs, "explain", map[string]any{"role": "planner", "action": "command", "arg": "ls"})
	if x.Decision != "agent" || x.Default != "agent" {
		t.Errorf("explain: got %+v, want agent", x)
	}
	m := s.Model()
	for i := range m.Project.Roles {
		r, err := m.roleInfo(&m.Project.Roles[i])
		if err != nil {
			t.Fatal(err)
		}
		if r.ToolGroups["browser"].Decision != "agent" {
			t.Errorf("%s: got %+v, want web left to the agent", r.Name, r.ToolGroups)
		}
	}
}

// TestRoles holds a role to the modes that it may enter.
func TestRoles(t *testing.T) {
	cs := connect(t, serve(t, Options{}), "", eras[0], nil)
	if o, refused := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "code", "role": "planner", "initial_message": "x"}); !refused || o.SessionID != "" || o.Refused == nil || o.Refused.Code != "TOOL_RESTRICTION_ERROR" {
		t.Errorf("got %+v", o)
	}
	task, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "architect", "role": "planner", "initial_message": "x"})
	if o, refused := call[switchModeOutput](t, cs, "switch_mode", map[string]any{"session_id": task.SessionID, "new_mode_slug": "code"}); !refused || o.OldMode != "architect" || o.Refused == nil || !strings.Contains(o.Refused.Reason, "role planner may not work in mode code") {
		t.Errorf("got %+v", o)
	}
	locked, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "locked", "initial_message": "x"})
	if o, refused := call[switchModeOutput](t, cs, "switch_mode", map[string]any{"session_id": locked.SessionID, "new_mode_slug": "code"}); !refused || o.Refused == nil {
		t.Errorf("got %+v", o)
	}
	child, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "architect", "parent_session_id": task.SessionID, "initial_message": "y"})
	if child.Role != "planner" || child.ParentSessionID != task.SessionID {
		t.Errorf("a child does not have its parent's role: %+v", child)
	}
	info, _ := call[taskInfoOutput](t, cs, "get_task_info", map[string]any{"session_id": child.SessionID, "include_hierarchy": true})
	if len(info.Ancestors) != 1 || info.Ancestors[0].SessionID != task.SessionID {
		t.Errorf("got %+v", info)
	}
	info, _ = call[taskInfoOutput](t, cs, "get_task_info", map[string]any{"session_id": task.SessionID, "include_hierarchy": true})
	if len(info.Children) != 1 || info.Children[0].SessionID != child.SessionID {
		t.Errorf("got %+v", info)
	}
	fails(t, cs, "create_task", map[string]any{"mode_slug": "architect", "parent_session_id": task.SessionID, "role": "dev", "initial_message": "y"}, validationError)
	fails(t, cs, "create_task", map[string]any{"mode_slug": "architect", "role": "nope", "initial_message": "y"}, roleNotFound)
	fails(t, cs, "create_task", map[string]any{"mode_slug": "architect", "parent_session_id": "ses_nope", "initial_message": "y"}, taskNotFound)
}

// TestLists looks at what there is.
func TestLists(t *testing.T) {
	cs := connect(t, serve(t, Options{}), "", eras[0], nil)
	count := map[string]int{}
	all, _ := call[listModesOutput](t, cs, "list_modes", nil)
	for _, m := range all.Modes {
		count[m.Source]++
	}
	if want := map[string]int{"project": 3, "builtin": 3}; !cmp.Equal(count, want) { // architect and code are the project's
		t.Errorf("got %v, want %v", count, want)
	}
	some, _ := call[listModesOutput](t, cs, "list_modes", map[string]any{"source": "project"})
	if len(some.Modes) != 3 || some.Modes[0].Slug != "architect" || !slices.Equal(some.Modes[0].Groups, []string{"read", "edit", "mcp"}) ||
		some.Modes[0].Limits["edit"] != "only **/*.md" || some.Modes[0].Limits["mcp"] != "github: list_issues" {
		t.Errorf("got %+v", some)
	}
	fails(t, cs, "list_modes", map[string]any{"source": "mine"}, validationError)
	info, _ := call[modeInfo](t, cs, "get_mode_info", map[string]any{"mode_slug": "architect", "include_system_prompt": true})
	if info.SystemPrompt != planPrompt || info.WhenToUse != "Before code." || !slices.Equal(info.Servers, []string{"github"}) ||
		!strings.Contains(info.ToolGroups["edit"].FileRegex, "md") || len(info.FileRestrictions) != 1 || info.FileRestrictions[0].Pattern != "**/*.md" {
		t.Errorf("got %+v", info)
	}
	fails(t, cs, "get_mode_info", map[string]any{"mode_slug": "architekt"}, modeNotFound)
	roles, _ := call[listRolesOutput](t, cs, "list_roles", map[string]any{"project": "shop"})
	if len(roles.Roles) != 2 || roles.Roles[0].Name != "dev" || roles.Roles[0].Description != "Works." {
		t.Errorf("got %+v", roles)
	}
	fails(t, cs, "list_roles", map[string]any{"project": "else"}, projectNotFound)
	servers, _ := call[serversOutput](t, cs, "list_servers_for_mode", map[string]any{"mode_slug": "architect"})
	if len(servers.Servers) != 1 || servers.Servers[0].Tools[0].Decision != "deny" || servers.Servers[0].Tools[1].Decision != "allow" {
		t.Errorf("got %+v", servers)
	}
	r, _ := call[restrictionsOutput](t, cs, "validate_restrictions", map[string]any{"mode_slug": "code", "restrictions": map[string]any{"allowedTools": []any{map[string]any{"serverName": "github", "toolName": "list_*"}}, "allowedServers": []string{"no*"}}})
	if !r.Valid || len(r.Problems) != 1 || r.Problems[0].Code != "matches-nothing" || len(r.Servers) != 0 {
		t.Errorf("got %+v", r)
	}
	for _, restrictions := range []map[string]any{{"disallowedServers": []string{"nobody"}}, {"allowedTools": []any{map[string]any{"serverName": "nobody", "toolName": "x"}}}} {
		r, _ = call[restrictionsOutput](t, cs, "validate_restrictions", map[string]any{"mode_slug": "code", "restrictions": restrictions})
		if r.Valid || len(r.Problems) != 1 || r.Problems[0].Code != "unknown-server" {
			t.Errorf("got %+v", r)
		}
	}
	r, _ = call[restrictionsOutput](t, cs, "validate_restrictions", map[string]any{"mode_slug": "code", "restrictions": map[string]any{"disallowedTools": []any{map[string]any{"serverName": "github", "toolName": "nothing"}}}})
	if r.Valid || r.Problems[0].Code != "unknown-tool" {
		t.Errorf("got %+v", r)
	}
	r, _ = call[restrictionsOutput](t, cs, "validate_restrictions", map[string]any{"mode_slug": "code", "restrictions": map[string]any{"allowedServers": []string{"github"}, "disallowedServers": []string{"github"}}})
	if r.Valid {
		t.Errorf("got %+v", r)
	}
	for _, args := range []map[string]any{{"mode_slug": 5}, {"mode_slug": ""}, {"mode_slug": nil}, {}} {
		if data := fails(t, cs, "get_mode_info", args, validationError); data["field"] != "mode_slug" {
			t.Errorf("%v: got %v", args, data)
		}
	}
	more, _ := call[struct{ Warnings []string }](t, cs, "get_mode_info", map[string]any{"mode_slug": "code", "include_system_promt": true})
	if len(more.Warnings) != 1 || !strings.Contains(more.Warnings[0], "include_system_prompt") {
		t.Errorf("got %v", more)
	}
	fails(t, cs, "nope", nil, validationError)
	fails(t, cs, "set_roles", map[string]any{"roles": []any{}}, validationError) // not there without --allow-writes
}

// TestResources reads every resource that is listed, and by the templates.
func TestResources(t *testing.T) {
	ctx := context.Background()
	for _, era := range eras {
		cs := connect(t, serve(t, Options{}), "", era, nil)
		read := func(uri string) (string, error) {
			res, err := cs.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
			if err != nil {
				return "", err
			}
			return res.Contents[0].Text, nil
		}
		n := 0
		for r, err := range cs.Resources(ctx, nil) {
			if err != nil {
				t.Fatal(err)
			}
			text, err := read(r.URI)
			if err != nil || r.MIMEType == jsonType && !json.Valid([]byte(text)) {
				t.Errorf("%s: %v %s", r.URI, err, text)
			}
			n++
		}
		if want := 6*3 + 2*3 + 2 + 6; n != want {
			t.Errorf("got %d resources, want %d", n, want)
		}
		templates := 0
		for _, err := range cs.ResourceTemplates(ctx, nil) {
			if err != nil {
				t.Fatal(err)
			}
			templates++
		}
		if templates != 7 {
			t.Errorf("got %d templates", templates)
		}
		if text, err := read("mode://architect/system_prompt"); err != nil || text != planPrompt {
			t.Errorf("got %q, %v", text, err)
		}
		if text, err := read("mode://architect/config"); err != nil || !strings.Contains(text, `"groups": [`) {
			t.Errorf("got %q, %v", text, err)
		}
		for uri, want := range map[string]code{"mode://nope": modeNotFound, "mode://code/": resourceNotFound, "mode://code/else": resourceNotFound, "role://nope/config": roleNotFound,
			"server://nope": serverNotFound, "skill://modes/nope/SKILL.md": resourceNotFound, "file:///etc/passwd": resourceNotFound, "mode://code\x1b": resourceNotFound, "mode://": modeNotFound, "mode://..%2f": modeNotFound} {
			_, err := read(uri)
			if err == nil {
				t.Errorf("%s was read", uri)
				continue
			}
			var e *jsonrpc.Error
			if !errors.As(err, &e) || e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(string(e.Data), `"uri"`) && !strings.Contains(string(e.Data), string(want)) {
				t.Errorf("%s: got %v %s, want %s", uri, err, e.Data, want)
			}
		}
		for p, err := range cs.Prompts(ctx, nil) {
			if err != nil || p.Description == "" {
				t.Fatal(err, p)
			}
		}
		p, err := cs.GetPrompt(ctx, &sdk.GetPromptParams{Name: "architect"})
		if err != nil || p.Messages[0].Content.(*sdk.TextContent).Text != planPrompt {
			t.Errorf("got %+v, %v", p, err)
		}
		_, err = cs.GetPrompt(ctx, &sdk.GetPromptParams{Name: "nope"})
		wireData(t, err, modeNotFound)
		c, err := cs.Complete(ctx, &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "mode://{slug}"}, Argument: sdk.CompleteParamsArgument{Name: "slug", Value: "a"}})
		if err != nil || !slices.Equal(c.Completion.Values, []string{"architect", "ask"}) {
			t.Errorf("got %+v, %v", c, err)
		}
		_, err = cs.Complete(ctx, &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "file://x"}, Argument: sdk.CompleteParamsArgument{Name: "slug", Value: "a"}})
		wireData(t, err, resourceNotFound)
	}
}

// TestFixed fixes the mode by the endpoint and the role by the server.
// A role without a prompt has an empty one: the protocol wants a text.
func TestEmptyTexts(t *testing.T) {
	answers := exchange(t, serve(t, Options{}), hello+
		`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"role://dev/system_prompt"}}`+"\n")
	text, _ := json.Marshal(answers)
	if !strings.Contains(string(text), `"text":"","uri":"role://dev/system_prompt"`) {
		t.Errorf("got %s", text)
	}
}

func TestFixed(t *testing.T) {
	s := serve(t, Options{Role: "planner"})
	cs := connect(t, s, "architect", eras[1], nil)
	v, _ := call[validateOutput](t, cs, "validate_tool_use", map[string]any{"tool_name": "edit", "file_path": "a.md"})
	if v.Mode != "architect" || v.Role != "planner" {
		t.Errorf("got %+v", v)
	}
	fails(t, cs, "validate_tool_use", map[string]any{"mode": "code", "tool_name": "edit"}, validationError)
	fails(t, cs, "validate_tool_use", map[string]any{"role": "dev", "tool_name": "edit"}, validationError)
	fails(t, cs, "create_task", map[string]any{"mode_slug": "code", "initial_message": "x"}, validationError)
	fails(t, cs, "create_task", map[string]any{"role": "dev", "initial_message": "x"}, validationError)
	task, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"initial_message": "x"})
	if task.ModeSlug != "architect" || task.Role != "planner" {
		t.Errorf("got %+v", task)
	}
	fails(t, cs, "switch_mode", map[string]any{"session_id": task.SessionID, "new_mode_slug": "code"}, validationError)
	for _, opt := range []Options{{Mode: "nope"}, {Role: "nope"}} {
		if _, err := New(compiled(t, source), opt); err == nil {
			t.Errorf("%+v is served", opt)
		}
	}
}

// stores are made anew for each test.
func stores(t *testing.T) map[string]func() Store {
	return map[string]func() Store{
		"memory": NewMemory,
		"sqlite": func() Store {
			s, err := OpenSQLite(filepath.Join(t.TempDir(), "a b", "sessions.db"))
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	}
}

// TestLimits holds every limit on both sides.
func TestLimits(t *testing.T) {
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			limits := Limits{Sessions: 3, Messages: 4, Text: 10, Depth: 2, Timeout: time.Hour}
			cs := connect(t, serve(t, Options{Limits: limits, Store: store()}), "", eras[0], nil)
			create := func(more map[string]any) map[string]any {
				args := map[string]any{"mode_slug": "code", "initial_message": strings.Repeat("x", 10)}
				for k, v := range more {
					args[k] = v
				}
				return args
			}
			fails(t, cs, "create_task", create(map[string]any{"initial_message": strings.Repeat("x", 11)}), limitReached)
			one, _ := call[createTaskOutput](t, cs, "create_task", create(nil))
			two, _ := call[createTaskOutput](t, cs, "create_task", create(map[string]any{"parent_session_id": one.SessionID}))
			fails(t, cs, "create_task", create(map[string]any{"parent_session_id": two.SessionID}), limitReached) // depth
			call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "code"})                     // a message may come later
			fails(t, cs, "create_task", create(nil), limitReached)                                                // sessions, of which none expired
			turn := map[string]any{"session_id": one.SessionID, "new_mode_slug": "code", "reason": strings.Repeat("x", 10)}
			for range 2 {
				call[switchModeOutput](t, cs, "switch_mode", turn)
			}
			fails(t, cs, "switch_mode", turn, limitReached) // messages
			turn["reason"] = strings.Repeat("x", 11)
			fails(t, cs, "switch_mode", turn, limitReached)
			fails(t, cs, "complete_task", map[string]any{"session_id": one.SessionID, "result": strings.Repeat("x", 11)}, limitReached)
			fails(t, cs, "complete_task", map[string]any{"session_id": one.SessionID, "status": "active"}, validationError)
			done, _ := call[completeTaskOutput](t, cs, "complete_task", map[string]any{"session_id": one.SessionID, "status": "cancelled", "result": strings.Repeat("x", 10)})
			if done.Status != "cancelled" {
				t.Errorf("got %+v", done)
			}
		})
	}
}

// TestSessionsExpire: an expired session says so until it is cleaned, and is unknown
// then. Use keeps one.
func TestSessionsExpire(t *testing.T) {
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Options{Limits: Limits{Timeout: time.Hour}, Store: store()})
			now := time.Now()
			s.now = func() time.Time { return now }
			cs := connect(t, s, "", eras[1], nil)
			task, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "code", "initial_message": "x"})
			for range 5 {
				now = now.Add(time.Hour)
				call[validateOutput](t, cs, "validate_tool_use", map[string]any{"session_id": task.SessionID, "tool_name": "edit"})
			}
			now = now.Add(time.Hour + time.Second)
			fails(t, cs, "get_task_info", map[string]any{"session_id": task.SessionID}, sessionExpired)
			fails(t, cs, "switch_mode", map[string]any{"session_id": task.SessionID, "new_mode_slug": "code"}, sessionExpired)
			s.cleanOnce()
			fails(t, cs, "get_task_info", map[string]any{"session_id": task.SessionID}, sessionExpired)
			now = now.Add(time.Hour)
			s.cleanOnce()
			fails(t, cs, "get_task_info", map[string]any{"session_id": task.SessionID}, taskNotFound)
		})
	}
}

// TestCleaning runs by itself.
func TestCleaning(t *testing.T) {
	s := serve(t, Options{Limits: Limits{Timeout: time.Nanosecond, Cleanup: time.Millisecond}})
	if err := s.opt.Store.Add(&Session{ID: "ses_a", Used: time.Now()}, 1); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if got, _ := s.opt.Store.Get("ses_a"); got == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("an expired session stays")
		}
	}
}

// TestValidateFollowsLinks: a link inside the project does not lead past a rule.
func TestValidateFollowsLinks(t *testing.T) {
	root := t.TempDir()
	outside := t.TempDir()
	for link, to := range map[string]string{"notes.md": ".env", "out": outside, "nowhere.md": "missing"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, ".env"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := New(NewModel(root, agents, compiled(t, source).Project), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cs := connect(t, s, "", eras[0], nil)
	for file, want := range map[string]string{"notes.txt": "allow", "notes.md": "deny", "out/x.go": "deny", "nowhere.md": "deny", filepath.Join(root, "a.go"): "allow", filepath.Join(outside, "a.go"): "deny"} {
		if v, _ := call[validateOutput](t, cs, "validate_tool_use", map[string]any{"mode": "code", "tool_name": "edit", "file_path": file}); v.Decision != want {
			t.Errorf("%s: got %+v, want %s", file, v, want)
		}
		if x, _ := call[explainOutput](t, cs, "explain", map[string]any{"mode": "code", "action": "edit", "arg": file}); x.Decision != want {
			t.Errorf("%s: explain says %+v, want %s", file, x, want)
		}
	}
}

// TestReload serves another model on the same connection: what changed is told, lists
// are new, and a session goes on.
func TestReload(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := serve(t, Options{})
			var mu sync.Mutex
			var updated []string
			lists := make(chan struct{}, 100)
			cs := connect(t, s, "", era, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{},
				ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
					mu.Lock()
					updated = append(updated, r.Params.URI)
					mu.Unlock()
				},
				PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) { lists <- struct{}{} },
			})
			if era == eras[0] {
				if err := cs.Subscribe(context.Background(), &sdk.SubscribeParams{URI: "mode://code/system_prompt"}); err != nil {
					t.Fatal(err)
				}
			}
			task, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "code", "initial_message": "x"})
			next := strings.Replace(source, "You write code.", "You write good code.", 1)
			next = strings.Replace(next, "locked: {", "closed: {", 1)
			s.Reload(compiled(t, next))
			if era == eras[0] {
				select {
				case <-lists:
				case <-time.After(30 * time.Second):
					t.Error("nobody was told of the new list")
				}
				deadline := time.Now().Add(30 * time.Second)
				for {
					mu.Lock()
					got := slices.Clone(updated)
					mu.Unlock()
					if slices.Equal(got, []string{"mode://code/system_prompt"}) {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("got updates of %v", got)
					}
					time.Sleep(5 * time.Millisecond)
				}
			}
			if _, err := cs.GetPrompt(context.Background(), &sdk.GetPromptParams{Name: "closed"}); err != nil {
				t.Error(err)
			}
			if _, err := cs.GetPrompt(context.Background(), &sdk.GetPromptParams{Name: "locked"}); err == nil {
				t.Error("a mode that is gone has a prompt")
			}
			info, _ := call[taskInfoOutput](t, cs, "get_task_info", map[string]any{"session_id": task.SessionID})
			if info.ModeSlug != "code" {
				t.Errorf("got %+v", info)
			}
			s.Broken("modec/a.cue:1:1: error: got nothing")
			list, _ := call[listModesOutput](t, cs, "list_modes", nil)
			if !strings.Contains(list.Broken, "got nothing") {
				t.Errorf("got %q", list.Broken)
			}
		})
	}
}

// TestPanicIsAnError lets a handler panic: the connection lives.
func TestPanicIsAnError(t *testing.T) {
	s := serve(t, Options{Verify: func(context.Context) (*Verification, error) { panic("no") }, Logger: slog.New(slog.DiscardHandler)})
	cs := connect(t, s, "", eras[0], nil)
	_, err := cs.CallTool(context.Background(), &sdk.CallToolParams{Name: "verify"})
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != jsonrpc.CodeInternalError {
		t.Errorf("got %v", err)
	}
	call[listModesOutput](t, cs, "list_modes", nil)
}

// TestTimeout answers in time, whatever the handler does.
func TestTimeout(t *testing.T) {
	end := make(chan struct{})
	s := serve(t, Options{Timeout: 50 * time.Millisecond, Verify: func(context.Context) (*Verification, error) {
		<-end
		return &Verification{Targets: []string{}, Findings: []string{}}, nil
	}})
	cs := connect(t, s, "", eras[0], nil)
	for _, want := range []code{timedOut, limitReached} { // the first is under way still
		_, err := cs.CallTool(context.Background(), &sdk.CallToolParams{Name: "verify"})
		var e *jsonrpc.Error
		if !errors.As(err, &e) || !strings.Contains(string(e.Data), string(want)) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	close(end)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if res, err := cs.CallTool(context.Background(), &sdk.CallToolParams{Name: "verify"}); err == nil && !res.IsError {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no verification any more")
		}
	}
}

// TestNames serves roles and servers whose names are no hosts of an address.
func TestNames(t *testing.T) {
	s, err := New(compiled(t, `package modec

servers: {"git hub": {command: "x", tools: a: {}}, "a%b": {command: "x"}}
roles: {"senior dev": {can: read: "allow"}, "a:b": {}, "ré/sumé": {}}
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cs := connect(t, s, "", eras[1], nil)
	for _, uri := range []string{"role://senior%20dev", "role://a%3Ab/config", "role://r%C3%A9%2Fsum%C3%A9/config", "server://git%20hub", "server://a%25b"} {
		if _, err := cs.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: uri}); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
	s.Reload(compiled(t, "package modec\n\nroles: \"still here\": {}\n"))
	if l, _ := call[listRolesOutput](t, cs, "list_roles", nil); len(l.Roles) != 1 {
		t.Errorf("got %+v", l)
	}
}

// TestPairs: a role in a mode may do no more than either, also where the question names
// nothing, and nothing in a mode that it may not enter.
func TestPairs(t *testing.T) {
	s, err := New(compiled(t, `package modec

servers: docs: {command: "x", tools: search: {}}
modes: {
	most: {name: "Most", roleDefinition: "x", can: {read: {default: "allow", deny: [".env"]}, mcp: docs: {default: "deny", allow: ["search"]}}}
	m: {name: "M", roleDefinition: "x", can: edit: allow: ["src/**"]}
	open: {name: "O", roleDefinition: "x", can: edit: "allow"}
	narrow: {name: "N", roleDefinition: "x", can: modes: allow: ["m"]}
	shut: {name: "S", roleDefinition: "x", can: default: "deny"}
}
roles: {
	r: can: edit: {default: "ask", allow: ["lib/**"]}
	reader: {modes: ["m"], can: read: "allow"}
}
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cs := connect(t, s, "", eras[0], nil)
	for args, want := range map[string]string{
		`{"mode": "m", "role": "r", "tool_name": "edit"}`:                                  "ask",
		`{"mode": "most", "tool_name": "search_files"}`:                                    "ask",
		`{"mode": "most", "tool_name": "read_file", "file_path": "a"}`:                     "allow",
		`{"mode": "most", "tool_name": "use_mcp_tool", "server": "docs"}`:                  "ask",
		`{"mode": "open", "role": "reader", "tool_name": "edit", "file_path": "src/a.go"}`: "deny",
		`{"mode": "m", "role": "reader", "tool_name": "edit", "file_path": "src/a.go"}`:    "allow",
	} {
		var v map[string]any
		if err := json.Unmarshal([]byte(args), &v); err != nil {
			t.Fatal(err)
		}
		if got, _ := call[validateOutput](t, cs, "validate_tool_use", v); got.Decision != want {
			t.Errorf("%s: got %+v, want %s", args, got, want)
		}
	}
	for _, tool := range []string{"explain", "list_servers_for_mode"} {
		res, err := cs.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: map[string]any{"explain": map[string]any{"mode": "open", "role": "reader", "action": "edit", "arg": "a"}, "list_servers_for_mode": map[string]any{"mode_slug": "open", "role": "reader"}}[tool]})
		if err != nil || !res.IsError || !strings.Contains(res.Content[0].(*sdk.TextContent).Text, "may not work in mode open") {
			t.Errorf("%s: got %+v, %v", tool, res, err)
		}
	}
	start := func(mode string) string {
		o, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": mode, "initial_message": "x"})
		return o.SessionID
	}
	narrow, shut := start("narrow"), start("shut")
	if o, refused := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "open", "parent_session_id": narrow, "initial_message": "x"}); !refused || o.SessionID != "" {
		t.Errorf("a mode handed over to one that it may not: %+v", o)
	}
	if o, refused := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "m", "parent_session_id": narrow, "initial_message": "x"}); refused || o.SessionID == "" {
		t.Errorf("got %+v", o)
	}
	if o, refused := call[switchModeOutput](t, cs, "switch_mode", map[string]any{"session_id": shut, "new_mode_slug": "m"}); !refused {
		t.Errorf("got %+v", o)
	}
	call[completeTaskOutput](t, cs, "complete_task", map[string]any{"session_id": narrow})
	fails(t, cs, "create_task", map[string]any{"mode_slug": "m", "parent_session_id": narrow, "initial_message": "x"}, validationError)
	if _, err := New(s.Model(), Options{Role: "reader", Mode: "open"}); err == nil {
		t.Error("a role is served in a mode that it may not enter")
	}
}

// TestSessionsBelongToTheirEndpoint: a server or an endpoint that fixes a role or a mode
// knows no others.
func TestSessionsBelongToTheirEndpoint(t *testing.T) {
	store := NewMemory()
	anybody, planner := serve(t, Options{Store: store}), serve(t, Options{Store: store, Role: "planner"})
	cs := connect(t, anybody, "", eras[0], nil)
	task, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "architect", "role": "dev", "initial_message": "x"})
	none, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "architect", "initial_message": "x"})
	for _, other := range []*sdk.ClientSession{connect(t, planner, "", eras[0], nil), connect(t, anybody, "code", eras[0], nil)} {
		for _, id := range []string{task.SessionID, none.SessionID} {
			fails(t, other, "get_task_info", map[string]any{"session_id": id}, taskNotFound)
			fails(t, other, "switch_mode", map[string]any{"session_id": id, "new_mode_slug": "code"}, taskNotFound)
			fails(t, other, "complete_task", map[string]any{"session_id": id}, taskNotFound)
			fails(t, other, "validate_tool_use", map[string]any{"session_id": id, "tool_name": "edit"}, taskNotFound)
			fails(t, other, "create_task", map[string]any{"parent_session_id": id, "mode_slug": "code", "initial_message": "x"}, taskNotFound)
		}
	}
	anybody.Reload(compiled(t, strings.Replace(source, "dev: {description", "worker: {description", 1)))
	fails(t, cs, "switch_mode", map[string]any{"session_id": task.SessionID, "new_mode_slug": "code"}, roleNotFound)
	fails(t, cs, "validate_tool_use", map[string]any{"session_id": task.SessionID, "tool_name": "edit"}, roleNotFound)
}

// TestEnvIsHidden keeps values from whoever reaches a server over HTTP.
func TestEnvIsHidden(t *testing.T) {
	const with = "package modec\n\nroles: ci: env: TOKEN: \"s3cret\"\n"
	s, err := New(compiled(t, with), Options{HideEnv: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cs := connect(t, s, "", eras[0], nil)
	look := func(when string) {
		l, _ := call[listRolesOutput](t, cs, "list_roles", nil)
		text := fmt.Sprint(l)
		for _, uri := range []string{"role://ci", "role://ci/config"} {
			res, err := cs.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: uri})
			if err != nil {
				t.Fatal(err)
			}
			text += res.Contents[0].Text
		}
		if strings.Contains(text, "s3cret") || !strings.Contains(text, "TOKEN") {
			t.Errorf("%s: got %s", when, text)
		}
	}
	look("at first")
	s.Reload(compiled(t, with+"modes: a: {name: \"A\", roleDefinition: \"x\"}\n"))
	look("after a reload")
}

// TestSchemasArePortable looks for what dialects of models cannot read.
func TestSchemasArePortable(t *testing.T) {
	s := serve(t, Options{Writer: noWriter{}, Verify: func(context.Context) (*Verification, error) { return &Verification{}, nil }})
	cs := connect(t, s, "", eras[1], nil)
	n := 0
	for tool, err := range cs.Tools(context.Background(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		for _, v := range []any{tool.InputSchema, tool.OutputSchema} {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			var schema jsonschema.Schema
			if err := json.Unmarshal(b, &schema); err != nil {
				t.Fatal(err)
			}
			walk(&schema, func(s *jsonschema.Schema) {
				if len(s.Types) > 0 {
					t.Errorf("%s: got the types %v, want one", tool.Name, s.Types)
				}
			})
		}
		if tool.Annotations.ReadOnlyHint == slices.Contains([]string{"set_roles", "update_mode_restrictions"}, tool.Name) {
			t.Errorf("%s: got readOnlyHint %v", tool.Name, tool.Annotations.ReadOnlyHint)
		}
	}
	if n != 14 {
		t.Errorf("got %d tools", n)
	}
}

func walk(s *jsonschema.Schema, fn func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	fn(s)
	for _, p := range s.Properties {
		walk(p, fn)
	}
	walk(s.Items, fn)
	walk(s.AdditionalProperties, fn)
}

type noWriter struct{}

func (noWriter) SetRoles(context.Context, []RoleInput) (*Written, error) { return &Written{}, nil }
func (noWriter) SetRestrictions(context.Context, string, *RestrictionsInput) (*Written, error) {
	return &Written{}, nil
}

// TestLayers: of two modes with a slug the project's holds, then the user's.
func TestLayers(t *testing.T) {
	project := &ir.Project{Version: ir.Version, Modes: []ir.Mode{{Slug: "code", Name: "mine"}}, Servers: []ir.Server{{Name: "b", Command: "project"}}}
	global := &ir.Project{Version: ir.Version, Modes: []ir.Mode{{Slug: "ask", Name: "user's"}, {Slug: "code", Name: "user's"}}, Servers: []ir.Server{{Name: "a"}, {Name: "b", Command: "user"}}}
	m := NewModel("", agents, project, global)
	got := map[string]string{}
	for i := range m.Project.Modes {
		got[m.Project.Modes[i].Slug] = m.Source(m.Project.Modes[i].Slug) + " " + m.Project.Modes[i].Name
	}
	if got["code"] != "project mine" || got["ask"] != "global user's" || !strings.HasPrefix(got["debug"], "builtin ") || len(got) != 5 {
		t.Errorf("got %v", got)
	}
	if len(m.Project.Servers) != 2 || m.Project.Server("b").Command != "project" {
		t.Errorf("got %+v", m.Project.Servers)
	}
	if len(project.Modes) != 1 || !reflect.DeepEqual(global.Modes[0].Slug, "ask") {
		t.Error("the layers were changed")
	}
}

// TestHandlesAreRandom draws some.
func TestHandlesAreRandom(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		h := handle("ses_")
		if seen[h] || len(h) < len("ses_")+26 {
			t.Fatalf("got %s", h)
		}
		seen[h] = true
	}
}

func ExampleNewModel() {
	m := NewModel("", nil, &ir.Project{Version: ir.Version})
	for i := range m.Project.Modes {
		fmt.Println(m.Project.Modes[i].Slug, m.Source(m.Project.Modes[i].Slug))
	}
	// Output:
	// architect builtin
	// ask builtin
	// code builtin
	// debug builtin
	// orchestrator builtin
}

// What is allowed at times is allowed then, and no resource changes with the clock.
func TestTimes(t *testing.T) {
	s, err := New(compiled(t, `package modec

servers: git: {command: "git-mcp", tools: {close: {}, list: {}}}
modes: m: {name: "M", roleDefinition: "r", can: {
	command: allow: [{rule: "make release", from: "2026-12-01", until: "2026-12-31"}]
	mcp: git: {allow: ["list", {rule: "close", daily: "09:00-17:30", zone: "Europe/Berlin"}], default: "deny"}
}}
`), Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var now time.Time
	s.now = func() time.Time { return now }
	cs := connect(t, s, "", eras[1], nil)
	config := func() string {
		r, err := cs.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: "mode://m/config"})
		if err != nil {
			t.Fatal(err)
		}
		return r.Contents[0].Text
	}
	var texts []string
	for at, want := range map[string][2]bool{ // the command, and the tool
		"2026-11-30T23:59:59Z": {false, false}, "2026-12-01T00:00:00Z": {true, false}, "2026-12-01T08:00:00Z": {true, true},
		"2026-12-01T16:30:00Z": {true, false}, "2027-01-01T12:00:00Z": {false, true},
	} {
		if now, err = time.Parse(time.RFC3339, at); err != nil {
			t.Fatal(err)
		}
		command, _ := call[validateOutput](t, cs, "validate_tool_use",
			map[string]any{"mode": "m", "tool_name": "execute_command", "command": "make release"})
		tool, _ := call[validateOutput](t, cs, "validate_tool_use",
			map[string]any{"mode": "m", "tool_name": "use_mcp_tool", "server": "git", "mcp_tool": "close"})
		why, _ := call[explainOutput](t, cs, "explain", map[string]any{"mode": "m", "action": "command", "arg": "make release"})
		if got := [2]bool{command.Allowed, tool.Allowed}; got != want || (why.Decision == "allow") != want[0] {
			t.Errorf("%s: got %v, %s, want %v", at, got, why.Decision, want)
		}
		texts = append(texts, config())
	}
	if len(slices.Compact(texts)) != 1 {
		t.Error("a resource depends on the clock")
	}
}
