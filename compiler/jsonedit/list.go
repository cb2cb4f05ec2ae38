package jsonedit

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// List is a list of texts in a JSON file. Adding to it and removing from it keeps the
// comments and the form of everything else. A list on one line stays on one line.
type List struct {
	bom    bool
	root   hujson.Value
	tokens []string
	array  *hujson.Array // nil: not there yet
	layout layout
}

// OpenList finds the list at a place, such as /permissions/allow, in a file with
// comments and trailing commas. A list that does not exist is created, with the objects
// around it, when an item is added. Of equal keys the last one counts.
func OpenList(data []byte, place string) (*List, error) {
	data, bom := bytes.CutPrefix(data, byteOrderMark)
	root, err := parse(data)
	if err != nil {
		return nil, err
	}
	l := List{bom: bom, root: root, tokens: split(place), layout: layoutOf(root, data)}
	l.layout.brackets = oneLine
	v := &l.root
	for i := range l.tokens {
		if _, ok := v.Value.(*hujson.Object); !ok {
			return nil, wrongKind(l.tokens[:i], *v, "an object")
		}
		if v = find(v, l.tokens[i:i+1]); v == nil {
			return &l, nil
		}
	}
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, wrongKind(l.tokens, *v, "a list")
	}
	l.array = array
	return &l, nil
}

func wrongKind(tokens []string, v hujson.Value, want string) error {
	if len(tokens) == 0 {
		return fmt.Errorf("got %s, want %s", kindOf(v), want)
	}
	return fmt.Errorf("%s: got %s, want %s", pointer(tokens)[1:], kindOf(v), want)
}

// Item is an item of a list.
type Item struct {
	Text   string
	IsText bool // false for a number, an object and whatever else is not a text
}

// Items returns what the list contains.
func (l *List) Items() []Item {
	if l.array == nil {
		return nil
	}
	items := make([]Item, len(l.array.Elements))
	for i, v := range l.array.Elements {
		items[i].Text, items[i].IsText = textOf(v)
	}
	return items
}

// Append adds a text at the end.
func (l *List) Append(text string) {
	if l.array == nil {
		l.create()
	}
	v := hujson.Value{Value: hujson.String(text)}
	l.array.Elements = add(l.layout, l.array.Elements, v, itemGap, &l.array.AfterExtra, len(l.tokens)+1)
}

// create adds the list, and the objects around it that are not there.
func (l *List) create() {
	parent := &l.root
	for i := range l.tokens {
		v := find(parent, l.tokens[i:i+1])
		if v == nil {
			made := hujson.Value{Value: &hujson.Object{}}
			if i == len(l.tokens)-1 {
				made.Value = &hujson.Array{}
			}
			addMember(l.layout, parent.Value.(*hujson.Object), l.tokens[:i+1], made)
			v = find(parent, l.tokens[i:i+1])
		}
		parent = v
	}
	l.array = parent.Value.(*hujson.Array)
}

// Replace puts a text in the place of an item.
func (l *List) Replace(i int, text string) { l.array.Elements[i].Value = hujson.String(text) }

// Remove removes items by their indexes. Comments before them and after them stay.
func (l *List) Remove(indexes ...int) {
	sorted := slices.Sorted(slices.Values(indexes))
	for _, i := range slices.Backward(slices.Compact(sorted)) {
		l.array.Elements = take(l.array.Elements, i, itemGap, &l.array.AfterExtra)
	}
}

// Pack returns the file.
func (l *List) Pack() []byte {
	data := l.root.Pack()
	if l.bom {
		data = append(slices.Clone(byteOrderMark), data...)
	}
	return data
}
