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

// merger joins what several importers understood into one project. What two of
// them say differently is noted, and the stricter holds.
type merger struct {
	project  *ir.Project
	notes    []contract.Note
	comments map[diag.Pos]string
}

func newMerger() *merger {
	return &merger{project: &ir.Project{Version: ir.Version, Servers: []ir.Server{}, Modes: []ir.Mode{}, Roles: []ir.Role{}}, comments: map[diag.Pos]string{}}
}

// add joins an import to what is there.
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
		if old := find(m.project.Modes, func(x *ir.Mode) bool { return strings.EqualFold(x.Slug, mode.Slug) }); old != nil {
			m.mode(old, &mode, off)
		} else {
			m.project.Modes = append(m.project.Modes, mode)
		}
	}
	for i := range p.Roles {
		role := p.Roles[i]
		rename(&role.Can, nil, renamed)
		if old := find(m.project.Roles, func(x *ir.Role) bool { return strings.EqualFold(x.Name, role.Name) }); old != nil {
			m.role(old, &role, off)
		} else {
			m.project.Roles = append(m.project.Roles, role)
		}
	}
	slices.SortFunc(m.project.Servers, func(a, b ir.Server) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(m.project.Modes, func(a, b ir.Mode) int { return cmp.Compare(a.Slug, b.Slug) })
	slices.SortFunc(m.project.Roles, func(a, b ir.Role) int { return cmp.Compare(a.Name, b.Name) })
}

func find[T any](list []T, is func(*T) bool) *T {
	for i := range list {
		if is(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// off lists the servers that are off by default.
func (m *merger) off() map[string]bool {
	off := map[string]bool{}
	for i := range m.project.Servers {
		off[m.project.Servers[i].Name] = !m.project.Servers[i].DefaultEnabled
	}
	return off
}

// rename makes a subject speak of the servers by the names that they have here.
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

func deref[T any](l *[]T) []T {
	if l == nil {
		return nil
	}
	return *l
}

func (m *merger) conflict(at, other diag.Pos, subject, what, why string) {
	m.notes = append(m.notes, contract.Note{Kind: contract.Conflict, Pos: at, Subject: subject, What: what, Why: fmt.Sprintf("%s says otherwise: %s", other, why)})
}

func (m *merger) server(a, b *ir.Server) {
	subject := "server " + a.Name
	switch {
	case b.Type == ir.External:
	case a.Type == ir.External:
		a.Type, a.Command, a.Args, a.Cwd, a.Env, a.URL, a.Headers = b.Type, b.Command, b.Args, b.Cwd, b.Env, b.URL, b.Headers
		a.TimeoutSeconds, a.Pos = b.TimeoutSeconds, b.Pos
	default:
		if a.Type != b.Type || a.Command != b.Command || !slices.Equal(a.Args, b.Args) || a.Cwd != b.Cwd || a.URL != b.URL {
			m.conflict(b.Pos, a.Pos, subject, cmp.Or(b.URL, strings.Join(append([]string{b.Command}, b.Args...), " ")), "how the first is reached holds")
		}
		if !maps.Equal(a.Env, b.Env) || !maps.Equal(a.Headers, b.Headers) {
			m.conflict(b.Pos, a.Pos, subject, "env and headers", "those of the first hold")
		}
		if b.TimeoutSeconds > 0 && (a.TimeoutSeconds == 0 || b.TimeoutSeconds < a.TimeoutSeconds) {
			a.TimeoutSeconds = b.TimeoutSeconds
		}
	}
	if a.DefaultEnabled != b.DefaultEnabled {
		m.conflict(b.Pos, a.Pos, subject, "on or off by default", "it is off, and open to whom names it")
		a.DefaultEnabled = false
	}
	for _, t := range b.Tools {
		old := find(a.Tools, func(x *ir.Tool) bool { return x.Name == t.Name })
		if old == nil {
			a.Tools = append(a.Tools, t)
			continue
		}
		old.Description = cmp.Or(old.Description, t.Description)
		if old.Risk != "" && t.Risk != "" && old.Risk != t.Risk {
			m.conflict(t.Pos, old.Pos, subject, "risk of "+t.Name, "the higher holds")
		}
		if risks[t.Risk] > risks[old.Risk] {
			old.Risk = t.Risk
		}
	}
	slices.SortFunc(a.Tools, func(x, y ir.Tool) int { return cmp.Compare(x.Name, y.Name) })
}

var risks = map[string]int{"read": 1, "write": 2, "destructive": 3}

// text keeps the first of two texts.
func (m *merger) text(to *string, s string, at, other diag.Pos, subject, field string) {
	switch {
	case *to == "":
		*to = s
	case s != "" && s != *to:
		m.conflict(at, other, subject, field, "the first text holds")
	}
}

func (m *merger) mode(a, b *ir.Mode, off map[string]bool) {
	subject := "mode " + a.Slug
	for _, f := range []struct {
		to    *string
		s     string
		field string
	}{{&a.Name, b.Name, "name"}, {&a.Description, b.Description, "description"}, {&a.WhenToUse, b.WhenToUse, "whenToUse"}, {&a.RoleDefinition, b.RoleDefinition, "roleDefinition"},
		{&a.CustomInstructions, b.CustomInstructions, "customInstructions"}, {&a.Model, b.Model, "model"}} {
		m.text(f.to, f.s, b.Pos, a.Pos, subject, f.field)
	}
	for _, r := range b.Rules {
		if old := find(a.Rules, func(x *ir.RuleFile) bool { return x.Name == r.Name }); old == nil {
			a.Rules = append(a.Rules, r)
		} else {
			m.text(&old.Text, r.Text, r.Pos, old.Pos, subject, "rules file "+r.Name)
		}
	}
	a.Can = m.met(explicit(a.Can, a.Pos, nil, off), explicit(b.Can, b.Pos, nil, off), a.Pos, b.Pos, subject)
	implicit(&a.Can, nil)
	a.Restrictions = meetRestrictions(a.Restrictions, b.Restrictions)
	a.Extra = m.extra(a.Extra, b.Extra, subject)
}

// met is the meet of two sides, noted where they differ.
func (m *merger) met(a, b side, at, other diag.Pos, subject string) ir.Can {
	can := meet(a, b)
	if again := meet(a, a); !reflect.DeepEqual(decisions(can), decisions(again)) || !reflect.DeepEqual(decisions(again), decisions(meet(b, b))) {
		m.conflict(other, at, subject, "what it may do", "what both permit holds")
	}
	return can
}

// decisions strips what does not decide.
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

func (m *merger) extra(a, b map[string]ir.Extra, subject string) map[string]ir.Extra {
	for _, name := range slices.Sorted(maps.Keys(b)) {
		old, ok := a[name]
		if !ok {
			if a == nil {
				a = map[string]ir.Extra{}
			}
			a[name] = b[name]
		} else if !reflect.DeepEqual(old.Fields, b[name].Fields) {
			m.conflict(b[name].Pos, old.Pos, subject, "extra."+name, "the first holds")
		}
	}
	return a
}

func (m *merger) role(a, b *ir.Role, off map[string]bool) {
	subject := "role " + a.Name
	m.text(&a.Description, b.Description, b.Pos, a.Pos, subject, "description")
	m.text(&a.AppendSystemPrompt, b.AppendSystemPrompt, b.Pos, a.Pos, subject, "appendSystemPrompt")
	for _, k := range slices.Sorted(maps.Keys(b.Env)) {
		if v, ok := a.Env[k]; !ok {
			if a.Env == nil {
				a.Env = map[string]string{}
			}
			a.Env[k] = b.Env[k]
		} else if v != b.Env[k] {
			m.conflict(b.Pos, a.Pos, subject, "env "+k, "the first holds")
		}
	}
	m.met(explicit(a.Can, a.Pos, a, off), explicit(b.Can, b.Pos, b, off), a.Pos, b.Pos, subject) // for its note
	met := meetRoles(*a, *b, off)
	implicit(&met.Can, &met)
	met.Extra = m.extra(a.Extra, b.Extra, subject)
	*a = met
}

// strictness orders permission modes by what they approve by themselves.
var strictness = []string{"dontAsk", "plan", "default", "auto", "acceptEdits", "bypassPermissions"}

// meetRoles returns a role that permits what both permit. Texts are the first
// one's.
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
				return slices.ContainsFunc(list, func(o ir.NativeRule) bool { return o.Decision == r.Decision && o.Text == r.Text })
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
