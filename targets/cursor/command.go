package cursor

import (
	"fmt"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// commands are entries without the keyword: terminalAllowlist takes them bare,
// cli.json as Shell(…).
type commands struct{ allow, deny []string }

// everyCommand denies the shell whole, for picomatch too: its `**` matches no
// name that starts with a dot.
var everyCommand = []string{"**", ".*", "**/.*", "**/.*/**", "./**", "../**"}

// commands writes what the source says of commands. The engine splits a line
// and compares each simple command; what is not listed is asked about.
func (e *emitter) commands(p *profile) commands {
	rules, def := p.subject.Rules(ir.Command), p.subject.Default(ir.Command)
	var c commands
	permits := def.Decision > ir.Deny
	unsaid, at := "", diag.Pos{} // the first deny without an entry
	for _, r := range rules {
		permits = permits || r.Decision > ir.Deny
		if r.Decision != ir.Deny {
			continue
		}
		if r.Pattern.Kind == ir.All {
			return commands{deny: everyCommand}
		}
		entry, ok := e.deny(p, r.Pattern)
		if ok {
			c.deny = append(c.deny, entry)
			continue
		}
		p.hold(r.Pos, r.Decision.String()+" "+r.Pattern.String())
		if unsaid == "" {
			unsaid, at = r.Pattern.String(), r.Pos
		}
	}
	if !permits {
		return commands{deny: everyCommand}
	}
	if def.Decision == ir.Deny {
		p.hold(def.Pos, "the default of command")
		if unsaid == "" {
			unsaid, at = "what is not listed", def.Pos
		}
	}
	if !e.hooks {
		if unsaid != "" && e.closed(p, ir.Command, at, unsaid) {
			return commands{deny: everyCommand}
		}
		e.unlisted(p)
		return c
	}
	c.allow = e.allow(p, rules, def)
	return c
}

// unlisted reports, once, that without hooks no command is allowed.
func (e *emitter) unlisted(p *profile) {
	def := p.subject.Default(ir.Command)
	at, some := def.Pos, def.Decision == ir.Allow
	for _, r := range p.subject.Rules(ir.Command) {
		if r.Decision == ir.Allow && !some {
			at, some = r.Pos, true
		}
	}
	if some {
		e.loss(p, at, ir.Command, codeApproval, "a listed command may write files of the workspace, and hooks are off: every command is asked about", "turn hooks on")
	}
}

// allow writes the commands that run without approval.
func (e *emitter) allow(p *profile, rules []ir.Rule, def policy.Result) []string {
	var out, starts []string
	whole, at := def.Decision == ir.Allow, def.Pos
	for _, r := range rules {
		if r.Decision != ir.Allow {
			start, _, _ := strings.Cut(r.Pattern.Text, "*")
			if r.Pattern.Kind != ir.Plain {
				start = "" // a built-in set: it may start with anything
			}
			starts = append(starts, strings.TrimRight(start, " :"))
		} else if r.Pattern.Kind == ir.Plain && strings.Trim(r.Pattern.Text, "* ") == "" {
			whole, at = true, r.Pos
		}
	}
	if whole {
		if len(starts) == 0 {
			return []string{"*", "**"}
		}
		e.loss(p, at, ir.Command, codeApproval, "no entry says every command but some: every command that no other rule allows is asked about", "list what runs without asking as prefixes (\"npm test *\")")
	}
	for _, r := range rules {
		if r.Decision != ir.Allow || strings.Trim(r.Pattern.Text, "* ") == "" && r.Pattern.Kind == ir.Plain {
			continue
		}
		entry, ok := allowEntry(r.Pattern)
		switch {
		case !ok:
			e.loss(p, r.Pos, ir.Command, codeApproval, fmt.Sprintf("no entry says %s as the source means it: it is asked about", r.Pattern), "write it as a prefix (\"npm test *\")")
		case e.overlaps(p, entry, starts):
			e.loss(p, r.Pos, ir.Command, codeApproval, fmt.Sprintf("an entry for %s would also approve what another rule holds back: it is asked about", r.Pattern), "allow longer prefixes")
		default:
			out = append(out, entry)
		}
	}
	return out
}

// overlaps reports whether an entry approves something that the source denies
// or asks about: the starts of those rules are tried behind it.
func (e *emitter) overlaps(p *profile, entry string, starts []string) bool {
	words := strings.Replace(entry, ":", " ", 1)
	probes := []string{words}
	if words == entry { // a prefix, behind which anything may come
		probes = append(probes, words+" modec-probe")
		for _, s := range starts {
			if s == "" || strings.HasPrefix(s, words+" ") || s == words {
				return true
			}
			probes = append(probes, words+" "+s, words+" -c '"+s+"'", words+" . -exec "+s+" x")
		}
	}
	for _, line := range probes {
		if p.subject.Decide(policy.Action{Group: ir.Command, Arg: line}).Decision != ir.Allow {
			return true
		}
	}
	return false
}

// plainWords reports whether a text is words that both matchers, the IDE's list
// and a shell read as they stand.
func plainWords(s string) bool {
	return s != "" && !strings.HasPrefix(s, "./") && !strings.HasPrefix(s, "-") && strings.Join(strings.Fields(s), " ") == s &&
		strings.IndexFunc(s, func(r rune) bool {
			return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_./=,- ", r))
		}) < 0
}

// split reads a command pattern that is words, or words and whatever follows.
func split(p ir.Pattern) (words string, open, ok bool) {
	if p.Kind != ir.Plain {
		return "", false, false
	}
	words = strings.TrimSpace(p.Text)
	for _, end := range []string{" *", ":*"} {
		if w, found := strings.CutSuffix(words, end); found {
			return strings.TrimSpace(w), true, plainWords(strings.TrimSpace(w))
		}
	}
	return words, false, plainWords(words)
}

// allowEntry writes "git log *" as `git log` and "npm ci" as `npm:ci`, which
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

// deny writes a deny as an entry that matches at least as much. A single word
// alone is written as a prefix where nothing else is permitted behind it, or
// where no hook holds it.
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
		return words, !e.hooks || p.subject.Decide(policy.Action{Group: ir.Command, Arg: words + " modec-probe"}).Decision == ir.Deny
	}
}
