package report

import (
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/verify"
)

// The line on what is sampled names every group, with its first surface and subject of each reason, and counts the
// others. A group of which nothing is governed is not exact.
func TestExactness(t *testing.T) {
	many := verify.Sampled{Group: ir.Command, Why: "too many", Subjects: []string{"mode a", "mode b", "role c"}}
	part := verify.Sampled{Group: ir.MCP, Part: "servers", Why: "one for all", Subjects: []string{}}
	one := verify.Sampled{Group: ir.Edit, Why: "letters", Subjects: []string{"mode a"}}
	more := verify.Sampled{Group: ir.Edit, Why: "too many", Subjects: []string{"role d"}}
	surfaces := []verify.Surface{
		{Target: "roo", Subjects: 4, Exact: []ir.Group{ir.Read, ir.Edit, ir.MCP}, Sampled: []verify.Sampled{many, part}},
		{Target: "cursor", Surface: "cli", Subjects: 4, Exact: []ir.Group{ir.Read, ir.Web},
			Sampled: []verify.Sampled{many, one, more}},
	}
	const want = "exact but for other ways to write the same: read, web, mcp; sampled: " +
		"command of roo and 1 more for mode a and 2 more (too many), edit of cursor cli for mode a (letters), " +
		"edit of cursor cli for role d (too many), servers"
	if got := exactness(surfaces); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := exactness([]verify.Surface{{}}); got != "" {
		t.Errorf("of no subject: got %q", got)
	}
}
