package located

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"
	"github.com/tailscale/hujson"
)

// comment adds lines to a value's comment. A value that an alias repeats keeps
// the comments of the place where it is written.
func (v *Value) comment(text string) {
	switch {
	case text == "" || v.Comment == text:
	case v.Comment == "":
		v.Comment = text
	default:
		v.Comment += "\n" + text
	}
}

// trailing gives the value before an extra what stands on its line, and returns
// the rest of the comments.
func trailing(last *Value, extra hujson.Extra) string {
	text := string(extra)
	if last != nil {
		line, rest, _ := strings.Cut(text, "\n")
		if !strings.Contains(line, "/*") || strings.Contains(line, "*/") {
			last.comment(slashComments(line))
			text = rest
		}
	}
	return slashComments(text)
}

// slashComments returns the text of // and /* */ comments, a line each.
func slashComments(s string) string {
	var lines []string
	for {
		i := strings.IndexByte(s, '/')
		if i < 0 || i+1 == len(s) {
			return strings.Join(lines, "\n")
		}
		var body string
		if s[i+1] == '*' {
			body, s, _ = strings.Cut(s[i+2:], "*/")
		} else {
			body, s, _ = strings.Cut(s[i+2:], "\n")
		}
		for line := range strings.SplitSeq(body, "\n") {
			if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "*")); line != "" {
				lines = append(lines, line)
			}
		}
	}
}

// comment is what a line says after "#".
type comment struct {
	text  string
	whole bool // nothing else stands on the line
}

func commentLines(tokens token.Tokens) map[int]comment {
	out := map[int]comment{}
	last := 0 // the last line with something else on it
	for _, t := range tokens {
		if t.Type != token.CommentType {
			last = t.Position.Line
			continue
		}
		text := strings.TrimSpace(strings.TrimLeft(t.Value, "#"))
		out[t.Position.Line] = comment{text, t.Position.Line != last}
	}
	return out
}

// comment returns the comment of what begins on a line: the lines before it
// that hold nothing else, and what follows on the line itself.
func (r *yamlReader) comment(line int) string {
	var lines []string
	for l := line - 1; r.comments[l].whole; l-- {
		lines = append(lines, r.comments[l].text)
	}
	slices.Reverse(lines)
	if c, ok := r.comments[line]; ok {
		lines = append(lines, c.text)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
