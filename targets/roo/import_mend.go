package roo

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
)

var leadingTabs = regexp.MustCompile(`(?m)^[ ]*\t[ \t]*`)

// mendFile reads a modes file that the agent refuses as a whole: tabs for
// indentation, typographic quotes that end a text when the agent replaces them, a
// list without customModes.
func (im *importer) mendFile(file string, data []byte) (root *located.Value, modes []*located.Value, err error) {
	text := bytes.TrimPrefix(data, []byte("\uFEFF"))
	note := func(what, why string) {
		im.out.Note(contract.Repaired, diag.Pos{File: file, Line: 1, Col: 1}, "", what, why)
	}
	root, err = readYAML(file, []byte(cleanedText(text)))
	if err != nil && json.Valid(text) {
		if root, err = located.JSON(file, text); err == nil {
			note("byte order mark", "it is taken away, so that the file is JSON")
		}
	}
	if err != nil {
		if v, again := readYAML(file, text); again == nil {
			root, err = v, nil
			note("typographic characters", "they stay: the agent would replace them, and a quote would end its text")
		}
	}
	if err != nil {
		spaces := leadingTabs.ReplaceAllFunc(text, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\t"), []byte("  ")) })
		if v, again := readYAML(file, spaces); again == nil {
			root, err = v, nil
			note("tabs", "two spaces stand in place of each that indents a line")
		}
	}
	if err != nil {
		return nil, nil, err
	}
	list := root.Get("customModes")
	switch {
	case root.Is(located.List):
		note("list", "it is taken for the list customModes")
		return nil, root.Items, nil
	case root.Is(located.Object) && list.Is(located.Object):
		note("customModes", "an object in place of a list: its values are the modes, and its keys their slugs")
		var items []*located.Value
		for _, m := range list.Members {
			if m.Value.Is(located.Object) && m.Value.Get("slug") == nil {
				m.Value.Members = append(m.Value.Members, located.Member{Key: "slug", Pos: m.Pos, Value: &located.Value{Kind: located.String, Text: m.Key, Pos: m.Pos}})
			}
			items = append(items, m.Value)
		}
		return root, items, nil
	case list.Is(located.List):
		return root, list.Items, nil
	}
	return nil, nil, errNoModes
}

// mendMode changes a mode that the schema refuses into one that it takes: what
// cannot be mended stays as it is, and is refused.
func (im *importer) mendMode(v *located.Value, index int) {
	if !v.Is(located.Object) {
		return
	}
	subject := ""
	if s, _ := schemaText(v.Get("slug")); s != "" {
		subject = "mode " + s
	}
	note := func(at *located.Value, what, why string) {
		pos := at.Line()
		if pos.IsZero() {
			pos = v.Pos
		}
		im.out.Note(contract.Repaired, pos, subject, what, why)
	}
	set := func(key, text string) {
		v.Members = slices.DeleteFunc(v.Members, func(m located.Member) bool { return m.Key == key })
		v.Members = append(v.Members, located.Member{Key: key, Pos: v.Pos, Value: &located.Value{Kind: located.String, Text: text, Pos: v.Pos}})
	}
	slug, _ := schemaText(v.Get("slug"))
	name, _ := schemaText(v.Get("name"))
	if !slugPattern.MatchString(slug) {
		from := slug
		if from == "" {
			from = name
		}
		if fixed := contract.Slug(from); fixed != "" {
			note(v.Get("slug"), "slug "+slug, "it is "+fixed+" now")
			set("slug", fixed)
			slug = fixed
		}
	}
	if name == "" && slug != "" {
		note(v.Get("name"), "name", "the slug stands in its place")
		set("name", slug)
	}
	if role, _ := schemaText(v.Get("roleDefinition")); role == "" {
		for _, key := range []string{"customInstructions", "description", "whenToUse", "name"} {
			if s, _ := schemaText(v.Get(key)); s != "" {
				note(v.Get("roleDefinition"), "roleDefinition", "there is none: "+key+" stands in its place")
				set("roleDefinition", s)
				break
			}
		}
	}
	for _, key := range []string{"whenToUse", "description", "customInstructions"} {
		x := v.Get(key)
		if _, ok := schemaText(x); x == nil || ok {
			continue
		}
		note(x, key, "it is "+string(x.Kind)+" in place of a text, and is left out")
		v.Members = slices.DeleteFunc(v.Members, func(m located.Member) bool { return m.Key == key })
	}
	if source, _ := schemaText(v.Get("source")); v.Get("source") != nil && source != "global" && source != "project" {
		note(v.Get("source"), "source "+source, "it says project now; the agent overwrites it")
		set("source", "project")
	}
	im.mendGroups(v, note)
}

// mendGroups makes a list of groups that the schema takes and that permits no
// more: what it cannot read is left out.
func (im *importer) mendGroups(v *located.Value, note func(at *located.Value, what, why string)) {
	list := v.Get("groups")
	if !list.Is(located.List) {
		note(list, "groups", "there is no list of groups: the mode has none")
		v.Members = slices.DeleteFunc(v.Members, func(m located.Member) bool { return m.Key == "groups" })
		v.Members = append(v.Members, located.Member{Key: "groups", Pos: v.Pos, Value: &located.Value{Kind: located.List, Pos: v.Pos}})
		return
	}
	var out []*located.Value
	seen := map[string]bool{}
	for _, entry := range list.Items {
		name, fixed := im.mendGroup(entry, note)
		one := &located.Value{Kind: located.List, Pos: list.Pos, Items: []*located.Value{fixed}}
		var err error
		if fixed != nil {
			_, err = loadGroups(one, im.dialect)
		}
		switch {
		case fixed == nil || err != nil:
			why := "no group of the agent"
			var s *schemaError
			if errors.As(err, &s) {
				why = s.what
			}
			note(entry, "group "+name, "it is left out: "+why)
		case seen[name]:
			note(entry, "group "+name, "it stands there twice: the first holds")
		default:
			seen[name] = true
			out = append(out, fixed)
		}
	}
	list.Items = out
}

// mendGroup returns an entry as a name or a pair, nil for what is neither.
func (im *importer) mendGroup(entry *located.Value, note func(at *located.Value, what, why string)) (string, *located.Value) {
	switch {
	case entry.Is(located.Object) && len(entry.Members) == 1:
		m := entry.Members[0]
		first := &located.Value{Kind: located.String, Text: m.Key, Pos: m.Pos}
		if !m.Value.Is(located.Object) {
			if m.Value.Is(located.Null) {
				note(entry, "group "+m.Key, "an object in place of a name")
				return m.Key, first
			}
			return m.Key, nil
		}
		note(entry, "group "+m.Key, "an object in place of a pair")
		return m.Key, &located.Value{Kind: located.List, Pos: entry.Pos, Items: []*located.Value{first, m.Value}}
	case entry.Is(located.List) && len(entry.Items) > 0:
		name, _ := schemaText(entry.Items[0])
		options := &located.Value{Kind: located.Object, Pos: entry.Pos}
		for _, item := range entry.Items[1:] {
			if !item.Is(located.Object) {
				return name, nil
			}
			for _, m := range item.Members {
				if options.Get(m.Key) != nil {
					return name, nil
				}
				options.Members = append(options.Members, m)
			}
		}
		if len(entry.Items) != 2 {
			note(entry, "group "+name, "its options stood in several list items: they are one object now")
		}
		return name, &located.Value{Kind: located.List, Pos: entry.Pos, Items: []*located.Value{entry.Items[0], options}}
	}
	name, ok := schemaText(entry)
	if !ok {
		return "", nil
	}
	return name, entry
}
