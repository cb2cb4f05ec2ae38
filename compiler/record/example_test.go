package record_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/record"
)

// A record holds as long as what was read and what was left are the same.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, memfs.FS{"modec.toml": []byte("name = \"acme\"\n")}); err != nil {
		fmt.Println(err)
		return
	}
	reads := record.NewReads(os.DirFS(dir))
	if _, err := fs.ReadFile(reads, "modec.toml"); err != nil {
		fmt.Println(err)
		return
	}
	today, place := time.Now(), filepath.Join(dir, "cache", "build.json")
	r := record.New("modec v1", today)
	r.Project, _ = reads.States()
	r.Save(place)

	fmt.Println(record.Load(place, "modec v1", today, dir, dir) != nil)
	if err := os.WriteFile(filepath.Join(dir, "modec.toml"), []byte("name = \"emca\"\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(record.Load(place, "modec v1", today, dir, dir) != nil)
	// Output:
	// true
	// false
}
