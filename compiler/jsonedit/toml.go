package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"
)

// isTOML reports whether a file is a TOML document, and not JSON.
func isTOML(data []byte) bool {
	text := bytes.TrimSpace(bytes.TrimPrefix(data, byteOrderMark))
	if len(text) == 0 || text[0] == '{' || text[0] == '/' { // an object or a comment: no line of TOML begins so
		return false
	}
	if _, err := hujson.Parse(append(bytes.Clone(data), '\n')); err == nil {
		return false
	}
	_, err := fromTOML(data)
	return err == nil
}

// fromTOML returns a TOML document as JSON.
func fromTOML(data []byte) ([]byte, error) {
	all := map[string]any{}
	if err := toml.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// mergeTOML is Merge for TOML documents: what is decided is decided as in JSON, and written line by line.
func mergeTOML(have, want []byte, p Pattern, owned []Entries, force bool) (Result, error) {
	var wanted []byte
	if want != nil {
		var err error
		if wanted, err = fromTOML(want); err != nil {
			return Result{}, fmt.Errorf("the artifact is not TOML: %w", err)
		}
	}
	if len(bytes.TrimSpace(have)) == 0 {
		res, err := Merge(nil, wanted, p, owned, force)
		res.Data = want
		return res, err
	}
	is, err := fromTOML(have)
	if err != nil {
		return Result{}, err
	}
	res, err := Merge(is, wanted, p, owned, force)
	doc := readTOML(have)
	for i := range res.Conflicts {
		res.Conflicts[i].Line = doc.line(split(res.Conflicts[i].Place))
	}
	if err != nil || len(res.Conflicts) > 0 {
		return res, err
	}
	next := res.Data
	if next == nil {
		next = []byte("{}")
	}
	data, err := doc.say(next)
	if err != nil {
		return Result{}, err
	}
	if res.Data == nil && len(bytes.TrimSpace(data)) == 0 {
		return res, nil
	}
	if res.Data = data; want != nil && res.Entries[""] == Container && bytes.Equal(next, wanted) && doc.plain() {
		res.Data = want
	}
	return res, nil
}

// tomlDocument is a TOML document by its lines.
type tomlDocument struct {
	text  string
	lines []string // with their ends
	parts []tomlPart
}

// tomlPart is a header of a table, or a key with its value.
type tomlPart struct {
	path     []string
	header   bool
	from, to int // its lines
}

func readTOML(data []byte) *tomlDocument {
	d := &tomlDocument{text: string(data), lines: strings.SplitAfter(string(data), "\n")}
	var p unstable.Parser
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		var path []string
		first := -1
		for it := e.Key(); it.Next(); {
			if key := it.Node(); first < 0 {
				first = p.Shape(key.Raw).Start.Line - 1
			}
			path = append(path, string(it.Node().Data))
		}
		if e.Kind == unstable.KeyValue {
			path = append(slices.Clone(table), path...)
		} else {
			table = path
		}
		d.parts = append(d.parts, tomlPart{path: path, header: e.Kind != unstable.KeyValue, from: first})
	}
	for i := range d.parts {
		end := len(d.lines)
		if i+1 < len(d.parts) {
			end = d.parts[i+1].from
		}
		for end > d.parts[i].from+1 {
			line := strings.TrimSpace(d.lines[end-1])
			if line != "" && line[0] != '#' {
				break
			}
			end--
		}
		d.parts[i].to = end
	}
	return d
}

// plain reports whether a document has no comment.
func (d *tomlDocument) plain() bool {
	return !slices.ContainsFunc(d.lines, func(line string) bool { return strings.Contains(line, "#") })
}

// line returns the line of what stands at a place, 1 for nothing.
func (d *tomlDocument) line(path []string) int {
	for _, p := range d.parts {
		if under(p.path, path) {
			return p.from + 1
		}
	}
	return 1
}

// under reports whether a path is another one, or below it.
func under(path, top []string) bool {
	return len(path) >= len(top) && slices.Equal(path[:len(top)], top)
}

var errTOML = errors.New("an entry cannot be changed without breaking the file: write it as a table of its own")

// say returns the document that says what JSON does. What it says already keeps its lines.
func (d *tomlDocument) say(want []byte) ([]byte, error) {
	is, err := fromTOML([]byte(d.text))
	if err != nil {
		return nil, err
	}
	var have, next map[string]any
	if err := errors.Join(number(is, &have), number(want, &next)); err != nil {
		return nil, err
	}
	e := tomlEdit{doc: d, gone: map[int]bool{}, after: map[int]string{}}
	e.table(nil, have, next)
	text := e.text()
	made, err := fromTOML([]byte(text))
	if err != nil {
		return nil, errTOML
	}
	var got map[string]any
	if err := number(made, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(next) {
		return nil, errTOML
	}
	return []byte(text), nil
}

func number(data []byte, into *map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

// tomlEdit collects what becomes of the lines of a document.
type tomlEdit struct {
	doc   *tomlDocument
	gone  map[int]bool   // lines
	after map[int]string // by the number of lines before it: a text
	end   string
}

// table writes what differs in a table.
func (e *tomlEdit) table(path []string, have, want map[string]any) {
	for _, key := range sorted(have, want) {
		at := append(slices.Clip(path), key)
		was, before := have[key]
		is, now := want[key]
		switch from, a := was.(map[string]any); {
		case before && now && fmt.Sprint(was) == fmt.Sprint(is):
		case !now:
			e.remove(at)
		case a && len(from) > 0 && isEmptyTable(is) && !e.written(at):
			e.remove(at) // with the last of its members: it has no line of its own
			delete(want, key)
		case before && a && isTable(is) && e.headed(at):
			e.table(at, from, is.(map[string]any))
		case before && e.replace(at, is):
		default:
			e.remove(at)
			e.add(path, at, is)
		}
	}
}

func isTable(v any) bool { _, ok := v.(map[string]any); return ok }

func isEmptyTable(v any) bool { t, ok := v.(map[string]any); return ok && len(t) == 0 }

// written reports whether a key has a line of its own, and not only one of what is below it.
func (e *tomlEdit) written(path []string) bool {
	return slices.ContainsFunc(e.doc.parts, func(p tomlPart) bool { return slices.Equal(p.path, path) })
}

// headed reports whether the members of a table have lines of their own.
func (e *tomlEdit) headed(path []string) bool {
	return !slices.ContainsFunc(e.doc.parts, func(p tomlPart) bool { return !p.header && slices.Equal(p.path, path) })
}

// remove takes the lines of a key away, and a blank one behind a table.
func (e *tomlEdit) remove(path []string) {
	for _, p := range e.doc.parts {
		if !under(p.path, path) {
			continue
		}
		for i := p.from; i < p.to; i++ {
			e.gone[i] = true
		}
		blank := func(i int) bool { return i < 0 || i >= len(e.doc.lines) || strings.TrimSpace(e.doc.lines[i]) == "" }
		if i := p.to; i < len(e.doc.lines) && blank(i) && (blank(p.from-1) || e.gone[p.from-1]) {
			e.gone[i] = true
		}
	}
}

// replace writes a value in the place of another one. It returns false where either has lines of a table.
func (e *tomlEdit) replace(path []string, v any) bool {
	if isTable(v) {
		return false
	}
	i := slices.IndexFunc(e.doc.parts, func(p tomlPart) bool { return !p.header && slices.Equal(p.path, path) })
	if i < 0 {
		return false
	}
	p := e.doc.parts[i]
	for line := p.from; line < p.to; line++ {
		e.gone[line] = true
	}
	e.after[p.from] += keysTOML(path[len(path)-1:]) + " = " + inlineTOML(v) + "\n"
	return true
}

// add writes a key: a value behind those that its table has, and a table behind the tables beside it.
func (e *tomlEdit) add(table, path []string, v any) {
	key := keysTOML(path[len(path)-1:])
	if !isTable(v) {
		line := key + " = " + inlineTOML(v) + "\n"
		for i := len(e.doc.parts) - 1; i >= 0; i-- {
			p := e.doc.parts[i]
			if own := p.header && slices.Equal(p.path, table); own ||
				!p.header && slices.Equal(p.path[:len(p.path)-1], table) {
				e.after[p.to] += line
				return
			}
		}
		if len(table) == 0 {
			e.after[0] += line
			return
		}
		e.end += "\n[" + keysTOML(table) + "]\n" + line
		return
	}
	text := tablesTOML(path, v.(map[string]any))
	for i := len(e.doc.parts) - 1; i >= 0 && len(table) > 0; i-- {
		if p := e.doc.parts[i]; under(p.path, table) {
			e.after[p.to] += "\n" + text
			return
		}
	}
	e.end += "\n" + text
}

// text returns the document.
func (e *tomlEdit) text() string {
	var b strings.Builder
	put := func(s string) {
		if s == "" {
			return
		}
		if b.Len() == 0 {
			s = strings.TrimPrefix(s, "\n")
		} else if !strings.HasSuffix(b.String(), "\n") {
			b.WriteString("\n")
		}
		b.WriteString(s)
	}
	for i, line := range e.doc.lines {
		put(e.after[i])
		if !e.gone[i] {
			b.WriteString(line)
		}
	}
	put(e.after[len(e.doc.lines)])
	put(e.end)
	if strings.HasSuffix(e.doc.text, "\r\n") {
		return strings.ReplaceAll(strings.ReplaceAll(b.String(), "\r\n", "\n"), "\n", "\r\n")
	}
	return b.String()
}

// tablesTOML writes a table with those in it.
func tablesTOML(path []string, v map[string]any) string {
	var lines, tables strings.Builder
	for _, key := range sorted(v, nil) {
		if t, ok := v[key].(map[string]any); ok {
			tables.WriteString("\n" + tablesTOML(append(slices.Clip(path), key), t))
			continue
		}
		lines.WriteString(keysTOML([]string{key}) + " = " + inlineTOML(v[key]) + "\n")
	}
	head := "[" + keysTOML(path) + "]\n"
	if lines.Len() == 0 && tables.Len() > 0 {
		return strings.TrimPrefix(tables.String(), "\n")
	}
	return head + lines.String() + tables.String()
}

// keysTOML writes keys with dots between them.
func keysTOML(path []string) string {
	parts := make([]string, len(path))
	for i, key := range path {
		odd := func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}
		if parts[i] = key; key == "" || strings.ContainsFunc(key, odd) {
			parts[i] = inlineTOML(key)
		}
	}
	return strings.Join(parts, ".")
}

// inlineTOML writes a value in a line.
func inlineTOML(v any) string {
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = inlineTOML(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, key := range sorted(v, nil) {
			parts = append(parts, keysTOML([]string{key})+" = "+inlineTOML(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case string:
		text, err := json.Marshal(v) // which is a basic string too, but for DEL
		if err == nil {
			return strings.ReplaceAll(string(text), "\x7f", `\u007f`)
		}
	}
	return fmt.Sprint(v)
}

// sorted returns the keys of two objects.
func sorted(a, b map[string]any) (keys []string) {
	for _, m := range []map[string]any{a, b} {
		for key := range m {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}
