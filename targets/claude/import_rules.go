package claude

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/dialect"
	"modec.dev/modec/targets/claude/rule"
)

// importedRules are rules on their way to a subject.
type importedRules struct {
	session *session // that decides with them
	mode    string
	modePos diag.Pos
	neutral []neutralRule
	kept    []ir.NativeRule
	outside bool // a deny speaks of files outside the project
	// unknown is what is left of the tools that no group has, where a rule holds
	// some of them back; nil: none does.
	unknown *ir.Default
}

type neutralRule struct {
	contract.NeutralRule
	decision ir.Decision
	pos      diag.Pos
	// kept is the decision of the rule that it stands beside, where Claude Code
	// keeps that one: a subagent has no such rules.
	kept ir.Decision
}

// inMode makes rules what the permission mode makes of them.
func (rules *importedRules) inMode() {
	switch rules.mode {
	case "dontAsk": // nobody is asked: what a rule asks about is refused
		for i := range rules.neutral {
			if rules.neutral[i].decision == ir.Ask {
				rules.neutral[i].decision = ir.Deny
			}
		}
	case "plan": // it asks about edits, whatever a rule allows
		rules.neutral = slices.DeleteFunc(rules.neutral, func(n neutralRule) bool { return n.Group == ir.Edit && n.decision == ir.Allow })
	}
}

// rule translates one rule of a list.
func (im *importer) rule(rules *importedRules, subject string, d ir.Decision, item *located.Value, key string) {
	text, ok := item.Str()
	what := d.String() + " " + text
	if !ok {
		im.out.NoteRule(contract.Refused, item.Pos, subject, key, "Claude Code takes texts only")
		return
	}
	if item.Comment != "" {
		im.out.Comments[item.Pos] = item.Comment
	}
	im.ruleText(rules, subject, d, text, item.Pos, what)
}

// ruleText translates a rule as it stands in a list or on a command line.
func (im *importer) ruleText(rules *importedRules, subject string, d ir.Decision, text string, at diag.Pos, what string) {
	var probe ruleSet
	if err := probe.add(d, text, at, root); err != nil {
		im.out.NoteRule(contract.Refused, at, subject, what, "Claude Code leaves it out: "+err.Error())
		return
	}
	r, err := rule.Parse(text)
	if err != nil {
		im.out.NoteRule(contract.Refused, at, subject, what, "Claude Code leaves it out: "+err.Error())
		return
	}
	if r.HasSpec && slices.Contains([]ir.Group{ir.Read, ir.Edit}, wholeTool(r.Tool)) {
		if spec := im.fromRoot(r.Spec); spec != r.Spec {
			r.Spec, text = spec, r.Tool+"("+spec+")"
		}
	}
	if server, tool, mcp := r.MCP(); mcp && !im.knows(server, tool, at) {
		im.out.NoteRule(contract.Refused, at, subject, what, "the source does not take this name of a server: what no rule names is asked about")
		return
	}
	if d == ir.Allow && !r.HasSpec {
		switch g := wholeTool(r.Tool); {
		case r.Tool == "Glob" || r.Tool == "Grep" || r.Tool == "LSP":
			im.out.NoteRule(contract.Understood, at, subject, what, "reading in the project needs no rule")
			return
		case g != "" && r.Tool != "Edit" && r.Tool != "Read" && r.Tool != "Bash":
			im.out.NoteRule(contract.Refused, at, subject, what, fmt.Sprintf("the source does not tell the tools of a group apart: what can.%s says holds", g))
			return
		case r.Tool == "Agent" || r.Tool == "Task":
			rules.neutral = append(rules.neutral, neutralRule{contract.NeutralRule{Group: ir.Modes, Pattern: ir.Pattern{Text: "*"}}, d, at, d})
			im.out.NoteRule(contract.Understood, at, subject, what, "")
			return
		}
	}
	switch {
	case d == ir.Allow || r.HasSpec:
	case r.Tool == "*":
		rules.everything(d, at)
		im.out.NoteRule(contract.Understood, at, subject, what, "")
		return
	case r.Tool == "Agent" || r.Tool == "Task":
		n := contract.NeutralRule{Group: ir.Modes, Pattern: ir.Pattern{Text: "*"}}
		if d == ir.Deny {
			n.Pattern = ir.Pattern{Kind: ir.All}
		}
		rules.neutral = append(rules.neutral, neutralRule{n, d, at, d})
		im.out.NoteRule(contract.Understood, at, subject, what, "")
		return
	}
	neutral, ok := dialect.Translate(r, d, importInventory{im, at})
	if ok && d == ir.Allow && (wider(r, neutral) || slices.ContainsFunc(neutral, im.namesNoTool)) {
		ok = false
	}
	if !ok {
		rules.kept = append(rules.kept, ir.NativeRule{Target: "claude", Decision: d, Text: text, Pos: at})
		im.out.NoteRule(contract.Kept, at, subject, what, rules.beside(r, d, at))
		return
	}
	for _, n := range neutral {
		if n.Group == ir.MCP && im.namesNoTool(n) { // the source takes it for a slip of the pen
			n.Pattern.Text += "*"
		}
		if n.Pattern.Text == oddCase {
			n.Pattern = ir.Pattern{Kind: ir.Regex, Text: "[\u017F\u212A]"}
		}
		rules.neutral = append(rules.neutral, neutralRule{n, d, at, d})
	}
	im.out.NoteRule(contract.Understood, at, subject, what, "")
}

// namesNoTool reports a rule over servers for a tool that none of them is known to
// have.
func (im *importer) namesNoTool(n contract.NeutralRule) bool {
	if n.Group != ir.MCP || !strings.ContainsAny(n.Server, "*?") || n.Pattern.Kind != ir.Plain || strings.ContainsAny(n.Pattern.Text, "*?") {
		return false
	}
	for _, s := range im.servers {
		if policy.Wildcard(n.Server, s.Name) && s.Tool(n.Pattern.Text) != nil {
			return false
		}
	}
	return true
}

// fromRoot writes a path with a leading slash, which starts from the folder of the
// file that it stands in, as one that starts from the project's.
func (im *importer) fromRoot(spec string) string {
	switch {
	case im.folder == "", !strings.HasPrefix(spec, "/"), strings.HasPrefix(spec, "//"):
		return spec
	case strings.HasPrefix(im.folder, "~"):
		return im.folder + spec
	}
	return strings.TrimSuffix(path.Join("/", im.folder), "/") + spec
}

// oddCase is a name with the long s or the Kelvin sign, which the source takes for
// an s and a k in a glob that asks or denies.
const oddCase = "*[\u017F\u212A]*"

// beside says of a rule that is kept for Claude Code what the neutral vocabulary
// can say of it, so that no other agent does more, and returns what that is: a
// person is asked about all that the rule may speak of.
func (rules *importedRules) beside(r rule.Rule, d ir.Decision, at diag.Pos) string {
	if d == ir.Allow {
		return "only Claude Code can say it"
	}
	ask := func(g ir.Group, patterns ...string) {
		for _, p := range patterns {
			rules.neutral = append(rules.neutral, neutralRule{contract.NeutralRule{Group: g, Pattern: ir.Pattern{Text: p}}, ir.Ask, at, d})
		}
	}
	g := map[string]ir.Group{"Read": ir.Read, "Edit": ir.Edit, "Write": ir.Edit, "MultiEdit": ir.Edit, "WebFetch": ir.Web, "WebSearch": ir.Web, "Agent": ir.Modes, "Task": ir.Modes}[r.Tool]
	switch {
	case r.HasSpec && (r.Tool == "Read" || r.Tool == "Edit") && outsidePath(r.Spec):
		rules.outside = rules.outside || r.Tool == "Read" // what lies outside is never edited
		if inner := strings.TrimLeft(r.Spec, "/.~"); r.Tool == "Read" && strings.Trim(inner, "*/") == "" {
			ask(ir.Command, outsideCommands...)
		} else if r.Tool == "Read" {
			ask(ir.Command, commandsOn("**/"+inner)...)
		}
		if inner, ok := strings.CutPrefix(r.Spec, "//**/"); ok && policy.CheckGlob("**/"+inner) == nil {
			rules.neutral = append(rules.neutral, neutralRule{contract.NeutralRule{Group: g, Pattern: ir.Pattern{Text: "**/" + inner}}, d, at, d})
			return "inside the project it holds for every agent, and outside nothing is read or edited"
		}
		return "outside the project nothing is read or edited, for every agent"
	case r.HasSpec && r.Tool == "Bash":
		head := strings.TrimSpace(r.Spec[:strings.IndexAny(r.Spec+"|", "|;&<>\n")])
		if strings.HasPrefix(head, "@") { // which begins the name of a list of commands here
			head = "*" + head[1:]
		}
		if !strings.HasSuffix(head, "*") {
			head += " *"
		}
		if policy.CheckCommand(head) != nil {
			head = "*"
		}
		ask(ir.Command, head)
		return "only Claude Code compares a whole line: other agents ask about " + head
	case r.HasSpec && (r.Tool == "Read" || r.Tool == "Edit"):
		// The folder above the first character that means something else here.
		dir := r.Spec[:strings.IndexAny(r.Spec+"{", "{}\\!#*?[ ,")]
		glob := strings.TrimPrefix(dir[:strings.LastIndexByte(dir, '/')+1], "./") + "**"
		if policy.CheckGlob(glob) != nil {
			glob = "**"
		}
		ask(g, glob)
		if r.Tool == "Read" {
			ask(ir.Command, commandsOn(glob)...)
		}
		return "other agents ask about " + glob
	case r.HasSpec && g == ir.Edit:
		return "only Claude Code can say it" // and does not hold it
	case r.Tool == "NotebookEdit" && !r.HasSpec:
		ask(ir.Edit, "**/*.ipynb")
		return "other agents ask about edits of **/*.ipynb"
	case g != "":
		ask(g, map[ir.Group]string{ir.Edit: "**", ir.Web: "*", ir.Modes: "*"}[g])
		return fmt.Sprintf("other agents ask about everything in can.%s", g)
	case r.Tool == "Skill":
		return "only Claude Code can say it"
	case strings.HasPrefix(r.Tool, "mcp__"):
		rules.neutral = append(rules.neutral, neutralRule{contract.NeutralRule{Group: ir.MCP, Server: "*", Pattern: ir.Pattern{Text: "*"}}, ir.Ask, at, d})
		return "other agents ask about every tool of a server"
	}
	rules.limitUnknown(ir.Ask, at)
	return "other agents ask about tools that no group has"
}

// commandsOn are the patterns of the commands that are given a path which a glob
// matches.
func commandsOn(glob string) []string {
	return slices.DeleteFunc(contract.CommandsOn(glob), func(p string) bool { return policy.CheckCommand(p) != nil })
}

// everything adds a rule for all that Claude Code can do.
func (rules *importedRules) everything(d ir.Decision, at diag.Pos) {
	for g, all := range map[ir.Group]string{ir.Read: "**", ir.Edit: "**", ir.Command: "*", ir.Web: "*", ir.Modes: "*", ir.MCP: "*"} {
		n := contract.NeutralRule{Group: g, Pattern: ir.Pattern{Text: all}}
		if g == ir.MCP {
			n.Server = "*"
		} else if d == ir.Deny {
			n.Pattern = ir.Pattern{Kind: ir.All}
		}
		rules.neutral = append(rules.neutral, neutralRule{n, d, at, d})
	}
	rules.limitUnknown(d, at)
}

func (rules *importedRules) limitUnknown(d ir.Decision, at diag.Pos) {
	if rules.unknown == nil || d < rules.unknown.Decision {
		rules.unknown = &ir.Default{Decision: d, Pos: at}
	}
}

// wider reports an allow that would mean more in the source than to Claude Code, to
// which a bare Bash alone is a rule for every line.
func wider(r rule.Rule, neutral []contract.NeutralRule) bool {
	return r.HasSpec && slices.ContainsFunc(neutral, func(n contract.NeutralRule) bool {
		return n.Group == ir.Command && n.Pattern.Text == "*"
	})
}

func outsidePath(spec string) bool {
	return strings.HasPrefix(spec, "//") || strings.HasPrefix(spec, "~") || strings.HasPrefix(spec, "../")
}

// into adds rules to a subject's tables. A group that only rules speak of goes on
// deciding as the subject leaves it unsaid.
func (rules *importedRules) into(can *ir.Can, role *ir.Role, from string) {
	unsaid := func(g ir.Group, at diag.Pos) *ir.Default {
		d := ir.Deny
		if role != nil {
			mode := role.PermissionMode
			if mode == "" {
				mode = "default"
			}
			d = policy.PermissionModeDefault(mode, g)
		}
		return &ir.Default{Decision: d, Pos: at}
	}
	tables := map[ir.Group]**ir.Table{ir.Read: &can.Read, ir.Edit: &can.Edit, ir.Command: &can.Command, ir.Web: &can.Web, ir.Modes: &can.Modes}
	for _, n := range rules.neutral {
		rule := ir.Rule{Decision: n.decision, Pattern: n.Pattern, Pos: n.pos, From: from}
		if n.Group == ir.MCP {
			if can.MCP == nil {
				can.MCP = &ir.MCPTable{Default: unsaid(ir.MCP, n.pos)}
			}
			addTool(can.MCP, n.Server, rule, from)
			continue
		}
		t := tables[n.Group]
		if *t == nil {
			*t = &ir.Table{Default: unsaid(n.Group, n.pos)}
		}
		(*t).Rules = append((*t).Rules, rule)
	}
	// A deny of reading holds for editing and for the commands that read, too; one
	// of all reading takes the tools away and leaves the commands.
	closed := slices.ContainsFunc(rules.neutral, func(n neutralRule) bool {
		return n.Group == ir.Read && n.decision == ir.Deny && (n.Pattern.Kind == ir.All || n.Pattern.Text == "**")
	})
	for _, n := range rules.neutral {
		if n.Group != ir.Read || n.decision != ir.Deny || n.Pattern.Kind != ir.Plain {
			continue
		}
		if can.Edit == nil && role != nil {
			can.Edit = &ir.Table{Default: unsaid(ir.Edit, n.pos)}
		}
		if can.Edit != nil {
			can.Edit.Rules = append(can.Edit.Rules, ir.Rule{Decision: ir.Deny, Pattern: n.Pattern, Pos: n.pos, From: from})
		}
		if can.Command == nil && role != nil && (closed || unsaid(ir.Command, n.pos).Decision == ir.Allow) {
			can.Command = &ir.Table{Default: unsaid(ir.Command, n.pos)}
		}
		if t := can.Command; t != nil && (role == nil || closed || t.Default != nil && t.Default.Decision == ir.Allow || reads(t.Rules)) {
			for _, p := range commandsOn(n.Pattern.Text) {
				t.Rules = append(t.Rules, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: p}, Pos: n.pos, From: from})
			}
		}
	}
	rules.editing(can, role, from, unsaid)
	if rules.outside && role != nil {
		can.OutsideRead = &ir.Default{Decision: ir.Deny, Pos: role.Pos}
	}
	if u := rules.unknown; u != nil && role != nil && unsaid(ir.Unknown, u.Pos).Decision > u.Decision {
		can.Unknown = u
	}
}

// editing holds back the commands that edit files, where a rule holds edits back:
// Claude Code holds it against their paths. A role keeps that rule; it is asked about
// programs that may run without a question otherwise.
func (rules *importedRules) editing(can *ir.Can, role *ir.Role, from string, unsaid func(ir.Group, diag.Pos) *ir.Default) {
	programs := map[string]bool{}
	for _, n := range rules.neutral {
		if n.Group != ir.Edit || n.decision == ir.Allow {
			continue
		}
		if can.Command == nil && role != nil && unsaid(ir.Command, n.pos).Decision == ir.Allow {
			can.Command = &ir.Table{Default: unsaid(ir.Command, n.pos)}
		}
		t := can.Command
		if t == nil {
			return
		}
		add := func(d ir.Decision, p string) {
			t.Rules = append(t.Rules, ir.Rule{Decision: d, Pattern: ir.Pattern{Text: p}, Pos: n.pos, From: from})
		}
		var patterns []string
		if n.Pattern.Kind == ir.Plain {
			patterns = commandsOn(n.Pattern.Text)
		}
		if role == nil && n.decision == ir.Deny && len(patterns) > 0 && patterns[0] != "*" {
			for _, p := range patterns {
				add(ir.Deny, p)
			}
			continue
		}
		all, d := t.Default != nil && t.Default.Decision == ir.Allow, answered(rules.mode)
		if role == nil && n.decision == ir.Deny {
			all, d = true, ir.Deny
		}
		for _, program := range accepted {
			if programs[program+d.String()] || !all && !slices.ContainsFunc(t.Rules, func(r ir.Rule) bool {
				word, _, _ := strings.Cut(r.Pattern.Text, " ")
				return r.Decision == ir.Allow && (r.Pattern.Kind != ir.Plain || policy.Wildcard(strings.TrimSuffix(word, ":*"), program))
			}) {
				continue
			}
			programs[program+d.String()] = true
			add(d, program+" *")
		}
	}
}

// addTool adds a rule to the entry of a server, whose default is that of the
// table.
func addTool(t *ir.MCPTable, server string, rule ir.Rule, from string) {
	i := slices.IndexFunc(t.Entries, func(e ir.MCPEntry) bool { return e.Key == server && e.From == from })
	if i < 0 {
		def := *t.Default
		def.From = from
		t.Entries = append(t.Entries, ir.MCPEntry{Key: server, Literal: !strings.ContainsAny(server, "*?"), Pos: rule.Pos, From: from, Default: &def})
		slices.SortStableFunc(t.Entries, func(a, b ir.MCPEntry) int { return strings.Compare(a.Key, b.Key) })
		i = slices.IndexFunc(t.Entries, func(e ir.MCPEntry) bool { return e.Key == server && e.From == from })
	}
	t.Entries[i].Rules = append(t.Entries[i].Rules, rule)
}
