package located

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"modec.dev/modec/compiler/diag"
)

// JSON reads a file of JSON without comments and trailing commas.
func JSON(name string, data []byte) (*Value, error) {
	v, err := hujson.Parse(bytes.TrimPrefix(data, []byte("\uFEFF")))
	if err == nil && !v.IsStandard() {
		line, col := firstExtra(data)
		err = fmt.Errorf("hujson: line %d, column %d: got comments or trailing commas, want JSON without them",
			line, col)
	}
	return fromJSON(name, data, v, err)
}

// firstExtra returns the place of the first comment or trailing comma, in bytes from 1.
func firstExtra(data []byte) (line, col int) {
	plain, err := hujson.Standardize(bytes.Clone(data)) // with spaces in their places
	at := 0
	for err == nil && at < min(len(plain), len(data)) && plain[at] == data[at] {
		at++
	}
	before := data[:min(at, len(data))]
	return bytes.Count(before, []byte("\n")) + 1, at - bytes.LastIndexByte(before, '\n')
}

// JSONC reads a file of JSON with comments and trailing commas.
func JSONC(name string, data []byte) (*Value, error) {
	v, err := hujson.Parse(bytes.TrimPrefix(data, []byte("\uFEFF")))
	return fromJSON(name, data, v, err)
}

func fromJSON(name string, data []byte, v hujson.Value, err error) (*Value, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := jsonReader{newPlaces(name, data)}
	return r.value(v, 0)
}

// jsonReader makes a tree of what hujson read.
type jsonReader struct{ places }

// places counts lines as it goes: offsets are asked for in order.
type places struct {
	name        string
	data        []byte
	at          int // the offset up to which lines are counted
	line, start int // the line there, and the offset where it starts
}

func newPlaces(name string, data []byte) places {
	return places{name: name, data: bytes.TrimPrefix(data, []byte("\uFEFF")), line: 1}
}

func (p *places) pos(offset int) diag.Pos {
	for {
		next := bytes.IndexByte(p.data[p.at:offset], '\n')
		if next < 0 {
			break
		}
		p.at += next + 1
		p.line, p.start = p.line+1, p.at
	}
	p.at = offset
	return diag.Pos{File: p.name, Line: p.line, Col: offset - p.start + 1}
}

func (r *jsonReader) value(v hujson.Value, depth int) (*Value, error) {
	out := &Value{Pos: r.pos(v.StartOffset)}
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: got more than %d levels, want fewer", out.Pos, maxDepth)
	}
	switch x := v.Value.(type) {
	case *hujson.Object:
		out.Kind = Object
		return out, r.members(out, x, depth)
	case *hujson.Array:
		out.Kind = List
		return out, r.items(out, x, depth)
	case hujson.Literal:
		out.literal(x)
	}
	return out, nil
}

// literal makes a value of how it is written.
func (v *Value) literal(x []byte) {
	switch x[0] {
	case '"':
		v.Kind, v.Text = String, unquoted(x)
	case 't', 'f':
		v.Kind, v.Text = Bool, string(x)
	case 'n':
		v.Kind = Null
	default:
		v.Kind, v.Text = Number, string(x)
	}
}

// unquoted returns the text of a string. hujson reads each as a document of its own, which takes longer than all else.
func unquoted(x []byte) string {
	if bytes.IndexByte(x, '\\') < 0 && utf8.Valid(x) {
		return string(x[1 : len(x)-1])
	}
	if text, err := jsontext.AppendUnquote(nil, x); err == nil {
		return string(text)
	}
	return hujson.Literal(x).String() // with half a pair of \u, or a byte that is no letter
}

func (r *jsonReader) members(out *Value, o *hujson.Object, depth int) error {
	var last *Value
	for _, m := range o.Members {
		before := trailing(last, m.Name.BeforeExtra)
		key, err := r.value(m.Name, depth+1)
		if err != nil {
			return err
		}
		val, err := r.value(m.Value, depth+1)
		if err != nil {
			return err
		}
		val.comment(before)
		last = val
		out.Members = append(out.Members, Member{key.Text, key.Pos, val})
	}
	trailing(last, o.AfterExtra)
	return nil
}

func (r *jsonReader) items(out *Value, a *hujson.Array, depth int) error {
	var last *Value
	for _, e := range a.Elements {
		before := trailing(last, e.BeforeExtra)
		val, err := r.value(e, depth+1)
		if err != nil {
			return err
		}
		val.comment(before)
		last = val
		out.Items = append(out.Items, val)
	}
	trailing(last, a.AfterExtra)
	return nil
}
