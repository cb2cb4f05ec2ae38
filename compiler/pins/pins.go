// Package pins reads, compares and writes modec.pins.json: what the MCP servers of the inventory were when a person
// looked at them. [Read] reads the file, [Server.Compare] finds what a server offers otherwise by now, and [Set.Take]
// takes it into the pins.
//
// A pin is the SHA-256 of an object as the server sent it, in the canonical form of RFC 8785, beside the object itself:
// the digest decides, and the object shows the difference later. All of the object counts, also keys that modec does
// not know, since clients and models may read them. The canonical form comes from jsontext, the code that Go's own
// encoding/json/v2 is made of. It also refuses keys that stand twice and text that is not UTF-8, on which readers
// differ.
package pins

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// File is the file of a project's pins, at its root.
const File = "modec.pins.json"

// version is that of the file's form.
const version = 1

// Kind is a kind of things that are pinned.
type Kind string

const (
	Entry        Kind = "entry"        // how the server is started or reached
	Instructions Kind = "instructions" // the text with which the server introduces itself
	Prompts      Kind = "prompts"
	Templates    Kind = "templates" // of resources
	Tools        Kind = "tools"
)

// Listed are the kinds of which a server has many, in the file's order.
var Listed = []Kind{Prompts, Templates, Tools}

var nouns = map[Kind]string{Entry: "entry", Instructions: "instructions", Prompts: "prompt", Templates: "template",
	Tools: "tool"}

// Pin is one thing as it was pinned, or as it is.
type Pin struct {
	Sum   string          // the SHA-256 of its canonical form, in hexadecimal
	Value json.RawMessage // that form
	Pos   diag.Pos        // in the file
}

// New returns the pin of a value in JSON. It fails for one that two readers may read in two ways.
func New(raw []byte) (Pin, error) {
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Canonicalize(); err != nil {
		return Pin{}, fmt.Errorf("it has no canonical form: %w", err)
	}
	sum := sha256.Sum256(v)
	return Pin{Sum: hex.EncodeToString(sum[:]), Value: json.RawMessage(v)}, nil
}

// of returns the pin of a value that can be written as JSON.
func of(value any) Pin {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // of a type, not of a value
	}
	p, err := New(data)
	if err != nil {
		panic(err) // encoding/json writes no such thing
	}
	return p
}

// Edited reports whether the digest is another one than that of the object beside it: somebody edited the file.
func (p Pin) Edited() bool {
	is, err := New(p.Value)
	return err != nil || is.Sum != p.Sum
}

// Server is what is pinned of a server, or what the server is.
type Server struct {
	Name  string
	Pos   diag.Pos
	Entry Pin
	// Instructions are those of the server; without a sum where it has none.
	Instructions Pin
	Items        map[Kind]map[string]Pin // of each of Listed, by name
}

// Of returns a server of the source about which nothing but its entry is known yet. Of the entry the type, the program,
// the arguments, the folder and the address count, with their secrets masked; variables and headers hold what differs
// from machine to machine.
func Of(sv *ir.Server) *Server {
	s := &Server{Name: sv.Name, Items: map[Kind]map[string]Pin{}}
	e := sv.Entry().Masked()
	s.Entry = of(map[string]any{"type": sv.Type, "command": e.Command, "args": append([]string{}, e.Args...),
		"cwd": e.Cwd, "url": e.URL})
	for _, k := range Listed {
		s.Items[k] = map[string]Pin{}
	}
	return s
}

// Introduce sets the instructions of a server.
func (s *Server) Introduce(text string) {
	if text != "" {
		s.Instructions = of(text)
	}
}

// SameEntry reports whether the server is started or reached as a server of the source is.
func (s *Server) SameEntry(sv *ir.Server) bool { return s.Entry.Sum == Of(sv).Entry.Sum }

// Set is a file of pins. A nil Set has none.
type Set struct {
	Servers []*Server // sorted by name
	Pos     diag.Pos  // of their list in the file
}

// Server returns what is pinned of a server; nil where nothing is.
func (s *Set) Server(name string) *Server {
	if s == nil {
		return nil
	}
	i, ok := s.find(name)
	if !ok {
		return nil
	}
	return s.Servers[i]
}

func (s *Set) find(name string) (int, bool) {
	byName := func(x *Server, name string) int { return strings.Compare(x.Name, name) }
	return slices.BinarySearchFunc(s.Servers, name, byName)
}

// Status is in which way something is not as pinned.
type Status string

const (
	Changed  Status = "changed"
	Gone     Status = "gone"
	Unpinned Status = "unpinned"
)

// Change is something that is not as pinned.
type Change struct {
	Server string   `json:"-"`
	Kind   Kind     `json:"kind" jsonschema:"tools, prompts, templates, instructions or entry"`
	Name   string   `json:"name,omitempty"`
	ID     string   `json:"id" jsonschema:"by which modec inventory --pin takes it"`
	Status Status   `json:"status" jsonschema:"changed, gone or unpinned"`
	Parts  []Part   `json:"difference,omitempty" jsonschema:"what differs of something that changed"`
	Pos    diag.Pos `json:"pos"`

	before, after Pin
}

// Versions returns what was pinned and what is, each as JSON on many lines; "" for none. What a person does not see is
// escaped.
func (c Change) Versions() (before, after string) { return c.before.lines(), c.after.lines() }

func (p Pin) lines() string {
	var b bytes.Buffer
	if json.Indent(&b, p.Value, "", "  ") != nil {
		return visible(p.Value)
	}
	return visible(b.Bytes())
}

// Compare returns where a server is not as pinned, sorted. A pin that somebody edited is none of what the server is.
func (s *Server) Compare(now *Server) (all []Change) {
	note := func(k Kind, name string, before, after Pin) {
		c := Change{Server: s.Name, Kind: k, Name: name, ID: ID(s.Name, k, name), Pos: before.Pos,
			before: before, after: after}
		switch {
		case before.Sum == after.Sum && (before.Sum == "" || !before.Edited()):
			return
		case before.Sum == "":
			c.Status, c.Pos = Unpinned, s.Pos
		case after.Sum == "":
			c.Status = Gone
		default:
			c.Status, c.Parts = Changed, Difference(before.Value, after.Value)
		}
		all = append(all, c)
	}
	note(Entry, "", s.Entry, now.Entry)
	note(Instructions, "", s.Instructions, now.Instructions)
	for _, k := range Listed {
		names := map[string]Pin{}
		maps.Copy(names, s.Items[k])
		maps.Copy(names, now.Items[k])
		for _, name := range slices.Sorted(maps.Keys(names)) {
			note(k, name, s.Items[k][name], now.Items[k][name])
		}
	}
	return all
}

// Between returns what of two files of pins differs, by server. What only the first has is gone.
func Between(before, after *Set) (all []Change) {
	var names []string
	for _, set := range []*Set{before, after} {
		if set != nil {
			for _, s := range set.Servers {
				names = append(names, s.Name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		was, is := before.Server(name), after.Server(name)
		if was == nil {
			was = &Server{Name: name, Pos: is.Pos}
		}
		if is == nil {
			is = &Server{Name: name}
		}
		all = append(all, was.Compare(is)...)
	}
	return all
}

// ID returns how a person names something of a server: SERVER:TOOL, SERVER:prompts/NAME, SERVER:entry. It can be seen
// and typed.
func ID(server string, k Kind, name string) string {
	switch k {
	case Tools:
	case Entry, Instructions:
		name = string(k)
	default:
		name = string(k) + "/" + name
	}
	return visible([]byte(server + ":" + name))
}

// Command returns the command that pins what IDs name, for a shell: servers choose the names of what they offer.
func Command(ids ...string) string {
	words := "modec inventory --pin"
	for _, id := range ids {
		words += " " + contract.ShellQuote(id)
	}
	return words
}

// String says what is not as pinned.
func (c Change) String() string {
	what := fmt.Sprintf("the %s %q of server %q", nouns[c.Kind], c.Name, c.Server)
	be := "is"
	switch c.Kind {
	case Entry:
		what = fmt.Sprintf("the entry of server %q", c.Server)
	case Instructions:
		what, be = fmt.Sprintf("the instructions of server %q", c.Server), "are"
	}
	switch c.Status {
	case Unpinned:
		return fmt.Sprintf("%s %s not pinned", what, be)
	case Gone:
		return fmt.Sprintf("%s %s pinned, and the server does not offer it", what, be)
	}
	return fmt.Sprintf("%s %s not as pinned", what, be)
}

// Added accepts what is not pinned, and nothing of what is.
func Added(c Change) bool { return c.Status == Unpinned }

// Take takes into the pins what accept accepts of a server, and the entry of a server of which nothing is pinned. It
// returns what it took, and what stays as it was.
func (s *Set) Take(now *Server, accept func(Change) bool) (taken, left []Change) {
	i, ok := s.find(now.Name)
	if !ok {
		none := &Server{Name: now.Name, Entry: now.Entry, Items: map[Kind]map[string]Pin{}}
		s.Servers = slices.Insert(s.Servers, i, none)
	}
	have := s.Servers[i]
	for _, c := range have.Compare(now) {
		if !accept(c) {
			left = append(left, c)
			continue
		}
		taken = append(taken, c)
		switch c.Kind {
		case Entry:
			have.Entry = c.after
		case Instructions:
			have.Instructions = c.after
		default:
			have.put(c.Kind, c.Name, c.after)
		}
	}
	return taken, left
}

func (s *Server) put(k Kind, name string, p Pin) {
	if s.Items[k] == nil {
		s.Items[k] = map[string]Pin{}
	}
	if p.Sum == "" {
		delete(s.Items[k], name)
		return
	}
	s.Items[k][name] = p
}

// Meet returns the pins of both of two servers: what is pinned otherwise, or in one of them only, is not in it.
func (s *Server) Meet(other *Server) *Server {
	both := &Server{Name: s.Name, Pos: other.Pos, Entry: other.Entry, Instructions: other.Instructions,
		Items: map[Kind]map[string]Pin{}}
	for _, k := range Listed {
		both.Items[k] = map[string]Pin{}
		for name, p := range other.Items[k] {
			if s.Items[k][name].Sum == p.Sum {
				both.Items[k][name] = p
			}
		}
	}
	return both
}

// Invisible reports the characters that a person does not see, or that change how others are seen. Line breaks and tabs
// are none.
func Invisible(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) ||
		unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector))
}

// visible returns a text of JSON with its invisible characters escaped. They stand in strings only.
func visible(data []byte) string {
	if bytes.IndexFunc(data, Invisible) < 0 {
		return string(data)
	}
	var b strings.Builder
	for _, r := range string(data) {
		if !Invisible(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}
