package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

// modesFile reads a file of modes: what the agent would not load is an error,
// or is mended.
func (im *importer) modesFile(file string, data []byte) {
	im.kinds[file] = modesKind
	root, list, err := format.ModeList(file, data)
	mended := false
	if err != nil && im.src.Repair {
		root, list, err = im.mendFile(file, data)
		mended = err == nil
	}
	switch {
	case errors.Is(err, format.ErrNoModes):
		im.out.Note(contract.Refused, diag.Pos{File: file, Line: 1, Col: 1}, "", path.Base(file),
			"it has no customModes, and the agent takes it for a file without modes")
		return
	case err != nil:
		im.refuse(file, err)
		return
	}
	if im.dialect == format.Stock && json.Valid(bytes.TrimPrefix(data, []byte("\uFEFF"))) {
		im.option("format", "json")
	}
	for _, m := range root.Fields() {
		if m.Key != "customModes" {
			im.out.Note(contract.Left, m.Pos, "", m.Key, "the agent drops this key")
		}
	}
	im.written = format.Written(file, data)
	changed, err := im.modeList(list)
	switch {
	case err != nil:
		im.refuse(file, err)
	case !mended && !changed:
		im.originals[file] = data
	}
}

// modeList reads the modes of a file and reports whether it mended one.
func (im *importer) modeList(list []*located.Value) (mended bool, err error) {
	slugs := map[string]diag.Pos{}
	for i, v := range list {
		m, err := format.ReadMode(v, im.dialect)
		if err != nil && im.src.Repair {
			im.mendMode(v)
			mended = true
			m, err = format.ReadMode(v, im.dialect)
		}
		if err != nil {
			return mended, format.Within(err, v, fmt.Sprintf("customModes.%d", i))
		}
		if first, twice := slugs[m.Slug]; twice {
			if !im.src.Repair {
				err := &format.SchemaError{At: v.Pos,
					What: "duplicate mode slugs are not allowed: " + m.Slug + " stands at " + first.String() + " too"}
				return mended, format.Within(err, v, fmt.Sprintf("customModes.%d", i))
			}
			im.out.Note(contract.Repaired, v.Pos, "mode "+m.Slug, m.Slug, "a second mode of this slug: the first holds")
			mended = true
			continue
		}
		slugs[m.Slug] = v.Pos
		if old, ok := im.modes[m.Slug]; ok {
			im.out.Note(contract.Refused, v.Pos, "mode "+m.Slug, m.Slug,
				fmt.Sprintf("the project's mode at %s replaces it whole", old.Pos))
			continue
		}
		im.modes[m.Slug] = im.mode(m.Slug, v)
	}
	return mended, nil
}

// text returns a text of a mode as it is written. The agent cleans the file before it reads it.
func (im *importer) text(slug string, v *located.Value, field string) string {
	read, _ := format.Text(v.Get(field))
	written, ok := format.Text(im.written[slug].Get(field))
	if ok && string(format.Clean([]byte(written))) == read {
		return written
	}
	return read
}

// asWritten returns the description of a group edit as it is written.
func (im *importer) asWritten(slug, read string) string {
	for _, entry := range im.written[slug].Get("groups").List() {
		if !entry.Is(located.List) || len(entry.Items) != 2 {
			continue
		}
		written, ok := format.Text(entry.Items[1].Get("description"))
		if ok && string(format.Clean([]byte(written))) == read {
			return written
		}
	}
	return read
}

// target is the name of the target that writes a dialect.
func (im *importer) target() string {
	if im.dialect == format.Zoo {
		return "zoo"
	}
	return "roo"
}

// defaultOrder is the one in which groups are emitted.
var defaultOrder = []string{"read", "edit", "command", "web", "mcp"}

// order returns the groups that a mode lists where the emitter would write others, or in another
// order; nil where it would not.
func (im *importer) order(m *ir.Mode, list *located.Value) []any {
	var names, usual []string
	for _, entry := range list.List() {
		first := entry
		if entry.Is(located.List) && len(entry.Items) > 0 {
			first = entry.Items[0]
		}
		name, _ := format.Text(first)
		edit := m.Can.Edit
		none := edit == nil || edit.Default == nil && len(edit.Rules) == 0
		if name == "edit" && none || slices.Contains(names, name) {
			continue // nothing of it could be imported
		}
		names = append(names, name)
	}
	for _, name := range defaultOrder {
		if slices.Contains(names, name) {
			usual = append(usual, name)
		}
	}
	if slices.Equal(names, usual) {
		return nil
	}
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
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
		return im.text(slug, v, name)
	}
	m := ir.Mode{Slug: slug, Pos: v.Pos, Name: field("name"), Description: field("description"),
		WhenToUse: field("whenToUse"), RoleDefinition: field("roleDefinition"),
		CustomInstructions: field("customInstructions")}
	if v.Comment != "" {
		im.out.Comments[m.Pos] = v.Comment
	}
	im.blankTexts(&m)
	fields := map[string]any{}
	mcp := im.groups(&m, v.Get("groups"))
	if names := im.order(&m, v.Get("groups")); names != nil {
		fields["groups"] = names
	}
	if list := v.Get("allowedMcpServers"); list != nil {
		im.allowedServers(&m, list, mcp)
	}
	if list := v.Get("mcpRestrictions"); list != nil {
		im.restrictions(&m, list)
	}
	m.Can.Modes = &ir.Table{Default: im.decision(ir.Modes, m.Pos)} // switch_mode and new_task are always there
	for _, member := range v.Members {
		switch member.Key {
		case "slug", "name", "description", "whenToUse", "roleDefinition", "customInstructions", "groups",
			"mcpRestrictions", "allowedMcpServers":
		case "rulesFiles":
			if im.exported(m.Pos.File) {
				im.rulesFiles(&m, member.Value)
				continue
			}
			im.out.Note(contract.Left, member.Pos, "mode "+m.Slug, member.Key,
				"the agent drops it from this file, and reads such texts of an export only: they stay here")
		case "source":
			if text, _ := format.Text(member.Value); format.IsSource(text, format.Stock) {
				fields[member.Key] = text
			}
		default:
			im.out.Note(contract.Left, member.Pos, "mode "+m.Slug, member.Key,
				"the agent does not read it: it stays here")
		}
	}
	if len(fields) > 0 {
		m.Extra = map[string]ir.Extra{im.target(): {Fields: fields, Pos: m.Pos}}
	}
	return m
}

// blankTexts puts other texts in place of a name and a role of white space.
func (im *importer) blankTexts(m *ir.Mode) {
	subject, blank := "mode "+m.Slug, strings.TrimSpace(m.Name) == ""
	if strings.TrimSpace(m.RoleDefinition) == "" {
		im.out.Note(contract.Repaired, m.Pos, subject, "roleDefinition",
			"it is white space, which the source does not take: the name stands there")
		if m.RoleDefinition = m.Name; blank {
			m.RoleDefinition = m.Slug
		}
	}
	if blank {
		im.out.Note(contract.Repaired, m.Pos, subject, "name",
			"it is white space, which the source does not take: the slug stands there")
		m.Name = m.Slug
	}
}

// decision is what a group that is there means for approval: it is left to the agent, whose
// user's own settings say it, unless these are said to approve it.
func (im *importer) decision(g ir.Group, at diag.Pos) *ir.Default {
	if slices.Contains(im.src.Approved, g) {
		return &ir.Default{Decision: ir.Allow, Pos: at}
	}
	return &ir.Default{Decision: ir.Agent, Pos: at}
}

// listed is what a rule for a part of a group means for approval: no rule leaves it to the agent, so
// that it is asked about.
func (im *importer) listed(g ir.Group) ir.Decision {
	if slices.Contains(im.src.Approved, g) {
		return ir.Allow
	}
	im.unsure = im.unsure || g != ir.Modes
	return ir.Ask
}

// neutral is the group of the source that a group of the agent is.
var neutral = map[string]ir.Group{"read": ir.Read, "edit": ir.Edit, "command": ir.Command, "mcp": ir.MCP,
	"modes": ir.Modes, "web": ir.Web, "browser": ir.Web}

// groups translates the groups of a mode and reports whether mcp is among them.
func (im *importer) groups(m *ir.Mode, list *located.Value) (mcp bool) {
	subject := "mode " + m.Slug
	for _, entry := range list.List() {
		first, options := entry, (*located.Value)(nil)
		if entry.Is(located.List) && len(entry.Items) == 2 {
			first, options = entry.Items[0], entry.Items[1]
		}
		name, _ := format.Text(first)
		if name == "browser" && im.dialect != format.Kilo {
			im.out.Note(contract.Left, entry.Pos, subject, name, "the agent drops this group")
			continue
		}
		if entry.Comment != "" {
			im.out.Comments[entry.Pos] = entry.Comment
		}
		what, g := "group "+name, neutral[name]
		for _, o := range options.Fields() {
			switch {
			case o.Key != "fileRegex" && o.Key != "description":
				im.out.Note(contract.Left, o.Pos, subject, name+" "+o.Key, "the agent drops this option")
			case o.Key == "description" && g != ir.Edit:
				im.out.Note(contract.Left, o.Pos, subject, name+" "+o.Key, "the agent shows that of edit alone")
			}
		}
		if g == ir.Edit {
			defer im.described(m, options)
		}
		if regex, _ := format.Text(options.Get("fileRegex")); regex != "" {
			what += " " + regex
			at := options.Get("fileRegex").Pos
			if g == ir.Edit {
				im.edit(m, fileRegex{regex, at, entry.Pos, what})
				continue
			}
			im.out.Note(contract.Left, at, subject, "fileRegex "+regex,
				"the agent ignores it outside of edit: the whole group is permitted")
		}
		im.out.NoteRule(contract.Understood, entry.Pos, subject, what, "")
		mcp = mcp || g == ir.MCP
		im.whole(m, g, entry.Pos)
	}
	return mcp
}

// whole gives a mode a group without an expression.
func (im *importer) whole(m *ir.Mode, g ir.Group, at diag.Pos) {
	def := im.decision(g, at)
	switch g {
	case ir.MCP:
		m.Can.MCP = &ir.MCPTable{Default: def}
	case ir.Read:
		m.Can.Read = &ir.Table{Default: def}
	case ir.Edit:
		m.Can.Edit = &ir.Table{Default: def}
	case ir.Command:
		m.Can.Command = &ir.Table{Default: def}
	case ir.Web:
		m.Can.Web = &ir.Table{Default: def}
	case ir.Modes: // always there, whether listed or not
	}
}

// described keeps what a group edit says for people about what may be edited.
func (im *importer) described(m *ir.Mode, options *located.Value) {
	text, _ := format.Text(options.Get("description"))
	if m.Can.Edit == nil || text == "" || text == format.EverythingElse {
		return
	}
	var globs []string
	for _, r := range m.Can.Edit.Rules {
		if r.Decision > ir.Deny {
			globs = append(globs, r.Pattern.Text)
		}
	}
	if text != strings.Join(globs, ", ") { // else the emitter writes it again
		m.Can.Edit.Description = im.asWritten(m.Slug, text)
	}
}

// fileRegex is the expression of a group edit.
type fileRegex struct {
	source    string
	at, group diag.Pos
	what      string // the group, for notes
}

// edit translates a fileRegex: what the emitter wrote back into what it was
// written from, a glob where that matches the same paths, else the expression.
func (im *importer) edit(m *ir.Mode, f fileRegex) {
	subject := "mode " + m.Slug
	t := &ir.Table{}
	decision := im.listed(ir.Edit)
	if format.TakesAll(f.source) { // as a group without an expression
		im.out.NoteRule(contract.Understood, f.at, subject, f.what, "")
		im.whole(m, ir.Edit, f.at)
		return
	}
	a := accessOf(f.source, im.known())
	if a.all {
		t.Default = &ir.Default{Decision: decision, Pos: f.at}
	}
	for _, re := range a.permits {
		if err := policy.CheckRegex(re); err != nil {
			im.out.NoteRule(contract.Refused, f.at, subject, f.what,
				fmt.Sprintf("nothing is permitted by it here: %v", err))
			continue
		}
		p := ir.Pattern{Kind: ir.Regex, Text: re}
		if glob, ok := globOf(re); ok && decision == ir.Allow {
			p = ir.Pattern{Text: glob}
		}
		t.Rules = append(t.Rules, ir.Rule{Decision: decision, Pattern: p, Pos: f.at})
		if c, ok := im.out.Comments[f.group]; ok {
			im.out.Comments[f.at] = c
		}
	}
	for _, d := range a.denies {
		if d.Kind == ir.Regex {
			if err := policy.CheckRegex(d.Text); err != nil { // what it denies cannot be said
				im.out.NoteRule(
					contract.Refused,
					f.at,
					subject,
					f.what,
					fmt.Sprintf("the mode loses the group: %v", err),
				)
				return
			}
		}
		rule := ir.Rule{Decision: ir.Deny, Pattern: d, Pos: f.at}
		if !slices.Contains(t.Rules, rule) {
			t.Rules = append(t.Rules, rule)
		}
	}
	m.Can.Edit = t
	if len(t.Rules) > 0 || a.all {
		im.out.NoteRule(contract.Understood, f.at, subject, f.what, "")
	}
	if a.outside && len(t.Rules) > 0 { // Roo labels such a path, and tests it like any other
		m.Can.OutsideEdit = &ir.Default{Decision: ir.Ask, Pos: f.at}
	}
}

// known are the denies that a mode has from the ignore file.
func (im *importer) known() map[string]bool {
	if im.ignored == nil {
		var globs []string
		for _, r := range im.ignores {
			globs = append(globs, r.Pattern.Text)
		}
		im.ignored = names(globs)
	}
	return im.ignored
}

// allowedServers translates the servers that a mode lists. It has none of them without the
// group mcp.
func (im *importer) allowedServers(m *ir.Mode, list *located.Value, mcp bool) {
	subject := "mode " + m.Slug
	if im.dialect != format.Zoo {
		im.out.Note(contract.Left, list.Pos, subject, "allowedMcpServers",
			"Roo Code drops this key: every server is permitted (`--from zoo` takes it)")
		return
	}
	names, ok := format.Texts(list)
	if !ok || !mcp {
		return
	}
	t := m.Can.MCP
	decision := t.Default.Decision
	t.Default = &ir.Default{Decision: ir.Deny, Pos: list.Pos}
	for i, name := range names {
		pos := list.Items[i].Pos
		if strings.ContainsAny(name, "*?") {
			im.out.NoteRule(contract.Refused, pos, subject, "allowedMcpServers "+name,
				"the agent takes it for a name, and the source for a pattern: it permits nothing")
		} else if s := im.server(name, pos, subject); s != nil {
			t.Entries = append(t.Entries, ir.MCPEntry{Key: s.server.Name, Literal: true, Pos: pos,
				Default: &ir.Default{Decision: decision, Pos: pos}})
			im.out.NoteRule(contract.Understood, pos, subject, "allowedMcpServers "+name, "")
		}
	}
	slices.SortFunc(t.Entries, func(a, b ir.MCPEntry) int { return strings.Compare(a.Key, b.Key) })
	t.Entries = slices.CompactFunc(t.Entries, func(a, b ir.MCPEntry) bool { return a.Key == b.Key })
}

// restrictionKeys are the keys of mcpRestrictions.
var restrictionKeys = []string{"allowedServers", "disallowedServers", "allowedTools", "disallowedTools"}

// restrictions translates mcpRestrictions.
func (im *importer) restrictions(m *ir.Mode, list *located.Value) {
	subject := "mode " + m.Slug
	f, err := format.ReadRestrictions(list)
	both := err == nil && f.BothServerLists()
	if err == nil && !both {
		err = f.Conflict()
	}
	if err != nil {
		im.out.NoteRule(contract.Refused, list.Pos, subject, "mcpRestrictions",
			err.Error()+", and Roo Code drops this key")
		return
	}
	why := "Roo Code 3.52.1 drops this key; it only holds back"
	if both {
		im.unread[list.Pos.File] = true
		why += "; of both lists of servers, what is disallowed wins, and a build writes the one that its schema takes"
	}
	if im.dialect == format.Stock {
		im.option("dialect", string(format.Restrictions))
		im.out.NoteRule(contract.Understood, list.Pos, subject, "mcpRestrictions", why)
	}
	for _, f := range list.Fields() {
		if !slices.Contains(restrictionKeys, f.Key) {
			im.out.NoteRule(contract.Refused, f.Pos, subject, f.Key,
				"mcpRestrictions has no such key, and its list is lost")
		}
	}
	m.Restrictions = &ir.MCPRestrictions{Pos: list.Pos,
		AllowedServers:    im.items(list.Get("allowedServers"), f.AllowedServers, subject),
		DisallowedServers: im.items(list.Get("disallowedServers"), f.DisallowedServers, subject),
		AllowedTools:      im.toolRefs(list.Get("allowedTools"), f.AllowedTools, subject),
		DisallowedTools:   im.toolRefs(list.Get("disallowedTools"), f.DisallowedTools, subject),
	}
}

// items returns a list of servers, nil where the field is missing.
func (im *importer) items(field *located.Value, names []format.Name, subject string) *[]ir.Item {
	if field == nil {
		return nil
	}
	items := []ir.Item{}
	for _, n := range names {
		if im.server(n.Text, n.At, subject) != nil {
			items = append(items, ir.Item{Name: n.Text, Pos: n.At})
		}
	}
	return &items
}

// toolRefs returns a list of tools, nil where the field is missing.
func (im *importer) toolRefs(field *located.Value, tools []format.Tool, subject string) *[]ir.ToolRef {
	if field == nil {
		return nil
	}
	refs := []ir.ToolRef{}
	for _, t := range tools {
		if s := im.server(t.Server.Text, t.Server.At, subject); s != nil {
			s.tool(t.Tool.Text, t.Tool.At)
			refs = append(refs, ir.ToolRef{Server: t.Server.Text, Tool: t.Tool.Text, Pos: t.Tool.At})
		}
	}
	return &refs
}
