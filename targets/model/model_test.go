package model

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

func TestEmitIsReadBack(t *testing.T) {
	p := &ir.Project{Version: ir.Version, Servers: []ir.Server{}, Roles: []ir.Role{}, Modes: []ir.Mode{{Slug: "a", Name: "👩‍💻 <A>",
		Can: ir.Can{Read: &ir.Table{Default: &ir.Default{Decision: ir.Agent}}}}}, Unsaid: &ir.Default{Decision: ir.Ask}}
	files, diags := New().Emit(contract.Input{Project: p})
	if len(diags) > 0 || len(files) != 1 || files[0].Path != Path {
		t.Fatalf("got %v %v", files, diags)
	}
	got, err := ir.Unmarshal(bytes.NewReader(files[0].Data))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Error(diff)
	}
}
