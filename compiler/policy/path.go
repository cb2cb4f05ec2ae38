package policy

import (
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxPath is the longest path that is judged, Linux's own limit. A longer one
// is refused.
const maxPath = 4096

// filePath is a cleaned path in the two forms that are compared. It is reused:
// see Engine.paths.
type filePath struct {
	exact   names // as it is written
	folded  names // in the form of Fold
	outside bool
}

// names is a path split at its slashes.
type names struct {
	text []byte // the path with "/"; "." for the root itself
	ends []int  // where each name ends in text
}

func newFilePath() *filePath {
	return &filePath{
		exact:  names{make([]byte, 0, 256), make([]int, 0, 32)},
		folded: names{make([]byte, 0, 256), make([]int, 0, 32)},
	}
}

func (n *names) len() int { return len(n.ends) }

func (n *names) at(i int) []byte {
	if i == 0 {
		return n.text[:n.ends[0]]
	}
	return n.text[n.ends[i-1]+1 : n.ends[i]]
}

// system is whose paths are read. On Windows a backslash separates names.
type system uint8

const (
	posix system = iota
	windows
	streams // on Windows, where ":" begins a stream of the file: ".env::$DATA" is .env
)

// read cleans a path as a system reads it.
func (p *filePath) read(raw string, on system) {
	p.outside = outsidePrefix(raw, on)
	if on != posix || !p.readClean(raw) {
		p.readAny(raw, on)
	}
}

// readClean reads a relative ASCII path that is clean already, as nearly all
// are. It reports false for any other.
func (p *filePath) readClean(raw string) bool {
	exact, folded := &p.exact, &p.folded
	exact.text, folded.text = append(exact.text[:0], raw...), append(folded.text[:0], raw...)
	exact.ends = exact.ends[:0]
	start := 0
	for i := 0; i <= len(raw); i++ {
		if i < len(raw) && raw[i] != '/' {
			if raw[i] >= utf8.RuneSelf || raw[i] == 0 {
				return false
			}
			folded.text[i] = lowerByte(raw[i])
			continue
		}
		if i == start || raw[start] == '.' && (i == start+1 || i == start+2 && raw[start+1] == '.') {
			return false
		}
		exact.ends = append(exact.ends, i)
		start = i + 1
	}
	folded.ends = append(folded.ends[:0], exact.ends...)
	return true
}

func (p *filePath) readAny(raw string, on system) {
	exact := &p.exact
	exact.text, exact.ends = exact.text[:0], exact.ends[:0]
	root := 0 // how many names ".." cannot take away
	if raw != "" && isSlash(raw[0], on) {
		root = 1
		exact.ends = append(exact.ends, 0) // an empty name stands for the file system's root
	}
	for i := 0; i < len(raw); {
		j := i
		for j < len(raw) && !isSlash(raw[j], on) {
			j++
		}
		name := raw[i:j]
		if on == streams && !(i == 0 && drive(name)) {
			name, _, _ = strings.Cut(name, ":")
		}
		exact.push(name, root)
		i = j + 1
	}
	p.outside = p.outside || strings.IndexByte(raw, 0) >= 0
	switch {
	case exact.len() == 0:
		exact.text = append(exact.text, '.')
	case root == 1 && exact.len() == 1:
		exact.text = append(exact.text, '/')
	case string(exact.at(0)) == "..":
		p.outside = true
	}
	p.fold()
}

// push appends a name, or takes the last one away for "..". The first root names stay.
func (n *names) push(name string, root int) {
	switch name {
	case "", ".":
		return
	case "..":
		last := n.len() - 1
		if last >= root && string(n.at(last)) != ".." {
			n.ends = n.ends[:last]
			end := 0
			if last > 0 {
				end = n.ends[last-1]
			}
			n.text = n.text[:end]
			return
		}
		if root > 0 {
			return
		}
	}
	if n.len() > 0 {
		n.text = append(n.text, '/')
	}
	n.text = append(n.text, name...)
	n.ends = append(n.ends, len(n.text))
}

// fold derives the form in which deny and ask compare.
func (p *filePath) fold() {
	f := &p.folded
	f.text, f.ends = append(f.text[:0], Fold(string(p.exact.text))...), append(f.ends[:0], p.exact.ends...)
	// Neither folding nor composing makes or takes a slash, so every name
	// stays in its place.
	i := 0
	for at, c := range f.text {
		if c == '/' && i < len(f.ends) {
			f.ends[i] = at
			i++
		}
	}
	if i < len(f.ends) {
		f.ends[i] = len(f.text)
	}
}

func isSlash(c byte, on system) bool { return c == '/' || on != posix && c == '\\' }

// outsidePrefix reports whether a path starts outside the root: absolute, in
// someone's home, on a drive or a share.
func outsidePrefix(raw string, on system) bool {
	return raw != "" && (isSlash(raw[0], on) || raw[0] == '~' || drive(raw))
}

// drive reports whether a path begins with the letter of a drive.
func drive(raw string) bool {
	return len(raw) > 1 && raw[1] == ':' && 'a' <= lowerByte(raw[0]) && lowerByte(raw[0]) <= 'z'
}

// IsRooted reports whether a path names a place by itself: absolute, in
// somebody's home, on a drive or a share, whatever this system makes of it. A
// hook decides such a path as it is written, and never below a folder.
func IsRooted(name string) bool {
	return outsidePrefix(name, windows) || strings.ContainsRune(name, 0)
}

// LeavesRoot reports whether a path, in either reading, lies outside the root.
func LeavesRoot(raw string) bool {
	var p filePath
	p.read(raw, posix)
	if !p.outside && strings.Contains(raw, `\`) {
		p.read(raw, windows)
	}
	return p.outside
}

// Relative returns an absolute path relative to root, with "/", where it lies
// inside it: the form that [Subject.Decide] takes. Any other path is returned
// as it is; it is then outside the root. Both are compared as written: a caller
// at the disk resolves links first and decides both ([Place]).
func Relative(root, name string) string {
	r, n := root, name
	if len(r) > 1 && r[1] == ':' || strings.HasPrefix(r, `\\`) {
		r, n = strings.ReplaceAll(r, `\`, "/"), strings.ReplaceAll(n, `\`, "/")
	}
	if r == "" || !strings.HasPrefix(n, "/") && !(len(n) > 1 && n[1] == ':') {
		return name
	}
	r, n = path.Clean(r), path.Clean(n)
	switch {
	case n == r:
		return "."
	case r == "/":
		return n[1:]
	case strings.HasPrefix(n, r+"/"):
		rest := n[len(r)+1:]
		if outsidePrefix(rest, windows) {
			return "./" + rest // a file that is called "~x" or "c:x" inside the root
		}
		return rest
	}
	return name
}

// composed returns a path in NFC, the second form in which a deny or ask regex is tested.
func composed(s string) string {
	if isASCII(s) {
		return s
	}
	return norm.NFC.String(s)
}
