package contract

import (
	"encoding"
	"fmt"
	"strings"
)

// QuoteTOML writes text as a basic string of TOML on one line.
func QuoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	escapeTOML(&b, s, false)
	b.WriteByte('"')
	return b.String()
}

// textTOML writes a text of several lines as it is read.
func textTOML(s string) string {
	if !strings.Contains(s, "\n") {
		return QuoteTOML(s)
	}
	var b strings.Builder
	b.WriteString("\"\"\"\n")
	escapeTOML(&b, s, true)
	b.WriteString(`"""`)
	return b.String()
}

// escapeTOML writes the inside of a basic string, or of one of many lines.
func escapeTOML(b *strings.Builder, s string, manyLines bool) {
	quotes := 0 // those that stand together
	for _, c := range s {
		if c != '"' {
			quotes = 0
		}
		switch {
		case c == '\n' && manyLines:
			b.WriteRune(c)
		case c == '"':
			if quotes++; !manyLines || quotes == 3 {
				b.WriteByte('\\')
				quotes = 0
			}
			b.WriteByte('"')
		case c == '\\':
			b.WriteString(`\\`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case Unprintable(c):
			fmt.Fprintf(b, `\u%04X`, c)
		default:
			b.WriteRune(c)
		}
	}
	if quotes > 0 && manyLines { // before those that end the text
		whole := strings.TrimSuffix(b.String(), strings.Repeat(`"`, quotes))
		b.Reset()
		b.WriteString(whole + strings.Repeat(`\"`, quotes))
	}
}

// bareTOML returns a key, in quotes where TOML wants them.
func bareTOML(key string) string {
	if key != "" && all(key, func(c rune) bool { return slugCharacter(c) || c == '_' }) {
		return key
	}
	return QuoteTOML(key)
}

// InlineTOML writes a value of texts, numbers, bools, lists and [Object]s on one line. It panics for any other value,
// which is a defect of the caller.
func InlineTOML(v any) string {
	switch v := v.(type) {
	case string:
		return QuoteTOML(v)
	case []string:
		return listTOML(v)
	case []any:
		return listTOML(v)
	case []Object:
		return listTOML(v)
	case Object:
		var parts []string
		for i := 0; i+1 < len(v); i += 2 {
			parts = append(parts, bareTOML(v[i].(string))+" = "+InlineTOML(v[i+1]))
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case bool, int, int64, float64:
		return fmt.Sprint(v)
	case encoding.TextMarshaler:
		text, err := v.MarshalText()
		if err == nil {
			return QuoteTOML(string(text))
		}
	}
	panic(fmt.Sprintf("contract.InlineTOML: got a %T", v))
}

// linesTOML writes a list of several objects with one on each line.
func linesTOML(list []Object) string {
	if len(list) < 2 {
		return listTOML(list)
	}
	var b strings.Builder
	b.WriteString("[\n")
	for _, o := range list {
		b.WriteString("  " + InlineTOML(o) + ",\n")
	}
	return b.String() + "]"
}

func listTOML[T any](list []T) string {
	parts := make([]string, len(list))
	for i, item := range list {
		parts[i] = InlineTOML(item)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// TOML writes an object as a document: what is no object first, then its tables. An object in a table stays on one
// line, unless all that the table has are objects, and so does each of several objects in a list.
func TOML(o Object) []byte {
	var b strings.Builder
	tableTOML(&b, "", o)
	return []byte(strings.TrimPrefix(b.String(), "\n"))
}

func tableTOML(b *strings.Builder, name string, o Object) {
	var lines, tables Object
	parent := true // it has nothing but tables
	for i := 0; i+1 < len(o); i += 2 {
		if _, ok := o[i+1].(Object); !ok {
			parent = false
		}
	}
	for i := 0; i+1 < len(o); i += 2 {
		if _, table := o[i+1].(Object); table && (name == "" || parent) {
			tables = append(tables, o[i], o[i+1])
		} else {
			lines = append(lines, o[i], o[i+1])
		}
	}
	if name != "" && (len(lines) > 0 || len(o) == 0) {
		b.WriteString("\n[" + name + "]\n")
	}
	for i := 0; i+1 < len(lines); i += 2 {
		key, value := bareTOML(lines[i].(string)), lines[i+1]
		switch value := value.(type) {
		case string:
			b.WriteString(key + " = " + textTOML(value) + "\n")
		case Object:
			for j := 0; j+1 < len(value); j += 2 {
				b.WriteString(key + "." + bareTOML(value[j].(string)) + " = " + InlineTOML(value[j+1]) + "\n")
			}
		case []Object:
			b.WriteString(key + " = " + linesTOML(value) + "\n")
		default:
			b.WriteString(key + " = " + InlineTOML(value) + "\n")
		}
	}
	for i := 0; i+1 < len(tables); i += 2 {
		below := bareTOML(tables[i].(string))
		if name != "" {
			below = name + "." + below
		}
		tableTOML(b, below, tables[i+1].(Object))
	}
}

// Comment returns a text without what would end a comment.
func Comment(s string) string {
	return strings.Map(func(c rune) rune {
		if Unprintable(c) {
			return '?'
		}
		return c
	}, s)
}
