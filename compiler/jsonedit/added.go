package jsonedit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Added is an entry that a merge put into a file which did not have it.
type Added struct {
	Place   string
	Pattern string // that it matches
	// What names the entry as a person reads it: an item of a list by the list and its text, a member by the
	// object and its name.
	What string

	list, text string // of an item
}

// added returns what is reported of an entry that was not there; nothing of an object or a list.
func (e *entry) added(patterns []string) []Added {
	if e.kind == container {
		return nil
	}
	a := Added{Place: e.place, What: strings.Join(e.tokens[max(0, len(e.tokens)-2):], " ")}
	if e.kind == listItem {
		a.list, a.text = pointer(e.tokens), itemText(e.value)
		a.What = e.tokens[len(e.tokens)-1] + " " + shown(e.value)
	}
	for _, p := range patterns {
		if matches(strings.Split(p, "/")[1:], e) {
			a.Pattern = p
		}
	}
	return []Added{a}
}

// mostShown is how many characters of an item that is no text a report has.
const mostShown = 60

// shown returns an item as a person reads it: its text, or how it begins.
func shown(v hujson.Value) string {
	if text, ok := textOf(v); ok {
		return text
	}
	item := []rune(canonical(v))
	if len(item) > mostShown {
		return string(item[:mostShown]) + "…"
	}
	return string(item)
}

// matches reports whether a pattern is that of an entry.
func matches(pattern []string, e *entry) bool {
	tokens := e.tokens
	if e.kind == listItem {
		tokens = append(slices.Clip(tokens), "-")
	}
	return slices.EqualFunc(pattern, tokens, func(p, t string) bool { return p == "*" || p == t })
}

// Again returns those of the added entries that a file had before, at some places, in any of the ways to say
// them.
func (p *Pattern) Again(added []Added, before []string) (again []Added) {
	for _, a := range added {
		same := func(place string) bool {
			if place == a.Place {
				return true
			}
			text, ok := strings.CutPrefix(place, a.list+"/")
			return a.list != "" && ok && p.Spelled != nil && p.Spelled(a.list, unescaper.Replace(text)) == a.text
		}
		if slices.ContainsFunc(before, same) {
			again = append(again, a)
		}
	}
	return again
}

// In returns the places of the entries that a file has, whoever wrote them; none for a file that is not JSON.
func (p *Pattern) In(have []byte) (places []string) {
	have, _ = bytes.CutPrefix(have, byteOrderMark)
	entries, err := flatten(have, p.Places)
	if err != nil {
		return nil
	}
	for i := range entries {
		if entries[i].kind != container {
			places = append(places, entries[i].place)
		}
	}
	return places
}
