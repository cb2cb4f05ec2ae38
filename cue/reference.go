package cue

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// Reference returns the schema's reference as Markdown, made from its comments: a
// section for each definition, a paragraph for each field.
func Reference() (string, error) {
	var b strings.Builder
	b.WriteString("# Reference of the source\n\nGenerated from the schema's comments. " +
		"A field with `!` is required; every other may be left out.\n")
	for _, f := range Files() {
		file, err := parser.ParseFile(f.Name, f.Data, parser.ParseComments)
		if err != nil {
			return "", err
		}
		for _, d := range file.Decls {
			field, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			name, _, err := ast.LabelName(field.Label)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "\n## %s\n", name)
			if doc := comment(field); doc != "" {
				fmt.Fprintf(&b, "\n%s\n", doc)
			}
			body, ok := field.Value.(*ast.StructLit)
			if !ok {
				fmt.Fprintf(&b, "\n`%s`\n", source(field.Value))
				continue
			}
			for _, e := range body.Elts {
				member(&b, e)
			}
		}
	}
	return b.String(), nil
}

// member writes the paragraph of a field.
func member(b *strings.Builder, d ast.Decl) {
	switch d := d.(type) {
	case *ast.EmbedDecl:
		fmt.Fprintf(b, "\nEverything of `%s`, and:\n", source(d.Expr))
	case *ast.Field:
		name, _, err := ast.LabelName(d.Label)
		if err != nil { // a pattern: [string]
			name = source(d.Label)
		}
		if d.Constraint == token.NOT {
			name += "!"
		}
		fmt.Fprintf(b, "\n**`%s`** `%s`", name, source(d.Value))
		if doc := comment(d); doc != "" {
			fmt.Fprintf(b, "  \n%s", doc)
		}
		b.WriteByte('\n')
	}
}

func source(n ast.Node) string {
	out, err := format.Node(n)
	if err != nil {
		return "?"
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// comment joins the comment before a node into one paragraph.
func comment(n ast.Node) string {
	var words []string
	for _, g := range ast.Comments(n) {
		if g.Doc {
			words = append(words, strings.Fields(g.Text())...)
		}
	}
	return strings.Join(words, " ")
}
