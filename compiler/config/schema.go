package config

import (
	"fmt"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Schema writes the schema of modec.toml as CUE, from the declarations that [Load]
// checks by.
func Schema(all []contract.Target) string {
	w := &schemaWriter{}
	w.line("// The schema of modec.toml.")
	w.open("#Config: {")
	w.options(projectOptions)
	w.doc("What to compile for: a table for each target, empty for its defaults.")
	w.open("targets?: {")
	for i, t := range all {
		if i > 0 {
			w.line("")
		}
		w.doc(t.Summary())
		w.open(t.Name() + "?: {")
		w.options(append([]contract.Option{}, t.Options()...))
		w.doc("As on_loss above, for this target; or a table by tool group.")
		w.line("on_loss?: #OnLoss | {[" + cueStrings(groupNames()) + "]: #OnLoss}")
		w.doc("As partial above, for this target.")
		w.line("partial?: " + cueStrings(partialChoices))
		w.close()
	}
	w.close()
	w.line("")
	w.doc("Widenings that the source permits in writing. " +
		"Each is listed by every build; one that has expired is an error.")
	w.open("exceptions?: [...{")
	for i, o := range exceptionKeys {
		if i > 0 {
			w.line("")
		}
		w.doc(o.Doc)
		typ := "string & !=\"\""
		if o.Type == "date" {
			typ = `string & =~"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"`
		}
		needed := "!: "
		if o.Name == subjectKey {
			needed = "?: "
		}
		w.line(o.Name + needed + typ)
	}
	w.depth--
	w.line("}]")
	w.line("")
	w.doc("Where hooks, gateway and servers write what was asked, allowed and refused. Without it they write nothing.")
	w.open("audit?: {")
	for _, o := range auditOptions {
		w.doc(o.Doc)
		if o.Name == "file" {
			w.line(o.Name + "!: string & =~#\"\\" + ir.AuditEnding + "$\"#")
		} else {
			w.line(diag.Label(o.Name) + "?: " + cueType(o))
		}
		w.line("")
	}
	w.trim()
	w.close()
	w.line("")
	w.gatewaySchema()
	w.doc("What modec lint looks for: the severity of each rule, or off.")
	w.open("lint?: {")
	w.options(lintOptions(all))
	w.trim()
	w.close()
	w.close()
	w.line("")
	w.line("#OnLoss: " + cueStrings(onLossChoices))
	return w.b.String()
}

type schemaWriter struct {
	b     strings.Builder
	depth int
}

func (w *schemaWriter) line(s string) {
	if s != "" {
		s = strings.Repeat("\t", w.depth) + s
	}
	w.b.WriteString(s + "\n")
}

func (w *schemaWriter) open(s string) { w.line(s); w.depth++ }
func (w *schemaWriter) close()        { w.depth--; w.line("}") }

// doc writes a comment, wrapped.
func (w *schemaWriter) doc(text string) {
	const width = 76
	line := "//"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > width && line != "//" {
			w.line(line)
			line = "//"
		}
		line += " " + word
	}
	w.line(line)
}

func (w *schemaWriter) options(options []contract.Option) {
	for _, o := range options {
		w.doc(o.Doc)
		w.line(diag.Label(o.Name) + "?: " + cueType(o))
		w.line("")
	}
}

// trim takes the last empty line away.
func (w *schemaWriter) trim() {
	text := strings.TrimSuffix(w.b.String(), "\n")
	w.b.Reset()
	w.b.WriteString(text)
}

// cueType writes an option's type, its default marked with *.
func cueType(o contract.Option) string {
	switch o.Type {
	case contract.Bool:
		return withDefault("bool", o.Default)
	case contract.Int:
		if len(o.Choices) == 0 {
			return withDefault("int", o.Default)
		}
		return choices(o.Choices, fmt.Sprint(o.Default), func(s string) string { return s })
	case contract.Strings:
		if len(o.Choices) == 0 {
			return "[...string]"
		}
		return "[..." + choices(o.Choices, "", strconv.Quote) + "]"
	}
	if len(o.Choices) == 0 {
		return withDefault("string", o.Default)
	}
	return choices(o.Choices, fmt.Sprint(o.Default), strconv.Quote)
}

func withDefault(typ string, def any) string {
	if def == nil {
		return typ
	}
	return fmt.Sprintf("*%#v | %s", def, typ)
}

func choices(list []string, def string, quote func(string) string) string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = quote(c)
		if c == def {
			out[i] = "*" + out[i]
		}
	}
	return strings.Join(out, " | ")
}

func cueStrings(list []string) string { return choices(list, "", strconv.Quote) }
