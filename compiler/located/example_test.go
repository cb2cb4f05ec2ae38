package located_test

import (
	"fmt"

	"modec.dev/modec/compiler/located"
)

// Every value has its place, so that whoever judges a file can name the line.
func ExampleJSONC() {
	v, err := located.JSONC("settings.json", []byte(`{
  // of the team
  "permissions": {"allow": ["Read(docs/**)"]},
}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, rule := range v.Get("permissions").Get("allow").List() {
		fmt.Println(rule.Text, rule.Pos)
	}
	// Output:
	// Read(docs/**) settings.json:3:29
}

func ExamplePlaceOf() {
	_, err := located.JSON("settings.json", []byte("{\n  \"a\": 1,,\n}"))
	fmt.Println(located.PlaceOf("settings.json", err))
	// Output:
	// settings.json:2:10
}
