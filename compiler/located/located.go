// Package artifact reads the agents' configuration files with the place of
// every value, so that whoever judges a file can name the line that decides.
// JSON has the agents' own meaning: the last of two equal keys holds.
package located

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/tailscale/hujson"

	"modec.dev/modec/compiler/diag"
)

// Kind is the type of a value.
type Kind string

const (
	Object Kind = "an object"
	List   Kind = "a list"
	String Kind = "a string"
	Number Kind = "a number"
	Bool   Kind = "a bool"
	Null   Kind = "null"
)

// Value is a piece of a file with its place. The methods take a nil Value for
// one that is not there.
type Value struct {
	Kind    Kind
	Text    string   // a scalar: the string itself, else its literal
	Members []Member // of an object, in order; equal keys stay
	Items   []*Value // of a list
	Pos     diag.Pos
	// Comment is the text of the comments before the value (of a member: before
	// its key) and after it on its line, without comment marks; "" where there
	// are none. Lines are separated by "\n".
	Comment string
}

// Member is a key of an object and its value.
type Member struct {
	Key   string
	Pos   diag.Pos // of the key
	Value *Value
}

// Get returns a member's value, that of the last where several have the key,
// and nil when there is none.
func (v *Value) Get(key string) *Value {
	if v == nil {
		return nil
	}
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Key == key {
			return v.Members[i].Value
		}
	}
	return nil
}

// Is reports whether a value is there and of a kind.
func (v *Value) Is(k Kind) bool { return v != nil && v.Kind == k }

// Str returns a string's text, and whether it is one.
func (v *Value) Str() (string, bool) {
	if !v.Is(String) {
		return "", false
	}
	return v.Text, true
}

// True reports whether a value is the literal true.
func (v *Value) True() bool { return v.Is(Bool) && v.Text == "true" }

// List returns a list's items, nil for what is none.
func (v *Value) List() []*Value {
	if !v.Is(List) {
		return nil
	}
	return v.Items
}

// Strings returns the texts of a list, without what is no string.
func (v *Value) Strings() []string {
	var out []string
	for _, item := range v.List() {
		if s, ok := item.Str(); ok {
			out = append(out, s)
		}
	}
	return out
}

// Fields returns an object's members, nil for what is none.
func (v *Value) Fields() []Member {
	if !v.Is(Object) {
		return nil
	}
	return v.Members
}

// Line returns the place of a value, the zero Pos for one that is not there.
func (v *Value) Line() diag.Pos {
	if v == nil {
		return diag.Pos{}
	}
	return v.Pos
}

var syntaxPlace = regexp.MustCompile(`line (\d+), column (\d+)`)

// PlaceOf finds the place that an error of the readers names in a file.
func PlaceOf(file string, err error) diag.Pos {
	at := diag.Pos{File: file}
	if m := syntaxPlace.FindStringSubmatch(err.Error()); m != nil {
		at.Line, _ = strconv.Atoi(m[1])
		at.Col, _ = strconv.Atoi(m[2])
	}
	return at
}

// maxDepth is how deep a file may nest; an agent's configuration needs a
// dozen levels, and the readers recurse.
const maxDepth = 500

// JSON reads a file of strict JSON. The error says where it is none.
func JSON(name string, data []byte) (*Value, error) {
	v, err := hujson.Parse(bytes.TrimPrefix(data, []byte("\uFEFF")))
	if err == nil && !v.IsStandard() {
		err = errors.New("got comments or trailing commas, want JSON without them")
	}
	return fromJSON(name, data, v, err)
}

// JSONC reads JSON with comments and trailing commas.
func JSONC(name string, data []byte) (*Value, error) {
	v, err := hujson.Parse(bytes.TrimPrefix(data, []byte("\uFEFF")))
	return fromJSON(name, data, v, err)
}

func fromJSON(name string, data []byte, v hujson.Value, err error) (*Value, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := jsonReader{name: name, data: bytes.TrimPrefix(data, []byte("\uFEFF")), line: 1}
	return r.value(v, 0)
}

// jsonReader counts lines as it goes: hujson gives offsets, in order.
type jsonReader struct {
	name        string
	data        []byte
	at          int // the offset up to which lines are counted
	line, start int // the line there, and the offset where it starts
}

func (r *jsonReader) pos(offset int) diag.Pos {
	for ; r.at < offset; r.at++ {
		if r.data[r.at] == '\n' {
			r.line, r.start = r.line+1, r.at+1
		}
	}
	return diag.Pos{File: r.name, Line: r.line, Col: offset - r.start + 1}
}

func (r *jsonReader) value(v hujson.Value, depth int) (*Value, error) {
	out := &Value{Pos: r.pos(v.StartOffset)}
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: got more than %d levels, want fewer", out.Pos, maxDepth)
	}
	switch x := v.Value.(type) {
	case *hujson.Object:
		out.Kind = Object
		var last *Value
		for _, m := range x.Members {
			before := trailing(last, m.Name.BeforeExtra)
			key, err := r.value(m.Name, depth+1)
			if err != nil {
				return nil, err
			}
			val, err := r.value(m.Value, depth+1)
			if err != nil {
				return nil, err
			}
			val.comment(before)
			last = val
			out.Members = append(out.Members, Member{key.Text, key.Pos, val})
		}
		trailing(last, x.AfterExtra)
	case *hujson.Array:
		out.Kind = List
		var last *Value
		for _, e := range x.Elements {
			before := trailing(last, e.BeforeExtra)
			val, err := r.value(e, depth+1)
			if err != nil {
				return nil, err
			}
			val.comment(before)
			last = val
			out.Items = append(out.Items, val)
		}
		trailing(last, x.AfterExtra)
	case hujson.Literal:
		switch x.Kind() {
		case '"':
			out.Kind, out.Text = String, x.String()
		case 't', 'f':
			out.Kind, out.Text = Bool, string(x)
		case 'n':
			out.Kind = Null
		default:
			out.Kind, out.Text = Number, string(x)
		}
	}
	return out, nil
}

// YAML reads the first document of a YAML file. An empty one is null. Equal keys
// stay, as in JSON. Anchors are followed; a merge key is an ordinary key, as in YAML 1.2.
func YAML(name string, data []byte) (*Value, error) {
	tokens := lexer.Tokenize(string(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	if at := tooDeep(tokens); at != nil {
		return nil, fmt.Errorf("%s:%d:%d: got more than %d levels, want fewer", name, at.Position.Line, at.Position.Column, maxDepth)
	}
	f, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var syntax yaml.Error
		if errors.As(err, &syntax) && syntax.GetToken() != nil {
			p := syntax.GetToken().Position
			return nil, fmt.Errorf("%s:%d:%d: %s", name, p.Line, p.Column, syntax.GetMessage())
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return &Value{Kind: Null, Pos: diag.Pos{File: name, Line: 1, Col: 1}}, nil
	}
	r := yamlReader{name: name, anchors: map[string]*Value{}, comments: commentLines(tokens)}
	return r.value(f.Docs[0].Body, 0)
}

// tooDeep returns the token at which a file nests too deep on one line or in
// brackets, for which the parser's work grows with the square.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets, line, entries := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, entries = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			brackets++
		case token.MappingEndType, token.SequenceEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType:
			entries++
		}
		if brackets > maxDepth || entries > maxDepth {
			return t
		}
	}
	return nil
}

type yamlReader struct {
	name     string
	anchors  map[string]*Value
	comments map[int]comment // by line
}

func (r *yamlReader) pos(n ast.Node) diag.Pos {
	p := n.GetToken().Position
	return diag.Pos{File: r.name, Line: p.Line, Col: p.Column}
}

func (r *yamlReader) value(n ast.Node, depth int) (*Value, error) {
	out := &Value{Pos: r.pos(n)}
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: got more than %d levels, want fewer", out.Pos, maxDepth)
	}
	switch x := n.(type) {
	case *ast.MappingNode:
		out.Kind = Object
		for _, m := range x.Values {
			if err := r.member(out, m, depth); err != nil {
				return nil, err
			}
		}
	case *ast.MappingValueNode:
		out.Kind = Object
		if err := r.member(out, x, depth); err != nil {
			return nil, err
		}
	case *ast.SequenceNode:
		out.Kind = List
		for _, e := range x.Values {
			val, err := r.value(e, depth+1)
			if err != nil {
				return nil, err
			}
			val.comment(r.comment(val.Pos.Line))
			out.Items = append(out.Items, val)
		}
	case *ast.AnchorNode:
		val, err := r.value(x.Value, depth+1)
		if err != nil {
			return nil, err
		}
		r.anchors[x.Name.GetToken().Value] = val
		return val, nil
	case *ast.AliasNode:
		val := r.anchors[x.Value.GetToken().Value]
		if val == nil {
			return nil, fmt.Errorf("%s: got an alias without its anchor", out.Pos)
		}
		return val, nil
	case *ast.TagNode:
		return r.value(x.Value, depth+1)
	case *ast.StringNode:
		out.Kind, out.Text = String, x.Value
	case *ast.LiteralNode:
		out.Kind, out.Text = String, x.Value.Value
	case *ast.BoolNode:
		out.Kind, out.Text = Bool, strconv.FormatBool(x.Value)
	case *ast.NullNode:
		out.Kind = Null
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		out.Kind, out.Text = Number, n.GetToken().Value
	default:
		return nil, fmt.Errorf("%s: got %s, want data", out.Pos, n.Type())
	}
	return out, nil
}

func (r *yamlReader) member(out *Value, m *ast.MappingValueNode, depth int) error {
	key := m.Key.GetToken().Value
	if s, ok := m.Key.(*ast.StringNode); ok {
		key = s.Value
	}
	val, err := r.value(m.Value, depth+1)
	if err != nil {
		return err
	}
	at := r.pos(m.Key)
	val.comment(r.comment(at.Line))
	out.Members = append(out.Members, Member{key, at, val})
	return nil
}
