package claude

import "testing"

// What holds everything is not the project's own folder's alone, however it is written.
func TestHeld(t *testing.T) {
	for glob, want := range map[string]struct {
		pattern string
		rooted  bool
	}{
		"**": {"**", false}, "/**": {"**", false}, "/**/**": {"**", false}, "/src/**": {"src/*", true},
		"*.go": {"*.go", false}, "/a/b.go": {"a/b.go", true},
	} {
		if pattern, rooted := held(glob); pattern != want.pattern || rooted != want.rooted {
			t.Errorf("%s: got %s, %t, want %s, %t", glob, pattern, rooted, want.pattern, want.rooted)
		}
	}
}
