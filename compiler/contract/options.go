package contract

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// OptionType is the type of an option's value.
type OptionType string

const (
	String  OptionType = "string"
	Bool    OptionType = "bool"
	Int     OptionType = "int"
	Strings OptionType = "strings"
)

// HookState says what modec's hook does in the agents that have one: hooks in modec.toml.
type HookState string

const (
	Off     HookState = "off"     // the default: it is not there
	Observe HookState = "observe" // it writes down what it would answer, and changes no call
	Enforce HookState = "enforce" // it decides, and refuses where modec is missing
)

// Option declares one key of [targets.NAME] in modec.toml: its type, its default and its
// documentation.
type Option struct {
	Name    string     `json:"name"`
	Type    OptionType `json:"type"`
	Default any        `json:"default,omitempty"` // string, bool, int or []string; nil: unset
	Choices []string   `json:"choices,omitempty"` // the accepted values, as text; empty: any
	Doc     string     `json:"doc"`               // one or two sentences
	// Holds is set for an option that names the subject to which the project's files hold every session, in the place
	// of the baseline.
	Holds bool `json:"-"`
}

// Options are the checked values of one target. Every declared option has a value: its
// default where the user wrote none.
type Options struct {
	values map[string]any
	pos    map[string]diag.Pos
	// baseline is the role of a session that names none, "" for none.
	baseline string
	modes    []string // the slugs of the project's modes
	hooks    HookState
}

// WithBaseline returns the options in a project whose sessions have this role where they
// name none.
func (o Options) WithBaseline(role string) Options {
	o.baseline = role
	return o
}

// WithModes returns the options in a project that has these modes, whatever target they are for: one agent may read the
// files of another.
func (o Options) WithModes(modes []ir.Mode) Options {
	o.modes = nil
	for i := range modes {
		o.modes = append(o.modes, modes[i].Slug)
	}
	return o
}

// HasMode reports whether the project has a mode.
func (o Options) HasMode(slug string) bool { return slices.Contains(o.modes, slug) }

// WithHooks returns the options in a project that has these hooks.
func (o Options) WithHooks(h HookState) Options {
	o.hooks = h
	return o
}

// Baseline returns the role of a session that names none, "" for none.
func (o Options) Baseline() string { return o.baseline }

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
