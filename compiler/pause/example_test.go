package pause_test

import (
	"fmt"
	"os"
	"time"

	"modec.dev/modec/compiler/pause"
)

// The hooks of a project are off until a time, and on again after it without anybody's doing.
func ExampleRecord_Off() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", dir) // the record is the user's own, outside of every project
	defer os.Unsetenv("XDG_STATE_HOME")

	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	if _, err := pause.Load("shop").Off(noon, time.Hour, "ada", "a release is stuck"); err != nil {
		fmt.Println(err)
		return
	}
	r := pause.Load("shop")
	e, off := r.Until(noon.Add(30 * time.Minute))
	fmt.Println(off, e.By, e.Reason)
	_, off = r.Until(noon.Add(2 * time.Hour))
	fmt.Println(off)

	_, err = r.Off(noon, pause.Longest+time.Minute, "ada", "")
	fmt.Println(err != nil) // nothing is off for longer
	// Output:
	// true ada a release is stuck
	// false
	// true
}
