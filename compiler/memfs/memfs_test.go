package memfs

import (
	"testing"
	"testing/fstest"
)

func TestFS(t *testing.T) {
	f := FS{"a.txt": []byte("a"), "b/c/d.txt": nil, "b/e.txt": []byte("e"), "bb": []byte("x")}
	if err := fstest.TestFS(f, "a.txt", "b/c/d.txt", "b/e.txt", "bb"); err != nil {
		t.Error(err)
	}
	if err := fstest.TestFS(FS{}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"b/c/x", "/a.txt", "a.txt/", "../a.txt", "b/../a.txt", ""} {
		if _, err := f.Open(name); err == nil {
			t.Errorf("%q opens", name)
		}
	}
}
