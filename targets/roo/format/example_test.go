package format_test

import (
	"fmt"

	"modec.dev/modec/targets/roo/format"
)

// ReadModes reads a modes file as the agent does: the whole file, or nothing of it.
func ExampleReadModes() {
	modes, err := format.ReadModes(".roomodes", []byte(`customModes:
  - slug: writer
    name: Writer
    roleDefinition: You write documents.
    groups:
      - read
      - [edit, {fileRegex: \.md$}]
`), format.Stock)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range modes[0].Groups {
		fmt.Println(modes[0].Slug, "has", g.Name, "at", g.At)
	}
	fmt.Println(modes[0].Groups[1].FileRegex)

	_, err = format.ReadModes(".roomodes", []byte("customModes:\n  - slug: writer\n    groups: [fly]\n"), format.Stock)
	fmt.Println(err)
	// Output:
	// writer has read at .roomodes:6:9
	// writer has edit at .roomodes:7:9
	// \.md$
	// .roomodes:2:9: customModes.0.name: required
}

// ReadServers reads what mcp.json says of servers: which tools run without a question, and which server is off.
func ExampleReadServers() {
	servers, err := format.ReadServers(".roo/mcp.json", []byte(`{"mcpServers": {
	"docs": {"command": "docs-mcp", "alwaysAllow": ["search"]},
	"old": {"command": "old-mcp", "disabled": true}
}}`), format.Stock)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, sv := range servers {
		switch {
		case sv.Disabled != nil:
			fmt.Println(sv.Name, "is off")
		case sv.AlwaysAllow["*"] == nil:
			fmt.Println(sv.Name, "asks about other tools")
		}
	}
	// Output:
	// docs asks about other tools
	// old is off
}
