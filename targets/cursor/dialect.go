package cursor

import (
	"errors"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/cursor/format"
)

// RuleLists returns the lists of cli.json. A role has them in extra.cursor alone: can says the same
// for every agent, and more exactly.
func (cursor) RuleLists() []contract.RuleList {
	return []contract.RuleList{{Field: "deny", Decision: ir.Deny}, {Field: "allow", Decision: ir.Allow}}
}

// BadRule returns the code of a token that Cursor would not read.
func (cursor) BadRule() diag.Code { return codeBadToken }

// TranslateRule keeps every token as it is: one that the source can say stands in can.
func (cursor) TranslateRule(
	text string, _ ir.Decision, _ contract.Inventory,
) ([]contract.NeutralRule, bool, error) {
	if _, ok := format.ParseToken(text, diag.Pos{}); !ok {
		return nil, false, errors.New("no token that Cursor reads: want Shell(…), Read(…), Write(…), " +
			"WebFetch(…) or Mcp(SERVER:TOOL)")
	}
	return nil, false, nil
}

// own returns a role's tokens for Cursor alone. One that allows something needs a group of which the
// source leaves to Cursor what it does not list, and says nothing that only a hook holds.
func (e *emitter) own(p *profile) (allow, deny []string) {
	if p.ref.Role == "" {
		return nil, nil
	}
	for _, r := range e.in.Project.Role(p.ref.Role).Native {
		t, ok := format.ParseToken(r.Text, r.Pos)
		if !ok || r.Target != New().Name() {
			continue
		}
		g := groups[t.Keyword]
		switch {
		case r.Decision == ir.Deny:
			deny = append(deny, r.Text)
		case p.subject.Default(g).Decision != ir.Agent || len(p.unsaid[g]) > 0 || p.asksIn(g):
			e.loss(p, g, codeApproval, r.Pos,
				"the token %q allows what can.%s decides in another way: it is left out", r.Text, g).
				Hintf("say it in can.%s", g)
		default:
			allow = append(allow, r.Text)
		}
	}
	return allow, deny
}

// asksIn reports whether a rule of a group asks: no token does.
func (p *profile) asksIn(g ir.Group) bool {
	return slices.ContainsFunc(p.subject.Rules(g), func(r ir.Rule) bool {
		return r.Decision == ir.Ask && r.Pos.File != ir.GuardsFile
	})
}

// hasOwn reports whether a role has tokens for Cursor alone.
func (e *emitter) hasOwn(p *profile) bool {
	return p.ref.Role != "" && slices.ContainsFunc(e.in.Project.Role(p.ref.Role).Native, func(r ir.NativeRule) bool {
		return r.Target == New().Name()
	})
}

// groups are what the tokens are about.
var groups = map[format.Keyword]ir.Group{format.Shell: ir.Command, format.Read: ir.Read, format.Write: ir.Edit,
	format.MCP: ir.MCP, format.WebFetch: ir.Web}
