package importer

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/opencode/format"
)

// agent is an agent of a file.
type agent struct {
	name   string
	at     diag.Pos
	v      *located.Value // what is said of it
	prompt string
	file   string // Markdown of its own, as a build names it; "": it is one of the settings
}

// markdown makes a mode of an agent in Markdown.
func (im *importer) markdown(in input, data []byte) {
	at := diag.Pos{File: in.at, Line: 1, Col: 1}
	root, text, err := format.FrontMatter(in.at, data)
	if err == nil && !root.Is(located.Object) {
		root = &located.Value{Kind: located.Object, Pos: at}
	}
	if err != nil {
		im.out.Note(contract.Refused, at, "", in.at, im.by.Title+" reads no front matter of this file ("+
			strings.TrimPrefix(located.Reason(err), in.at+": ")+"), and gives its agent "+im.by.WithoutFrontMatter+
			": mend it")
		return
	}
	name := im.by.agentAt(in.file)
	if own, ok := root.Get("name").Str(); ok && own != "" {
		name = own
	}
	if _, place, problem := format.ReadPermission(root.Get("permission"), im.by.Nulls); problem != "" {
		im.out.Refuse(in.at)
		im.diags.Errorf(im.by.Code, place, "%s %s this file: %s", im.by.Title, im.by.Refuses, problem)
		return
	}
	if im.agent(agent{name: name, at: at, v: root, prompt: text, file: in.file}) {
		im.tree[in.file] = data
	}
	if root.Comment != "" {
		im.out.Comments[at] = root.Comment
	}
}

// agent makes a mode of an agent. It returns false where the agent stays where it is.
func (im *importer) agent(a agent) bool {
	slug := contract.Slug(a.name)
	of := "mode " + slug
	left := func(why string) bool {
		im.out.Note(contract.Left, a.at, "", a.name, why)
		return false
	}
	switch {
	case a.v.Get("disable").True():
		return left("it turns the agent off, and stays in force")
	case a.file == "" && len(a.v.Fields()) == 0 && slices.Contains(im.by.BuiltIn, a.name):
		return left("it says nothing of an agent that is there without it")
	case im.by.Reserved[a.name] != "":
		return left(im.by.Reserved[a.name] + ": it stays where it is")
	case takesBack(a.v.Get("permission")):
		return left("a null in it takes back what another file says: it stays where it is")
	case hasNUL(a.v) || strings.ContainsRune(a.name+a.prompt, 0):
		return left("it has a NUL character, which the source cannot say: it stays where it is")
	case slug == "":
		return left(contract.NoSlug + ": it stays where it is")
	}
	for other, m := range im.modes {
		if strings.EqualFold(other, slug) {
			return left("the agent at " + m.Pos.String() + " has this name: this one stays where it is")
		}
	}
	m := ir.Mode{Slug: slug, Pos: a.at, Name: a.name}
	m.WhenToUse, _ = a.v.Get("description").Str()
	own := map[string]any{}
	if slug != a.name {
		own["name"] = a.name
		im.out.Note(contract.Kept, a.at, of, "name "+a.name,
			"a slug has letters, digits and dashes: it is "+slug+", and keeps its name in "+im.by.Title)
	}
	if a.file != "" {
		own["file"] = a.file
	}
	im.prompt(&m, a, own, of)
	im.fields(a, own, of)
	rules := format.WithTools(a.v.Get("tools"), im.permissionOf(a.v))
	m.Can.Default = &ir.Default{Decision: ir.Agent, Pos: a.at}
	m.Native = im.rules(rules, of, a.name, own)
	m.Targets = im.out.Keep(im.by.Name, contract.DeniesAny(m.Native), a.at, of)
	if len(rules) == 0 {
		im.out.NoteRule(contract.Understood, a.at, of, a.name+" without a permission", "it has all of the session's")
	}
	if len(own) > 0 {
		m.Extra = map[string]ir.Extra{im.by.Name: {Fields: own, Pos: a.at}}
	}
	if a.v.Comment != "" {
		im.out.Comments[a.at] = a.v.Comment
	}
	im.modes[slug] = m
	return true
}

// hasNUL reports whether a text somewhere in a value has a NUL character.
func hasNUL(v *located.Value) bool {
	text, _ := v.Str()
	return strings.ContainsRune(text, 0) || slices.ContainsFunc(v.List(), hasNUL) ||
		slices.ContainsFunc(v.Fields(), func(m located.Member) bool {
			return strings.ContainsRune(m.Key, 0) || hasNUL(m.Value)
		})
}

// prompt says what an agent is told. One without a prompt of its own has that of the program.
func (im *importer) prompt(m *ir.Mode, a agent, own map[string]any, of string) {
	text, at := a.prompt, a.at
	if a.file == "" {
		text, _ = a.v.Get("prompt").Str()
		if v := a.v.Get("prompt"); v != nil {
			at = v.Pos
		}
	}
	m.RoleDefinition = strings.TrimSpace(text)
	switch refers := strings.Contains(text, "{file:") || strings.Contains(text, "{env:"); {
	case a.file == "" && refers:
		own["prompt"] = text
		m.RoleDefinition = ""
		im.out.Note(contract.Kept, at, of, "prompt",
			"it stays as it is written: "+im.by.Title+" puts in what it refers to")
	case m.RoleDefinition == "":
		own["prompt"] = ""
		im.out.Note(contract.Kept, at, of, "prompt", "there is none: the agent has "+im.by.Title+"'s own")
	case a.file == "" && text != m.RoleDefinition:
		own["prompt"] = text
	}
	if m.RoleDefinition == "" {
		m.RoleDefinition = m.WhenToUse
	}
	if m.RoleDefinition == "" {
		m.RoleDefinition = "You are " + a.name + "."
	}
}

// fields keeps what the agent says for this program alone.
func (im *importer) fields(a agent, own map[string]any, of string) {
	other := map[string]any{}
	for _, f := range a.v.Fields() {
		switch f.Key {
		case "description", "permission", "tools", "prompt", "name", "disable":
			continue
		case "model", "mode", "color", "variant":
			if _, ok := f.Value.Str(); ok {
				own[f.Key] = f.Value.Any()
				continue
			}
		case "steps", "temperature", "top_p":
			if f.Value.Is(located.Number) {
				own[f.Key] = f.Value.Any()
				continue
			}
		case "hidden":
			if f.Value.Is(located.Bool) {
				own[f.Key] = f.Value.True()
				continue
			}
		}
		if !contract.TakesSetting(im.by.Name, "other."+f.Key) {
			im.out.Note(contract.Left, f.Pos, of, f.Key, "modec does not know it: it stays in the file")
			continue
		}
		other[f.Key] = f.Value.Any()
		im.out.Note(contract.Kept, f.Pos, of, f.Key, "a setting for "+im.by.Title+" alone")
	}
	if len(other) > 0 {
		own["other"] = other
	}
	if a.v.Get("mode") == nil && slices.Contains(im.by.BuiltIn, a.name) {
		own["mode"] = ""
		im.out.Note(contract.Kept, a.at, of, "mode", "there is none: the agent has "+im.by.Title+"'s own")
	}
}

// permissionOf returns the rules of an agent, or of a file.
func (im *importer) permissionOf(v *located.Value) []format.Rule {
	rules, _, _ := format.ReadPermission(v.Get("permission"), im.by.Nulls)
	return rules
}

// takesBack reports whether a permission has a null in the place of a decision.
func takesBack(v *located.Value) bool {
	return v.Is(located.Null) ||
		slices.ContainsFunc(v.Fields(), func(m located.Member) bool { return takesBack(m.Value) })
}

// rules keeps rules as they are written. A report names them by the entry that has them.
func (im *importer) rules(rules []format.Rule, of, entry string, own map[string]any) (out []ir.NativeRule) {
	for _, r := range rules {
		out = append(out, ir.NativeRule{Target: im.by.Name, Decision: r.Decision, Text: r.Text(), Pos: r.At, Own: true})
		what := entry + " " + r.String()
		if r.Form == format.Listed && entry == "permission" {
			what = "tools " + r.String()
		}
		im.out.NoteRule(contract.Kept, r.At, of, what, "it stays as it is written, for "+im.by.Title+" alone: of its "+
			"rules the last one that matches decides, and no other agent reads rules so")
	}
	if order := format.Order(rules); order != nil {
		var list []any
		for _, text := range order {
			list = append(list, text)
		}
		own["order"] = list
	}
	return out
}
