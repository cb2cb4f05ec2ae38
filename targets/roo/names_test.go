package roo

import (
	"strings"
	"testing"
)

func TestToolName(t *testing.T) {
	for in, want := range map[[2]string]string{
		{"my server", "get_x"}:         "mcp__my_server__get_x",
		{"a.b", "c--d"}:                "mcp__ab__c_d",
		{"9x", "t"}:                    "mcp___9x__t",
		{strings.Repeat("s", 70), "t"}: "mcp__" + strings.Repeat("s", 59),
	} {
		if got := toolName(in[0], in[1]); got != want {
			t.Errorf("%v: got %s, want %s", in, got, want)
		}
	}
}
