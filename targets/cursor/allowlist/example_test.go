package allowlist_test

import (
	"fmt"

	"modec.dev/modec/targets/cursor/allowlist"
	"modec.dev/modec/targets/cursor/format"
)

// An entry takes the place of those that it covers, and comments stay.
func ExampleAdd() {
	file := []byte(`{
  "mcpAllowlist": [
    "github:list_issues", // reading
    "docs:get"
  ]
}`)
	added, err := allowlist.Add(file, format.Entry{Server: "github", Tool: "*"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(added.Data))
	fmt.Println("removed:", added.Removed)
	// Output:
	// {
	//   "mcpAllowlist": [
	//     "github:*", // reading
	//     "docs:get"
	//   ]
	// }
	// removed: [github:list_issues]
}

// In a new file any entry takes the run mode out of the user's hands.
func ExampleAdd_newFile() {
	added, err := allowlist.Add(allowlist.NewFile, format.Entry{Server: "docs", Tool: "get"})
	fmt.Print(string(added.Data))
	fmt.Println(added.Pins, err)
	// Output:
	// {
	//   "mcpAllowlist": ["docs:get"]
	// }
	// true <nil>
}
