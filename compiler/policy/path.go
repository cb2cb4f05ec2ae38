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

// filePath is a cleaned path, split into its names. It is reused: see
// Engine.paths.
type filePath struct {
	text    []byte // the path with "/"; "." for the root itself
	ends    []int  // where each name ends in text
	n       int    // names
	outside bool
	ascii   bool
}

func (p *filePath) name(i int) []byte {
	if i == 0 {
		return p.text[:p.ends[0]]
	}
	return p.text[p.ends[i-1]+1 : p.ends[i]]
}

// clean reads a path as POSIX does, or, with backslash, as Windows does.
func (p *filePath) clean(raw string, backslash bool) {
	p.text, p.ends = p.text[:0], p.ends[:0]
	p.n, p.outside, p.ascii = 0, outsidePrefix(raw, backslash), true
	absolute := raw != "" && isSlash(raw[0], backslash)
	if absolute {
		p.ends = append(p.ends, 0) // an empty name stands for the file system's root
	}
	for i := 0; i < len(raw); {
		j := i
		for j < len(raw) && !isSlash(raw[j], backslash) {
			if raw[j] >= utf8.RuneSelf {
				p.ascii = false
			}
			if raw[j] == 0 {
				p.outside = true
			}
			j++
		}
		p.push(raw[i:j], absolute)
		i = j + 1
	}
	p.n = len(p.ends)
	switch {
	case p.n == 0:
		p.text = append(p.text, '.')
	case absolute && p.n == 1:
		p.text = append(p.text, '/')
	case string(p.name(0)) == "..":
		p.outside = true
	}
}

func (p *filePath) push(name string, absolute bool) {
	switch name {
	case "", ".":
		return
	case "..":
		last, base := len(p.ends)-1, 0
		if absolute {
			base = 1
		}
		if last >= base && string(p.name(last)) != ".." {
			p.ends = p.ends[:last]
			end := 0
			if last > 0 {
				end = p.ends[last-1]
			}
			p.text = p.text[:end]
			return
		}
		if absolute {
			return
		}
	}
	if len(p.ends) > 0 {
		p.text = append(p.text, '/')
	}
	p.text = append(p.text, name...)
	p.ends = append(p.ends, len(p.text))
}

// fold puts the path into the form in which deny and ask compare.
func (p *filePath) fold() {
	if p.ascii {
		for i, c := range p.text {
			p.text[i] = lowerByte(c)
		}
		return
	}
	// Neither folding nor composing makes or takes a slash, so the names stay
	// in their places.
	p.text = []byte(Fold(string(p.text)))
	i := 0
	for at, c := range p.text {
		if c == '/' && i < p.n {
			p.ends[i] = at
			i++
		}
	}
	if i < p.n {
		p.ends[i] = len(p.text)
	}
}

func isSlash(c byte, backslash bool) bool { return c == '/' || backslash && c == '\\' }

// outsidePrefix reports whether a path starts outside the root: absolute, in
// someone's home, on a drive or a share.
func outsidePrefix(raw string, backslash bool) bool {
	return raw != "" && (isSlash(raw[0], backslash) || raw[0] == '~' ||
		len(raw) > 1 && raw[1] == ':' && 'a' <= lowerByte(raw[0]) && lowerByte(raw[0]) <= 'z')
}

// leavesRoot reports whether a path, in either reading, lies outside the root.
func leavesRoot(raw string) bool {
	var p filePath
	p.clean(raw, false)
	if !p.outside && strings.Contains(raw, `\`) {
		p.clean(raw, true)
	}
	return p.outside
}

// Relative returns an absolute path relative to root, with "/", where it lies
// inside it: the form that [Subject.Decide] takes. Any other path is returned
// as it is; it is then outside the root. Both are compared as written: a caller
// at the disk resolves links first and decides both ([Subject.DecideFile]).
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
		if outsidePrefix(rest, true) {
			return "./" + rest // a file that is called "~x" or "c:x" inside the root
		}
		return rest
	}
	return name
}

// composed returns a path in NFC, the second form in which a deny or ask regex
// is tested.
func composed(s string) string {
	if norm.NFC.IsNormalString(s) {
		return s
	}
	return norm.NFC.String(s)
}

// copy makes p the same path as q.
func (p *filePath) copy(q *filePath) {
	p.text, p.ends = append(p.text[:0], q.text...), append(p.ends[:0], q.ends...)
	p.n, p.outside, p.ascii = q.n, q.outside, q.ascii
}
