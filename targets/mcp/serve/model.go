package serve

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Where a mode comes from.
const (
	FromProject = "project" // the project's own source
	FromGlobal  = "global"  // the user's
	FromBuiltin = "builtin" // modec's, as Roo's built-in modes are
)

// Model is what a server serves: a project, and under it the modes that the user has
// everywhere and the built-in ones. It does not change; a reload makes another.
type Model struct {
	Project *ir.Project // with the modes of every layer
	Policy  *policy.Engine
	// Root is the project's folder as an absolute path, which paths in questions are
	// taken relative to; "": only relative paths are inside. NewModel sets it.
	Root string
	// Home is the folder of the user that asks, which "~" stands for; "": nobody knows.
	Home string

	targets []contract.Target // whose tools and forms are served
	sources map[string]string // of the modes, by slug
	// reach is what anyone may do, which some forms of a role need; made once.
	reach func() (*contract.Reach, error)
	// realRoot is Root with its links resolved.
	realRoot func() (string, error)
}

//go:embed builtin.json
var builtinJSON []byte

// builtins are the built-in modes, compiled.
var builtins = sync.OnceValue(func() *ir.Project {
	p, err := ir.Unmarshal(bytes.NewReader(builtinJSON))
	if err != nil {
		panic(err) // a test compares the file with what the compiler makes
	}
	return p
})

// NewModel lays a project over the user's own and the built-in modes: of two modes
// with a slug the project's counts, then the user's. Roles and guards are the
// project's, and so are the servers of a name. targets are those whose tools can be
// asked about and whose forms of a role are served.
func NewModel(root string, targets []contract.Target, project *ir.Project, global ...*ir.Project) *Model {
	p := *project
	p.Builtins = nil
	m := &Model{Root: root, Project: &p, targets: targets, sources: map[string]string{}}
	p.Modes, p.Servers = nil, slices.Clone(project.Servers)
	add := func(source string, modes []ir.Mode) {
		for _, mode := range modes {
			if _, ok := m.sources[mode.Slug]; !ok {
				m.sources[mode.Slug] = source
				p.Modes = append(p.Modes, mode)
			}
		}
	}
	add(FromProject, project.Modes)
	for _, g := range global {
		add(FromGlobal, g.Modes)
		for _, s := range g.Servers {
			known := slices.ContainsFunc(p.Servers, func(o ir.Server) bool { return o.Name == s.Name })
			if !known {
				p.Servers = append(p.Servers, s)
			}
		}
	}
	add(FromBuiltin, builtins().Modes)
	slices.SortFunc(p.Modes, func(a, b ir.Mode) int { return strings.Compare(a.Slug, b.Slug) })
	slices.SortFunc(p.Servers, func(a, b ir.Server) int { return strings.Compare(a.Name, b.Name) })
	m.Policy = policy.New(&p)
	m.reach = sync.OnceValues(func() (*contract.Reach, error) { return contract.NewReach(m.Policy) })
	m.realRoot = sync.OnceValues(func() (string, error) { return contract.ResolveLinks(root) })
	return m
}

// Source returns where a mode comes from: FromProject, FromGlobal or FromBuiltin.
func (m *Model) Source(slug string) string { return m.sources[slug] }

// prompt returns the system prompt of a mode: its role, its instructions and its rules, and the servers
// and tools that it may use.
func (m *Model) prompt(md *ir.Mode) string {
	parts := []string{md.RoleDefinition, md.CustomInstructions}
	for _, r := range md.Rules {
		parts = append(parts, r.Text)
	}
	parts = append(parts, m.promptServers(md.Slug))
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}

// servers returns the servers of which a subject may use anything, in the model's order.
func (m *Model) servers(s *policy.Subject) []string {
	out := []string{}
	for i := range m.Project.Servers {
		if contract.Usable(s, &m.Project.Servers[i]) {
			out = append(out, m.Project.Servers[i].Name)
		}
	}
	return out
}

// most returns the most that a subject may do in a group, whatever the argument, and
// whether all of the group is so decided. A role in a mode may do at most what each of
// them may, where it mentions the group.
func (m *Model) most(ref ir.SubjectRef, s *policy.Subject, g ir.Group) (policy.Result, bool) {
	best, all := m.mostOf(s, g)
	if ref.Mode == "" || ref.Role == "" {
		return best, all
	}
	md, r := m.Project.Mode(ref.Mode), m.Project.Role(ref.Role)
	for _, side := range []struct {
		ref ir.SubjectRef
		can *ir.Can
	}{{ir.SubjectRef{Mode: ref.Mode}, &md.Can}, {ir.SubjectRef{Role: ref.Role}, &r.Can}} {
		if !side.can.Mentions(g) && side.can.Default == nil {
			continue
		}
		own, err := m.Policy.Subject(side.ref)
		if err != nil {
			return policy.Result{Decision: ir.Deny, Rule: err.Error()}, true
		}
		if r, whole := m.mostOf(own, g); r.Decision < best.Decision {
			best, all = r, whole
		} else {
			all = all && whole
		}
	}
	return best, all
}

func (m *Model) mostOf(s *policy.Subject, g ir.Group) (best policy.Result, all bool) {
	if g == ir.MCP {
		best = s.Default(ir.MCP)
		all = true
		for i := range m.Project.Servers {
			r := m.someOf(s, m.Project.Servers[i].Name)
			all = all && r.Decision == best.Decision
			if r.Decision > best.Decision {
				best = r
			}
		}
		return best, all && best.Decision != ir.Ask
	}
	best, all = s.Default(g), true
	for _, r := range s.Rules(g) {
		switch {
		case r.Decision == ir.Deny && r.Pattern.Kind == ir.All:
			return policy.Result{Decision: ir.Deny, Rule: "deny everything", Pos: r.Pos, From: r.From}, true
		case r.Decision > best.Decision:
			rule := r.Decision.String() + " " + r.Pattern.String()
			best, all = policy.Result{Decision: r.Decision, Rule: rule, Pos: r.Pos, From: r.From}, false
		case r.Decision < best.Decision:
			all = false
		}
	}
	return best, all
}
