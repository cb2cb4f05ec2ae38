package resolve

import (
	"fmt"
	"sync"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/source"
	schema "modec.dev/modec/cue"
)

// builtinData parses the built-in modes and policies, once in a process and only when a source
// refers to one.
var builtinData = sync.OnceValue(func() *source.Node {
	root := &source.Node{Kind: source.Struct}
	for _, f := range schema.Builtins() {
		n, err := source.ParseData(f.Name, f.Data)
		if err != nil {
			panic(fmt.Sprintf("the built-in %s is not plain data: %v", f.Name, err))
		}
		for _, f := range n.Fields {
			root.Set(f)
		}
	}
	return root
})

// builtin returns a built-in mode or policy, nil where there is none of that name.
func (r *resolver) builtin(kind subjectKind, name string) *subject {
	if kind == roleKind {
		return nil
	}
	if s := r.builtins[kind][name]; s != nil {
		return s
	}
	f, ok := builtinData().Get(section[kind]).Lookup(name)
	if !ok {
		return nil
	}
	s := &subject{
		kind: kind, name: name, pos: f.Pos, node: f.Node, path: section[kind] + "." + diag.Label(name), builtin: true,
	}
	if r.builtins[kind] == nil {
		r.builtins[kind] = map[string]*subject{}
	}
	r.builtins[kind][name] = s
	return s
}

// builtinNames returns the names of the built-in modes or policies.
func (r *resolver) builtinNames(kind subjectKind) []string {
	var names []string
	if n := builtinData().Get(section[kind]); n != nil && kind != roleKind {
		for _, f := range n.Fields {
			names = append(names, f.Name)
		}
	}
	return names
}
