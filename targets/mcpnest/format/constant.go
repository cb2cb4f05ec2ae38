package format

import (
	"encoding/json"
	"fmt"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
)

// Constant reads the object that a TypeScript file assigns to a constant:
// `export const NAME = {…} as const satisfies TYPE`. It takes objects, lists,
// double-quoted strings and booleans, which is what a table of data needs.
func Constant(file string, data []byte, name string) (*located.Value, error) {
	head := "export const " + name + " = "
	i := strings.Index("\n"+string(data), "\n"+head)
	if i < 0 {
		return nil, fmt.Errorf("%s: got no %q, want the table of the policy", file, strings.TrimSpace(head))
	}
	r := literalReader{file: file, data: string(data), at: i + len(head)}
	v, err := r.value(0)
	if err == nil && !strings.HasPrefix(r.data[r.at:], " as const satisfies ") {
		err = r.wants("`as const satisfies`")
	}
	return v, err
}

// literalReader reads a literal of TypeScript.
type literalReader struct {
	file, data string
	at         int
}

func (r *literalReader) pos() diag.Pos {
	before := r.data[:r.at]
	line := 1 + strings.Count(before, "\n")
	return diag.Pos{File: r.file, Line: line, Col: len(before) - strings.LastIndexByte(before, '\n')}
}

func (r *literalReader) wants(what string) error {
	got, _, _ := strings.Cut(r.data[r.at:min(len(r.data), r.at+20)], "\n")
	return fmt.Errorf("%s: got %q, want %s", r.pos(), got, what)
}

// next skips white space and returns the character that follows, 0 at the end.
func (r *literalReader) next() byte {
	for r.at < len(r.data) && strings.IndexByte(" \t\r\n", r.data[r.at]) >= 0 {
		r.at++
	}
	if r.at == len(r.data) {
		return 0
	}
	return r.data[r.at]
}

// take skips a character when it is the next one.
func (r *literalReader) take(c byte) bool {
	if r.next() != c {
		return false
	}
	r.at++
	return true
}

// maxLiteral is how deep a table may nest; the policy's have three levels.
const maxLiteral = 16

func (r *literalReader) value(depth int) (v *located.Value, err error) {
	if depth > maxLiteral {
		return nil, r.wants("fewer levels")
	}
	c := r.next()
	v = &located.Value{Pos: r.pos()}
	switch {
	case c == '{':
		v.Kind = located.Object
		return v, r.list('}', func() error { return r.member(v, depth) })
	case c == '[':
		v.Kind = located.List
		return v, r.list(']', func() error {
			item, err := r.value(depth + 1)
			v.Items = append(v.Items, item)
			return err
		})
	case c == '"':
		v.Kind = located.String
		v.Text, err = r.str()
		return v, err
	}
	for _, word := range []string{"true", "false"} {
		if strings.HasPrefix(r.data[r.at:], word) {
			r.at += len(word)
			v.Kind, v.Text = located.Bool, word
			return v, nil
		}
	}
	return nil, r.wants("an object, a list, a string or a boolean")
}

func (r *literalReader) member(object *located.Value, depth int) error {
	key, pos, err := r.key()
	if err != nil {
		return err
	}
	if !r.take(':') {
		return r.wants("\":\"")
	}
	v, err := r.value(depth + 1)
	object.Members = append(object.Members, located.Member{Key: key, Pos: pos, Value: v})
	return err
}

// list reads what stands between the bracket at the place and its end.
func (r *literalReader) list(end byte, item func() error) error {
	r.at++
	for {
		if r.take(end) {
			return nil
		}
		if err := item(); err != nil {
			return err
		}
		if !r.take(',') && r.next() != end {
			return r.wants("\",\"")
		}
	}
}

// key reads a member's name: an identifier, a string, or a string in brackets.
func (r *literalReader) key() (string, diag.Pos, error) {
	computed := r.take('[')
	c := r.next()
	pos := r.pos()
	if c == '"' {
		s, err := r.str()
		if err == nil && computed && !r.take(']') {
			err = r.wants("\"]\"")
		}
		return s, pos, err
	}
	start := r.at
	for r.at < len(r.data) && letter(r.data[r.at]) {
		r.at++
	}
	if r.at == start || computed {
		return "", pos, r.wants("a key")
	}
	return r.data[start:r.at], pos, nil
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// str reads a double-quoted string with the escapes of JSON.
func (r *literalReader) str() (string, error) {
	end := r.at + 1
	for end < len(r.data) && r.data[end] != '"' && r.data[end] != '\n' {
		if r.data[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(r.data) || r.data[end] != '"' {
		return "", r.wants("a string on one line")
	}
	var s string
	if err := json.Unmarshal([]byte(r.data[r.at:end+1]), &s); err != nil {
		return "", r.wants("a string with the escapes of JSON")
	}
	r.at = end + 1
	return s, nil
}
