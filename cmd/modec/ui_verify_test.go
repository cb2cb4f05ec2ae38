package main

import (
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/verify"
)

// The line on what is sampled names the first group of each reason and counts the others.
func TestExactness(t *testing.T) {
	many := verify.Sampled{Group: ir.Command, Why: "too many", Subjects: []string{"mode a", "mode b", "role c"}}
	part := verify.Sampled{Group: ir.MCP, Part: "servers", Why: "one for all", Subjects: []string{}}
	one := verify.Sampled{Group: ir.Edit, Why: "letters", Subjects: []string{"mode a"}}
	more := verify.Sampled{Group: ir.Edit, Why: "too many", Subjects: []string{"role d"}}
	surfaces := []verify.Surface{
		{Subjects: 4, Sampled: []verify.Sampled{many, part}},
		{Subjects: 4, Sampled: []verify.Sampled{many, one, more}},
	}
	const want = "exact but for other ways to write the same: read, web, mcp, modes; sampled: " +
		"command of mode a and 3 more groups (too many), edit of mode a (letters), servers"
	if got := exactness(surfaces); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := exactness([]verify.Surface{{}}); got != "" {
		t.Errorf("of no subject: got %q", got)
	}
}
