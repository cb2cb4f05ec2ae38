package cursor

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
	"modec.dev/modec/targets/cursor/hook"
)

// special are the characters that a matcher may read as a pattern.
const special = "*?[]{}()!+@\\|:\"$^\n\r"

// literal reports whether a name means itself for Cursor's matchers, the
// engine's (only `*` is special) and picomatch, which the documentation means.
func literal(s string) bool {
	return s != "" && s == strings.TrimSpace(s) && !strings.ContainsAny(s, special) && !strings.HasPrefix(s, "./")
}

// widened returns a text for a deny: what a matcher may read as a pattern becomes `*`.
func widened(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case !strings.ContainsRune(special, r):
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "*"):
			b.WriteByte('*')
		}
	}
	return b.String()
}

// checkNames reports servers that Cursor, or modec's hook, cannot distinguish.
func (e *emitter) checkNames() {
	seen := map[string]string{}
	servers := e.in.Project.Servers
	for i := range servers {
		name := format.Fold(servers[i].Name)
		if other, ok := seen[name]; ok {
			e.collision(&servers[i], other)
		}
		seen[name] = servers[i].Name
	}
	for i := range servers {
		for j := range servers {
			if hook.IsAlias(format.Fold(servers[i].Name), format.Fold(servers[j].Name)) {
				e.collision(&servers[i], servers[j].Name)
			}
		}
	}
}

func (e *emitter) collision(sv *ir.Server, other string) {
	e.diags.Errorf(codeNameCollision, sv.Pos, "the servers %q and %q are one to Cursor: "+
		"give them names that differ without case, surrounding space and prefix", other, sv.Name).
		Target("cursor")
}

func (p *profile) tool(server, tool string) ir.Decision {
	return decided(p.subject.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool}))
}

// entries returns the MCP tools of one decision as server:tool. A server stands
// whole where every tool has the decision, one that the inventory does not list
// included: a server may grow tools, and the entry must not grow with it.
func (e *emitter) entries(p *profile, want ir.Decision) []string {
	name := func(s string) (string, bool) { return s, literal(s) }
	if want == ir.Deny {
		name = func(s string) (string, bool) { return widened(s), true }
	}
	var out []string
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		server, ok := name(sv.Name)
		if !ok {
			continue
		}
		if p.whole(sv, want) {
			out = append(out, server+":*")
			continue
		}
		if want == ir.Deny {
			out = append(out, p.unlistedTools(sv.Name, server)...)
		}
		lowest := p.lowest(sv)
		for _, t := range p.subject.NamedTools(sv) {
			if d, open := lowest[format.Fold(t.Name)]; open && d == want {
				if tool, ok := name(t.Name); ok {
					out = append(out, server+":"+tool)
				}
				delete(lowest, format.Fold(t.Name)) // one entry stands for every spelling
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unlistedTools returns what denies the tools of a server that the inventory does not list and that rules name: in
// their own names, and in those that an agent gives to its model. in is the server as an entry has it.
func (p *profile) unlistedTools(server, in string) (entries []string) {
	for _, r := range p.subject.UnlistedToolRules(server) {
		if r.Decision != ir.Deny {
			continue
		}
		var given strings.Builder
		for _, c := range r.Pattern.Text {
			if c == '*' || c == '?' {
				given.WriteRune(c)
			} else {
				given.WriteString(policy.AgentName(string(c)))
			}
		}
		entries = append(entries, in+":"+widened(r.Pattern.Text), in+":"+widened(given.String()))
	}
	slices.Sort(entries)
	return slices.Compact(entries)
}

// whole reports whether every tool of a server has a decision, unknown ones too.
func (p *profile) whole(sv *ir.Server, want ir.Decision) bool {
	return p.tool(sv.Name, contract.UnknownTool) == want &&
		!slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool { return p.tool(sv.Name, t.Name) != want }) &&
		!slices.ContainsFunc(p.subject.UnlistedToolRules(sv.Name), func(r ir.Rule) bool { return r.Decision != want })
}

// lowest returns the decisions on a server's tools by their folded name: tools whose
// names differ only in case have the lowest of theirs.
func (p *profile) lowest(sv *ir.Server) map[string]ir.Decision {
	out := map[string]ir.Decision{}
	for _, t := range p.subject.NamedTools(sv) {
		d, known := out[format.Fold(t.Name)]
		if own := p.tool(sv.Name, t.Name); !known || own < d {
			out[format.Fold(t.Name)] = own
		}
	}
	return out
}

// allowed returns what runs without approval, with the aliases where wanted: nothing where
// an organisation's list takes its place.
func (e *emitter) allowed(p *profile) []string {
	if e.admin != nil {
		return nil
	}
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

// denied returns what never runs. Without hooks Cursor would ask about a tool or a server that the inventory does not
// list: where there may be some that the subject denies, the server, or every server, is denied whole.
func (e *emitter) denied(p *profile) []string {
	if !e.in.Project.ClosedInventory && (e.deniesServers(p) ||
		!p.hooked && decided(p.elsewhere()) == ir.Deny && e.closed(p, ir.MCP)) {
		return []string{"*:*"}
	}
	list := e.entries(p, ir.Deny)
	if !p.hooked && (e.in.Project.ClosedInventory || decided(p.elsewhere()) > ir.Deny) {
		for i := range e.in.Project.Servers {
			list = e.unlistedDenied(p, &e.in.Project.Servers[i], list)
		}
	}
	if e.in.Options.Bool("aliases") {
		for _, entry := range slices.Clone(list) {
			list = append(list, "user-"+entry, "project-*-"+entry)
		}
	}
	if e.in.Project.ClosedInventory {
		return list
	}
	every := p.unlistedTools(contract.UnknownServer, "*") // servers that nobody lists have no other name
	list = slices.DeleteFunc(list, func(entry string) bool {
		return slices.ContainsFunc(every, func(of string) bool { return strings.HasSuffix(entry, of[1:]) })
	})
	return append(every, list...)
}

// unlistedDenied adds to a list of what never runs the server whole that has tools which no token denies.
func (e *emitter) unlistedDenied(p *profile, sv *ir.Server, list []string) []string {
	before := widened(sv.Name) + ":"
	if !e.deniesUnlisted(p, sv) || slices.Contains(list, before+"*") {
		return list
	}
	r := p.subject.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool})
	lack := fmt.Sprintf("no token denies tools of %q that the inventory does not list", sv.Name)
	if x := e.in.Excepts(p.ref, sv.Name, "*", false); x != nil {
		x.Used(&e.diags, "cursor", r.Pos, "keeps the server %q, although %s", sv.Name, lack)
		return list
	}
	e.loss(p, ir.MCP, codeDeny, r.Pos, "%s, and hooks are off: the server is denied", lack).
		Hint("turn hooks on, or list its tools in a closed inventory")
	list = slices.DeleteFunc(list, func(entry string) bool { return strings.HasPrefix(entry, before) })
	return append(list, before+"*")
}

const provenance = "// Written by modec for %s from the project's source; edits are overwritten.\n" +
	"// In the home folder (~/.cursor) it replaces your own allowlists and pins the run mode.\n"

// withProvenance returns the IDE's allowlists as JSONC, whose comments carry what a
// key could not, since Cursor's own schema refuses unknown keys.
func withProvenance(p *profile, lists contract.Object) []byte {
	return append(fmt.Appendf(nil, provenance, comment(p.ref.String())), contract.JSON(lists)...)
}

// lists returns the IDE's allowlists with the run mode in which they count, nil where there
// are none. A list of a group that is restricted may be empty: it takes the place of the user's
// own.
func (e *emitter) lists(p *profile, c commands) contract.Object {
	for i := range e.in.Project.Servers {
		e.checkLiteral(p, &e.in.Project.Servers[i])
	}
	tools := e.allowed(p)
	if e.in.Options.Bool(optProtection) {
		tools = nil // the editor would ask about them all the same
	}
	var out contract.Object
	for _, l := range []struct {
		key     string
		group   ir.Group
		entries []string
	}{{"mcpAllowlist", ir.MCP, tools}, {"terminalAllowlist", ir.Command, c.allow}} {
		if len(l.entries) > 0 || p.closes(l.group) {
			out = append(out, l.key, append([]string{}, l.entries...))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append(contract.Object{"approvalMode", "allowlist"}, out...)
}

// projectLists returns the project's own file of the lists, in which people write too. It names a run mode only where
// an empty list has to count: else the user's own stays.
func (e *emitter) projectLists(p *profile, lists contract.Object) contract.File {
	if len(lists) > 0 && !p.closes(ir.MCP) && !p.closes(ir.Command) {
		lists = lists[2:]
	}
	if lists == nil {
		lists = contract.Object{}
	}
	return contract.File{Path: projectFile(format.PermissionsFile), Data: contract.JSON(lists), Places: listPlaces}
}

// onlyAllows reports whether permissions of the CLI deny nothing.
func onlyAllows(tokens contract.Object) bool {
	all, _ := tokens[1].(contract.Object)
	for i := 0; i+1 < len(all); i += 2 {
		if list, ok := all[i+1].([]string); !ok || all[i] != "allow" && len(list) > 0 {
			return false
		}
	}
	return true
}

// checkLiteral reports allowed tools that no entry can name.
func (e *emitter) checkLiteral(p *profile, sv *ir.Server) {
	for _, t := range p.subject.NamedTools(sv) {
		if p.tool(sv.Name, t.Name) != ir.Allow {
			continue
		}
		if !literal(sv.Name) {
			e.loss(p, ir.MCP, codeName, sv.Pos,
				"Cursor would read the server name %q as a pattern: it is left out of the allowlists", sv.Name).
				Hint("rename the server")
			return
		}
		if !literal(t.Name) {
			e.loss(p, ir.MCP, codeName, t.Pos,
				"Cursor would read the tool name %q as a pattern: it is left out of the allowlists", t.Name).
				Hint("rename the tool")
		}
	}
}

// comment returns a name for a line comment: without line breaks and without anything
// that reorders what a reader sees.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, s)
}
