package pins

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
)

// Read reads the pins of a project. It returns nil where the project has none, and diagnostics with their places where
// the file cannot be read as pins.
func Read(files fs.FS) (*Set, diag.List) {
	var r reader
	data, err := fs.ReadFile(files, File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		r.diags.Errorf(diag.BadPins, diag.Pos{File: File}, "the file cannot be read: %v", diag.WithoutPath(err))
		return nil, r.diags
	}
	v, err := located.JSON(File, data)
	if err != nil {
		r.diags.Errorf(diag.BadPins, located.PlaceOf(File, err), "%s", located.Reason(err)).Hint(mend)
		return nil, r.diags
	}
	if set := r.set(v); len(r.diags) == 0 {
		return set, nil
	}
	r.diags.Sort()
	return nil, r.diags
}

const mend = "restore the file from version control, or remove it and run `modec inventory --pin`"

// reader reads a file. It notes what is wrong.
type reader struct{ diags diag.List }

func (r *reader) wrong(at diag.Pos, format string, args ...any) {
	r.diags.Errorf(diag.BadPins, at, format, args...).Hint(mend)
}

// object returns the members of an object, each key once. known are the keys that it may have; none: any.
func (r *reader) object(v *located.Value, what string, known ...string) (members []located.Member) {
	if !v.Is(located.Object) {
		r.wrong(v.Line(), "got %s for %s, want an object", v.Kind, what)
		return nil
	}
	seen := map[string]bool{}
	for _, m := range v.Members {
		switch {
		case seen[m.Key]:
			r.wrong(m.Pos, "got the key %q twice", m.Key)
		case len(known) > 0 && !slices.Contains(known, m.Key):
			r.wrong(m.Pos, "got the key %q in %s, want %s", m.Key, what, diag.OneOf(known, "none"))
		default:
			members = append(members, m)
		}
		seen[m.Key] = true
	}
	return members
}

func (r *reader) set(v *located.Value) *Set {
	set := &Set{}
	r.object(v, "the pins", "version", "servers")
	if n := v.Get("version"); v.Is(located.Object) && (!n.Is(located.Number) || n.Text != fmt.Sprint(version)) {
		at := v.Line()
		if n != nil {
			at = n.Pos
		}
		r.diags.Errorf(diag.BadPins, at, "got no version %d: another modec wrote these pins", version).
			Hint("use the modec that wrote them, or remove the file and run `modec inventory --pin`")
		return set
	}
	servers := v.Get("servers")
	if servers == nil {
		return set
	}
	set.Pos = servers.Pos
	for _, m := range r.object(servers, "servers") {
		set.Servers = append(set.Servers, r.server(m))
	}
	slices.SortFunc(set.Servers, func(a, b *Server) int { return strings.Compare(a.Name, b.Name) })
	return set
}

func (r *reader) server(m located.Member) *Server {
	s := &Server{Name: m.Key, Pos: m.Pos, Items: map[Kind]map[string]Pin{}}
	what := fmt.Sprintf("server %q", m.Key)
	for _, f := range r.object(m.Value, what, "entry", "instructions", "prompts", "templates", "tools") {
		switch k := Kind(f.Key); k {
		case Entry:
			s.Entry = r.pin(f)
		case Instructions:
			s.Instructions = r.pin(f)
		default:
			s.Items[k] = map[string]Pin{}
			for _, it := range r.object(f.Value, f.Key) {
				s.Items[k][it.Key] = r.pin(it)
			}
		}
	}
	if s.Entry.Sum == "" && m.Value.Is(located.Object) && m.Value.Get("entry") == nil {
		r.wrong(m.Pos, "%s has no entry", what)
	}
	return s
}

var hexSum = lazy.Regexp(`^[0-9a-f]{64}$`)

func (r *reader) pin(m located.Member) Pin {
	p := Pin{Pos: m.Pos}
	what := fmt.Sprintf("the pin of %q", m.Key)
	r.object(m.Value, what, "sha256", "value")
	sum, value := m.Value.Get("sha256"), m.Value.Get("value")
	if text, ok := sum.Str(); ok && hexSum().MatchString(text) {
		p.Sum = text
	} else if m.Value.Is(located.Object) {
		r.wrong(m.Pos, "%s has no sha256 of 64 hexadecimal digits", what)
	}
	if value == nil {
		if m.Value.Is(located.Object) {
			r.wrong(m.Pos, "%s has no value", what)
		}
		return p
	}
	r.unique(value)
	data, err := json.Marshal(value.Any())
	if err != nil {
		r.wrong(m.Pos, "%s cannot be read: %v", what, err)
		return p
	}
	is, err := New(data)
	if err != nil {
		r.wrong(m.Pos, "%s cannot be read: %v", what, err)
	}
	p.Value = is.Value
	return p
}

// unique notes keys that stand twice anywhere in a value.
func (r *reader) unique(v *located.Value) {
	if v.Is(located.Object) {
		for _, m := range r.object(v, "a value") {
			r.unique(m.Value)
		}
	}
	for _, item := range v.List() {
		r.unique(item)
	}
}

// Bytes returns the file: sorted, and a line for each thing that is pinned.
func (s *Set) Bytes() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"version\": %d,\n  \"servers\": {", version)
	for i, sv := range s.Servers {
		fmt.Fprintf(&b, "%s\n    %s: {\n      \"entry\": %s", comma(i), quote(sv.Name), sv.Entry.line())
		if sv.Instructions.Sum != "" {
			fmt.Fprintf(&b, ",\n      \"instructions\": %s", sv.Instructions.line())
		}
		for _, k := range Listed {
			fmt.Fprintf(&b, ",\n      \"%s\": {", k)
			for j, name := range slices.Sorted(maps.Keys(sv.Items[k])) {
				fmt.Fprintf(&b, "%s\n        %s: %s", comma(j), quote(name), sv.Items[k][name].line())
			}
			b.WriteString(closed(len(sv.Items[k]), 6))
		}
		b.WriteString("\n    }")
	}
	b.WriteString(closed(len(s.Servers), 2) + "\n}\n")
	return []byte(b.String())
}

func (p Pin) line() string {
	return fmt.Sprintf(`{"sha256": "%s", "value": %s}`, p.Sum, visible(p.Value))
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// closed ends an object of some members.
func closed(members, indent int) string {
	if members == 0 {
		return "}"
	}
	return "\n" + strings.Repeat(" ", indent) + "}"
}

// quote returns a text as JSON in which everything is seen.
func quote(s string) string {
	p := of(s)
	return visible(p.Value)
}
