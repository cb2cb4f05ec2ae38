package roo

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

// extra adds what agents.roo.settings says of a mode: the order of its groups, and where it comes from.
func (e *emitter) extra(m *ir.Mode, s *policy.Subject, out *mode) {
	x := m.Extra[e.name]
	if x.Fields["groups"] != nil {
		e.order(x, s, out)
	}
	text, _ := x.Fields["source"].(string)
	if out.source = text; x.Fields["source"] != nil && !format.IsSource(text, e.dialect) {
		e.diags.Errorf(codeUnknownSetting, x.At("source"),
			"agents.%s.settings.source: got %v, want \"project\" or \"global\"", e.name, x.Fields["source"])
	}
}

// order puts the groups of a mode in the order of agents.roo.settings.groups, and adds those that the agent
// drops or gives every mode. It never adds another one.
func (e *emitter) order(x ir.Extra, s *policy.Subject, out *mode) {
	list, ok := x.Fields["groups"].([]any)
	var names []string
	for _, item := range list {
		name, isText := item.(string)
		ok = ok && isText && e.dialect.Lists(name) && !slices.Contains(names, name)
		names = append(names, name)
	}
	if !ok {
		e.diags.Errorf(codeUnknownSetting, x.At("groups"),
			"agents.%s.settings.groups: got %s, want a list of groups, each once: %s", e.name,
			contract.JSON(x.Fields["groups"]), diag.Quote(e.dialect.Listed()))
		return
	}
	var groups []group
	for _, name := range names {
		i := slices.IndexFunc(out.groups, func(g group) bool { return g.name == name })
		switch {
		case i >= 0:
			groups = append(groups, out.groups[i])
		case name == format.Browser:
			groups = append(groups, group{name: name})
		case !may(s, ir.Group(name)):
			e.diags.Warnf(codeUnknownSetting, x.At("groups"),
				"agents.%s.settings.groups lists %q, which can denies: it is left out", e.name, name).
				Hint("remove it from the list, or let the mode have it")
		case name == string(ir.Modes):
			groups = append(groups, group{name: name})
		}
	}
	for _, g := range out.groups {
		if !slices.Contains(names, g.name) {
			groups = append(groups, g)
		}
	}
	out.groups = groups
}
