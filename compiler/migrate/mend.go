package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// mostMends bounds how often an import is mended and proved again. Each time takes something
// out of it, and one rule seldom hides another.
const mostMends = 8

// difference is a decision of the new project that permits more than the original file.
type difference struct {
	attempt
	agent   string           // the target's name
	dialect contract.Dialect // the target's; nil where it has no rules of its own grammar
	file    string
	built   string // the rule of the artifact, "" for a difference of the source
	half    contract.Halves
}

// mend takes what permits more than the original out of the imported project, and notes it: the allow that does,
// which stays as it is written where its agent alone can say it, else the whole group of the subject is decided as
// the original decides. It reports false where nothing is left to take out.
func (in *imports) mend(found []difference, compiled *ir.Project) (changed bool) {
	type part struct {
		ref    ir.SubjectRef
		group  ir.Group
		server string
	}
	mended := map[part]bool{} // what to compare again before more is taken out
	for _, d := range found {
		if m, ok := in.mender(d); ok && (m.allowed(compiled) || m.native()) {
			mended[part{d.ref, d.Group, d.Server}] = true
		}
	}
	for _, d := range found {
		p := part{d.ref, d.Group, d.Server}
		if m, ok := in.mender(d); ok && !mended[p] {
			mended[p] = m.capped()
		}
	}
	return slices.Contains(slices.Collect(maps.Values(mended)), true)
}

// mender returns what mends a difference. It reports false for a subject that the imported
// project does not have.
func (in *imports) mender(d difference) (mender, bool) {
	can, role := in.can(d.ref)
	return mender{in, d, can, role}, can != nil
}

// can returns what a subject of the imported project may do, and its role; nil for a subject
// that it does not have.
func (in *imports) can(ref ir.SubjectRef) (*ir.Can, *ir.Role) {
	if ref.Role != "" {
		if r := in.project.Role(ref.Role); r != nil {
			return &r.Can, r
		}
		return nil, nil
	}
	if m := in.project.Mode(ref.Mode); m != nil {
		return &m.Can, nil
	}
	return nil, nil
}

// mender mends one difference.
type mender struct {
	*imports
	difference
	can  *ir.Can
	role *ir.Role // nil for a mode
}

// allowed removes the allow that the new source decides by. It is found by its pattern, since
// the rules of the import have the places of the original files.
func (m mender) allowed(compiled *ir.Project) bool {
	var of *ir.Can
	if m.ref.Role != "" {
		of = &compiled.Role(m.ref.Role).Can
	} else {
		of = &compiled.Mode(m.ref.Mode).Can
	}
	var out []ir.Rule
	for _, r := range rulesOf(of, m.Group) {
		if r.Pos != m.by || r.Decision != ir.Allow || m.by.IsZero() {
			continue
		}
		for _, list := range listsOf(m.can, m.Group) {
			*list = slices.DeleteFunc(slices.Clone(*list), func(x ir.Rule) bool {
				same := x.Decision == r.Decision && x.Pattern == r.Pattern
				if same {
					out = append(out, x)
				}
				return same
			})
		}
	}
	for _, r := range out {
		if !m.keep(r) {
			m.leave(r.Pos, r.Decision.String()+" "+r.Pattern.String())
		}
	}
	return len(out) > 0
}

// keep leaves an allow to its agent alone, as it is written in the original. It reports false where that is
// not a rule of the agent's own grammar.
func (m mender) keep(r ir.Rule) bool {
	if m.role == nil || m.dialect == nil {
		return false
	}
	for i := range m.notes {
		n := &m.notes[i]
		text, ok := strings.CutPrefix(n.What, r.Decision.String()+" ")
		if !ok || !n.Rule || n.Pos != r.Pos || n.Kind != contract.Understood {
			continue
		}
		m.role.Native = append(m.role.Native,
			ir.NativeRule{Target: m.agent, Decision: r.Decision, Text: text, Pos: r.Pos, Own: true})
		n.Kind = contract.Kept
		n.Why = "it stays as it is written, for this agent alone: the source would permit more by it"
		return true
	}
	return false
}

// native removes the rule in the agent's own grammar that an artifact decides by.
func (m mender) native() bool {
	if m.role == nil || m.built == "" {
		return false
	}
	var out []ir.NativeRule
	m.role.Native = slices.DeleteFunc(slices.Clone(m.role.Native), func(n ir.NativeRule) bool {
		same := n.Text == m.built && n.Decision == ir.Allow && n.Target == m.agent
		if same {
			out = append(out, n)
		}
		return same
	})
	for _, n := range out {
		m.leave(n.Pos, n.Decision.String()+" "+n.Text)
	}
	return len(out) > 0
}

// leave notes that a rule is not imported, in place of what the importer said of it.
func (m mender) leave(at diag.Pos, what string) {
	why := fmt.Sprintf("the source would permit more by it than %s does (%s): it is left out", m.file, m.named())
	subject := m.ref.String()
	for i := range m.notes {
		if n := &m.notes[i]; n.Rule && n.Pos == at && n.Kind != contract.Refused {
			n.Kind, n.Why = contract.Refused, why
			return
		}
	}
	m.notes = append(m.notes, contract.Note{
		Kind: contract.Refused, Pos: at, Subject: subject, What: what, Why: why, Rule: true})
}

// named writes the action as a person reads it.
func (m mender) named() string {
	arg := m.Arg
	if m.Group == ir.MCP {
		arg = m.Server + ":" + m.Arg
	}
	return fmt.Sprintf("%s %q", m.Group, arg)
}

// capped restricts the whole group of the subject to what the original decides. It reports
// false where that is so already.
func (m mender) capped() bool {
	to := ir.Ask
	if m.half == contract.Access {
		to = ir.Deny
	}
	before := said(*m.can)
	what := "can." + string(m.Group)
	switch outside := m.outside(); {
	case m.Group == ir.Unknown:
		m.can.Unknown = &ir.Default{Decision: to, Pos: m.at()}
	case outside != nil && (*outside == nil || (*outside).Decision > to):
		*outside = &ir.Default{Decision: to, Pos: m.at()}
		what += ", outside the project"
	case m.Group == ir.MCP:
		if m.can.MCP == nil {
			m.can.MCP = &ir.MCPTable{}
		}
		m.can.MCP = cappedTools(*m.can.MCP, m.Server, to, m.at())
		if m.project.Server(m.Server) != nil {
			what += "." + m.Server
		}
	default:
		for _, g := range tables {
			if g.group == m.Group {
				m.capTable(g.of(m.can), to)
			}
		}
	}
	if said(*m.can) == before {
		return false
	}
	word := map[ir.Decision]string{ir.Ask: "asked about", ir.Deny: "denied"}[to]
	m.notes = append(m.notes, contract.Note{
		Kind: contract.NeedsDecision, Pos: m.at(), Subject: m.ref.String(), What: what,
		Why: fmt.Sprintf("the source cannot say it as %s does (%s is %s there, by %s): all of it is %s",
			m.file, m.named(), m.was.Decision, m.was.Rule, word),
	})
	return true
}

// tables are the groups that have a table of rules.
var tables = []struct {
	group ir.Group
	of    func(*ir.Can) **ir.Table
}{
	{ir.Read, func(c *ir.Can) **ir.Table { return &c.Read }},
	{ir.Edit, func(c *ir.Can) **ir.Table { return &c.Edit }},
	{ir.Command, func(c *ir.Can) **ir.Table { return &c.Command }},
	{ir.Web, func(c *ir.Can) **ir.Table { return &c.Web }},
	{ir.Modes, func(c *ir.Can) **ir.Table { return &c.Modes }},
}

// said writes what decides about permissions, to compare it.
func said(can ir.Can) string {
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
		if t == nil {
			t = &ir.Table{}
		}
		rules(t.Rules)
		fallback(t.Default)
	}
	can.MCP = cmp.Or(can.MCP, &ir.MCPTable{})
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

// at is the place of the original's rule.
func (m mender) at() diag.Pos {
	return cmp.Or(m.was.At, diag.Pos{File: m.file})
}

// outside returns the limit of paths outside the project, nil for any other action.
func (m mender) outside() **ir.Default {
	if m.Group != ir.Read && m.Group != ir.Edit {
		return nil
	}
	if !path.IsAbs(m.Arg) && !strings.HasPrefix(m.Arg, "~") && !strings.HasPrefix(path.Clean(m.Arg), "..") {
		return nil
	}
	if m.Group == ir.Read {
		return &m.can.OutsideRead
	}
	return &m.can.OutsideEdit
}

func (m mender) capTable(t **ir.Table, to ir.Decision) {
	if m.role != nil && m.Group == ir.Modes {
		m.role.Modes = nil // which says the same in another way
	}
	if to == ir.Deny {
		*t = &ir.Table{Rules: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: m.at()}}}
		return
	}
	asked := ir.Table{}
	if *t != nil {
		asked = **t
	}
	asked.Rules, asked.Default = cappedRules(asked.Rules), cappedDefault(asked.Default, m.role != nil, m.at())
	*t = &asked
}

// cappedRules returns rules without the allows.
func cappedRules(rules []ir.Rule) []ir.Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r ir.Rule) bool { return r.Decision == ir.Allow })
}

// cappedDefault returns a default that does not approve. The omitted one of a role is left to the
// agent, that of a mode denies.
func cappedDefault(d *ir.Default, role bool, at diag.Pos) *ir.Default {
	if d == nil && !role || d != nil && d.Decision <= ir.Ask {
		return d
	}
	return &ir.Default{Decision: ir.Ask, Pos: at}
}

// cappedTools restricts a server of the project, else every server.
func cappedTools(t ir.MCPTable, server string, to ir.Decision, at diag.Pos) *ir.MCPTable {
	deny := []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: at}}
	ask := &ir.Default{Decision: ir.Ask, Pos: at}
	t.Entries = slices.Clone(t.Entries)
	whole := true
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.Key != server && !(!e.Literal && policy.Wildcard(e.Key, server)) {
			continue
		}
		whole = whole && !e.Literal
		if to == ir.Deny {
			e.Rules, e.Default = deny, nil
			continue
		}
		e.Rules, e.Default = cappedRules(e.Rules), ask
	}
	switch {
	case !whole:
	case to == ir.Deny:
		return &ir.MCPTable{Rules: deny}
	default:
		t.Rules, t.Default = cappedRules(t.Rules), ask
	}
	return &t
}

// rulesOf returns the rules about a group.
func rulesOf(can *ir.Can, g ir.Group) (out []ir.Rule) {
	for _, l := range listsOf(can, g) {
		out = append(out, *l...)
	}
	return out
}

// listsOf returns the lists of rules about a group.
func listsOf(can *ir.Can, g ir.Group) (out []*[]ir.Rule) {
	if g != ir.MCP {
		if t := can.Table(g); t != nil {
			out = append(out, &t.Rules)
		}
		return out
	}
	if can.MCP == nil {
		return nil
	}
	out = append(out, &can.MCP.Rules)
	for i := range can.MCP.Entries {
		out = append(out, &can.MCP.Entries[i].Rules)
	}
	return out
}
