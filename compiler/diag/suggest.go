package diag

import (
	"fmt"
	"strings"
)

// Quote writes names as a list for a message: `"a", "b"`.
func Quote(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}

// OneOf writes the names that a message wants: `one of "a", "b"`, and none where there are
// no names.
func OneOf(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return "one of " + Quote(names)
}

// DidYouMean returns a hint that names the known word nearest to got, "" when
// none is near: at most a third of its length in edits, at least one. A name of one or two letters
// is near to any other of them, and only its case may differ.
func DidYouMean(got string, known []string) string {
	best, least := "", max(1, len(got)/3)+1
	if len(got) < 3 {
		least = 1
	}
	for _, k := range known {
		if d := distance(strings.ToLower(got), strings.ToLower(k), least); d < least {
			best, least = k, d
		}
	}
	if best == "" || got == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// distance counts the insertions, deletions, substitutions and swaps of
// neighbours between a and b, giving up at limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	two, one, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(one[j]+1, cur[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], two[j-2]+1)
			}
		}
		two, one, cur = one, cur, two
	}
	return one[len(b)]
}
