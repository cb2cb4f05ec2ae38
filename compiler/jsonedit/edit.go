package jsonedit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// editor merges entries into a parsed file.
type editor struct {
	have   []byte
	root   *hujson.Value
	layout layout
	Pattern
	owned     []Entries
	force     bool
	out       Entries
	conflicts []Conflict
	taken     []string
	added     []Added
	theirs    []string
	items     map[*hujson.Array]map[string]bool // the items of lists that are added to
}

// nobody is what owns returns for a place at which modec wrote nothing.
const nobody = "nobody"

// owns returns what an earlier build recorded for a place.
func (ed *editor) owns(place string) string {
	for _, e := range ed.owned {
		if v, ok := e[place]; ok {
			return v
		}
	}
	return nobody
}

// ownsAll reports whether everything in the file is modec's. A comment anywhere, or a comma
// behind the last item, is somebody's.
func (ed *editor) ownsAll() bool {
	if ed.owns("") != Container || !json.Valid(ed.have) || ed.shares() {
		return false
	}
	rest, err := Merge(ed.have, nil, Pattern{}, ed.owned, ed.force)
	return err == nil && rest.Data == nil && len(rest.Conflicts) == 0
}

// wrote reports whether modec wrote a value as it stands at a place, but for defaults that somebody
// took out.
func (ed *editor) wrote(place string, v hujson.Value) bool {
	return slices.ContainsFunc(spellings(v, ed.Defaults), func(v hujson.Value) bool { return ed.recorded(place, v) })
}

func (ed *editor) recorded(place string, v hujson.Value) bool {
	own := hash(canonical(without(v, ed.theirsIn(place, v))))
	return slices.ContainsFunc(ed.owned, func(e Entries) bool {
		r := recorded(e[place])
		return r.of(v) || r.hash == own
	})
}

// shares reports whether an entry that modec wrote has members of a person's.
func (ed *editor) shares() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(ed.out)), func(sum string) bool {
		return len(recorded(sum).theirs) > 0
	})
}

// put adds an entry or updates it; next is the one that is emitted behind it, nil for none.
func (ed *editor) put(e entry, next *entry) {
	there := find(ed.root, e.tokens)
	switch {
	case e.kind == container:
		ed.putContainer(e, there)
	case e.kind == listItem:
		ed.putItem(e, there, next)
	case there == nil:
		ed.addMember(e.tokens, ed.layout.format(e.value, len(e.tokens)))
		ed.out[e.place] = e.sum()
		ed.added = append(ed.added, e.added(ed.Places)...)
	case ed.alike(e, *there):
		if ed.owns(e.place) != nobody {
			ed.out[e.place] = ed.sumOf(e.place, *there)
		} else {
			ed.theirs = append(ed.theirs, e.place)
		}
	case ed.wrote(e.place, *there) || ed.force:
		next := ed.beside(*there, e)
		rewriter{layout: ed.layout}.value(there, &next, len(e.tokens))
		if !ed.alike(e, *there) { // the order of its members means something
			there.Value = next.Value
		}
		ed.out[e.place] = ed.sumOf(e.place, *there)
	default:
		ed.conflict(e.place, there)
	}
}

// alike reports whether an entry that is there says what is emitted.
func (ed *editor) alike(e entry, there hujson.Value) bool {
	there = without(there, ed.theirsIn(e.place, there))
	if ed.Alike == nil {
		return canonical(there) == canonical(e.value)
	}
	is, want := standard(there), standard(e.value)
	return bytes.Equal(is, want) || ed.Alike(e.place, is, want)
}

// standard returns a value as JSON without spaces.
func standard(v hujson.Value) []byte {
	v = v.Clone()
	v.Minimize()
	return v.Pack()
}

// beside returns an entry as it is emitted, with the members that a person added to the one that is
// there.
func (ed *editor) beside(there hujson.Value, e entry) hujson.Value {
	v := ed.layout.format(e.value, len(e.tokens))
	from, ok := there.Value.(*hujson.Object)
	to, also := v.Value.(*hujson.Object)
	if !ok || !also {
		return v
	}
	names, depth := theirs(there, ed.keysOf(e.place, e.value)), len(e.tokens)+1
	for i := range from.Members {
		if m := from.Members[i]; slices.Contains(names, nameOf(&m)) {
			m.Name.BeforeExtra, m.Name.AfterExtra = nil, nil
			m.Value.AfterExtra = nil
			to.Members = add(ed.layout, to.Members, m, memberGap, &to.AfterExtra, depth)
		}
	}
	return v
}

func (ed *editor) conflict(place string, v *hujson.Value) {
	ed.conflicts = append(ed.conflicts, Conflict{
		Place: place, Line: lineOf(ed.have, v.StartOffset), Edited: ed.owns(place) != nobody,
	})
}

// unresolved returns the conflicts that stop the merge.
func (ed *editor) unresolved() []Conflict {
	if ed.force {
		return slices.DeleteFunc(ed.conflicts, func(c Conflict) bool { return c.Got == "" })
	}
	return ed.conflicts
}

// putContainer creates an object or a list that is not there.
func (ed *editor) putContainer(e entry, there *hujson.Value) {
	switch {
	case there == nil:
		v := hujson.Value{Value: &hujson.Object{}}
		if e.value.Value.Kind() == '[' {
			v.Value = &hujson.Array{}
		}
		ed.addMember(e.tokens, v)
		ed.out[e.place] = Container
	case there.Value.Kind() != e.value.Value.Kind():
		ed.conflicts = append(ed.conflicts, Conflict{
			Place: e.place, Line: lineOf(ed.have, there.StartOffset), Got: kindOf(*there),
		})
	case ed.owns(e.place) == Container:
		ed.out[e.place] = Container
	}
}

// putItem adds an item to a list that does not contain it: where it was taken out, else at the end.
func (ed *editor) putItem(e entry, list *hujson.Value, next *entry) {
	if list == nil {
		return // its container is in conflict
	}
	array, ok := list.Value.(*hujson.Array)
	if !ok {
		return
	}
	there, text := ed.itemsOf(array), itemText(e.value)
	if there[text] {
		if ed.owns(e.place) != nobody {
			ed.out[e.place] = ""
		} else {
			ed.theirs = append(ed.theirs, e.place)
		}
		return
	}
	there[text] = true
	depth := len(e.tokens) + 1
	closing := array.AfterExtra
	array.Elements = add(ed.layout, array.Elements, ed.layout.format(e.value, depth), itemGap, &array.AfterExtra, depth)
	if bytes.Equal(closing, array.AfterExtra) && ed.was(e.place) {
		putBefore(array, e, next)
	}
	ed.out[e.place] = ""
	ed.added = append(ed.added, e.added(ed.Places)...)
}

// was reports whether the file had an entry at the last build.
func (ed *editor) was(place string) bool {
	return slices.Contains(ed.Before, place) || ed.owns(place) != nobody
}

// putBefore moves the last item of a list, which is e, before the one that is emitted behind it, if that one stands
// behind others and no comment is between them.
func putBefore(array *hujson.Array, e entry, next *entry) {
	if next == nil || next.kind != listItem || !slices.Equal(next.tokens, e.tokens) {
		return
	}
	list, last, text := array.Elements, len(array.Elements)-1, itemText(next.value)
	at := slices.IndexFunc(list, func(v hujson.Value) bool { return itemText(v) == text })
	if at < 1 || at == last || !blank(list[at].BeforeExtra) ||
		!bytes.Equal(list[at].BeforeExtra, list[last].BeforeExtra) {
		return
	}
	x := list[last]
	x.AfterExtra = nil
	array.Elements = slices.Insert(list[:last], at, x)
}

// itemsOf returns the set of what a list contains.
func (ed *editor) itemsOf(array *hujson.Array) map[string]bool {
	set, ok := ed.items[array]
	if !ok {
		set = map[string]bool{}
		for i := range array.Elements {
			set[itemText(array.Elements[i])] = true
		}
		if ed.items == nil {
			ed.items = map[*hujson.Array]map[string]bool{}
		}
		ed.items[array] = set
	}
	return set
}

// addMember adds a member to an object. Without the object the place is in conflict.
func (ed *editor) addMember(tokens []string, v hujson.Value) {
	if parent := find(ed.root, tokens[:len(tokens)-1]); parent != nil {
		if object, ok := parent.Value.(*hujson.Object); ok {
			addMember(ed.layout, object, tokens, v)
		}
	}
}

// addMember adds the last of the tokens to the object at the others.
func addMember(l layout, object *hujson.Object, tokens []string, v hujson.Value) {
	depth := len(tokens)
	v.BeforeExtra = hujson.Extra(" ")
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(tokens[depth-1])}, Value: v}
	object.Members = add(l, object.Members, m, memberGap, &object.AfterExtra, depth)
}

// removeAllBut takes out what modec wrote and no longer emits, the deepest first.
func (ed *editor) removeAllBut(entries []entry) {
	emitted := map[string]bool{"": true}
	for i := range entries {
		emitted[entries[i].place] = true
	}
	gone := map[string]bool{}
	for _, e := range ed.owned {
		for place := range e {
			if !emitted[place] {
				gone[place] = true
			}
		}
	}
	depth := func(place string) int { return strings.Count(place, "/") }
	places := slices.SortedFunc(maps.Keys(gone), func(a, b string) int {
		return cmp.Or(cmp.Compare(depth(b), depth(a)), strings.Compare(a, b))
	})
	items := map[*hujson.Array]map[string]string{} // of each list what goes, by its text
	for _, place := range places {
		ed.remove(place, items)
	}
	ed.removeItems(items)
	slices.Sort(ed.taken)
}

// remove takes an entry out, unless somebody did so before. Items of lists it only gathers: those of one
// list go at once.
func (ed *editor) remove(place string, items map[*hujson.Array]map[string]string) {
	tokens := split(place)
	last := len(tokens) - 1
	parent := find(ed.root, tokens[:last])
	if parent == nil {
		return
	}
	switch x := parent.Value.(type) {
	case *hujson.Array:
		if ed.owns(place) == "" {
			if items[x] == nil {
				items[x] = map[string]string{}
			}
			items[x][tokens[last]] = place
		}
	case *hujson.Object:
		if ed.owns(place) != "" {
			ed.removeItems(items) // the member may be one of these lists
			ed.removeMember(x, place, tokens[last])
		}
	}
}

// removeItems takes items out of lists, of several that are alike the last, and forgets them.
func (ed *editor) removeItems(items map[*hujson.Array]map[string]string) {
	for array, gone := range items {
		for i := range slices.Backward(array.Elements) {
			text := itemText(array.Elements[i])
			if place, ok := gone[text]; ok {
				array.Elements = take(array.Elements, i, itemGap, &array.AfterExtra)
				ed.taken = append(ed.taken, place)
				delete(gone, text)
			}
		}
	}
	clear(items)
}

func (ed *editor) removeMember(object *hujson.Object, place, name string) {
	i := memberIndex(object, name)
	if i < 0 {
		return
	}
	v := &object.Members[i].Value
	switch {
	case ed.owns(place) == Container:
		if empty(v) {
			object.Members = take(object.Members, i, memberGap, &object.AfterExtra)
		}
	case ed.wrote(place, *v), ed.force:
		object.Members = take(object.Members, i, memberGap, &object.AfterExtra)
		ed.taken = append(ed.taken, place)
	default:
		ed.conflict(place, v)
	}
}
