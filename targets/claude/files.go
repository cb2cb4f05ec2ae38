package claude

import (
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/dialect"
	"modec.dev/modec/targets/claude/format"
)

// files compiles the rules of a group of paths. They are rules of the group's first tool,
// which cover the others.
func (c *compiler) files(g ir.Group) {
	if c.closed(g) {
		c.drop(g)
		if g == ir.Edit && !c.closed(ir.Command) { // a path rule is also about commands that edit
			if c.s.Default(ir.Command).Decision == ir.Agent {
				c.out.add(ir.Deny, "Edit(**)")
			}
			if c.approvesEdits() {
				c.out.add(ir.Deny, "Edit(//**)")
			}
		}
		return
	}
	if c.losesUnlisted(g) {
		return
	}
	if out := c.s.Outside(g); g == ir.Read && c.s.Default(g).Decision != ir.Agent &&
		out.Decision == ir.Deny && c.loses(g, out.Pos, outside) {
		return
	}
	p := &pathRules{compiler: c, group: g, tool: format.Tools[g][0], def: c.s.Default(g).Decision}
	if p.asksAll = c.asksWhole(g, g == ir.Read || c.approvesEdits()); p.asksAll {
		c.askWhole(g)
	}
	for _, r := range c.s.Rules(g) {
		if !p.add(&r) {
			return
		}
	}
	if c.opensAll(g) && !p.asksAll {
		tools := format.Tools[g] // a bare rule is about its own tool
		if g == ir.Read {
			tools = tools[:1] // the others read what it may
		}
		c.out.add(ir.Allow, tools...)
		return
	}
	if p.def == ir.Allow && p.allowsEdits() && !c.hasRegexHold(g) {
		c.out.add(ir.Allow, "Edit(./**)")
	}
}

// opensAll reports whether a group allows every path, in the project and outside: a bare rule says so.
func (c *compiler) opensAll(g ir.Group) bool {
	return slices.Contains(c.bare, g) && !c.hasRegexHold(g)
}

func opensAll(s *policy.Subject, g ir.Group) bool {
	everything := func(r ir.Rule) bool { return r.Decision == ir.Allow && r.Pattern.Text == "**" }
	return (s.Default(g).Decision == ir.Allow || slices.ContainsFunc(s.Rules(g), everything)) &&
		s.Outside(g).Decision == ir.Allow
}

// hasRegexHold reports whether an expression denies or asks about something of a group: a
// rule that allows some of it would approve that without the hook.
func (c *compiler) hasRegexHold(g ir.Group) bool {
	return slices.ContainsFunc(c.s.Rules(g), func(r ir.Rule) bool {
		return r.Pattern.Kind == ir.Regex && r.Decision < ir.Allow
	})
}

// covering returns a glob that matches whatever an expression matches, "" where the
// expression does not end in a literal text: `\.test\.ts$` is in *.test.ts.
func covering(regex string) string {
	text, ok := strings.CutSuffix(regex, "$")
	if !ok || strings.Contains(text, "|") {
		return ""
	}
	suffix := ""
	for text != "" {
		last := text[len(text)-1:]
		text = text[:len(text)-1]
		escaped := strings.HasSuffix(text, `\`)
		switch word := inName.MatchString(last); {
		case escaped && word:
			return "" // what follows may belong to it: \x41
		case escaped && last == "." && !strings.HasSuffix(text, `\\`):
			text = text[:len(text)-1]
		case escaped, !word:
			text, last = "", ""
		}
		suffix = last + suffix
	}
	if suffix == "" {
		return ""
	}
	return "*" + suffix
}

var inName = regexp.MustCompile(`^[A-Za-z0-9_-]$`)

// pathRules compiles the rules of one group of paths.
type pathRules struct {
	*compiler
	group   ir.Group
	tool    string // whose rules cover the group
	def     ir.Decision
	asksAll bool // every path is asked about
}

// allowsEdits reports whether an allow needs a rule: of edits that neither the mode approves
// nor a rule asks about.
func (p *pathRules) allowsEdits() bool {
	approved := p.mode == format.AcceptEdits || p.mode == format.Bypass
	return p.group == ir.Edit && !approved && !p.asksAll
}

// asksItself reports whether Claude Code asks about a path by itself, whatever rule allows it, and a rule asks
// about the path, or denies it where nobody is asked.
func (p *pathRules) asksItself(r *ir.Rule) bool {
	own := p.group == ir.Edit && slices.Contains(format.Protected, strings.TrimSuffix(r.Pattern.Text, "/"))
	return own && (r.Decision == ir.Ask && !p.approvesEdits() || r.Decision == ir.Deny && p.mode == format.DontAsk)
}

// add compiles a rule. It reports false where the whole group goes.
func (p *pathRules) add(r *ir.Rule) bool {
	switch {
	case r.Pattern.Kind == ir.Regex:
		return p.regex(r)
	case r.Decision == ir.Allow:
		if p.allowsEdits() {
			p.allow(r)
		}
	case p.asksItself(r):
	case r.Decision == ir.Deny, !p.asksAll && !p.asksAnyway(p.group, r):
		p.hold(r)
	}
	return true
}

// regex handles a regular expression, which no rule can express. It reports false where the
// whole group goes.
func (p *pathRules) regex(r *ir.Rule) bool {
	switch glob := covering(r.Pattern.Text); {
	case r.Decision == ir.Allow && p.e.hooks && p.mayAllow:
		return true
	case r.Decision == ir.Deny && !p.e.hooks:
		return !p.loses(p.group, r.Pos, regexes)
	case r.Decision < ir.Allow && p.asksAll, r.Decision == ir.Deny && p.group == ir.Edit && !p.approvesEdits():
	case r.Decision < ir.Allow && glob != "":
		p.hold(&ir.Rule{Decision: ir.Ask, Pattern: ir.Pattern{Text: glob}})
	case r.Decision < ir.Allow:
		p.asksAll = true
		p.askWhole(p.group)
		if !p.e.hooks {
			p.e.loss(p.name, r.Pos, p.group, codeRegex, "%s: the whole group is asked about", regexes.message).
				Hint(p.e.orHook("write a glob"))
		}
	default:
		p.e.loss(p.name, r.Pos, p.group, codeRegex, "%s: the allow is left out", regexes.message).
			Hint(p.instead("write a glob"))
	}
	return true
}

// allow adds an allow only where Claude Code's pattern means no more.
func (p *pathRules) allow(r *ir.Rule) {
	globs, err := policy.ExpandBraces(r.Pattern.Text)
	if err != nil {
		return
	}
	for _, glob := range globs {
		switch folder := dialect.AllowedFolder(glob); {
		case glob == "**" && p.opensAll(p.group): // a bare rule says it
		case folder != "" && !p.hasRegexHold(p.group):
			p.out.add(ir.Allow, p.tool+"("+folder+")")
		case p.losesAllow() && p.def != ir.Allow:
			p.e.loss(p.name, r.Pos, p.group, codeAllow,
				"a rule for %q would match more than the source allows: it is left out", glob).
				Hint(p.instead("write the pattern as a folder"))
		}
	}
}

// hold adds a deny or an ask: a gitignore pattern that matches at least what the glob
// matches.
func (p *pathRules) hold(r *ir.Rule) {
	globs, err := policy.ExpandBraces(r.Pattern.Text)
	if err != nil {
		return
	}
	for _, glob := range globs {
		if !dialect.Above(glob) {
			p.holdGlob(r, glob)
		}
	}
}

func (p *pathRules) holdGlob(r *ir.Rule, glob string) {
	if strings.HasPrefix(glob, "~/") { // the home folder, and a folder of that name
		home := strings.TrimSuffix(glob, "/")
		if dir := strings.TrimSuffix(home, "/**"); dir != "~" && p.everywhere(p.group) {
			home = dir // elsewhere Claude Code asks about the folder itself
		}
		p.out.add(r.Decision, p.tool+"("+notCommand(home)+")")
	}
	pattern, rooted := held(glob)
	if p.everywhere(p.group) && (!rooted || strings.HasPrefix(pattern, "**/")) {
		pattern = "//**/" + strings.TrimPrefix(pattern, "**/") // outside the project too
	}
	p.out.add(r.Decision, p.tool+"("+pattern+")")
}

// everywhere reports whether rules about a group have to hold outside the project too, since something
// approves what no rule is about there.
func (c *compiler) everywhere(g ir.Group) bool {
	return c.approves() || c.opensAll(g) || slices.Contains(c.beyond, g)
}

// held returns the content of a rule that matches at least what a glob matches, and whether that is
// in the project's own folder only. A folder is named without what follows: it then holds itself
// and all that is in it, at any depth where it is one name.
func held(glob string) (pattern string, rooted bool) {
	for strings.HasSuffix(glob, "/**/") || strings.HasSuffix(glob, "/**/**") { // no more than "/**"
		glob = strings.TrimSuffix(strings.TrimSuffix(glob, "/"), "/**")
		glob = strings.TrimSuffix(glob, "/**") + "/**"
	}
	pattern = strings.TrimPrefix(glob, "/")
	rooted = strings.Contains(strings.TrimSuffix(glob, "/"), "/") && pattern != "**"
	dir := strings.TrimSuffix(strings.TrimSuffix(pattern, "**"), "/")
	if dir != "" && (strings.HasSuffix(pattern, "/") || strings.HasSuffix(pattern, "/**")) {
		pattern = dir
		if rooted && !strings.Contains(dir, "/") { // what is in a folder of the project itself
			if strings.ContainsAny(dir, `*?[\!#~`) { // not one name, or not at the beginning of a rule
				return notCommand(".//" + dir), true
			}
			pattern += "/*"
		}
	}
	switch pattern[0] {
	case '!', '#': // Claude Code would take the line for a negation or a comment
		pattern = `\` + pattern
	}
	if strings.HasPrefix(pattern, "~/") {
		pattern = "./" + pattern
	}
	return notCommand(pattern), rooted
}

// notCommand returns a pattern that does not end like one of commands: Claude Code leaves out such a
// rule of files.
func notCommand(pattern string) string {
	if text, ok := strings.CutSuffix(pattern, ":*"); ok {
		return text + "[:]*"
	}
	return pattern
}

// onDrive matches the first name of a glob for what is on a drive of Windows. Claude Code writes such
// paths in another way there.
var onDrive = regexp.MustCompile(`^(?:[A-Za-z?*]|\[[^\]]*\]):`)

// beyond reports whether a glob is about what lies above the project, on a drive, or in the home
// folder by a name that does not begin with it.
func beyond(glob string) bool {
	return dialect.Above(glob) || onDrive.MatchString(strings.TrimPrefix(glob, "/")) || strings.HasPrefix(glob, "**/~/")
}

// holdsAbove returns a rule that denies or asks about paths beyond the project.
func (c *compiler) holdsAbove(g ir.Group) (ir.Rule, bool) {
	for _, r := range c.s.Rules(g) {
		if r.Decision == ir.Allow || r.Pattern.Kind != ir.Plain {
			continue
		}
		if !strings.Contains(r.Pattern.Text, "{") && !beyond(r.Pattern.Text) {
			continue // as most, which tells it without reading the glob for each role in each mode
		}
		if globs, err := policy.ExpandBraces(r.Pattern.Text); err == nil && slices.ContainsFunc(globs, beyond) {
			return r, true
		}
	}
	return ir.Rule{}, false
}
