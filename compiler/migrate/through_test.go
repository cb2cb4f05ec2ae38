package migrate

import (
	"os/exec"
	"testing"
)

// What runs nothing has no place in a proof; sh is asked whether it is so.
func TestRunsNothing(t *testing.T) {
	for line, want := range map[string]bool{
		"": true, " \n": true, "echo ran '": true, `echo ran "`: true, "echo ran &&": true, `echo ran "$(`: true,
		"if echo ran": true, "echo ran": false, "echo ran <<E": false, "echo ran\necho '": false,
	} {
		if got := runsNothing(line); got != want {
			t.Errorf("%q: got %v, want %v", line, got, want)
		}
		if out, _ := exec.Command("sh", "-c", line).Output(); want && len(out) > 0 {
			t.Errorf("sh runs %q and prints %q", line, out)
		}
	}
}
