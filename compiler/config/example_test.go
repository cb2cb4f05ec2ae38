package config_test

import (
	"fmt"

	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets"
)

func ExampleLoad() {
	cfg, diags := config.Load(memfs.FS{config.File: []byte(`
name = "acme"
[targets.roo]
on_loss = {mcp = "error"}
`)}, "shop", targets.All())
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	roo := cfg.Targets[0]
	fmt.Println(cfg.Name, cfg.Source, roo.Target.Name(), roo.Fails(ir.MCP), roo.Fails(ir.Edit))
	// Output:
	// acme modec roo true false
}
