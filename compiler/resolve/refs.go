package resolve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/source"
)

// unknown reports a name that refers to nothing. what names the kind of thing.
func (r *resolver) unknown(code diag.Code, what string, n *source.Node, path string, known []string) {
	slices.Sort(known)
	known = slices.Compact(known)
	shown := known
	const most = 12 // names in a message
	more := ""
	if len(shown) > most {
		shown, more = shown[:most], " …"
	}
	want := diag.OneOf(shown, "one that the source defines") + more
	r.diags.Errorf(code, n.Pos, "got unknown %s %q, want %s", what, diag.Short(n.Text), want).
		Path(path).
		Hint(diag.DidYouMean(n.Text, known))
}

// modeRef checks a slug that refers to a mode.
func (r *resolver) modeRef(n *source.Node, path string) {
	if r.subjects[modeKind][n.Text] != nil {
		return
	}
	if r.builtin(modeKind, n.Text) != nil {
		r.referred[n.Text] = true
		return
	}
	names := slices.Collect(maps.Keys(r.subjects[modeKind]))
	r.unknown(diag.UnknownMode, "mode", n, path, append(names, r.builtinNames(modeKind)...))
}

// serverRef checks a key of can.mcp or a pattern of a restriction.
func (r *resolver) serverRef(name string, pos diag.Pos, path string) {
	var names []string
	found := false
	for i := range r.project.Servers {
		names = append(names, r.project.Servers[i].Name)
		found = found || policy.Wildcard(name, r.project.Servers[i].Name)
	}
	switch {
	case found || name == "*":
	case strings.ContainsAny(name, "*?"):
		r.diags.Warnf(diag.MatchesNothing, pos, "%q matches no server of the inventory", name).Path(path)
	default:
		r.unknown(diag.UnknownServer, "server", &source.Node{Text: name, Pos: pos}, path, names)
	}
}

// toolRefs checks the tool names of an entry of can.mcp.
func (r *resolver) toolRefs(e ir.MCPEntry, n *source.Node, path string) {
	for _, l := range lists {
		for i, item := range elems(n.Get(l.name)) {
			t, at := ruleOf(item, fmt.Sprintf("%s.%s[%d]", path, l.name, i))
			if t != nil && !strings.HasPrefix(t.Text, "@") {
				r.toolRef(e.Key, t.Text, t.Pos, at)
			}
		}
	}
}

// toolRef checks a tool's name, or a glob, on the servers that a name or a glob matches.
func (r *resolver) toolRef(server, tool string, pos diag.Pos, path string) {
	if tool == "*" {
		return
	}
	var names []string
	servers, unlisted := 0, false
	for i := range r.project.Servers {
		s := &r.project.Servers[i]
		if !policy.Wildcard(server, s.Name) {
			continue
		}
		servers++
		unlisted = unlisted || len(s.Tools) == 0
		for j := range s.Tools {
			names = append(names, s.Tools[j].Name)
			if policy.Wildcard(tool, s.Tools[j].Name) {
				return
			}
		}
	}
	switch {
	case servers == 0, unlisted: // a server without a list may have it
	case strings.ContainsAny(tool, "*?"):
		r.diags.Warnf(diag.MatchesNothing, pos, "%q matches no tool of %s", tool, server).Path(path)
	default:
		r.unknown(diag.UnknownTool, "tool", &source.Node{Text: tool, Pos: pos}, path, names)
	}
}

// restrictionRefs checks what the mcpRestrictions of a mode refer to.
func (r *resolver) restrictionRefs(s *subject, m *ir.MCPRestrictions) {
	if m == nil || s.node.Get("mcpRestrictions") == nil {
		return
	}
	at := s.path + ".mcpRestrictions"
	r.conflicts(m, at)
	own := s.node.Get("mcpRestrictions")
	for _, p := range s.parents {
		if n := r.inherited(p, "mcpRestrictions"); n != nil && !source.Equal(n, own) {
			r.diags.Errorf(diag.RestrictionsReplaced, own.Pos,
				"these mcpRestrictions would replace those of %s; write them in one of the modes", p).
				Path(at).
				Hint("a mode may add to the restrictions of its parents, but never undo them: `can.mcp` adds denies").
				Related(n.Pos, "inherited from here")
		}
	}
	for _, l := range []*[]ir.Item{m.AllowedServers, m.DisallowedServers} {
		if l != nil {
			for _, i := range *l {
				r.serverRef(i.Name, i.Pos, at)
			}
		}
	}
	for _, l := range []*[]ir.ToolRef{m.AllowedTools, m.DisallowedTools} {
		if l != nil {
			for _, t := range *l {
				r.serverRef(t.Server, t.Pos, at)
				r.toolRef(t.Server, t.Tool, t.Pos, at)
			}
		}
	}
}
