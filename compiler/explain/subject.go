// Package explain says what a source means for one mode or role, and what every agent makes of that. [Sheets] returns
// all that there is to know of some subjects, [Matrix] their decisions group by group, [Action] what decides one
// action.
package explain

import (
	"context"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/compiler/verify"
)

// Row is what a subject may do, group by group.
type Row struct {
	Subject     string   `json:"subject"`
	Description string   `json:"description,omitempty"`
	Pos         diag.Pos `json:"pos"`
	ir.Place
	Cells []Cell `json:"cells"`
	// Steers are the groups whose denies do not hold, since the subject's commands are open.
	Steers []ir.Group `json:"steers" jsonschema:"groups whose denies steer and do not hold: the commands are open"`
	// Kept are rules for one agent alone: no cell shows them.
	Kept []keptRules `json:"kept,omitempty" jsonschema:"rules of the role for one agent alone, which no cell shows"`
}

// keptRules are the rules of a role for one agent alone that decide alike.
type keptRules struct {
	Target   string      `json:"target"`
	Decision ir.Decision `json:"decision"`
	Rules    []string    `json:"rules"`
}

// keptOf returns the rules of a subject for one agent alone.
func keptOf(p *ir.Project, ref ir.SubjectRef) (list []keptRules) {
	add := func(target string, d ir.Decision, text string) {
		i := slices.IndexFunc(list, func(k keptRules) bool { return k.Target == target && k.Decision == d })
		if i < 0 {
			i, list = len(list), append(list, keptRules{Target: target, Decision: d})
		}
		list[i].Rules = append(list[i].Rules, secret.Text(text))
	}
	for _, n := range p.Native(ref) {
		add(n.Target, n.Decision, n.Text)
	}
	p.EachCan(func(of ir.SubjectRef, target string, can *ir.Can) {
		if of == (ir.SubjectRef{Role: ref.Role}) || of == (ir.SubjectRef{Mode: ref.Mode}) {
			for _, x := range p.Can(of).Added(can) {
				add(target, x.Decision, x.What)
			}
		}
	})
	slices.SortStableFunc(list, func(a, b keptRules) int { return strings.Compare(a.Target, b.Target) })
	return list
}

// ownField is what a mode or a role says for one agent alone.
type ownField struct {
	Target string `json:"target"`
	Key    string `json:"key" jsonschema:"as the agent calls it"`
	Text   string `json:"text" jsonschema:"a text as it is, a list of texts with commas, anything else as JSON"`
}

// ownFields returns what a mode or a role says for one agent alone; rules are not among it.
func ownFields(extra map[string]ir.Extra) (list []ownField) {
	for _, target := range slices.Sorted(maps.Keys(extra)) {
		fields := extra[target].Fields
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			list = append(list, ownField{target, key, secret.Value(key, secret.Text(ownText(fields[key])))})
		}
	}
	return list
}

func ownText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	if list, ok := contract.Texts(v); ok && len(list) > 0 {
		return strings.Join(list, ", ")
	}
	return string(contract.JSONLine(v))
}

// Cell is what a subject may do in a group.
type Cell struct {
	Group    ir.Group      `json:"group"`
	Decision ir.Decision   `json:"decision" jsonschema:"of what no list names"`
	Lists    []ir.Decision `json:"lists" jsonschema:"what lists decide otherwise"`
}

// Sheet is all that there is to know of a subject.
type Sheet struct {
	Row
	Own []ownField `json:"own,omitempty" jsonschema:"what the source says for one agent alone, beside rules"`
	// Source has one part, for a role in a mode two.
	Source  []Source `json:"source" jsonschema:"of a role in a mode: the role's part and the mode's"`
	Servers []Server `json:"servers"`
	Agents  []Agent  `json:"agents"`
	// Elsewhere are the targets that do not emit the subject.
	Elsewhere []string `json:"elsewhere" jsonschema:"targets that do not emit the subject"`
}

// Source is what the source says of a mode or a role.
type Source struct {
	Subject        string       `json:"subject"`
	PermissionMode string       `json:"permissionMode,omitempty"`
	Groups         []Group      `json:"groups"`
	Restricted     bool         `json:"restricted,omitempty" jsonschema:"mcpRestrictions hold servers or tools back"`
	Outside        *outsidePart `json:"outside,omitempty" jsonschema:"at most, outside the project"`
}

// outsidePart is what a subject may do outside the project at most.
type outsidePart struct {
	Read ir.Decision `json:"read"`
	Edit ir.Decision `json:"edit"`
}

// Group is what the source says of a group.
type Group struct {
	Group   ir.Group    `json:"group"`
	Default ir.Decision `json:"default" jsonschema:"of what no list names"`
	By      string      `json:"by" jsonschema:"what decides that"`
	Pos     diag.Pos    `json:"pos"`
	Rules   []Rule      `json:"rules" jsonschema:"as written, the inherited ones last"`
}

// Rule is one rule.
type Rule struct {
	Server   string      `json:"server,omitempty" jsonschema:"the servers that it is about, of mcp"`
	Decision ir.Decision `json:"decision"`
	Pattern  string      `json:"pattern" jsonschema:"default: what the lists of the server do not name"`
	Pos      diag.Pos    `json:"pos"`
	From     string      `json:"from,omitempty" jsonschema:"where it was inherited from"`
	Times    string      `json:"times,omitempty" jsonschema:"when an allow holds: days, hours and their time zone"`
}

// Server is what a subject may do with a server.
type Server struct {
	Server string `json:"server"`
	Off    bool   `json:"off,omitempty" jsonschema:"off by default"`
	Tools  []Tool `json:"tools"`
}

// Tool is what a subject may do with a tool, or with what is named in parentheses.
type Tool struct {
	Name     string      `json:"name"`
	Decision ir.Decision `json:"decision"`
}

// Agent is what really happens on one surface of an agent.
type Agent struct {
	Target    string    `json:"target"`
	Surface   string    `json:"surface,omitempty"`
	Artifacts []string  `json:"artifacts" jsonschema:"the files that decide"`
	Groups    []Holding `json:"groups"`
	Losses    diag.List `json:"losses" jsonschema:"what the format cannot say"`
	// The rest is from a verification of the subject.
	Wider    []verify.Finding `json:"wider"`
	Accepted []verify.Finding `json:"accepted" jsonschema:"wider, by an exception of modec.toml"`
	Holes    []verify.Finding `json:"holes" jsonschema:"how the agent itself goes past its files"`
	HookOnly []verify.Finding `json:"hookOnly" jsonschema:"what the hook alone refuses"`
}

// Holding is what holds a subject to a group on a surface.
type Holding struct {
	Group     ir.Group `json:"group"`
	Access    []Holder `json:"access" jsonschema:"what refuses what the source denies; empty: it denies nothing"`
	Approval  []Holder `json:"approval" jsonschema:"what asks where the source asks; empty: nothing is to be asked"`
	Left      bool     `json:"left,omitempty" jsonschema:"something is left to the agent"`
	Artifacts []string `json:"artifacts"`
	Changes   []Change `json:"changes" jsonschema:"what becomes of a decision on the way"`
}

// Change is what becomes of a decision of the source.
type Change struct {
	Source  ir.Decision `json:"source"`
	Here    ir.Decision `json:"here"`
	Count   int         `json:"count" jsonschema:"of the decisions compared"`
	Example string      `json:"example"`
}

// Matrix returns the decisions of every mode and role, group by group.
func Matrix(res *compiler.Result) (rows []Row, err error) {
	for _, ref := range res.Project.Subjects() {
		s, err := res.Policy.Subject(ref)
		if err != nil {
			return nil, err
		}
		rows = append(rows, RowOf(res.Project, s, ref, Servers(res.Project, s)))
	}
	return rows, nil
}

// RowOf returns the cells of a subject. What it may do with MCP is read from its tools.
func RowOf(p *ir.Project, s *policy.Subject, ref ir.SubjectRef, servers []Server) Row {
	r := Row{Subject: ref.String(), Steers: s.AdvisoryGroups(), Kept: keptOf(p, ref)}
	if ref.Role != "" {
		x := p.Role(ref.Role)
		r.Description, r.Pos, r.Place = x.Description, x.Pos, x.Place
	} else {
		x := p.Mode(ref.Mode)
		r.Description, r.Pos, r.Place = x.Description, x.Pos, x.Place
	}
	for _, g := range ir.Decided {
		c := Cell{Group: g}
		if g != ir.MCP {
			c.Decision, c.Lists = s.Decisions(g)
			r.Cells = append(r.Cells, c)
			continue
		}
		c.Decision = s.Default(g).Decision
		for _, sv := range servers {
			for _, t := range sv.Tools {
				c.Add(t.Decision)
			}
		}
		slices.Sort(c.Lists)
		r.Cells = append(r.Cells, c)
	}
	return r
}

// Add notes a decision that differs from the one of what no list names.
func (c *Cell) Add(d ir.Decision) {
	if d != c.Decision && !slices.Contains(c.Lists, d) {
		c.Lists = append(c.Lists, d)
	}
}

// Servers returns what a subject may do with each tool of the inventory, with the resources and
// the prompts of each server, and with tools that are not listed.
func Servers(p *ir.Project, s *policy.Subject) (list []Server) {
	for i := range p.Servers {
		sv := &p.Servers[i]
		part := Server{Server: sv.Name, Off: !sv.DefaultEnabled}
		add := func(name string, a policy.Action) {
			a.Group, a.Server = ir.MCP, sv.Name
			part.Tools = append(part.Tools, Tool{name, s.Decide(a).Decision})
		}
		for _, t := range sv.Tools {
			add(t.Name, policy.Action{Arg: t.Name})
		}
		if !p.ListsTools(sv) {
			add("(any other tool)", policy.Action{Arg: contract.UnknownTool})
		}
		add("(resources)", policy.Action{Kind: policy.Resource})
		add("(prompts)", policy.Action{Kind: policy.Prompt})
		list = append(list, part)
	}
	return list
}

// Sheets returns all that there is to know of some subjects. It reports each step of the verification to progress;
// nil: to nobody.
func Sheets(
	ctx context.Context, res *compiler.Result, refs []ir.SubjectRef, progress func(verify.Step),
) ([]Sheet, diag.List) {
	watch := &watched{res: res, seen: map[watchedKey]*watchedSurface{}}
	report, diags := res.VerifyBy(ctx,
		compiler.Verification{Seed: compiler.Seed, Subjects: refs, Seen: watch.see, Progress: progress})
	if report == nil {
		return nil, diags
	}
	out := make([]Sheet, len(refs))
	for i, ref := range refs {
		if err := out[i].Describe(res, ref); err != nil {
			diags = nil
			diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
			return nil, diags
		}
		out[i].Agents, out[i].Elsewhere = watch.agents(report, ref)
	}
	return out, nil // what is wider is in the sheets
}

// Describe fills in what the source alone says of a subject.
func (x *Sheet) Describe(res *compiler.Result, ref ir.SubjectRef) error {
	s, err := res.Policy.Subject(ref)
	if err != nil {
		return err
	}
	p := res.Project
	x.Servers = Servers(p, s)
	x.Row = RowOf(p, s, ref, x.Servers)
	sides := []ir.SubjectRef{ref}
	if ref.Role != "" && ref.Mode != "" {
		sides = []ir.SubjectRef{{Role: ref.Role}, {Mode: ref.Mode}}
	}
	for _, side := range sides {
		s, err := res.Policy.Subject(side)
		if err != nil {
			return err
		}
		x.Source = append(x.Source, SourceOf(p, s, side))
		if r := p.Role(side.Role); r != nil {
			x.Own = append(x.Own, ownFields(r.Extra)...)
		} else {
			x.Own = append(x.Own, ownFields(p.Mode(side.Mode).Extra)...)
		}
	}
	return nil
}

// SourceOf returns what the source says of a mode or a role.
func SourceOf(p *ir.Project, s *policy.Subject, ref ir.SubjectRef) Source {
	part := Source{Subject: ref.String(),
		Outside: &outsidePart{s.Outside(ir.Read).Decision, s.Outside(ir.Edit).Decision}}
	can := p.Can(ref)
	if r := p.Role(ref.Role); r != nil {
		part.PermissionMode = r.PermissionMode
	} else {
		part.Restricted = p.Mode(ref.Mode).Restrictions != nil
	}
	for _, g := range ir.Decided {
		d := s.Default(g)
		of := Group{Group: g, Default: d.Decision, By: d.Explanation(), Pos: d.Pos}
		if g == ir.MCP {
			if of.Rules = mcpRules(can.MCP); p.Everyone != nil {
				of.Rules = append(of.Rules, mcpRules(p.Everyone.MCP)...)
			}
		}
		for _, r := range s.Rules(g) {
			if !r.Times.Timed() { // the allow stands for both
				of.Rules = append(of.Rules, partOf("", r))
			}
		}
		if t := can.Table(g); t != nil {
			for _, r := range t.Timed {
				of.Rules = append(of.Rules, partOf("", r))
			}
		}
		part.Groups = append(part.Groups, of)
	}
	return part
}

// partOf returns a rule about servers, "" where it is about none.
func partOf(server string, r ir.Rule) Rule {
	return Rule{server, r.Decision, r.Pattern.String(), r.Pos, r.From, r.Times.String()}
}

// mcpRules returns what a table says of servers, in its order.
func mcpRules(t *ir.MCPTable) (list []Rule) {
	if t == nil {
		return nil
	}
	for _, r := range t.Rules {
		list = append(list, partOf("*", r))
	}
	for _, x := range t.Entries {
		for _, r := range x.Rules {
			if !r.Times.Timed() {
				list = append(list, partOf(x.Key, r))
			}
		}
		for _, r := range x.Timed {
			list = append(list, partOf(x.Key, r))
		}
		for _, d := range []struct {
			of string
			*ir.Default
		}{{"default", x.Default}, {"resources", x.Resources}, {"prompts", x.Prompts}} {
			if d.Default != nil {
				list = append(list, Rule{x.Key, d.Decision, d.of, d.Pos, d.From, ""})
			}
		}
	}
	return list
}

// Closed reports whether a rule denies all of the group.
func (g *Group) Closed() bool {
	return slices.ContainsFunc(g.Rules, func(r Rule) bool {
		return r.Decision == ir.Deny && r.Server == "" && r.Pattern == ir.Pattern{Kind: ir.All}.String()
	})
}

// Name is how an agent's surface is called.
func (a *Agent) Name() string { return strings.TrimSpace(a.Target + " " + a.Surface) }

// Free reports whether all of a group is left to the agent.
func (g *Holding) Free() bool { return g.Left && len(g.Access) == 0 && len(g.Approval) == 0 }

// Allows reports whether something in a group is allowed.
func (g *Group) Allows() bool {
	return !g.Closed() && (g.Default == ir.Allow ||
		slices.ContainsFunc(g.Rules, func(r Rule) bool { return r.Decision == ir.Allow }))
}
