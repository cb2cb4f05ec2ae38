package lint

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// tables calls f with each group of a subject that has a table.
func tables(s subject, f func(ir.Group, *ir.Table)) {
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.Modes} {
		if t := s.can.Table(g); t != nil {
			f(g, t)
		}
	}
}

// list is one list of rules of a subject.
type list struct {
	where string // "can.edit", "can.mcp.github"
	group ir.Group
	rules []ir.Rule
}

// lists calls f with each list of rules of a subject, those of servers included.
func lists(s subject, f func(list)) {
	tables(s, func(g ir.Group, t *ir.Table) { f(list{"can." + string(g), g, untimed(t.Rules)}) })
	if s.can.MCP == nil {
		return
	}
	for _, e := range s.can.MCP.Entries {
		rules := untimed(e.Rules)
		for i := range rules {
			rules[i].From = e.From
		}
		f(list{"can.mcp." + e.Key, ir.MCP, rules})
	}
}

// untimed returns the rules but for those that stand for an allow outside of its times: nobody wrote them, and they
// make no other rule superfluous.
func untimed(rules []ir.Rule) []ir.Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r ir.Rule) bool { return r.Times.Timed() })
}

// neverAllowed finds patterns of commands that allow no line that is written like them.
func (p *pass) neverAllowed() {
	for _, s := range p.subjects() {
		t := s.can.Table(ir.Command)
		if t == nil {
			continue
		}
		for _, r := range t.Rules {
			if r.Decision == ir.Allow && r.Pattern.Kind == ir.Plain && written(r) && !policy.Allowable(r.Pattern.Text) {
				p.find(r.Pos, "%s allows no line that is written like it: "+
					"a list allows single commands, and plain lines only", r.Pattern).
					Subject(s.name).
					Hint("list each command of the line by itself, and write \"*\" or a text in single quotes " +
						"for what a shell would replace")
			}
		}
	}
}

// gitShowsHistory finds lists that allow git's reading commands to a subject that may not read
// every file.
func (p *pass) gitShowsHistory() {
	holds := func(r ir.Rule) bool { return r.Decision < ir.Allow }
	for _, s := range p.subjects() {
		c, read := s.can.Table(ir.Command), s.can.Table(ir.Read)
		if c == nil || read == nil || !slices.ContainsFunc(read.Rules, holds) {
			continue
		}
		for _, r := range c.Rules {
			if r.Decision == ir.Allow && r.Pattern == (ir.Pattern{Kind: ir.Builtin, Text: "git_read"}) && written(r) {
				p.find(r.Pos, "%s shows what was committed, also of files that can.read denies or asks about",
					r.Pattern).
					Subject(s.name).
					Hint("keep such files out of git, or allow the subcommands that show no contents: " +
						"\"git status *\", \"git branch\"")
			}
		}
	}
}

func (p *pass) duplicates() {
	for _, s := range p.writers() {
		lists(s, func(l list) {
			for i, r := range l.rules {
				first := slices.IndexFunc(l.rules[:i], func(x ir.Rule) bool {
					return x.Decision == r.Decision && x.Pattern == r.Pattern && x.From == r.From
				})
				if first >= 0 && written(r) && l.rules[first].Pos != r.Pos {
					f := p.find(r.Pos, "the %s list of %s names %s twice", r.Decision, l.where, r.Pattern)
					f.Subject(s.name).Related(l.rules[first].Pos, "the first one")
					f.removable(r.Pos)
				}
			}
		})
	}
}

func (p *pass) shadowed() {
	for _, s := range p.writers() {
		lists(s, func(l list) {
			for i, r := range l.rules {
				if !written(r) || r.Pattern.Kind == ir.All {
					continue
				}
				wide := slices.IndexFunc(l.rules, func(x ir.Rule) bool {
					return x.Decision == r.Decision && x.Pattern != r.Pattern &&
						policy.Covers(l.group, x.Pattern, r.Pattern)
				})
				if wide > i && policy.Covers(l.group, r.Pattern, l.rules[wide].Pattern) {
					continue // two that match the same: the second one is found
				}
				if wide >= 0 && l.rules[wide].From == r.From {
					f := p.find(r.Pos, "%s decides nothing: %s in the same %s list of %s matches all of it",
						r.Pattern, l.rules[wide].Pattern, r.Decision, l.where)
					f.Subject(s.name).Related(l.rules[wide].Pos, "the broader one")
					f.removable(r.Pos)
				}
			}
		})
	}
}

func (p *pass) void() {
	for _, s := range p.writers() {
		lists(s, func(l list) {
			for _, r := range l.rules {
				if r.Decision == ir.Deny || !written(r) {
					continue
				}
				over := slices.IndexFunc(l.rules, func(x ir.Rule) bool {
					return x.Decision < r.Decision && policy.Covers(l.group, x.Pattern, r.Pattern)
				})
				if over < 0 || r.From != l.rules[over].From {
					continue // what a policy says may be meant for others
				}
				f := p.find(r.Pos, "%s %s in %s never applies: %s %s is stricter and matches all of it",
					r.Decision, r.Pattern, l.where, l.rules[over].Decision, l.rules[over].Pattern)
				f.Subject(s.name).Related(l.rules[over].Pos, "the stricter one")
				f.removable(r.Pos)
			}
		})
	}
}

// everything lists the patterns of a group that match all of it.
var everything = map[ir.Group][]string{ir.Edit: {"**", "**/*", "*"}}

func (p *pass) overBroad() {
	for _, s := range p.subjects() {
		p.broadTable(s, ir.Edit)
		p.broadTable(s, ir.Command)
		p.broadServers(s)
	}
}

// broadTable finds a default or a rule that allows all of a group.
func (p *pass) broadTable(s subject, g ir.Group) {
	const hint = "list what it needs and ask about the rest"
	t := s.can.Table(g)
	if t == nil {
		return
	}
	// To allow all edits but some is a choice that somebody made.
	limited := g == ir.Edit && slices.ContainsFunc(t.Rules, func(r ir.Rule) bool {
		return r.Decision < ir.Allow && ofSource(r.Pos)
	})
	if allowsAll(t.Default) && !limited {
		p.find(t.Default.Pos, "%s is allowed for everything, without a question", g).Subject(s.name).Hint(hint)
	}
	for _, r := range t.Rules {
		if r.Decision == ir.Allow && written(r) && matchesEverything(g, r) {
			p.find(r.Pos, "%s %q matches everything and is allowed without a question", g, r.Pattern.Text).
				Subject(s.name).
				Hint(hint)
		}
	}
}

func matchesEverything(g ir.Group, r ir.Rule) bool {
	text := r.Pattern.Text
	stars := g == ir.Command && text != "" && strings.Trim(text, "*") == "" // several mean what one does
	return r.Pattern.Kind == ir.Plain && (stars || slices.Contains(everything[g], text))
}

// broadServers finds what allows every tool of every server.
func (p *pass) broadServers(s subject) {
	t := s.can.MCP
	if t == nil || s.mode != nil && listsServers(s.mode.Restrictions) {
		return
	}
	broad := func(at diag.Pos) {
		p.find(at, "every tool of every server is allowed without a question").
			Subject(s.name).
			Hint("allow servers by their name")
	}
	if allowsAll(t.Default) {
		broad(t.Default.Pos)
	}
	for _, e := range t.Entries {
		if e.Key == "*" && allows(e.Default) && own(e.From) && ofSource(e.Default.Pos) {
			broad(e.Default.Pos)
		}
	}
}

// listsServers reports whether restrictions name what a mode may use.
func listsServers(r *ir.MCPRestrictions) bool {
	return r != nil && (r.AllowedServers != nil || r.AllowedTools != nil)
}

func (p *pass) commandDefeatsEdit() {
	for _, s := range p.subjects() {
		edit, command := s.can.Edit, s.can.Command
		if edit == nil || command == nil || !limitsEdits(edit) {
			continue
		}
		if at := anyCommand(command); ofSource(at) {
			p.find(at, "any command is allowed beside edits of some files only, but a command can write every file").
				Subject(s.name).
				Hint("list the commands that it needs, or ask about them").
				Related(edit.Rules[0].Pos, "the edits")
		}
	}
}

// silentWriters finds subjects that edit nothing and leave what may write to the agent.
func (p *pass) silentWriters() {
	for _, s := range p.subjects() {
		engine, err := p.Policy.Subject(s.ref)
		if err != nil || !deniesEdits(engine) {
			continue
		}
		var left []string
		for _, g := range []ir.Group{ir.Command, ir.MCP} {
			if engine.Default(g).Decision == ir.Agent && !leaves(s.can, g) {
				left = append(left, string(g))
			}
		}
		if engine.UnknownTool().Decision == ir.Agent && !leaves(s.can, ir.Unknown) {
			left = append(left, "unknown tools")
		}
		if len(left) > 0 {
			p.find(s.pos, "it may edit nothing, but leaves %s to the agent, which may write files by them",
				strings.Join(left, ", ")).
				Subject(s.name).
				Hint(`say what it may run, close the rest with default: "ask" or "deny", or write "agent"`)
		}
	}
}

// leaves reports whether a subject writes that it leaves a group to the agent, which is a decision and no silence.
func leaves(can *ir.Can, g ir.Group) bool {
	def := can.Default
	switch {
	case g == ir.Unknown:
		def = cmp.Or(can.Unknown, def)
	case g == ir.MCP && can.MCP != nil:
		def = cmp.Or(can.MCP.Default, def)
	case can.Table(g) != nil:
		def = cmp.Or(can.Table(g).Default, def)
	}
	return def != nil && def.Decision == ir.Agent
}

// deniesEdits reports whether a subject may edit nothing.
func deniesEdits(s *policy.Subject) bool {
	edits := func(r ir.Rule) bool { return r.Decision != ir.Deny }
	all := func(r ir.Rule) bool { return r.Decision == ir.Deny && r.Pattern.Kind == ir.All }
	rules := s.Rules(ir.Edit)
	return slices.ContainsFunc(rules, all) ||
		s.Default(ir.Edit).Decision == ir.Deny && !slices.ContainsFunc(rules, edits)
}

// instructions are the files that instruct every agent of a project.
var instructions = []string{"CLAUDE.md", "AGENTS.md"}

func (p *pass) writesInstructions() {
	for _, s := range p.subjects() {
		for _, name := range instructions {
			r := p.decide(s.ref, policy.Action{Group: ir.Edit, Arg: name})
			if r.Decision == ir.Allow && ofSource(r.Pos) && own(r.From) {
				p.find(r.Pos, "it may edit %s, which instructs every agent, without a question", name).
					Subject(s.name).
					Hintf("put %q under ask where that matters", name)
				break
			}
		}
	}
}

// limitsEdits reports whether a table allows edits of some files only.
func limitsEdits(t *ir.Table) bool {
	some := false
	for _, r := range t.Rules {
		if r.Decision != ir.Allow {
			continue
		}
		if slices.Contains(everything[ir.Edit], r.Pattern.Text) {
			return false
		}
		some = true
	}
	return some && !allows(t.Default)
}

// anyCommand returns the place of what allows every command, the zero Pos for none.
func anyCommand(t *ir.Table) diag.Pos {
	var at diag.Pos
	if allows(t.Default) {
		at = t.Default.Pos
	}
	for _, r := range t.Rules {
		if r.Decision == ir.Allow && r.Pattern == (ir.Pattern{Text: "*"}) {
			at = r.Pos
		}
	}
	return at
}

func (p *pass) destructive() {
	for _, s := range p.subjects() {
		for i := range p.Project.Servers {
			sv := &p.Project.Servers[i]
			for _, t := range sv.Tools {
				if t.Risk != "destructive" {
					continue
				}
				r := p.decide(s.ref, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name})
				if r.Decision == ir.Allow && ofSource(r.Pos) {
					p.find(r.Pos, "%s:%s is destructive and allowed without a question", sv.Name, t.Name).
						Subject(s.name).
						Hint(`put it under ask: "@destructive" names every such tool`).
						Related(t.Pos, "its risk")
				}
			}
		}
	}
}

func (p *pass) bypass() {
	for i := range p.Project.Roles {
		r := &p.Project.Roles[i]
		if r.PermissionMode == "bypassPermissions" && ofSource(r.PermissionModePos) {
			p.find(r.PermissionModePos, "bypassPermissions allows everything that the role does not mention").
				Subject("role " + r.Name)
		}
	}
}

func (p *pass) dontAsk() {
	for _, s := range p.subjects() {
		r := s.role
		if r == nil || r.PermissionMode != "dontAsk" || !ofSource(r.PermissionModePos) || allowsAnything(s) {
			continue
		}
		p.find(r.PermissionModePos, "dontAsk refuses what is not allowed, and the role allows nothing").
			Subject(s.name).
			Hint("allow what the role is for")
	}
}

// allowsAnything reports whether a role has a rule or a default that allows.
func allowsAnything(s subject) bool {
	found := allows(s.can.Default) || slices.ContainsFunc(s.role.Native, func(c ir.NativeRule) bool {
		return c.Decision == ir.Allow
	})
	tables(s, func(_ ir.Group, t *ir.Table) { found = found || allows(t.Default) })
	lists(s, func(l list) {
		found = found || slices.ContainsFunc(l.rules, func(x ir.Rule) bool { return x.Decision == ir.Allow })
	})
	if m := s.can.MCP; m != nil {
		found = found || allows(m.Default) ||
			slices.ContainsFunc(m.Entries, func(e ir.MCPEntry) bool { return allows(e.Default) })
	}
	return found
}

// pathRules calls f with each rule over paths that a person wrote.
func (p *pass) pathRules(f func(s subject, g ir.Group, r ir.Rule)) {
	for _, s := range p.subjects() {
		for _, g := range []ir.Group{ir.Read, ir.Edit} {
			if t := s.can.Table(g); t != nil {
				for _, r := range t.Rules {
					if written(r) {
						f(s, g, r)
					}
				}
			}
		}
	}
}

func (p *pass) regexOutsideEdit() {
	p.pathRules(func(s subject, g ir.Group, r ir.Rule) {
		if g == ir.Read && r.Pattern.Kind == ir.Regex {
			p.find(r.Pos, "the expression %s is about reading, but expressions reach agents for edits only", r.Pattern).
				Subject(s.name).
				Hint("write a glob")
		}
	})
}

func (p *pass) absolutePaths() {
	p.pathRules(func(s subject, _ ir.Group, r ir.Rule) {
		if r.Pattern.Kind == ir.Plain && contract.SystemPath(r.Pattern.Text) {
			p.find(r.Pos, "the slash of %s %q is the project's root, not the system's", r.Decision, r.Pattern.Text).
				Subject(s.name).
				Hint("can.outside decides about paths outside of the project")
		}
	})
}

func (p *pass) slowRegex() {
	p.pathRules(func(s subject, _ ir.Group, r ir.Rule) {
		if r.Pattern.Kind == ir.Regex && backtracks(r.Pattern.Text) {
			p.find(r.Pos, "%s repeats a repetition: an engine that backtracks may never end", r.Pattern).
				Subject(s.name).
				Hint("repeat once")
		}
	})
}

// backtracks reports whether an expression repeats something that consists of repetitions
// only: a text can be cut into them in more than one way.
func backtracks(text string) bool {
	p, err := ecma.Parse(text)
	if err != nil {
		return false
	}
	bad := false
	p.Root.Terms(func(t ecma.Term) bool {
		r, ok := t.(*ecma.Repetition)
		bad = bad || ok && r.Max == ecma.Unlimited && repeats(r.Term)
		return !bad
	})
	return bad
}

// repeats reports whether a term may be nothing but repetitions without an end.
func repeats(t ecma.Term) bool {
	switch t := t.(type) {
	case *ecma.Repetition:
		return t.Max == ecma.Unlimited
	case *ecma.Group:
		return slices.ContainsFunc(t.Body, onlyRepeats)
	case *ecma.Look:
		return slices.ContainsFunc(t.Body, onlyRepeats)
	}
	return false
}

// onlyRepeats reports whether a sequence consists of repetitions without an end and of
// terms that may match nothing.
func onlyRepeats(s ecma.Sequence) bool {
	some := false
	for _, t := range s {
		if repeats(t) {
			some = true
		} else if r, ok := t.(*ecma.Repetition); !ok || r.Min > 0 {
			return false
		}
	}
	return some
}
