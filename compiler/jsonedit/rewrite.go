package jsonedit

import (
	"bytes"
	"fmt"

	"github.com/tailscale/hujson"
)

// Rewrite returns a file that says what want says, with the bytes of have for all that both say, in the
// order of have. The items of lists belong together by the text of a member, id, where they have it, and
// by their places else.
func Rewrite(have, want []byte, id string) ([]byte, error) {
	have, bom := bytes.CutPrefix(have, byteOrderMark)
	old, err := parse(have)
	if err != nil {
		return nil, err
	}
	next, err := parse(want)
	if err != nil {
		return nil, fmt.Errorf("the artifact is not JSON: %w", err)
	}
	r := rewriter{layoutOf(old, have), id}
	r.value(&old, &next, 0)
	data := old.Pack()
	if bom {
		data = append(bytes.Clone(byteOrderMark), data...)
	}
	return data, nil
}

type rewriter struct {
	layout layout
	id     string
}

// value makes a value at a depth say what another one says.
func (r rewriter) value(old, next *hujson.Value, depth int) {
	if canonical(*old) == canonical(*next) {
		return
	}
	switch to := next.Value.(type) {
	case *hujson.Object:
		if from, ok := old.Value.(*hujson.Object); ok {
			r.object(from, to, depth+1)
			return
		}
	case *hujson.Array:
		if from, ok := old.Value.(*hujson.Array); ok {
			r.array(from, to, depth+1)
			return
		}
	}
	old.Value = r.layout.format(*next, depth).Value
}

func (r rewriter) object(from, to *hujson.Object, depth int) {
	for i := len(from.Members) - 1; i >= 0; i-- {
		if memberIndex(to, nameOf(&from.Members[i])) < 0 {
			from.Members = take(from.Members, i, memberGap, &from.AfterExtra)
		}
	}
	for i := range to.Members {
		m := &to.Members[i]
		if at := memberIndex(from, nameOf(m)); at >= 0 {
			r.value(&from.Members[at].Value, &m.Value, depth)
			continue
		}
		v := r.layout.format(m.Value, depth)
		v.BeforeExtra = hujson.Extra(" ")
		from.Members = add(r.layout, from.Members, hujson.ObjectMember{Name: m.Name.Clone(), Value: v}, memberGap,
			&from.AfterExtra, depth)
	}
}

// array keeps the items of a list as long as they stand in the same order, and what belongs together.
func (r rewriter) array(from, to *hujson.Array, depth int) {
	kept := 0 // items of from that stay
	for j := range to.Elements {
		at := r.match(from.Elements, kept, &to.Elements[j], len(to.Elements) == len(from.Elements))
		if at < 0 {
			break
		}
		for ; kept < at; at-- {
			from.Elements = take(from.Elements, kept, itemGap, &from.AfterExtra)
		}
		r.value(&from.Elements[kept], &to.Elements[j], depth)
		kept++
	}
	for i := len(from.Elements) - 1; i >= kept; i-- {
		from.Elements = take(from.Elements, i, itemGap, &from.AfterExtra)
	}
	for _, v := range to.Elements[kept:] {
		from.Elements = add(r.layout, from.Elements, r.layout.format(v, depth), itemGap, &from.AfterExtra, depth)
	}
}

// match returns the index of the item, from a place on, that a new one belongs to, -1 for none.
func (r rewriter) match(list []hujson.Value, from int, v *hujson.Value, inPlace bool) int {
	name, named := textOf(member(*v, r.id))
	for i := from; i < len(list); i++ {
		other, has := textOf(member(list[i], r.id))
		if named && has && name == other || !named && !has && canonical(list[i]) == canonical(*v) {
			return i
		}
	}
	if !named && inPlace && from < len(list) {
		return from
	}
	return -1
}
