package audit_test

import (
	"fmt"
	"os"
	"path/filepath"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
)

// A line that somebody takes out of a log is missed.
func ExampleLog_Verify() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")) // the key is the user's own, outside of every project
	defer os.Unsetenv("XDG_STATE_HOME")

	log, err := audit.Open(filepath.Join(dir, "shop"), ir.Audit{File: "audit.jsonl", MaxMB: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range []string{"Read", "Bash"} {
		if err := log.Append(audit.Event{Via: audit.ViaHook, Tool: tool, Outcome: audit.Refused}); err != nil {
			fmt.Println(err)
			return
		}
	}
	v, err := log.Verify()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Events, len(v.Findings))

	if err := os.Truncate(log.File(), 0); err != nil {
		fmt.Println(err)
		return
	}
	v, err = log.Verify()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Findings[0].Text)
	// Output:
	// 2 0
	// events 1 to 2 are missing at the end
}
