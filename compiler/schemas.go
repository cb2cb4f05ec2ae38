package compiler

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"

	"modec.dev/modec/compiler/diag"
	schema "modec.dev/modec/cue"
)

// shapes are the definitions that data is checked against, by section.
type shapes struct{ of map[string]*shape }

// loadShapes compiles the schema, once a process.
var loadShapes = sync.OnceValues(func() (*shapes, error) {
	v, err := schemaValue()
	if err != nil {
		return nil, err
	}
	s := &shapes{of: map[string]*shape{}}
	r := shapeReader{}
	for sec, def := range map[string]string{"servers": "#Server", "modes": "#Mode", "roles": "#Role", "policies": "#Policy"} {
		d := v.LookupPath(cue.ParsePath(def))
		if d.Err() != nil {
			return nil, fmt.Errorf("the schema has no %s: %w", def, d.Err())
		}
		s.of[sec] = r.shape(d)
	}
	return s, nil
})

func schemaValue() (cue.Value, error) {
	inst := build.NewContext().NewInstance("", nil)
	if err := addSchema(inst); err != nil {
		return cue.Value{}, err
	}
	v := cuecontext.New().BuildInstance(inst)
	return v, v.Err()
}

// addSchema adds the schema's files to an instance.
func addSchema(inst *build.Instance) error {
	for _, f := range schema.Files() {
		file, err := parse(f.Name, f.Data)
		if err == nil {
			err = inst.AddSyntax(file)
		}
		if err != nil {
			return fmt.Errorf("the schema does not parse: %w", err)
		}
	}
	return nil
}

// builtinData parses the built-in modes and policies, once a process and only
// when a source refers to one.
var builtinData = sync.OnceValue(func() *node {
	root := &node{kind: structKind}
	for _, f := range schema.Builtins() {
		file, err := parse(f.Name, f.Data)
		if err != nil {
			return root
		}
		var diags diag.List
		if n, ok := (literals{&diags}).file(file); ok {
			root = unify(root, n, "", &diags)
		}
	}
	return root
})

// builtin returns a built-in mode or policy, nil when there is none of that
// name.
func (r *resolver) builtin(kind subjectKind, name string) *subject {
	if kind == roleKind {
		return nil
	}
	if s := r.builtins[kind][name]; s != nil {
		return s
	}
	n := builtinData().get(section[kind])
	if n.get(name) == nil {
		return nil
	}
	f := n.fields[n.index[name]]
	s := &subject{kind: kind, name: name, pos: f.pos, node: f.node, path: section[kind] + "." + label(name), builtin: true}
	if r.builtins[kind] == nil {
		r.builtins[kind] = map[string]*subject{}
	}
	r.builtins[kind][name] = s
	return s
}

func (r *resolver) builtinNames(kind subjectKind) []string {
	if n := builtinData().get(section[kind]); n != nil && kind != roleKind {
		return slices.Sorted(maps.Keys(n.index))
	}
	return nil
}
