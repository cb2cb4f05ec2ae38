package shape

import (
	"fmt"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"

	"modec.dev/modec/compiler/source"
	schema "modec.dev/modec/cue"
)

// shapes are the shapes of everyone, and of the servers, modes, roles and policies, by section.
type shapes struct{ of map[string]*shape }

// definitions are the definitions of the schema, by section.
var definitions = map[string]string{
	"everyone": "#Everyone", "servers": "#Server", "modes": "#Mode", "roles": "#Role", "policies": "#Policy",
}

// loadShapes compiles the schema, once in a process.
var loadShapes = sync.OnceValues(func() (*shapes, error) {
	v, err := schemaValue()
	if err != nil {
		return nil, err
	}
	s := &shapes{of: map[string]*shape{}}
	r := shapeReader{}
	for _, sec := range topLevel {
		d := v.LookupPath(cue.ParsePath(definitions[sec]))
		if d.Err() != nil {
			return nil, fmt.Errorf("the schema has no %s: %w", definitions[sec], d.Err())
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
		file, err := source.Parse(f.Name, f.Data)
		if err == nil {
			err = inst.AddSyntax(file)
		}
		if err != nil {
			return fmt.Errorf("the schema does not parse: %w", err)
		}
	}
	return nil
}
