package jsonedit_test

import (
	"fmt"

	"modec.dev/modec/compiler/jsonedit"
)

// An entry that somebody wrote before is theirs.
func ExampleMerge_conflict() {
	mine := []byte(`{
  // my own
  "mcpServers": {
    "notes": {"command": "notes"}
  }
}
`)
	want := []byte(`{"mcpServers": {"notes": {"command": "notes-mcp"}}}`)
	res, err := jsonedit.Merge(mine, want, jsonedit.Pattern{Places: []string{"/mcpServers/*"}}, nil, false)
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
