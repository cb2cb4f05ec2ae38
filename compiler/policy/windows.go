package policy

import (
	"strings"
)

// folds reports whether Windows may make another path of one: it has a backslash, a
// stream, a name that ends in a dot or a space, or one that may be short for another.
func folds(raw string) bool {
	start := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '\\', ':':
			return true
		case '/':
			start = i + 1
		case '~':
			if i > start && i+1 < len(raw) && isDigit(raw[i+1]) {
				return true
			}
		case '.', ' ':
			if (i+1 == len(raw) || raw[i+1] == '/') && raw[start:i+1] != "." && raw[start:i+1] != ".." {
				return true
			}
		}
	}
	return false
}

// asOnWindows returns the name of the file that Windows opens by a name: what follows a colon
// is a stream of the file (".env::$DATA", ".env:x"), and dots and spaces at the end are not
// there, as git's is_ntfs_dotgit (path.c) has it. It reports false for a name of which nothing
// stays: nobody knows what that opens.
func asOnWindows(name string) (string, bool) {
	if name == "" || name == "." || name == ".." {
		return name, true
	}
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return name, name != ""
}

// isShort reports whether a name has the form of one that NTFS and FAT make for programs that
// know only eight characters and an extension of three: SECRET~1, SETTIN~1.JSO, GIT~1.
func isShort(name string) bool {
	base, digits, ok := strings.Cut(name, "~")
	digits, extension, dotted := strings.Cut(digits, ".")
	return ok && base != "" && len(base)+1+len(digits) <= 8 &&
		digits != "" && strings.Trim(digits, "0123456789") == "" &&
		!strings.ContainsAny(base, ". ") && len(extension) <= 3 && dotted == (extension != "") &&
		!strings.Contains(extension, ".")
}

// holdingShort returns the rank of the deny or ask that holds for a path with short names,
// best when none does below that. An expression holds for every such path.
func (t *fileRules) holdingShort(p *names, best int) int {
	var path alternative
	for i := range p.len() {
		path = append(path, longNames(string(p.at(i))))
	}
	for rank := 0; rank < min(best, t.ends); rank++ {
		if t.globs[rank] == nil {
			return rank
		}
		for _, a := range t.globs[rank] {
			if a.to(t.hold.reach).meets(path) {
				return rank
			}
		}
	}
	return best
}

// longNames returns a segment that matches at least the names that a folded name may be short
// for. Windows drops spaces and all dots but the last from a name and writes some characters as
// "_". It keeps six characters, or two before four of a checksum, and three of the extension.
func longNames(name string) segment {
	if !isShort(name) {
		return segment{kind: segLiteral, text: name}
	}
	base, rest, _ := strings.Cut(name, "~")
	_, extension, _ := strings.Cut(rest, ".")
	if len(base) == 6 && strings.Trim(base[2:], "0123456789abcdef") == "" {
		base = base[:2]
	}
	star := elem{kind: elemStar}
	elems := []elem{star}
	add := func(text string) {
		for _, c := range []byte(text) {
			e := elem{kind: elemLiteral, text: string(rune(c))}
			if c == '_' {
				e = elem{kind: elemOne}
			}
			elems = append(elems, e, star)
		}
	}
	add(base)
	if extension != "" {
		add("." + extension)
	}
	return segment{kind: segPattern, elems: elems}
}
