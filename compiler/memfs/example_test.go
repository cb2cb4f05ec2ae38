package memfs_test

import (
	"fmt"
	"io/fs"

	"modec.dev/modec/compiler/memfs"
)

// The folders are those that the paths imply.
func ExampleFS() {
	files := memfs.FS{"modec.toml": []byte("name = \"acme\"\n"), "modec/modes/code.cue": nil}
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		fmt.Println(path, d.IsDir())
		return err
	})
	fmt.Println(err)
	// Output:
	// . true
	// modec true
	// modec/modes true
	// modec/modes/code.cue false
	// modec.toml false
	// <nil>
}

func ExampleFS_ReadFile() {
	files := memfs.FS{"modec.toml": []byte("name = \"acme\"\n")}
	data, err := fs.ReadFile(files, "modec.toml")
	fmt.Printf("%q %v\n", data, err)
	_, err = fs.ReadFile(files, "modec.lock")
	fmt.Println(err)
	// Output:
	// "name = \"acme\"\n" <nil>
	// open modec.lock: file does not exist
}
