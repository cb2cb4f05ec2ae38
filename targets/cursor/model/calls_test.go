package model

import (
	"encoding/json"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// A payload is written as json.Marshal writes it.
func TestPayload(t *testing.T) {
	o := opened{disk: contract.Disk{Root: root}, servers: map[string]*ir.Server{
		"docs": {Name: "docs", URL: "https://docs.example.com"}, "admin": {Name: "admin", Command: "admin-mcp"},
	}}
	var calls []call
	for _, a := range []policy.Action{
		{Group: ir.Read, Arg: "a <b>"}, {Group: ir.Read}, {Group: ir.Edit, Arg: "é\n"}, {Group: ir.Command, Arg: `a "b" && c`},
		{Group: ir.Web, Arg: "example.com"}, {Group: ir.Web}, {Group: ir.Modes, Arg: "code"}, {Group: ir.Unknown, Arg: "x"},
		{Group: ir.MCP, Server: "docs", Arg: "get_page"}, {Group: ir.MCP, Server: "admin", Arg: "x"},
		{Group: ir.MCP, Server: "docs", Arg: "a://b", Kind: policy.Resource},
	} {
		for _, list := range o.tools(ide, a) {
			calls = append(calls, list...)
		}
	}
	calls = append(calls, o.preTool("WriteShellStdin", typed("abc")), call{payload: event{}},
		call{payload: event{Roots: []string{"/a", "/b"}}})
	for _, c := range calls {
		want, err := json.Marshal(c.payload)
		if got := c.payload.json(); err != nil || string(got) != string(want) {
			t.Errorf("got %s, want %s (%v)", got, want, err)
		}
	}
}
