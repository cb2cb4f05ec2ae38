package gittree_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"modec.dev/modec/compiler/gittree"
)

// repository makes a repository with one commit, and changes the file after it.
func repository() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "example"); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "modec.toml")
	if err := os.WriteFile(file, []byte("name = \"committed\"\n"), 0o644); err != nil {
		return dir, err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			return dir, fmt.Errorf("git %s: %s", args[0], out)
		}
	}
	return dir, os.WriteFile(file, []byte("name = \"changed\"\n"), 0o644)
}

// The files of a revision are a file system. What lies in the folder is not looked at.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := repository()
	defer os.RemoveAll(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	tree, err := gittree.Open(ctx, dir, "HEAD")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tree.Close()
	data, err := fs.ReadFile(tree, "modec.toml")
	fmt.Printf("%s%v\n", data, err)

	_, err = gittree.Open(ctx, dir, "v1.0.0")
	fmt.Println(err != nil)
	// Output:
	// name = "committed"
	// <nil>
	// true
}
