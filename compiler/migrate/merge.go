package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// merger joins what several importers understood into one project. Where two of them
// differ it adds a note, and the stricter one holds.
type merger struct {
	project  *ir.Project
	notes    []contract.Note
	comments map[diag.Pos]string
}

func newMerger() *merger {
	return &merger{
		project:  &ir.Project{Version: ir.Version, Servers: []ir.Server{}, Modes: []ir.Mode{}, Roles: []ir.Role{}},
		comments: map[diag.Pos]string{},
	}
}

// add joins an import to those before.
func (m *merger) add(im contract.Imported) {
	m.notes = append(m.notes, im.Notes...)
	maps.Copy(m.comments, im.Comments)
	p := im.Project
	if p == nil {
		return
	}
	renamed := map[string]string{}
	for i := range p.Servers {
		s := p.Servers[i]
		old := find(m.project.Servers, func(x *ir.Server) bool { return strings.EqualFold(x.Name, s.Name) })
		if old == nil {
			m.project.Servers = append(m.project.Servers, s)
			continue
		}
		if old.Name != s.Name {
			renamed[s.Name] = old.Name
		}
		m.server(old, &s)
	}
	off := m.off()
	for i := range p.Modes {
		mode := p.Modes[i]
		rename(&mode.Can, mode.Restrictions, renamed)
		same := func(x *ir.Mode) bool { return strings.EqualFold(x.Slug, mode.Slug) }
		if old := find(m.project.Modes, same); old != nil {
			m.mode(old, &mode, off)
		} else {
			m.project.Modes = append(m.project.Modes, mode)
		}
	}
	for i := range p.Roles {
		role := p.Roles[i]
		rename(&role.Can, nil, renamed)
		same := func(x *ir.Role) bool { return strings.EqualFold(x.Name, role.Name) }
		if old := find(m.project.Roles, same); old != nil {
			m.role(old, &role, off)
		} else {
			m.project.Roles = append(m.project.Roles, role)
		}
	}
	slices.SortFunc(m.project.Servers, func(a, b ir.Server) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(m.project.Modes, func(a, b ir.Mode) int { return cmp.Compare(a.Slug, b.Slug) })
	slices.SortFunc(m.project.Roles, func(a, b ir.Role) int { return cmp.Compare(a.Name, b.Name) })
}

// find returns the first item of a list that a condition holds for, nil where there is none.
func find[T any](list []T, is func(*T) bool) *T {
	for i := range list {
		if is(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// off returns the servers that are off by default.
func (m *merger) off() map[string]bool {
	off := map[string]bool{}
	for i := range m.project.Servers {
		off[m.project.Servers[i].Name] = !m.project.Servers[i].DefaultEnabled
	}
	return off
}

// rename replaces the names of servers in what a subject may do.
func rename(can *ir.Can, r *ir.MCPRestrictions, names map[string]string) {
	if len(names) == 0 {
		return
	}
	name := func(s *string) {
		if to, ok := names[*s]; ok {
			*s = to
		}
	}
	if can.MCP != nil {
		t := *can.MCP
		t.Entries = slices.Clone(t.Entries)
		for i := range t.Entries {
			name(&t.Entries[i].Key)
		}
		can.MCP = &t
	}
	if r == nil {
		return
	}
	for _, l := range []*[]ir.Item{r.AllowedServers, r.DisallowedServers} {
		for i := range deref(l) {
			name(&(*l)[i].Name)
		}
	}
	for _, l := range []*[]ir.ToolRef{r.AllowedTools, r.DisallowedTools} {
		for i := range deref(l) {
			name(&(*l)[i].Server)
		}
	}
}

// deref returns a list, nil for one that is not there.
func deref[T any](l *[]T) []T {
	if l == nil {
		return nil
	}
	return *l
}

// pair is one subject, or one server, as two importers understood it.
type pair struct {
	*merger
	subject       string // "mode architect"
	first, second diag.Pos
}

// at returns the pair for a part of the subject that has places of its own.
func (p pair) at(first, second diag.Pos) pair {
	p.first, p.second = first, second
	return p
}

// resolution says what becomes of a difference.
type resolution string

const (
	firstHolds  resolution = "the first one holds"
	higherHolds resolution = "the higher one holds"
	bothHold    resolution = "only what both permit is permitted"
	offHolds    resolution = "it is off, and on for subjects that name it"
)

// differs adds a note that the second one says something else.
func (p pair) differs(what string, r resolution) {
	p.notes = append(p.notes, contract.Note{
		Kind: contract.Conflict, Pos: p.second, Subject: p.subject, What: what,
		Why: fmt.Sprintf("it differs from %s: %s", p.first, r),
	})
}

// text keeps the first of two texts.
func (p pair) text(to *string, other, field string) {
	switch {
	case *to == "":
		*to = other
	case other != "" && other != *to:
		p.differs(field, firstHolds)
	}
}

func (m *merger) server(a, b *ir.Server) {
	p := pair{m, "server " + a.Name, a.Pos, b.Pos}
	switch {
	case b.Type == ir.External:
	case a.Type == ir.External:
		a.Type, a.URL, a.Headers = b.Type, b.URL, b.Headers
		a.Command, a.Args, a.Cwd, a.Env = b.Command, b.Args, b.Cwd, b.Env
		a.TimeoutSeconds, a.Pos = b.TimeoutSeconds, b.Pos
	default:
		if !sameStart(a, b) {
			p.differs(cmp.Or(b.URL, strings.Join(append([]string{b.Command}, b.Args...), " ")), firstHolds)
		}
		if !maps.Equal(a.Env, b.Env) || !maps.Equal(a.Headers, b.Headers) {
			p.differs("env and headers", firstHolds)
		}
		if b.TimeoutSeconds > 0 && (a.TimeoutSeconds == 0 || b.TimeoutSeconds < a.TimeoutSeconds) {
			a.TimeoutSeconds = b.TimeoutSeconds
		}
	}
	if a.DefaultEnabled != b.DefaultEnabled {
		p.differs("on or off by default", offHolds)
		a.DefaultEnabled = false
	}
	p.tools(a, b)
}

// sameStart reports whether two servers are reached or started in the same way.
func sameStart(a, b *ir.Server) bool {
	return a.Type == b.Type && a.URL == b.URL &&
		a.Command == b.Command && slices.Equal(a.Args, b.Args) && a.Cwd == b.Cwd
}

// tools adds the tools of the second server, each with the higher risk.
func (p pair) tools(a, b *ir.Server) {
	for _, t := range b.Tools {
		old := find(a.Tools, func(x *ir.Tool) bool { return x.Name == t.Name })
		if old == nil {
			a.Tools = append(a.Tools, t)
			continue
		}
		old.Description = cmp.Or(old.Description, t.Description)
		if old.Risk != "" && t.Risk != "" && old.Risk != t.Risk {
			p.at(old.Pos, t.Pos).differs("risk of "+t.Name, higherHolds)
		}
		if risks[t.Risk] > risks[old.Risk] {
			old.Risk = t.Risk
		}
	}
	slices.SortFunc(a.Tools, func(x, y ir.Tool) int { return cmp.Compare(x.Name, y.Name) })
}

var risks = map[string]int{"read": 1, "write": 2, "destructive": 3}

func (m *merger) mode(a, b *ir.Mode, off map[string]bool) {
	p := pair{m, "mode " + a.Slug, a.Pos, b.Pos}
	p.text(&a.Name, b.Name, "name")
	p.text(&a.Description, b.Description, "description")
	p.text(&a.WhenToUse, b.WhenToUse, "whenToUse")
	p.text(&a.RoleDefinition, b.RoleDefinition, "roleDefinition")
	p.text(&a.CustomInstructions, b.CustomInstructions, "customInstructions")
	p.text(&a.Model, b.Model, "model")
	for _, r := range b.Rules {
		if old := find(a.Rules, func(x *ir.RuleFile) bool { return x.Name == r.Name }); old == nil {
			a.Rules = append(a.Rules, r)
		} else {
			p.at(old.Pos, r.Pos).text(&old.Text, r.Text, "rules file "+r.Name)
		}
	}
	a.Can = p.meet(explicit(a.Can, a.Pos, nil, off), explicit(b.Can, b.Pos, nil, off))
	implicit(&a.Can, nil)
	a.Restrictions = meetRestrictions(a.Restrictions, b.Restrictions)
	a.Extra = p.extra(a.Extra, b.Extra)
}

// meet returns the meet of two sides, with a note where they differ.
func (p pair) meet(a, b side) ir.Can {
	can := meet(a, b)
	first, second := decisions(meet(a, a)), decisions(meet(b, b))
	if first != second || decisions(can) != first {
		p.differs("what it may do", bothHold)
	}
	return can
}

// decisions writes what decides about permissions, to compare it.
func decisions(can ir.Can) string {
	var b strings.Builder
	fallback := func(d *ir.Default) {
		if d != nil {
			fmt.Fprintf(&b, " default %s", d.Decision)
		}
	}
	rules := func(rules []ir.Rule) {
		var lines []string
		for _, r := range rules {
			lines = append(lines, r.Decision.String()+" "+r.Pattern.String())
		}
		slices.Sort(lines)
		fmt.Fprintf(&b, "%q", lines)
	}
	for _, g := range tables {
		t := *g.of(&can)
		rules(t.Rules)
		fallback(t.Default)
		fmt.Fprintf(&b, " %d open\n", len(t.Open))
	}
	rules(can.MCP.Rules)
	fallback(can.MCP.Default)
	for _, e := range can.MCP.Entries {
		b.WriteString("\n" + e.Key)
		rules(e.Rules)
		fallback(e.Default)
		fallback(e.Resources)
		fallback(e.Prompts)
	}
	fallback(can.Unknown)
	fallback(can.OutsideRead)
	fallback(can.OutsideEdit)
	return b.String()
}

// extra adds the fields for one agent that the first one does not have.
func (p pair) extra(a, b map[string]ir.Extra) map[string]ir.Extra {
	for _, name := range slices.Sorted(maps.Keys(b)) {
		old, ok := a[name]
		if !ok {
			if a == nil {
				a = map[string]ir.Extra{}
			}
			a[name] = b[name]
		} else if !reflect.DeepEqual(old.Fields, b[name].Fields) {
			p.at(old.Pos, b[name].Pos).differs("extra."+name, firstHolds)
		}
	}
	return a
}

func (m *merger) role(a, b *ir.Role, off map[string]bool) {
	p := pair{m, "role " + a.Name, a.Pos, b.Pos}
	p.text(&a.Description, b.Description, "description")
	p.text(&a.AppendSystemPrompt, b.AppendSystemPrompt, "appendSystemPrompt")
	for _, k := range slices.Sorted(maps.Keys(b.Env)) {
		if v, ok := a.Env[k]; !ok {
			if a.Env == nil {
				a.Env = map[string]string{}
			}
			a.Env[k] = b.Env[k]
		} else if v != b.Env[k] {
			p.differs("env "+k, firstHolds)
		}
	}
	p.meet(explicit(a.Can, a.Pos, a, off), explicit(b.Can, b.Pos, b, off)) // for its note
	met := meetRoles(*a, *b, off)
	implicit(&met.Can, &met)
	met.Extra = p.extra(a.Extra, b.Extra)
	*a = met
}

// strictness lists the permission modes, the one that approves least by itself first.
var strictness = []string{"dontAsk", "plan", "default", "auto", "acceptEdits", "bypassPermissions"}

// meetRoles returns a role that permits what both permit, with the texts of the first.
func meetRoles(a, b ir.Role, off map[string]bool) ir.Role {
	out := a
	out.Can = meet(explicit(a.Can, a.Pos, &a, off), explicit(b.Can, b.Pos, &b, off))
	out.Modes = nil // written as a table
	rank := func(r *ir.Role) int { return slices.Index(strictness, cmp.Or(r.PermissionMode, "default")) }
	if rank(&b) < rank(&a) {
		out.PermissionMode, out.PermissionModePos = b.PermissionMode, b.PermissionModePos
	}
	out.Tools = common(a.Tools, b.Tools, func(s string) string { return s })
	out.Native = nil
	keep := func(own, other []ir.NativeRule) {
		for _, r := range own {
			has := func(list []ir.NativeRule) bool {
				return slices.ContainsFunc(list, func(o ir.NativeRule) bool {
					return o.Decision == r.Decision && o.Text == r.Text
				})
			}
			if (r.Decision < ir.Allow || has(other)) && !has(out.Native) {
				r.From = ""
				out.Native = append(out.Native, r)
			}
		}
	}
	keep(a.Native, b.Native)
	keep(b.Native, a.Native)
	return out
}
