package ir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"modec.dev/modec/compiler/diag"
)

// Marshal writes the model as JSON: deterministic, indented by one tab,
// without HTML escapes, and with a final newline.
func (p *Project) Marshal() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	if err := e.Encode(p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Decisions returns the part of the model that decides: no prompt, no
// description, no launch environment. It is what hooks decide by. Server URLs and commands stay: a hook may have to
// identify a server by them.
func (p *Project) Decisions() *Project {
	q := *p
	q.Modes = decisionModes(p.Modes)
	q.Builtins = decisionModes(p.Builtins)
	q.Roles = make([]Role, len(p.Roles))
	for i, r := range p.Roles {
		q.Roles[i] = Role{
			Name:              r.Name,
			Pos:               r.Pos,
			Place:             r.Place.decides(),
			PermissionMode:    r.PermissionMode,
			PermissionModePos: r.PermissionModePos,
			Can:               r.Can,
			Agents:            r.Agents,
			Modes:             r.Modes,
			ModesPos:          r.ModesPos,
			Claims:            r.Claims,
			Principals:        r.Principals,
		}
	}
	q.Servers = decisionServers(p.Servers)
	if p.Behind != nil {
		q.Behind = decisionServers(p.Behind)
	}
	return &q
}

func decisionServers(servers []Server) []Server {
	out := make([]Server, len(servers))
	for i, s := range servers {
		s.Env, s.Headers, s.Entries, s.Place = nil, nil, nil, s.Place.decides()
		tools := make([]Tool, len(s.Tools))
		for j, t := range s.Tools {
			t.Description = ""
			tools[j] = t
		}
		s.Tools = tools
		out[i] = s
	}
	return out
}

// decides returns the place without its order, which decides nothing.
func (pl Place) decides() Place { return Place{Targets: pl.Targets, As: pl.As} }

func decisionModes(modes []Mode) []Mode {
	out := make([]Mode, len(modes))
	for i, m := range modes {
		out[i] = Mode{
			Slug:         m.Slug,
			Pos:          m.Pos,
			Place:        m.Place.decides(),
			Name:         m.Name,
			Can:          m.Can,
			Agents:       m.Agents,
			Restrictions: m.Restrictions,
			Builtin:      m.Builtin,
		}
	}
	return out
}

// Unmarshal reads what Marshal wrote. It refuses unknown fields, another
// version and anything after the model: a model that is not understood whole
// must not decide.
func Unmarshal(r io.Reader) (*Project, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	var p Project
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("model: got more than one JSON value, want one")
	}
	if p.Version != Version {
		return nil, fmt.Errorf("model: got version %d, want %d", p.Version, Version)
	}
	if err := p.checkRules(); err != nil {
		return nil, err
	}
	return &p, nil
}

// WithoutPlaces returns a copy of the model without the places of the source.
func (p *Project) WithoutPlaces() *Project {
	return withoutPlaces(reflect.ValueOf(p)).Interface().(*Project)
}

// withoutPlaces returns a copy of a value of the model without the places in it.
func withoutPlaces(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch {
	case v.IsZero(), v.Type() == reflect.TypeFor[diag.Pos]():
		return out
	case v.Kind() == reflect.Pointer:
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(withoutPlaces(v.Elem()))
		return out
	}
	out.Set(v)
	switch v.Kind() {
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(withoutPlaces(v.Index(i)))
		}
	case reflect.Map:
		out.Set(reflect.MakeMap(v.Type()))
		for _, key := range v.MapKeys() {
			out.SetMapIndex(key, withoutPlaces(v.MapIndex(key)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(withoutPlaces(v.Field(i)))
			}
		}
	}
	return out
}
