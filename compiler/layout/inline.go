package layout

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/located"
)

// inline writes new values into the text of a document, each in the place and the style of the old one:
// brackets, quotes, anchors and comments stay. It gives up on what it cannot place; [Style.Keep] reads
// what it made.
type inline struct {
	style     *Style
	old, next *document
	splices   []splice
	how       how
}

// how a document is merged.
type how int

const (
	keepAliases    how = iota // an alias stays: its anchor may come to say the new value
	replaceAliases            // the value stands in the place of an alias
	rewriteKeys               // the value of a key is written anew where it differs
)

// splice is a text in place of another one, by offsets.
type splice struct {
	from, to int
	text     string
}

// inPlace writes what differs into a document whose items have no lines of their own.
func (s *Style) inPlace(old, next *document, h how) ([]byte, bool) {
	e := inline{style: s, old: old, next: next, how: h}
	if h == rewriteKeys || s.List == "" || !e.value("", old.root, next.root, blockStyle) {
		return nil, false
	}
	return []byte(e.text(0, len(old.text))), true
}

// within returns the lines of a key with its new value in them.
func (s *Style) within(old, next *document, h how, m located.Member, is *located.Value, k keyLines) (string, bool) {
	e := inline{style: s, old: old, next: next, how: h}
	if h == rewriteKeys || !e.value(m.Key, m.Value, is, blockStyle) {
		return "", false
	}
	from, to := offset(old.lines, k.at), offset(old.lines, k.to)
	if slices.ContainsFunc(e.splices, func(x splice) bool { return x.from < from || x.to > to }) {
		return "", false
	}
	return e.text(from, to), true
}

// offset returns where a line begins.
func offset(lines []string, line int) (n int) {
	for _, l := range lines[:line] {
		n += len(l)
	}
	return n
}

// text returns a part of the document with the splices in it.
func (e *inline) text(from, to int) string {
	all := e.old.text
	slices.SortStableFunc(e.splices, func(a, b splice) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	for _, x := range e.splices {
		if x.from < from {
			continue
		}
		b.WriteString(all[from:x.from] + x.text)
		from = x.to
	}
	b.WriteString(all[from:to])
	return b.String()
}

// context is what is around a value of YAML.
type context int

const (
	blockStyle context = iota
	flowStyle          // in brackets, where a comma ends a value
)

// value writes a value in place of another one, which has a key.
func (e *inline) value(key string, was, is *located.Value, in context) bool {
	switch {
	case was == nil || is == nil || was.Marked:
		return false
	case e.style.sameKey(key, was, is):
		return true
	case was.Alias && e.how == keepAliases:
		return true
	case was.Alias:
		return e.replace(was, is, in)
	}
	before := len(e.splices)
	if e.parts(key, was, is, in) {
		return true
	}
	e.splices = e.splices[:before]
	return e.replace(was, is, in)
}

// parts writes only what differs within a value.
func (e *inline) parts(key string, was, is *located.Value, in context) bool {
	if e.startsWith(was, "[{") {
		in = flowStyle
	}
	switch {
	case was.Is(located.Object) && is.Is(located.Object):
		return e.object(was, is, in)
	case was.Is(located.List) && is.Is(located.List):
		return e.list(key, was, is, in)
	case in == blockStyle && scalar(was) && len(is.List()) > 1 && Equal(was, is.Items[0]):
		return e.become(was, is)
	case in == blockStyle && scalar(is) && len(was.List()) > 1 && Equal(was.Items[0], is):
		return e.shrink(was)
	}
	return false
}

func scalar(v *located.Value) bool { return !v.Is(located.Object) && !v.Is(located.List) }

// object writes the keys of an object that differ, and those that are new behind them.
func (e *inline) object(was, is *located.Value, in context) bool {
	if doubtful(was) || doubtful(is) || len(was.Members) == 0 {
		return false
	}
	for _, m := range was.Members {
		there := is.Get(m.Key)
		if there == nil && e.style.ignored(m) {
			continue
		}
		if !e.value(m.Key, m.Value, there, in) {
			return false
		}
	}
	for _, m := range is.Members {
		if was.Get(m.Key) != nil {
			continue
		}
		text, ok := e.flow(m.Value)
		if !ok || was.Members[len(was.Members)-1].Value.Alias {
			return false
		}
		_, end, ok := e.span(was.Members[len(was.Members)-1].Value, in)
		if !ok {
			return false
		}
		if in == flowStyle {
			e.splices = append(e.splices, splice{end, end, ", " + m.Key + ": " + text})
			continue
		}
		end = e.lineEnd(end)
		lead := strings.Repeat(" ", was.Members[0].Pos.Col-1)
		e.splices = append(e.splices, splice{end, end, "\n" + lead + m.Key + ": " + text})
	}
	return true
}

// list writes the items of a list that differ; all of it, with the old text of its items, where
// others come or go.
func (e *inline) list(key string, was, is *located.Value, in context) bool {
	same := func(a, b *located.Value) bool {
		return Equal(a, b) || !a.Marked && e.style.Same != nil && e.style.Same(key, one(a), one(b))
	}
	if key == e.style.List && key != "" { // items of their own keys
		same = e.style.sameObject
	}
	if slices.EqualFunc(was.Items, is.Items, func(a, b *located.Value) bool { return e.name(a) == e.name(b) }) {
		for i, item := range was.Items {
			if !same(item, is.Items[i]) && !e.value("", item, is.Items[i], in) {
				return false
			}
		}
		return true
	}
	from, to, ok := e.span(was, in)
	if text := e.old.text[from:to]; !ok || in != flowStyle || strings.Contains(text, "\n") {
		return false
	}
	texts := make([]string, len(is.Items))
	for i, item := range is.Items {
		j := slices.IndexFunc(was.Items, func(x *located.Value) bool { return e.name(x) == e.name(item) })
		if j < 0 {
			if texts[i], ok = e.flow(item); !ok {
				return false
			}
			continue
		}
		own := inline{style: e.style, old: e.old, next: e.next, how: e.how}
		from, to, ok := e.span(was.Items[j], in)
		if !ok || !same(was.Items[j], item) && !own.value("", was.Items[j], item, in) {
			return false
		}
		texts[i] = own.text(from, to)
	}
	e.splices = append(e.splices, splice{from, to, "[" + strings.Join(texts, ", ") + "]"})
	return true
}

func one(v *located.Value) *located.Value {
	return &located.Value{Kind: located.List, Items: []*located.Value{v}}
}

// name tells the items of a list apart: an object's key that does, or the first text.
func (e *inline) name(v *located.Value) string {
	if v.Is(located.Object) {
		v = v.Get(e.style.ID)
	}
	for len(v.List()) > 0 {
		v = v.Items[0]
	}
	if v == nil {
		return ""
	}
	return v.Text
}

// become makes a text the first item of a list in block style: a comment behind it stays there.
func (e *inline) become(was, is *located.Value) bool {
	from, to, ok := e.span(was, blockStyle)
	if !ok {
		return false
	}
	lead := strings.Repeat(" ", was.Pos.Col-1)
	var b strings.Builder
	for _, item := range is.Items[1:] {
		for i, m := range item.Fields() {
			text, ok := e.flow(m.Value)
			if !ok {
				return false
			}
			mark := "- "
			if i > 0 {
				mark = "  "
			}
			b.WriteString("\n" + lead + mark + m.Key + ": " + text)
		}
		if !item.Is(located.Object) {
			return false
		}
	}
	end := e.lineEnd(to)
	e.splices = append(e.splices, splice{from, from, "- "}, splice{end, end, b.String()})
	return true
}

// shrink leaves the first item of a list in block style in place of the list.
func (e *inline) shrink(was *located.Value) bool {
	dash := e.offset(was)
	first, to, ok := e.span(was.Items[0], blockStyle)
	if !ok || e.old.text[dash] != '-' || strings.TrimSpace(e.old.text[dash+1:first]) != "" {
		return false
	}
	last := was
	for len(last.List()) > 0 || len(last.Fields()) > 0 {
		if last.Is(located.List) {
			last = last.Items[len(last.Items)-1]
		} else {
			last = last.Members[len(last.Members)-1].Value
		}
	}
	_, end, ok := e.span(last, blockStyle)
	if !ok || last.Alias || was.Items[0].Alias {
		return false
	}
	e.splices = append(e.splices, splice{dash, first, ""}, splice{e.lineEnd(to), e.lineEnd(end), ""})
	return true
}

// replace writes a value in brackets or on one line in place of one that stands so.
func (e *inline) replace(was, is *located.Value, in context) bool {
	from, to, ok := e.span(was, in)
	if !ok {
		return false
	}
	text, ok := e.flow(is)
	if !ok {
		return false
	}
	if scalar(was) && is.Is(located.String) && !was.Alias {
		text = requoted(e.old.text[from:to], text, is.Text, in)
	}
	e.splices = append(e.splices, splice{from, to, text})
	return true
}

var (
	plainASCII = regexp.MustCompile(`^[ -~]+$`)
	plainStart = regexp.MustCompile(`^[A-Za-z^(\\]([ -~]*[^ :])?$`)
	otherPlain = regexp.MustCompile(`^(?i:true|false|null|yes|no|on|off|~|[-+.]?(inf|nan|[0-9].*))$`)
)

// requoted writes a text in the quotes of another one, where it can stand in them.
func requoted(old, quoted, text string, in context) string {
	ends := strings.Contains(text, ": ") || strings.Contains(text, " #") ||
		in == flowStyle && strings.ContainsAny(text, ",[]{}")
	switch {
	case !plainASCII.MatchString(text) || strings.HasPrefix(old, `"`):
		return quoted
	case !strings.HasPrefix(old, "'") && plainStart.MatchString(text) && !otherPlain.MatchString(text) && !ends:
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// flow writes a value of the new document on one line.
func (e *inline) flow(v *located.Value) (string, bool) {
	new := inline{style: e.style, old: e.next}
	var parts []string
	switch {
	case v.Is(located.Object):
		for _, m := range v.Members {
			text, ok := e.flow(m.Value)
			if !ok || !plainKey.MatchString(m.Key) {
				return "", false
			}
			parts = append(parts, m.Key+": "+text)
		}
		return "{" + strings.Join(parts, ", ") + "}", true
	case v.Is(located.List):
		for _, item := range v.Items {
			text, ok := e.flow(item)
			if !ok {
				return "", false
			}
			parts = append(parts, text)
		}
		return "[" + strings.Join(parts, ", ") + "]", true
	}
	from, to, ok := new.span(v, blockStyle)
	text := new.old.text[from:to]
	return text, ok && !strings.Contains(text, "\n") && (strings.HasPrefix(text, `"`) || plainKey.MatchString(text))
}

// plainKey matches keys and texts that need no quotes anywhere.
var plainKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// offset returns where a value begins. Columns count letters.
func (e *inline) offset(v *located.Value) int {
	line := v.Pos.Line - 1
	if line < 0 || line >= len(e.old.lines) {
		return 0
	}
	at := offset(e.old.lines, line)
	col := 1
	for i := range e.old.lines[line] {
		if col == v.Pos.Col {
			return at + i
		}
		col++
	}
	return at + len(e.old.lines[line])
}

func (e *inline) startsWith(v *located.Value, chars string) bool {
	at := e.offset(v)
	return at < len(e.old.text) && strings.IndexByte(chars, e.old.text[at]) >= 0
}

// lineEnd returns the end of the line of a place, before its line break.
func (e *inline) lineEnd(at int) int {
	if i := strings.IndexByte(e.old.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(e.old.text)
}

// span returns where a value begins and ends that stands in brackets or on one line.
func (e *inline) span(v *located.Value, in context) (from, to int, ok bool) {
	if from = e.offset(v); from >= len(e.old.text) {
		return 0, 0, false
	}
	n := length(e.old.text[from:], in)
	return from, from + n, n > 0
}

// length returns how long the value is with which a text of YAML begins, 0 for one of several lines.
func length(text string, in context) int {
	switch text[0] {
	case '"':
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return 0
	case '\'':
		for i := 1; i < len(text); i++ {
			if text[i] != '\'' {
				continue
			}
			if i++; i == len(text) || text[i] != '\'' {
				return i
			}
		}
		return 0
	case '[', '{':
		return bracketed(text)
	case '|', '>', '&', '!', '-', '?', '#', '\n':
		return 0
	}
	line, _, _ := strings.Cut(text, "\n")
	if i := strings.Index(line, " #"); i >= 0 {
		line = line[:i]
	}
	if i := strings.Index(line, ": "); i >= 0 && in == flowStyle {
		line = line[:i]
	}
	if i := strings.IndexAny(line, ",[]{}"); i >= 0 && in == flowStyle {
		line = line[:i]
	}
	return len(strings.TrimRight(line, " \t\r"))
}

// bracketed returns the length of a value in brackets.
func bracketed(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case (c == '"' || c == '\'') && strings.ContainsAny(text[i-1:i], " ,[{:\n"):
			n := length(text[i:], flowStyle)
			if n == 0 {
				return 0
			}
			i += n - 1
		case c == '#' && strings.ContainsAny(text[i-1:i], " \t\n"):
			for i < len(text) && text[i] != '\n' {
				i++
			}
		}
	}
	return 0
}
