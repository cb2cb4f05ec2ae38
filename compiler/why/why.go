// Package why tells what of the source made a line of an artifact: it takes each part
// of the model away in turn, lets the target write the artifact again, and sees whether
// the line is still there. No target has to keep a map of what it writes, and none can
// get it wrong.
package why

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/textdiff"
)

// Cause is a part of the source without which the line would be another.
type Cause struct {
	What string   `json:"what"` // `deny "git push *"`, "roleDefinition", "server docs"
	Of   string   `json:"of"`   // "mode architect"; "" of a server itself
	Pos  diag.Pos `json:"pos"`
	// Gone is set where the line would not be there at all; else it would say
	// something else.
	Gone bool `json:"gone"`
}

// Emit writes an artifact from a model; ok is false where the model makes none.
type Emit func(*ir.Project) (data []byte, ok bool)

// ErrNoLine is the error for a line that the artifact does not have.
var ErrNoLine = errors.New("no such line")

// Line returns the causes of a line (from 1) of an artifact, the closest ones: of a
// subject whose one rule made the line it names the rule. progress is called with the
// parts tried; nil: not called.
func Line(p *ir.Project, emit Emit, line int, progress func(done, total int)) ([]Cause, error) {
	data, ok := emit(p)
	if !ok {
		return nil, fmt.Errorf("got a model that makes no such artifact")
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
	// The subjects and servers first: only in those that matter is anything closer.
	var causes []Cause
	parts := wholes(p)
	var within []part
	for i, x := range parts {
		if effect, gone := t.without(x, true); effect {
			causes = append(causes, Cause{What: x.what, Of: x.of, Pos: x.pos, Gone: gone})
			within = append(within, inside(p, x)...)
		}
		if progress != nil {
			progress(i+1, len(parts))
		}
	}
	var closer []Cause
	for i, x := range within {
		if effect, gone := t.without(x, false); effect {
			closer = append(closer, Cause{What: x.what, Of: x.of, Pos: x.pos, Gone: gone})
		}
		if progress != nil {
			progress(len(parts)+i+1, len(parts)+len(within))
		}
	}
	if len(closer) == 0 && len(within) > 0 {
		closer = t.enough(within)
	}
	if len(closer) > 0 {
		causes = closer
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return cmp.Or(a.Pos.Compare(b.Pos), strings.Compare(a.What, b.What)) })
	return slices.CompactFunc(causes, func(a, b Cause) bool { return a.Pos == b.Pos && a.What == b.What && a.Of == b.Of }), nil
}

// trial writes an artifact without parts of the model.
type trial struct {
	base  []byte
	whole string
	emit  Emit
	line  int
}

// plain is an artifact line by line without what stands around a line: indentation, and
// the comma that divides it from the next.
func plain(data []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		b.WriteString(strings.TrimRight(strings.TrimSpace(line), ",") + "\n")
	}
	return b.String()
}

// Emitted is the line of an emitted artifact that stands at a line of its file on disk,
// in which others may write too; 0 where that line is none of the artifact's.
func Emitted(disk, emitted []byte, line int) int {
	for _, l := range textdiff.Lines(plain(disk), plain(emitted)) {
		if l.Old == line && l.Op == textdiff.Same {
			return l.New
		}
	}
	return 0
}

// without reports whether the line is another one without a part, and whether it is
// gone altogether. Without a subject or a server the artifact itself may be gone.
func (t *trial) without(x part, whole bool) (effect, gone bool) {
	p, err := ir.Unmarshal(bytes.NewReader(t.base))
	if err != nil {
		return false, false
	}
	x.take(p)
	data, ok := t.emit(p)
	if !ok {
		return whole, whole // of a part: nothing can be said of a model that does not compile
	}
	lines := textdiff.Lines(t.whole, plain(data))
	i := slices.IndexFunc(lines, func(l textdiff.Line) bool { return l.Old == t.line })
	if i < 0 || lines[i].Op == textdiff.Same {
		return false, false
	}
	// A line in the place of this one says something else; without one it is gone.
	for j := i + 1; j < len(lines) && lines[j].Op != textdiff.Same; j++ {
		if lines[j].Op == textdiff.Insert {
			return true, false
		}
	}
	return true, true
}

// enough looks for the parts each of which makes the line by itself: where there are
// several, none of them is missed.
func (t *trial) enough(parts []part) (causes []Cause) {
	text := strings.Split(t.whole, "\n")[t.line-1]
	has := func(keep int) bool {
		p, err := ir.Unmarshal(bytes.NewReader(t.base))
		if err != nil {
			return false
		}
		for i := len(parts) - 1; i >= 0; i-- { // from the end: each takes by its index
			if i != keep && parts[i].rule {
				parts[i].take(p)
			}
		}
		data, ok := t.emit(p)
		return ok && slices.Contains(strings.Split(plain(data), "\n"), text)
	}
	if has(-1) {
		return nil // it is there in any case
	}
	for i, x := range parts {
		if x.rule && has(i) {
			causes = append(causes, Cause{What: x.what, Of: x.of, Pos: x.pos, Gone: true})
		}
	}
	return causes
}

// part is something that can be taken out of a model.
type part struct {
	what, of string
	pos      diag.Pos
	ref      ir.SubjectRef // of a subject or a part of one
	server   string
	rule     bool // of what a subject may do
	take     func(*ir.Project)
}

// wholes are the subjects and the servers.
func wholes(p *ir.Project) (out []part) {
	for i := range p.Modes {
		slug := p.Modes[i].Slug
		out = append(out, part{what: "mode " + slug, pos: p.Modes[i].Pos, ref: ir.SubjectRef{Mode: slug}, take: func(p *ir.Project) {
			p.Modes = slices.DeleteFunc(p.Modes, func(m ir.Mode) bool { return m.Slug == slug })
		}})
	}
	for i := range p.Roles {
		name := p.Roles[i].Name
		out = append(out, part{what: "role " + name, pos: p.Roles[i].Pos, ref: ir.SubjectRef{Role: name}, take: func(p *ir.Project) {
			p.Roles = slices.DeleteFunc(p.Roles, func(r ir.Role) bool { return r.Name == name })
		}})
	}
	for i := range p.Servers {
		name := p.Servers[i].Name
		out = append(out, part{what: "server " + name, pos: p.Servers[i].Pos, server: name, take: func(p *ir.Project) {
			p.Servers = slices.DeleteFunc(p.Servers, func(s ir.Server) bool { return s.Name == name })
		}})
	}
	return out
}

// inside are the parts of a subject or a server.
func inside(p *ir.Project, x part) (out []part) {
	switch {
	case x.server != "":
		s := p.Server(x.server)
		for _, f := range []struct {
			name string
			take func(*ir.Server)
		}{
			{"command", func(s *ir.Server) { s.Command = "modec-without" }}, {"args", func(s *ir.Server) { s.Args = nil }}, {"url", func(s *ir.Server) { s.URL = "https://modec.invalid" }},
			{"env", func(s *ir.Server) { s.Env = nil }}, {"headers", func(s *ir.Server) { s.Headers = nil }}, {"timeout", func(s *ir.Server) { s.TimeoutSeconds = 0 }},
			{"defaultEnabled", func(s *ir.Server) { s.DefaultEnabled = !s.DefaultEnabled }},
		} {
			if f.name == "command" && s.Command == "" || f.name == "url" && s.URL == "" {
				continue
			}
			out = append(out, part{what: f.name, of: x.what, pos: s.Pos, take: func(p *ir.Project) { f.take(p.Server(x.server)) }})
		}
		for _, tool := range s.Tools {
			out = append(out, part{what: "tool " + tool.Name, of: x.what, pos: tool.Pos, take: func(p *ir.Project) {
				s := p.Server(x.server)
				s.Tools = slices.DeleteFunc(s.Tools, func(t ir.Tool) bool { return t.Name == tool.Name })
			}})
		}
		return out
	case x.ref.Mode != "":
		m := p.Mode(x.ref.Mode)
		of := func(p *ir.Project) *ir.Mode { return p.Mode(x.ref.Mode) }
		for _, f := range []struct {
			name string
			of   func(*ir.Mode) *string
		}{
			{"name", func(m *ir.Mode) *string { return &m.Name }}, {"description", func(m *ir.Mode) *string { return &m.Description }}, {"whenToUse", func(m *ir.Mode) *string { return &m.WhenToUse }},
			{"roleDefinition", func(m *ir.Mode) *string { return &m.RoleDefinition }}, {"customInstructions", func(m *ir.Mode) *string { return &m.CustomInstructions }}, {"model", func(m *ir.Mode) *string { return &m.Model }},
		} {
			if *f.of(m) != "" {
				out = append(out, part{what: f.name, of: x.what, pos: m.Pos, take: func(p *ir.Project) { *f.of(of(p)) = without }})
			}
		}
		for i, r := range m.Rules {
			out = append(out, part{what: "rules file " + r.Name, of: x.what, pos: r.Pos, take: func(p *ir.Project) { m := of(p); m.Rules = slices.Delete(m.Rules, i, i+1) }})
		}
		if m.Restrictions != nil {
			out = append(out, part{what: "mcpRestrictions", of: x.what, pos: m.Restrictions.Pos, take: func(p *ir.Project) { of(p).Restrictions = nil }})
		}
		for name, e := range m.Extra {
			out = append(out, part{what: "extra." + name, of: x.what, pos: e.Pos, take: func(p *ir.Project) { delete(of(p).Extra, name) }})
		}
		return append(out, rules(x.what, &m.Can, func(p *ir.Project) *ir.Can { return &of(p).Can })...)
	}
	r := p.Role(x.ref.Role)
	of := func(p *ir.Project) *ir.Role { return p.Role(x.ref.Role) }
	for _, f := range []struct {
		name string
		of   func(*ir.Role) *string
	}{
		{"description", func(r *ir.Role) *string { return &r.Description }}, {"appendSystemPrompt", func(r *ir.Role) *string { return &r.AppendSystemPrompt }},
	} {
		if *f.of(r) != "" {
			out = append(out, part{what: f.name, of: x.what, pos: r.Pos, take: func(p *ir.Project) { *f.of(of(p)) = without }})
		}
	}
	if r.PermissionMode != "" {
		out = append(out, part{what: "permissionMode", of: x.what, pos: r.PermissionModePos, take: func(p *ir.Project) { of(p).PermissionMode = "" }})
	}
	if r.Modes != nil {
		out = append(out, part{what: "modes", of: x.what, pos: r.ModesPos, take: func(p *ir.Project) { of(p).Modes = nil }})
	}
	if len(r.Claims) > 0 {
		out = append(out, part{what: "claims", of: x.what, pos: r.Pos, take: func(p *ir.Project) { of(p).Claims = nil }})
	}
	if r.Tools != nil {
		out = append(out, part{what: "tools", of: x.what, pos: r.Pos, take: func(p *ir.Project) { of(p).Tools = nil }})
	}
	for name := range r.Env {
		out = append(out, part{what: "env." + name, of: x.what, pos: r.Pos, take: func(p *ir.Project) { delete(of(p).Env, name) }})
	}
	for i, c := range r.Native {
		out = append(out, part{what: c.Decision.String() + " " + c.Text, of: x.what, pos: c.Pos, take: func(p *ir.Project) { r := of(p); r.Native = slices.Delete(r.Native, i, i+1) }})
	}
	for name, e := range r.Extra {
		out = append(out, part{what: "extra." + name, of: x.what, pos: e.Pos, take: func(p *ir.Project) { delete(of(p).Extra, name) }})
	}
	return append(out, rules(x.what, &r.Can, func(p *ir.Project) *ir.Can { return &of(p).Can })...)
}

// without stands in the place of a text that a model must have.
const without = "modec-without"

// rules are the rules and defaults of a subject.
func rules(subject string, can *ir.Can, of func(*ir.Project) *ir.Can) (out []part) {
	add := func(what string, at diag.Pos, from string, take func(*ir.Can)) {
		if from != "" {
			what += " of " + from
		}
		out = append(out, part{what: what, of: subject, pos: at, rule: true, take: func(p *ir.Project) { take(of(p)) }})
	}
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.Modes} {
		t := can.Table(g)
		if t == nil {
			continue
		}
		for i, r := range t.Rules {
			add(fmt.Sprintf("%s %s in can.%s", r.Decision, r.Pattern, g), r.Pos, r.From, func(c *ir.Can) { t := c.Table(g); t.Rules = slices.Delete(t.Rules, i, i+1) })
		}
		if d := t.Default; d != nil {
			add(fmt.Sprintf("default %s of can.%s", d.Decision, g), d.Pos, d.From, func(c *ir.Can) { c.Table(g).Default = nil })
		}
		for i, o := range t.Open {
			add(fmt.Sprintf("guarded %q of can.%s", o.Path, g), o.Pos, "", func(c *ir.Can) { t := c.Table(g); t.Open = slices.Delete(t.Open, i, i+1) })
		}
	}
	if m := can.MCP; m != nil {
		if d := m.Default; d != nil {
			add(fmt.Sprintf("default %s of can.mcp", d.Decision), d.Pos, d.From, func(c *ir.Can) { c.MCP.Default = nil })
		}
		for i, r := range m.Rules {
			add(fmt.Sprintf("%s every server", r.Decision), r.Pos, r.From, func(c *ir.Can) { c.MCP.Rules = slices.Delete(c.MCP.Rules, i, i+1) })
		}
		for i, e := range m.Entries {
			if e.Default != nil {
				add(fmt.Sprintf("default %s of can.mcp.%s", e.Default.Decision, e.Key), e.Default.Pos, cmp.Or(e.Default.From, e.From), func(c *ir.Can) { c.MCP.Entries[i].Default = nil })
			}
			for j, r := range e.Rules {
				add(fmt.Sprintf("%s %s in can.mcp.%s", r.Decision, r.Pattern, e.Key), r.Pos, cmp.Or(r.From, e.From), func(c *ir.Can) {
					c.MCP.Entries[i].Rules = slices.Delete(c.MCP.Entries[i].Rules, j, j+1)
				})
			}
		}
	}
	for _, d := range []struct {
		what string
		of   func(*ir.Can) **ir.Default
	}{{"can.default", func(c *ir.Can) **ir.Default { return &c.Default }}, {"can.unknown", func(c *ir.Can) **ir.Default { return &c.Unknown }},
		{"can.outside.read", func(c *ir.Can) **ir.Default { return &c.OutsideRead }}, {"can.outside.edit", func(c *ir.Can) **ir.Default { return &c.OutsideEdit }}} {
		if x := *d.of(can); x != nil {
			add(d.what, x.Pos, x.From, func(c *ir.Can) { *d.of(c) = nil })
		}
	}
	return out
}

// File returns the subjects and servers without which an artifact would be another.
func File(p *ir.Project, emit Emit) ([]Cause, error) {
	data, ok := emit(p)
	if !ok {
		return nil, fmt.Errorf("got a model that makes no such artifact")
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
