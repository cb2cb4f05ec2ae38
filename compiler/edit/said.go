package edit

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/source"
	schema "modec.dev/modec/cue"
)

// Owner is who says something in a source: a mode, a role or a policy.
type Owner struct {
	Kind, Name string // "mode", "architect"
}

// sections are the fields of a source in which the kinds of owners stand.
var sections = map[string]string{"mode": "modes", "role": "roles", "policy": "policies"}

// editable are the fields of an owner that permit or describe, by kind. Others, such as prompts and variables, have
// their own places.
var editable = map[string][]string{
	"mode": {"description", "extends", "can", "mcpRestrictions"},
	"role": {"description", "permissionMode", "extends", "modes", "can", "allowedTools", "askTools",
		"disallowedTools"},
	"policy": {"description", "extends", "can"},
}

// ParseOwner reads what [Owner.String] wrote.
func ParseOwner(s string) (Owner, error) {
	kind, name, ok := strings.Cut(s, " ")
	if !ok || sections[kind] == "" || name == "" {
		return Owner{}, fmt.Errorf("got %q, want mode, role or policy and a name", s)
	}
	return Owner{kind, name}, nil
}

// String writes the owner as a person does: "mode architect".
func (o Owner) String() string { return o.Kind + " " + o.Name }

// At returns the place of something that an owner says.
func (o Owner) At(path ...string) []string {
	return append([]string{sections[o.Kind], o.Name}, path...)
}

// Ref returns the subject that the owner is; false for a policy.
func (o Owner) Ref() (ir.SubjectRef, bool) {
	switch o.Kind {
	case "mode":
		return ir.SubjectRef{Mode: o.Name}, true
	case "role":
		return ir.SubjectRef{Role: o.Name}, true
	}
	return ir.SubjectRef{}, false
}

// Check fails for a change of anything but what modes, roles and policies permit.
func Check(c migrate.Change) error {
	for kind, section := range sections {
		named := len(c.At) > 2 && !slices.Contains(c.At, "")
		if named && c.At[0] == section && slices.Contains(editable[kind], c.At[2]) {
			return nil
		}
	}
	return fmt.Errorf("got a change of %s, want one of what a mode, a role or a policy permits",
		strings.Join(c.At, "."))
}

// Owners returns the modes, roles and policies of a source, in its order.
func Owners(root *source.Node) (list []Owner) {
	for _, kind := range []string{"mode", "role", "policy"} {
		if n := root.Get(sections[kind]); n != nil {
			for _, f := range n.Fields {
				list = append(list, Owner{kind, f.Name})
			}
		}
	}
	return list
}

// Parents returns what an owner can extend and does not: policies, those of modec too, and others of its kind.
func Parents(root *source.Node, of Owner) (names []string) {
	add := func(n *source.Node, kind string) {
		if n = n.Get(sections[kind]); n == nil {
			return
		}
		for _, f := range n.Fields {
			if (Owner{kind, f.Name}) != of && !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	add(root, "policy")
	for _, f := range schema.Builtins() {
		if n, err := source.ParseData(f.Name, f.Data); err == nil {
			add(n, "policy")
		}
	}
	add(root, of.Kind)
	have := get(root, of.At("extends"))
	return slices.DeleteFunc(names, func(name string) bool {
		return have != nil && slices.ContainsFunc(have.Elems, func(e *source.Node) bool { return e.Text == name })
	})
}

// Part is a list or a word of an owner.
type Part struct {
	At    []string
	Items []Item // of a list; one for a word
	Word  bool
	Pos   diag.Pos
}

// Name names the part below its owner: "can.command.allow".
func (p Part) Name() string {
	var b strings.Builder
	for i, name := range p.At[2:] {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(diag.Label(name))
	}
	return b.String()
}

// Item is an item of a list, or a word.
type Item struct {
	Value string
	Pos   diag.Pos
	// Out takes it out.
	Out migrate.Change
}

// Said returns what an owner says itself of what it permits.
func Said(root *source.Node, of Owner) (parts []Part) {
	for _, name := range editable[of.Kind] {
		if n := get(root, of.At(name)); n != nil {
			parts = append(parts, said(n, of.At(name))...)
		}
	}
	return parts
}

func said(n *source.Node, at []string) (parts []Part) {
	switch n.Kind {
	case source.String:
		out := migrate.Change{At: at, Do: migrate.Unset}
		if len(at) == 3 && at[2] == "description" {
			out.Do = migrate.Say
		}
		return []Part{{At: at, Word: true, Pos: n.Pos, Items: []Item{{n.Text, n.Pos, out}}}}
	case source.List:
		p := Part{At: at, Pos: n.Pos}
		for _, e := range n.Elems {
			out := migrate.Change{At: at, Do: migrate.Drop, Value: e.Text}
			switch {
			case e.Get("regex") != nil:
				out.Value, out.Form, out.Times = e.Get("regex").Text, migrate.RegexItem, timesOf(e)
			case e.Get("rule") != nil:
				out.Value, out.Times = e.Get("rule").Text, timesOf(e)
			case e.Get("serverName") != nil && e.Get("toolName") != nil:
				out.Value, out.Form = e.Get("serverName").Text+":"+e.Get("toolName").Text, migrate.ToolItem
			}
			name := out.Value
			if tool, args := e.Get("tool"), e.Get("args"); tool != nil && args != nil {
				globs := map[string]string{}
				for _, f := range args.Fields {
					globs[f.Name] = f.Node.Text
				}
				out.Value, out.Times = tool.Text, timesOf(e)
				out.Args, _ = ir.NewArgs(globs)
				name = tool.Text + " with " + out.Args.String()
			}
			p.Items = append(p.Items, Item{name, e.Pos, out})
		}
		return []Part{p}
	}
	for _, f := range n.Fields {
		parts = append(parts, said(f.Node, append(slices.Clip(at), f.Name))...)
	}
	return parts
}

// timesOf returns the times of an item.
func timesOf(n *source.Node) ir.Times {
	text := func(name string) string {
		if f := n.Get(name); f != nil {
			return f.Text
		}
		return ""
	}
	return ir.Times{From: text("from"), Until: text("until"), Daily: text("daily"), Zone: text("zone")}
}

func get(n *source.Node, at []string) *source.Node {
	for _, name := range at {
		n = n.Get(name)
	}
	return n
}
