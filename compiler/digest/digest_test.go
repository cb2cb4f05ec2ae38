package digest_test

import (
	"regexp"
	"testing"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/digest"
)

type tree struct {
	name  string
	at    diag.Pos
	items []*tree
	more  map[string]any
	re    *regexp.Regexp
	sum   *known
	do    func()
}

type known struct {
	n    int
	memo map[*known]func()
}

func of(t *testing.T, value any) digest.Key {
	t.Helper()
	table := digest.Known{}
	digest.For(table, func(k *known) any { return k.n })
	key, err := digest.Of(value, table)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// What is different has another digest, down to unexported fields.
func TestOf(t *testing.T) {
	values := []any{
		nil, 0, 1, "", "0", "1", true, false, 1.5, uint8(1), []string{}, []string(nil), []string{""}, []string{"", ""},
		[]string{"a", "b"}, []string{"ab"}, [2]string{"a", "b"}, map[string]int{}, map[string]int{"a": 1},
		map[string]int{"a": 1, "b": 2}, map[string]int{"a": 2, "b": 1}, map[string]string{"a": "1"}, []any{"1"}, []any{1},
		tree{}, &tree{}, tree{name: "a"}, tree{items: []*tree{nil}}, tree{items: []*tree{{}}}, tree{items: []*tree{{}, {}}},
		tree{items: []*tree{{name: "a"}, {}}}, tree{items: []*tree{{}, {name: "a"}}}, tree{re: regexp.MustCompile("a")},
		tree{re: regexp.MustCompile("b")}, tree{more: map[string]any{"a": tree{}}}, tree{more: map[string]any{"a": &tree{}}},
		tree{at: diag.Pos{File: "a"}}, tree{at: diag.Pos{File: "a", Line: 1}}, tree{at: diag.Pos{File: "b", Line: 1}},
		tree{sum: &known{}}, tree{sum: &known{n: 1}},
	}
	for i, a := range values {
		for j, b := range values {
			if (of(t, a).Sum == of(t, b).Sum) != (i == j) {
				t.Errorf("%#v and %#v: got the same digest %v", a, b, i != j)
			}
		}
	}
	aside := tree{sum: &known{memo: map[*known]func(){nil: func() {}}}}
	if of(t, aside).Sum != of(t, tree{sum: &known{}}).Sum {
		t.Error("a known type is read as a whole")
	}
	for i := range 20 { // whatever the order of a map
		m := map[string]int{}
		for j := range 20 {
			m[string(rune('a'+(i+j)%20))] = (i + j) % 20
		}
		if of(t, m).Sum != of(t, ordered()).Sum {
			t.Error("the order of a map changes its digest")
		}
	}
}

func ordered() map[string]int {
	m := map[string]int{}
	for j := range 20 {
		m[string(rune('a'+j))] = j
	}
	return m
}

// Lines and columns are apart.
func TestPlaces(t *testing.T) {
	a, b := diag.Pos{File: "f", Line: 1, Col: 2}, diag.Pos{File: "f", Line: 3}
	one := of(t, tree{at: a, items: []*tree{{at: b}}})
	two := of(t, tree{at: b, items: []*tree{{at: a}}})
	if one.Sum != two.Sum || len(one.Places) != 2 || one.Places[0] != a || one.Places[1] != b || two.Places[0] != b {
		t.Errorf("got %v and %v", one.Places, two.Places)
	}
	joined := digest.JoinKeys(one, two)
	if len(joined.Places) != 4 || joined.Sum == digest.JoinKeys(two).Sum || joined.Sum != digest.Join(one.Sum, two.Sum) {
		t.Errorf("got %v", joined)
	}
	if digest.Text("a") == digest.Text("b") || digest.Text("") == digest.Join() {
		t.Error("two texts have one digest")
	}
}

// What cannot be read is an error.
func TestNoDigest(t *testing.T) {
	itself := &tree{}
	itself.items = []*tree{itself}
	for _, value := range []any{func() {}, tree{do: func() {}}, make(chan int), itself,
		map[any]int{make(chan int): 1}, map[string]any{"": func() {}}} {
		if _, err := digest.Of(value, nil); err == nil {
			t.Errorf("%T has a digest", value)
		}
	}
}
