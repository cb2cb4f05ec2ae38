package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tailscale/hujson"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/roo/format"
)

// mendFile reads a modes file that the agent refuses as a whole: tabs for
// indentation, typographic quotes that end a text when the agent replaces them, a
// list without customModes.
func (im *importer) mendFile(file string, data []byte) (root *located.Value, modes []*located.Value, err error) {
	note := func(what, why string) {
		im.out.Note(contract.Repaired, diag.Pos{File: file, Line: 1, Col: 1}, "", what, why)
	}
	if root, err = mendText(file, bytes.TrimPrefix(data, []byte("\uFEFF")), note); err != nil {
		return nil, nil, err
	}
	list := root.Get("customModes")
	switch {
	case root.Is(located.List):
		note("list", "it is taken for the list customModes")
		return nil, root.Items, nil
	case root.Is(located.Object) && list.Is(located.Object):
		note("customModes", "an object in place of a list: its values are the modes, and its keys their slugs")
		return root, slugged(list), nil
	case list.Is(located.List):
		return root, list.Items, nil
	}
	return nil, nil, format.ErrNoModes
}

// mendJSON returns a file of servers without comments, trailing commas and a byte order mark,
// which the agent does not read, with every value in its place; nil where that does not help.
func (im *importer) mendJSON(file string, data []byte) []byte {
	if !im.src.Repair {
		return nil
	}
	own := bytes.Clone(bytes.TrimPrefix(data, []byte("\uFEFF"))) // Standardize writes into what it reads
	text, err := hujson.Standardize(own)
	if err != nil {
		return nil
	}
	if _, err := format.ReadServers(file, text, im.dialect); err != nil {
		return nil
	}
	if !bytes.Equal(text, data) {
		im.out.Note(contract.Repaired, diag.Pos{File: file, Line: 1, Col: 1}, "", "JSON",
			"comments, trailing commas and a byte order mark are taken away: the agent does not read them")
	}
	return text
}

var leadingTabs = lazy.Regexp(`(?m)^[ ]*\t[ \t]*`)

// mendText reads a text in the first of several ways that succeeds, and notes which.
func mendText(file string, text []byte, note func(what, why string)) (*located.Value, error) {
	root, err := format.YAML(file, format.Clean(text))
	if err == nil {
		return root, nil
	}
	if json.Valid(text) {
		if root, err = located.JSON(file, text); err == nil {
			note("byte order mark", "it is taken away, so that the file is JSON")
			return root, nil
		}
	}
	if root, again := format.YAML(file, text); again == nil {
		note("typographic characters", "they stay: the agent would replace them, and a quote would end its text")
		return root, nil
	}
	spaces := leadingTabs().ReplaceAllFunc(text, func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("\t"), []byte("  "))
	})
	if root, again := format.YAML(file, spaces); again == nil {
		note("tabs", "two spaces stand in place of each that indents a line")
		return root, nil
	}
	return nil, err
}

// slugged returns the modes of an object, each with its key for a slug where it has none.
func slugged(object *located.Value) []*located.Value {
	var modes []*located.Value
	for _, m := range object.Members {
		if m.Value.Is(located.Object) && m.Value.Get("slug") == nil {
			slug := &located.Value{Kind: located.String, Text: m.Key, Pos: m.Pos}
			m.Value.Members = append(m.Value.Members, located.Member{Key: "slug", Pos: m.Pos, Value: slug})
		}
		modes = append(modes, m.Value)
	}
	return modes
}

// mender changes a mode that the schema refuses into one that it takes: what
// cannot be mended stays as it is, and is refused.
type mender struct {
	im      *importer
	v       *located.Value
	subject string
}

// mendMode mends what can be mended of a mode.
func (im *importer) mendMode(v *located.Value) {
	if !v.Is(located.Object) {
		return
	}
	m := mender{im: im, v: v}
	if s := m.text("slug"); s != "" {
		m.subject = "mode " + s
	}
	m.names()
	m.role()
	for _, key := range []string{"whenToUse", "description", "customInstructions"} {
		x := v.Get(key)
		if _, ok := format.Text(x); x != nil && !ok {
			m.note(x, key, "it is "+string(x.Kind)+" in place of a text, and is left out")
			m.drop(key)
		}
	}
	if source := m.text("source"); v.Get("source") != nil && !format.IsSource(source, format.Stock) {
		m.note(v.Get("source"), "source "+source, "it says project now; the agent overwrites it")
		m.set("source", "project")
	}
	m.groups()
}

func (m *mender) text(key string) string {
	s, _ := format.Text(m.v.Get(key))
	return s
}

func (m *mender) note(at *located.Value, what, why string) {
	pos := at.Line()
	if pos.IsZero() {
		pos = m.v.Pos
	}
	m.im.out.Note(contract.Repaired, pos, m.subject, what, why)
}

func (m *mender) drop(key string) {
	m.v.Members = slices.DeleteFunc(m.v.Members, func(x located.Member) bool { return x.Key == key })
}

func (m *mender) set(key, text string) {
	m.put(key, &located.Value{Kind: located.String, Text: text, Pos: m.v.Pos})
}

func (m *mender) put(key string, v *located.Value) {
	m.drop(key)
	m.v.Members = append(m.v.Members, located.Member{Key: key, Pos: m.v.Pos, Value: v})
}

// names mends the slug and the name, each by the other.
func (m *mender) names() {
	slug, name := m.text("slug"), m.text("name")
	if !format.IsSlug(slug) {
		from := slug
		if from == "" {
			from = name
		}
		if fixed := contract.Slug(from); fixed != "" {
			m.note(m.v.Get("slug"), "slug "+slug, "it is "+fixed+" now")
			m.set("slug", fixed)
			slug = fixed
		}
	}
	if name == "" && slug != "" {
		m.note(m.v.Get("name"), "name", "the slug stands in its place")
		m.set("name", slug)
	}
}

// role puts another text in place of a role definition that is missing.
func (m *mender) role() {
	if m.text("roleDefinition") != "" {
		return
	}
	for _, key := range []string{"customInstructions", "description", "whenToUse", "name"} {
		if s := m.text(key); s != "" {
			m.note(m.v.Get("roleDefinition"), "roleDefinition", "there is none: "+key+" stands in its place")
			m.set("roleDefinition", s)
			return
		}
	}
}

// groups makes a list of groups that the schema takes and that permits no
// more: what it cannot read is left out.
func (m *mender) groups() {
	list := m.v.Get("groups")
	if !list.Is(located.List) {
		m.note(list, "groups", "there is no list of groups: the mode has none")
		m.put("groups", &located.Value{Kind: located.List, Pos: m.v.Pos})
		return
	}
	var out []*located.Value
	seen := map[string]bool{}
	for _, entry := range list.Items {
		name, fixed := m.group(entry)
		why := "no group of the agent"
		if fixed != nil {
			why = m.refusal(fixed, list.Pos)
		}
		switch {
		case why != "":
			m.note(entry, "group "+name, "it is left out: "+why)
		case seen[name]:
			m.note(entry, "group "+name, "it stands there twice: the first holds")
		default:
			seen[name] = true
			out = append(out, fixed)
		}
	}
	list.Items = out
}

// refusal returns why the schema refuses a group, "" where it takes it.
func (m *mender) refusal(group *located.Value, at diag.Pos) string {
	one := &located.Value{Kind: located.List, Pos: at, Items: []*located.Value{group}}
	_, err := format.ReadGroups(one, m.im.dialect)
	var s *format.SchemaError
	if errors.As(err, &s) {
		return s.What
	}
	return ""
}

// group returns an entry as a name or a pair, nil for what is neither.
func (m *mender) group(entry *located.Value) (string, *located.Value) {
	switch {
	case entry.Is(located.Object) && len(entry.Members) == 1:
		return m.keyed(entry)
	case entry.Is(located.List) && len(entry.Items) > 0:
		return m.listed(entry)
	}
	name, ok := format.Text(entry)
	if !ok {
		return "", nil
	}
	return name, entry
}

// keyed reads a group that is written {name: options}.
func (m *mender) keyed(entry *located.Value) (string, *located.Value) {
	x := entry.Members[0]
	name := &located.Value{Kind: located.String, Text: x.Key, Pos: x.Pos}
	switch {
	case x.Value.Is(located.Null):
		m.note(entry, "group "+x.Key, "an object in place of a name")
		return x.Key, name
	case !x.Value.Is(located.Object):
		return x.Key, nil
	}
	m.note(entry, "group "+x.Key, "an object in place of a pair")
	return x.Key, &located.Value{Kind: located.List, Pos: entry.Pos, Items: []*located.Value{name, x.Value}}
}

// listed reads a group whose options stand in several list items.
func (m *mender) listed(entry *located.Value) (string, *located.Value) {
	name, _ := format.Text(entry.Items[0])
	options := &located.Value{Kind: located.Object, Pos: entry.Pos}
	for _, item := range entry.Items[1:] {
		if !item.Is(located.Object) {
			return name, nil
		}
		for _, x := range item.Members {
			if options.Get(x.Key) != nil {
				return name, nil
			}
			options.Members = append(options.Members, x)
		}
	}
	if len(entry.Items) != 2 {
		m.note(entry, "group "+name, "its options stood in several list items: they are one object now")
	}
	return name, &located.Value{Kind: located.List, Pos: entry.Pos, Items: []*located.Value{entry.Items[0], options}}
}
