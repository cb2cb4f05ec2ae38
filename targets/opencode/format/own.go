package format

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
)

// Rules of opencode as a source has them, each in a line: a key, and behind it the pattern.

// listedPrefix begins the name of a tool in the list of tools.
const listedPrefix = "tools."

// Text writes a rule without its decision.
func (r Rule) Text() string {
	switch {
	case r.Form == Listed:
		return listedPrefix + r.Tool
	case r.Pattern == Every:
		return keyText(r.Key)
	}
	return keyText(r.Key) + " " + r.Pattern
}

// keyText writes a key as one word.
func keyText(key string) string {
	if key == "" || strings.HasPrefix(key, listedPrefix) || strings.ContainsAny(key, " \"\\") {
		quoted, err := json.Marshal(key)
		if err == nil {
			return string(quoted)
		}
	}
	return key
}

// ParseRule reads the text of a rule.
func ParseRule(text string, d ir.Decision) (Rule, error) {
	if tool, ok := strings.CutPrefix(text, listedPrefix); ok && tool != "" {
		return Rule{Key: listedKey(tool), Pattern: Every, Decision: d, Form: Listed, Tool: tool}, inList(d)
	}
	key, pattern, patterned := strings.Cut(text, " ")
	if strings.HasPrefix(text, `"`) {
		from := json.NewDecoder(strings.NewReader(text))
		if err := from.Decode(&key); err != nil {
			return Rule{}, errors.New("a key in quotes is written as in JSON")
		}
		rest := text[from.InputOffset():]
		if pattern, patterned = strings.CutPrefix(rest, " "); !patterned && rest != "" {
			return Rule{}, errors.New("want a blank between the key and the pattern")
		}
	}
	switch {
	case !patterned:
		return Rule{Key: key, Pattern: Every, Decision: d, Form: Alone}, nil
	case pattern == Every:
		return Rule{}, errors.New("write the key alone")
	case Bare(key):
		return Rule{}, errors.New("opencode takes no pattern for " + key)
	}
	return Rule{Key: key, Pattern: pattern, Decision: d}, nil
}

// inList reports a decision that the list of tools does not have.
func inList(d ir.Decision) error {
	if d == ir.Ask {
		return errors.New("the list of tools has a tool or has it not: opencode asks by a permission")
	}
	return nil
}

// Joined returns rules in the order in which one permission has them all: what a later one decides about whatever an
// earlier one does is said by the later one alone.
func Joined(rules []Rule) (out []Rule) {
	last := map[string]int{}
	for i, r := range rules {
		last[r.Key] = i
	}
	for i, r := range rules {
		over := func(x Rule) bool {
			return Match(x.Key, r.Key) && (x.Pattern == Every || x.Pattern == r.Pattern) ||
				x.Key != r.Key && x.Decision < r.Decision && Overlap(x.Key, r.Key)
		}
		if !slices.ContainsFunc(rules[i+1:last[r.Key]+1], over) {
			r.Tool = ""
			out = append(out, r)
		}
	}
	for i := range out {
		out[i].Form = Patterned
	}
	slices.SortStableFunc(out, func(a, b Rule) int { return last[a.Key] - last[b.Key] })
	return out
}

// Arrange puts rules into the order in which opencode reads them: those that order names as it has them, and the others
// behind them: what is about all tools first, and of a key what it allows before what it asks about, and that before
// what it denies.
func Arrange(rules []Rule, order []string) []Rule {
	out := slices.Clone(rules)
	rank := func(r Rule) (n [4]int) {
		n[0] = slices.Index(order, r.Text())
		if n[0] >= 0 {
			return n
		}
		n[0] = len(order)
		switch {
		case r.Form == Listed:
		case r.Key == Every:
			n[1] = 1
		case strings.ContainsAny(r.Key, "*?"):
			n[1] = 2
		default:
			n[1] = 3
		}
		n[2] = slices.IndexFunc(rules, func(x Rule) bool { return x.Key == r.Key && x.Form != Listed })
		if r.Pattern != Every {
			n[3] = int(ir.Agent - r.Decision) // allow, ask, deny
		}
		return n
	}
	slices.SortStableFunc(out, func(a, b Rule) int {
		x, y := rank(a), rank(b)
		return slices.Compare(x[:], y[:])
	})
	return out
}

// Order returns the order that a list of rules needs, nil where it decides alike in the one that Arrange gives to lists
// by decisions.
func Order(rules []Rule) (order []string) {
	var lists []Rule
	for _, d := range []ir.Decision{ir.Deny, ir.Ask, ir.Allow} {
		for _, r := range rules {
			if r.Decision == d {
				lists = append(lists, r)
			}
		}
	}
	if Alike(rules, Arrange(lists, nil)) {
		return nil
	}
	for _, r := range rules {
		order = append(order, r.Text())
	}
	return order
}

// Overlap reports whether some text matches two patterns.
func Overlap(a, b string) bool {
	if a != "" && b != "" && (apart(a[0], b[0]) || apart(a[len(a)-1], b[len(b)-1])) {
		return false // most do not, and so it is seen soonest
	}
	a, b = slashes(a), slashes(b)
	if begin, open := strings.CutSuffix(a, " *"); open && Meet([]rune(begin), []rune(b)) {
		return true
	}
	if begin, open := strings.CutSuffix(b, " *"); open && Meet([]rune(a), []rune(begin)) {
		return true
	}
	return Meet([]rune(a), []rune(b))
}

// apart reports whether two bytes of patterns match themselves alone, and are not the same.
func apart(a, b byte) bool { return a != b && letter(a) && letter(b) }

// Meet reports whether some text matches two patterns of "*" and "?".
func Meet(a, b []rune) bool {
	for len(a) > 0 && len(b) > 0 && a[0] != '*' && b[0] != '*' {
		if !alike(a[0], b[0]) {
			return false
		}
		a, b = a[1:], b[1:]
	}
	// row says for each rest of b whether some text matches it and the rest of a.
	var few [64]bool
	row := few[:]
	if len(b) >= len(row) {
		row = make([]bool, len(b)+1)
	}
	for i := len(a); i >= 0; i-- {
		behind := false // what row said for the rest of a behind this one, and the rest of b behind this one
		for j := len(b); j >= 0; j-- {
			before := row[j]
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i < len(a) && a[i] == '*':
				row[j] = before || j < len(b) && row[j+1]
			case j < len(b) && b[j] == '*':
				row[j] = row[j+1] || i < len(a) && before
			default:
				row[j] = i < len(a) && j < len(b) && alike(a[i], b[j]) && behind
			}
			behind = before
		}
	}
	return row[0]
}

// alike reports whether some character matches two signs of which none is "*".
func alike(a, b rune) bool { return a == b || a == '?' || b == '?' }

// Alike reports whether two lists have the same rules, in orders that decide alike: of two rules that may be about one
// call, the same one stands behind the other in both.
func Alike(a, b []Rule) bool {
	at := map[string]int{}
	decides := map[string]ir.Decision{}
	for i, r := range b {
		at[r.Text()], decides[r.Text()] = i, r.Decision
	}
	if len(at) != len(a) {
		return false
	}
	for i, r := range a {
		n, there := at[r.Text()]
		if !there || decides[r.Text()] != r.Decision {
			return false
		}
		for _, x := range a[:i] {
			behind := at[x.Text()] > n
			if behind && x.Decision != r.Decision && Overlap(x.Key, r.Key) && Overlap(x.Pattern, r.Pattern) {
				return false
			}
		}
	}
	return true
}
