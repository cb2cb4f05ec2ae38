package compiler

import (
	"cmp"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// entriesOf reads the entries of external servers where they lie, in lists of some keys, as far as they lie in the
// project, and compares their shapes with those of the source. It returns the entries, and the
// servers that start something else by now.
func entriesOf(files fs.FS, p *ir.Project, fields []string) (
	found contract.Entries, changed []*ir.Server, diags diag.List,
) {
	found = contract.Entries{}
	for i := range p.Servers {
		s := &p.Servers[i]
		if s.Type != ir.External {
			continue
		}
		drift := false
		for _, file := range slices.Sorted(maps.Keys(s.Entries)) {
			if strings.HasPrefix(file, "~/") {
				continue // the user's own home folder
			}
			name, shape := cmp.Or(s.As, s.Name), ""
			if entry := contract.EntryOf(files, file, name, fields); entry != nil {
				found[contract.EntryAt{File: file, Server: name}] = entry
				shape = contract.ShapeOf(entry)
			}
			if contract.SameShape(s.Entries[file], shape) {
				continue
			}
			drift = true
			if shape == "" {
				diags.Warnf(diag.EntryChanged, s.Pos, "%s has no entry of the external server %q any more: "+
					"what was allowed of its tools is asked about", file, name).
					Hint("where that is right, take the file out of the server's entries")
				continue
			}
			diags.Warnf(diag.EntryChanged, s.Pos, "the external server %q starts %q in %s, and %q in the source: "+
				"what was allowed of its tools is asked about", name, shape, file, s.Entries[file]).
				Hint("where that is right, write the new one into the server's entries")
		}
		if drift {
			changed = append(changed, s)
		}
	}
	return found, changed, diags
}

// askAbout makes every subject ask about the tools of a server that it would allow any of.
func askAbout(p *ir.Project, engine *policy.Engine, s *ir.Server) {
	p.EachCan(func(ref ir.SubjectRef, target string, can *ir.Can) {
		subject, err := engine.On(target).Subject(ref)
		if err != nil || !allowsAny(subject, s) {
			return
		}
		t := ir.MCPTable{}
		if can.MCP != nil {
			t = *can.MCP
		}
		t.Entries = append(slices.Clone(t.Entries), ir.MCPEntry{
			Key: s.Name, Literal: true, Pos: s.Pos,
			Default: &ir.Default{Decision: ir.Ask, Pos: s.Pos},
			Rules:   []ir.Rule{{Decision: ir.Ask, Pattern: ir.Pattern{Text: "*"}, Pos: s.Pos}},
		})
		can.MCP = &t
	})
}

// allowsAny reports whether a subject may call a tool of a server without a question, listed or
// not, or read what it offers.
func allowsAny(s *policy.Subject, sv *ir.Server) bool {
	allowed := func(kind policy.MCPKind, arg string) bool {
		a := policy.Action{Group: ir.MCP, Server: sv.Name, Kind: kind, Arg: arg}
		return s.Decide(a).Decision == ir.Allow
	}
	return allowed(policy.Tool, contract.UnknownTool) || allowed(policy.Resource, contract.UnknownTool) ||
		slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool { return allowed(policy.Tool, t.Name) }) ||
		slices.ContainsFunc(s.UnlistedToolRules(sv.Name), func(r ir.Rule) bool { return r.Decision == ir.Allow })
}
