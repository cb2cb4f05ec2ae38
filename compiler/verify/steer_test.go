package verify_test

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
)

// A deny, or an ask, among commands that are open is held in the usual ways to write it by agents that compare texts, and
// takes away no other command.
func TestListsSteer(t *testing.T) {
	role := ir.SubjectRef{Role: "dev"}
	for _, c := range []struct {
		can  string
		held []string // held back, if need be behind a hole
		left []string // as where nothing is denied
		rest ir.Decision
	}{
		{`"command": {"allow": ["git status"], "deny": ["git push --force *", "rm *", "dd *"]}`,
			[]string{"git push --force", "sudo git push --force x", "git -C x push --force", "rm -rf x", "/bin/rm x", "sh -c 'rm x'"},
			[]string{"git status", "git add x", "git push", "npm run format"}, ir.Allow},
		{`"command": {"deny": ["git push *", "rm -rf *"], "default": "allow"}`,
			[]string{"git push", "git  push", "git pu\\sh", "env git push", "rm -rf /", "ls | sh", "echo $(rm -rf x)"},
			[]string{"ls", "npm test", "rm x", "git commit -m 'no push'", "git checkout feature/push"}, ir.Allow},
		{`"command": {"deny": ["git push *"], "default": "ask"}`,
			[]string{"git push", "git 'push' x", "g\\it push"}, []string{"ls", "npm test -- -t 'x y'"}, ir.Ask},
		{`"command": {"ask": ["git push *"], "default": "allow"}`,
			nil, []string{"ls", "git commit -m 'x y'"}, ir.Allow},
	} {
		res := compileSource(t, "[targets.opencode]\n[targets.kilo]\n", `{"roles": {"dev": {"can": {`+c.can+`}}}}`)
		for _, target := range targets.All() {
			if name := target.Name(); name != "opencode" && name != "kilo" {
				continue
			}
			deciders, _ := target.(contract.Judged).Open(res.FS(), contract.Options{})
			if len(deciders) != 1 {
				t.Fatalf("%s: %d deciders", c.can, len(deciders))
			}
			decide := func(line string) contract.Verdict {
				return deciders[0].Decide(role, policy.Action{Group: ir.Command, Arg: line})
			}
			for _, line := range c.held {
				if v := decide(line); v.Decision != ir.Deny {
					t.Errorf("%s: %s: %s: got %s by %q, want deny", target.Name(), c.can, line, v.Decision, v.Rule)
				}
			}
			for _, line := range c.left {
				v := decide(line)
				if v.Hole != nil { // what it does
					v.Decision = v.Hole.Decision
				}
				asks := target.Name() == "kilo" && v.Decision == ir.Ask // by itself
				if v.Decision != c.rest && !asks {
					t.Errorf("%s: %s: %s: got %s by %q, want %s", target.Name(), c.can, line, v.Decision, v.Rule, c.rest)
				}
			}
		}
	}
}
