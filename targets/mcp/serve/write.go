package serve

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// RoleInput is a role as set_roles takes it, in the form of the specification of roles.
type RoleInput struct {
	Name               string            `json:"name"`
	Description        string            `json:"description"`
	PermissionMode     string            `json:"permission_mode,omitempty" jsonschema:"one of Claude Code"`
	AllowedTools       []string          `json:"allowed_tools,omitempty" jsonschema:"rules of Claude Code, one an item"`
	DisallowedTools    []string          `json:"disallowed_tools,omitempty"`
	Tools              *string           `json:"tools,omitempty" jsonschema:"built-in tools, with commas; empty: none"`
	AppendSystemPrompt string            `json:"append_system_prompt,omitempty"`
	Env                map[string]string `json:"env,omitempty"`

	SetBy string `json:"set_by,omitempty" jsonschema:"as list_roles returned it; not written"`
	Flags any    `json:"flags,omitempty" jsonschema:"as list_roles returned them; not written"`
	Rules string `json:"rules,omitempty" jsonschema:"as list_roles returned it; not written"`
}

// RestrictionsInput are MCP restrictions as Roo's plan writes them. A list that is
// absent does not restrict; an empty allowedTools allows none.
type RestrictionsInput struct {
	AllowedServers    *[]string      `json:"allowedServers,omitempty"`
	DisallowedServers *[]string      `json:"disallowedServers,omitempty"`
	AllowedTools      *[]ToolPattern `json:"allowedTools,omitempty"`
	DisallowedTools   *[]ToolPattern `json:"disallowedTools,omitempty"`
}

// ToolPattern names tools by two patterns with * and ?.
type ToolPattern struct {
	ServerName string `json:"serverName"`
	ToolName   string `json:"toolName"`
}

func (r *RestrictionsInput) model() *ir.MCPRestrictions {
	items := func(in *[]string) *[]ir.Item {
		if in == nil {
			return nil
		}
		out := []ir.Item{}
		for _, s := range *in {
			out = append(out, ir.Item{Name: s})
		}
		return &out
	}
	tools := func(in *[]ToolPattern) *[]ir.ToolRef {
		if in == nil {
			return nil
		}
		out := []ir.ToolRef{}
		for _, t := range *in {
			out = append(out, ir.ToolRef{Server: t.ServerName, Tool: t.ToolName})
		}
		return &out
	}
	return &ir.MCPRestrictions{
		AllowedServers:    items(r.AllowedServers),
		DisallowedServers: items(r.DisallowedServers),
		AllowedTools:      tools(r.AllowedTools),
		DisallowedTools:   tools(r.DisallowedTools),
	}
}

type restrictionsInput struct {
	ModeSlug     string            `json:"mode_slug"`
	Restrictions RestrictionsInput `json:"restrictions"`
}

type restrictionsOutput struct {
	ModeSlug string       `json:"mode_slug"`
	Valid    bool         `json:"valid"`
	Problems []problem    `json:"problems"`
	Servers  []modeServer `json:"servers" jsonschema:"what the restrictions leave available"`
}

// validateRestrictions returns what restrictions would do, without writing them.
func (sc *scope) validateRestrictions(ctx context.Context, in restrictionsInput) (*restrictionsOutput, error) {
	m := sc.Model()
	if _, err := mode(m, in.ModeSlug); err != nil {
		return nil, err
	}
	out := &restrictionsOutput{
		ModeSlug: in.ModeSlug,
		Problems: checkRestrictions(m, &in.Restrictions),
		Servers:  []modeServer{},
	}
	refused := func(p problem) bool { return p.Severity == diag.Error.String() }
	inSource := m.Source(in.ModeSlug) == FromProject
	if !inSource {
		out.Problems = append(out.Problems, problem{Severity: diag.Error.String(), Code: string(diag.NotOurs),
			Message: notOfProject(in.ModeSlug, m.Source(in.ModeSlug))})
	}
	if inSource && sc.opt.TryRestrictions != nil && !slices.ContainsFunc(out.Problems, refused) {
		whole, err := sc.opt.TryRestrictions(ctx, in.ModeSlug, &in.Restrictions)
		if err != nil {
			return nil, fail(internalError, "%v", err)
		}
		said := problems(whole)
		out.Problems = append(out.Problems, slices.DeleteFunc(said, func(p problem) bool { return !refused(p) })...)
	}
	out.Valid = !slices.ContainsFunc(out.Problems, refused)
	p := *m.Project
	p.Modes = slices.Clone(p.Modes)
	i := slices.IndexFunc(p.Modes, func(md ir.Mode) bool { return md.Slug == in.ModeSlug })
	p.Modes[i].Restrictions = in.Restrictions.model()
	with := &Model{Root: m.Root, Project: &p, Policy: policy.New(&p), sources: m.sources}
	s, err := with.Policy.Subject(ir.SubjectRef{Mode: in.ModeSlug})
	if err != nil {
		return nil, fail(validationError, "%v", err)
	}
	for _, name := range with.servers(s) {
		out.Servers = append(out.Servers, serverRules(s, p.Server(name)))
	}
	return out, nil
}

// serverRules returns what a subject may do with each tool of a server.
func serverRules(s *policy.Subject, sv *ir.Server) modeServer {
	decide := func(tool string) policy.Result {
		return s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: tool})
	}
	out := modeServer{
		Name:           sv.Name,
		DefaultEnabled: sv.DefaultEnabled,
		Tools:          []toolRule{},
		OtherTools:     decide(contract.UnknownTool).Decision.String(),
	}
	for _, t := range sv.Tools {
		r := decide(t.Name)
		out.Tools = append(out.Tools, toolRule{t.Name, r.Decision.String(), ruleText(r)})
	}
	return out
}

// checkRestrictions looks for contradictions and for names that the inventory lacks.
func checkRestrictions(m *Model, r *RestrictionsInput) []problem {
	c := restrictionsCheck{inventory: m.Project.Servers, found: []problem{}}
	c.servers(list(r.AllowedServers), list(r.DisallowedServers))
	c.tools(list(r.AllowedTools), list(r.DisallowedTools))
	return c.found
}

// list returns the items of a list that may be absent.
func list[T any](l *[]T) []T {
	if l == nil {
		return nil
	}
	return *l
}

// restrictionsCheck collects the problems of MCP restrictions.
type restrictionsCheck struct {
	inventory []ir.Server
	found     []problem
}

func (c *restrictionsCheck) errorf(code diag.Code, format string, args ...any) {
	c.add(diag.Error, code, format, args)
}

func (c *restrictionsCheck) warnf(code diag.Code, format string, args ...any) {
	c.add(diag.Warning, code, format, args)
}

func (c *restrictionsCheck) add(s diag.Severity, code diag.Code, format string, args []any) {
	c.found = append(c.found, problem{
		Severity: s.String(),
		Code:     string(code),
		Message:  fmt.Sprintf(format, args...),
	})
}

func (c *restrictionsCheck) servers(allowed, disallowed []string) {
	for _, s := range allowed {
		if slices.Contains(disallowed, s) {
			c.errorf("conflicting-restrictions",
				"got the server %q in allowedServers and in disallowedServers, want it in one of them", s)
		}
	}
	for _, s := range slices.Concat(allowed, disallowed) {
		matches := func(sv ir.Server) bool { return policy.Wildcard(s, sv.Name) }
		if s == "" {
			c.errorf("bad-value", "got an empty server pattern, want a name")
		} else if !slices.ContainsFunc(c.inventory, matches) {
			c.noServer(s)
		}
	}
}

// noServer reports a pattern of servers that matches none: a name that is none's is refused, as the source does.
func (c *restrictionsCheck) noServer(s string) {
	if strings.ContainsAny(s, "*?") {
		c.warnf(diag.MatchesNothing, "got the server pattern %q, which matches no server of the inventory", s)
		return
	}
	var names []string
	for i := range c.inventory {
		names = append(names, c.inventory[i].Name)
	}
	c.errorf(diag.UnknownServer, "got the server %q, want %s", s, diag.OneOf(names, "none: the inventory is empty"))
}

func (c *restrictionsCheck) tools(allowed, disallowed []ToolPattern) {
	for _, t := range allowed {
		if slices.Contains(disallowed, t) {
			c.errorf("conflicting-restrictions",
				"got %s:%s in allowedTools and in disallowedTools, want it in one of them", t.ServerName, t.ToolName)
		}
	}
	for _, t := range slices.Concat(allowed, disallowed) {
		if t.ServerName == "" || t.ToolName == "" {
			c.errorf("bad-value", "got a tool without serverName or toolName, want both")
		} else if !slices.ContainsFunc(c.inventory, t.ofServer) {
			c.noServer(t.ServerName)
		} else if !slices.ContainsFunc(c.inventory, t.matches) {
			c.noTool(t)
		}
	}
}

// noTool reports a pattern of tools that matches none of a server's.
func (c *restrictionsCheck) noTool(t ToolPattern) {
	report, code := c.errorf, diag.UnknownTool
	if strings.ContainsAny(t.ToolName, "*?") {
		report, code = c.warnf, diag.MatchesNothing
	}
	report(code, "got the tool pattern %s:%s, which matches nothing of the inventory", t.ServerName, t.ToolName)
}

// ofServer reports whether a pattern is about a server.
func (t ToolPattern) ofServer(sv ir.Server) bool { return policy.Wildcard(t.ServerName, sv.Name) }

// matches reports whether a server may have a tool of the pattern: one without listed
// tools may have any.
func (t ToolPattern) matches(sv ir.Server) bool {
	if !t.ofServer(sv) {
		return false
	}
	named := func(x ir.Tool) bool { return policy.Wildcard(t.ToolName, x.Name) }
	return len(sv.Tools) == 0 || slices.ContainsFunc(sv.Tools, named)
}

type setRolesInput struct {
	Project string      `json:"project,omitempty" jsonschema:"the project's name; there is one, and it may be left out"`
	Roles   []RoleInput `json:"roles" jsonschema:"all roles of this tool: those that it set before are replaced"`
}

type writeOutput struct {
	Changed  bool      `json:"changed"`
	Code     string    `json:"code,omitempty" jsonschema:"why it is refused"`
	SpecCode int       `json:"specCode,omitempty" jsonschema:"the modes-server specification's number of it"`
	File     string    `json:"file,omitempty" jsonschema:"the file of the source that was written"`
	Roles    []role    `json:"roles,omitzero" jsonschema:"what was set, in the order of the call"`
	Problems []problem `json:"problems" jsonschema:"what the project with the change says: an error changes nothing"`
}

type updateRestrictionsInput struct {
	ModeSlug     string             `json:"mode_slug"`
	Restrictions *RestrictionsInput `json:"restrictions,omitempty" jsonschema:"absent: those set before go"`
}

// writers registers the tools that change the source.
func (sc *scope) writers() {
	failed := func(o *writeOutput, _ *refusal) bool { return o.Code != "" }
	add(sc, tool[setRolesInput, writeOutput]{
		name:  "set_roles",
		title: "Set roles",
		doc: "Replaces the roles that this tool set before by others, in a file of the source of its own. Roles of " +
			"the source stay, and may be in the list as list_roles returned them. The whole project has to compile " +
			"with the change, and no artifact to permit more than it says; else nothing is changed.",
		enums:  map[string][]string{"roles.permission_mode": policy.PermissionModes()},
		writes: true,
		handle: sc.setRoles,
		failed: failed,
	})
	add(sc, tool[updateRestrictionsInput, writeOutput]{
		name:  "update_mode_restrictions",
		title: "Set MCP restrictions",
		doc: "Replaces the MCP restrictions of a mode, those in the source included. They may only hold back more " +
			"than the source does; without restrictions, those of the source hold again. The whole project has to " +
			"compile with the change, and no artifact to permit more than it says; else nothing is changed.",
		writes: true,
		handle: sc.updateRestrictions,
		failed: failed,
	})
}

func (sc *scope) updateRestrictions(ctx context.Context, in updateRestrictionsInput) (*writeOutput, error) {
	if _, err := mode(sc.Model(), in.ModeSlug); err != nil {
		return nil, err
	}
	if from := sc.Model().Source(in.ModeSlug); from != FromProject {
		return nil, fail(validationError, "%s", notOfProject(in.ModeSlug, from))
	}
	return sc.write(ctx, func() (*Written, error) {
		return sc.opt.Writer.SetRestrictions(ctx, in.ModeSlug, in.Restrictions)
	})
}

// notOfProject says why the restrictions of a mode cannot be set.
func notOfProject(slug, from string) string {
	return fmt.Sprintf("got mode %q, which is %s, want one of the project", slug, from)
}

// write changes the source, one call after the other.
func (sc *scope) write(ctx context.Context, change func() (*Written, error)) (*writeOutput, error) {
	sc.writing.Lock()
	defer sc.writing.Unlock()
	if err := ctx.Err(); err != nil { // the caller has its answer already: that the call failed
		return nil, fail(timedOut, "the call ended before its turn came; nothing was changed")
	}
	w, err := change()
	if err != nil {
		return nil, fail(internalError, "%v", err)
	}
	out := &writeOutput{Changed: w.File != "", File: w.File, Problems: problems(w.Diagnostics)}
	if !out.Changed && w.Diagnostics.HasErrors() {
		for i, d := range w.Diagnostics {
			if ofServed(d.Pos.File) && d.Path != "" { // its line is of a text that nobody has
				out.Problems[i].Place = d.Path
			}
		}
		out.refused()
	}
	return out, nil
}

// refused gives an output the reason for which nothing was changed.
func (o *writeOutput) refused() {
	o.Code, o.SpecCode = string(validationError), specCodes[validationError]
}

// ofServed reports whether a file of the source is one that is written here.
func ofServed(file string) bool { return path.Base(path.Dir(file)) == path.Dir(RolesFile) }
