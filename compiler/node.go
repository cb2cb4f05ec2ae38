package compiler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/diag"
)

// kind is the type of a node, a bit each so that a shape can accept several.
type kind uint8

// broken is the kind of a value that CUE could not evaluate.
const broken kind = 0

const (
	structKind kind = 1 << iota
	listKind
	stringKind
	intKind
	floatKind
	boolKind
	nullKind
)

var kindNames = map[kind]string{structKind: "a struct", listKind: "a list", stringKind: "string", intKind: "int", floatKind: "float", boolKind: "bool", nullKind: "null"}

// node is a piece of data with its places: what CUE, YAML, JSON and TOML files
// come down to before the schema is applied.
type node struct {
	kind   kind
	pos    diag.Pos
	text   string // a scalar: the string itself, else its literal
	fields []field
	index  map[string]int // name → place in fields
	elems  []*node
}

type field struct {
	name string
	pos  diag.Pos // of the name
	node *node
}

// get returns a field's node, nil when there is none.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	if i, ok := n.index[name]; ok && i != removed {
		return n.fields[i].node
	}
	return nil
}

// removed is the place of a field that was reported and taken out.
const removed = -1

// wrote reports whether a field is there, or was before it was taken out.
func (n *node) wrote(name string) bool {
	_, ok := n.index[name]
	return ok
}

func (n *node) remove(names []string) {
	if len(names) == 0 {
		return
	}
	n.fields = slices.DeleteFunc(n.fields, func(f field) bool { return slices.Contains(names, f.name) })
	for i, f := range n.fields {
		n.index[f.name] = i
	}
	for _, name := range names {
		n.index[name] = removed
	}
}

func (n *node) set(f field) {
	if n.index == nil {
		n.index = map[string]int{}
	}
	n.index[f.name] = len(n.fields)
	n.fields = append(n.fields, f)
}

// String writes a node for a message: `"text"`, `3`, `a list`.
func (n *node) String() string {
	switch n.kind {
	case stringKind:
		const most = 60
		if r := []rune(n.text); len(r) > most {
			return strconv.Quote(string(r[:most]) + "…")
		}
		return strconv.Quote(n.text)
	case structKind, listKind:
		return kindNames[n.kind]
	}
	return n.text
}

// typed is String with the type of what is no string.
func (n *node) typed() string {
	switch n.kind {
	case intKind, floatKind, boolKind:
		return fmt.Sprintf("%s (%s)", n.text, kindNames[n.kind])
	}
	return n.String()
}

// unify joins b into a, as CUE would two files' data: structs field by field,
// scalars and lists when they are equal. What disagrees is reported with both
// places.
func unify(a, b *node, path string, diags *diag.List) *node {
	if a.kind == structKind && b.kind == structKind {
		for _, f := range b.fields {
			i, ok := a.index[f.name]
			if !ok {
				a.set(f)
				continue
			}
			a.fields[i].node = unify(a.fields[i].node, f.node, join(path, label(f.name)), diags)
		}
		return a
	}
	if !equal(a, b) {
		d := diag.Diagnostic{Code: diag.Conflict, Pos: b.pos, Path: path, Message: fmt.Sprintf("got %s, which disagrees with %s, want one value", b, a),
			Related: []diag.Related{{Pos: a.pos, Message: "set here first"}}}
		if slug, ok := strings.CutSuffix(strings.TrimPrefix(path, "modes."), ".name"); ok && strings.HasPrefix(path, "modes.") && a.pos.File != b.pos.File {
			d.Code, d.Message = diag.DuplicateSlug, fmt.Sprintf("got a second mode %s, called %s where the first is %s, want distinct slugs", slug, b, a)
		}
		*diags = append(*diags, d)
	}
	return a
}

func equal(a, b *node) bool {
	if a.kind != b.kind || a.text != b.text || len(a.elems) != len(b.elems) || len(a.fields) != len(b.fields) {
		return false
	}
	for i := range a.elems {
		if !equal(a.elems[i], b.elems[i]) {
			return false
		}
	}
	for _, f := range a.fields {
		if other := b.get(f.name); other == nil || !equal(f.node, other) {
			return false
		}
	}
	return true
}

// label writes a field's name as a path segment.
func label(name string) string {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || i > 0 && '0' <= c && c <= '9') {
			return strconv.Quote(name)
		}
	}
	return name
}
