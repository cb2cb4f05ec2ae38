package roo

import (
	"slices"
	"strings"
)

// word is a pattern as the parts of an expression, so that words can be joined where they
// begin alike.
type word []string

func (w word) String() string { return strings.Join(w, "") }

// worth is how much text words must have in common to be joined. A dot is always enough:
// files that begin with one are many.
const worth = 3

// grouped returns an expression for one of some alternatives, as one term.
func grouped(alternatives []string) string {
	text := strings.Join(alternatives, "|")
	if len(alternatives) > 1 {
		return "(" + text + ")"
	}
	return text
}

// joined returns the alternatives of an expression for one of some words.
func joined(words []word) []string {
	words = slices.Clone(words)
	slices.SortFunc(words, func(a, b word) int { return slices.Compare(a, b) })
	words = slices.CompactFunc(words, func(a, b word) bool { return slices.Equal(a, b) })
	var tails []string
	heads := map[string][]string{} // by what follows them
	for len(words) > 0 {
		n := 1
		common := words[0]
		for ; n < len(words); n++ {
			c := begin(common, words[n])
			if len(c) == 0 || c[0] != `\.` && len(c.String()) < worth {
				break
			}
			common = c
		}
		tail := ends(words[:n], len(common))
		if !slices.Contains(tails, tail) {
			tails = append(tails, tail)
		}
		heads[tail] = append(heads[tail], common.String())
		words = words[n:]
	}
	var out []string
	for _, tail := range tails {
		if tail == "" {
			out = append(out, heads[tail]...)
			continue
		}
		out = append(out, grouped(heads[tail])+tail)
	}
	return out
}

// begin returns what two words have in common.
func begin(a, b word) word {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// ends returns an expression for what words have after the first n parts.
func ends(words []word, n int) string {
	var rest []word
	optional := false
	for _, w := range words {
		if len(w) == n {
			optional = true
		} else {
			rest = append(rest, w[n:])
		}
	}
	switch {
	case len(rest) == 0:
		return ""
	case !optional:
		return "(" + strings.Join(joined(rest), "|") + ")"
	case len(rest) == 1 && len(rest[0]) == 1 && !strings.ContainsAny(rest[0][0], "*+?"):
		return rest[0][0] + "?"
	}
	return "(" + strings.Join(joined(rest), "|") + ")?"
}
