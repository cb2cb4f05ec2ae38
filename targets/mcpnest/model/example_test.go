package model_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcpnest/format"
	"modec.dev/modec/targets/mcpnest/model"
)

// Guards that modec did not emit may permit everything.
func ExampleOpen() {
	files := memfs.FS{
		format.Policy: []byte("export const ROLE_CLAIMS = {} as const satisfies X;\n" +
			"export const TOOL_POLICY = {\"sell\": {roles: []}} as const satisfies X;\n" +
			"export const RESOURCE_POLICY = {} as const satisfies X;\n"),
		format.Guards: []byte("export const guard = () => true;\n"),
	}
	options := contract.NewOptions(nil, map[string]any{"servers": []string{"shop"}}, nil)
	deciders, diags := model.Open(files, options)
	fmt.Println(diags[0].Code)
	sell := policy.Action{Group: ir.MCP, Server: "shop", Arg: "sell"}
	for _, d := range deciders {
		v := d.(contract.PersonDecider).DecidePerson(nil, sell)
		fmt.Println(v.Decision, v.Rule)
	}
	// Output:
	// mcpnest-unknown-code
	// allow unknown code
}
