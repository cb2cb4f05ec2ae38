package roo

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

// mode is an entry of customModes.
type mode struct {
	slug, name, role, when, description, custom string
	groups                                      []group
	servers                                     *[]string // allowedMcpServers; with tools, allowedServers
	tools                                       *[]toolRef
	source                                      string // the agent ignores it
}

type group struct {
	name        string
	regex       string // edit only; "" for no restriction
	description string
}

type toolRef struct{ server, tool string }

// builtins are the built-in modes of Roo 3.52.1 (DEFAULT_MODES), by slug.
var builtins = []struct{ slug, name string }{
	{"architect", "🏗️ Architect"}, {"ask", "❓ Ask"}, {"code", "💻 Code"}, {"debug", "🪲 Debug"},
	{"orchestrator", "🪃 Orchestrator"},
}

func (e *emitter) emit() ([]contract.File, diag.List) {
	p := e.in.Project
	e.checkNames()
	e.hoistReads()
	servers := e.servers()
	var modes []mode
	for i := range p.Modes {
		m, err := e.mode(&p.Modes[i], servers)
		if err != nil {
			e.diags.Errorf(diag.BadPattern, p.Modes[i].Pos, "%v", err)
			continue
		}
		modes = append(modes, m)
	}
	if e.in.Options.String("builtins") == "shadow" {
		for _, b := range builtins {
			if !slices.ContainsFunc(modes, func(m mode) bool { return m.slug == b.slug }) {
				modes = append(modes, mode{
					slug: b.slug,
					name: b.name,
					role: "This mode is switched off in this project.",
					when: "Never: this mode is switched off in this project.",
				})
			}
		}
	}
	if len(e.diags) > 0 && e.diags.HasErrors() {
		return nil, e.diags
	}
	write := writeYAML
	if e.in.Options.String("format") == "json" {
		write = writeJSON
	}
	var files []contract.File
	if len(modes) > 0 {
		files = append(files, contract.File{Path: e.dir() + "modes", Data: write(modes)})
	}
	if len(p.Servers) > 0 {
		list := contract.File{Path: e.dir() + "/mcp.json", Data: e.serversJSON(servers, false),
			Places: contract.MCPServers, Keys: e.serverKeys(), Resting: toolLists, Sets: toolLists, Strict: true,
			Defaults: serverDefaults()}
		if slices.ContainsFunc(servers, func(sv server) bool { return sv.entry != nil }) {
			list.Judged = e.serversJSON(servers, true)
			list.Stated = e.statedJSON(servers)
		}
		files = append(files, list)
	}
	files = append(files, e.ignoreFile()...)
	for i := range p.Modes {
		for _, r := range p.Modes[i].Rules {
			name := e.dir() + "/rules-" + p.Modes[i].Slug + "/" + r.Name
			files = append(files, contract.File{Path: name, Data: []byte(r.Text)})
		}
	}
	return files, e.diags
}

func (e *emitter) mode(m *ir.Mode, servers []server) (mode, error) {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
	if err != nil {
		return mode{}, err
	}
	contract.LosesTimes(&e.diags, e.name, "mode "+m.Slug, &m.Can, func(g ir.Group) bool {
		// A group lets in or not, and a person agrees; the mode's own gateway knows times.
		return s.Default(g).Decision == ir.Deny && e.dialect.Lists(string(g)) &&
			!(g == ir.MCP && e.dialect == format.Zoo && len(e.in.Project.Gateways) > 0)
	})
	out := mode{slug: m.Slug, name: m.Name, role: m.RoleDefinition, when: m.WhenToUse,
		description: m.Description, custom: m.CustomInstructions}
	if m.Model != "" && m.Model != "inherit" {
		e.diags.Warnf(codeModel, m.Pos, "a mode names no model, it is left out").
			Hint("the user picks a model for each mode in the agent").
			Target(e.name).
			Subject("mode "+m.Slug).
			Loses(diag.Text, "")
	}
	if e.whole(m, s, ir.Read, codeRead) {
		out.groups = append(out.groups, group{name: "read"})
	}
	if g, ok := e.edit(m, s); ok {
		out.groups = append(out.groups, g)
		e.ignoredEdits(m, s)
	}
	if e.whole(m, s, ir.Command, codeCommand) {
		out.groups = append(out.groups, group{name: "command"})
	}
	if e.dialect == format.Zoo && e.whole(m, s, ir.Web, codeWeb) {
		out.groups = append(out.groups, group{name: "web"})
	}
	e.modeServers(m, s, servers, &out)
	e.extra(m, s, &out)
	return out, nil
}

// whole reports whether a mode keeps a group that is all or nothing: when it
// denies nothing in it but what the ignore file lists.
func (e *emitter) whole(m *ir.Mode, s *policy.Subject, g ir.Group, code diag.Code) bool {
	if !may(s, g) {
		return false
	}
	at, why := diag.Pos{}, ""
	if def := s.Default(g); def.Decision == ir.Deny {
		at, why = def.Pos, "what is not listed"
	}
	for _, r := range s.Rules(g) {
		if r.Decision == ir.Deny && why == "" && !(g == ir.Read && e.ignores(r)) {
			at, why = r.Pos, r.Pattern.String()
		}
	}
	if why == "" {
		return true
	}
	if e.in.Keeps(&e.diags, e.name, ir.SubjectRef{Mode: m.Slug}, g, at, "it cannot deny %s", why) {
		return true
	}
	e.loss(m, g, code, at, "the group %s is all or nothing and the mode denies %s: it loses the group", g, why).
		Hintf("ask instead of denying, deny it in every mode, or write partial = \"keep\" or an exception for %q", g)
	return false
}
