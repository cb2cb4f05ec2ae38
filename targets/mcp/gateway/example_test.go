package gateway_test

import (
	"fmt"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcp/gateway"
)

// A table is what a role gets to see of the inventory's servers, and what becomes of its calls.
func ExampleNewTable() {
	rules := []ir.Rule{
		{Decision: ir.Allow, Pattern: ir.Pattern{Text: "list_*"}},
		{Decision: ir.Ask, Pattern: ir.Pattern{Text: "sell"}},
	}
	e := policy.New(&ir.Project{
		Version: ir.Version,
		Servers: []ir.Server{{Name: "shop", Type: "stdio", Command: "shop-mcp", Tools: []ir.Tool{
			{Name: "list_goods"}, {Name: "sell"}, {Name: "refund"}}}},
		Roles: []ir.Role{{Name: "clerk", Can: ir.Can{
			MCP: &ir.MCPTable{Default: &ir.Default{Decision: ir.Deny}, Entries: []ir.MCPEntry{
				{Key: "shop", Literal: true, Rules: rules}}}}}},
	})
	table, err := gateway.NewTable(e, ir.SubjectRef{Role: "clerk"}, nil, false, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range []string{"list_goods", "sell", "refund"} {
		fmt.Println(tool, table.Grant("shop", policy.Tool, tool).Access)
	}
	// Output:
	// list_goods allow
	// sell ask
	// refund deny
}
