package lastmatch

import (
	"slices"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// opensAlike reports whether some entry permits more than a decision of a text that a pattern may match once letters
// are taken for others, as file systems do.
func opensAlike(list []entry, pattern string, above ir.Decision) bool {
	folded := policy.Fold(pattern)
	return slices.ContainsFunc(list, func(e entry) bool {
		return e.decision > above && e.pattern != "" &&
			(!ascii(e.pattern) || !ascii(pattern) || format.Overlap(folds(e.pattern), folded))
	})
}

// folds returns a pattern that matches what the texts of another one are taken for. Some characters are taken for
// several, and others for none.
func folds(pattern string) string { return strings.ReplaceAll(policy.Fold(pattern), "?", "*") }

// respelled returns a pattern in the letters in which entries that permit more than a decision have it, itself where
// these are its own or too many: whatever way it is written, what it holds back is no more than the source does.
func respelled(list []entry, pattern string, above ir.Decision) []string {
	if others := inOtherLetters(list, pattern, above); others != nil {
		return others
	}
	return []string{pattern}
}

// inOtherLetters returns those of them that are not its own.
func inOtherLetters(list []entry, pattern string, above ir.Decision) (out []string) {
	if folded := policy.Fold(pattern); ascii(pattern) {
		for _, e := range list {
			if e.decision <= above || !ascii(e.pattern) || !swaps(pattern, e.pattern) ||
				!format.Overlap(policy.Fold(e.pattern), folded) {
				continue // what it has is written in the pattern's own letters
			}
			for _, text := range spellings(pattern, e.pattern) {
				if text != pattern && !misread(text) && !slices.Contains(out, text) && format.Overlap(text, e.pattern) {
					out = append(out, text)
				}
			}
		}
	}
	return out
}

// spellings returns a pattern of ASCII in each combination of the letters in which another one has its own, none where
// these are too many.
func spellings(pattern, in string) []string {
	meet := meetsFrom(pattern, in)
	if !meet[0][0] {
		return nil
	}
	// Forward from the beginning, over what can be finished.
	seen := make([][]bool, len(meet))
	for i := range seen {
		seen[i] = make([]bool, len(meet[i]))
	}
	seen[0][0] = true
	letters := make([]string, len(pattern))
	for i := range meet {
		for j := range meet[i] {
			if !seen[i][j] {
				continue
			}
			for _, to := range steps(pattern[i:], in[j:]) {
				if !meet[i+to[0]][j+to[1]] {
					continue
				}
				seen[i+to[0]][j+to[1]] = true
				if to[0] == 0 {
					continue
				}
				letter := pattern[i : i+1]
				if to[1] == 1 && swapped(pattern[i], in[j]) {
					letter = in[j : j+1]
				}
				if !strings.Contains(letters[i], letter) {
					letters[i] += letter
				}
			}
		}
	}
	all := []string{""}
	for _, each := range letters {
		var next []string
		for _, begin := range all {
			for k := range len(each) {
				next = append(next, begin+each[k:k+1])
			}
		}
		if all = next; len(all) > mostVariants {
			return nil
		}
	}
	return all
}

// meetsFrom reports for what is left of each of two patterns whether some text matches both in some case.
func meetsFrom(a, b string) [][]bool {
	meet := make([][]bool, len(a)+1)
	for i := len(a); i >= 0; i-- {
		meet[i] = make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			meet[i][j] = i == len(a) && j == len(b)
			for _, to := range steps(a[i:], b[j:]) {
				meet[i][j] = meet[i][j] || meet[i+to[0]][j+to[1]]
			}
		}
	}
	return meet
}

// steps returns how far one goes on in two patterns by a sign of a text that both match, or by a "*" that matches
// nothing more.
func steps(a, b string) (all [][2]int) {
	star := func(s string) bool { return s != "" && s[0] == '*' }
	if star(a) {
		all = append(all, [2]int{1, 0})
		if b != "" {
			all = append(all, [2]int{0, 1})
		}
	}
	if star(b) {
		all = append(all, [2]int{0, 1})
		if a != "" {
			all = append(all, [2]int{1, 0})
		}
	}
	if a != "" && b != "" && !star(a) && !star(b) &&
		(a[0] == '?' || b[0] == '?' || a[0] == b[0] || swapped(a[0], b[0])) {
		all = append(all, [2]int{1, 1})
	}
	return all
}

// swaps reports whether one pattern has the small form of a letter and the other one its capital form.
func swaps(a, b string) bool {
	smallA, capitalA := lettersOf(a)
	smallB, capitalB := lettersOf(b)
	return smallA&capitalB|capitalA&smallB != 0
}

// lettersOf returns the small and the capital letters of a text, a bit for each of the alphabet.
func lettersOf(text string) (small, capital uint32) {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z':
			small |= 1 << (c - 'a')
		case 'A' <= c && c <= 'Z':
			capital |= 1 << (c - 'A')
		}
	}
	return small, capital
}

// swapped reports whether two bytes are the small and the capital form of a letter.
func swapped(a, b byte) bool {
	return a != b && a < utf8.RuneSelf && b < utf8.RuneSelf && a|0x20 == b|0x20 && 'a' <= a|0x20 && a|0x20 <= 'z'
}
