package mcpnest_test

import (
	"fmt"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcpnest"
)

// The table says who may call a tool; the code beside it is the same for every source.
func Example() {
	p := &ir.Project{Version: ir.Version, ClosedInventory: true,
		Servers: []ir.Server{{Name: "shop", DefaultEnabled: true, Tools: []ir.Tool{{Name: "list"}, {Name: "sell"}}}},
		Roles: []ir.Role{{Name: "clerk", Claims: map[string][]string{"roles": {"clerk"}},
			Can: ir.Can{Default: &ir.Default{Decision: ir.Allow}}}}}
	target, engine := mcpnest.New(), policy.New(p)
	files, diags := target.Emit(contract.Input{Project: p, Policy: engine,
		Options: contract.NewOptions(target.Options(), map[string]any{"servers": []string{"shop"}}, nil)})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	for _, f := range files {
		fmt.Println(f.Path)
		for line := range strings.Lines(string(f.Data)) {
			if strings.Contains(line, "{ roles: [") {
				fmt.Print(line)
			}
		}
	}
	// Output:
	// mcp-nest/modec/index.ts
	// mcp-nest/modec/decide.ts
	// mcp-nest/modec/guards.ts
	// mcp-nest/modec/strategy.ts
	// mcp-nest/modec/tools.ts
	// mcp-nest/modec/policy.ts
	//   "list": { roles: ["clerk"] },
	//   "sell": { roles: ["clerk"] },
}
