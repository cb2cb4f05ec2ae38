// Package why finds the parts of a source from which a line of an artifact comes. [Line]
// removes each part of the model in turn, lets the target write the artifact again, and
// looks whether the line is still there. [File] does the same for a whole artifact. So no
// target has to keep a map of what it writes, and none can get it wrong.
package why

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/textdiff"
)

// Cause is a part of the source without which a line would be different or gone.
type Cause struct {
	What string   `json:"what"` // `deny "git push *"`, "roleDefinition", "server docs"
	Of   string   `json:"of"`   // "mode architect"; "" where What is a subject or a server
	Pos  diag.Pos `json:"pos"`
	// Gone is set where the line would be gone, and not only different.
	Gone bool `json:"gone"`
}

// Emit writes an artifact from a model; ok is false where the model has no such artifact.
type Emit func(*ir.Project) (data []byte, ok bool)

// ErrNoLine is the error for a line that the artifact does not have.
var ErrNoLine = errors.New("no such line")

var errNoArtifact = errors.New("the model has no such artifact")

// Line returns the causes of a line of an artifact, counted from 1. It names the smallest
// parts that it finds: a rule rather than its subject. progress is called with the number of
// parts tried; nil: not called.
func Line(p *ir.Project, emit Emit, line int, progress func(done, total int)) ([]Cause, error) {
	data, ok := emit(p)
	if !ok {
		return nil, errNoArtifact
	}
	whole := plain(data)
	if n := strings.Count(strings.TrimSuffix(whole, "\n"), "\n") + 1; line < 1 || line > n || whole == "" {
		return nil, fmt.Errorf("%w: got line %d, want one of 1 to %d", ErrNoLine, line, n)
	}
	base, err := p.Marshal()
	if err != nil {
		return nil, err
	}
	t := trial{base: base, whole: whole, emit: emit, line: line}
	// The subjects and servers first, and then only the parts of those that matter.
	all := wholes(p)
	causes, matter := t.causes(all, func(done int) {
		if progress != nil {
			progress(done, len(all))
		}
	})
	var within []part
	for _, x := range matter {
		within = append(within, inside(p, x)...)
	}
	closer, _ := t.causes(within, func(done int) {
		if progress != nil {
			progress(len(all)+done, len(all)+len(within))
		}
	})
	if len(closer) == 0 && len(within) > 0 {
		closer = t.enough(within)
	}
	if len(closer) == 0 { // the line stays without any one rule of one subject
		closer = t.shared(p, all)
	}
	if len(closer) > 0 {
		causes = closer
	}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		return cmp.Or(unwritten(a)-unwritten(b), a.Pos.Compare(b.Pos), strings.Compare(a.What, b.What))
	})
	return slices.CompactFunc(causes, func(a, b Cause) bool {
		return a.Pos == b.Pos && a.What == b.What && a.Of == b.Of
	}), nil
}

// unwritten is 1 for a part that no file contains: it stands behind the others.
func unwritten(c Cause) int {
	if c.Pos.IsZero() {
		return 1
	}
	return 0
}

// causes tries parts one by one and returns those without which the line is different.
func (t *trial) causes(parts []part, tried func(done int)) (causes []Cause, matter []part) {
	for i, x := range parts {
		if effect, gone := t.without(x); effect {
			causes = append(causes, Cause{What: x.what, Of: x.of, Pos: x.pos, Gone: gone})
			matter = append(matter, x)
		}
		tried(i + 1)
	}
	return causes, matter
}

// trial writes an artifact from a model without some parts.
type trial struct {
	base  []byte
	whole string
	emit  Emit
	line  int
}

// plain returns an artifact without the indentation of its lines and the commas at their
// ends, which depend on the lines around them.
func plain(data []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		b.WriteString(strings.TrimRight(strings.TrimSpace(line), ",") + "\n")
	}
	return b.String()
}

// Emitted returns the line of an emitted artifact that is at a line of its file on the disk,
// in which others may write too; 0 where the artifact does not have that line. A line that people wrote in their own
// way is the one on which the same entry begins.
func Emitted(disk, emitted []byte, line int) int {
	for _, l := range textdiff.Lines(plain(disk), plain(emitted)) {
		if l.Old == line && l.Op == textdiff.Same {
			return l.New
		}
	}
	was, above := values(disk)
	is, over := values(emitted)
	if was == nil || is == nil {
		return 0
	}
	if n := counterpart(was, is, line-above); n > 0 {
		return n + over
	}
	return 0
}

// values reads a file, or what stands between the fences at its top; nil where it has no entries. It returns how many
// lines are above them.
func values(data []byte) (v *located.Value, above int) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if rest, fenced := bytes.CutPrefix(data, []byte("---\n")); fenced {
		front, _, closed := bytes.Cut(rest, []byte("\n---"))
		if !closed {
			return nil, 0
		}
		data, above = append(front, '\n'), 1
	}
	v, err := located.JSONC("", data)
	if err != nil {
		v, err = located.YAML("", data)
	}
	if err != nil || !v.Is(located.Object) {
		return nil, 0
	}
	return v, above
}

// counterpart returns the line on which that begins in another value which begins on a line of the first one: the
// outermost member or item that both have; 0 for none.
func counterpart(v, other *located.Value, line int) int {
	if !v.Is(located.Object) || !other.Is(located.Object) {
		for _, x := range v.List() {
			y := same(x, other.List())
			switch {
			case y == nil:
			case x.Pos.Line == line:
				return y.Pos.Line
			default:
				if n := counterpart(x, y, line); n > 0 {
					return n
				}
			}
		}
		return 0
	}
	for _, m := range v.Members {
		i := slices.IndexFunc(other.Members, func(o located.Member) bool { return o.Key == m.Key })
		if i < 0 {
			continue
		}
		if m.Pos.Line == line {
			return other.Members[i].Pos.Line
		}
		if n := counterpart(m.Value, other.Members[i].Value, line); n > 0 {
			return n
		}
	}
	return 0
}

// same returns the item of a list that is one of another list: equal, or of the same name.
func same(x *located.Value, list []*located.Value) *located.Value {
	named := func(v *located.Value) string {
		if !v.Is(located.Object) {
			return ""
		}
		slug, _ := v.Get("slug").Str()
		name, _ := v.Get("name").Str()
		return cmp.Or(slug, name)
	}
	i := slices.IndexFunc(list, func(y *located.Value) bool {
		return named(x) != "" && named(x) == named(y) || reflect.DeepEqual(x.Any(), y.Any())
	})
	if i < 0 {
		return nil
	}
	return list[i]
}

// without reports whether the line is different without some parts, and whether it is gone
// altogether. Without a subject or a server the artifact itself may be gone.
func (t *trial) without(x part) (effect, gone bool) {
	data, ok := t.made(x)
	if !ok {
		whole := x.of == "" // a model without a part of a subject may not compile: that says nothing
		return whole, whole
	}
	return t.differs(data)
}

// made writes the artifact without some parts.
func (t *trial) made(without ...part) (data []byte, ok bool) {
	p, err := ir.Unmarshal(bytes.NewReader(t.base))
	if err != nil {
		return nil, false
	}
	for _, x := range slices.Backward(without) { // from the end, because parts are removed by their index
		x.take(p)
	}
	return t.emit(p)
}

// differs reports whether the line is different in another artifact, and whether it is gone.
func (t *trial) differs(data []byte) (effect, gone bool) {
	lines := textdiff.Lines(t.whole, plain(data))
	i := slices.IndexFunc(lines, func(l textdiff.Line) bool { return l.Old == t.line })
	if i < 0 || lines[i].Op == textdiff.Same {
		return false, false
	}
	// The line is different where another one is in its place, and gone otherwise.
	for j := i + 1; j < len(lines) && lines[j].Op != textdiff.Same; j++ {
		if lines[j].Op == textdiff.Insert {
			return true, false
		}
	}
	return true, true
}

// shared returns the rules that make the line together for several subjects, each of which is
// written once: a policy's, which they inherit.
func (t *trial) shared(p *ir.Project, wholes []part) []Cause {
	var all []part
	places := map[diag.Pos][]int{} // the parts of one place, by their index
	for _, x := range wholes {
		for _, y := range inside(p, x) {
			if y.rule {
				places[y.pos] = append(places[y.pos], len(all))
				all = append(all, y)
			}
		}
	}
	return t.among(all, slices.SortedFunc(maps.Values(places), slices.Compare))
}

// among looks for the places without which the line is different, by halves.
func (t *trial) among(all []part, places [][]int) []Cause {
	if len(places) == 0 {
		return nil
	}
	var parts []part
	for _, i := range slices.Sorted(slices.Values(slices.Concat(places...))) {
		parts = append(parts, all[i])
	}
	data, ok := t.made(parts...)
	var effect, gone bool
	if ok {
		effect, gone = t.differs(data)
	}
	switch x := parts[0]; {
	case ok && !effect, !ok && len(places) == 1: // without an artifact nothing is known but of less
		return nil
	case len(places) == 1 && len(parts) > 1:
		return []Cause{{What: x.what, Of: fmt.Sprintf("%s and %d more", x.of, len(parts)-1), Pos: x.pos, Gone: gone}}
	case len(places) == 1:
		return []Cause{{What: x.what, Of: x.of, Pos: x.pos, Gone: gone}}
	}
	half := len(places) / 2
	return append(t.among(all, places[:half]), t.among(all, places[half:])...)
}

// enough returns the parts that make the line by themselves. Where there are several, the
// line stays without any one of them.
func (t *trial) enough(parts []part) (causes []Cause) {
	text := strings.Split(t.whole, "\n")[t.line-1]
	has := func(keep int) bool {
		var others []part
		for i, x := range parts {
			if i != keep && x.rule {
				others = append(others, x)
			}
		}
		data, ok := t.made(others...)
		return ok && slices.Contains(strings.Split(plain(data), "\n"), text)
	}
	if has(-1) {
		return nil // the line is there without all of them
	}
	for i, x := range parts {
		if x.rule && has(i) {
			causes = append(causes, Cause{What: x.what, Of: x.of, Pos: x.pos, Gone: true})
		}
	}
	return causes
}

// part is something that can be removed from a model.
type part struct {
	what   string // as in Cause
	of     string // as in Cause
	pos    diag.Pos
	ref    ir.SubjectRef // of a subject
	server string        // of a server
	rule   bool          // it is a rule or a default
	take   func(*ir.Project)
}

// wholes returns the ceiling, the subjects and the servers.
func wholes(p *ir.Project) (out []part) {
	if p.Everyone != nil {
		out = append(out, part{what: ir.OfEveryone, take: func(p *ir.Project) { p.Everyone = nil }})
	}
	for i := range p.Modes {
		m := &p.Modes[i]
		take := func(p *ir.Project) {
			p.Modes = slices.DeleteFunc(p.Modes, func(x ir.Mode) bool { return x.Slug == m.Slug })
		}
		out = append(out, part{what: "mode " + m.Slug, pos: m.Pos, ref: ir.SubjectRef{Mode: m.Slug}, take: take})
	}
	for i := range p.Roles {
		r := &p.Roles[i]
		take := func(p *ir.Project) {
			p.Roles = slices.DeleteFunc(p.Roles, func(x ir.Role) bool { return x.Name == r.Name })
		}
		out = append(out, part{what: "role " + r.Name, pos: r.Pos, ref: ir.SubjectRef{Role: r.Name}, take: take})
	}
	for i := range p.Servers {
		s := &p.Servers[i]
		take := func(p *ir.Project) {
			p.Servers = slices.DeleteFunc(p.Servers, func(x ir.Server) bool { return x.Name == s.Name })
		}
		out = append(out, part{what: "server " + s.Name, pos: s.Pos, server: s.Name, take: take})
	}
	return out
}

// inside returns the parts of a subject or a server.
func inside(p *ir.Project, x part) []part {
	switch {
	case x.what == ir.OfEveryone:
		return rules(x.what, p.Everyone, func(p *ir.Project) *ir.Can { return p.Everyone })
	case x.server != "":
		return serverParts(x, p.Server(x.server))
	case x.ref.Mode != "":
		return modeParts(x, p.Mode(x.ref.Mode))
	}
	return roleParts(x, p.Role(x.ref.Role))
}

// parts collects the parts of one subject or server.
type parts[T any] struct {
	of   string // "mode architect"
	pos  diag.Pos
	find func(*ir.Project) *T
	list []part
}

// add adds a part at the place of the whole.
func (l *parts[T]) add(what string, take func(*T)) { l.addAt(l.pos, what, take) }

func (l *parts[T]) addAt(pos diag.Pos, what string, take func(*T)) {
	l.list = append(l.list, part{what: what, of: l.of, pos: pos, take: func(p *ir.Project) { take(l.find(p)) }})
}

// text adds a text unless it is empty.
func (l *parts[T]) text(now *T, what string, field func(*T) *string) {
	if *field(now) != "" {
		l.add(what, func(x *T) { *field(x) = without })
	}
}

func serverParts(x part, s *ir.Server) []part {
	l := parts[ir.Server]{of: x.what, pos: s.Pos, find: func(p *ir.Project) *ir.Server { return p.Server(x.server) }}
	if s.Command != "" {
		l.add("command", func(s *ir.Server) { s.Command = without })
	}
	if s.URL != "" {
		l.add("url", func(s *ir.Server) { s.URL = "https://modec.invalid" })
	}
	l.add("args", func(s *ir.Server) { s.Args = nil })
	l.add("env", func(s *ir.Server) { s.Env = nil })
	l.add("headers", func(s *ir.Server) { s.Headers = nil })
	l.add("timeout", func(s *ir.Server) { s.TimeoutSeconds = 0 })
	l.add("defaultEnabled", func(s *ir.Server) { s.DefaultEnabled = !s.DefaultEnabled })
	for _, tool := range s.Tools {
		l.addAt(tool.Pos, "tool "+tool.Name, func(s *ir.Server) {
			s.Tools = slices.DeleteFunc(s.Tools, func(t ir.Tool) bool { return t.Name == tool.Name })
		})
	}
	return l.list
}

func modeParts(x part, m *ir.Mode) []part {
	l := parts[ir.Mode]{of: x.what, pos: m.Pos, find: func(p *ir.Project) *ir.Mode { return p.Mode(x.ref.Mode) }}
	l.text(m, "name", func(m *ir.Mode) *string { return &m.Name })
	l.text(m, "description", func(m *ir.Mode) *string { return &m.Description })
	l.text(m, "whenToUse", func(m *ir.Mode) *string { return &m.WhenToUse })
	l.text(m, "roleDefinition", func(m *ir.Mode) *string { return &m.RoleDefinition })
	l.text(m, "customInstructions", func(m *ir.Mode) *string { return &m.CustomInstructions })
	l.text(m, "model", func(m *ir.Mode) *string { return &m.Model })
	for i, r := range m.Rules {
		l.addAt(r.Pos, "rules file "+r.Name, func(m *ir.Mode) { m.Rules = slices.Delete(m.Rules, i, i+1) })
	}
	if m.Restrictions != nil {
		l.addAt(m.Restrictions.Pos, "mcpRestrictions", func(m *ir.Mode) { m.Restrictions = nil })
	}
	for _, name := range slices.Sorted(maps.Keys(m.Extra)) {
		l.addAt(m.Extra[name].Pos, "agents."+name+".settings", func(m *ir.Mode) { delete(m.Extra, name) })
	}
	for i, c := range m.Native {
		l.addAt(c.Pos, c.Decision.String()+" "+c.Text, func(m *ir.Mode) { m.Native = slices.Delete(m.Native, i, i+1) })
	}
	return append(l.list, rules(x.what, &m.Can, func(p *ir.Project) *ir.Can { return &l.find(p).Can })...)
}

func roleParts(x part, r *ir.Role) []part {
	l := parts[ir.Role]{of: x.what, pos: r.Pos, find: func(p *ir.Project) *ir.Role { return p.Role(x.ref.Role) }}
	l.text(r, "description", func(r *ir.Role) *string { return &r.Description })
	l.text(r, "appendSystemPrompt", func(r *ir.Role) *string { return &r.AppendSystemPrompt })
	if r.PermissionMode != "" {
		l.addAt(r.PermissionModePos, "permissionMode", func(r *ir.Role) { r.PermissionMode = "" })
	}
	if r.Modes != nil {
		l.addAt(r.ModesPos, "modes", func(r *ir.Role) { r.Modes = nil })
	}
	if r.Held() {
		l.add("claims", func(r *ir.Role) { r.Claims, r.Principals = nil, "" })
	}
	if r.Tools != nil {
		l.add("tools", func(r *ir.Role) { r.Tools = nil })
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		l.add("env."+name, func(r *ir.Role) { delete(r.Env, name) })
	}
	for i, c := range r.Native {
		l.addAt(c.Pos, c.Decision.String()+" "+c.Text, func(r *ir.Role) { r.Native = slices.Delete(r.Native, i, i+1) })
	}
	for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
		l.addAt(r.Extra[name].Pos, "agents."+name+".settings", func(r *ir.Role) { delete(r.Extra, name) })
	}
	return append(l.list, rules(x.what, &r.Can, func(p *ir.Project) *ir.Can { return &l.find(p).Can })...)
}

// without takes the place of a text that a model must have.
const without = "modec-without"

// permissions collects the rules and defaults of a subject.
type permissions struct {
	subject string
	find    func(*ir.Project) *ir.Can
	list    []part
}

func (l *permissions) add(at diag.Pos, from, what string, take func(*ir.Can)) {
	if from != "" && from != l.subject {
		what += " of " + from
	}
	l.list = append(l.list, part{
		what: what, of: l.subject, pos: at, rule: true, take: func(p *ir.Project) { take(l.find(p)) },
	})
}

// fallback adds a default, if there is one.
func (l *permissions) fallback(can *ir.Can, what string, field func(*ir.Can) **ir.Default) {
	if d := *field(can); d != nil {
		l.add(d.Pos, d.From, what, func(c *ir.Can) { *field(c) = nil })
	}
}

// rules returns the rules and defaults of a subject.
func rules(subject string, can *ir.Can, find func(*ir.Project) *ir.Can) []part {
	l := &permissions{subject: subject, find: find}
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.Modes} {
		l.table(can.Table(g), g)
	}
	if can.MCP != nil {
		l.servers(can)
	}
	l.fallback(can, "can.default", func(c *ir.Can) **ir.Default { return &c.Default })
	l.fallback(can, "can.unknown", func(c *ir.Can) **ir.Default { return &c.Unknown })
	l.fallback(can, "can.outside.read", func(c *ir.Can) **ir.Default { return &c.OutsideRead })
	l.fallback(can, "can.outside.edit", func(c *ir.Can) **ir.Default { return &c.OutsideEdit })
	return l.list
}

// table adds what the table of a group says.
func (l *permissions) table(t *ir.Table, g ir.Group) {
	if t == nil {
		return
	}
	for i, r := range t.Rules {
		l.add(r.Pos, r.From, fmt.Sprintf("%s %s in can.%s", r.Decision, r.Pattern, g), func(c *ir.Can) {
			t := c.Table(g)
			t.Rules = slices.Delete(t.Rules, i, i+1)
		})
	}
	for i, r := range t.Timed {
		l.add(r.Pos, r.From, fmt.Sprintf("allow %s %s in can.%s", r.Pattern, r.Times, g), func(c *ir.Can) {
			t := c.Table(g)
			t.Timed = slices.Delete(t.Timed, i, i+1)
		})
	}
	if d := t.Default; d != nil {
		l.add(d.Pos, d.From, fmt.Sprintf("default %s of can.%s", d.Decision, g), func(c *ir.Can) {
			c.Table(g).Default = nil
		})
	}
}

// servers adds what can.mcp says.
func (l *permissions) servers(can *ir.Can) {
	m := can.MCP
	if d := m.Default; d != nil {
		l.add(d.Pos, d.From, fmt.Sprintf("default %s of can.mcp", d.Decision), func(c *ir.Can) { c.MCP.Default = nil })
	}
	for i, r := range m.Rules {
		l.add(r.Pos, r.From, fmt.Sprintf("%s every server", r.Decision), func(c *ir.Can) {
			c.MCP.Rules = slices.Delete(c.MCP.Rules, i, i+1)
		})
	}
	for i, e := range m.Entries {
		if d := e.Default; d != nil {
			what := fmt.Sprintf("default %s of can.mcp.%s", d.Decision, e.Key)
			l.add(d.Pos, cmp.Or(d.From, e.From), what, func(c *ir.Can) { c.MCP.Entries[i].Default = nil })
		}
		for j, r := range e.Rules {
			what := fmt.Sprintf("%s %s in can.mcp.%s", r.Decision, r.Pattern, e.Key)
			l.add(r.Pos, cmp.Or(r.From, e.From), what, func(c *ir.Can) {
				c.MCP.Entries[i].Rules = slices.Delete(c.MCP.Entries[i].Rules, j, j+1)
			})
		}
		for j, r := range e.Timed {
			what := fmt.Sprintf("allow %s %s in can.mcp.%s", r.Pattern, r.Times, e.Key)
			l.add(r.Pos, cmp.Or(r.From, e.From), what, func(c *ir.Can) {
				c.MCP.Entries[i].Timed = slices.Delete(c.MCP.Entries[i].Timed, j, j+1)
			})
		}
	}
}

// File returns the subjects and servers without which an artifact would be different.
func File(p *ir.Project, emit Emit) ([]Cause, error) {
	data, ok := emit(p)
	if !ok {
		return nil, errNoArtifact
	}
	base, err := p.Marshal()
	if err != nil {
		return nil, err
	}
	var causes []Cause
	for _, x := range wholes(p) {
		q, err := ir.Unmarshal(bytes.NewReader(base))
		if err != nil {
			return nil, err
		}
		x.take(q)
		if other, ok := emit(q); !bytes.Equal(other, data) {
			causes = append(causes, Cause{What: x.what, Pos: x.pos, Gone: !ok})
		}
	}
	return causes, nil
}
