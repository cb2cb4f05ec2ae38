package importer_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/thurbox/importer"
)

func ExampleImport() {
	got, diags := importer.Import(contract.Source{Root: memfs.FS{".thurbox/set_roles.json": []byte(`{"roles": [
		{"name": "dev", "description": "builds", "permission_mode": "plan", "disallowed_tools": ["WebFetch(domain:a.org)"]}]}`)}})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	for _, r := range got.Project.Roles {
		fmt.Println(r.Name, r.Description, r.PermissionMode, r.Can.Web.Rules[0].Decision)
	}
	// Output: dev builds plan deny
}
