package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
)

// plain is a client as the modes-server specification has it: it knows JSON-RPC, and nothing of modec.
type plain struct {
	t    *testing.T
	send func(line string) map[string]any
	id   int
}

func (p *plain) request(method, params string) map[string]any {
	p.t.Helper()
	p.id++
	answer := p.send(fmt.Sprintf(`{"jsonrpc": "2.0", "id": %d, "method": %q, "params": %s}`, p.id, method, params))
	if answer["jsonrpc"] != "2.0" || fmt.Sprint(answer["id"]) != fmt.Sprint(p.id) {
		p.t.Fatalf("%s: got %v", method, answer)
	}
	return answer
}

// tool calls a tool and returns its result.
func (p *plain) tool(name, args string) map[string]any {
	p.t.Helper()
	res, ok := p.request("tools/call", fmt.Sprintf(`{"name": %q, "arguments": %s}`, name, args))["result"].(map[string]any)
	if !ok {
		p.t.Fatalf("%s got no result", name)
	}
	return res
}

// says is the text of a result, as the specification's client prints it.
func says(res map[string]any) string {
	return res["content"].([]any)[0].(map[string]any)["text"].(string)
}

// overPipes is a client of a server by lines.
func overPipes(t *testing.T, s *Server) *plain {
	in, input := io.Pipe()
	output, out := io.Pipe()
	go func() {
		if err := s.Run(t.Context(), in, out); err != nil {
			t.Error(err)
		}
		out.Close()
	}()
	t.Cleanup(func() { input.Close(); _, _ = io.Copy(io.Discard, output) })
	lines := bufio.NewReader(output)
	return &plain{t: t, send: func(line string) map[string]any {
		if _, err := io.WriteString(input, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(line, `"id"`) {
			return nil
		}
		answer, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(answer), &m); err != nil {
			t.Fatalf("%v: %s", err, answer)
		}
		return m
	}}
}

// overHTTP is a client of a server by HTTP.
func overHTTP(t *testing.T, s *Server) *plain {
	url, session := listen(t, s, HTTPOptions{}), ""
	return &plain{t: t, send: func(line string) map[string]any {
		_, h, got := post(t, url, session, "", line)
		if id := h.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		if len(got) == 0 {
			return nil
		}
		return got[0]
	}}
}

// specified is a project as the specification has it: modes like Roo's own, whose expressions are Roo's.
const specified = `package modec

modes: {
	code: {name: "💻 Code", description: "Write, modify, or refactor code", roleDefinition: "You are an expert programmer.", can: {default: "allow"}}
	architect: {name: "🏗️ Architect", description: "Plan and design solutions", roleDefinition: "You plan.", can: {read: "allow", edit: allow: [{regex: "\\.md$"}]}}
	debug: {name: "🪲 Debug", roleDefinition: "You debug.", can: {read: "allow", edit: "allow", command: "allow"}}
}
`

// TestSpecification walks through the examples of the modes-server specification (11.1, 11.2, appendix A and the
// messages of 5.1 and 10.2), as a client written from its text sends them, over either transport.
func TestSpecification(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, *Server) *plain{"pipes": overPipes, "HTTP": overHTTP} {
		t.Run(name, func(t *testing.T) {
			s, err := New(compiled(t, specified), Options{Version: "test"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			c := connect(t, s)
			want := func(what, text string, parts ...string) {
				t.Helper()
				for _, p := range parts {
					if !strings.Contains(text, p) {
						t.Errorf("%s: got %q, want %q", what, text, p)
					}
				}
			}
			hello := c.request("initialize", `{"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}}`)
			info := hello["result"].(map[string]any)
			if info["serverInfo"] == nil || info["capabilities"].(map[string]any)["resources"] == nil || info["capabilities"].(map[string]any)["tools"] == nil {
				t.Errorf("got %v", info)
			}
			c.send(`{"jsonrpc": "2.0", "method": "notifications/initialized"}`)

			// 11.1
			want("list_modes", says(c.tool("list_modes", `{}`)), "Available modes:\n", "code (💻 Code) - project",
				"Description: Write, modify, or refactor code", `Tool groups: read, edit (only \.md$)`)
			want("list_modes of a source", says(c.tool("list_modes", `{"source": "builtin"}`)), "ask (")
			want("get_mode_info", says(c.tool("get_mode_info", `{"mode_slug": "code", "include_system_prompt": false}`)),
				"Mode: 💻 Code (code)\nSource: project\nDescription: Write", "Tool Groups:\n✓ read\n✓ edit", "✓ browser", "✓ modes")
			task := c.tool("create_task", `{"mode_slug": "code", "initial_message": "Create a Python hello world script"}`)
			want("create_task", says(task), "Task created successfully\n\nSession ID: ses_", "Task ID: t", "Mode: code (💻 Code)", "State: pending")
			meta := task["metadata"].(map[string]any)
			session, _ := meta["session_id"].(string)
			if !regexp.MustCompile(`^ses_\w+$`).MatchString(session) || meta["task_id"] == "" || meta["mode_slug"] != "code" {
				t.Errorf("got %v", meta)
			}
			write := fmt.Sprintf(`{"session_id": %q, "tool_name": "write_to_file", "file_path": "hello.py"}`, session)
			res := c.tool("validate_tool_use", write)
			want("validate_tool_use", says(res), "✓ Tool 'write_to_file' is allowed in mode 'code'")
			if meta := res["metadata"].(map[string]any); meta["allowed"] != true || meta["tool_name"] != "write_to_file" || meta["mode"] != "code" || meta["error"] != nil {
				t.Errorf("got %v", meta)
			}
			res = c.tool("switch_mode", fmt.Sprintf(`{"session_id": %q, "new_mode_slug": "architect", "reason": "Need to plan the architecture"}`, session))
			want("switch_mode", says(res), "Mode switched successfully", "Old mode: code\nNew mode: architect\nReason: Need to plan the architecture",
				"New tool groups:\n✓ read\n✓ edit (only \\.md$)\n✗ command (not available in mode architect)")
			if meta := res["metadata"].(map[string]any); meta["old_mode"] != "code" || meta["new_mode"] != "architect" {
				t.Errorf("got %v", meta)
			}
			res = c.tool("validate_tool_use", write)
			want("a refusal", says(res), "✗ Tool 'write_to_file' is restricted in mode 'architect'",
				`File 'hello.py' does not match allowed pattern: \.md$`, "It may happen in code, debug: use switch_mode first.")
			if meta := res["metadata"].(map[string]any); meta["allowed"] != false || meta["restriction"] != `\.md$` || meta["error"] == nil || res["isError"] != true {
				t.Errorf("got %v", res)
			}
			extra := c.tool("get_task_info", fmt.Sprintf(`{"session_id": %q, "include_messages": true, "include_hierarchy": true, "verbose": 1}`, session))
			want("get_task_info", says(extra), "Mode: architect", "State: pending", "user: Create a Python hello world script")
			want("an extra argument", fmt.Sprint(extra["structuredContent"].(map[string]any)["warnings"]), `no argument "verbose"`)
			done := c.tool("complete_task", fmt.Sprintf(`{"session_id": %q, "status": "completed", "result": "Architecture plan completed"}`, session))
			want("complete_task", says(done), "Task completed")

			// 5.1.3: a message is optional, and a task may have a parent.
			parent := c.tool("create_task", `{"mode_slug": "code"}`)["metadata"].(map[string]any)["session_id"]
			child := c.tool("create_task", fmt.Sprintf(`{"mode_slug": "debug", "parent_session_id": %q}`, parent))
			want("a child", says(child), "Mode: debug (🪲 Debug)")

			// 4 and 11.2
			list := c.request("resources/list", `{}`)["result"].(map[string]any)["resources"].([]any)
			uris := fmt.Sprint(list)
			want("resources/list", uris, "mode://code]", "mode://architect/config", "mode://debug/system_prompt")
			read := func(uri string) string {
				res, ok := c.request("resources/read", fmt.Sprintf(`{"uri": %q}`, uri))["result"].(map[string]any)
				if !ok {
					t.Fatalf("%s was not read", uri)
				}
				return res["contents"].([]any)[0].(map[string]any)["text"].(string)
			}
			var config struct {
				Slug, Name, Source string
				Groups             []any
			}
			if err := json.Unmarshal([]byte(read("mode://architect/config")), &config); err != nil || config.Slug != "architect" || config.Groups[0] != "read" {
				t.Errorf("got %+v, %v", config, err)
			} else if edit := config.Groups[1].([]any); edit[0] != "edit" || !strings.HasSuffix(edit[1].(map[string]any)["fileRegex"].(string), `\.md$`) || edit[1].(map[string]any)["description"] != `only \.md$` {
				t.Errorf("got %v", edit)
			}
			var full struct {
				Tools map[string]struct {
					Enabled   bool
					FileRegex string `json:"file_regex"`
				} `json:"tool_groups"`
			}
			if err := json.Unmarshal([]byte(read("mode://architect")), &full); err != nil || !full.Tools["read"].Enabled || full.Tools["browser"].Enabled || !strings.HasSuffix(full.Tools["edit"].FileRegex, `\.md$`) || len(full.Tools) != 6 {
				t.Errorf("got %+v, %v", full, err)
			}
			if got := read("mode://architect/system_prompt"); got != "You plan." {
				t.Errorf("got %q", got)
			}
			if c.request("prompts/get", `{"name": "code"}`)["result"] == nil {
				t.Error("there is no prompt")
			}

			// Appendix B
			for call, want := range map[string]string{
				`{"name": "create_task", "arguments": {"mode_slug": "invalid-mode"}}`:                                                "MODE_NOT_FOUND -32001",
				`{"name": "get_task_info", "arguments": {"session_id": "ses_none"}}`:                                                 "TASK_NOT_FOUND -32002",
				`{"name": "switch_mode", "arguments": {"session_id": "ses_none"}}`:                                                   "VALIDATION_ERROR -32004",
				`{"name": "complete_task", "arguments": {"session_id": "ses_none", "status": "done"}}`:                               "VALIDATION_ERROR -32004",
				`{"name": "create_task", "arguments": {"mode_slug": "code", "parent_session_id": "ses_none"}}`:                       "TASK_NOT_FOUND -32002",
				`{"name": "create_task", "arguments": {"mode_slug": 5}}`:                                                             "VALIDATION_ERROR -32004",
				fmt.Sprintf(`{"name": "switch_mode", "arguments": {"session_id": %q, "new_mode_slug": "none"}}`, parent):             "MODE_NOT_FOUND -32001",
				fmt.Sprintf(`{"name": "validate_tool_use", "arguments": {"session_id": %q, "tool_name": "write_to_file"}}`, session): "VALIDATION_ERROR -32004",
			} {
				e, ok := c.request("tools/call", call)["error"].(map[string]any)
				if data, _ := e["data"].(map[string]any); !ok || fmt.Sprint(data["code"], " ", data["specCode"]) != want {
					t.Errorf("%s: got %v, want %s", call, e, want)
				}
			}
		})
	}
}

// A question may be about several calls: the answer sums up, and has each.
func TestValidateCalls(t *testing.T) {
	cs := connect(t, serve(t, Options{}), "", eras[1], nil)
	v, isError := call[validateOutput](t, cs, "validate_tool_use", map[string]any{"mode": "architect", "calls": []any{
		map[string]any{"tool_name": "read_file", "file_path": "a.go"},
		map[string]any{"tool_name": "write_to_file", "file_path": "a.go"},
		map[string]any{"tool_name": "use_mcp_tool", "server": "github", "mcp_tool": "create_issue"},
	}})
	if !isError || v.Allowed || len(v.Calls) != 3 || !v.Calls[0].Allowed || v.Calls[1].Code != "FILE_RESTRICTION_ERROR" || v.Code != v.Calls[1].Code || v.Reason != "2 of the 3 calls are refused" {
		t.Errorf("got %+v", v)
	}
	if got := v.Calls[2].AllowedPatterns; len(got) != 1 || got[0] != "github:list_issues" {
		t.Errorf("got %v", got)
	}
	v, isError = call[validateOutput](t, cs, "validate_tool_use", map[string]any{"mode": "code", "calls": []any{
		map[string]any{"tool_name": "read_file", "file_path": "a.go"}, map[string]any{"tool_name": "Bash", "command": "ls"}}})
	if isError || !v.Allowed || v.Decision != "ask" || !v.RequiresApproval {
		t.Errorf("got %+v", v)
	}
	fails(t, cs, "validate_tool_use", map[string]any{"mode": "code", "tool_name": "x", "calls": []any{map[string]any{"tool_name": "x"}}}, validationError)
	fails(t, cs, "validate_tool_use", map[string]any{"mode": "code", "calls": make([]any, 101)}, validationError)
}
