package claude

import (
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
)

// commands compiles the rules of the group command. What the role asks about and no rule
// allows, Claude Code asks about by itself, but for what only reads: that is a hole of the
// agent, unless the role allows nothing.
func (c *compiler) commands() {
	g := ir.Command
	if c.gone(g) {
		return
	}
	def, unsaid := c.s.Default(g), slices.ContainsFunc(c.s.Rules(g), holdsUnsaid)
	asksAll := c.asksWhole(g, c.approves() || def.Decision == ir.Ask && c.listsNone(g)) || unsaid && c.approves()
	if asksAll {
		c.out.add(ir.Ask, "Bash")
	}
	for _, r := range c.s.Rules(g) {
		switch {
		case r.Decision == ir.Ask && (asksAll || c.asksAnyway(g, &r)), r.Decision == ir.Allow && asksAll:
		case r.Pattern.Kind == ir.Builtin: // the hook's: as rules its prefixes would allow more
			c.losesBuiltin(&r)
		case r.Decision == ir.Allow && unsaid && !r.Pattern.Everything():
			c.losesCommand(&r, "allow what a policy for commands holds back") // without the hook
		default:
			if holdsUnsaid(r) {
				c.losesExpansion(&r)
			}
			c.command(&r)
		}
	}
	if def.Decision == ir.Allow && !asksAll {
		c.everyCommand(def.Pos)
	}
}

// listsCommand reports whether a rule allows commands that a rule of Claude Code can say.
func listsCommand(r ir.Rule) bool {
	return r.Decision == ir.Allow && r.Pattern.Kind == ir.Plain && !r.Pattern.Everything()
}

// command compiles a rule for commands.
func (c *compiler) command(r *ir.Rule) {
	switch {
	case r.Decision < ir.Allow:
	case r.Pattern.Everything():
		c.everyCommand(r.Pos)
		return
	case !c.allowsCommand(r.Pattern.Text):
		c.losesCommand(r, "run what no list of the source allows")
		return
	}
	texts := commandPatterns(r)
	if r.Decision < ir.Allow && c.approvesCommands() && sets.MatchString(r.Pattern.Text) {
		loose := *r
		loose.Pattern.Text = anyBlanks(r.Pattern.Text)
		texts = commandPatterns(&loose)
	}
	program, _, _ := strings.Cut(r.Pattern.Text, " ")
	if r.Decision < ir.Allow && c.approvesCommands() && slices.Contains(wrappers, program) {
		behind := *r
		behind.Pattern.Text = "*/" + r.Pattern.Text
		texts = append(texts, commandPatterns(&behind)...)
	}
	if program, two := strings.CutSuffix(texts[0], " * *"); two && r.Decision == ir.Allow && c.losesAllow() {
		c.e.loss(c.name, r.Pos, ir.Command, codeAllow,
			"a rule for %q allows %s with two words or more: with one, it is not allowed", r.Pattern.Text, program).
			Hint(c.instead("list commands"))
	}
	for _, text := range texts {
		c.out.add(r.Decision, "Bash("+text+")")
	}
}

// sets matches a command that begins with the value of a variable. A rule about one finds the blanks alone that
// stand in it, and no tab.
var sets = regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_]*\+?=`)

// anyBlanks returns a pattern with a wildcard for the blanks between its words.
func anyBlanks(text string) string {
	body, end := strings.TrimSpace(text), ""
	if bare, ok := strings.CutSuffix(body, " *"); ok {
		body, end = bare, " *"
	}
	return strings.Join(strings.Fields(body), "*") + end
}

// wrappers run another program. Observed on 2.1.329: a rule about one does not find it behind its
// folder, as it finds any other program.
var wrappers = strings.Fields("builtin command env exec nice nohup stdbuf sudo time timeout xargs")

// losesCommand reports that an allow is left out, for what its rule would do.
func (c *compiler) losesCommand(r *ir.Rule, would string) {
	if c.losesAllow() {
		c.e.loss(c.name, r.Pos, ir.Command, codeAllow, "a rule for %q would %s: it is left out", r.Pattern.Text, would).
			Hint(c.instead("list commands"))
	}
}

// holdsUnsaid reports whether a rule denies or asks about commands that rules of Claude Code do not
// always find: what a built-in policy names, a line that the shell expands, and one that sets a variable to
// a value in quotes, which env may do as well. Observed on
// 2.1.330: Bash(echo "$HOME") does not find env FOO=1 echo "$HOME", nor one with two blanks.
func holdsUnsaid(r ir.Rule) bool {
	if r.Decision == ir.Allow {
		return false
	}
	quotedValue := sets.MatchString(r.Pattern.Text) && strings.ContainsAny(r.Pattern.Text, "'\"\\")
	return r.Pattern.Kind == ir.Builtin ||
		r.Pattern.Kind == ir.Plain && (strings.Contains(r.Pattern.Text, "$") || quotedValue)
}

// losesExpansion reports that a mode which approves every command asks about each instead.
func (c *compiler) losesExpansion(r *ir.Rule) {
	if !c.hook && c.approves() {
		c.e.loss(c.name, r.Pos, ir.Command, codeAllow,
			"a rule for %q does not find every such line: every command is asked about", r.Pattern.Text).
			Hint(c.e.orHook("name the program alone"))
	}
}

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

// everyCommand allows every command. The rule Bash lets each of them write by a redirect what no rule
// denies, and finds no command that a rule holds back where a shell expands the line.
func (c *compiler) everyCommand(at diag.Pos) {
	switch {
	case c.bareAllowHolds() && !c.approves():
		c.out.add(ir.Allow, "Bash")
	case c.losesAllow() && c.mode != format.Bypass:
		c.e.loss(c.name, at, ir.Command, codeAllow,
			"the rule Bash would allow redirects to any file too: it is left out").
			Hint(c.instead("list commands"))
	}
}

// approvesCommands reports whether commands run without a question that no rule is about.
func (c *compiler) approvesCommands() bool {
	every := func(r ir.Rule) bool { return r.Decision == ir.Allow && r.Pattern.Everything() }
	allowed := c.s.Default(ir.Command).Decision == ir.Allow || slices.ContainsFunc(c.s.Rules(ir.Command), every)
	return c.approves() || allowed && c.bareAllowHolds()
}

// bareAllowHolds reports whether the rule Bash means what an allow of every command does: rules deny
// what the source denies to redirects, and lines that are not plain are allowed too, or left to the
// agent.
func (c *compiler) bareAllowHolds() bool {
	closes := c.s.Default(ir.Command).Decision != ir.Agent
	lists := func(r ir.Rule) bool {
		return holdsUnsaid(r) || closes && (r.Decision < ir.Allow || !r.Pattern.Everything())
	}
	if slices.ContainsFunc(c.s.Rules(ir.Command), lists) {
		return false
	}
	return !slices.ContainsFunc([]ir.Group{ir.Read, ir.Edit}, func(g ir.Group) bool {
		passed := func(r ir.Rule) bool {
			return r.Decision == ir.Ask || r.Decision == ir.Deny && unsaid(r)
		}
		left := !closes && c.releases(g)
		return c.s.Default(g).Decision < ir.Allow || !left && c.s.Outside(g).Decision < ir.Allow ||
			slices.ContainsFunc(c.s.Rules(g), passed)
	})
}

// commandPatterns returns the contents of the rules for a plain pattern of commands. Claude Code
// compares runs of blanks as they stand in a rule. A wildcard at the end has a word boundary only
// where it is the only one, so that the end has a rule of its own: git push * main. Where a deny
// or ask has quotes, a wildcard stands for how a command is quoted.
func commandPatterns(r *ir.Rule) []string {
	text := r.Pattern.Text
	if !strings.ContainsAny(text, `'"`) {
		text = strings.Join(strings.Fields(text), " ")
	}
	texts := []string{text}
	if loose := unquoted(text); r.Decision < ir.Allow && loose != text {
		texts = append(texts, loose)
	}
	for _, text := range slices.Clone(texts) {
		bare, wide := openEnd(text)
		if wide && strings.HasSuffix(text, ":*") { // Claude Code takes the other wildcards for text there
			texts[slices.Index(texts, text)] = bare + " *"
			text = bare + " *"
		}
		program, one := strings.CutSuffix(bare, " *")
		switch {
		case wide && one && r.Decision == ir.Allow && !strings.Contains(program, "*"):
			// The rule git * allows git alone, too: the rule as it is wants two words, which is less.
		case wide && strings.HasSuffix(bare, "*"):
			texts[slices.Index(texts, text)] = bare
		case wide:
			texts = append(texts, bare)
		}
	}
	return texts
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

// unquoted returns a pattern with a wildcard for each of its quotes and escapes.
func unquoted(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		escaped := text[i] == '\\' && i+1 < len(text)
		switch {
		case escaped && text[i+1] == '*':
			b.WriteString(`\*`)
			i++
		case text[i] == '\'', text[i] == '"', text[i] == '\\', text[i] == '*':
			if !strings.HasSuffix(b.String(), "*") || strings.HasSuffix(b.String(), `\*`) {
				b.WriteByte('*')
			}
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// nobodys is a word that no pattern names.
const nobodys = "modec-nobodys"

// fills are what may stand for the wildcard at the end of a pattern: words, and a program that a
// shell or a wrapper runs, or a script that writes outside and over a guarded file.
var fills = []string{"", nobodys, "-c " + nobodys, "-c '" + nobodys + " x'", "-x " + nobodys + " x",
	"'" + nobodys + " > /" + nobodys + " > modec.lock'"}

// allowsCommand reports whether the source allows the commands that a rule for a plain pattern
// would: by its own text, with words that mean nothing for its wildcards, and behind a program that
// Claude Code removes. A shell that runs any script (bash *), a line that is not plain (echo $HOME)
// and a command that no list allows (eval *, cd docs) are not, and neither is one that has the pattern's
// words in quotes: to Claude Code a wildcard stands for any text.
func (c *compiler) allowsCommand(pattern string) bool {
	end := strings.TrimSuffix(strings.TrimSuffix(pattern, ":*"), " *")
	program, _, _ := strings.Cut(end, " ")
	words := strings.NewReplacer(`\*`, "*", "*", nobodys)
	with := fills
	if end == pattern {
		with = fills[:1]
	}
	allowed := false
	for _, fill := range with {
		line := strings.TrimSpace(words.Replace(end) + " " + fill)
		for _, wrapper := range []string{"", "time "} {
			switch r := c.s.Decide(policy.Action{Group: ir.Command, Arg: wrapper + line}); {
			case r.Decision == ir.Allow:
				allowed = true
			case !c.held(r), policy.Feeds(program): // no rule sees the arguments that it adds
				return false
			}
		}
	}
	if line := quotedMatch(pattern); allowed && line != "" {
		r := c.s.Decide(policy.Action{Group: ir.Command, Arg: words.Replace(line)})
		return r.Decision == ir.Allow || c.held(r)
	}
	return allowed
}

// quotedMatch returns a pattern for one that goes on behind its last word: with what stands behind its
// first wildcard in quotes; "" where there are no several words.
func quotedMatch(pattern string) string {
	end, open := strings.CutSuffix(pattern, ":*")
	if !open {
		end, open = strings.CutSuffix(pattern, "*")
	}
	at := strings.IndexByte(end, '*')
	for at > 0 && end[at-1] == '\\' {
		next := strings.IndexByte(end[at+1:], '*')
		if next < 0 {
			return ""
		}
		at += 1 + next
	}
	if !open || at < 0 || !strings.Contains(strings.TrimRight(end[at:], " "), " ") || strings.ContainsAny(end, `'"`) {
		return ""
	}
	first := end[:at]
	if first == "" {
		first = nobodys + " "
	}
	return first + "'" + strings.TrimRight(end[at:], " ") + " " + nobodys + "'"
}

// held reports whether a rule for commands decides, which is a rule of Claude Code too. What no
// list can match has another reason.
func (c *compiler) held(r policy.Result) bool {
	return slices.ContainsFunc(c.s.Rules(ir.Command), func(of ir.Rule) bool {
		return of.Decision < ir.Allow && of.Pos == r.Pos && r.Rule == of.Decision.String()+" "+of.Pattern.String()
	})
}
