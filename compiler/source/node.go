package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/diag"
)

// kind is the type of a node, a bit each so that a shape can accept several.
type Kind uint8

// broken is the kind of a value that CUE could not evaluate.
const Broken Kind = 0

const (
	Struct Kind = 1 << iota
	List
	String
	Int
	Float
	Bool
	Null
)

// String names a single kind for a message: "a struct", "int".
func (k Kind) String() string { return kindNames[k] }

var kindNames = map[Kind]string{Struct: "a struct", List: "a list", String: "string", Int: "int", Float: "float", Bool: "bool", Null: "null"}

// node is a piece of data with its places: what CUE, YAML, JSON and TOML files
// come down to before the schema is applied.
type Node struct {
	Kind   Kind
	Pos    diag.Pos
	Text   string // a scalar: the string itself, else its literal
	Fields []Field
	index  map[string]int // name → place in fields
	Elems  []*Node
}

type Field struct {
	Name string
	Pos  diag.Pos // of the name
	Node *Node
}

// get returns a field's node, nil when there is none.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	if i, ok := n.index[name]; ok && i != removed {
		return n.Fields[i].Node
	}
	return nil
}

// lookup returns a field; false where there is none.
func (n *Node) Lookup(name string) (Field, bool) {
	if n.Get(name) == nil {
		return Field{}, false
	}
	return n.Fields[n.index[name]], true
}

// removed is the place of a field that was reported and taken out.
const removed = -1

// wrote reports whether a field is there, or was before it was taken out.
func (n *Node) Wrote(name string) bool {
	_, ok := n.index[name]
	return ok
}

// With returns a copy in which some fields have other nodes and some are taken out,
// or the node itself where nothing changes.
func (n *Node) With(changed map[string]*Node, taken []string) *Node {
	if len(changed) == 0 && len(taken) == 0 {
		return n
	}
	out := &Node{Kind: n.Kind, Pos: n.Pos}
	for _, f := range n.Fields {
		if slices.Contains(taken, f.Name) {
			continue
		}
		if c := changed[f.Name]; c != nil {
			f.Node = c
		}
		out.Set(f)
	}
	if out.index == nil {
		out.index = map[string]int{}
	}
	for name := range n.index {
		if _, ok := out.index[name]; !ok {
			out.index[name] = removed
		}
	}
	return out
}

// WithElems returns a list with other elements at the same place.
func (n *Node) WithElems(elems []*Node) *Node {
	return &Node{Kind: n.Kind, Pos: n.Pos, Elems: elems}
}

func (n *Node) Set(f Field) {
	if n.index == nil {
		n.index = map[string]int{}
	}
	n.index[f.Name] = len(n.Fields)
	n.Fields = append(n.Fields, f)
}

// String writes a node for a message: `"text"`, `3`, `a list`.
func (n *Node) String() string {
	switch n.Kind {
	case String:
		return strconv.Quote(diag.Short(n.Text))
	case Struct, List:
		return n.Kind.String()
	}
	return n.Text
}

// typed is String with the type of what is no string.
func (n *Node) Typed() string {
	switch n.Kind {
	case Int, Float, Bool:
		return fmt.Sprintf("%s (%s)", n.Text, n.Kind)
	}
	return n.String()
}

// unify joins b into a, as CUE would two files' data: structs field by field,
// scalars and lists when they are equal. What disagrees is reported with both
// places.
func unify(a, b *Node, path string, diags *diag.List) *Node {
	if a.Kind == Struct && b.Kind == Struct {
		for _, f := range b.Fields {
			i, ok := a.index[f.Name]
			if !ok {
				a.Set(f)
				continue
			}
			a.Fields[i].Node = unify(a.Fields[i].Node, f.Node, diag.Join(path, diag.Label(f.Name)), diags)
		}
		return a
	}
	if !Equal(a, b) {
		d := diag.Diagnostic{Code: diag.Conflict, Pos: b.Pos, Path: path, Message: fmt.Sprintf("got %s, which disagrees with %s, want one value", b, a),
			Related: []diag.Related{{Pos: a.Pos, Message: "set here first"}}}
		if slug, ok := strings.CutSuffix(strings.TrimPrefix(path, "modes."), ".name"); ok && strings.HasPrefix(path, "modes.") && a.Pos.File != b.Pos.File {
			d.Code, d.Message = diag.DuplicateSlug, fmt.Sprintf("got a second mode %s, called %s where the first is %s, want distinct slugs", slug, b, a)
		}
		*diags = append(*diags, d)
	}
	return a
}

func Equal(a, b *Node) bool {
	if a.Kind != b.Kind || a.Text != b.Text || len(a.Elems) != len(b.Elems) || len(a.Fields) != len(b.Fields) {
		return false
	}
	for i := range a.Elems {
		if !Equal(a.Elems[i], b.Elems[i]) {
			return false
		}
	}
	for _, f := range a.Fields {
		if other := b.Get(f.Name); other == nil || !Equal(f.Node, other) {
			return false
		}
	}
	return true
}
