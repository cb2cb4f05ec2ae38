package importer_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/claude/importer"
)

// Notes tell what became of every rule.
func ExampleImport() {
	got, diags := importer.Import(contract.Source{Root: memfs.FS{
		".claude/settings.json":  []byte(`{"permissions": {"allow": ["Bash(make *)"], "deny": ["Write(docs/**)"]}}`),
		".claude/agents/docs.md": []byte("---\nname: docs\ndescription: writes\ntools: Read, Edit\n---\nYou write.\n"),
	}})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	fmt.Println(got.Project.Roles[0].Name, got.Project.Modes[0].Slug)
	for _, n := range got.Notes {
		fmt.Println(n.Kind, n.Subject, n.What)
	}
	// Output:
	// claude docs
	// left role claude deny Write(docs/**)
	// understood role claude allow Bash(make *)
	// understood mode docs tools Read
	// understood mode docs tools Edit
}

func ExampleArgs() {
	args := []string{"claude", "--permission-mode", "plan", "--disallowedTools", "WebFetch(domain:example.com)", "-p"}
	got, diags := importer.Args(contract.Source{Root: memfs.FS{}}, "planner", args, diag.Pos{File: "command line"})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	role := got.Project.Roles[0]
	fmt.Println(role.Name, role.PermissionMode, role.Can.Web.Rules[0].Decision)
	// Output: planner plan deny
}
