package cursor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/cursor/format"
)

// RuleLists returns the lists of cli.json. A role has them in agents.cursor.native alone: can says the same
// for every agent, and more exactly.
func (cursor) RuleLists() []contract.RuleList {
	return []contract.RuleList{{Decision: ir.Deny}, {Decision: ir.Allow}}
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
// source leaves to Cursor what it does not list, and says nothing that only a hook holds; and it approves nothing that
// a rule asks about.
func (e *emitter) own(p *profile) (allow, deny []string) {
	if p.ref.Role == "" {
		return nil, nil
	}
	for _, r := range e.in.Project.Role(p.ref.Role).Native {
		t, ok := format.ParseToken(r.Text, r.Pos)
		if !ok || r.Target != New().Name() {
			continue
		}
		if r.Decision == ir.Deny {
			deny = append(deny, r.Text)
			continue
		}
		g := groups[t.Keyword]
		why := ""
		switch def := p.subject.Default(g); {
		case def.Decision != ir.Agent:
			why = fmt.Sprintf("whatever can.%s does not list is %s", g, def.Decision)
		case len(p.unsaid[g]) > 0:
			why = "no token says " + p.unsaid[g][0].what
		default:
			if asked := p.askedBy(t); asked != "" {
				why = "it would also approve " + asked + ", about which the source asks"
			}
		}
		if why == "" {
			allow = append(allow, r.Text)
			continue
		}
		e.loss(p, g, codeApproval, r.Pos, "the token %q is left out: %s", r.Text, why).
			Hintf("say in can.%s what it allows", g)
	}
	return allow, deny
}

// askedBy returns what a token approves that a rule asks about, "" for nothing. Of paths a token refuses what the
// source asks about, and a refusal goes before an approval.
func (p *profile) askedBy(t format.Token) string {
	g := groups[t.Keyword]
	var asked []ir.Pattern
	for _, r := range p.subject.Rules(g) {
		if r.Decision == ir.Ask {
			asked = append(asked, r.Pattern)
		}
	}
	server, tool, _ := strings.Cut(t.Inside, ":")
	switch {
	case len(asked) == 0, g == ir.Read, g == ir.Edit:
		return ""
	case g == ir.Command && plain(strings.Replace(t.Inside, ":", " ", 1)):
		return overlaps(t.Inside, asked, p.asks)
	case g == ir.MCP && literal(server) && literal(tool) && p.tool(server, tool) != ir.Ask,
		g == ir.Web && plainHost(t.Inside) && decideHost(p, t.Inside) != ir.Ask:
		return ""
	}
	return asked[0].String()
}

// plainHost reports whether a token is about one host.
func plainHost(inside string) bool { return !strings.ContainsAny(inside, "*") }

// hasOwn reports whether a role has tokens for Cursor alone.
func (e *emitter) hasOwn(p *profile) bool {
	return p.ref.Role != "" && slices.ContainsFunc(e.in.Project.Role(p.ref.Role).Native, func(r ir.NativeRule) bool {
		return r.Target == New().Name()
	})
}

// groups are what the tokens are about.
var groups = map[format.Keyword]ir.Group{format.Shell: ir.Command, format.Read: ir.Read, format.Write: ir.Edit,
	format.MCP: ir.MCP, format.WebFetch: ir.Web}
