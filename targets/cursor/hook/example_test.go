package hook_test

import (
	"encoding/json"
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/hook"
	"modec.dev/modec/targets/cursor/internal/shop"
)

// The hook of the repository denies, asks, and otherwise leaves the call to Cursor.
func ExampleAnswer() {
	for _, line := range []string{"git push", "make", "git log"} {
		a := hook.Answer(contract.HookRequest{
			Payload: []byte(`{"hook_event_name": "beforeShellExecution", "cwd": "/w", "command": "` + line + `"}`),
			Policy:  policy.New(shop.Project()),
			Subject: ir.SubjectRef{Role: "dev"},
			Root:    "/w",
			Resolve: func(path string) (string, error) { return path, nil },
		})
		var answer struct{ Permission string }
		err := json.Unmarshal(a.Stdout, &answer)
		fmt.Printf("%s: %q, exit code %d, %v\n", line, answer.Permission, a.Exit, err)
	}
	// Output:
	// git push: "deny", exit code 0, <nil>
	// make: "ask", exit code 0, <nil>
	// git log: "", exit code 0, <nil>
}

// What the hook does not understand it refuses.
func ExampleAnswer_refusal() {
	a := hook.Answer(contract.HookRequest{Payload: []byte(`{"hook_event_name": "stop"}`)})
	fmt.Println(a.Exit, a.Stderr)
	// Output:
	// 2 got the event "stop", want one that can refuse
}

func ExampleEvents() {
	fmt.Println(hook.Events([]ir.Group{ir.Read}))
	fmt.Println(hook.Events([]ir.Group{ir.Command, ir.Modes}))
	fmt.Println(hook.Events(nil))
	// Output:
	// [beforeReadFile beforeShellExecution beforeTabFileRead preToolUse]
	// [beforeShellExecution preToolUse subagentStart]
	// []
}
