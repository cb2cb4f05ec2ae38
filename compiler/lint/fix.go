package lint

import (
	"slices"
	"strings"
)

// Mends reports whether [Fixes] changes a file of the source.
func Mends(file string) bool { return strings.HasSuffix(file, ".cue") }

// Fixes returns the sources without the items that the findings' fixes name, by file. It
// leaves out files in which nothing changes. It changes CUE only, and only where a plain
// item of a list stands at the place.
func Fixes(sources map[string][]byte, findings []Finding) map[string][]byte {
	byFile := map[string][]Finding{}
	for _, f := range findings {
		if f.Fix != nil && Mends(f.Fix.Pos.File) {
			byFile[f.Fix.Pos.File] = append(byFile[f.Fix.Pos.File], f)
		}
	}
	out := map[string][]byte{}
	for file, list := range byFile {
		data, ok := sources[file]
		if !ok {
			continue
		}
		slices.SortFunc(list, func(a, b Finding) int { return b.Fix.Pos.Compare(a.Fix.Pos) }) // the last one first
		list = slices.CompactFunc(list, func(a, b Finding) bool { return a.Fix.Pos == b.Fix.Pos })
		fixed := string(data)
		for _, f := range list {
			if at := offset(fixed, f.Fix.Pos.Line, f.Fix.Pos.Col); at >= 0 {
				fixed = without(fixed, at)
			}
		}
		if fixed != string(data) {
			out[file] = []byte(fixed)
		}
	}
	return out
}

// offset returns where a place is in a text, -1 where the text does not have it.
func offset(text string, line, col int) int {
	at := 0
	for range line - 1 {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
	}
	if at += col - 1; at >= len(text) || col < 1 {
		return -1
	}
	return at
}

// without returns a text without the quoted item of a list at an offset, and without the
// comma beside it.
func without(text string, at int) string {
	end := quoted(text, at)
	if end < 0 {
		return text
	}
	lineStart, lineEnd := strings.LastIndexByte(text[:at], '\n')+1, len(text)
	if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
		lineEnd = end + i + 1
	}
	after := end + len(text[end:]) - len(strings.TrimLeft(text[end:], " \t"))
	before := len(strings.TrimRight(text[:at], " \t\n\r"))
	switch {
	case after < len(text) && text[after] == ',':
		after++
		alone := strings.TrimSpace(text[lineStart:at]) == "" && strings.TrimSpace(text[after:lineEnd]) == ""
		if alone { // on its line
			return text[:lineStart] + text[lineEnd:]
		}
		rest := strings.TrimLeft(text[after:], " \t")
		if rest != "" && (rest[0] == ']' || rest[0] == '\n') { // the last one: what stood before the comma stays
			return strings.TrimRight(text[:at], " \t") + text[after:]
		}
		return text[:at] + rest
	case before > 0 && text[before-1] == ',' && after < len(text) && text[after] == ']':
		return text[:before-1] + text[end:]
	case before > 0 && text[before-1] == '[' && after < len(text) && text[after] == ']':
		return text[:at] + text[end:]
	}
	return text
}

// quoted returns the end of a text in plain quotes, -1 where there is none.
func quoted(text string, at int) int {
	if text[at] != '"' || strings.HasPrefix(text[at:], `"""`) {
		return -1
	}
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n':
			return -1
		}
	}
	return -1
}
