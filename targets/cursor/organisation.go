package cursor

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/cursor/format"
)

// The options that repeat what Cursor's own settings say of MCP tools, by Cursor's names.
const (
	optOrganisation = "mcpToolAllowlist"
	optProtection   = "mcpToolsProtection"
)

// readOrganisation reads the organisation's list. It refuses entries that Cursor would not read.
func (e *emitter) readOrganisation() {
	texts := e.in.Options.Strings(optOrganisation)
	if texts == nil {
		return
	}
	e.admin = []format.Entry{}
	for _, text := range texts {
		entry, err := format.ParseEntry(text)
		if err != nil {
			e.diags.Errorf(codeOrganisation, e.in.Options.Pos(optOrganisation), "%v", err).
				Path("targets.cursor." + optOrganisation).
				Target("cursor")
			continue
		}
		e.admin = append(e.admin, entry)
	}
}

// organisation reports where Cursor's own settings decide about MCP tools in another way than
// a subject: what the source allows and they ask about, and what an organisation's list runs
// and the source does not allow.
func (e *emitter) organisation(p *profile) {
	asked, runs := e.organised(p)
	if len(asked) > 0 {
		who := "the settings protect MCP tools (" + optProtection + ")"
		if e.admin != nil {
			who = "the organisation's list (" + optOrganisation + ") has no entry for them"
		}
		e.loss(p, ir.MCP, codeOrganisation, e.in.Options.Pos(optOrganisation),
			"Cursor asks about MCP tools that the source allows (%s): %s", some(asked), who).
			Hint("ask whoever manages Cursor's settings, or let the source ask too")
	}
	if len(runs) > 0 {
		e.diags.Warnf(codeOrganisation, p.place(e.in.Options.Pos(optOrganisation)),
			"the organisation's list runs MCP tools that the source does not allow (%s), "+
				"and no file of a project takes that back", some(runs)).
			Hint("take the entries off the organisation's list, or deny the tools: the hook refuses them").
			Target("cursor").
			Subject(p.ref.String())
	}
}

// organised returns the tools on which the settings and a subject differ.
func (e *emitter) organised(p *profile) (asked, runs []string) {
	if e.admin == nil && !e.in.Options.Bool(optProtection) {
		return nil, nil
	}
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		for _, tool := range append([]string{contract.UnknownTool}, names(sv.Tools)...) {
			listed := slices.ContainsFunc(e.admin, func(x format.Entry) bool { return x.Matches(sv.Name, tool) })
			name := sv.Name + ":" + tool
			if tool == contract.UnknownTool {
				name = sv.Name + ":*"
			}
			switch d := p.tool(sv.Name, tool); {
			case d == ir.Allow && !listed:
				asked = append(asked, name)
			case d == ir.Ask && listed, d == ir.Deny && listed && !p.hooked:
				runs = append(runs, name)
			}
		}
	}
	return asked, runs
}

func names(tools []ir.Tool) []string {
	out := make([]string, len(tools))
	for i := range tools {
		out[i] = tools[i].Name
	}
	return out
}

// some returns the first of a list for a message.
func some(list []string) string {
	const most = 3
	if len(list) > most {
		list = append(slices.Clone(list[:most]), "…")
	}
	return strings.Join(list, ", ")
}
