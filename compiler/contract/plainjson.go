package contract

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// ReadAnswer decodes what a hook printed into a struct, as json.Unmarshal does.
func ReadAnswer(data []byte, into any) error {
	if readPlain(data, into) {
		return nil
	}
	return json.Unmarshal(data, into)
}

// AppendText appends a text as JSON, as json.Marshal writes it.
func AppendText(b []byte, text string) []byte { return appendText(b, text, forHTML) }

// escaping is whether "<", ">" and "&" are escaped, so that the JSON may stand in HTML.
type escaping bool

const (
	asIs    escaping = false
	forHTML escaping = true
)

// appendText appends a text as JSON.
func appendText(b []byte, text string, e escaping) []byte {
	begin, from := len(b), 0
	b = append(b, '"')
	for i := range len(text) {
		c := text[i]
		switch {
		case c < ' ', c >= utf8.RuneSelf:
			return append(b[:begin], quoted(text, e)...)
		case c == '"' || c == '\\':
			b = append(append(b, text[from:i]...), '\\')
			from = i
		case e == forHTML && (c == '<' || c == '>' || c == '&'):
			b = append(append(b, text[from:i]...), `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
			from = i + 1
		}
	}
	return append(append(b, text[from:]...), '"')
}

func quoted(text string, escape escaping) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escape == forHTML)
	if err := e.Encode(text); err != nil { // a text has none
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// AppendTexts appends an object of texts as JSON: key, value, key, value.
func AppendTexts(b []byte, members ...string) []byte {
	b = append(b, '{')
	for i, text := range members {
		switch {
		case i%2 == 1:
			b = append(b, ':')
		case i > 0:
			b = append(b, ',')
		}
		b = AppendText(b, text)
	}
	return append(b, '}')
}

// readPlain decodes a JSON object into an empty struct of texts, lists of texts, objects and raw
// values, where every reader of JSON reads it alike: no key stands twice in an object, or differs
// by its case alone from a key of the struct, the texts are valid and the numbers small. It
// reports false, and decodes nothing, for any other data, which is not to say that it is invalid.
func readPlain(data []byte, into any) bool {
	v := reflect.ValueOf(into).Elem()
	if v.Kind() != reflect.Struct {
		return false
	}
	p := plainJSON{data: data}
	p.space()
	ok := p.object(v)
	if p.space(); ok && p.at == len(data) {
		return true
	}
	v.SetZero()
	return false
}

// plainJSON reads plain JSON from its beginning to its end. Its methods report false for what is
// not plain.
type plainJSON struct {
	data []byte
	at   int
	buf  []byte // of the last text that has an escape
}

// maxPlain is how deep plain JSON is nested at most.
const maxPlain = 32

// fieldKeys caches the keys of structs, in the order of their fields; none where a field is
// without one.
var fieldKeys sync.Map // of reflect.Type: []string

func fieldKeysOf(t reflect.Type) []string {
	if keys, ok := fieldKeys.Load(t); ok {
		return keys.([]string)
	}
	var keys []string
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || options != "" && options != "omitempty" || len(keys) == 64 {
			keys = nil
			break
		}
		keys = append(keys, name)
	}
	fieldKeys.Store(t, keys)
	return keys
}

func (p *plainJSON) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next takes a byte where it is the next one.
func (p *plainJSON) next(c byte) bool {
	if p.at < len(p.data) && p.data[p.at] == c {
		p.at++
		return true
	}
	return false
}

// word takes a literal where it is next.
func (p *plainJSON) word(w string) bool {
	if !bytes.HasPrefix(p.data[p.at:], []byte(w)) {
		return false
	}
	p.at += len(w)
	return true
}

// members calls a function for each key of an object, which takes its value. The key holds until
// then.
func (p *plainJSON) members(value func(key []byte) bool) bool {
	if !p.next('{') {
		return false
	}
	if p.space(); p.next('}') {
		return true
	}
	for {
		p.space()
		key, ok := p.bytes()
		if !ok {
			return false
		}
		if p.space(); !p.next(':') {
			return false
		}
		if p.space(); !value(key) {
			return false
		}
		if p.space(); p.next('}') {
			return true
		}
		if !p.next(',') {
			return false
		}
	}
}

// object decodes an object into a struct.
func (p *plainJSON) object(into reflect.Value) bool {
	keys := fieldKeysOf(into.Type())
	var seen uint64
	var others []string
	if keys == nil {
		return false
	}
	return p.members(func(key []byte) bool {
		field := slices.IndexFunc(keys, func(name string) bool { return name == string(key) })
		if field < 0 {
			other := string(key)
			if slices.Contains(others, other) ||
				slices.ContainsFunc(keys, func(name string) bool { return strings.EqualFold(name, other) }) {
				return false
			}
			others = append(others, other)
			return p.skip()
		}
		if seen&(1<<field) != 0 {
			return false
		}
		seen |= 1 << field
		return p.field(into.Field(field))
	})
}

var rawJSON = reflect.TypeFor[json.RawMessage]()

// field decodes a value into a field of a struct.
func (p *plainJSON) field(into reflect.Value) bool {
	from := p.at
	switch into.Kind() {
	case reflect.String:
		text, ok := p.text()
		if ok {
			into.SetString(text)
		}
		return ok
	case reflect.Struct:
		return p.object(into)
	case reflect.Pointer:
		if into.Type().Elem().Kind() != reflect.String {
			return false
		}
		into.Set(reflect.New(into.Type().Elem()))
		return p.field(into.Elem())
	}
	v, ok := p.value(1)
	if !ok {
		return false
	}
	if into.Type() == rawJSON {
		into.SetBytes(bytes.Clone(p.data[from:p.at]))
		return true
	}
	switch to := into.Addr().Interface().(type) {
	case *map[string]any:
		*to, ok = v.(map[string]any)
		return ok
	case *[]string:
		list, ok := v.([]any)
		*to = make([]string, len(list))
		for i := range list {
			if (*to)[i], ok = list[i].(string); !ok {
				return false
			}
		}
		return ok
	}
	return false
}

// skip reads over a value of an object.
func (p *plainJSON) skip() bool {
	if p.at < len(p.data) && p.data[p.at] == '"' {
		_, ok := p.bytes()
		return ok
	}
	_, ok := p.value(1)
	return ok
}

// value decodes any value, as json.Unmarshal does into an empty interface.
func (p *plainJSON) value(depth int) (any, bool) {
	if p.at == len(p.data) || depth > maxPlain {
		return nil, false
	}
	switch c := p.data[p.at]; c {
	case '"':
		return p.text()
	case '{':
		m := map[string]any{}
		ok := p.members(func(key []byte) bool {
			name := string(key)
			if _, twice := m[name]; twice {
				return false
			}
			v, ok := p.value(depth + 1)
			m[name] = v
			return ok
		})
		return m, ok
	case '[':
		return p.list(depth)
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	}
	return p.number()
}

func (p *plainJSON) list(depth int) (any, bool) {
	p.at++
	list := []any{}
	if p.space(); p.next(']') {
		return list, true
	}
	for {
		p.space()
		v, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		list = append(list, v)
		if p.space(); p.next(']') {
			return list, true
		}
		if !p.next(',') {
			return nil, false
		}
	}
}

// number decodes a whole number of few digits. What follows is not a part of any value, so that
// a fraction or an exponent is not plain.
func (p *plainJSON) number() (any, bool) {
	from, n := p.at, 0
	for ; p.at < len(p.data) && '0' <= p.data[p.at] && p.data[p.at] <= '9'; p.at++ {
		if p.at-from == 9 {
			return nil, false
		}
		n = 10*n + int(p.data[p.at]-'0')
	}
	digits := p.at - from
	return float64(n), digits == 1 || digits > 1 && p.data[from] != '0'
}

// text decodes a text.
func (p *plainJSON) text() (string, bool) {
	b, ok := p.bytes()
	return string(b), ok
}

// bytes decodes a text, which holds until the next one.
func (p *plainJSON) bytes() ([]byte, bool) {
	if !p.next('"') {
		return nil, false
	}
	ascii := true
	for i, c := range p.data[p.at:] {
		switch {
		case c == '"':
			text := p.data[p.at : p.at+i]
			p.at += i + 1
			return text, ascii || utf8.Valid(text)
		case c == '\\':
			return p.escaped(p.at + i)
		case c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// escapes are those of one character.
var escapes = ['u']byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escaped decodes the text that is read, and whose first backslash stands at i. An escape of a
// surrogate is not plain.
func (p *plainJSON) escaped(i int) ([]byte, bool) {
	out := append(p.buf[:0], p.data[p.at:i]...)
	for ; i < len(p.data); i++ {
		switch c := p.data[i]; {
		case c == '"':
			p.at, p.buf = i+1, out
			return out, utf8.Valid(out)
		case c < ' ':
			return nil, false
		case c != '\\':
			out = append(out, c)
			continue
		}
		if i++; i == len(p.data) {
			return nil, false
		}
		if c := p.data[i]; c != 'u' {
			if int(c) >= len(escapes) || escapes[c] == 0 {
				return nil, false
			}
			out = append(out, escapes[c])
			continue
		}
		if i+4 >= len(p.data) {
			return nil, false
		}
		r, err := strconv.ParseUint(string(p.data[i+1:i+5]), 16, 16)
		if err != nil || !utf8.ValidRune(rune(r)) {
			return nil, false
		}
		out = utf8.AppendRune(out, rune(r))
		i += 4
	}
	return nil, false
}
