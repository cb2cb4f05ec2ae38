package compiler_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ratchet compares figures with the limits of a file below testdata, a line `NAME LIMIT` each, sorted.
// It fails where a figure is above its limit or has none, and where a limit is more than 2 % above its
// figure. So whoever makes something smaller lowers the limit in the same commit, with -update. A limit
// is raised, and a line added, by hand alone.
func ratchet(t *testing.T, file string, got map[string]int) {
	t.Helper()
	file = filepath.Join("testdata", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]int{}
	for line := range strings.Lines(string(text)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if limits[name], err = strconv.Atoi(number); err != nil {
			t.Fatalf("%s: %q is not `NAME LIMIT`", file, line)
		}
	}
	var lowered strings.Builder
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		limit := limits[name]
		n, has := got[name]
		switch {
		case !has && *update:
			continue
		case !has:
			t.Errorf("%s: %s no longer exists or no longer needs a limit; remove its line (-update does)", file, name)
		case n > limit:
			t.Errorf("%s: %s is %d, its limit %d; make it smaller", file, name, n, limit)
		case *update:
			limit = n
		case n*100 < limit*98:
			t.Errorf("%s: %s is %d, its limit %d; lower the limit to %d (-update does)", file, name, n, limit, n)
		}
		fmt.Fprintln(&lowered, name, limit)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := limits[name]; !ok {
			t.Errorf("%s: %s is %d and has no limit; make it smaller, or add its line by hand", file, name, got[name])
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(lowered.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
