package jsonedit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// layout is how a file is laid out.
type layout struct {
	newline, unit string // the line break, and one level of indentation
	brackets      brackets
}

// brackets says where the first item of an empty list or object stands.
type brackets uint8

const (
	opened  brackets = iota // on a line of its own
	oneLine                 // on the line of the brackets, where both stand on one
)

func layoutOf(root hujson.Value, data []byte) layout {
	l := layout{newline: "\n", unit: "  "}
	if bytes.Contains(data, []byte("\r\n")) {
		l.newline = "\r\n"
	}
	if object, ok := root.Value.(*hujson.Object); ok && len(object.Members) > 0 {
		if indent, ok := lastLine(object.Members[0].Name.BeforeExtra); ok && indent != "" {
			l.unit = indent
		}
	}
	return l
}

func (l layout) indent(depth int) string { return strings.Repeat(l.unit, depth) }

// format writes an emitted value as it stands at a depth of this file.
func (l layout) format(v hujson.Value, depth int) hujson.Value {
	v = v.Clone()
	v.BeforeExtra, v.AfterExtra = nil, nil
	var b bytes.Buffer
	if json.Indent(&b, v.Pack(), l.indent(depth), l.unit) == nil {
		data := b.Bytes()
		if l.newline != "\n" {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte(l.newline))
		}
		if again, err := hujson.Parse(data); err == nil {
			again.BeforeExtra, again.AfterExtra = nil, nil
			return again
		}
	}
	return v
}

// gap is the white space and the comments before an item of a list or a member of an
// object, and those after it, before its comma. After is nil for a last one without a
// comma.
type gap struct{ before, after *hujson.Extra }

func itemGap(v *hujson.Value) gap { return gap{&v.BeforeExtra, &v.AfterExtra} }

func memberGap(m *hujson.ObjectMember) gap { return gap{&m.Name.BeforeExtra, &m.Value.AfterExtra} }

// add appends x to a list. tail is what stands before the closing bracket.
func add[T any](l layout, list []T, x T, of func(*T) gap, tail *hujson.Extra, depth int) []T {
	list = append(list, x)
	added := of(&list[len(list)-1])
	if len(list) == 1 {
		*added.before, *tail = l.first(*tail, depth)
		return list
	}
	last := of(&list[len(list)-2])
	*added.before, *tail = l.next(last, *tail, depth)
	if *last.after != nil {
		*added.after = hujson.Extra{} // the last one had a comma
	}
	return list
}

// first divides what stands in empty brackets: comments go before the first item, the
// rest after it.
func (l layout) first(tail hujson.Extra, depth int) (before, after hujson.Extra) {
	comments, closing := cut(tail)
	if closing == nil {
		if l.brackets == oneLine && blank(tail) {
			return nil, tail
		}
		closing = hujson.Extra(l.newline + l.indent(depth-1))
		if blank(comments) {
			comments = nil
		}
	}
	return hujson.Extra(string(comments) + l.newline + l.indent(depth)), closing
}

// next divides what stands before a closing bracket: comments go before the new last
// item, the rest after it. The item stands on a line of its own where the last one so
// far does.
func (l layout) next(last gap, tail hujson.Extra, depth int) (before, after hujson.Extra) {
	indent, lines := lastLine(*last.before)
	switch {
	case lines:
	case blank(*last.before) && !bytes.Contains(tail, []byte("\n")): // all on one line
		comments := bytes.TrimRight(tail, white)
		space := *last.before
		if len(space) == 0 && *last.after == nil {
			space = hujson.Extra(" ")
		}
		return slices.Concat(comments, space), tail[len(comments):]
	default:
		indent = l.indent(depth)
	}
	comments, closing := cut(tail)
	return hujson.Extra(string(comments) + l.newline + indent), closing
}

// take removes an item from a list. Comments before it and after it stay.
func take[T any](list []T, i int, of func(*T) gap, tail *hujson.Extra) []T {
	before := *of(&list[i]).before
	kept := above(before)
	if comments := commentsOf(*of(&list[i]).after); comments != nil {
		kept = joined(kept, comments)
	}
	comma := *of(&list[len(list)-1]).after != nil
	list = slices.Delete(list, i, i+1)
	switch {
	case i < len(list):
		next := of(&list[i]).before
		if i == 0 && blank(before) && blank(*next) && blank(kept) {
			*next = before // it is the first one now
		} else {
			*next = joined(kept, *next)
		}
	case i > 0:
		*tail = joined(kept, *tail)
		last := of(&list[i-1]).after
		switch {
		case !comma:
			*tail, *last = joined(commentsOf(*last), *tail), nil
		case *last == nil:
			*last = hujson.Extra{}
		}
	default:
		if *tail = joined(kept, *tail); blank(*tail) {
			*tail = nil
		}
	}
	return list
}
