package main

import (
	"os"
	"testing"
)

// What a command gives back of its program is not resident any more, and the program goes on.
func TestUnmapProgram(t *testing.T) {
	before := memoryOf(t, os.Getpid(), "RssFile:")
	unmapProgram()
	after := memoryOf(t, os.Getpid(), "RssFile:")
	if after > before*3/4 {
		t.Errorf("%.1f MiB of files are mapped, and %.1f were", after, before)
	}
	if got := unlistedWord(); got != "Unmapped" {
		t.Errorf("got %q", got)
	}
}

// A small heap may grow by more than a large one, within bounds.
func TestGrowth(t *testing.T) {
	for live, want := range map[uint64]int{0: heapOfFew, 1 << 20: heapOfFew, 8 << 20: 200, 16 << 20: 100, 1 << 30: heapOfMany} {
		if got := growth(live); got != want {
			t.Errorf("%d: got %d, want %d", live, got, want)
		}
	}
}

// unlistedWord is code and text that has not run yet.
//
//go:noinline
func unlistedWord() string {
	w := []byte("unmapped")
	w[0] -= 'a' - 'A'
	return string(w)
}
