package jsonedit

import (
	"bytes"

	"github.com/tailscale/hujson"
)

// white is white space within a line.
const white = " \t\r"

// blank reports whether there is no comment.
func blank(e hujson.Extra) bool { return len(bytes.TrimSpace(e)) == 0 }

// lastLine returns the white space behind the last line break; false where there is no
// line break or something else stands behind it.
func lastLine(e hujson.Extra) (indent string, ok bool) {
	i := bytes.LastIndexByte(e, '\n')
	if i < 0 {
		return "", false
	}
	return string(e[i+1:]), blank(e[i+1:])
}

// cut divides an extra before its last line break, if only white space follows. The
// line break of a line comment belongs to the second part.
func cut(e hujson.Extra) (comments, closing hujson.Extra) {
	if _, ok := lastLine(e); !ok {
		return e, nil
	}
	i := bytes.LastIndexByte(e, '\n')
	if i > 0 && e[i-1] == '\r' {
		i--
	}
	return e[:i], e[i:]
}

// above returns what stands before the line of a value, or before the value on its
// line where that is a comment.
func above(before hujson.Extra) hujson.Extra {
	comments, line := cut(before)
	if line == nil {
		return commentsOf(comments)
	}
	return comments
}

// commentsOf returns an extra without the white space at its end, nil for a blank one.
func commentsOf(e hujson.Extra) hujson.Extra {
	if blank(e) {
		return nil
	}
	return bytes.TrimRight(e, white+"\n")
}

// joined puts comments before the rest. A line comment keeps its line: what would
// follow on it would become part of it.
func joined(comments, rest hujson.Extra) hujson.Extra {
	if endsInLineComment(comments) && !bytes.HasPrefix(bytes.TrimLeft(rest, white), []byte("\n")) {
		rest = append(hujson.Extra("\n"), rest...)
	}
	return append(comments[:len(comments):len(comments)], rest...)
}

// endsInLineComment reports whether what follows an extra would belong to a comment.
func endsInLineComment(e hujson.Extra) bool {
	for len(e) > 0 {
		switch {
		case bytes.HasPrefix(e, []byte("//")):
			i := bytes.IndexByte(e, '\n')
			if i < 0 {
				return true
			}
			e = e[i+1:]
		case bytes.HasPrefix(e, []byte("/*")):
			i := bytes.Index(e, []byte("*/"))
			if i < 0 {
				return false
			}
			e = e[i+2:]
		default:
			e = e[1:]
		}
	}
	return false
}
