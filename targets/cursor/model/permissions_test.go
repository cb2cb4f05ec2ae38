package model

import (
	"testing"

	"modec.dev/modec/targets/cursor/format"
)

func TestCheckTool(t *testing.T) {
	const file = "{\n  \"approvalMode\": \"manual\",\n  \"mcpAllowlist\": [\n    \"Docs:*\", \"x:y*\"\n  ]\n}"
	for _, c := range []struct {
		mode         format.RunMode
		server, tool string
		alone        bool
		why          Reason
		at           string
	}{
		{"", "docs", "get", false, ByMode, ""},
		{format.UseAllowlist, "docs", "get", true, ByUserList, "f:4:5"},
		{format.UseAllowlist, "x", "yz", false, ByNoUserEntry, ""},
		{format.RunEverything, "x", "yz", true, ByMode, ""},
	} {
		got, err := CheckTool("f", []byte(file), Asked{c.server, c.tool, AutoRun{Mode: c.mode}})
		if err != nil || got.Alone != c.alone || got.Why != c.why || got.At.String() != c.at || len(got.Ignored) != 1 {
			t.Errorf("%s %s:%s: got %+v, %v", c.mode, c.server, c.tool, got, err)
		}
	}
	if _, err := CheckTool("f", []byte("{"), Asked{Server: "a", Tool: "b"}); err == nil {
		t.Error("a file that cannot be read is read")
	}
}
