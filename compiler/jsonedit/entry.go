package jsonedit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// entry is one thing that a target writes.
type entry struct {
	place  string
	tokens []string // of the place; of an item: of its list
	kind   entryKind
	value  hujson.Value // as it is emitted
}

type entryKind uint8

const (
	plainValue entryKind = iota
	listItem
	container // an object or a list on the way to entries
)

// sum is what Entries record of an entry.
func (e *entry) sum() string {
	switch e.kind {
	case container:
		return Container
	case listItem:
		return ""
	}
	return hash(canonical(e.value))
}

func hash(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:16])
}

// record is what Entries record of a value.
type record struct {
	hash   string
	theirs []string // the members that are a person's, sorted
}

// sumOf returns the record of a value at a place in which a target knows some keys, as Entries have it.
func (p *Pattern) sumOf(place string, v hujson.Value) string {
	names := p.theirsIn(place, v)
	sum := hash(canonical(without(v, names)))
	if len(names) == 0 {
		return sum
	}
	list, err := json.Marshal(names)
	if err != nil {
		return sum
	}
	return sum + " " + string(list)
}

// recorded reads what Entries have of a value.
func recorded(sum string) record {
	var r record
	list := ""
	r.hash, list, _ = strings.Cut(sum, " ")
	if list != "" && json.Unmarshal([]byte(list), &r.theirs) != nil {
		return record{}
	}
	return r
}

// of reports whether a value is what was recorded, but for what is a person's in it.
func (r record) of(v hujson.Value) bool { return hash(canonical(without(v, r.theirs))) == r.hash }

// keysOf returns the members that the target knows in an object at a place; nil: all.
func (p *Pattern) keysOf(place string, v hujson.Value) []string {
	if slices.Contains(p.Whole, place) {
		return nil
	}
	if off := member(v, "disabled"); len(p.Resting) == 0 || off.Value == nil || canonical(off) != "true" {
		return p.Keys
	}
	return slices.DeleteFunc(slices.Clone(p.Keys), func(key string) bool { return slices.Contains(p.Resting, key) })
}

// theirsIn returns the members of an object that are a person's, sorted.
func (p *Pattern) theirsIn(place string, v hujson.Value) []string {
	return theirs(v, p.keysOf(place, v))
}

// theirs returns the members of an object that are not among some keys, sorted.
func theirs(v hujson.Value, keys []string) (names []string) {
	object, ok := v.Value.(*hujson.Object)
	if !ok || keys == nil {
		return nil
	}
	for i := range object.Members {
		if name := nameOf(&object.Members[i]); !slices.Contains(keys, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// without returns an object without some of its members.
func without(v hujson.Value, names []string) hujson.Value {
	object, ok := v.Value.(*hujson.Object)
	if !ok || len(names) == 0 {
		return v
	}
	rest := &hujson.Object{}
	for _, m := range object.Members {
		if !slices.Contains(names, nameOf(&m)) {
			rest.Members = append(rest.Members, m)
		}
	}
	return hujson.Value{Value: rest}
}

// asWritten returns entries as a file has them that says the same: items and members in a person's words,
// lists in a person's order, and objects without the defaults that they lack.
func (p *Pattern) asWritten(root *hujson.Value, entries []entry) []entry {
	if p.Spelled != nil {
		entries = p.spelled(root, entries)
	}
	out := slices.Clone(entries)
	for i := range out {
		e := &out[i]
		have := find(root, e.tokens)
		if e.kind != plainValue || have == nil {
			continue
		}
		keys := p.keysOf(e.place, *have)
		e.value = p.renamed(e.value, *have)
		for name, texts := range p.Defaults {
			switch there := member(*have, name); {
			case keys != nil && !slices.Contains(keys, name):
			case there.Value == nil:
				e.value = lacking(e.value, name, texts)
			case slices.Contains(texts, canonical(there)):
				e.value = having(e.value, name, canonical(there))
			}
		}
		p.members(e, *have)
	}
	return out
}

// renamed returns an object with those members by another name that a file has by it.
func (p *Pattern) renamed(v, have hujson.Value) hujson.Value {
	object, ok := v.Value.(*hujson.Object)
	if !ok || len(p.Renamed) == 0 {
		return v
	}
	next := &hujson.Object{Members: slices.Clone(object.Members)}
	for i := range next.Members {
		m := &next.Members[i]
		other := p.Renamed[nameOf(m)]
		if there := member(have, other); other != "" && there.Value != nil && member(have, nameOf(m)).Value == nil {
			m.Name.Value = hujson.String(other)
		}
	}
	return hujson.Value{Value: next}
}

// inner writes the texts in a member of an entry, at a place, as a file has them that says the same.
func (p *Pattern) inner(place string, v, have hujson.Value) hujson.Value {
	switch of := v.Value.(type) {
	case *hujson.Object:
		next := &hujson.Object{Members: slices.Clone(of.Members)}
		for i := range next.Members {
			m := &next.Members[i]
			m.Value = p.inner(place+"/"+escape(nameOf(m)), m.Value, member(have, nameOf(m)))
		}
		return hujson.Value{Value: next}
	case *hujson.Array:
		there, ok := have.Value.(*hujson.Array)
		if !ok || len(there.Elements) != len(of.Elements) {
			return v
		}
		next := &hujson.Array{Elements: slices.Clone(of.Elements)}
		for i := range next.Elements {
			next.Elements[i] = p.inner(place+"/"+strconv.Itoa(i), next.Elements[i], there.Elements[i])
		}
		return hujson.Value{Value: next}
	}
	means, isText := textOf(v)
	if text, ok := textOf(have); isText && ok && text != means && p.Spelled(place, text) == means {
		v.Value = have.Value
	}
	return v
}

// members writes the members of an entry as a file has them that says the same.
func (p *Pattern) members(e *entry, have hujson.Value) {
	object, ok := e.value.Value.(*hujson.Object)
	if !ok {
		return
	}
	next := &hujson.Object{Members: slices.Clone(object.Members)}
	for i := range next.Members {
		m := &next.Members[i]
		name := nameOf(m)
		there := member(have, name)
		if p.Spelled != nil && there.Value != nil {
			m.Value = p.inner(e.place+"/"+escape(name), m.Value, there)
		}
		if slices.Contains(p.Sets, name) {
			m.Value = inOrder(m.Value, there)
		}
	}
	e.value = hujson.Value{Value: next}
}

// inOrder returns a list with its items in the order that another one has them in, the rest behind them.
func inOrder(v, other hujson.Value) hujson.Value {
	list, ok := v.Value.(*hujson.Array)
	order, also := other.Value.(*hujson.Array)
	if !ok || !also {
		return v
	}
	at := map[string]int{}
	for i := range slices.Backward(order.Elements) {
		at[itemText(order.Elements[i])] = i
	}
	place := func(v hujson.Value) int {
		if i, ok := at[itemText(v)]; ok {
			return i
		}
		return len(order.Elements)
	}
	items := slices.Clone(list.Elements)
	slices.SortStableFunc(items, func(a, b hujson.Value) int { return cmp.Compare(place(a), place(b)) })
	return hujson.Value{Value: &hujson.Array{Elements: items}}
}

// spelled returns entries with the items of a person's in the place of those that they stand for.
func (p *Pattern) spelled(root *hujson.Value, entries []entry) []entry {
	out := slices.Clone(entries)
	for i := range entries {
		list := &entries[i]
		if list.kind != container {
			continue
		}
		there := find(root, list.tokens)
		if there == nil {
			continue
		}
		array, ok := there.Value.(*hujson.Array)
		if !ok {
			continue
		}
		emitted, has := map[string]bool{}, map[string]bool{}
		for j := range entries {
			if e := &entries[j]; e.kind == listItem && slices.Equal(e.tokens, list.tokens) {
				emitted[itemText(e.value)] = true
			}
		}
		for j := range array.Elements {
			has[itemText(array.Elements[j])] = true
		}
		said, written := map[string]bool{}, map[string][]entry{}
		write := func(text, means string) {
			said[means] = !has[means]
			written[means] = append(written[means], entry{place: list.place + "/" + escape(text), tokens: list.tokens,
				kind: listItem, value: hujson.Value{Value: hujson.String(text)}})
		}
		for j := range array.Elements {
			text := itemText(array.Elements[j])
			if means := p.Spelled(list.place, text); !emitted[text] && emitted[means] {
				write(text, means)
			}
		}
		for _, place := range p.Before {
			text, in := strings.CutPrefix(place, list.place+"/")
			if text = unescaper.Replace(text); !in || emitted[text] {
				continue
			}
			if means := p.Spelled(list.place, text); emitted[means] && !has[means] && written[means] == nil {
				write(text, means)
			}
		}
		var next []entry
		for _, e := range out {
			text := itemText(e.value)
			if e.kind != listItem || !slices.Equal(e.tokens, list.tokens) {
				next = append(next, e)
				continue
			}
			if !said[text] {
				next = append(next, e)
			}
			next = append(next, written[text]...)
			delete(written, text)
		}
		out = next
	}
	return out
}

// lacking returns an object without a member that is a default.
func lacking(v hujson.Value, name string, texts []string) hujson.Value {
	if m := member(v, name); m.Value == nil || !slices.Contains(texts, canonical(m)) {
		return v
	}
	return without(v, []string{name})
}

// having returns an object with a default that it may lack.
func having(v hujson.Value, name, text string) hujson.Value {
	object, ok := v.Value.(*hujson.Object)
	is, err := hujson.Parse([]byte(text))
	if !ok || err != nil || member(v, name).Value != nil {
		return v
	}
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name)}, Value: is}
	return hujson.Value{Value: &hujson.Object{Members: append(slices.Clone(object.Members), m)}}
}

// spellings returns the ways to write an object with and without each default.
func spellings(v hujson.Value, defaults map[string][]string) []hujson.Value {
	all := []hujson.Value{v}
	for name, texts := range defaults {
		for _, v := range all {
			if member(v, name).Value != nil {
				all = append(all, lacking(v, name, texts))
				continue
			}
			for _, text := range texts {
				all = append(all, having(v, name, text))
			}
		}
	}
	return all
}

// member returns a member of an object, nothing where there is none.
func member(v hujson.Value, name string) hujson.Value {
	if object, ok := v.Value.(*hujson.Object); ok {
		for i := range object.Members {
			if nameOf(&object.Members[i]) == name {
				return object.Members[i].Value
			}
		}
	}
	return hujson.Value{}
}

// flatten lists the entries of an emitted file in its order, each container before
// what it contains.
func flatten(want []byte, patterns []string) ([]entry, error) {
	if want == nil {
		return nil, nil
	}
	if isTOML(want) {
		var err error
		if want, err = fromTOML(want); err != nil {
			return nil, err
		}
	}
	root, err := parse(want)
	if err != nil {
		return nil, err
	}
	f := flattener{seen: map[string]bool{}}
	for _, p := range patterns {
		f.walk(&root, nil, strings.Split(p, "/")[1:])
	}
	return f.out, nil
}

type flattener struct {
	out  []entry
	seen map[string]bool // by place
}

func (f *flattener) add(e entry) {
	if e.place = pointer(e.tokens); e.kind == listItem {
		e.place += "/" + escape(itemText(e.value))
	}
	if !f.seen[e.place] {
		f.seen[e.place] = true
		f.out = append(f.out, e)
	}
}

// walk adds what a pattern matches. at is the place of the value, rest what is left of
// the pattern.
func (f *flattener) walk(v *hujson.Value, at, rest []string) {
	if len(rest) == 0 {
		f.add(entry{tokens: at, value: *v})
		return
	}
	if len(at) > 0 {
		f.add(entry{tokens: at, kind: container, value: *v})
	}
	switch x := v.Value.(type) {
	case *hujson.Array:
		for i := range x.Elements {
			if rest[0] == "-" {
				f.add(entry{tokens: at, kind: listItem, value: x.Elements[i]})
			}
		}
	case *hujson.Object:
		for i := range x.Members {
			m := &x.Members[i]
			if name := nameOf(m); rest[0] != "-" && (rest[0] == "*" || rest[0] == name) {
				f.walk(&m.Value, append(slices.Clip(at), name), rest[1:])
			}
		}
	}
}

func nameOf(m *hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// itemText identifies an item of a list: the text of a string, else a hash.
func itemText(v hujson.Value) string {
	if text, ok := textOf(v); ok {
		return text
	}
	return hash(canonical(v))
}

// textOf returns the text of a string.
func textOf(v hujson.Value) (string, bool) {
	l, ok := v.Value.(hujson.Literal)
	if !ok || l.Kind() != '"' {
		return "", false
	}
	return l.String(), true
}

// canonical writes a value without white space, its keys sorted.
func canonical(v hujson.Value) string {
	v = v.Clone()
	v.BeforeExtra, v.AfterExtra = nil, nil
	v.Standardize()
	d := json.NewDecoder(bytes.NewReader(v.Pack()))
	d.UseNumber()
	var x any
	if d.Decode(&x) != nil {
		return string(v.Pack())
	}
	b, err := json.Marshal(x)
	if err != nil {
		return string(v.Pack())
	}
	return string(b)
}

func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString("/" + escape(t))
	}
	return b.String()
}

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

func escape(token string) string { return escaper.Replace(token) }

// split returns the tokens of a place.
func split(place string) []string {
	if place == "" {
		return nil
	}
	tokens := strings.Split(place, "/")[1:]
	for i, t := range tokens {
		tokens[i] = unescaper.Replace(t)
	}
	return tokens
}

// kindOf names a value in a message.
func kindOf(v hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case '0':
		return "a number"
	}
	return string(v.Value.(hujson.Literal)) // true, false or null
}

func lineOf(data []byte, offset int) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }

// find returns the value at a place, nil where there is none. Of equal keys the last
// one counts, as for the agents.
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
	for i := range slices.Backward(o.Members) {
		if nameOf(&o.Members[i]) == name {
			return i
		}
	}
	return -1
}

// empty reports whether an object or a list contains nothing, not even a comment.
func empty(v *hujson.Value) bool {
	switch x := v.Value.(type) {
	case *hujson.Object:
		return len(x.Members) == 0 && blank(x.AfterExtra)
	case *hujson.Array:
		return len(x.Elements) == 0 && blank(x.AfterExtra)
	}
	return false
}
