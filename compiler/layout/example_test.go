package layout_test

import (
	"fmt"

	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/compiler/located"
)

// What a person laid out stays where it says what modec would write: the comment, the order, the quotes.
func ExampleStyle_Keep() {
	style := layout.Style{
		Read: func(data []byte) (*located.Value, string, error) {
			v, err := located.YAML("agents.yaml", data)
			return v, "", err
		},
		List: "agents", ID: "name",
	}
	have := "agents:\n  # reads only\n  - tools: [read]\n    name: 'reviewer'\n"
	want := "agents:\n  - name: reviewer\n    tools: [read]\n  - name: writer\n    tools: [edit]\n"
	fmt.Print(string(style.Keep([]byte(have), []byte(want), nil, true)))
	// Output:
	// agents:
	//   # reads only
	//   - tools: [read]
	//     name: 'reviewer'
	//   - name: writer
	//     tools: [edit]
}

// In a file of lines whose order says nothing, a person's comments and their order stay.
func ExampleStyle_Keep_lines() {
	style := layout.Style{Comment: "#"}
	fmt.Print(string(style.Keep([]byte("secrets/\n# keys\n.env\n"), []byte(".env\nsecrets/\n"), nil, true)))
	// Output:
	// secrets/
	// # keys
	// .env
}
