package migrate

import (
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue/literal"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/render"
	"modec.dev/modec/compiler/source"
)

// value is a value that is written into a source.
type value struct {
	text   *string
	raw    string // CUE
	items  []*value
	isList bool
	fields []field
}

type field struct {
	name  string
	value *value
}

func text(s string) *value { return &value{text: &s} }

func list(items ...*value) *value { return &value{isList: true, items: items} }

func texts(items []string) *value {
	l := list()
	for _, s := range items {
		l.items = append(l.items, text(s))
	}
	return l
}

func object(name string, v *value) *value { return &value{fields: []field{{name, v}}} }

func textMap(m map[string]string) *value {
	v := &value{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v.fields = append(v.fields, field{k, text(m[k])})
	}
	return v
}

// nested returns a value below some names.
func nested(at []string, v *value) *value {
	for _, name := range slices.Backward(at) {
		v = object(name, v)
	}
	return v
}

// patternValue returns how a source says a pattern.
func patternValue(p ir.Pattern, all string) *value {
	switch p.Kind {
	case ir.Regex:
		return object("regex", text(p.Text))
	case ir.Builtin, ir.Risk:
		p.Text = "@" + p.Text
	case ir.All:
		return text(all)
	}
	if p.Args == "" {
		return text(p.Text)
	}
	args := &value{}
	for _, f := range p.Args.Fields() {
		args.fields = append(args.fields, field{f.Name, text(f.Value)})
	}
	return &value{fields: []field{{"tool", text(p.Text)}, {"args", args}}}
}

// same reports whether a source says the value.
func (v *value) same(n *source.Node) bool {
	switch {
	case v.text != nil:
		return n.Kind == source.String && n.Text == *v.text
	case len(v.fields) > 0 && n.Kind == source.Struct && len(n.Fields) == len(v.fields):
		differs := func(f field) bool { have := n.Get(f.name); return have == nil || !f.value.same(have) }
		return !slices.ContainsFunc(v.fields, differs)
	}
	return false
}

// cue writes the value as CUE.
func (v *value) cue() string {
	return v.write(func(s string) string {
		if strings.Contains(s, "\n") {
			return literal.String.WithGraphicOnly().WithOptionalTabIndent(1).Quote(s)
		}
		if strings.ContainsAny(s, `\"`) && !strings.Contains(s, `"#`) && !strings.Contains(s, `\#`) &&
			!strings.HasSuffix(s, `"`) {
			return `#"` + s + `"#`
		}
		return literal.String.WithGraphicOnly().Quote(s)
	}, render.Label)
}

// json writes the value as JSON, which is YAML too.
func (v *value) json() string {
	quote := func(s string) string { return string(contract.JSONLine(s)) }
	return v.write(quote, quote)
}

// yaml writes the value as YAML for a line of an indentation: a text of several lines as a block.
func (v *value) yaml(indent string) string {
	if v.text == nil || strings.HasPrefix(*v.text, " ") || strings.TrimRight(*v.text, "\n")+"\n" < *v.text {
		return v.json()
	}
	body, ended := strings.CutSuffix(*v.text, "\n")
	if !strings.Contains(body, "\n") || strings.ContainsFunc(body, func(r rune) bool { return r < ' ' && r != '\n' }) {
		return v.json()
	}
	mark := "|-"
	if ended {
		mark = "|"
	}
	block := strings.ReplaceAll("\n"+body, "\n", "\n"+indent+"  ")
	return mark + strings.ReplaceAll(block, "\n"+indent+"  \n", "\n\n")
}

func (v *value) write(quote, key func(string) string) string {
	switch {
	case v.raw != "":
		return v.raw
	case v.text != nil:
		return quote(*v.text)
	case v.isList:
		var out []string
		for _, x := range v.items {
			out = append(out, x.write(quote, key))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	var out []string
	for _, f := range v.fields {
		out = append(out, key(f.name)+": "+f.value.write(quote, key))
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func chain(at []string) string {
	var b strings.Builder
	for _, name := range at {
		b.WriteString(render.Label(name) + ": ")
	}
	return b.String()
}
