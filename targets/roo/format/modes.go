package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/regexlang"
)

// Mode is a mode of a modes file.
type Mode struct {
	Slug   string
	Groups []Group
	// At is where the groups stand.
	At diag.Pos
	// Servers is Zoo's allowedMcpServers, nil where every server is allowed.
	Servers *located.Value
	// Restrictions is mcpRestrictions, nil where nothing is restricted.
	Restrictions *MCPRestrictions
}

// Group is a group that a mode has.
type Group struct {
	Name string
	At   diag.Pos
	// FileRegex is the expression of the group, nil where it has none. Roo tests
	// it for the group edit alone.
	FileRegex *ecma.Pattern
	RegexAt   diag.Pos
}

// ErrNoModes is a file that loads and has no list of modes: Roo takes it for one without
// modes and says nothing.
var ErrNoModes = errors.New("it has no customModes")

// ReadModes reads a modes file: it cleans the raw text and reads it as YAML, else the
// original as JSON. Where the agent would load no mode of it, it fails.
func ReadModes(file string, data []byte, d Dialect) ([]Mode, error) {
	_, list, err := ModeList(file, data)
	if err != nil {
		return nil, err
	}
	var modes []Mode
	for i, v := range list {
		m, err := ReadMode(v, d)
		if err != nil {
			return nil, Within(err, v, fmt.Sprintf("customModes.%d", i))
		}
		if slices.ContainsFunc(modes, func(other Mode) bool { return other.Slug == m.Slug }) {
			return nil, &SchemaError{v.Pos, "customModes", "duplicate mode slugs are not allowed"}
		}
		modes = append(modes, m)
	}
	return modes, nil
}

// ModeList reads a modes file and returns the entries of customModes, unchecked.
func ModeList(file string, data []byte) (root *located.Value, modes []*located.Value, err error) {
	root, err = YAML(file, Clean(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	if err != nil {
		if !json.Valid(data) {
			return nil, nil, err
		}
		if root, err = located.JSON(file, data); err != nil {
			return nil, nil, err
		}
	}
	list := root.Get("customModes")
	if !root.Is(located.Object) || falsy(list) {
		return nil, nil, ErrNoModes
	}
	if !list.Is(located.List) {
		return nil, nil, &SchemaError{list.Pos, "customModes", "expected array, received " + string(list.Kind)}
	}
	return root, list.Items, nil
}

// Written returns the modes of a file by slug as they are written, before the agent cleans the
// text; nil where the text does not load so.
func Written(file string, data []byte) map[string]*located.Value {
	root, err := YAML(file, bytes.TrimPrefix(data, []byte("\uFEFF")))
	if err != nil {
		return nil
	}
	modes := map[string]*located.Value{}
	for _, v := range root.Get("customModes").List() {
		if slug, ok := Text(v.Get("slug")); ok && modes[slug] == nil {
			modes[slug] = v
		}
	}
	return modes
}

var slugPattern = lazy.Regexp(`^[a-zA-Z0-9-]+$`)

// IsSlug reports whether a mode can have a slug.
func IsSlug(slug string) bool { return slugPattern().MatchString(slug) }

// IsSource reports whether a mode can say that it comes from there.
func IsSource(source string, d Dialect) bool {
	return source == "global" || source == "project" || d == Kilo && source == "organization"
}

// ReadMode is modeConfigSchema (packages/types/src/mode.ts): unknown keys are
// dropped, anything else that is wrong costs the whole file.
func ReadMode(v *located.Value, d Dialect) (Mode, error) {
	if !v.Is(located.Object) {
		return Mode{}, &SchemaError{v.Line(), "", fmt.Sprintf("expected an object, received %s", v.Kind)}
	}
	if err := checkTexts(v, d); err != nil {
		return Mode{}, err
	}
	m := Mode{At: v.Get("groups").Line()}
	m.Slug, _ = Text(v.Get("slug"))
	var err error
	if m.Groups, err = ReadGroups(v.Get("groups"), d); err != nil {
		return Mode{}, Within(err, v.Get("groups"), "groups")
	}
	switch servers, limits := v.Get("allowedMcpServers"), v.Get("mcpRestrictions"); {
	case d == Zoo && servers != nil:
		m.Servers = servers
		err = failed(optionalTexts(v, "allowedMcpServers"))
	case d == Restrictions && limits != nil:
		if m.Restrictions, err = ReadRestrictions(limits); err == nil {
			err = m.Restrictions.Conflict()
		}
		if err != nil {
			err = Within(err, limits, "mcpRestrictions")
		}
	}
	return m, err
}

// checkTexts checks the fields of a mode that are texts.
func checkTexts(v *located.Value, d Dialect) error {
	if slug, _ := Text(v.Get("slug")); !IsSlug(slug) {
		what := missing(v.Get("slug"), "slug must contain only letters numbers and dashes")
		return &SchemaError{v.Get("slug").Line(), "slug", what}
	}
	for _, field := range []string{"name", "roleDefinition"} {
		if s, _ := Text(v.Get(field)); s == "" {
			return &SchemaError{v.Get(field).Line(), field, missing(v.Get(field), field+" is required")}
		}
	}
	source, _ := Text(v.Get("source"))
	wrong := fmt.Sprintf("must be global or project, received %q", source)
	return failed(
		optionalText(v, "whenToUse"),
		optionalText(v, "description"),
		optionalText(v, "customInstructions"),
		check{v.Get("source"), "source", IsSource(source, d), wrong})
}

// Browser is a group of earlier versions. Roo and Zoo drop it before they check a mode.
const Browser = "browser"

// Listed returns the groups that a mode may list.
func (d Dialect) Listed() []string {
	all := d.known()
	if d != Kilo {
		all = append(all, Browser)
	}
	return all
}

// Lists reports whether a mode may list a group.
func (d Dialect) Lists(group string) bool { return slices.Contains(d.Listed(), group) }

// Reads reports whether an agent of the family reads a key of a mode, but for groups and source. It reads
// rulesFiles of an export alone.
func Reads(key string) bool {
	return slices.Contains([]string{"slug", "name", "roleDefinition", "whenToUse", "description",
		"customInstructions", "allowedMcpServers", "mcpRestrictions"}, key)
}

// known returns the groups that an agent has.
func (d Dialect) known() []string {
	known := []string{"read", "edit", "command", "mcp", "modes"}
	switch d {
	case Zoo:
		known = append(known, "web")
	case Kilo:
		known = append(known, "browser")
	}
	return known
}

// ReadGroups is groupEntryArraySchema: a name or a pair of a name and options.
func ReadGroups(v *located.Value, d Dialect) ([]Group, error) {
	if !v.Is(located.List) {
		return nil, &SchemaError{v.Line(), "", missing(v, "groups must be an array")}
	}
	groups := []Group{}
	for i, entry := range v.Items {
		name, _ := Text(first(entry))
		if name == Browser && d != Kilo {
			continue // deprecatedToolGroups: dropped before anything is checked
		}
		if !slices.Contains(d.known(), name) {
			return nil, badGroup(entry, i, "invalid group %q, expected one of %s", name, diag.Quote(d.known()))
		}
		g, err := readGroup(entry, i)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(groups, func(other Group) bool { return other.Name == name }) {
			return nil, badGroup(entry, i, "duplicate groups are not allowed: %q", name)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

func first(entry *located.Value) *located.Value {
	if entry.Is(located.List) && len(entry.Items) > 0 {
		return entry.Items[0]
	}
	return entry
}

func badGroup(entry *located.Value, i int, format string, args ...any) error {
	return &SchemaError{entry.Pos, strconv.Itoa(i), fmt.Sprintf(format, args...)}
}

// readGroup reads the entry number i, whose name is known.
func readGroup(entry *located.Value, i int) (Group, error) {
	g := Group{At: entry.Pos}
	g.Name, _ = Text(first(entry))
	if !entry.Is(located.List) {
		return g, nil
	}
	if len(entry.Items) != 2 || !entry.Items[1].Is(located.Object) {
		return g, badGroup(entry, i, "a group is a name or a list of a name and one object of options, "+
			"received a list of %d", len(entry.Items))
	}
	options := entry.Items[1]
	within := func(err error) error { return Within(err, entry, strconv.Itoa(i)+".1") }
	if err := failed(optionalText(options, "description"), optionalText(options, "fileRegex")); err != nil {
		return g, within(err)
	}
	source, _ := Text(options.Get("fileRegex"))
	if source == "" {
		return g, nil
	}
	g.RegexAt = options.Get("fileRegex").Pos
	var err error
	if g.FileRegex, err = ecma.Parse(source); err != nil {
		reason := fmt.Sprintf("invalid regular expression pattern: %v", err)
		return g, within(&SchemaError{g.RegexAt, "fileRegex", reason})
	}
	return g, nil
}

// TakesAll reports whether a fileRegex takes every path: it restricts nothing.
func TakesAll(source string) bool {
	p, err := ecma.Parse(source)
	if err != nil {
		return false
	}
	sp := regexlang.New(regexlang.SetOf(func(rune) bool { return true }))
	l, err := sp.ECMAScriptWithin(p, regexlang.Bound{Fewer: true})
	return err == nil && !sp.Meets(regexlang.Some, sp.Not(l))
}
