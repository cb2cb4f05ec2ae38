package jsonedit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// editor edits a parsed file.
type editor struct {
	have          []byte
	root          *hujson.Value
	owned         []Entries
	force         bool
	newline, unit string
	out           Entries
	conflicts     []Conflict
	taken         []string
	items         map[*hujson.Array]map[string]bool // what lists hold that are added to
}

// owns returns what an earlier build wrote at a place, "none" where it wrote nothing.
func (m *editor) owns(place string) string {
	for _, e := range m.owned {
		if v, ok := e[place]; ok {
			return v
		}
	}
	return "none"
}

// wrote reports whether modec wrote what a value says at a place.
func (m *editor) wrote(place string, v hujson.Value) bool {
	sum := hash(canonical(v))
	return slices.ContainsFunc(m.owned, func(e Entries) bool { return e[place] == sum })
}

// measure takes the line break and the indentation of the file.
func (m *editor) measure() {
	if bytes.Contains(m.have, []byte("\r\n")) {
		m.newline = "\r\n"
	}
	if object := m.root.Value.(*hujson.Object); len(object.Members) > 0 {
		if indent, ok := lastLine(object.Members[0].Name.BeforeExtra); ok && indent != "" {
			m.unit = indent
		}
	}
}

// lastLine is the white space behind the last line break of an extra.
func lastLine(e hujson.Extra) (indent string, ok bool) {
	i := bytes.LastIndexByte(e, '\n')
	if i < 0 {
		return "", false
	}
	return string(e[i+1:]), len(bytes.TrimSpace(e[i+1:])) == 0
}

// find returns the value at a place, nil where there is none. Of equal keys the last
// one is meant, as the agents read it.
func find(v *hujson.Value, tokens []string) *hujson.Value {
	for _, t := range tokens {
		object, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		i := memberIndex(object, t)
		if i < 0 {
			return nil
		}
		v = &object.Members[i].Value
	}
	return v
}

func memberIndex(o *hujson.Object, name string) int {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if nameOf(&o.Members[i]) == name {
			return i
		}
	}
	return -1
}

// put adds an entry or brings it up to date.
func (m *editor) put(e entry) {
	there := find(m.root, e.tokens)
	switch {
	case e.container:
		m.container(e, there)
	case e.item:
		m.item(e, there)
	case there == nil:
		m.member(e.tokens, m.formatted(e.value, len(e.tokens)))
		m.out[e.place] = e.sum()
	case canonical(*there) == canonical(e.value):
		if m.owns(e.place) != "none" {
			m.out[e.place] = e.sum()
		}
	case m.wrote(e.place, *there) || m.force:
		there.Value = m.formatted(e.value, len(e.tokens)).Value
		m.out[e.place] = e.sum()
	default:
		m.conflict(e.place, there)
	}
}

func (m *editor) conflict(place string, v *hujson.Value) {
	m.conflicts = append(m.conflicts, Conflict{Place: place, Line: lineOf(m.have, v.StartOffset), Edited: m.owns(place) != "none"})
}

// container makes sure of an object or a list.
func (m *editor) container(e entry, there *hujson.Value) {
	switch {
	case there == nil:
		v := hujson.Value{Value: &hujson.Object{}}
		if _, list := e.value.Value.(*hujson.Array); list {
			v.Value = &hujson.Array{}
		}
		m.member(e.tokens, v)
		m.out[e.place] = Container
	case kindOf(*there) != kindOf(e.value):
		m.conflicts = append(m.conflicts, Conflict{Place: e.place, Line: lineOf(m.have, there.StartOffset), Got: kindOf(*there)})
	case m.owns(e.place) == Container:
		m.out[e.place] = Container
	}
}

// item adds an item to a list, unless it is in it.
func (m *editor) item(e entry, list *hujson.Value) {
	if list == nil {
		return // its container is in conflict
	}
	array, ok := list.Value.(*hujson.Array)
	if !ok {
		return
	}
	there, ok := m.items[array]
	if !ok {
		there = map[string]bool{}
		for i := range array.Elements {
			there[text(array.Elements[i])] = true
		}
		m.items[array] = there
	}
	want := text(e.value)
	if there[want] {
		if m.owns(e.place) != "none" {
			m.out[e.place] = ""
		}
		return
	}
	there[want] = true
	depth := len(e.tokens) + 1
	array.Elements = add(m, array.Elements, m.formatted(e.value, depth), itemSlot, &array.AfterExtra, depth)
	m.out[e.place] = ""
}

// member adds a member to an object that is there.
func (m *editor) member(tokens []string, v hujson.Value) {
	parent := find(m.root, tokens[:len(tokens)-1])
	if parent == nil {
		return // in conflict
	}
	object, ok := parent.Value.(*hujson.Object)
	if !ok {
		return
	}
	name := hujson.Value{Value: hujson.String(tokens[len(tokens)-1])}
	v.BeforeExtra = hujson.Extra(" ")
	object.Members = add(m, object.Members, hujson.ObjectMember{Name: name, Value: v}, memberSlot, &object.AfterExtra, len(tokens))
}

// append divides what stands before a closing bracket: comments go before the new
// last one, the rest after it. Behind a trailing comma all of it goes before.
func (m *editor) append(sibling, tail hujson.Extra, comma bool, depth int) (before, after hujson.Extra) {
	indent, lines := lastLine(sibling)
	if !lines && len(bytes.TrimSpace(sibling)) == 0 && !bytes.Contains(tail, []byte("\n")) { // all on one line
		if len(sibling) == 0 && !comma {
			return hujson.Extra(" "), tail
		}
		return slices.Clone(sibling), tail
	}
	if !lines {
		indent = strings.Repeat(m.unit, depth)
	}
	comments, closing := cut(tail) // a bracket on the line of the last one stays so
	return hujson.Extra(string(comments) + m.newline + indent), closing
}

// first does so for an object or a list that is empty.
func (m *editor) first(tail hujson.Extra, depth int) (before, after hujson.Extra) {
	comments, closing := cut(tail)
	if closing == nil {
		closing = hujson.Extra(m.newline + strings.Repeat(m.unit, depth-1))
		if len(bytes.TrimSpace(comments)) == 0 {
			comments = nil
		}
	}
	return hujson.Extra(string(comments) + m.newline + strings.Repeat(m.unit, depth)), closing
}

// cut divides an extra before its last line break, if only white space follows. The
// line break of a line comment belongs to the comment.
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

// formatted writes an emitted value as it stands at a depth of this file.
func (m *editor) formatted(v hujson.Value, depth int) hujson.Value {
	v = v.Clone()
	v.BeforeExtra, v.AfterExtra = nil, nil
	var b bytes.Buffer
	if json.Indent(&b, v.Pack(), strings.Repeat(m.unit, depth), m.unit) == nil {
		data := b.Bytes()
		if m.newline != "\n" {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte(m.newline))
		}
		if again, err := hujson.Parse(data); err == nil {
			again.BeforeExtra, again.AfterExtra = nil, nil
			return again
		}
	}
	return v
}

// removals takes out what modec wrote and no longer emits, the deepest first.
func (m *editor) removals(entries []entry) {
	emitted := map[string]bool{"": true}
	for i := range entries {
		emitted[entries[i].place] = true
	}
	places := map[string]bool{}
	for _, e := range m.owned {
		for place := range e {
			if !emitted[place] {
				places[place] = true
			}
		}
	}
	list := make([]string, 0, len(places))
	for p := range places {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b string) int {
		if d := strings.Count(b, "/") - strings.Count(a, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, place := range list {
		m.remove(place, m.owns(place))
	}
}

func (m *editor) remove(place, sum string) {
	tokens := split(place)
	parent, name := find(m.root, tokens[:len(tokens)-1]), tokens[len(tokens)-1]
	if parent == nil {
		return // taken away by somebody
	}
	if sum == "" {
		array, ok := parent.Value.(*hujson.Array)
		if !ok {
			return
		}
		for i := len(array.Elements) - 1; i >= 0; i-- {
			if text(array.Elements[i]) == name {
				array.Elements = take(array.Elements, i, itemSlot, &array.AfterExtra)
				m.taken = append(m.taken, place)
				return
			}
		}
		return
	}
	object, ok := parent.Value.(*hujson.Object)
	if !ok {
		return
	}
	i := memberIndex(object, name)
	switch {
	case i < 0:
	case sum == Container:
		if m.empty(&object.Members[i].Value) {
			object.Members = take(object.Members, i, memberSlot, &object.AfterExtra)
		}
	case m.wrote(place, object.Members[i].Value), m.force:
		object.Members = take(object.Members, i, memberSlot, &object.AfterExtra)
		m.taken = append(m.taken, place)
	default:
		m.conflict(place, &object.Members[i].Value)
	}
}

// empty reports an object or a list with nothing in it, no comment either.
func (m *editor) empty(v *hujson.Value) bool {
	switch x := v.Value.(type) {
	case *hujson.Object:
		return len(x.Members) == 0 && len(bytes.TrimSpace(x.AfterExtra)) == 0
	case *hujson.Array:
		return len(x.Elements) == 0 && len(bytes.TrimSpace(x.AfterExtra)) == 0
	}
	return false
}

// slot is what stands before and after an item of a list, or a member of an object.
type slot struct{ before, after *hujson.Extra }

func itemSlot(v *hujson.Value) slot { return slot{&v.BeforeExtra, &v.AfterExtra} }

func memberSlot(m *hujson.ObjectMember) slot {
	return slot{&m.Name.BeforeExtra, &m.Value.AfterExtra}
}

// add puts a new one behind the others; tail is what stands before the closing bracket.
func add[T any](m *editor, list []T, x T, of func(*T) slot, tail *hujson.Extra, depth int) []T {
	list = append(list, x)
	added := of(&list[len(list)-1])
	if len(list) == 1 {
		*added.before, *tail = m.first(*tail, depth)
		return list
	}
	last := of(&list[len(list)-2])
	comma := *last.after != nil
	*added.before, *tail = m.append(*last.before, *tail, comma, depth)
	if comma {
		*added.after = hujson.Extra{}
	}
	return list
}

// take takes one out.
func take[T any](list []T, i int, of func(*T) slot, tail *hujson.Extra) []T {
	before := *of(&list[i]).before
	comments := above(before)
	last := i == len(list)-1
	comma := *of(&list[len(list)-1]).after != nil
	list = slices.Delete(list, i, i+1)
	switch {
	case !last:
		moved(of(&list[i]).before, before, comments, i == 0)
	case i > 0:
		*tail = joined(comments, *tail)
		ends(of(&list[i-1]).after, comma)
	default:
		*tail = closed(joined(comments, *tail))
	}
	return list
}

// moved gives the one that follows what is taken away its comments, and the white
// space of the first one.
func moved(next *hujson.Extra, before, comments hujson.Extra, first bool) {
	if first && len(bytes.TrimSpace(before)) == 0 && len(bytes.TrimSpace(*next)) == 0 {
		*next = before
		return
	}
	*next = joined(comments, *next)
}

// above is what stands before the line of a value: comments.
func above(before hujson.Extra) hujson.Extra {
	comments, line := cut(before)
	if line == nil && len(bytes.TrimSpace(comments)) == 0 {
		return nil
	}
	return comments
}

// joined puts comments before the rest. A line comment keeps its line: what would
// follow on it would become part of it.
func joined(comments, rest hujson.Extra) hujson.Extra {
	if lineComment(comments) && !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r"), []byte("\n")) {
		rest = append(hujson.Extra("\n"), rest...)
	}
	return append(slices.Clip(comments), rest...)
}

// lineComment reports comments that end inside a line comment.
func lineComment(e hujson.Extra) bool {
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

// ends makes a value the last one, with a trailing comma or without.
func ends(after *hujson.Extra, comma bool) {
	switch {
	case !comma:
		*after = nil
	case *after == nil:
		*after = hujson.Extra{}
	}
}

// closed is what stands in an object or a list that is empty now.
func closed(e hujson.Extra) hujson.Extra {
	if len(bytes.TrimSpace(e)) == 0 {
		return nil
	}
	return e
}
