package importer

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// tables writes rules into the tables of a subject. What a role's rules do not say, it leaves
// to Claude Code.
type tables struct {
	*importedRules
	can  *ir.Can
	role *ir.Role // nil for a mode, which denies what it leaves unsaid
	from string   // the policy that the rules come from
}

// into adds rules to a subject's tables.
func (rules *importedRules) into(can *ir.Can, role *ir.Role, from string) {
	t := tables{rules, can, role, from}
	for _, n := range rules.neutral {
		t.add(n)
	}
	t.readDenies()
	t.editRules()
	if role == nil {
		return
	}
	if rules.outside {
		can.OutsideRead = &ir.Default{Decision: ir.Deny, Pos: role.Pos}
	}
	if rules.unknown != nil {
		can.Unknown = rules.unknown
	}
}

func tablesOf(can *ir.Can) map[ir.Group]**ir.Table {
	return map[ir.Group]**ir.Table{
		ir.Read: &can.Read, ir.Edit: &can.Edit, ir.Command: &can.Command, ir.Web: &can.Web, ir.Modes: &can.Modes,
	}
}

// denied is the table of a group that is denied as a whole.
func denied(at diag.Pos) *ir.Table {
	return &ir.Table{Rules: []ir.Rule{{Decision: ir.Deny, Pattern: everything, Pos: at}}}
}

// approves reports whether the session's mode allows what no rule of a group is about.
func (t tables) approves(g ir.Group) bool {
	mode := cmp.Or(t.mode, format.Default)
	return t.role != nil && policy.PermissionModeDefault(mode, g) == ir.Allow
}

// table returns a group's table, which is there from then on.
func (t tables) table(g ir.Group, at diag.Pos) *ir.Table {
	table := tablesOf(t.can)[g]
	if *table == nil {
		*table = &ir.Table{Default: t.unsaid(at)}
		if t.mode == format.DontAsk && g != ir.Read && g != ir.Modes {
			(*table).Default = &ir.Default{Decision: ir.Deny, Pos: at} // the mode refuses it
			if t.leaves(g) {
				(*table).Default.Decision = ir.Agent // whose mode does
			}
		}
	}
	return *table
}

// leaves reports whether a rule for Claude Code alone allows something of a group.
func (t tables) leaves(g ir.Group) bool {
	return slices.ContainsFunc(t.kept, func(n ir.NativeRule) bool {
		r, err := rule.Parse(n.Text)
		return err == nil && n.Decision == ir.Allow && groupOf(r) == g
	})
}

// unsaid is the default of a group that the subject did not mention.
func (t tables) unsaid(at diag.Pos) *ir.Default {
	if t.role == nil {
		return &ir.Default{Decision: ir.Deny, Pos: at}
	}
	return nil
}

func (t tables) rule(d ir.Decision, p ir.Pattern, at diag.Pos) ir.Rule {
	return ir.Rule{Decision: d, Pattern: p, Pos: at, From: t.from}
}

func (t tables) add(n neutralRule) {
	rule := t.rule(n.decision, n.Pattern, n.pos)
	if n.Group != ir.MCP {
		table := t.table(n.Group, n.pos)
		table.Rules = append(table.Rules, rule)
		return
	}
	if t.can.MCP == nil {
		t.can.MCP = &ir.MCPTable{Default: t.unsaid(n.pos)}
	}
	addTool(t.can.MCP, n.Server, rule)
}

// readDenies adds what the denies of reading mean elsewhere: they hold for editing and for
// the commands that read, too. A deny of all reading takes the tools away and leaves the
// commands.
func (t tables) readDenies() {
	closed := slices.ContainsFunc(t.neutral, func(n neutralRule) bool {
		all := n.Pattern.Kind == ir.All || n.Pattern.Text == "**"
		return n.Group == ir.Read && n.decision == ir.Deny && all
	})
	for _, n := range t.neutral {
		if n.Group != ir.Read || n.decision != ir.Deny || n.Pattern.Kind != ir.Plain {
			continue
		}
		switch edit := t.can.Edit; {
		case edit != nil && (slices.ContainsFunc(edit.Rules, allows) || edit.Default != nil && !leftToAgent(edit)):
			edit.Rules = append(edit.Rules, t.rule(ir.Deny, n.Pattern, n.pos))
		case t.opensEdits():
			t.alone = true // Claude Code denies the edit too
		}
		t.alone = t.alone || t.approves(ir.Command)
		if t.role != nil && closed {
			t.table(ir.Command, n.pos)
		}
		command := t.can.Command
		if command == nil || withheld(command) || !closed && !t.allowsAll(command) && !looksAtPaths(command.Rules) {
			continue
		}
		for _, p := range commandsOn(n.Pattern.Text) {
			command.Rules = append(command.Rules, t.rule(ir.Deny, ir.Pattern{Text: p}, n.pos))
		}
	}
}

// opensEdits reports whether the mode or a rule that is kept allows edits that no other rule is about.
func (t tables) opensEdits() bool {
	return t.approves(ir.Edit) || slices.ContainsFunc(t.kept, func(n ir.NativeRule) bool {
		return n.Decision == ir.Allow && (n.Text == "Edit" || n.Text == "Write")
	})
}

// allowsAll reports whether commands run that no rule is about.
func (t tables) allowsAll(command *ir.Table) bool {
	return command.Default != nil && command.Default.Decision == ir.Allow
}

// editors are the programs whose paths Claude Code compares with the rules over edits.
var editors = []string{"mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed", "ln"}

// editRules holds back the commands that edit files, where a rule holds edits back: Claude
// Code compares the rule with their paths. A role keeps that rule, so that it asks only
// about programs that may run without a question otherwise.
func (t tables) editRules() {
	done := map[string]bool{} // by program and decision
	for _, n := range t.neutral {
		if n.Group != ir.Edit || n.decision == ir.Allow {
			continue
		}
		t.alone = t.alone || t.approves(ir.Command)
		command := t.can.Command
		if command == nil || withheld(command) {
			continue
		}
		add := func(d ir.Decision, p string) {
			command.Rules = append(command.Rules, t.rule(d, ir.Pattern{Text: p}, n.pos))
		}
		of, d := t.allowed(command), answered(t.mode)
		if t.role == nil && n.decision == ir.Deny && !leftToAgent(command) {
			if patterns := plainCommands(n.Pattern); len(patterns) > 0 {
				for _, p := range patterns {
					add(ir.Deny, p)
				}
				continue
			}
			of, d = func(string) bool { return true }, ir.Deny
		}
		for _, program := range editors {
			if key := program + d.String(); !done[key] && of(program) {
				done[key] = true
				add(d, program+" *")
			}
		}
	}
}

// withheld reports whether a subject has no tool of a group: no rule says less of it.
func withheld(t *ir.Table) bool { return slices.ContainsFunc(t.Rules, ir.Rule.DeniesAll) }

// leftToAgent reports whether a table leaves what it does not list to Claude Code, which holds its own rules
// about files against commands.
func leftToAgent(t *ir.Table) bool { return t.Default != nil && t.Default.Decision == ir.Agent }

// commandsOn returns the patterns of the commands that are given a path which a glob
// matches.
func commandsOn(glob string) []string {
	return slices.DeleteFunc(contract.CommandsOn(glob),
		func(p string) bool { return policy.CheckRestriction(p) != nil })
}

// plainCommands returns the patterns of the commands that are given a path which a pattern
// matches, none where these would be all commands.
func plainCommands(p ir.Pattern) []string {
	if p.Kind != ir.Plain {
		return nil
	}
	patterns := commandsOn(p.Text)
	if len(patterns) > 0 && patterns[0] == "*" {
		return nil
	}
	return patterns
}

// allowed returns a function that reports whether a table may allow a program.
func (t tables) allowed(command *ir.Table) func(program string) bool {
	if t.allowsAll(command) {
		return func(string) bool { return true }
	}
	return func(program string) bool {
		return slices.ContainsFunc(command.Rules, func(r ir.Rule) bool {
			word, _, _ := strings.Cut(r.Pattern.Text, " ")
			names := r.Pattern.Kind != ir.Plain || policy.Wildcard(strings.TrimSuffix(word, ":*"), program)
			return r.Decision == ir.Allow && names
		})
	}
}

// addTool adds a rule to the entry of a server, whose default is that of the table.
func addTool(t *ir.MCPTable, server string, rule ir.Rule) {
	entry := func() int {
		return slices.IndexFunc(t.Entries, func(e ir.MCPEntry) bool { return e.Key == server && e.From == rule.From })
	}
	if entry() < 0 {
		e := ir.MCPEntry{
			Key: server, Literal: !strings.ContainsAny(server, "*?"), Pos: rule.Pos, From: rule.From}
		if t.Default != nil {
			def := *t.Default
			def.From = rule.From
			e.Default = &def
		}
		t.Entries = append(t.Entries, e)
		slices.SortStableFunc(t.Entries, func(a, b ir.MCPEntry) int { return strings.Compare(a.Key, b.Key) })
	}
	e := &t.Entries[entry()]
	e.Rules = append(e.Rules, rule)
}

// toolsInto lays the rules of a session for tools of servers over those that a list of
// tools leaves. What the list does not name stays denied, whatever the rules allow or ask
// about.
func toolsInto(t *ir.MCPTable, rules []neutralRule) {
	for _, n := range rules {
		if n.Group != ir.MCP {
			continue
		}
		rule := ir.Rule{Decision: n.decision, Pattern: n.Pattern, Pos: n.pos}
		if t.Default.Decision > ir.Deny || n.decision == ir.Deny && strings.ContainsAny(n.Server, "*?") {
			addTool(t, n.Server, rule)
			continue
		}
		for i := range t.Entries {
			e := &t.Entries[i]
			switch {
			case e.Key != n.Server && !policy.Wildcard(n.Server, e.Key), n.decision == ir.Allow:
			case n.decision == ir.Deny:
				e.Rules = append(e.Rules, rule)
			default:
				askAbout(e, rule)
			}
		}
	}
}

// askAbout adds an ask for those tools of an entry that are allowed and that a rule
// concerns.
func askAbout(e *ir.MCPEntry, rule ir.Rule) {
	for _, has := range slices.Clone(e.Rules) {
		switch {
		case has.Decision != ir.Allow:
		case rule.Pattern.Kind == ir.All || policy.Wildcard(rule.Pattern.Text, has.Pattern.Text):
			e.Rules = append(e.Rules, ir.Rule{Decision: ir.Ask, Pattern: has.Pattern, Pos: rule.Pos})
		case policy.Wildcard(has.Pattern.Text, rule.Pattern.Text):
			e.Rules = append(e.Rules, rule)
		}
	}
}
