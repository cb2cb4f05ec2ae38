package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"modec.dev/modec/targets"
)

// TestCursorAddsAtOnce adds entries side by side: each of them is in the list then, and
// nothing else is in the folder.
func TestCursorAddsAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	file := filepath.Join(dir, "permissions.json")
	const n = 6
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			var out bytes.Buffer
			args := []string{"cursor", "add", fmt.Sprintf("docs:tool%d", i), "--create", "--file", file}
			if code := run(t.Context(), targets.All(), args, strings.NewReader(""), &out, &out); code != 0 {
				t.Errorf("got exit %d\n%s", code, &out)
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if entry := fmt.Sprintf("%q", fmt.Sprintf("docs:tool%d", i)); !strings.Contains(string(data), entry) {
			t.Errorf("got no %s in %s", entry, data)
		}
	}
	if got := treeOf(t, dir); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}
