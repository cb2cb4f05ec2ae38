package serve

import (
	"bytes"
	"flag"
	"os"
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/roo"
)

var update = flag.Bool("update", false, "rewrite what is compiled into the package")

// TestBuiltins holds the built-in modes to what the compiler makes of them.
func TestBuiltins(t *testing.T) {
	fsys := fstest.MapFS{
		"modec.toml":  {Data: []byte("[targets.roo]\n")},
		"modec/a.cue": {Data: []byte("package modec\n\nroles: all: modes: [\"architect\", \"ask\", \"code\", \"debug\", \"orchestrator\"]\n")},
	}
	res, diags := compiler.Open(t.Context(), compiler.Request{FS: fsys, Targets: []contract.Target{roo.New()}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p := &ir.Project{Version: ir.Version, Servers: []ir.Server{}, Modes: res.Project.Builtins, Roles: []ir.Role{}}
	want, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("builtin.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, builtinJSON) {
		t.Error("builtin.json is not what the compiler makes: go test ./targets/mcp/serve -run Builtins -update")
	}
}
