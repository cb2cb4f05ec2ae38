package lint

import (
	"strings"
	"testing"
)

func TestReach(t *testing.T) {
	always := func(string) bool { return true }
	for pattern, far := range map[string]bool{
		"git log *": true, "git *": true, "go test *": true, "npm run *": true, "npm run:*": true,
		"python3 *": true, "env *": true, "find *": true, "cp *": true, "sed *": true, "sed -n *": true,
		"printf *": true, "* --help": true, "*": true, "make*": true, "awk *": true, "gawk -F, *": true,
		"sort -u *": true,
		"tee *":     true, "xargs -0 *": true, "git log --oneline *": true, "python3 -c *": true, "git --no-pager *": true,

		"git log": false, "go test ./...": false, "npm run build": false, "npm run build *": false, "npm ci": false,
		"npm test *": false, "python3 tools/x.py *": false, "python3 -m pytest *": false,
		"golangci-lint run *": false, "ls *": false, "git commit -m *": false, "catalog *": false, "sedge *": false,
		"cat *": false, "head -n *": false, "git status *": false, "xargs grep *": false,
	} {
		words, open := openEnd(pattern)
		why, hint := "", ""
		if open {
			why, hint = reach(words, always)
		}
		if (why != "") != far || (hint != "") != far {
			t.Errorf("%q: got %q, hint %q", pattern, why, hint)
		}
	}
}

// A finding names what the policy allows, and nothing else.
func TestReachAsksThePolicy(t *testing.T) {
	why, _ := reach("find", func(line string) bool { return !strings.Contains(line, "-exec") })
	if want := "it removes files (find . -delete), it writes a file (find . -fprint FILE)"; why != want {
		t.Errorf("got %q, want %q", why, want)
	}
	if why, _ := reach("find", func(string) bool { return false }); why != "" {
		t.Errorf("got %q where the policy allows nothing of it", why)
	}
}
