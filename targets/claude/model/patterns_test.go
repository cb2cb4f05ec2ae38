package model

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// A rule that only a person's own settings hold is met by a witness.
func TestPatterns(t *testing.T) {
	deciders, _ := Open(fstest.MapFS{
		".claude/settings.json": {Data: []byte(permissions("default", []string{"Bash(npm ci)", "Bash", "Edit(./docs/**)",
			"Read(//etc/hosts)", "WebFetch(domain:*.example.com)", "mcp__s__t"}, nil, []string{"Bash(rm *)"}))},
		".claude/settings.local.json": {Data: []byte(`{"permissions": {"allow": ["Bash(deploy:*)"]}}`)},
	}, roleR.Role)
	d := deciders[0].(contract.Patterned)
	want := map[ir.Group][]ir.Pattern{
		ir.Command: {{Text: "npm ci"}, {Text: "deploy:*"}, {Text: "rm *"}},
		ir.Edit:    {{Text: "docs/**"}},
		ir.Read:    {{Text: "//etc/hosts"}},
		ir.Web:     {{Text: "*.example.com"}},
	}
	if diff := cmp.Diff(want, d.Patterns(roleR)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := d.Patterns(ir.SubjectRef{Mode: "nobody"}); got != nil {
		t.Errorf("nobody: got %v", got)
	}
}
