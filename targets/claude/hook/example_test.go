package hook_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/hook"
)

// request is about a role that may read everything but .env, and asks about commands.
func request() contract.HookRequest {
	dev := ir.Role{Name: "dev", Can: ir.Can{
		Read: &ir.Table{
			Default: &ir.Default{Decision: ir.Allow},
			Rules:   []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Text: ".env"}}},
		},
		Command: &ir.Table{Default: &ir.Default{Decision: ir.Ask}},
	}}
	return contract.HookRequest{
		Policy:  policy.New(&ir.Project{Version: ir.Version, Roles: []ir.Role{dev}}),
		Subject: ir.SubjectRef{Role: "dev"},
		Root:    "/project",
		Resolve: func(p string) (string, error) { return filepath.Clean(p), nil },
	}
}

// A hook that may not allow answers deny and ask, and leaves the rest to the agent.
func ExampleAnswer() {
	req := request()
	for _, path := range []string{"/project/.env", "/project/main.go"} {
		req.Payload = fmt.Appendf(nil, `{"hook_event_name": "PreToolUse", "cwd": "/project",
			"tool_name": "Read", "tool_input": {"file_path": %q}}`, path)
		var answer struct {
			HookSpecificOutput struct{ PermissionDecision string }
		}
		if err := json.Unmarshal(hook.Answer(req).Stdout, &answer); err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%s %q\n", path, answer.HookSpecificOutput.PermissionDecision)
	}
	req.Payload = []byte("nonsense")
	fmt.Println("nonsense:", hook.Answer(req).Exit)
	// Output:
	// /project/.env "deny"
	// /project/main.go ""
	// nonsense: 2
}

func ExampleJudge() {
	r, err := hook.Judge(request(), "Bash", map[string]any{"command": "make"})
	fmt.Println(r.Decision, err)
	r, err = hook.Judge(request(), "Bash", nil)
	fmt.Println(r.Decision, err)
	// Output:
	// ask <nil>
	// deny <nil>
}

func ExampleGroup() {
	for _, tool := range []string{"MultiEdit", "TodoWrite", "Teleport"} {
		g, ok := hook.Group(tool)
		fmt.Printf("%s %q %v\n", tool, g, ok)
	}
	// Output:
	// MultiEdit "edit" true
	// TodoWrite "" true
	// Teleport "" false
}
