package roo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
)

// modesFile reads a file of modes: what the agent would not load is an error,
// or is mended.
func (im *importer) modesFile(file string, data []byte) {
	im.kinds[file] = modesKind
	root, list, err := modeList(file, data)
	mended := false
	if err != nil && im.src.Repair {
		root, list, err = im.mendFile(file, data)
		mended = err == nil
	}
	switch {
	case errors.Is(err, errNoModes):
		im.out.Note(contract.Refused, diag.Pos{File: file, Line: 1, Col: 1}, "", path.Base(file), "it has no customModes, and the agent takes it for a file without modes")
		return
	case err != nil:
		im.refuse(file, err)
		return
	}
	if im.dialect == stock && im.isJSON(data) {
		im.option("format", "json")
	}
	for _, m := range root.Fields() {
		if m.Key != "customModes" {
			im.out.Note(contract.Left, m.Pos, "", m.Key, "the agent drops this key")
		}
	}
	if i := slices.IndexFunc(list, func(v *located.Value) bool { return v.Get("source") != nil }); i >= 0 && !mended {
		im.out.Note(contract.Left, list[i].Get("source").Line(), "", "source", "the agent says by the file where a mode comes from")
	}
	slugs := map[string]diag.Pos{}
	for i, v := range list {
		slug, _, err := loadMode(v, im.dialect)
		if err != nil && im.src.Repair {
			im.mendMode(v, i)
			mended = true
			slug, _, err = loadMode(v, im.dialect)
		}
		if first, twice := slugs[slug]; err == nil && twice {
			if !im.src.Repair {
				err = &schemaError{v.Pos, "", "duplicate mode slugs are not allowed: " + slug + " stands at " + first.String() + " too"}
			} else {
				im.out.Note(contract.Repaired, v.Pos, "mode "+slug, slug, "a second mode of this slug: the first holds")
				mended = true
				continue
			}
		}
		if err != nil {
			im.refuse(file, within(err, v, fmt.Sprintf("customModes.%d", i)))
			return
		}
		slugs[slug] = v.Pos
		if old, ok := im.modes[slug]; ok {
			im.out.Note(contract.Refused, v.Pos, "mode "+slug, slug, fmt.Sprintf("the project's mode at %s replaces it whole", old.Pos))
			continue
		}
		im.modes[slug] = im.mode(slug, v)
	}
	if !mended {
		im.originals[file] = data
	}
}

func (im *importer) isJSON(data []byte) bool {
	return json.Valid(bytes.TrimPrefix(data, []byte("\uFEFF")))
}

func (im *importer) option(name string, value any) {
	if im.out.Options == nil {
		im.out.Options = map[string]any{}
	}
	im.out.Options[name] = value
}

// mode translates a mode that the agent loads.
func (im *importer) mode(slug string, v *located.Value) ir.Mode {
	field := func(name string) string {
		s, _ := schemaText(v.Get(name))
		return s
	}
	m := ir.Mode{Slug: slug, Pos: v.Pos, Name: field("name"), Description: field("description"), WhenToUse: field("whenToUse"), RoleDefinition: field("roleDefinition"), CustomInstructions: field("customInstructions")}
	subject := "mode " + slug
	if v.Comment != "" {
		im.out.Comments[m.Pos] = v.Comment
	}
	if strings.TrimSpace(m.RoleDefinition) == "" || strings.TrimSpace(m.Name) == "" {
		if strings.TrimSpace(m.RoleDefinition) == "" {
			im.out.Note(contract.Repaired, v.Pos, subject, "roleDefinition", "it is white space, which the source does not take: the name stands there")
			m.RoleDefinition = m.Name
		}
		if strings.TrimSpace(m.Name) == "" {
			im.out.Note(contract.Repaired, v.Pos, subject, "name", "it is white space, which the source does not take: the slug stands there")
			m.Name = slug
			if strings.TrimSpace(m.RoleDefinition) == "" {
				m.RoleDefinition = slug
			}
		}
	}
	mcp := im.groups(&m, v.Get("groups"))
	im.limits(&m, v, mcp)
	m.Can.Modes = &ir.Table{Default: im.decision(ir.Modes, m.Pos)} // switch_mode and new_task are always there
	for _, member := range v.Members {
		switch member.Key {
		case "slug", "name", "description", "whenToUse", "roleDefinition", "customInstructions", "groups", "source", "mcpRestrictions", "allowedMcpServers":
		case "rulesFiles":
			im.rulesFiles(&m, member.Value)
		default:
			im.out.Note(contract.Left, member.Pos, subject, member.Key, "the agent drops this key")
		}
	}
	return m
}

// decision is what a group that is there means for approval: ask, unless the
// user's own settings are said to approve it.
func (im *importer) decision(g ir.Group, at diag.Pos) *ir.Default {
	if slices.Contains(im.src.Approved, g) {
		return &ir.Default{Decision: ir.Allow, Pos: at}
	}
	im.unsure = im.unsure || g != ir.Modes
	return &ir.Default{Decision: ir.Ask, Pos: at}
}

// neutral is the group of the source that a group of the agent is.
var neutral = map[string]ir.Group{"read": ir.Read, "edit": ir.Edit, "command": ir.Command, "mcp": ir.MCP, "modes": ir.Modes, "web": ir.Web, "browser": ir.Web}

// groups translates the groups of a mode and reports whether mcp is among them.
func (im *importer) groups(m *ir.Mode, list *located.Value) (mcp bool) {
	subject := "mode " + m.Slug
	for _, entry := range list.List() {
		first, options := entry, (*located.Value)(nil)
		if entry.Is(located.List) && len(entry.Items) == 2 {
			first, options = entry.Items[0], entry.Items[1]
		}
		name, _ := schemaText(first)
		if name == "browser" && im.dialect != kilo {
			im.out.Note(contract.Left, entry.Pos, subject, name, "the agent drops this group")
			continue
		}
		what := "group " + name
		regex, _ := schemaText(options.Get("fileRegex"))
		if regex != "" {
			what += " " + regex
		}
		if text := comment(entry, options); text != "" {
			im.out.Comments[entry.Pos] = text
		}
		for _, o := range options.Fields() {
			if o.Key != "fileRegex" && o.Key != "description" {
				im.out.Note(contract.Left, o.Pos, subject, name+" "+o.Key, "the agent drops this option")
			}
		}
		g := neutral[name]
		if g == ir.Edit && regex != "" {
			im.edit(m, regex, options.Get("fileRegex").Pos, entry.Pos, what)
			continue
		}
		if regex != "" {
			im.out.Note(contract.Left, options.Get("fileRegex").Pos, subject, "fileRegex "+regex, "the agent ignores it outside of edit: the whole group is permitted")
		}
		im.out.NoteRule(contract.Understood, entry.Pos, subject, what, "")
		def := im.decision(g, entry.Pos)
		switch g {
		case ir.MCP:
			mcp = true
			m.Can.MCP = &ir.MCPTable{Default: def}
		case ir.Modes: // always there, whether listed or not
		case ir.Read:
			m.Can.Read = &ir.Table{Default: def}
		case ir.Edit:
			m.Can.Edit = &ir.Table{Default: def}
		case ir.Command:
			m.Can.Command = &ir.Table{Default: def}
		case ir.Web:
			m.Can.Web = &ir.Table{Default: def}
		}
	}
	return mcp
}

// comment joins what a file says for people about a group: its comment, and the
// description of its options.
func comment(entry, options *located.Value) string {
	lines := []string{}
	if entry.Comment != "" {
		lines = append(lines, entry.Comment)
	}
	if text, ok := schemaText(options.Get("description")); ok && text != "" && text != everythingElse {
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// edit translates a fileRegex: what the emitter wrote back into what it was
// written from, a glob where that matches the same paths, else the expression.
func (im *importer) edit(m *ir.Mode, source string, at, group diag.Pos, what string) {
	subject := "mode " + m.Slug
	t := &ir.Table{}
	m.Can.Edit = t
	decision := im.decision(ir.Edit, at).Decision
	permits, denies, all := stripInside(source, im.known())
	if all {
		t.Default = &ir.Default{Decision: decision, Pos: at}
	}
	for _, re := range permits {
		if err := policy.CheckRegex(re); err != nil {
			im.out.NoteRule(contract.Refused, at, subject, what, fmt.Sprintf("nothing is permitted by it here: %v", err))
			continue
		}
		p := ir.Pattern{Kind: ir.Regex, Text: re}
		if glob, ok := globOf(re); ok && decision == ir.Allow {
			p = ir.Pattern{Text: glob}
		}
		t.Rules = append(t.Rules, ir.Rule{Decision: decision, Pattern: p, Pos: at})
		if c, ok := im.out.Comments[group]; ok {
			im.out.Comments[at] = c
		}
	}
	for _, re := range denies {
		if err := policy.CheckRegex(re); err != nil {
			m.Can.Edit = nil // what it denies cannot be said
			im.out.NoteRule(contract.Refused, at, subject, what, fmt.Sprintf("the mode loses the group: %v", err))
			return
		}
		rule := ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.Regex, Text: re}, Pos: at}
		if !slices.Contains(t.Rules, rule) {
			t.Rules = append(t.Rules, rule)
		}
	}
	if len(t.Rules) > 0 || all {
		im.out.NoteRule(contract.Understood, at, subject, what, "")
	}
}

// known are the denies that a mode has from elsewhere: guarded paths, and the ignore
// file.
func (im *importer) known() map[string]bool {
	if im.guards == nil {
		globs := slices.Clone(im.src.Guards)
		for _, r := range im.ignores {
			globs = append(globs, r.Pattern.Text)
		}
		im.guards = written(globs)
	}
	return im.guards
}

// limits translates what a mode says of servers.
func (im *importer) limits(m *ir.Mode, v *located.Value, mcp bool) {
	subject := "mode " + m.Slug
	if list := v.Get("allowedMcpServers"); list != nil {
		names, ok := stringList(list)
		switch {
		case im.dialect != zoo:
			im.out.Note(contract.Left, list.Pos, subject, "allowedMcpServers", "Roo Code drops this key: every server is permitted (`--from zoo` takes it)")
		case ok && mcp:
			t := m.Can.MCP
			at := t.Default
			t.Default = &ir.Default{Decision: ir.Deny, Pos: list.Pos}
			for i, name := range names {
				pos := list.Items[i].Pos
				if strings.ContainsAny(name, "*?") {
					im.out.NoteRule(contract.Refused, pos, subject, "allowedMcpServers "+name, "the agent takes it for a name, and the source for a pattern: it permits nothing")
				} else if s := im.server(name, pos, subject); s != nil {
					t.Entries = append(t.Entries, ir.MCPEntry{Key: s.server.Name, Literal: true, Default: &ir.Default{Decision: at.Decision, Pos: pos}, Pos: pos})
					im.out.NoteRule(contract.Understood, pos, subject, "allowedMcpServers "+name, "")
				}
			}
			slices.SortFunc(t.Entries, func(a, b ir.MCPEntry) int { return strings.Compare(a.Key, b.Key) })
			t.Entries = slices.CompactFunc(t.Entries, func(a, b ir.MCPEntry) bool { return a.Key == b.Key })
		}
	}
	list := v.Get("mcpRestrictions")
	if list == nil {
		return
	}
	if _, err := loadRestrictions(list); err != nil {
		im.out.NoteRule(contract.Refused, list.Pos, subject, "mcpRestrictions", err.Error()+", and Roo Code drops this key")
		return
	}
	if im.dialect == stock {
		im.option("dialect", restrictions)
		im.out.NoteRule(contract.Understood, list.Pos, subject, "mcpRestrictions", "Roo Code 3.52.1 drops this key; it only holds back")
	}
	r := &ir.MCPRestrictions{Pos: list.Pos}
	for _, l := range []struct {
		key string
		to  **[]ir.Item
	}{{"allowedServers", &r.AllowedServers}, {"disallowedServers", &r.DisallowedServers}} {
		if x := list.Get(l.key); x != nil {
			items := []ir.Item{}
			for _, item := range x.Items {
				if im.server(item.Text, item.Pos, subject) != nil {
					items = append(items, ir.Item{Name: item.Text, Pos: item.Pos})
				}
			}
			*l.to = &items
		}
	}
	for _, l := range []struct {
		key string
		to  **[]ir.ToolRef
	}{{"allowedTools", &r.AllowedTools}, {"disallowedTools", &r.DisallowedTools}} {
		if x := list.Get(l.key); x != nil {
			refs := []ir.ToolRef{}
			for _, item := range x.Items {
				server, _ := schemaText(item.Get("serverName"))
				tool, _ := schemaText(item.Get("toolName"))
				if strings.TrimSpace(server) == "" || strings.TrimSpace(tool) == "" {
					continue // an empty entry of the editor's form
				}
				if s := im.server(server, item.Pos, subject); s != nil {
					s.tool(tool, item.Pos)
					refs = append(refs, ir.ToolRef{Server: server, Tool: tool, Pos: item.Pos})
				}
			}
			*l.to = &refs
		}
	}
	m.Restrictions = r
}

// rulesFiles reads the rules of an export: the text is in the file.
func (im *importer) rulesFiles(m *ir.Mode, list *located.Value) {
	if !list.Is(located.List) {
		im.out.Note(contract.Left, list.Pos, "mode "+m.Slug, "rulesFiles", "it is no list")
	}
	for _, item := range list.List() {
		name, _ := schemaText(item.Get("relativePath"))
		text, ok := schemaText(item.Get("content"))
		if strings.TrimSpace(name) == "" {
			im.diags.Errorf(codeImport, item.Pos, "got a rules file without relativePath, want one")
			continue
		}
		slashed := strings.ReplaceAll(name, `\`, "/")
		clean := path.Clean(strings.TrimPrefix(slashed, "rules-"+m.Slug+"/"))
		if path.IsAbs(slashed) || path.IsAbs(clean) || slices.Contains(strings.Split(slashed, "/"), "..") || clean == "." || strings.Contains(clean, ":") {
			im.diags.Errorf(codeImport, item.Get("relativePath").Line(), "got the rules file %q, which leads outside the rules folder, want a path inside it", name)
			continue
		}
		if !ok {
			im.out.Note(contract.Left, item.Pos, "mode "+m.Slug, name, "it has no content")
			continue
		}
		im.rule(m, clean, text, item.Pos)
	}
}

// rule adds a rules file under a name of its own.
func (im *importer) rule(m *ir.Mode, name, text string, at diag.Pos) {
	base := strings.Map(func(c rune) rune {
		if c == '/' || c == '\\' || !unicode.IsPrint(c) || strings.ContainsRune(`<>:"|?*`, c) {
			return '-'
		}
		return c
	}, name)
	base = strings.TrimLeft(strings.TrimSpace(base), ".")
	extension := path.Ext(base)
	stem := strings.TrimSuffix(base, extension)
	taken := func(name string) bool {
		return name == "" || slices.ContainsFunc(m.Rules, func(r ir.RuleFile) bool { return strings.EqualFold(r.Name, name) })
	}
	for n := 2; taken(base); n++ {
		base = fmt.Sprintf("%s-%d%s", stem, n, extension)
	}
	if base != name {
		im.out.Note(contract.Repaired, at, "mode "+m.Slug, name, "rules files have one folder here, and a name each: it is called "+base)
	}
	m.Rules = append(m.Rules, ir.RuleFile{Name: base, Text: text, Pos: at})
}

// rulesFolders reads the rules of each mode: every file of its folders, the user's
// own first, or its single file where there is no folder.
func (im *importer) rulesFolders() {
	for _, slug := range slices.Sorted(maps.Keys(im.modes)) {
		m := im.modes[slug]
		before := len(m.Rules)
		for _, prefix := range im.layout.rules {
			if im.src.Home != nil {
				im.rulesFolder(&m, im.src.Home, prefix+slug, home)
			}
			im.rulesFolder(&m, im.src.Root, prefix+slug, "")
		}
		for _, prefix := range im.layout.single {
			if len(m.Rules) > before {
				break
			}
			if data, ok := im.file(im.src.Root, prefix+slug, prefix+slug); ok {
				im.rule(&m, "rules.md", string(data), diag.Pos{File: prefix + slug})
				break
			}
		}
		im.modes[slug] = m
	}
}

// rulesFolder reads every file of a folder. at begins its name in places.
func (im *importer) rulesFolder(m *ir.Mode, fsys fs.FS, dir, at string) {
	err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		if data, ok := im.file(fsys, name, at+name); ok {
			im.rule(m, strings.TrimPrefix(name, dir+"/"), string(data), diag.Pos{File: at + name})
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		im.diags.Errorf(codeImport, diag.Pos{File: at + dir}, "got a folder that cannot be read: %v", err)
	}
}
