package shape

import (
	"slices"

	"cuelang.org/go/cue"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/source"
)

// JSONSchema writes the schema of a source as JSON Schema (draft 2020-12), for editors of the
// YAML, JSON and TOML forms. It comes from the shapes by which Check checks.
func JSONSchema() ([]byte, error) {
	s, err := loadShapes()
	if err != nil {
		return nil, err
	}
	sections := contract.Object{}
	for _, name := range topLevel {
		if name == everyone {
			sections = append(sections, name, s.of[name].jsonSchema())
			continue
		}
		sections = append(sections, name, contract.Object{
			"type", "object",
			"propertyNames", contract.Object{"pattern", nameRules[name].re().String()},
			"additionalProperties", s.of[name].jsonSchema(),
		})
	}
	return contract.JSON(contract.Object{
		"$schema", "https://json-schema.org/draft/2020-12/schema",
		"title", "A modec source", "type", "object", "additionalProperties", false, "properties", sections,
	}), nil
}

var jsonTypes = []struct {
	kind source.Kind
	name string
}{
	{source.Struct, "object"}, {source.List, "array"}, {source.String, "string"}, {source.Int, "integer"},
	{source.Float, "number"}, {source.Bool, "boolean"}, {source.Null, "null"},
}

// jsonSchema writes a shape.
func (s *shape) jsonSchema() contract.Object {
	if s.choices != nil || s.alts != nil {
		return s.jsonChoices()
	}
	var types []string
	for _, t := range jsonTypes {
		if s.kinds&t.kind != 0 {
			types = append(types, t.name)
		}
	}
	o := contract.Object{}
	if len(types) == 1 {
		o = append(o, "type", types[0])
	}
	if s.kinds == source.List && s.elem != nil {
		o = append(o, "items", s.elem.jsonSchema())
	}
	if s.kinds == source.Struct {
		o = append(o, s.jsonFields()...)
	}
	for _, c := range s.checks {
		o = append(o, c.jsonSchema()...)
	}
	return o
}

// jsonChoices writes the choices and alternatives of a shape.
func (s *shape) jsonChoices() contract.Object {
	var forms []contract.Object
	if s.choices != nil {
		forms = append(forms, contract.Object{"enum", s.choices})
	}
	for _, a := range s.alts {
		forms = append(forms, a.jsonSchema())
	}
	if len(forms) == 1 {
		return forms[0]
	}
	return contract.Object{"anyOf", forms}
}

// jsonFields writes the fields of a struct.
func (s *shape) jsonFields() contract.Object {
	properties, required := contract.Object{}, []string{}
	for _, f := range s.fields {
		schema := f.shape.jsonSchema()
		if f.doc != "" {
			schema = append(contract.Object{"description", f.doc}, schema...)
		}
		properties = append(properties, f.name, schema)
		if f.required {
			required = append(required, f.name)
		}
	}
	o := contract.Object{"properties", properties}
	if len(required) > 0 {
		slices.Sort(required)
		o = append(o, "required", required)
	}
	switch {
	case s.pattern != nil:
		o = append(o, "additionalProperties", s.pattern.jsonSchema())
	case !s.open:
		o = append(o, "additionalProperties", false)
	}
	return o
}

// jsonBounds are the keywords of JSON Schema for CUE's operators.
var jsonBounds = map[cue.Op]string{cue.GreaterThanEqualOp: "minimum", cue.LessThanEqualOp: "maximum"}

// jsonSchema writes a bound. The schema uses only expressions on which CUE and ECMAScript
// agree.
func (c check) jsonSchema() contract.Object {
	switch {
	case c.re != nil:
		return contract.Object{"pattern", c.text}
	case c.num != nil:
		n, _ := c.num.Int64()
		if key, ok := jsonBounds[c.op]; ok {
			return contract.Object{key, n}
		}
	case c.text == "":
		return contract.Object{"minLength", 1}
	}
	return nil
}
