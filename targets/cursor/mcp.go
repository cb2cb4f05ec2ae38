package cursor

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// fold is how Cursor compares names.
func fold(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// literal reports whether a name means itself for Cursor's matchers, the
// engine's (only `*` is special) and picomatch, which the documentation means.
func literal(s string) bool {
	return s != "" && s == strings.TrimSpace(s) && !strings.ContainsAny(s, "*?[]{}()!+@\\|:\"$^\n\r") && !strings.HasPrefix(s, "./")
}

// widened writes a text for a deny: what a matcher may read as a glob, as `*`.
func widened(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case !strings.ContainsRune("*?[]{}()!+@\\|:\"$^\n\r", r):
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "*"):
			b.WriteByte('*')
		}
	}
	return b.String()
}

// checkNames reports servers that Cursor would not tell apart.
func (e *emitter) checkNames() {
	seen := map[string]string{}
	servers := e.in.Project.Servers
	for i := range servers {
		name := fold(servers[i].Name)
		if other, ok := seen[name]; ok {
			e.collision(&servers[i], other)
		}
		seen[name] = servers[i].Name
	}
	for i := range servers {
		for j := range servers {
			if isAlias(fold(servers[i].Name), fold(servers[j].Name)) {
				e.collision(&servers[i], servers[j].Name)
			}
		}
	}
}

// isAlias reports whether a folded id may be a prefixed form of a folded name.
func isAlias(id, name string) bool {
	if rest, ok := strings.CutPrefix(id, "user-"); ok && rest == name {
		return true
	}
	rest, ok := strings.CutPrefix(id, "project-")
	if !ok {
		return false
	}
	digits, rest, ok := strings.Cut(rest, "-")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == "" && strings.HasSuffix(rest, "-"+name)
}

func (e *emitter) collision(sv *ir.Server, other string) {
	e.diags.Errorf(codeNameCollision, sv.Pos, "got the servers %q and %q, which are one to Cursor, want names that differ without case, surrounding space and prefix", other, sv.Name).
		Target("cursor")
}

func (p *profile) tool(server, tool string) ir.Decision {
	return p.subject.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool}).Decision
}

// entries lists the MCP tools of one decision as server:tool. A server stands
// whole where every tool has the decision, one that the inventory does not list
// included: a server may grow tools, and the entry must not grow with it. Tools
// whose names differ only in case have the lowest of their decisions.
func (e *emitter) entries(p *profile, want ir.Decision) []string {
	name := func(s string) (string, bool) {
		if want == ir.Deny {
			return widened(s), true
		}
		return s, literal(s)
	}
	var out []string
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		server, ok := name(sv.Name)
		if !ok {
			continue
		}
		lowest := map[string]ir.Decision{}
		whole := p.tool(sv.Name, contract.UnknownTool) == want
		for _, t := range sv.Tools {
			d, known := lowest[fold(t.Name)]
			own := p.tool(sv.Name, t.Name)
			if !known || own < d {
				lowest[fold(t.Name)] = own
			}
			whole = whole && own == want
		}
		if whole {
			out = append(out, server+":*")
			continue
		}
		for _, t := range sv.Tools {
			if d, open := lowest[fold(t.Name)]; open && d == want {
				if tool, ok := name(t.Name); ok {
					out = append(out, server+":"+tool)
				}
				delete(lowest, fold(t.Name)) // one entry stands for every spelling
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// allowed lists what runs without approval, with the aliases where wanted.
func (e *emitter) allowed(p *profile) []string {
	list := e.entries(p, ir.Allow)
	if !e.in.Options.Bool("aliases") {
		return list
	}
	folder := e.in.Options.String("folder")
	if folder == "" {
		folder = e.in.Project.Name
	}
	for _, entry := range slices.Clone(list) {
		list = append(list, "user-"+entry)
		if literal(folder) {
			list = append(list, "project-0-"+folder+"-"+entry)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// denied lists what is never run. Without hooks a tool or a server that the
// inventory does not list would be asked about: where it is open they are denied
// whole.
func (e *emitter) denied(p *profile) []string {
	list := e.entries(p, ir.Deny)
	if e.in.Options.Bool("aliases") {
		for _, entry := range slices.Clone(list) {
			list = append(list, "user-"+entry, "project-*-"+entry)
		}
	}
	if e.hooks || e.in.Project.ClosedInventory {
		return list
	}
	if def := p.subject.Default(ir.MCP); def.Decision == ir.Deny {
		if e.closed(p, ir.MCP, def.Pos, "servers that the inventory does not list") {
			return []string{"*:*"}
		}
		return list
	}
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		whole := widened(sv.Name) + ":*"
		r := p.subject.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool})
		if r.Decision == ir.Deny && !slices.Contains(list, whole) && e.in.Excepts(p.ref, sv.Name, "*", contract.ByGroup) == nil {
			e.loss(p, r.Pos, ir.MCP, codeDeny, fmt.Sprintf("no token denies tools of %q that the inventory does not list, and hooks are off: the server is denied", sv.Name), "turn hooks on, or close the inventory")
			list = append(list, whole)
		}
	}
	return list
}

const provenance = "// Written by modec for %s from the project's source; edits are overwritten.\n" +
	"// In the home folder (~/.cursor) it replaces your own allowlists and pins the run mode.\n"

// permissions writes the IDE's allowlists: JSONC, whose comments carry what a
// key could not, since Cursor's own schema refuses unknown keys.
func (e *emitter) permissions(p *profile, c commands) []byte {
	return append(fmt.Appendf(nil, provenance, comment(p.ref.String())), contract.JSON(e.lists(p, c))...)
}

// lists are the IDE's run mode and allowlists.
func (e *emitter) lists(p *profile, c commands) contract.Object {
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		for _, t := range sv.Tools {
			if p.tool(sv.Name, t.Name) != ir.Allow {
				continue
			}
			if !literal(sv.Name) {
				e.loss(p, sv.Pos, ir.MCP, codeName, fmt.Sprintf("the server name %q is no plain text for Cursor's matcher: it is left out of the allowlists", sv.Name), "rename the server")
				break
			}
			if !literal(t.Name) {
				e.loss(p, t.Pos, ir.MCP, codeName, fmt.Sprintf("the tool name %q is no plain text for Cursor's matcher: it is left out of the allowlists", t.Name), "rename the tool")
			}
		}
	}
	return contract.Object{"approvalMode", "allowlist", "mcpAllowlist", orEmpty(e.allowed(p)), "terminalAllowlist", orEmpty(c.allow)}
}

// comment makes a name fit for a line comment: no line break, and nothing that
// reorders what a reader sees.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, s)
}

// orEmpty keeps a list without entries a list in JSON.
func orEmpty(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

// servers writes the shared server list: what somebody may use and is on by
// default, or is named by an exception.
func (e *emitter) servers() []byte {
	all := contract.Object{}
	for i := range e.in.Project.Servers {
		s := &e.in.Project.Servers[i]
		if s.Type == ir.External || e.in.Reach.Server(s.Name).Any() == ir.Deny || !s.DefaultEnabled && !e.opened(s) {
			continue
		}
		e.lostFields(s)
		o := contract.Object{}
		if s.Type == "stdio" {
			o = append(o, "type", "stdio", "command", contract.EnvRefs(s.Command))
			if len(s.Args) > 0 {
				o = append(o, "args", contract.EnvRefsList(s.Args))
			}
			if len(s.Env) > 0 {
				o = append(o, "env", contract.EnvRefsAll(s.Env))
			}
		} else {
			o = append(o, "url", contract.EnvRefs(s.URL))
			if len(s.Headers) > 0 {
				o = append(o, "headers", contract.EnvRefsAll(s.Headers))
			}
		}
		all = append(all, s.Name, o)
	}
	return contract.JSON(contract.Object{"mcpServers", all})
}

// opened reports whether a server that is off by default is in the list all the
// same: a written exception names it.
func (e *emitter) opened(s *ir.Server) bool {
	for i := range e.in.Exceptions {
		if x := &e.in.Exceptions[i]; x.Group == ir.MCP && x.Server == s.Name {
			e.diags.Warnf(diag.ExceptionUsed, x.Pos, "the server %q, off by default, is in the list that everybody shares", s.Name).
				Hint("reason: "+x.Reason+", until "+x.Until.Format("2006-01-02")).
				Target("cursor").
				Subject(x.Subject.String()).
				Loses(diag.Widening, string(ir.MCP))
			return true
		}
	}
	e.diags.Warnf(codeServerOff, s.Pos, "the server %q is off by default, and Cursor has one list for everybody: it is left out", s.Name).
		Hint("who may use it adds it to ~/.cursor/mcp.json").
		Target("cursor").
		Loses(diag.Narrowing, string(ir.MCP))
	return false
}

// lostFields reports settings of a server that mcp.json does not have.
func (e *emitter) lostFields(s *ir.Server) {
	lost := func(field string) {
		e.diags.Warnf(codeServerField, s.Pos, "mcp.json has no %s: that of the server %q is left out", field, s.Name).
			Target("cursor").
			Loses(diag.Text, "")
	}
	if s.Cwd != "" {
		lost("working directory")
	}
	if s.TimeoutSeconds > 0 {
		lost("timeout")
	}
}
