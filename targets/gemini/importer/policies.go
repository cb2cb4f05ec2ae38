package importer

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
)

// policyFile collects the rules of a policy. Those of all files decide together.
func (im *importer) policyFile(in input, data []byte) {
	rules, diags := format.ReadPolicy(in.at, data)
	for _, d := range diags {
		if d.Severity == diag.Error {
			im.out.Refuse(in.at)
			im.diags.Errorf(codeImport, d.Pos, "Gemini CLI ignores this policy as a whole: %s", d.Message)
			return
		}
		im.out.NoteRule(contract.Refused, d.Pos, subject, "rule", d.Message)
	}
	im.rules = append(im.rules, rules...)
	all := format.PolicyFile(ir.SubjectRef{Role: role})
	im.tree[all] = append(im.tree[all], "\n"+string(data)...)
	if im.role == nil {
		im.role = &ir.Role{Name: role, Pos: diag.Pos{File: in.at, Line: 1, Col: 1}}
	}
}

// deciding is what the rules of a policy say of one tool: those with an expression that are asked before the first one
// without, and that one.
type deciding struct {
	lists []format.Rule
	rest  *format.Rule
}

// about returns the rules that decide about a tool of the session.
func (im *importer) about(tool string) (d deciding) {
	for i := range im.rules {
		switch r := &im.rules[i]; {
		case r.Subagent != "" || r.Server != "" || !slices.Contains(r.Tools, tool):
		case r.Args == nil || everyLine(r):
			d.rest = r
			return d
		default:
			d.lists = append(d.lists, *r)
		}
	}
	return d
}

// everyLine reports whether an expression matches each command.
func everyLine(r *format.Rule) bool {
	return slices.Contains([]string{`"command":".*`, format.Key(format.CommandArg)}, r.Expr)
}

// policies makes tables of what the policies say. What has no word in the source is asked about, or denied.
func (im *importer) policies() {
	if len(im.rules) == 0 {
		return
	}
	slices.SortStableFunc(im.rules, func(a, b format.Rule) int { return b.Priority - a.Priority })
	im.rules = slices.DeleteFunc(im.rules, im.elsewhere)
	c := &im.role.Can
	c.Command = im.table(format.Shell)
	c.Read, c.Web = im.table(format.ReadFile), im.table(format.WebFetch)
	c.Edit = im.table("write_file")
	if other := im.table("replace"); other != nil && (c.Edit == nil || lowest(other) < lowest(c.Edit)) {
		c.Edit = other
	}
	im.policyServers(c)
	for i := range im.rules {
		r := &im.rules[i]
		if r.Server == "" && r.Args == nil && slices.Contains(r.Tools, format.Every) && c.Default == nil {
			c.Default = &ir.Default{Decision: r.Decision, Pos: r.At}
			c.Unknown = &ir.Default{Decision: r.Decision, Pos: r.At}
		}
		im.noteRule(r)
	}
}

// elsewhere reports whether a rule is about other sessions than the usual one, and notes it.
func (im *importer) elsewhere(r format.Rule) bool {
	why := ""
	switch {
	case r.Subagent != "":
		why = "it is about one agent: say it of the mode"
	case len(r.Modes) > 0 && !slices.Contains(r.Modes, "default"):
		why = "it is about another approval mode"
	case r.Annotated:
		why = "it is about what a server says of its tools"
	case r.Interactive != nil && !*r.Interactive:
		why = "it is about sessions with nobody to ask"
	default:
		return false
	}
	im.out.Note(contract.Left, r.At, subject, what(&r), why)
	return true
}

// what names a rule.
func what(r *format.Rule) string {
	text := fmt.Sprint(r.Decision, " ", strings.Join(r.Tools, ", "))
	switch {
	case r.Server != "":
		text += " of " + r.Server
	case r.Begins != "":
		text += " " + r.Begins
	case r.Expr != "":
		text += " " + strings.ReplaceAll(r.Expr, `\x00`, "")
	}
	return text
}

// noteRule notes what became of a rule.
func (im *importer) noteRule(r *format.Rule) {
	if !im.noted[r.At] {
		im.noted[r.At] = true
		im.out.NoteRule(contract.Understood, r.At, subject, what(r), "")
	}
}

// refuseRule notes a rule that the source cannot say.
func (im *importer) refuseRule(r *format.Rule, why string) {
	im.noted[r.At] = true
	im.out.NoteRule(contract.NeedsDecision, r.At, subject, what(r), why)
}

// lowest returns the least that a table decides.
func lowest(t *ir.Table) ir.Decision {
	least := ir.Agent
	if t.Default != nil {
		least = t.Default.Decision
	}
	for _, r := range t.Rules {
		least = min(least, r.Decision)
	}
	return least
}

// table makes a table of what is said of a tool; nil where that is nothing.
func (im *importer) table(tool string) *ir.Table {
	d := im.about(tool)
	if d.rest == nil && len(d.lists) == 0 {
		return nil
	}
	t := &ir.Table{}
	if d.rest != nil {
		t.Default = &ir.Default{Decision: d.rest.Decision, Pos: d.rest.At}
	}
	for i := range d.lists {
		r := &d.lists[i]
		pattern := r.Begins + " *"
		checked := policy.CheckCommand
		if r.Decision < ir.Allow {
			checked = policy.CheckRestriction
		}
		switch {
		case tool == format.Shell && r.Begins != "" && checked(pattern) == nil:
			t.Rules = append(t.Rules, ir.Rule{Decision: r.Decision, Pattern: ir.Pattern{Text: pattern}, Pos: r.At})
		case r.Decision == ir.Allow:
			im.refuseRule(r, "the source cannot say its expression: what it allows is decided by the other rules")
		default:
			im.refuseRule(r, "the source cannot say its expression: all of the tool is decided so")
			if t.Default == nil || t.Default.Decision > r.Decision {
				t.Default = &ir.Default{Decision: r.Decision, Pos: r.At}
			}
			t.Rules = slices.DeleteFunc(t.Rules, func(x ir.Rule) bool { return x.Decision > r.Decision })
		}
	}
	return t
}

// policyServers says what the policies decide about servers and their tools.
func (im *importer) policyServers(c *ir.Can) {
	t := &ir.MCPTable{}
	for i := range im.rules {
		r := &im.rules[i]
		if r.Server == "" {
			if r.Args == nil && slices.Contains(r.Tools, format.EveryMCP) && t.Default == nil {
				t.Default = &ir.Default{Decision: r.Decision, Pos: r.At}
			}
			continue
		}
		switch {
		case r.Args != nil && r.Decision == ir.Allow:
			im.refuseRule(r, "the source decides about a tool, and not about its arguments")
			continue
		case r.Server == "*" || !contract.ServerName(r.Server):
			im.refuseRule(r, "the source cannot have a server of this name")
			continue
		}
		if im.servers[r.Server] == nil {
			im.servers[r.Server] = &ir.Server{Name: r.Server, Type: ir.External, Pos: r.At, DefaultEnabled: true,
				Tools: []ir.Tool{}}
		}
		n := slices.IndexFunc(t.Entries, func(e ir.MCPEntry) bool { return e.Key == r.Server })
		if n < 0 {
			n = len(t.Entries)
			t.Entries = append(t.Entries, ir.MCPEntry{Key: r.Server, Literal: true, Pos: r.At})
		}
		e := &t.Entries[n]
		for _, tool := range r.Tools {
			switch {
			case e.Default != nil: // a rule about all tools was asked before
			case tool == format.Every:
				e.Default = &ir.Default{Decision: r.Decision, Pos: r.At}
			case contract.ToolName(tool):
				im.servers[r.Server].AddTool(ir.Tool{Name: tool, Pos: r.At})
				said := func(x ir.Rule) bool { return x.Pattern.Text == tool }
				if !slices.ContainsFunc(e.Rules, said) { // the first one decides
					e.Rules = append(e.Rules, ir.Rule{Decision: r.Decision, Pattern: ir.Pattern{Text: tool}, Pos: r.At})
				}
			}
		}
	}
	if t.Default != nil || len(t.Entries) > 0 {
		c.MCP = t
	}
}

// isPolicy reports whether a file is a policy by its name.
func isPolicy(name string) bool { return path.Ext(name) == ".toml" }
