package policy_test

import (
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// What agents' own tools send every day is usual, and nothing that a file and a hook may read in two ways.
func TestUsual(t *testing.T) {
	for _, c := range []struct {
		group         ir.Group
		usual, others []string
	}{
		{ir.Read, []string{"a", "src/a.go", ".env", "a b/c-d"},
			[]string{"../a", "/etc/passwd", "./a", "a//b", "a/", "~/a", `a\b`, "a/../b", "a ", "a.", "c:x", "", "."}},
		{ir.Command, []string{"ls", "git push --force", "cd src && npm test | tail -5", "make; make install", "a\nb"},
			[]string{"", "ls > x", "$X", "sudo ls", "if true; then ls; fi", "cd ..", `git commit -m "x"`, "X=1 ls", "ls *",
				"ls &", "ls  -l", "LS", "a;;b", "! ls", "timeout 5 ls", "ls\\\n-l"}},
		{ir.Web, []string{"example.com", "localhost"}, []string{"Example.com", "example.com:80", "1.2.3.4", "bücher.example"}},
	} {
		for want, args := range map[bool][]string{true: c.usual, false: c.others} {
			for _, arg := range args {
				if got := policy.Usual(policy.Action{Group: c.group, Arg: arg}); got != want {
					t.Errorf("%s %q: got usual %t, want %t", c.group, arg, got, want)
				}
			}
		}
	}
}

// On its text a command is decided by no more than its words, and a path in the letters of the rules.
func TestOnText(t *testing.T) {
	deny := func(text string) ir.Rule { return ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: text}} }
	table := func(rules ...ir.Rule) *ir.Table {
		return &ir.Table{Default: &ir.Default{Decision: ir.Allow}, Rules: rules}
	}
	e := policy.New(&ir.Project{Roles: []ir.Role{{Name: "r", Can: ir.Can{
		Read: table(deny("secrets/"), deny("x[^a-c]")), Command: table(deny("rm:*"), deny("git push *")),
	}}}})
	for _, c := range []struct {
		group       ir.Group
		arg         string
		whole, text ir.Decision
	}{
		{ir.Command, "rm -rf x", ir.Deny, ir.Deny},
		{ir.Command, "cd src && rm x", ir.Deny, ir.Deny},
		{ir.Command, "npm test; git push", ir.Deny, ir.Deny},
		{ir.Command, "/bin/rm x", ir.Deny, ir.Allow},
		{ir.Command, "git push", ir.Deny, ir.Deny},
		{ir.Command, "sudo rm x", ir.Deny, ir.Allow}, // which is not usual
		{ir.Command, "rm > x", ir.Deny, ir.Deny},
		{ir.Read, "secrets/x", ir.Deny, ir.Deny},
		{ir.Read, "SECRETS/x", ir.Deny, ir.Allow},
		{ir.Read, "xA", ir.Allow, ir.Allow},
		{ir.Read, "xd", ir.Deny, ir.Deny},
	} {
		for of, want := range map[*policy.Engine]ir.Decision{e: c.whole, e.OnText(): c.text} {
			s, err := of.Subject(ir.SubjectRef{Role: "r"})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Decide(policy.Action{Group: c.group, Arg: c.arg}).Decision; got != want {
				t.Errorf("%s %q, on text %t: got %s, want %s", c.group, c.arg, of != e, got, want)
			}
		}
	}
}
