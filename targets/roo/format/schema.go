package format

import (
	"errors"
	"fmt"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
)

// SchemaError is what the schema has against a file, in the words of zod where it has
// any.
type SchemaError struct {
	At   diag.Pos
	Path string // customModes.0.groups.1
	What string
}

func (e *SchemaError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: %s", e.At, e.What)
	}
	return fmt.Sprintf("%s: %s: %s", e.At, e.Path, e.What)
}

// Within puts a field before the path of an error.
func Within(err error, v *located.Value, field string) error {
	var s *SchemaError
	if !errors.As(err, &s) {
		return &SchemaError{v.Line(), field, err.Error()}
	}
	if s.Path != "" {
		field += "." + s.Path
	}
	at := s.At
	if at.IsZero() {
		at = v.Line()
	}
	return &SchemaError{at, field, s.What}
}

// coreNumber is a number in YAML 1.2's core schema, and in JSON. What else the
// parser takes for one (1_000, 0b1) is a string to npm yaml.
var coreNumber = lazy.Regexp(`^(?:[-+]?(?:[0-9]+|\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?` +
	`|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)

// Text returns a string as the schema sees it.
func Text(v *located.Value) (string, bool) {
	if v.Is(located.Number) && !coreNumber().MatchString(v.Text) {
		return v.Text, true
	}
	return v.Str()
}

// Texts returns a list of strings as the schema sees it.
func Texts(v *located.Value) ([]string, bool) {
	if !v.Is(located.List) {
		return nil, false
	}
	out := make([]string, 0, len(v.Items))
	for _, item := range v.Items {
		s, ok := Text(item)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// falsy reports what JavaScript takes for false.
func falsy(v *located.Value) bool {
	switch {
	case v == nil, v.Is(located.Null), v.Is(located.Bool) && !v.True():
		return true
	}
	return v.Is(located.String) && v.Text == "" || v.Is(located.Number) && strings.Trim(v.Text, "-+0.") == ""
}

// A check is a field of an object, and whether it is as the schema wants it.
type check struct {
	v     *located.Value
	field string
	good  bool
	want  string // what the error says after the field
}

// failed returns the error of the first field that is there and is not good.
func failed(checks ...check) error {
	for _, c := range checks {
		if c.v != nil && !c.good {
			return &SchemaError{c.v.Pos, c.field, c.field + " " + c.want}
		}
	}
	return nil
}

// optionalText checks a field for a string.
func optionalText(v *located.Value, field string) check {
	_, ok := Text(v.Get(field))
	return check{v.Get(field), field, ok, "must be a string"}
}

// optionalTexts checks a field for a list of strings.
func optionalTexts(v *located.Value, field string) check {
	_, ok := Texts(v.Get(field))
	return check{v.Get(field), field, ok, "must be an array of strings"}
}

// missing is the message for a field that is not there at all.
func missing(v *located.Value, otherwise string) string {
	if v == nil {
		return "required"
	}
	return otherwise
}
