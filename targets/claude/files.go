package claude

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
)

// files compiles the rules of a group of paths. They are rules of the group's first tool,
// which cover the others.
func (c *compiler) files(g ir.Group) {
	if c.closed(g) {
		c.drop(g)
		if g == ir.Edit { // a path rule also holds for commands that Claude Code takes for edits
			c.out.add(ir.Deny, "Edit(**)", "Edit(//**)")
		}
		return
	}
	if c.losesUnlisted(g) {
		return
	}
	if out := c.s.Outside(g); g == ir.Read && out.Decision == ir.Deny && c.loses(g, out.Pos, outside) {
		return
	}
	p := &pathRules{compiler: c, group: g, tool: format.Tools[g][0], def: c.s.Default(g).Decision}
	p.asksAll = p.def == ir.Ask && (g == ir.Read || c.approves() || c.mode == format.AcceptEdits)
	for _, r := range c.s.Rules(g) {
		if !p.add(r) {
			return
		}
	}
	switch {
	case p.asksAll:
		c.askWhole(g)
		return
	case p.holds:
		c.out.add(ir.Ask, p.tool+oddNames)
	}
	if p.def == ir.Allow && g == ir.Edit && !c.hasRegexHold(g) {
		c.out.add(ir.Allow, "Edit(./**)")
	}
}

// oddNames are the names with a long s or a Kelvin sign, which a file system may take for an
// s and a k. Claude Code folds the case of ASCII letters only.
const oddNames = "(*[ſ\u212a]*)"

// hasRegexHold reports whether an expression denies or asks about something of a group: a
// rule that allows all of it would approve that without the hook.
func (c *compiler) hasRegexHold(g ir.Group) bool {
	return slices.ContainsFunc(c.s.Rules(g), func(r ir.Rule) bool {
		return r.Pattern.Kind == ir.Regex && r.Decision < ir.Allow
	})
}

// pathRules compiles the rules of one group of paths.
type pathRules struct {
	*compiler
	group   ir.Group
	tool    string // whose rules cover the group
	def     ir.Decision
	asksAll bool // every path is asked about
	holds   bool // some path is denied or asked about
}

// add compiles a rule. It reports false where the whole group goes.
func (p *pathRules) add(r ir.Rule) bool {
	switch {
	case r.Pattern.Kind == ir.All:
		p.asksAll = p.asksAll || r.Decision == ir.Ask
	case r.Pattern.Kind == ir.Regex:
		return p.regex(r)
	case r.Decision == ir.Allow:
		p.allow(r)
	default:
		p.hold(r)
		p.holds = true
	}
	return true
}

// regex handles a regular expression, which no rule can express. It reports false where the
// whole group goes.
func (p *pathRules) regex(r ir.Rule) bool {
	switch {
	case p.e.hooks && r.Decision != ir.Ask:
		return true // the hook holds it; without it nothing is approved by a rule
	case r.Decision == ir.Deny:
		return !p.loses(p.group, r.Pos, regexes)
	case r.Decision == ir.Ask:
		p.askWhole(p.group)
		if !p.e.hooks {
			p.e.loss(p.name, r.Pos, p.group, codeRegex, "%s: the whole group is asked about", regexes.message).
				Hint(p.e.orHook("write a glob"))
		}
	default:
		p.e.loss(p.name, r.Pos, p.group, codeRegex, "%s: the allow is left out", regexes.message).
			Hint(p.e.orHook("write a glob"))
	}
	return true
}

// allow adds an allow only where Claude Code's pattern means no more: a literal folder of
// the project and all below it.
func (p *pathRules) allow(r ir.Rule) {
	globs, err := policy.ExpandBraces(r.Pattern.Text)
	if err != nil {
		return
	}
	for _, glob := range globs {
		dir, ok := strings.CutSuffix(strings.TrimPrefix(glob, "/"), "/**")
		switch {
		case glob == "**":
			p.out.add(ir.Allow, p.tool+"(./**)")
		case ok && !strings.ContainsAny(dir, `*?[]{}\!# `) && !strings.HasPrefix(dir, "~"):
			p.out.add(ir.Allow, p.tool+"("+dir+"/**)")
		case !p.e.hooks && p.def != ir.Allow:
			p.e.loss(p.name, r.Pos, p.group, codeAllow,
				"a rule for %q would match more than the source allows: it is left out", glob).
				Hint(p.e.orHook("write the pattern as a folder"))
		}
	}
}

// hold adds a deny or an ask: a gitignore pattern that matches at least what the glob
// matches.
func (p *pathRules) hold(r ir.Rule) {
	globs, err := policy.ExpandBraces(r.Pattern.Text)
	if err != nil {
		return
	}
	for _, glob := range globs {
		// A folder is named without what follows: it then holds itself and all that is in it,
		// at any depth where it is one name.
		rooted := strings.Contains(strings.TrimSuffix(glob, "/"), "/")
		glob = strings.TrimPrefix(glob, "/")
		dir := strings.TrimSuffix(strings.TrimSuffix(glob, "**"), "/")
		folder := dir != "" && (strings.HasSuffix(glob, "/") || strings.HasSuffix(glob, "/**"))
		if folder {
			glob = dir
		}
		switch glob[0] {
		case '!', '#', '~':
			glob = "./" + glob
		}
		if folder && rooted && r.Decision == ir.Deny && !strings.Contains(dir, "/") {
			// A rule can name what is in a folder of the project itself. The folder's name alone
			// is asked about, wherever it stands.
			p.out.add(ir.Deny, p.tool+"("+glob+"/*)")
			p.out.add(ir.Ask, p.tool+"("+glob+")")
			continue
		}
		p.out.add(r.Decision, p.tool+"("+glob+")")
	}
}
