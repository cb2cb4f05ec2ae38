package contract

import (
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

// Option declares one key of [targets.NAME] in modec.toml: its check, its
// documentation and its default in one place.
type Option struct {
	Name    string     `json:"name"`
	Type    OptionType `json:"type"`
	Default any        `json:"default,omitempty"` // string, bool, int or []string; nil: unset
	Choices []string   `json:"choices,omitempty"` // the values accepted, as text; empty: any
	Doc     string     `json:"doc"`               // one or two sentences
}

// Options are the checked values of one target: every declared option is set,
// to its default where the user wrote nothing.
type Options struct {
	values map[string]any
	pos    map[string]diag.Pos
}

// NewOptions fills the declared defaults and lays the user's values over them.
// The caller has checked the values against the declaration.
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

// String returns a String option, "" when unset.
func (o Options) String(name string) string { s, _ := o.values[name].(string); return s }

// Bool returns a Bool option, false when unset.
func (o Options) Bool(name string) bool { b, _ := o.values[name].(bool); return b }

// Int returns an Int option, 0 when unset.
func (o Options) Int(name string) int { n, _ := o.values[name].(int); return n }

// Strings returns a Strings option, nil when unset.
func (o Options) Strings(name string) []string { l, _ := o.values[name].([]string); return l }

// Pos returns where the user set an option, the zero Pos for a default.
func (o Options) Pos(name string) diag.Pos { return o.pos[name] }
