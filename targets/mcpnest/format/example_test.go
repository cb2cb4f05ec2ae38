package format_test

import (
	"fmt"

	"modec.dev/modec/targets/mcpnest/format"
)

func ExampleConstant() {
	v, err := format.Constant(format.Policy, []byte(`export const TOOL_POLICY = {
  "sell": { roles: ["clerk", "head"] },
} as const satisfies Record<string, ToolPolicy>;
`), "TOOL_POLICY")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range v.Members {
		fmt.Println(tool.Key, tool.Pos, tool.Value.Get("roles").Strings())
	}
	// Output:
	// sell mcp-nest/modec/policy.ts:2:3 [clerk head]
}

// A table that is not data is refused at its place.
func ExampleConstant_code() {
	_, err := format.Constant("policy.ts", []byte("export const ROLE_CLAIMS = { clerk: claims() } as const"),
		"ROLE_CLAIMS")
	fmt.Println(err)
	// Output:
	// policy.ts:1:37: got "claims() } as const", want an object, a list, a string or a boolean
}
