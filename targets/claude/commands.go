package claude

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// commands compiles the rules of the group command. What the role asks about and no rule
// allows, Claude Code asks about by itself, but for what only reads: that is a hole of the
// agent, unless the role allows nothing.
func (c *compiler) commands() {
	g := ir.Command
	if c.gone(g) {
		return
	}
	def, unsaid := c.s.Default(g), slices.ContainsFunc(c.s.Rules(g), holdsSet)
	asksAll := c.asksWhole(g, c.approves() || def.Decision == ir.Ask && c.listsNone(g)) || unsaid && c.approves()
	if asksAll {
		c.out.add(ir.Ask, "Bash")
	}
	for _, r := range c.s.Rules(g) {
		switch {
		case r.Decision == ir.Ask && (asksAll || c.asksAnyway(g, &r)), r.Decision == ir.Allow && asksAll:
		case r.Pattern.Kind == ir.Builtin: // the hook's: as rules its prefixes would allow more
			c.losesBuiltin(&r)
		case r.Decision == ir.Allow && r.Pattern.Everything():
			c.everyCommand()
		case r.Decision == ir.Allow && unsaid: // without the hook
			c.losesCommand(&r)
		default:
			c.command(&r)
		}
	}
	if def.Decision == ir.Allow && !asksAll {
		c.everyCommand()
	}
}

// listsCommand reports whether a rule allows commands that a rule of Claude Code can say.
func listsCommand(r ir.Rule) bool {
	return r.Decision == ir.Allow && r.Pattern.Kind == ir.Plain && !r.Pattern.Everything()
}

// command compiles a rule for some commands.
func (c *compiler) command(r *ir.Rule) {
	texts := commandPatterns(r)
	if program, two := strings.CutSuffix(texts[0], " * *"); two && r.Decision == ir.Allow && c.losesAllow() {
		c.e.loss(c.name, r.Pos, ir.Command, codeAllow,
			"a rule for %q allows %s with two words or more: with one, it is not allowed", r.Pattern.Text, program).
			Hint(c.instead("list commands"))
	}
	for _, text := range texts {
		c.out.add(r.Decision, "Bash("+text+")")
	}
}

// losesCommand reports that an allow is left out, beside a built-in set that is held back.
func (c *compiler) losesCommand(r *ir.Rule) {
	if c.losesAllow() {
		c.e.loss(c.name, r.Pos, ir.Command, codeAllow,
			"a rule for %q would allow what a policy for commands holds back: it is left out", r.Pattern.Text).
			Hint(c.instead("list commands"))
	}
}

// holdsSet reports whether a rule denies or asks about a built-in set, which no rule of Claude Code says.
func holdsSet(r ir.Rule) bool { return r.Decision < ir.Allow && r.Pattern.Kind == ir.Builtin }

func (c *compiler) losesBuiltin(r *ir.Rule) {
	if c.losesAllow() {
		loss := c.e.loss(c.name, r.Pos, ir.Command, codeAllow,
			"rules cannot say which options of @%s only read: it is left out", r.Pattern.Text).
			Hint(c.instead(policy.SetHint))
		if slices.ContainsFunc(c.s.Rules(ir.Command), listsCommand) {
			loss.Needless()
		}
	}
}

// everyCommand allows every command that no rule is about.
func (c *compiler) everyCommand() {
	if !c.approves() && !slices.ContainsFunc(c.s.Rules(ir.Command), holdsSet) {
		c.out.add(ir.Allow, "Bash")
	}
}

// commandPatterns returns the contents of the rules for a plain pattern of commands. Claude Code
// compares runs of blanks as they stand in a rule. A wildcard at the end has a word boundary only
// where it is the only one, so that the end has a rule of its own: git push * main.
func commandPatterns(r *ir.Rule) []string {
	text := r.Pattern.Text
	if !strings.ContainsAny(text, `'"`) {
		text = strings.Join(strings.Fields(text), " ")
	}
	bare, wide := openEnd(text)
	if !wide {
		return []string{text}
	}
	text = bare + " *" // of git * main:* Claude Code takes the first wildcard for text
	program, one := strings.CutSuffix(bare, " *")
	switch {
	case one && r.Decision == ir.Allow && !strings.Contains(program, "*"):
		// The rule git * allows git alone, too: the rule as it is wants two words, which is less.
		return []string{text}
	case strings.HasSuffix(bare, "*"):
		return []string{bare}
	}
	return []string{text, bare}
}

// openEnd returns a pattern without its last wildcard, which stands for further words. It reports
// whether that is not its only one.
func openEnd(text string) (bare string, wide bool) {
	bare, ok := strings.CutSuffix(text, " *")
	if !ok {
		bare, ok = strings.CutSuffix(text, ":*")
	}
	return bare, ok && strings.Contains(strings.ReplaceAll(bare, `\*`, ""), "*")
}
