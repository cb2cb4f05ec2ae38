package jsonedit_test

import (
	"fmt"

	"modec.dev/modec/compiler/jsonedit"
)

// A build adds a server to a file that a person keeps, and takes it out again.
func ExampleMerge() {
	mine := []byte(`{
  // my own
  "mcpServers": {
    "notes": {"command": "notes"}
  }
}`)
	emitted := []byte(`{"mcpServers": {"docs": {"url": "https://docs.example"}}}`)
	patterns := []string{"/mcpServers/*"}

	built, err := jsonedit.Merge(mine, emitted, jsonedit.Pattern{Places: patterns}, nil, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(built.Data))
	fmt.Println(built.Entries.Places())

	back, err := jsonedit.Merge(built.Data, nil, jsonedit.Pattern{}, []jsonedit.Entries{built.Entries}, false)
	fmt.Println(string(back.Data) == string(mine), err)
	// Output:
	// {
	//   // my own
	//   "mcpServers": {
	//     "notes": {"command": "notes"},
	//     "docs": {
	//       "url": "https://docs.example"
	//     }
	//   }
	// }
	// [/mcpServers/docs]
	// true <nil>
}

// A command adds one entry to a list and removes those that it covers.
func ExampleOpenList() {
	list, err := jsonedit.OpenList([]byte(`{
  "allow": [
    "github:list", // reading
    "docs:get"
  ]
}`), "/allow")
	if err != nil {
		fmt.Println(err)
		return
	}
	list.Append("github:*")
	list.Remove(0)
	fmt.Println(string(list.Pack()))
	// Output:
	// {
	//   "allow": [ // reading
	//     "docs:get",
	//     "github:*"
	//   ]
	// }
}
