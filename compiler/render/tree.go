package render

import (
	"fmt"
	"strings"
	"unicode"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"
)

// tree is a CUE value on its way to text: a scalar, a list or a struct.
type tree struct {
	comment string // the lines before it, without marks
	key     string // of a struct's field
	scalar  string // CUE
	text    string // a string; written according to where it stands
	isText  bool
	raw     bool // an expression, whose backslashes stay as they are
	list    []*tree
	isList  bool
	fields  []*tree
	block   bool // a struct on lines of its own, however short
}

func text(s string) *tree       { return &tree{text: s, isText: true} }
func raw(s string) *tree        { return &tree{text: s, isText: true, raw: true} }
func scalar(cue string) *tree   { return &tree{scalar: cue} }
func list(items ...*tree) *tree { return &tree{list: items, isList: true} }

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

// setText adds a field of text that is not empty.
func (t *tree) setText(key, s string) {
	if s != "" {
		t.set(key, text(s))
	}
}

// file writes a data file as `cue fmt` would.
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
		return nil, fmt.Errorf("what was written is no CUE: %w", err)
	}
	return out, nil
}

func indent(b *strings.Builder, depth int) {
	for range depth {
		b.WriteByte('\t')
	}
}

// field writes a field on lines of its own. A struct of a single field is
// written behind its key: `can: edit: "allow"`.
func (t *tree) field(b *strings.Builder, depth int) {
	v, path := t, label(t.key)+": "
	comments(b, depth, v.comment)
	for len(v.fields) == 1 {
		v = v.fields[0]
		path += label(v.key) + ": "
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

// short reports whether a value fits on one line of n characters and has no
// comment inside.
func (t *tree) short(n int) bool {
	var b strings.Builder
	return t.plain(2) && func() bool { t.inline(&b); return len([]rune(b.String())) <= n }()
}

// plain reports whether nothing below has a comment or a line break, and
// structs nest no deeper than depth.
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
			b.WriteString(label(f.key) + ": ")
			for len(f.fields) == 1 {
				f = f.fields[0]
				b.WriteString(label(f.key) + ": ")
			}
			f.inline(b)
		}
		b.WriteByte('}')
	}
}

func label(key string) string {
	if ast.StringLabelNeedsQuoting(key) {
		return literal.String.WithGraphicOnly().Quote(key)
	}
	return key
}

// quoteRaw writes an expression so that its backslashes need no others.
func quoteRaw(s string) string {
	if strings.ContainsAny(s, `\"`) && !strings.Contains(s, `"#`) && !strings.Contains(s, `\#`) && !strings.HasSuffix(s, `"`) && printable(s) == s {
		return `#"` + s + `"#`
	}
	return literal.String.WithGraphicOnly().Quote(s)
}

// printable takes out of a comment what ends a line or reorders it.
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
