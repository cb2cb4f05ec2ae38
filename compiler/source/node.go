package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/diag"
)

// Kind is the type of a node. Each is a bit, so that a shape can accept several.
type Kind uint8

// Broken is the kind of a value that CUE could not evaluate.
const Broken Kind = 0

// The kinds of values.
const (
	Struct Kind = 1 << iota
	List
	String
	Int
	Float
	Bool
	Null
)

// String returns the name of a single kind for a message: "a struct", "int".
func (k Kind) String() string { return kindNames[k] }

var kindNames = map[Kind]string{
	Struct: "a struct", List: "a list", String: "string", Int: "int", Float: "float", Bool: "bool", Null: "null",
}

// Node is a value with its place, read from a CUE, YAML, JSON or TOML file.
type Node struct {
	Kind   Kind
	Pos    diag.Pos
	Text   string // of a scalar: the string itself, or else its literal
	Fields []Field
	index  map[string]int // name → index in Fields
	Elems  []*Node
}

// Field is a field of a struct.
type Field struct {
	Name string
	Pos  diag.Pos // of the name
	Node *Node
}

// Get returns a field's node, nil where there is none.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	if i, ok := n.index[name]; ok && i != removed {
		return n.Fields[i].Node
	}
	return nil
}

// Lookup returns a field; false where there is none.
func (n *Node) Lookup(name string) (Field, bool) {
	if n.Get(name) == nil {
		return Field{}, false
	}
	return n.Fields[n.index[name]], true
}

// removed is the index of a field that was reported and removed.
const removed = -1

// Wrote reports whether a field is there, or was before it was removed.
func (n *Node) Wrote(name string) bool {
	_, ok := n.index[name]
	return ok
}

// With returns a copy in which some fields have other nodes and some are removed, or the node
// itself where nothing changes.
func (n *Node) With(changed map[string]*Node, without []string) *Node {
	if len(changed) == 0 && len(without) == 0 {
		return n
	}
	out := &Node{Kind: n.Kind, Pos: n.Pos}
	for _, f := range n.Fields {
		if slices.Contains(without, f.Name) {
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

// WithElems returns a list at the same place with other elements.
func (n *Node) WithElems(elems []*Node) *Node {
	return &Node{Kind: n.Kind, Pos: n.Pos, Elems: elems}
}

// Set adds a field.
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

// Typed writes a node as String does, with the type of numbers and bools.
func (n *Node) Typed() string {
	switch n.Kind {
	case Int, Float, Bool:
		return fmt.Sprintf("%s (%s)", n.Text, n.Kind)
	}
	return n.String()
}

// unify adds b to a, as CUE unites the data of two files: structs field by field, anything
// else where it is equal. It reports what disagrees with both places.
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
		conflict(a, b, path, diags).Path(path).Related(a.Pos, "set here first")
	}
	return a
}

// conflict reports two values of one field.
func conflict(a, b *Node, path string, diags *diag.List) diag.Builder {
	mode, inModes := strings.CutPrefix(path, "modes.")
	slug, isName := strings.CutSuffix(mode, ".name")
	if inModes && isName && a.Pos.File != b.Pos.File {
		return diags.Errorf(diag.DuplicateSlug, b.Pos,
			"a second mode has the slug %s, called %s where the first is %s; modes need distinct slugs", slug, b, a)
	}
	return diags.Errorf(diag.Conflict, b.Pos, "%s disagrees with %s; a field has one value", b, a)
}

// Equal reports whether two nodes have the same value, wherever they are.
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
