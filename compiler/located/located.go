// Package located reads JSON, JSON with comments, YAML and SQLite files of agents. [JSON],
// [JSONC] and [YAML] return a tree of values in which each has its place and its comments,
// so that a caller can name the line that decides. [OpenDatabase] reads a database without
// changing anything on the disk.
//
// Equal keys of an object all stay in the tree. [Value.Get] returns the last of them, as the
// agents do.
package located

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
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

// Value is a value in a file with its place. A nil Value is one that is not there; all
// methods accept it.
type Value struct {
	Kind    Kind
	Text    string   // of a scalar: the string itself, or else its literal
	Members []Member // of an object, in order, equal keys included
	Items   []*Value // of a list
	Pos     diag.Pos
	// Comment is the text of the comments before the value (before the key of a member)
	// and after it on its line, without comment marks. Lines are separated by "\n".
	Comment string
	// Marked is set for a value of YAML with a tag: readers differ on them.
	Marked bool
	// Alias is set where an alias stands in the place of the value.
	Alias bool
}

// Member is a key of an object and its value.
type Member struct {
	Key   string
	Pos   diag.Pos // of the key
	Value *Value
}

// Get returns the value of the last member with a key, nil where there is none.
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

// Without returns an object without the members of a key, and any other value as it is.
func (v *Value) Without(key string) *Value {
	if v.Get(key) == nil {
		return v
	}
	out := *v
	out.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m Member) bool { return m.Key == key })
	return &out
}

// Is reports whether a value is there and has a kind.
func (v *Value) Is(k Kind) bool { return v != nil && v.Kind == k }

// Str returns the text of a string; false for any other value.
func (v *Value) Str() (string, bool) {
	if !v.Is(String) {
		return "", false
	}
	return v.Text, true
}

// True reports whether a value is the literal true.
func (v *Value) True() bool { return v.Is(Bool) && v.Text == "true" }

// Any returns a value as JSON has it: a text, a float64, a bool, nil, []any or map[string]any. A
// number that is none of JSON's is its text.
func (v *Value) Any() any {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case Object:
		m := map[string]any{}
		for _, member := range v.Members {
			m[member.Key] = member.Value.Any()
		}
		return m
	case List:
		l := []any{}
		for _, item := range v.Items {
			l = append(l, item.Any())
		}
		return l
	case Number:
		if n, err := strconv.ParseFloat(v.Text, 64); err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) {
			return n
		}
	case Bool:
		return v.Text == "true"
	case Null:
		return nil
	}
	return v.Text
}

// List returns the items of a list, nil for any other value.
func (v *Value) List() []*Value {
	if !v.Is(List) {
		return nil
	}
	return v.Items
}

// Strings returns the strings of a list.
func (v *Value) Strings() []string {
	var out []string
	for _, item := range v.List() {
		if s, ok := item.Str(); ok {
			out = append(out, s)
		}
	}
	return out
}

// Fields returns the members of an object, nil for any other value.
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

// syntaxPlace matches the place in an error of hujson, which has it in its text only.
var syntaxPlace = lazy.Regexp(`line (\d+), column (\d+)`)

// PlaceOf returns the place in a file that a syntax error of JSON names; only the file where
// it names none.
func PlaceOf(file string, err error) diag.Pos {
	at := diag.Pos{File: file}
	if m := syntaxPlace().FindStringSubmatch(err.Error()); m != nil {
		at.Line, _ = strconv.Atoi(m[1])
		at.Col, _ = strconv.Atoi(m[2])
	}
	return at
}

// beforeReason matches what the message of a syntax error begins with: the parser's own
// name, and the place that [PlaceOf] returns.
var beforeReason = lazy.Regexp(`^.*hujson: line \d+, column \d+: `)

// Reason returns what is wrong by an error of a reader, without the place.
func Reason(err error) string { return beforeReason().ReplaceAllString(err.Error(), "") }

// maxDepth is how deep a file may nest. An agent's configuration needs a dozen levels, and
// the readers recurse.
const maxDepth = 500

// maxAliased is how many values the aliases of a file may stand for. Nine lines of aliases of each other stand for a
// thousand million, and who walks over them does not end.
const maxAliased = 100_000

// Config reads a file of settings by its name: TOML, or JSON with comments.
func Config(name string, data []byte) (*Value, error) {
	if path.Ext(name) == ".toml" {
		return TOML(name, data)
	}
	return JSONC(name, data)
}

// YAML reads the first document of a YAML file. An empty document is null. An alias has the
// value of its anchor; a merge key is an ordinary key, as in YAML 1.2.
func YAML(name string, data []byte) (*Value, error) {
	tokens := lexer.Tokenize(string(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	if at := tooDeep(tokens); at != nil {
		return nil, fmt.Errorf("%s:%d:%d: got more than %d levels, want fewer",
			name, at.Position.Line, at.Position.Column, maxDepth)
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
	r := yamlReader{name: name, anchors: map[string]*Value{}, sizes: map[string]int{}, comments: commentLines(tokens)}
	return r.value(f.Docs[0].Body, 0)
}

// tooDeep returns the token at which a file nests too deep on one line or in brackets, nil
// where it does not. There the parser's work grows with the square of the depth.
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
	sizes    map[string]int  // of how many values that of an anchor is
	values   int             // how many were read, with those that aliases stand for
	aliased  int             // how many aliases stand for
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
	r.values++
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
		name, before := x.Name.GetToken().Value, r.values
		val, err := r.value(x.Value, depth+1)
		if err != nil {
			return nil, err
		}
		r.anchors[name], r.sizes[name] = val, r.values-before
		return val, nil
	case *ast.AliasNode:
		name := x.Value.GetToken().Value
		val := r.anchors[name]
		if val == nil {
			return nil, fmt.Errorf("%s: got an alias without its anchor", out.Pos)
		}
		r.values += r.sizes[name]
		if r.aliased += r.sizes[name]; r.aliased > maxAliased {
			return nil, fmt.Errorf("%s: the aliases up to this one stand for more than %d values: write fewer",
				out.Pos, maxAliased)
		}
		alias := *val
		alias.Pos, alias.Alias, alias.Comment = out.Pos, true, ""
		return &alias, nil
	case *ast.TagNode:
		val, err := r.value(x.Value, depth+1)
		if err != nil {
			return nil, err
		}
		val.Marked = true
		return val, nil
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
