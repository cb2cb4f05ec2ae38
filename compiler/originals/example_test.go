package originals_test

import (
	"fmt"
	"os"
	"path/filepath"

	"modec.dev/modec/compiler/originals"
)

// A migration keeps what it read. A build may then write in its place, and clean gives it back.
func ExampleRecord() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	defer os.Unsetenv("XDG_STATE_HOME")
	shop := filepath.Join(dir, "shop")

	r := originals.Load(shop)
	r.Files = map[string]originals.File{".roomodes": {Data: []byte("customModes: []\n")}}
	if err := r.Save(); err != nil {
		fmt.Println(err)
		return
	}
	f, ok := originals.Load(shop).Original(".roomodes")
	fmt.Printf("%q %t\n", f.Data, ok)
	_, ok = originals.Load(shop).Original(".mcp.json")
	fmt.Println(ok)
	// Output:
	// "customModes: []\n" true
	// false
}
