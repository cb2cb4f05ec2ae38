package importer_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/importer"
)

func ExampleImport() {
	got, diags := importer.Import(contract.Source{Root: memfs.FS{".cursor/cli.json": []byte(`{"permissions": {
		"allow": ["Shell(git status)", "Shell(g*t)"],
		"deny": ["Read(**/.env)"]
	}}`)}})
	for _, n := range got.Notes {
		fmt.Println(n.Kind, n.What)
	}
	role, err := policy.New(got.Project).Subject(ir.SubjectRef{Role: "cursor-cli"})
	if err != nil || diags.HasErrors() {
		fmt.Println(err, diags)
		return
	}
	fmt.Println(role.Decide(policy.Action{Group: ir.Command, Arg: "git status -s"}).Decision)
	for _, r := range got.Project.Roles[0].Native {
		fmt.Println(r.Decision, r.Text)
	}
	// Output:
	// understood allow Shell(git status)
	// kept allow Shell(g*t)
	// kept deny Read(**/.env)
	// kept targets
	// allow
	// allow Shell(g*t)
	// deny Read(**/.env)
}
