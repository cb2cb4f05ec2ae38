package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

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

// lists calls f with each list of rules of a subject, tools of servers included, and
// with the name of the group as a person knows it.
func lists(s subject, f func(where string, g ir.Group, rules []ir.Rule)) {
	tables(s, func(g ir.Group, t *ir.Table) { f("can."+string(g), g, t.Rules) })
	if s.can.MCP != nil {
		for _, e := range s.can.MCP.Entries {
			rules := slices.Clone(e.Rules)
			for i := range rules {
				rules[i].From = e.From
			}
			f(fmt.Sprintf("can.mcp.%s", e.Key), ir.MCP, rules)
		}
	}
}

// covers reports whether a pattern matches whatever another one does: where that is
// not plain to see it says no.
func covers(g ir.Group, wide, narrow ir.Pattern) bool {
	switch {
	case wide.Kind == ir.All:
		return true
	case wide == narrow:
		return true
	case wide.Kind != ir.Plain || narrow.Kind != ir.Plain:
		return false
	}
	switch g {
	case ir.Read, ir.Edit:
		if strings.ContainsAny(wide.Text+narrow.Text, "[]\\{}?") {
			return false
		}
		w, n := wide.Text, narrow.Text
		if !strings.Contains(strings.TrimSuffix(w, "/"), "/") { // at any depth
			w = "**/" + w
		}
		if !strings.Contains(strings.TrimSuffix(n, "/"), "/") && !strings.HasPrefix(w, "**/") {
			return false
		}
		ok, err := doublestar.Match(strings.TrimPrefix(w, "/"), strings.TrimPrefix(n, "/"))
		return ok && err == nil && (strings.Contains(w, "**") || !strings.Contains(n, "**"))
	case ir.Command:
		w := strings.TrimSuffix(wide.Text, ":*")
		if w != wide.Text {
			w += " *"
		}
		n := strings.Replace(narrow.Text, ":*", " *", 1)
		return strings.HasSuffix(w, " *") && !strings.Contains(strings.TrimSuffix(w, " *"), "*") && (n == strings.TrimSuffix(w, " *") || strings.HasPrefix(n, strings.TrimSuffix(w, "*")))
	case ir.Web:
		suffix, ok := strings.CutPrefix(wide.Text, "*")
		return ok && strings.HasSuffix(narrow.Text, suffix) && (suffix == "" || narrow.Text != suffix[1:])
	}
	return policy.Wildcard(wide.Text, narrow.Text) && !strings.ContainsAny(narrow.Text, "?")
}

// needless tells of a rule that decides nothing beside another one.
func (p *pass) needless(s subject, r, beside ir.Rule, what, format string, args ...any) {
	f := p.add(r.Pos, s.name, "", format, args...)
	f.Related = []diag.Related{{Pos: beside.Pos, Message: what}}
	f.Fix = &Fix{r.Pos}
}

func (p *pass) duplicates() {
	for _, s := range p.subjects() {
		lists(s, func(where string, g ir.Group, rules []ir.Rule) {
			for i, r := range rules {
				first := slices.IndexFunc(rules[:i], func(x ir.Rule) bool {
					return x.Decision == r.Decision && x.Pattern == r.Pattern && x.From == r.From
				})
				if first >= 0 && own(r.From) && ofSource(r.Pos) && rules[first].Pos != r.Pos {
					p.needless(s, r, rules[first], "the first one", "got %s twice in the %s list of %s", r.Pattern, r.Decision, where)
				}
			}
		})
	}
}

func (p *pass) shadowed() {
	for _, s := range p.subjects() {
		lists(s, func(where string, g ir.Group, rules []ir.Rule) {
			for i, r := range rules {
				if !own(r.From) || !ofSource(r.Pos) || r.Pattern.Kind == ir.All {
					continue
				}
				wide := slices.IndexFunc(rules, func(x ir.Rule) bool {
					return x.Decision == r.Decision && x.Pattern != r.Pattern && covers(g, x.Pattern, r.Pattern)
				})
				if wide > i && covers(g, r.Pattern, rules[wide].Pattern) {
					continue // of two that say the same the second goes
				}
				if wide >= 0 && rules[wide].From == r.From {
					p.needless(s, r, rules[wide], "the broader one", "got %s beside %s, which matches all of it, in the %s list of %s", r.Pattern, rules[wide].Pattern, r.Decision, where)
				}
			}
		})
	}
}

func (p *pass) void() {
	for _, s := range p.subjects() {
		lists(s, func(where string, g ir.Group, rules []ir.Rule) {
			for _, r := range rules {
				if r.Decision == ir.Deny || !own(r.From) || !ofSource(r.Pos) {
					continue
				}
				over := slices.IndexFunc(rules, func(x ir.Rule) bool {
					return x.Decision < r.Decision && covers(g, x.Pattern, r.Pattern) && !strings.HasPrefix(x.Pos.File, ir.GuardsFile)
				})
				if over < 0 || rules[over].From != "" && r.From != rules[over].From {
					continue // what a policy denies may be meant for others
				}
				p.needless(s, r, rules[over], "the stricter one", "got %s %s in %s, which the %s of %s makes void", r.Decision, r.Pattern, where, rules[over].Decision, rules[over].Pattern)
			}
		})
	}
}

func (p *pass) overBroad() {
	broad := map[ir.Group][]string{ir.Command: {"*"}, ir.Edit: {"**", "**/*", "*"}}
	for _, s := range p.subjects() {
		for _, g := range []ir.Group{ir.Edit, ir.Command} {
			t := s.can.Table(g)
			if t == nil {
				continue
			}
			// Edits of all but what is named are somebody's decision.
			held := g == ir.Edit && slices.ContainsFunc(t.Rules, func(r ir.Rule) bool { return r.Decision < ir.Allow && ofSource(r.Pos) })
			if d := t.Default; d != nil && d.Decision == ir.Allow && own(d.From) && ofSource(d.Pos) && !held {
				p.add(d.Pos, s.name, "list what it needs and ask about the rest", "got %s allowed for everything, unasked", g)
			}
			for _, r := range t.Rules {
				if r.Decision == ir.Allow && slices.Contains(broad[g], r.Pattern.Text) && r.Pattern.Kind == ir.Plain && own(r.From) && ofSource(r.Pos) {
					p.add(r.Pos, s.name, "list what it needs and ask about the rest", "got %s %q allowed, which is everything, unasked", g, r.Pattern.Text)
				}
			}
		}
		t := s.can.MCP
		if t == nil || s.mode != nil && s.mode.Restrictions != nil && (s.mode.Restrictions.AllowedServers != nil || s.mode.Restrictions.AllowedTools != nil) {
			continue
		}
		if d := t.Default; d != nil && d.Decision == ir.Allow && own(d.From) && ofSource(d.Pos) {
			p.add(d.Pos, s.name, "allow servers by their name", "got every tool of every server allowed, unasked")
		}
		for _, e := range t.Entries {
			if e.Key == "*" && e.Default != nil && e.Default.Decision == ir.Allow && own(e.From) && ofSource(e.Default.Pos) {
				p.add(e.Default.Pos, s.name, "allow servers by their name", "got every tool of every server allowed, unasked")
			}
		}
	}
}

func (p *pass) commandDefeatsEdit() {
	for _, s := range p.subjects() {
		e, c := s.can.Edit, s.can.Command
		if e == nil || c == nil || e.Default != nil && e.Default.Decision == ir.Allow || !slices.ContainsFunc(e.Rules, func(r ir.Rule) bool { return r.Decision == ir.Allow }) {
			continue
		}
		if slices.ContainsFunc(e.Rules, func(r ir.Rule) bool {
			return r.Decision == ir.Allow && slices.Contains([]string{"**", "**/*", "*"}, r.Pattern.Text)
		}) {
			continue
		}
		at := diag.Pos{}
		if c.Default != nil && c.Default.Decision == ir.Allow {
			at = c.Default.Pos
		}
		for _, r := range c.Rules {
			if r.Decision == ir.Allow && r.Pattern == (ir.Pattern{Text: "*"}) {
				at = r.Pos
			}
		}
		if ofSource(at) {
			f := p.add(at, s.name, "list the commands that it needs, or ask about them", "got any command allowed beside edits of some files only: a command can write every file")
			f.Related = []diag.Related{{Pos: e.Rules[0].Pos, Message: "the edits"}}
		}
	}
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
					f := p.add(r.Pos, s.name, `put it under ask: "@destructive" stands for every such tool`, "got %s:%s allowed unasked, which destroys", sv.Name, t.Name)
					f.Related = []diag.Related{{Pos: t.Pos, Message: "its risk"}}
				}
			}
		}
	}
}

func (p *pass) bypass() {
	for i := range p.Project.Roles {
		if r := &p.Project.Roles[i]; r.PermissionMode == "bypassPermissions" && ofSource(r.PermissionModePos) {
			p.add(r.PermissionModePos, "role "+r.Name, "", "got bypassPermissions, which allows whatever the role leaves unsaid")
		}
	}
}

func (p *pass) dontAsk() {
	for i := range p.Project.Roles {
		r := &p.Project.Roles[i]
		if r.PermissionMode != "dontAsk" || !ofSource(r.PermissionModePos) || r.Can.Default != nil && r.Can.Default.Decision == ir.Allow {
			continue
		}
		allows := slices.ContainsFunc(r.Native, func(c ir.NativeRule) bool { return c.Decision == ir.Allow })
		s := subject{ir.SubjectRef{Role: r.Name}, "role " + r.Name, r.Pos, &r.Can, nil, r}
		tables(s, func(_ ir.Group, t *ir.Table) {
			allows = allows || t.Default != nil && t.Default.Decision == ir.Allow
		})
		lists(s, func(_ string, _ ir.Group, rules []ir.Rule) {
			allows = allows || slices.ContainsFunc(rules, func(x ir.Rule) bool { return x.Decision == ir.Allow })
		})
		if m := r.Can.MCP; m != nil {
			allows = allows || m.Default != nil && m.Default.Decision == ir.Allow || slices.ContainsFunc(m.Entries, func(e ir.MCPEntry) bool { return e.Default != nil && e.Default.Decision == ir.Allow })
		}
		if !allows {
			p.add(r.PermissionModePos, s.name, "allow what it is for", "got dontAsk and nothing that is allowed: the role can do nothing")
		}
	}
}

// pathRules calls f with each rule over paths that a person wrote.
func (p *pass) pathRules(f func(s subject, g ir.Group, r ir.Rule)) {
	for _, s := range p.subjects() {
		for _, g := range []ir.Group{ir.Read, ir.Edit} {
			if t := s.can.Table(g); t != nil {
				for _, r := range t.Rules {
					if own(r.From) && ofSource(r.Pos) {
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
			p.add(r.Pos, s.name, "write a glob", "got the expression %s for reading, which Roo can say of edits alone", r.Pattern)
		}
	})
}

// systemFolders are the first folders of absolute paths.

func (p *pass) absolutePaths() {
	p.pathRules(func(s subject, _ ir.Group, r ir.Rule) {
		if r.Pattern.Kind == ir.Plain && contract.SystemPath(r.Pattern.Text) {
			p.add(r.Pos, s.name, "what lies outside is decided by can.outside", "got %s %q, whose slash starts from the project's root and not the system's", r.Decision, r.Pattern.Text)
		}
	})
}

func (p *pass) slowRegex() {
	p.pathRules(func(s subject, _ ir.Group, r ir.Rule) {
		if r.Pattern.Kind == ir.Regex && backtracks(r.Pattern.Text) {
			p.add(r.Pos, s.name, "repeat once", "got %s, which repeats a repetition: an engine that backtracks may never end", r.Pattern)
		}
	})
}

// backtracks reports an expression with a repetition of what is itself nothing but
// repetitions: the same text can be cut into them in more than one way.
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

// onlyRepeats reports whether a sequence has repetitions without an end, and beside
// them only what may be left out.
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
