package importer

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// special are the characters that mean something to picomatch beside "*", and
// nothing to the engine, which takes them as they stand.
const special = `?[]{}()!+@|\`

// plainEntry matches an entry that the engine, picomatch and a shell read alike: words
// of such characters, with "*".
var plainEntry = lazy.Regexp(`\A[\w./*][\w./:*%+,=@-]*(?: [\w./:*%+,=@-]+)*\z`)

// command adds an entry of terminalAllowlist, or the inside of a Shell token.
func (im *importer) command(r *ir.Role, text string, d ir.Decision, at diag.Pos) (why string) {
	text = format.Trim(text)
	add := func(d ir.Decision, p string) {
		rule := ir.Rule{Decision: d, Pattern: ir.Pattern{Text: p}, Pos: at}
		if p == "*" && d == ir.Deny {
			rule.Pattern = ir.Pattern{Kind: ir.All}
		}
		r.Can.Command.Rules = append(r.Can.Command.Rules, rule)
	}
	if d == ir.Deny {
		if text == "" {
			return "it is empty: Cursor matches nothing by it"
		}
		for _, p := range deniedCommand(text) {
			add(ir.Deny, p)
		}
		return ""
	}
	e := allowedCommand(text)
	if e.refused != "" {
		return e.refused
	}
	if slices.ContainsFunc(e.patterns, func(p string) bool { return policy.CheckCommand(p) != nil }) {
		return "the source does not accept it as a command"
	}
	for _, p := range e.patterns {
		add(d, p)
	}
	if e.ask != "" && policy.CheckRestriction(e.ask) == nil {
		add(ir.Ask, e.ask)
	}
	return ""
}

// allowedEntry is an allowed command as patterns of the source. They match no more than
// Cursor's entry, but for one line, which is asked about.
type allowedEntry struct {
	patterns []string
	ask      string
	refused  string // why there are none
}

func refused(why string) allowedEntry         { return allowedEntry{refused: why} }
func allowed(patterns ...string) allowedEntry { return allowedEntry{patterns: patterns} }

// with adds a pattern. In the source "git *" also matches git alone; in Cursor it does
// not, so that git alone is asked about.
func (e allowedEntry) with(pattern string) allowedEntry {
	pattern = collapsed(pattern)
	if bare, ok := strings.CutSuffix(pattern, " *"); ok {
		e.ask = bare
	}
	e.patterns = append(e.patterns, literalColon(pattern))
	return e
}

func allowedCommand(text string) allowedEntry {
	command, args, pair := strings.Cut(text, ":")
	first, _, _ := strings.Cut(text, " ")
	first, _, _ = strings.Cut(first, ":")
	switch {
	case text == "":
		return refused("it is empty")
	case strings.Trim(text, "*") == "":
		return allowed("*")
	case !plainEntry().MatchString(text):
		return refused("a pattern that Cursor's engine, its documentation or a shell reads in two ways: " +
			"it is asked about")
	case first == "" || strings.Contains(first, "="):
		return refused("Cursor finds no program in it")
	case pair && !strings.Contains(command, " "):
		return allowedArguments(command, args)
	}
	switch stars := strings.Count(collapsed(text), "*"); {
	case stars == 0:
		return allowed(text + " *") // a prefix up to a word's end
	case !strings.Contains(text, " ") && (stars > 1 || !strings.HasSuffix(text, "*")):
		return refused("a pattern over programs: it is asked about")
	case pair && strings.Trim(args, "*") == "":
		return allowed(command).with(text) // `npm run lint:*` is the text alone too, and no argument
	}
	return allowed().with(text)
}

// allowedArguments reads COMMAND:ARGS: this program with these arguments.
func allowedArguments(command, args string) allowedEntry {
	switch {
	case strings.Contains(command, "*"):
		return refused("a pattern over programs with arguments: it is asked about")
	case args == "":
		return allowed(command)
	case strings.Trim(args, "*") == "":
		return allowed(command + " *")
	}
	return allowed().with(command + " " + args)
}

// deniedCommand returns patterns of the source that match whatever an entry may match.
func deniedCommand(text string) []string {
	text = collapsed(strings.Map(func(c rune) rune {
		switch {
		case strings.ContainsRune(special+`'"`, c):
			return '*'
		case c < ' ' || c == 0x7f:
			return ' '
		}
		return c
	}, text))
	command, args, pair := strings.Cut(text, ":")
	pair = pair && command != ""
	var readings []string
	switch {
	case pair && args == "":
		readings = []string{command}
	case pair:
		readings = []string{command + " " + openEnd(args)}
	}
	if !pair || strings.Contains(command, " ") || strings.ContainsAny(args, `:/`) { // a colon of the text itself
		readings = append(readings, openEnd(text))
	}
	var out []string
	for _, p := range readings {
		if strings.HasPrefix(p, "@") {
			p = "*" + p[1:] // a set of the source
		}
		if p = literalColon(p); policy.CheckRestriction(p) != nil {
			return []string{"*"}
		}
		out = append(out, p)
	}
	return append(out, byName(out)...)
}

// openEnd returns a pattern that also matches more words.
func openEnd(p string) string {
	if strings.HasSuffix(p, "*") {
		return p
	}
	return p + " *"
}

// byName returns patterns of programs with a path again, with the program's bare name: the
// source compares the bare name of a program that another one runs.
func byName(patterns []string) (out []string) {
	for _, p := range patterns {
		program, rest, _ := strings.Cut(p, " ")
		if base := path.Base(program); strings.Contains(program, "/") && strings.Trim(base, "*./") != "" {
			out = append(out, strings.TrimSpace(base+" "+rest))
		}
	}
	return out
}

// collapsed writes runs of stars and of spaces as one.
func collapsed(s string) string {
	for strings.Contains(s, "**") {
		s = strings.ReplaceAll(s, "**", "*")
	}
	return strings.Join(strings.Fields(s), " ")
}

// literalColon keeps a colon before a last star, which would be " *" in the source.
func literalColon(p string) string {
	if strings.HasSuffix(p, ":*") {
		return p + "*"
	}
	return p
}

// heldBack removes the asks for a line that an entry of its own allows.
func heldBack(t *ir.Table) {
	rules := slices.Clone(t.Rules)
	t.Rules = slices.DeleteFunc(t.Rules, func(ask ir.Rule) bool {
		return ask.Decision == ir.Ask && slices.ContainsFunc(rules, func(r ir.Rule) bool { return allowsLine(r, ask) })
	})
}

// allowsLine reports whether a rule allows the line of an ask, and comes from another
// entry where it is a prefix.
func allowsLine(r, ask ir.Rule) bool {
	line := ask.Pattern.Text
	switch {
	case r.Decision != ir.Allow:
		return false
	case r.Pattern.Text == line, r.Pattern.Text == "*":
		return true
	}
	words, open := strings.CutSuffix(r.Pattern.Text, " *")
	prefix := open && !strings.Contains(words, "*") && r.Pos != ask.Pos
	return prefix && (words == line || strings.HasPrefix(line, words+" "))
}
