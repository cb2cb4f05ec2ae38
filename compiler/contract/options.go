package contract

import (
	"fmt"
	"strings"

	"modec.dev/modec/compiler/diag"
)

// OptionType is the type of an option's value.
type OptionType string

const (
	String  OptionType = "string"
	Bool    OptionType = "bool"
	Int     OptionType = "int"
	Strings OptionType = "strings"
)

// Option declares one key of [targets.NAME] in modec.toml: its type, its default and its
// documentation.
type Option struct {
	Name    string     `json:"name"`
	Type    OptionType `json:"type"`
	Default any        `json:"default,omitempty"` // string, bool, int or []string; nil: unset
	Choices []string   `json:"choices,omitempty"` // the accepted values, as text; empty: any
	Doc     string     `json:"doc"`               // one or two sentences
}

// Options are the checked values of one target. Every declared option has a value: its
// default where the user wrote none.
type Options struct {
	values map[string]any
	pos    map[string]diag.Pos
}

// NewOptions returns the declared defaults with the user's values in their place. The
// caller has checked the values against the declaration.
func NewOptions(declared []Option, values map[string]any, pos map[string]diag.Pos) Options {
	o := Options{values: map[string]any{}, pos: pos}
	for _, d := range declared {
		if d.Default != nil {
			o.values[d.Name] = d.Default
		}
	}
	for k, v := range values {
		o.values[k] = v
	}
	return o
}

// String returns the value of a String option, "" when unset.
func (o Options) String(name string) string { s, _ := o.values[name].(string); return s }

// Bool returns the value of a Bool option, false when unset.
func (o Options) Bool(name string) bool { b, _ := o.values[name].(bool); return b }

// Int returns the value of an Int option, 0 when unset.
func (o Options) Int(name string) int { n, _ := o.values[name].(int); return n }

// Strings returns the value of a Strings option, nil when unset.
func (o Options) Strings(name string) []string { l, _ := o.values[name].([]string); return l }

// Text returns the value of an option of any type as a person writes it, "" when unset.
func (o Options) Text(name string) string {
	switch v := o.values[name].(type) {
	case nil:
		return ""
	case []string:
		return strings.Join(v, ", ")
	default:
		return fmt.Sprint(v)
	}
}

// Pos returns the place where the user set an option, the zero Pos for a default.
func (o Options) Pos(name string) diag.Pos { return o.pos[name] }
