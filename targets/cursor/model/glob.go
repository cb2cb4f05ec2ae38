package model

import (
	"net/netip"
	"regexp"
	"strings"

	"modec.dev/modec/targets/cursor/format"
)

// glob is a pattern as the engine's matcher reads it (@cursor/sdk 1.0.32, matchGlob):
// it matches the whole text, `*` stands for any text without a line terminator, every
// other character for itself.
type glob struct {
	parts []string       // what stands between the stars
	slow  *regexp.Regexp // for texts with line terminators, which no star crosses
}

func newGlob(pattern string) glob {
	pattern = format.Trim(pattern)
	g := glob{parts: strings.Split(pattern, "*")}
	quoted := make([]string, len(g.parts))
	for i, p := range g.parts {
		quoted[i] = regexp.QuoteMeta(p)
	}
	// A pattern that is not UTF-8 has no expression: it matches itself alone.
	g.slow, _ = regexp.Compile(`\A(?:` + strings.Join(quoted, `[^\n\r\x{2028}\x{2029}]*`) + `)\z`)
	return g
}

func (g glob) match(text string) bool {
	if strings.ContainsAny(text, "\n\r\u2028\u2029") {
		if g.slow == nil {
			return len(g.parts) == 1 && text == g.parts[0]
		}
		return g.slow.MatchString(text)
	}
	last := len(g.parts) - 1
	if last == 0 {
		return text == g.parts[0]
	}
	text, ok := strings.CutPrefix(text, g.parts[0])
	if !ok {
		return false
	}
	for _, p := range g.parts[1:last] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return strings.HasSuffix(text, g.parts[last])
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
