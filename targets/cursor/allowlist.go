package cursor

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Entry is an entry of mcpAllowlist as Cursor's settings accept it: a server
// and a tool, each a name or `*` (permissions.schema.json of Cursor 3.20.17:
// ^[^:*]+:[^:*]+$|^[^:*]+:\*$|^\*:[^:*]+$|^\*:\*$).
type Entry struct{ Server, Tool string }

// maxName is the longest name, in characters.
const maxName = 256

// ParseEntry reads an entry. Space around it and around its colon is dropped,
// as Cursor does. The error says what was got and what is wanted.
func ParseEntry(text string) (Entry, error) {
	t := trimmed(text)
	switch strings.Count(t, ":") {
	case 1:
	case 0:
		return Entry{}, fmt.Errorf("got the entry %q, want SERVER:TOOL", text)
	default:
		return Entry{}, fmt.Errorf("got the entry %q with more than one colon, want SERVER:TOOL", text)
	}
	server, tool, _ := strings.Cut(t, ":")
	e := Entry{trimmed(server), trimmed(tool)}
	for _, part := range []struct{ what, text string }{{"server", e.Server}, {"tool", e.Tool}} {
		switch {
		case part.text == "*" || validName(part.text):
		case part.text == "":
			return Entry{}, fmt.Errorf("got the entry %q without a %s, want a name or *", text, part.what)
		case strings.Contains(part.text, "*"):
			return Entry{}, fmt.Errorf("got the %s %q, want a name or * alone: Cursor's own list reads no other wildcard", part.what, part.text)
		default:
			return Entry{}, fmt.Errorf("got a %s of more than %d characters, want a name", part.what, maxName)
		}
	}
	return e, nil
}

// validName reports whether a server or a tool can be in an allowlist at all.
func validName(s string) bool {
	n := utf8.RuneCountInString(s)
	return n > 0 && n <= maxName && trimmed(s) != "" && !strings.ContainsAny(s, ":*")
}

func (e Entry) String() string { return e.Server + ":" + e.Tool }

// Matches reports whether the entry lets a tool run. Names are compared without
// case and surrounding space; a name that no entry could hold matches none, not
// even `*:*`.
func (e Entry) Matches(server, tool string) bool {
	return validName(server) && validName(tool) && covers(e.Server, server) && covers(e.Tool, tool)
}

// Covers reports whether everything that other matches, e matches too.
func (e Entry) Covers(other Entry) bool {
	return covers(e.Server, other.Server) && covers(e.Tool, other.Tool)
}

func covers(pattern, name string) bool { return pattern == "*" || lowered(pattern) == lowered(name) }

// Allowlist is the list of tools that run without a question.
type Allowlist []Entry

// Find returns the first entry that lets a tool run, -1 when none does.
func (l Allowlist) Find(server, tool string) int {
	return slices.IndexFunc(l, func(e Entry) bool { return e.Matches(server, tool) })
}

// Addition is what adding an entry to a list does.
type Addition struct {
	// By is the place of the entry that covers the new one already; -1 where
	// it is new.
	By int
	// Subsumed are the places of the entries that the new one makes needless.
	Subsumed []int
}

// Add tells what becomes of the list when an entry is added.
func (l Allowlist) Add(e Entry) Addition {
	a := Addition{By: slices.IndexFunc(l, func(old Entry) bool { return old.Covers(e) })}
	for i, old := range l {
		if a.By < 0 && e.Covers(old) {
			a.Subsumed = append(a.Subsumed, i)
		}
	}
	return a
}
