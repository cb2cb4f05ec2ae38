package located

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/secret"
)

// Difference is what one of two files says and the other does not say.
type Difference struct {
	Pos  diag.Pos // in the newer file, or what holds it there
	Path string   // of keys: "hooks.Stop"
	Text string   // "has …", "no longer has …"; secrets are masked
	// Place is a JSON pointer: "/hooks/Stop", "/permissions/allow/-" for an item of a list.
	Place string
	// Before and After are the values, with what is secret in them; nil where there is none.
	Before, After *Value
	// Whole is set where the difference is an item of a list that only one of the files has.
	Whole bool
}

// IsAt reports whether two differences are at one place.
func (d Difference) IsAt(x Difference) bool { return x.Pos == d.Pos && x.Path == d.Path }

// Item returns the place of the item that only the newer file has: that of its list, and the item's text. It reports
// false for any other difference, and for an item that is no text.
func (d Difference) Item() (place string, ok bool) {
	list, ofList := strings.CutSuffix(d.Place, "-")
	text, isText := d.After.Str()
	return list + escaped.Replace(text), ofList && isText
}

// Differences compares two values key by key. Of a list, in whatever order, an item is either there or not.
func Differences(before, after *Value) []Difference {
	var d differ
	d.values(keys{}, before, after)
	return d.out
}

type differ struct{ out []Difference }

// keys are those that lead to a value.
type keys struct{ path, pointer, last string }

// below are the keys of a member.
func (k keys) below(key string) keys {
	path := key
	if k.pointer != "" {
		path = k.path + "." + key
	}
	return keys{path, k.pointer + "/" + escaped.Replace(key), key}
}

// item are the keys of an item of a list: they name the list.
func (k keys) item() keys { return keys{k.path, k.pointer + "/-", k.last} }

var escaped = strings.NewReplacer("~", "~0", "/", "~1")

func (d *differ) values(at keys, before, after *Value) {
	switch {
	case before.Is(Object) && after.Is(Object):
		for _, m := range after.Members {
			if old := before.Get(m.Key); after.Get(m.Key) == m.Value {
				d.member(at.below(m.Key), old, m.Value, m.Pos)
			}
		}
		for _, m := range before.Members {
			if after.Get(m.Key) == nil && before.Get(m.Key) == m.Value {
				d.member(at.below(m.Key), m.Value, nil, after.Pos)
			}
		}
	case before.Is(List) && after.Is(List) && !secretive(before) && !secretive(after):
		d.items(at, before, after, after.Pos)
	case text(before) != text(after):
		d.add(after.Pos, at, "is %s, and was %s", before, after)
	}
}

// secretive reports whether an item of a list is a secret because of the item before it, as of arguments.
func secretive(list *Value) bool {
	flat := !slices.ContainsFunc(list.Items, func(x *Value) bool { return x.Is(Object) || x.Is(List) })
	return flat && masked("", list) != text(list)
}

// member compares the values of a key. Of lists that only one side has, each item counts.
func (d *differ) member(at keys, before, after *Value, pos diag.Pos) {
	none := &Value{Kind: List}
	switch {
	case before != nil && after != nil:
		d.values(at, before, after)
	case after.Is(List) && len(after.Items) > 0:
		d.whole(at, none, after, pos)
	case before.Is(List) && len(before.Items) > 0:
		d.whole(at, before, none, pos)
	case after.Is(Object) && len(after.Members) > 0 && holdsLists(after):
		d.values(at, &Value{Kind: Object}, after)
	case before.Is(Object) && len(before.Members) > 0 && holdsLists(before):
		d.values(at, before, &Value{Kind: Object, Pos: pos})
	case after != nil:
		d.add(pos, at, "has %s", nil, after)
	default:
		d.add(pos, at, "no longer has %s", before, nil)
	}
}

func holdsLists(v *Value) bool {
	return !slices.ContainsFunc(v.Members, func(m Member) bool { return !m.Value.Is(List) })
}

// whole compares the items of lists of which there is only one.
func (d *differ) whole(at keys, before, after *Value, pos diag.Pos) {
	n := len(d.out)
	d.items(at, before, after, pos)
	for i := range d.out[n:] {
		d.out[n+i].Whole = true
	}
}

func (d *differ) items(at keys, before, after *Value, pos diag.Pos) {
	in := func(list *Value, x *Value) bool {
		return slices.ContainsFunc(list.Items, func(y *Value) bool { return text(x) == text(y) })
	}
	for _, x := range after.Items {
		if !in(before, x) {
			d.add(x.Pos, at.item(), "has %s", nil, x)
		}
	}
	for _, x := range before.Items {
		if !in(after, x) {
			d.add(pos, at.item(), "no longer has %s", x, nil)
		}
	}
}

func (d *differ) add(pos diag.Pos, at keys, format string, before, after *Value) {
	var texts []any
	for _, v := range []*Value{after, before} {
		if v != nil {
			texts = append(texts, masked(at.last, v))
		}
	}
	d.out = append(d.out, Difference{Pos: pos, Path: secret.Text(at.path), Text: fmt.Sprintf(format, texts...),
		Place: at.pointer, Before: before, After: after})
}

// masked returns a value as JSON without the secrets in it. What a secret is may depend on its key.
func masked(key string, v *Value) string {
	of := &Value{Kind: Object, Members: []Member{{Key: key, Value: v}}}
	all := secret.Text(text(of))
	rest, ok := strings.CutPrefix(all, `{"`+key+`":`)
	if !ok {
		return secret.Text(text(v))
	}
	return strings.TrimSuffix(rest, "}")
}

// text returns a value as JSON on one line, its keys sorted.
func text(v *Value) string {
	if v == nil {
		return "nothing"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v.Any()); err != nil {
		return fmt.Sprint(v.Any())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
