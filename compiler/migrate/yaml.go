package migrate

import (
	"bytes"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/source"
)

// yamlScalar returns where a value of one line stands in YAML.
func yamlScalar(text []byte, n *source.Node) (from, to int, ok bool) {
	start, end := lineAt(text, n.Pos.Line)
	if from = start + n.Pos.Col - 1; from >= end || n.Kind == source.Struct || n.Kind == source.List {
		return 0, 0, false
	}
	line := strings.TrimRight(string(text[from:end]), "\r\n")
	if v, _, found := strings.Cut(line, " #"); found {
		line = v
	}
	line = strings.TrimRight(line, " \t")
	if strings.HasPrefix(line, "|") || strings.HasPrefix(line, ">") {
		return from, yamlBlock(text, n.Pos.Line), n.Kind == source.String
	}
	if is(n, line) {
		return from, from + len(line), true
	}
	_, to, ok = flowItem(text, n.Pos)
	return from, to, ok && is(n, string(text[from:to]))
}

// is reports whether a text of YAML is a value of one line.
func is(n *source.Node, text string) bool {
	one, err := source.ParseData("x.yaml", []byte(text))
	return err == nil && one.Kind == n.Kind && one.Text == n.Text
}

// flowItem returns where an item of a list or a map in brackets begins and ends; false where none begins there, or
// its end is not seen.
func flowItem(text []byte, at diag.Pos) (from, to int, ok bool) {
	start, end := lineAt(text, at.Line)
	if from = start + at.Col - 1; from >= end {
		return 0, 0, false
	}
	depth := 0
	for i := from; i < len(text); i++ {
		before := bytes.TrimRight(text[from:i], " \t\n")
		begins := len(before) == 0 || bytes.IndexByte([]byte("[{,:"), before[len(before)-1]) >= 0
		switch c := text[i]; {
		case (c == '"' || c == '\'') && begins:
			length := quotedEnd(text[i:])
			if length == 0 {
				return 0, 0, false
			}
			i += length - 1
		case c == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\n'), c == '\r',
			(c == '&' || c == '*' || c == '!') && begins:
			return 0, 0, false // a comment, an anchor or a tag
		case c == '[' || c == '{':
			depth++
		case depth > 0 && (c == ']' || c == '}'):
			depth--
		case depth == 0 && (c == ',' || c == ']' || c == '}'):
			return from, from + len(before), true
		}
	}
	return 0, 0, false
}

// quotedEnd returns how long the quoted text is with which a text of YAML begins, 0 where it does not end.
func quotedEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[0] == '"' && text[i] == '\\':
			i++
		case text[i] == text[0] && text[0] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case text[i] == text[0]:
			return i + 1
		}
	}
	return 0
}

// withComma returns an item in brackets with the comma behind it, or before the last one.
func withComma(text []byte, from, to int) (int, int) {
	if rest := bytes.TrimLeft(text[to:], " \t\n"); bytes.HasPrefix(rest, []byte(",")) {
		rest = bytes.TrimLeft(rest[1:], " \t")
		return from, len(text) - len(rest)
	}
	if before := bytes.TrimRight(text[:from], " \t\n"); bytes.HasSuffix(before, []byte(",")) {
		return len(before) - 1, to
	}
	return from, to
}

// yamlBlock returns where a block of text of YAML ends, without its last line break: its lines are
// further in than the one that begins it.
func yamlBlock(text []byte, line int) (to int) {
	from, next := lineAt(text, line)
	depth := len(indentAt(text, from+len(bytes.TrimRight(text[from:next], "\r\n"))))
	for to = next; next < len(text); {
		line++
		from, next = lineAt(text, line)
		switch bare := strings.TrimRight(string(text[from:next]), " \t\r\n"); {
		case bare == "":
			continue
		case len(bare)-len(strings.TrimLeft(bare, " ")) <= depth:
			return len(bytes.TrimRight(text[:to], "\r\n"))
		}
		to = next
	}
	return len(bytes.TrimRight(text[:to], "\r\n"))
}

// yamlEntry returns where the lines of a map's entry of YAML begin and end, the line of its name first. An entry
// that shares its lines with others, or has comments, has none of its own.
func yamlEntry(text []byte, key source.Field) (from, to int, ok bool) {
	depth := key.Pos.Col - 1
	from, to = lineAt(text, key.Pos.Line)
	if from+depth >= to || len(indentAt(text, from+depth)) != depth || bytes.Contains(text[from:to], []byte(" #")) {
		return 0, 0, false
	}
	for line := key.Pos.Line + 1; ; line++ {
		start, next := lineAt(text, line)
		bare := strings.TrimRight(string(text[start:next]), " \t\r\n")
		inner := strings.TrimLeft(bare, " ")
		in := len(bare) - len(inner)
		item := key.Node.Kind == source.List && in == depth && (inner == "-" || strings.HasPrefix(inner, "- "))
		switch {
		case start == next, bare != "" && in <= depth && !item:
			return from, to, true
		case strings.HasPrefix(inner, "#"), strings.Contains(inner, " #"):
			return 0, 0, false
		case bare != "":
			to = next
		}
	}
}

// yamlEnd returns where an item is added to a list of YAML, and what stands before it.
func yamlEnd(text []byte, n *source.Node) (at int, before string, ok bool) {
	if len(n.Elems) == 0 {
		return 0, "", false
	}
	last := n.Elems[len(n.Elems)-1]
	from, to := lineAt(text, last.Pos.Line)
	line := string(text[from:to])
	if last.Pos.Col > len(line) || last.Kind != source.String {
		return 0, "", false
	}
	if before = line[:last.Pos.Col-1]; strings.TrimSpace(before) == "-" {
		if !strings.HasSuffix(line, "\n") {
			return 0, "", false
		}
		return to, before, true
	}
	end := flowEnd(line[last.Pos.Col-1:])
	return from + last.Pos.Col - 1 + end, ", ", end > 0
}

// flowEnd returns where the last item of a list of YAML in brackets ends, 0 where that is not seen.
func flowEnd(rest string) int {
	end := strings.IndexAny(rest, ",]")
	if quote := rest[0]; quote == '"' || quote == '\'' {
		i := strings.IndexByte(rest[1:], quote)
		if end = i + 2; i < 0 || strings.ContainsRune(rest[:end], '\\') {
			return 0
		}
	}
	if end < 0 || !strings.HasPrefix(strings.TrimLeft(rest[end:], " ,"), "]") {
		return 0
	}
	return end
}
