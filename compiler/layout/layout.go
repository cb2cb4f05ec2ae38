// Package layout keeps how a person laid out a file that modec writes. An agent's file says the
// same in many forms: keys in another order, other quotes, a comment. [Style.Keep] returns what modec
// would write with the lines of what is there wherever both say the same.
//
// It works on YAML, on the front matter of Markdown, and on JSON. A value of YAML that differs is written in the
// place and the style of the old one, with its anchors and comments, where that is of one line or in brackets. A file
// whose lines all end as on Windows keeps these ends. What it makes is read again: where that is not what modec would
// write to the letter of its values, modec's own bytes hold.
package layout

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/located"
)

// Style says how a file is read, and what counts in it.
type Style struct {
	// Read returns what a file says, as its agent reads it, and the text after it: the prompt
	// of Markdown, "" where a file has none. Places are those of the file.
	Read func(data []byte) (v *located.Value, rest string, err error)
	// List is the key of the list whose items are compared one by one, and ID the key that tells
	// them apart; "": the file has no such list.
	List, ID string
	// Ignored reports whether an agent ignores a key of the file or of an item: a person's line of
	// it stays.
	Ignored func(key string) bool
	// Optional reports whether an empty text of a key says as much as no such key.
	Optional func(key string) bool
	// Same reports whether two values of a key mean the same to the agent. It is asked about those
	// that differ; nil: they do not.
	Same func(key string, a, b *located.Value) bool
	// Comment begins the lines that are a person's in a file of lines whose order says nothing, such as
	// one of ignored files; "": the file is of another form, which Read reads.
	Comment string
	// Line returns a line of such a file in the form in which a build writes it; nil: as it is.
	Line func(line string) string
}

// Keep returns want with the lines of have that say the same, and have itself where all of it does. What is
// not laid out in lines is for rewrite, the editor of JSON files. A value that differs is written in the style of
// have with inPlace, else as a build writes it where there is no file.
func (s *Style) Keep(
	have, want []byte, rewrite func(have, want []byte, id string) ([]byte, error), inPlace bool,
) []byte {
	if s == nil || bytes.Equal(have, want) || len(have) == 0 {
		return want
	}
	if plain := bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n")); len(plain) < len(have) {
		ends := func(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")) }
		if bytes.ContainsRune(plain, '\r') || bytes.ContainsRune(want, '\r') || !bytes.Equal(ends(plain), have) {
			return want // the line ends differ, or a return is in a text
		}
		return ends(s.Keep(plain, want, rewrite, inPlace))
	}
	if bytes.ContainsRune(have, '\r') {
		return want
	}
	if s.Comment != "" {
		return s.lines(have, want)
	}
	old, err := s.open(have)
	if err != nil {
		return want
	}
	next, err := s.open(want)
	if err != nil {
		return want
	}
	if s.equal(old, next) {
		return have
	}
	if out := s.tried(s.merged, old, next, inPlace); out != nil {
		return out
	}
	if out, err := rewrite(have, want, s.ID); err == nil {
		if made, err := s.open(out); err == nil && s.equal(made, next) {
			return out
		}
		return want
	}
	if out := s.tried(s.inPlace, old, next, inPlace); out != nil {
		return out
	}
	return want
}

// tried merges in each way until the result says what the new document does, nil where none does.
func (s *Style) tried(
	merge func(old, next *document, h how) ([]byte, bool), old, next *document, inPlace bool,
) []byte {
	ways := []how{rewriteKeys}
	if inPlace {
		ways = []how{keepAliases, replaceAliases, rewriteKeys}
	}
	for _, h := range ways {
		out, ok := merge(old, next, h)
		if !ok {
			continue
		}
		if !strings.HasSuffix(old.text, "\n") {
			out = bytes.TrimSuffix(out, []byte("\n"))
		}
		made, err := s.open(out)
		switch {
		case err != nil:
		case s.equal(made, next):
			return out
		case h == keepAliases:
			old = made // an alias says now what its anchor says
		}
	}
	return nil
}

// lines returns the lines of have that want has too, with a person's between them, and the rest of want.
func (s *Style) lines(have, want []byte) []byte {
	theirs := func(line string) bool { return line == "" || strings.HasPrefix(line, s.Comment) }
	var wanted, kept []string
	for line := range strings.Lines(string(want)) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "!") {
			return want // the order counts
		} else if !theirs(line) {
			wanted = append(wanted, line)
		}
	}
	written := func(line string) string {
		if s.Line != nil && !slices.Contains(wanted, line) {
			return s.Line(line)
		}
		return line
	}
	said := map[string]bool{}
	for line := range strings.Lines(string(have)) {
		line = strings.TrimSuffix(line, "\n")
		is := written(line)
		if slices.Contains(wanted, is) {
			said[is] = true
		} else if !theirs(line) {
			continue
		}
		kept = append(kept, line)
	}
	if len(said) == 0 {
		return want
	}
	for _, line := range wanted {
		if !said[line] {
			kept = append(kept, line)
		}
	}
	if text := strings.Join(kept, "\n"); text != strings.TrimSuffix(string(have), "\n") {
		return []byte(text + "\n")
	}
	return have
}

// document is a file that was read.
type document struct {
	root  *located.Value
	rest  string
	text  string
	lines []string // with their line breaks
}

func (s *Style) open(data []byte) (*document, error) {
	root, rest, err := s.Read(data)
	if err != nil {
		return nil, err
	}
	if s.List != "" && documents.Match(data) {
		return nil, errDocuments
	}
	return &document{root, rest, string(data), strings.SplitAfter(string(data), "\n")}, nil
}

var (
	documents    = regexp.MustCompile(`\n(---|\.\.\.)(\s|$)`)
	errDocuments = errors.New("got several documents")
)

func (s *Style) equal(a, b *document) bool {
	return strings.Trim(a.rest, "\n") == strings.Trim(b.rest, "\n") && s.sameObject(a.root, b.root)
}

// sameObject compares the keys of two objects that count.
func (s *Style) sameObject(a, b *located.Value) bool {
	if !a.Is(located.Object) || !b.Is(located.Object) || doubtful(a) || doubtful(b) {
		return false
	}
	for _, m := range a.Members {
		if b.Get(m.Key) == nil && !s.ignored(m) {
			return false
		}
	}
	for _, m := range b.Members {
		if there := a.Get(m.Key); there == nil || !s.sameKey(m.Key, there, m.Value) {
			return false
		}
	}
	return true
}

// ignored reports whether a member says nothing to the agent.
func (s *Style) ignored(m located.Member) bool {
	if s.Ignored != nil && s.Ignored(m.Key) {
		return true
	}
	text, ok := m.Value.Str()
	return ok && strings.TrimSpace(text) == "" && !m.Value.Marked && s.Optional != nil && s.Optional(m.Key)
}

// doubtful reports whether readers may differ on what an object says: it has a key twice, or a merge
// key.
func doubtful(v *located.Value) bool {
	seen := map[string]bool{}
	for _, m := range v.Members {
		if seen[m.Key] || m.Key == "<<" {
			return true
		}
		seen[m.Key] = true
	}
	return false
}

func (s *Style) sameKey(key string, a, b *located.Value) bool {
	if key == s.List && s.List != "" && a.Is(located.List) && b.Is(located.List) {
		return slices.EqualFunc(a.Items, b.Items, s.sameObject)
	}
	return Equal(a, b) || s.Same != nil && !a.Marked && !b.Marked && s.Same(key, a, b)
}

// SameText reports whether two texts differ at most in line breaks at their ends: a block of YAML ends in one, while
// the last one of front matter may not.
func SameText(a, b *located.Value) bool {
	x, text := a.Str()
	y, also := b.Str()
	return text && also && strings.TrimRight(x, "\n") == strings.TrimRight(y, "\n")
}

// Equal compares values to the letter. The order of keys does not count.
func Equal(a, b *located.Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Marked || b.Marked || a.Kind != b.Kind || a.Text != b.Text ||
		len(a.Members) != len(b.Members) || doubtful(a) || doubtful(b) {
		return false
	}
	for _, m := range a.Members {
		if there := b.Get(m.Key); there == nil || !Equal(m.Value, there) {
			return false
		}
	}
	return slices.EqualFunc(a.Items, b.Items, Equal)
}

// merged lays the values of one document into the lines of another. It reports false where the
// lines do not tell the values apart.
func (s *Style) merged(old, next *document, h how) ([]byte, bool) {
	if s.List == "" {
		return s.front(old, next, h)
	}
	was, ok := s.list(old)
	if !ok {
		return nil, false
	}
	is, ok := s.list(next)
	if !ok {
		return nil, false
	}
	var out strings.Builder
	out.WriteString(strings.Join(old.lines[:was.items[0].from], ""))
	for _, it := range is.items {
		text := ended(shifted(strings.Join(next.lines[it.from:it.to], ""), is.dash, was.dash))
		if i := slices.IndexFunc(was.items, func(x item) bool { return x.id == it.id }); i >= 0 {
			there := was.items[i]
			if s.sameObject(there.value, it.value) {
				text = ended(strings.Join(old.lines[there.from:there.to], ""))
			} else if made, ok := s.object(old, next, &there.block, &it.block, h); ok {
				text = made
			}
		}
		out.WriteString(text)
	}
	out.WriteString(strings.Join(old.lines[was.items[len(was.items)-1].to:], ""))
	return []byte(out.String()), true
}

// front merges front matter. The prompt after it is the new one, where it differs, below as many empty lines as the
// old one.
func (s *Style) front(old, next *document, h how) ([]byte, bool) {
	was, ok := blockOf(old, old.root, len(old.lines))
	if !ok {
		return nil, false
	}
	is, ok := blockOf(next, next.root, len(next.lines))
	if !ok || was.col != is.col {
		return nil, false
	}
	was.to, is.to = closing(old, was), closing(next, is)
	if was.to < 0 || is.to < 0 {
		return nil, false
	}
	made, ok := s.object(old, next, &was, &is, h)
	if !ok {
		return nil, false
	}
	rest := strings.Join(old.lines[was.to:], "")
	if prompt := strings.TrimLeft(next.rest, "\n"); strings.Trim(old.rest, "\n") != strings.TrimRight(prompt, "\n") {
		empty := len(old.rest) - len(strings.TrimLeft(old.rest, "\n"))
		if empty == len(old.rest) || prompt == "" { // there is none on one side
			empty = len(next.rest) - len(prompt)
		}
		rest = ended(old.lines[was.to]) + strings.Repeat("\n", empty) + prompt
	}
	return []byte(strings.Join(old.lines[:was.from], "") + made + rest), true
}

// closing returns the line that ends front matter, or a file without a text after it; -1 where there is none.
func closing(d *document, b block) int {
	for i := b.from; i < len(d.lines); i++ {
		if strings.TrimRight(d.lines[i], "\n") == "---" {
			return i
		}
	}
	if d.rest == "" {
		return len(d.lines)
	}
	return -1
}

// block is an object in block style: its keys begin lines of their own, in one column.
type block struct {
	value    *located.Value
	from, to int // lines, the first counted as 0, the last not included
	col      int // of the keys, counted as 1
}

// item is an object of a list.
type item struct {
	block
	id string
}

// items is a list in block style.
type items struct {
	items []item
	dash  int // the column of the dashes, counted as 1
}

// blockOf returns the lines of an object that ends before a line.
func blockOf(d *document, v *located.Value, to int) (block, bool) {
	if !v.Is(located.Object) || len(v.Members) == 0 {
		return block{}, false
	}
	first := v.Members[0].Pos
	b := block{v, first.Line - 1, to, first.Col}
	for i, m := range v.Members {
		before := v.Members[max(i-1, 0)].Pos
		if m.Pos.Col != b.col || i > 0 && m.Pos.Line <= before.Line || m.Pos.Line > len(d.lines) {
			return block{}, false
		}
		head := d.lines[m.Pos.Line-1]
		if len(head) < b.col || strings.Trim(head[:b.col-1], " -") != "" {
			return block{}, false
		}
	}
	return b, true
}

// list returns the items of a document's list.
func (s *Style) list(d *document) (out items, ok bool) {
	v := d.root.Get(s.List)
	if len(v.List()) == 0 {
		return out, false
	}
	end := len(d.lines)
	for _, m := range d.root.Members {
		if line := m.Pos.Line - 1; line > v.Items[0].Pos.Line-1 && line < end {
			end = line
		}
	}
	for i, x := range v.Items {
		b, ok := blockOf(d, x, end)
		if !ok {
			return out, false
		}
		head := d.lines[b.from][:b.col-1]
		dash := strings.IndexByte(head, '-') + 1
		id, isText := x.Get(s.ID).Str()
		if !isText || dash == 0 || strings.Count(head, "-") != 1 || i > 0 && dash != out.dash {
			return out, false
		}
		out.dash = dash
		out.items = append(out.items, item{b, id})
	}
	for i := range out.items[1:] {
		out.items[i+1].from = d.above(out.items[i+1].from, out.dash)
		out.items[i].to = out.items[i+1].from
	}
	last := &out.items[len(out.items)-1]
	last.to = d.content(last.to, out.dash)
	return out, true
}

// above returns the first of the comments and empty lines before a line that belong to it.
func (d *document) above(line, col int) int {
	for ; line > 0; line-- {
		text := strings.TrimRight(d.lines[line-1], " \n")
		if comment := strings.TrimLeft(text, " "); text != "" &&
			(!strings.HasPrefix(comment, "#") || len(text)-len(comment) > col-1) {
			break
		}
	}
	return line
}

// content returns the end of a block without what stands after it further to the left.
func (d *document) content(to, col int) int {
	if to == len(d.lines) && d.lines[to-1] == "" {
		to--
	}
	return d.above(to, col)
}

// keyLines are the lines of a key and its value, with the comments above it.
type keyLines struct{ from, at, to int }

// keys returns the lines of each key of an object.
func (d *document) keys(b *block) []keyLines {
	list := make([]keyLines, len(b.value.Members))
	for i, m := range b.value.Members {
		at := m.Pos.Line - 1
		list[i] = keyLines{from: d.above(at, b.col), at: at, to: b.to}
		if i == 0 {
			list[0].from = at
		} else {
			list[i-1].to = list[i].from
		}
	}
	return list
}

// object writes an object with the lines of another one for the keys that say the same. The text
// begins as the other one does: with a dash, or with nothing.
func (s *Style) object(old, next *document, was, is *block, h how) (string, bool) {
	first := was.value.Members[0].Pos.Line - 1
	lead := old.lines[first][:was.col-1]
	oldKeys, newKeys := old.keys(was), next.keys(is)
	var out strings.Builder
	out.WriteString(strings.Join(old.lines[was.from:first], ""))
	begun := false
	write := func(text string) {
		if !begun && len(text) >= len(lead) {
			text = lead + text[len(lead):]
		}
		begun = true
		out.WriteString(ended(text))
	}
	fresh := func(i int) string {
		k := newKeys[i]
		return shifted(strings.Join(next.lines[k.at:k.to], ""), is.col, was.col)
	}
	for i, m := range was.value.Members {
		k := oldKeys[i]
		j := slices.IndexFunc(is.value.Members, func(x located.Member) bool { return x.Key == m.Key })
		if j < 0 && !s.ignored(m) {
			continue
		}
		if begun {
			out.WriteString(strings.Join(old.lines[k.from:k.at], ""))
		}
		if j < 0 || s.sameKey(m.Key, m.Value, is.value.Members[j].Value) {
			write(strings.Join(old.lines[k.at:k.to], ""))
		} else if text, ok := s.within(old, next, h, m, is.value.Members[j].Value, k); ok {
			write(text)
		} else {
			write(fresh(j))
		}
	}
	for j, m := range is.value.Members {
		if was.value.Get(m.Key) == nil {
			write(fresh(j))
		}
	}
	return out.String(), begun
}

// shifted moves lines from a column to another one. What stands before the first key becomes blanks.
func shifted(text string, from, to int) string {
	lines := strings.SplitAfter(text, "\n")
	for i, l := range lines {
		switch {
		case strings.TrimSpace(l) == "":
		case len(l) >= from && strings.Trim(l[:from-1], " -") == "":
			lines[i] = strings.Repeat(" ", to-1) + l[from-1:]
		}
	}
	return strings.Join(lines, "")
}

// ended returns a text that ends in a line break.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
