package roo

import (
	"fmt"
	"strings"

	"modec.dev/modec/compiler/contract"
)

// cleaned are the characters that Roo rewrites in the raw text before it parses
// a modes file (PROBLEMATIC_CHARS in CustomModesManager.ts): no-break space,
// zero-width characters, dashes and curly quotes. Escaped in a double-quoted
// scalar they survive.
const cleaned = "\u00A0\u200B\u200C\u200D\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2018\u2019\u201C\u201D"

// escaped reports whether a character must not stand in the file as it is.
func escaped(r rune) bool {
	return strings.ContainsRune(cleaned, r) || r != '\n' && contract.Unprintable(r)
}

// quote writes text as a double-quoted scalar that survives the cleaning.
func quote(s string) string { return contract.QuoteYAML(s, escaped) }

// scalar writes text at an indentation: on one line where it is one, else as a
// literal block where that says the text to the letter, else double-quoted with
// one line of the file for each of the text.
func scalar(s string, indent string) string {
	switch {
	case !strings.Contains(strings.TrimRight(s, "\n"), "\n"):
		return quote(s)
	case literal(s):
		chomp := "-"
		if strings.HasSuffix(s, "\n") {
			s, chomp = s[:len(s)-1], ""
		}
		return "|" + chomp + "\n" + indentLines(strings.Split(s, "\n"), indent)
	}
	lines := strings.SplitAfter(s, "\n")
	for i, l := range lines {
		l = quote(l)
		l = l[1 : len(l)-1]
		if strings.HasPrefix(l, " ") {
			l = `\` + l // else it would be taken for indentation
		}
		lines[i] = l + `\` // the text's line break is escaped, and the file's is ignored
	}
	last := len(lines) - 1
	lines[last] = strings.TrimSuffix(lines[last], `\`) + `"`
	return `"\` + "\n" + indentLines(lines, indent)
}

// literal reports whether a literal block reproduces the text to the letter: nothing
// is escaped in it, its first line shows the indentation, and its end is plain.
func literal(s string) bool {
	indented := strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n")
	trailing := strings.HasSuffix(s, "\n\n") || strings.HasSuffix(strings.TrimSuffix(s, "\n"), " ")
	if indented || trailing {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if line != "" && strings.TrimSpace(line) == "" {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return escaped(r) || r == '\t' })
}

func indentLines(lines []string, indent string) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if l != "" {
			b.WriteString(indent + l)
		}
	}
	return b.String()
}

func writeYAML(modes []mode) []byte {
	var b strings.Builder
	b.WriteString("# Written by modec from the project's source; edits are overwritten.\n")
	if len(modes) == 0 {
		b.WriteString("customModes: []\n")
		return []byte(b.String())
	}
	b.WriteString("customModes:\n")
	for _, m := range modes {
		fmt.Fprintf(&b, "  - slug: %s\n", quote(m.slug))
		for _, f := range m.texts() {
			fmt.Fprintf(&b, "    %s: %s\n", f.key, scalar(f.text, "      "))
		}
		if len(m.groups) == 0 {
			b.WriteString("    groups: []\n")
		} else {
			b.WriteString("    groups:\n")
		}
		for _, g := range m.groups {
			if g.regex == "" {
				fmt.Fprintf(&b, "      - %s\n", g.name)
				continue
			}
			fmt.Fprintf(&b, "      - - %s\n        - fileRegex: %s\n", g.name, quote(g.regex))
			if g.description != "" {
				fmt.Fprintf(&b, "          description: %s\n", quote(g.description))
			}
		}
		switch {
		case m.tools != nil:
			b.WriteString("    mcpRestrictions:\n" +
				"      allowedServers:" + list(*m.servers, "        ") +
				"      allowedTools:\n")
			for _, t := range *m.tools {
				fmt.Fprintf(&b, "        - serverName: %s\n          toolName: %s\n", quote(t.server), quote(t.tool))
			}
		case m.servers != nil:
			b.WriteString("    allowedMcpServers:" + list(*m.servers, "      "))
		}
		if m.source != "" {
			fmt.Fprintf(&b, "    %s: %s\n", quote("source"), quote(m.source))
		}
	}
	return []byte(b.String())
}

func list(items []string, indent string) string {
	if len(items) == 0 {
		return " []\n"
	}
	var b strings.Builder
	b.WriteByte('\n')
	for _, i := range items {
		b.WriteString(indent + "- " + quote(i) + "\n")
	}
	return b.String()
}

type keyText struct{ key, text string }

// texts lists a mode's texts in Roo's order, the empty optional ones left out.
func (m *mode) texts() []keyText {
	out := []keyText{{"name", m.name}, {"roleDefinition", m.role}}
	optional := []keyText{
		{"whenToUse", m.when},
		{"description", m.description},
		{"customInstructions", m.custom},
	}
	for _, f := range optional {
		if f.text != "" {
			out = append(out, f)
		}
	}
	return out
}

func writeJSON(modes []mode) []byte {
	list := []any{}
	for _, m := range modes {
		o := contract.Object{"slug", m.slug}
		for _, f := range m.texts() {
			o = append(o, f.key, f.text)
		}
		groups := []any{}
		for _, g := range m.groups {
			if g.regex == "" {
				groups = append(groups, g.name)
			} else {
				limit := contract.Object{"fileRegex", g.regex}
				if g.description != "" {
					limit = append(limit, "description", g.description)
				}
				groups = append(groups, []any{g.name, limit})
			}
		}
		o = append(o, "groups", groups)
		switch {
		case m.tools != nil:
			tools := []any{}
			for _, t := range *m.tools {
				tools = append(tools, contract.Object{"serverName", t.server, "toolName", t.tool})
			}
			o = append(o, "mcpRestrictions", contract.Object{"allowedServers", *m.servers, "allowedTools", tools})
		case m.servers != nil:
			o = append(o, "allowedMcpServers", *m.servers)
		}
		if m.source != "" {
			o = append(o, "source", m.source)
		}
		list = append(list, o)
	}
	return marshal(contract.Object{"customModes", list})
}

// marshal writes JSON indented by two spaces, with what Roo would rewrite
// escaped: outside of a string none of it can stand.
func marshal(v any) []byte { return escapedJSON(contract.JSON(v)) }

func escapedJSON(data []byte) []byte {
	var out strings.Builder
	for _, r := range string(data) {
		if escaped(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return []byte(out.String())
}
