package render

import (
	"fmt"
	"strings"
	"unicode"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"
)

// tree is a CUE value before it is written: a scalar, a list or a struct.
type tree struct {
	comment string // the lines before it, without marks
	key     string // of a struct's field
	scalar  string // CUE
	text    string // a string; its quotes depend on where it is written
	isText  bool
	raw     bool // a regular expression, whose backslashes stay as they are
	list    []*tree
	isList  bool
	fields  []*tree
	block   bool // a struct on lines of its own, however short
}

func text(s string) *tree     { return &tree{text: s, isText: true} }
func raw(s string) *tree      { return &tree{text: s, isText: true, raw: true} }
func scalar(cue string) *tree { return &tree{scalar: cue} }
func list() *tree             { return &tree{isList: true} }

func texts(items []string) *tree {
	l := list()
	for _, s := range items {
		l.list = append(l.list, text(s))
	}
	return l
}

// set adds a field.
func (t *tree) set(key string, v *tree) {
	v.key = key
	t.fields = append(t.fields, v)
}

// get returns a field, nil for one that is not there.
func (t *tree) get(key string) *tree {
	for _, f := range t.fields {
		if f.key == key {
			return f
		}
	}
	return nil
}

// setText adds a text field unless the text is empty.
func (t *tree) setText(key, s string) {
	if s != "" {
		t.set(key, text(s))
	}
}

// file writes a data file, formatted as by `cue fmt`.
func file(root *tree) ([]byte, error) {
	var b strings.Builder
	b.WriteString("package modec\n\n")
	for i, f := range root.fields {
		if i > 0 {
			b.WriteString("\n")
		}
		f.field(&b, 0)
	}
	out, err := format.Source([]byte(b.String()))
	if err != nil {
		return nil, fmt.Errorf("cannot be written as CUE: %w", err)
	}
	return out, nil
}

func indent(b *strings.Builder, depth int) {
	for range depth {
		b.WriteByte('\t')
	}
}

// field writes a field on lines of its own. A struct with a single field follows its key on
// the same line: `can: edit: "allow"`.
func (t *tree) field(b *strings.Builder, depth int) {
	v, path := t, Label(t.key)+": "
	comments(b, depth, v.comment)
	for len(v.fields) == 1 {
		v = v.fields[0]
		path += Label(v.key) + ": "
		comments(b, depth, v.comment)
	}
	indent(b, depth)
	b.WriteString(path)
	v.value(b, depth)
	b.WriteByte('\n')
}

func comments(b *strings.Builder, depth int, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		indent(b, depth)
		b.WriteString(strings.TrimRight("// "+printable(line), " ") + "\n")
	}
}

// oneLine is the length up to which a list or a struct stays on one line.
const oneLine = 76

func (t *tree) value(b *strings.Builder, depth int) {
	switch {
	case t.isText && t.raw:
		b.WriteString(quoteRaw(t.text))
	case t.isText:
		b.WriteString(literal.String.WithGraphicOnly().WithOptionalTabIndent(depth + 1).Quote(t.text))
	case t.scalar != "":
		b.WriteString(t.scalar)
	case !t.block && t.short(oneLine), !t.block && len(t.fields) == 1 && t.short(4*oneLine):
		t.inline(b)
	case t.isList:
		b.WriteString("[\n")
		for _, item := range t.list {
			comments(b, depth+1, item.comment)
			indent(b, depth+1)
			item.value(b, depth+1)
			b.WriteString(",\n")
		}
		indent(b, depth)
		b.WriteString("]")
	default:
		b.WriteString("{\n")
		for _, f := range t.fields {
			f.field(b, depth+1)
		}
		indent(b, depth)
		b.WriteString("}")
	}
}

// short reports whether a value has no comment inside and fits on a line of n characters.
func (t *tree) short(n int) bool {
	if !t.plain(2) {
		return false
	}
	var b strings.Builder
	t.inline(&b)
	return len([]rune(b.String())) <= n
}

// plain reports whether nothing below a value has a comment or a line break, and no struct
// nests deeper than depth.
func (t *tree) plain(depth int) bool {
	if t.isText && strings.Contains(t.text, "\n") || len(t.fields) > 0 && depth == 0 {
		return false
	}
	for _, x := range append(t.list[:len(t.list):len(t.list)], t.fields...) {
		if x.comment != "" || !x.plain(depth-1) {
			return false
		}
	}
	return true
}

// inline writes a value on one line.
func (t *tree) inline(b *strings.Builder) {
	switch {
	case t.isList:
		b.WriteByte('[')
		for i, x := range t.list {
			if i > 0 {
				b.WriteString(", ")
			}
			x.inline(b)
		}
		b.WriteByte(']')
	case t.isText || t.scalar != "":
		t.value(b, 0)
	default:
		b.WriteByte('{')
		for i, f := range t.fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(Label(f.key) + ": ")
			for len(f.fields) == 1 {
				f = f.fields[0]
				b.WriteString(Label(f.key) + ": ")
			}
			f.inline(b)
		}
		b.WriteByte('}')
	}
}

// Label writes a field's name, in quotes where CUE needs them.
func Label(name string) string {
	if ast.StringLabelNeedsQuoting(name) {
		return quoted(name)
	}
	return name
}

// quoted writes a text on one line.
func quoted(s string) string { return literal.String.WithGraphicOnly().Quote(s) }

// quoteRaw writes a regular expression without escaping its backslashes, where that is
// possible.
func quoteRaw(s string) string {
	ends := strings.Contains(s, `"#`) || strings.HasSuffix(s, `"`)
	if strings.ContainsAny(s, `\"`) && !ends && !strings.Contains(s, `\#`) && printable(s) == s {
		return `#"` + s + `"#`
	}
	return quoted(s)
}

// printable returns a text without the characters that end a line or reorder it.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) || !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, s)
}
