package jsonedit_test

import (
	"fmt"

	"modec.dev/modec/compiler/jsonedit"
)

var theirs = []byte(`{
  // mine
  "mcpServers": {
    "notes": {"command": "notes"}
  }
}
`)

// Entries are added to a file that people write too, and everything else keeps its bytes.
func ExampleMerge() {
	want := []byte(`{"mcpServers": {"docs": {"command": "docs-mcp"}}}`)
	res, err := jsonedit.Merge(theirs, want, []string{"/mcpServers/*"}, nil, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(res.Data))
	fmt.Println(res.Entries.Places())
	// Output:
	// {
	//   // mine
	//   "mcpServers": {
	//     "notes": {"command": "notes"},
	//     "docs": {
	//       "command": "docs-mcp"
	//     }
	//   }
	// }
	// [/mcpServers/docs]
}

// The entries that were written are taken out again, and what people wrote since stays.
func ExampleMerge_takeOut() {
	want := []byte(`{"mcpServers": {"docs": {"command": "docs-mcp"}}}`)
	res, err := jsonedit.Merge(theirs, want, []string{"/mcpServers/*"}, nil, false)
	if err == nil {
		res, err = jsonedit.Merge(res.Data, nil, nil, []jsonedit.Entries{res.Entries}, false)
	}
	fmt.Println(string(res.Data) == string(theirs), err)
	// Output:
	// true <nil>
}

// An entry that somebody wrote before is theirs.
func ExampleMerge_conflict() {
	want := []byte(`{"mcpServers": {"notes": {"command": "notes-mcp"}}}`)
	res, err := jsonedit.Merge(theirs, want, []string{"/mcpServers/*"}, nil, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range res.Conflicts {
		fmt.Printf("line %d: %s\n", c.Line, c.Place)
	}
	// Output:
	// line 4: /mcpServers/notes
}
