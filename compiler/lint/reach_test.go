package lint

import "testing"

func TestReach(t *testing.T) {
	for pattern, far := range map[string]bool{
		"git log *": true, "git *": true, "go test *": true, "npm run *": true, "npm run:*": true,
		"python3 *": true, "env *": true, "find *": true, "cp *": true, "sed *": true,
		"printf *": true, "* --help": true, "*": true, "make*": true, "cat *": true, "head -n *": true,

		"git log": false, "go test ./...": false, "npm run build": false, "npm run build *": false, "npm ci": false,
		"npm test *": false, "python3 tools/x.py *": false,
		"golangci-lint run *": false, "ls *": false, "git commit -m *": false, "catalog *": false,
	} {
		if why, hint := reach(pattern, true); (why != "") != far || (hint != "") != far {
			t.Errorf("%q: got %q, hint %q", pattern, why, hint)
		}
	}
	if why, _ := reach("cat *", false); why != "" {
		t.Errorf("cat * where every file may be read: %q", why)
	}
}
