package cursor

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// commands are entries without the keyword: terminalAllowlist takes them bare,
// cli.json as Shell(…).
type commands struct{ allow, deny []string }

// everyCommand denies the shell whole.
var everyCommand = []string{"*"}

// commands returns the entries for commands. The engine splits a line and compares each
// simple command; what is not listed is asked about.
func (e *emitter) commands(p *profile) commands {
	if p.most(ir.Command) == ir.Deny || e.closed(p, ir.Command) {
		return commands{deny: everyCommand}
	}
	rules := p.subject.Rules(ir.Command)
	c := commands{allow: e.allow(p, rules)}
	for _, r := range rules {
		if entry, ok := e.deny(p, r.Pattern); ok && r.Decision == ir.Deny {
			c.deny = append(c.deny, entry)
		}
	}
	return c
}

// allow returns the commands that run without approval.
func (e *emitter) allow(p *profile, rules []ir.Rule) []string {
	var out []string
	var held []ir.Pattern
	whole, at := p.byDefault(ir.Command) == ir.Allow, p.subject.Default(ir.Command).Pos
	for _, r := range rules {
		switch {
		case r.Decision != ir.Allow:
			held = append(held, r.Pattern)
		case everything(r.Pattern):
			whole, at = true, r.Pos
		}
	}
	switch {
	case whole && len(held) == 0:
		return []string{"*"}
	case whole:
		e.loss(p, ir.Command, codeApproval, at,
			"no entry means every command but some: Cursor asks about every command that no other rule allows").
			Hint("list what runs without asking as prefixes (\"npm test *\")")
	}
	for _, r := range rules {
		if r.Decision != ir.Allow || everything(r.Pattern) {
			continue
		}
		entry, ok := allowEntry(r.Pattern)
		switch {
		case !ok:
			loss := e.loss(p, ir.Command, codeApproval, r.Pos,
				"no entry means what the source means by %s: Cursor asks about it", r.Pattern).
				Hint(asEntry(r.Pattern))
			if r.Pattern.Kind == ir.Builtin && slices.ContainsFunc(rules, isEntry) {
				loss.Needless()
			}
		case overlaps(entry, held, p.notAllowed) != "":
			e.loss(p, ir.Command, codeApproval, r.Pos,
				"an entry for %s would also approve what another rule does not allow: Cursor asks about it", r.Pattern).
				Hint("allow longer prefixes")
		default:
			out = append(out, entry)
		}
	}
	return out
}

// everything reports whether a pattern matches every command.
func everything(p ir.Pattern) bool { return p.Kind == ir.Plain && strings.Trim(p.Text, "* ") == "" }

// startOf returns what every command that a pattern matches starts with; "" for a
// built-in set, whose commands may start with anything.
func startOf(p ir.Pattern) string {
	if p.Kind != ir.Plain {
		return ""
	}
	start, _, _ := strings.Cut(p.Text, "*")
	return strings.TrimRight(start, " :")
}

// overlaps returns what an entry approves and another rule decides: the pattern of that, or the line; "" for nothing.
// The starts of those patterns are tried behind the entry. A wildcard stands for anything, so that one which comes
// before the entry's end can match what goes on from there.
func overlaps(entry string, held []ir.Pattern, decides func(line string) bool) string {
	words := strings.Replace(entry, ":", " ", 1)
	probes := []string{words}
	if words == entry { // a prefix, behind which anything may come
		probes = append(probes, words+" modec-probe")
		for _, pattern := range held {
			s := startOf(pattern)
			before, _, open := strings.Cut(pattern.Text, "*")
			if s == "" || s == words || strings.HasPrefix(s, words+" ") ||
				open && strings.HasPrefix(words+" ", before) {
				return pattern.String()
			}
			probes = append(probes, words+" "+s)
		}
	}
	if i := slices.IndexFunc(probes, decides); i >= 0 {
		return strconv.Quote(probes[i])
	}
	return ""
}

// notAllowed reports whether the source asks about a line or denies it.
func (p *profile) notAllowed(line string) bool {
	return decided(p.text.Decide(policy.Action{Group: ir.Command, Arg: line})) != ir.Allow
}

// asks reports whether the source asks about a line.
func (p *profile) asks(line string) bool {
	return p.text.Decide(policy.Action{Group: ir.Command, Arg: line}).Decision == ir.Ask
}

// plainWords matches words that both matchers, the IDE's list and a shell read as they
// stand.
var plainWords = regexp.MustCompile(`\A[\w./=,-]+( [\w./=,-]+)*\z`)

// plain reports whether a text is plain words that start with a program.
func plain(s string) bool {
	return plainWords.MatchString(s) && !strings.HasPrefix(s, "./") && !strings.HasPrefix(s, "-")
}

// split reads a command pattern that is words, or words and whatever follows.
func split(p ir.Pattern) (words string, open, ok bool) {
	if p.Kind != ir.Plain {
		return "", false, false
	}
	words = strings.TrimSpace(p.Text)
	for _, end := range []string{" *", ":*"} {
		if w, found := strings.CutSuffix(words, end); found {
			words = strings.TrimSpace(w)
			return words, true, plain(words)
		}
	}
	return words, false, plain(words)
}

// allowEntry returns "git log *" as `git log` and "npm ci" as `npm:ci`, which
// matches nothing longer. A single word alone has no exact form.
func allowEntry(p ir.Pattern) (string, bool) {
	words, open, ok := split(p)
	switch first, rest, more := strings.Cut(words, " "); {
	case !ok:
		return "", false
	case open:
		return words, true
	default:
		return first + ":" + rest, more
	}
}

// isEntry reports whether a rule allows commands that an entry can name.
func isEntry(r ir.Rule) bool {
	_, ok := allowEntry(r.Pattern)
	return ok && r.Decision == ir.Allow
}

// asEntry returns how to write a pattern that is not an entry as it stands.
func asEntry(p ir.Pattern) string {
	words, _, ok := split(p)
	switch {
	case p.Kind == ir.Builtin:
		return policy.SetHint
	case ok: // a single word
		return fmt.Sprintf("write %q if it may have arguments: Cursor has no entry for a program alone", words+" *")
	}
	return `write its words without quotes and wildcards, with " *" behind them where anything may follow`
}

// deny returns an entry that matches at least what a denied pattern matches. A single word
// alone is written as a prefix where nothing else is permitted behind it, or where hooks
// are off.
func (e *emitter) deny(p *profile, pattern ir.Pattern) (string, bool) {
	words, open, ok := split(pattern)
	switch first, rest, more := strings.Cut(words, " "); {
	case !ok:
		return "", false
	case open:
		return words, true
	case more:
		return first + ":" + rest, true
	default:
		longer := policy.Action{Group: ir.Command, Arg: words + " modec-probe"}
		return words, !e.in.Hooked() || decided(p.subject.Decide(longer)) == ir.Deny
	}
}
