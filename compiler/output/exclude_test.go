package output

import (
	"testing"
	"time"
)

// TestExclude: one at a time for a folder, and any number for others.
func TestExclude(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	release, err := Exclude("/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Exclude("/a", 20*time.Millisecond); err == nil {
		t.Error("two change one source")
	}
	other, err := Exclude("/b", 0)
	if err != nil {
		t.Fatal(err)
	}
	other()
	time.AfterFunc(50*time.Millisecond, release)
	again, err := Exclude("/a", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
