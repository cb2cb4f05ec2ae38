package shape

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"modec.dev/modec/compiler/source"
)

// The sample writes every field of the schema. Package compiler tests that each of them
// reaches the model.
func TestTheSampleWritesEverything(t *testing.T) {
	tree, diags := source.Load(os.DirFS("../testdata/everything"), "modec")
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	sh, err := loadShapes()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]map[string]bool{}
	visit(sh.of[everyone], tree.Root.Get(everyone), seen)
	for _, sec := range topLevel[1:] {
		for _, f := range tree.Root.Get(sec).Fields {
			visit(sh.of[sec], f.Node, seen)
		}
	}
	for shape, names := range seen {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !names[name] {
				t.Errorf("the sample writes no %s in a struct of %s", name, shape)
			}
		}
	}
}

// visit notes which fields of each shape a node writes; structs of the same
// fields are one.
func visit(s *shape, n *source.Node, seen map[string]map[string]bool) {
	if s == nil {
		return
	}
	for _, a := range s.alts {
		if a.kinds&n.Kind != 0 {
			visit(a, n, seen)
		}
	}
	if s.kinds&n.Kind == 0 {
		return
	}
	for _, e := range n.Elems {
		visit(s.elem, e, seen)
	}
	if n.Kind != source.Struct || s.alts != nil {
		return
	}
	key := fmt.Sprint(s.names())
	if seen[key] == nil {
		seen[key] = map[string]bool{}
		for _, f := range s.fields {
			seen[key][f.name] = false
		}
	}
	for _, f := range n.Fields {
		seen[key][f.Name] = true
		if i, ok := s.index[f.Name]; ok {
			visit(s.fields[i].shape, f.Node, seen)
		} else {
			visit(s.pattern, f.Node, seen)
		}
	}
}
