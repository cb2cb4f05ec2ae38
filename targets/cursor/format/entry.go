package format

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Entry is an entry of mcpAllowlist as Cursor's settings accept it: a server
// and a tool, each a name or `*` (permissions.schema.json of Cursor 3.20.17:
// ^[^:*]+:[^:*]+$|^[^:*]+:\*$|^\*:[^:*]+$|^\*:\*$).
type Entry struct{ Server, Tool string }

// maxName is the length of the longest name, in characters.
const maxName = 256

// ParseEntry reads an entry. Like Cursor it ignores space around the entry and around
// its colon. The error says what is wrong and what to write.
func ParseEntry(text string) (Entry, error) {
	t := Trim(text)
	switch strings.Count(t, ":") {
	case 1:
	case 0:
		return Entry{}, fmt.Errorf("got the entry %q, want SERVER:TOOL", text)
	default:
		return Entry{}, fmt.Errorf("got the entry %q with more than one colon, want SERVER:TOOL", text)
	}
	server, tool, _ := strings.Cut(t, ":")
	e := Entry{Trim(server), Trim(tool)}
	for _, part := range []struct{ what, text string }{{"server", e.Server}, {"tool", e.Tool}} {
		switch {
		case part.text == "*" || validName(part.text):
		case part.text == "":
			return Entry{}, fmt.Errorf("got the entry %q without a %s, want a name or *", text, part.what)
		case strings.Contains(part.text, "*"):
			return Entry{}, fmt.Errorf("got the %s %q, want a name or * alone: "+
				"Cursor's own list reads no other wildcard", part.what, part.text)
		default:
			return Entry{}, fmt.Errorf("got a %s of more than %d characters, want a name", part.what, maxName)
		}
	}
	return e, nil
}

// ParseTool reads the name of one tool: SERVER:TOOL, or mcp_SERVER_TOOL, as Cursor names it
// to the model. Cursor takes the server to end at the first underscore.
func ParseTool(text string) (Entry, error) {
	t := Trim(text)
	if rest, ok := strings.CutPrefix(t, "mcp_"); ok && !strings.Contains(t, ":") {
		if server, tool, ok := strings.Cut(rest, "_"); ok {
			t = server + ":" + tool
		}
	}
	e, err := ParseEntry(t)
	if err != nil || e.Server == "*" || e.Tool == "*" {
		return Entry{}, fmt.Errorf("got %q, want SERVER:TOOL or mcp_SERVER_TOOL, both names", text)
	}
	return e, nil
}

// validName reports whether an entry can name a server or a tool at all.
func validName(s string) bool {
	n := utf8.RuneCountInString(s)
	return n > 0 && n <= maxName && Trim(s) != "" && !strings.ContainsAny(s, ":*")
}

func (e Entry) String() string { return e.Server + ":" + e.Tool }

// Matches reports whether the entry lets a tool run. Names are compared without
// case and surrounding space. No entry, not even `*:*`, matches a name that an entry
// could not contain.
func (e Entry) Matches(server, tool string) bool {
	return validName(server) && validName(tool) && e.Covers(Entry{server, tool})
}

// Covers reports whether the entry matches everything that another one matches.
func (e Entry) Covers(other Entry) bool {
	return covers(e.Server, other.Server) && covers(e.Tool, other.Tool)
}

func covers(pattern, name string) bool { return pattern == "*" || Fold(pattern) == Fold(name) }
