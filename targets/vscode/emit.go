package vscode

import (
	"maps"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/vscode/format"
)

// emitter compiles one project.
type emitter struct {
	in        contract.Input
	everybody string          // the role of every session, "" for none
	base      *policy.Subject // what it may do, nil for none
	diags     diag.List
}

// Emit compiles the list of servers, and the settings of the baseline.
func (vscode) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := &emitter{in: in}
	e.everybody = in.Everybody(&e.diags, name, codeUnknownSubject)
	if in.Project.Role(e.everybody) != nil {
		s, err := in.Policy.Subject(ir.SubjectRef{Role: e.everybody})
		if err != nil {
			e.diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
			return nil, e.diags
		}
		e.base = s
	}
	files := e.settings()
	list := contract.Object{}
	for i := range in.Project.Servers {
		if sv := &in.Project.Servers[i]; e.lists(sv) {
			list = append(list, sv.Name, e.entry(sv))
		}
	}
	if len(list) > 0 {
		files = append(files, contract.File{Path: format.ServersFile,
			Data:   contract.JSON(contract.Object{format.ServersKey, list}),
			Places: []string{"/" + format.ServersKey + "/*"}, Keys: format.Keys, Defaults: serverDefaults()})
	}
	if e.diags.HasErrors() {
		return nil, e.diags
	}
	return files, e.diags
}

// lists reports whether a server is in the list: where each of its tools may be used.
func (e *emitter) lists(sv *ir.Server) bool {
	if sv.Type == ir.External || e.in.Reach.Server(sv.Name).Any() == ir.Deny || e.base == nil && !sv.DefaultEnabled {
		return false
	}
	used, denied := false, ""
	judge := func(d ir.Decision, what string) {
		if used = used || d > ir.Deny; d == ir.Deny && denied == "" {
			denied = what
		}
	}
	for _, t := range sv.Tools {
		judge(e.tool(sv.Name, t.Name), "the tool "+t.Name)
	}
	if !e.in.Project.ListsTools(sv) {
		judge(e.tool(sv.Name, contract.UnknownTool), "a tool that the inventory does not list")
	}
	if !used {
		return false
	}
	if denied == "" && e.base != nil {
		denied = e.beside(sv)
	}
	if denied != "" {
		e.diags.Warnf(codeTools, sv.Pos, "VS Code has no list of a server's tools, and %s of %q may not be used: "+
			"the server is left out", denied, sv.Name).
			Hint("let modec's gateway hold it: [gateway] emit = true").
			Target(name).
			Loses(diag.Narrowing, string(ir.MCP))
	}
	return denied == ""
}

// beside returns what the baseline may not use of a server beside its tools in the inventory, "" for nothing.
func (e *emitter) beside(sv *ir.Server) string {
	for i, what := range []string{"a resource", "a prompt"} {
		a := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool,
			Kind: []policy.MCPKind{policy.Resource, policy.Prompt}[i]}
		if r := e.base.Decide(a); contract.Decision(vscode{}, &r) == ir.Deny {
			return what
		}
		// What a time opens may say less of these.
		if open, err := e.in.Policy.Opened().Subject(ir.SubjectRef{Role: e.everybody}); err == nil {
			if r := open.Decide(a); contract.Decision(vscode{}, &r) == ir.Deny {
				return what
			}
		}
	}
	if e.base.ListsTools(sv) {
		return ""
	}
	for _, r := range e.base.UnlistedToolRules(sv.Name) {
		if r.Decision == ir.Deny {
			return "a tool like " + r.Pattern.String()
		}
	}
	return ""
}

// tool decides a tool as the baseline does, and in a project without one as the subject that may do most.
func (e *emitter) tool(server, tool string) ir.Decision {
	if e.base == nil {
		return e.in.Reach.Tool(server, tool).Any()
	}
	r := e.base.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool})
	return contract.Decision(vscode{}, &r)
}

// serverDefaults are the members that mean the same where they are missing: an entry with an address is reached over
// HTTP.
func serverDefaults() map[string][]string {
	defaults := maps.Clone(contract.ServerDefaults)
	defaults["type"] = []string{`"stdio"`, `"http"`}
	return defaults
}

// entry returns how VS Code starts a server.
func (e *emitter) entry(sv *ir.Server) contract.Object {
	if sv.TimeoutSeconds > 0 {
		e.diags.Warnf(codeField, sv.Pos, "%s has no timeout: that of the server %q is left out", format.ServersFile,
			sv.Name).
			Target(name).
			Loses(diag.Text, "")
	}
	return append(contract.Object{"type", sv.Type}, contract.EnvTransport(sv)...)
}
