package located

import (
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"modec.dev/modec/compiler/diag"
)

// TOML reads a TOML document. Dotted keys and tables become objects; an array of tables is a list. Dates are strings.
// An error has the place in its text, as those of the other readers do.
func TOML(name string, data []byte) (*Value, error) {
	var valid map[string]any
	if err := toml.Unmarshal(data, &valid); err != nil { // keys that are given twice, too
		at := diag.Pos{File: name}
		var decode *toml.DecodeError
		if errors.As(err, &decode) {
			at.Line, at.Col = decode.Position()
		}
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	r := tomlReader{name: name}
	r.p.Reset(data)
	root := &Value{Kind: Object, Pos: diag.Pos{File: name, Line: 1, Col: 1}}
	into := root
	for r.p.NextExpression() {
		e := r.p.Expression()
		switch e.Kind {
		case unstable.KeyValue:
			r.member(into, e)
		case unstable.Table:
			into = r.open(root, e, false)
		case unstable.ArrayTable:
			into = r.open(root, e, true)
		}
	}
	return root, r.p.Error()
}

type tomlReader struct {
	name string
	p    unstable.Parser
}

func (r *tomlReader) pos(raw unstable.Range) diag.Pos {
	start := r.p.Shape(raw).Start
	return diag.Pos{File: r.name, Line: start.Line, Col: start.Column}
}

// open returns the table of a header.
func (r *tomlReader) open(root *Value, e *unstable.Node, listed bool) *Value {
	into := root
	for k := e.Key(); k.Next(); {
		key, at := string(k.Node().Data), r.pos(k.Node().Raw)
		next := into.Get(key)
		last := k.IsLast()
		switch {
		case listed && last:
			if next == nil {
				next = &Value{Kind: List, Pos: at}
				into.Members = append(into.Members, Member{key, at, next})
			}
			item := &Value{Kind: Object, Pos: at}
			next.Items = append(next.Items, item)
			next = item
		case next == nil:
			next = &Value{Kind: Object, Pos: at}
			into.Members = append(into.Members, Member{key, at, next})
		case next.Kind == List: // the last table of the list
			next = next.Items[len(next.Items)-1]
		}
		into = next
	}
	return into
}

// member adds a key and its value to a table.
func (r *tomlReader) member(into *Value, e *unstable.Node) {
	for k := e.Key(); k.Next(); {
		key, at := string(k.Node().Data), r.pos(k.Node().Raw)
		if k.IsLast() {
			into.Members = append(into.Members, Member{key, at, r.value(e.Value(), at)})
			return
		}
		next := into.Get(key)
		if next == nil {
			next = &Value{Kind: Object, Pos: at}
			into.Members = append(into.Members, Member{key, at, next})
		}
		into = next
	}
}

// value reads a value. What has no place of its own gets that of what it stands in.
func (r *tomlReader) value(n *unstable.Node, at diag.Pos) *Value {
	if n.Raw.Length > 0 {
		at = r.pos(n.Raw)
	}
	v := &Value{Kind: String, Text: string(n.Data), Pos: at}
	switch n.Kind {
	case unstable.Bool:
		v.Kind = Bool
	case unstable.Integer, unstable.Float:
		v.Kind = Number
	case unstable.Array:
		v.Kind, v.Text = List, ""
		for c := n.Children(); c.Next(); {
			if c.Node().Kind != unstable.Comment {
				v.Items = append(v.Items, r.value(c.Node(), at))
			}
		}
	case unstable.InlineTable:
		v.Kind, v.Text = Object, ""
		for c := n.Children(); c.Next(); {
			if c.Node().Kind != unstable.Comment {
				r.member(v, c.Node())
			}
		}
	}
	return v
}
