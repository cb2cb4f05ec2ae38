package policy

import (
	"fmt"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// A role in a mode shows what both together may decide, and a role whose commands are open steers.
func TestDecisions(t *testing.T) {
	p := &ir.Project{
		Version: ir.Version,
		Modes: []ir.Mode{
			{Slug: "any", Can: ir.Can{Command: table(allow("*"), deny("rm *"))}},
			{Slug: "closed", Can: ir.Can{Edit: table(deny("!"), allow("a")), Command: table(allow("ls"))}},
		},
		Roles: []ir.Role{
			{Name: "asks", Can: ir.Can{Command: withDefault(table(allow("ls")), ir.Ask)}},
			{Name: "strict", Can: ir.Can{Command: bare(ir.Ask)}},
			{Name: "open", Can: ir.Can{Read: table(deny(".env"))}},
		},
	}
	for _, c := range []struct {
		ref   ir.SubjectRef
		group ir.Group
		want  string
		steer []ir.Group
	}{
		{ir.SubjectRef{Mode: "any"}, ir.Command, "allow [deny]", []ir.Group{ir.Read, ir.Edit, ir.Command}},
		{ir.SubjectRef{Mode: "closed"}, ir.Edit, "deny []", nil},
		{ir.SubjectRef{Mode: "closed"}, ir.Command, "deny [allow]", nil},
		{ir.SubjectRef{Role: "asks"}, ir.Command, "ask [allow]", nil},
		{ir.SubjectRef{Role: "asks"}, ir.Read, "agent []", nil},
		{ir.SubjectRef{Role: "asks"}, ir.Unknown, "agent []", nil},
		{ir.SubjectRef{Role: "open"}, ir.Read, "agent [deny]", []ir.Group{ir.Read}},
		{ir.SubjectRef{Role: "asks", Mode: "any"}, ir.Command, "ask [deny allow]", nil},
		{ir.SubjectRef{Role: "strict", Mode: "any"}, ir.Command, "ask [deny]", nil},
		{ir.SubjectRef{Role: "open", Mode: "any"}, ir.Command, "allow [deny]", []ir.Group{ir.Read, ir.Edit, ir.Command}},
	} {
		s := mustSubject(t, p, c.ref)
		rest, lists := s.Decisions(c.group)
		if got := fmt.Sprint(rest, lists); got != c.want {
			t.Errorf("%s, %s: got %s, want %s", c.ref, c.group, got, c.want)
		}
		if got := s.AdvisoryGroups(); fmt.Sprint(got) != fmt.Sprint(c.steer) {
			t.Errorf("%s: got %v, want %v", c.ref, got, c.steer)
		}
	}
}
