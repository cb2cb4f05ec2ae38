package jsonedit

import (
	"bytes"
	"slices"
	"strings"
)

// Adopt returns the entries of a file at the places of a pattern, as if modec had written them,
// of those that were taken over. What is taken is named as a report names it: by the entry's own
// text or name, which a key or a value may stand beside ("allow Bash(ls)", "defaultMode plan").
// Objects and lists on the way to the entries stay the person's. Nil is returned for a file that is
// not JSON.
func Adopt(have []byte, p Pattern, taken []string) Entries {
	return p.taken(have, func(e *entry) bool {
		name := e.tokens[len(e.tokens)-1]
		of := func(what string) bool { return what == name || strings.HasPrefix(what, name+" ") }
		if e.kind == listItem {
			text, ok := textOf(e.value)
			if !ok {
				return false
			}
			of = func(what string) bool { return what == text || strings.HasSuffix(what, " "+text) }
		}
		return slices.ContainsFunc(taken, of)
	})
}

// Own returns those entries of a file at the places of a pattern which a function takes for modec's by their JSON, as
// if modec had written them. Nil is returned for a file that is not JSON.
func Own(have []byte, p Pattern, is func(value []byte) bool) Entries {
	return p.taken(have, func(e *entry) bool { return is(standard(e.value)) })
}

// taken returns those entries of a file that a function picks, as if modec had written them; nil for a file that is not
// JSON.
func (p *Pattern) taken(have []byte, is func(*entry) bool) Entries {
	have, _ = bytes.CutPrefix(have, byteOrderMark)
	entries, err := flatten(have, p.Places)
	if err != nil {
		return nil
	}
	out := Entries{}
	for i := range entries {
		e := &entries[i]
		if e.kind == container || !is(e) {
			continue
		}
		if out[e.place] = e.sum(); e.kind == plainValue {
			out[e.place] = p.sumOf(e.place, e.value)
		}
	}
	return out
}
