package model

import (
	"net/netip"
	"strings"

	"modec.dev/modec/targets/cursor/format"
)

// glob is a pattern as the engine's matcher reads it (@cursor/sdk 1.0.32, matchGlob):
// it matches the whole text, `*` stands for any text without a line terminator, every
// other character for itself.
type glob struct {
	parts []string    // what stands between the stars
	also  *documented // another reading, of an entry that allows; nil: there is none
}

func newGlob(pattern string) glob {
	return glob{parts: strings.Split(format.Trim(pattern), "*")}
}

// newAllowGlob is the glob of an entry that allows, which matches what either reading does: the CLI may be another
// engine than the one that was observed.
func newAllowGlob(pattern string) glob {
	g := newGlob(pattern)
	g.also = readDocumented(format.Trim(pattern))
	return g
}

func (g glob) match(text string) bool { return g.matchStars(text) || g.also.match(text) }

func (g glob) matchStars(text string) bool {
	last := len(g.parts) - 1
	if last == 0 {
		return text == g.parts[0]
	}
	text, ok := strings.CutPrefix(text, g.parts[0])
	if !ok {
		return false
	}
	// A part as near as it can be leaves the stars behind it the least to cross.
	for _, p := range g.parts[1:last] {
		i := strings.Index(text, p)
		if i < 0 || ofLines(text[:i]) {
			return false
		}
		text = text[i+len(p):]
	}
	text, ok = strings.CutSuffix(text, g.parts[last])
	return ok && !ofLines(text)
}

// ofLines reports whether a text has a line terminator.
func ofLines(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029'
	})
}

// hostEntry is the text inside WebFetch(…): `*`, an exact host, `*.host`, which matches
// the host itself too, or a network.
type hostEntry struct {
	text    string
	network netip.Prefix
}

func newHostEntry(text string) hostEntry {
	h := hostEntry{text: format.Host(text)}
	if strings.Contains(h.text, "/") {
		if p, err := netip.ParsePrefix(h.text); err == nil {
			h.network = p.Masked()
		}
	}
	return h
}

func (h hostEntry) match(host string) bool {
	host = format.Host(host)
	switch {
	case h.text == "*":
		return true
	case strings.Contains(h.text, "/"):
		a, err := netip.ParseAddr(host)
		return err == nil && h.network.IsValid() && h.network.Contains(a)
	case strings.HasPrefix(h.text, "*."):
		return host == h.text[2:] || strings.HasSuffix(host, h.text[1:])
	}
	return host == h.text
}
