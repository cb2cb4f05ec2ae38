package cursor

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
)

// tokens are the two lists of cli.json.
type tokens struct{ allow, deny []string }

func (t *tokens) add(d ir.Decision, token string) {
	list := &t.allow
	if d == ir.Deny {
		list = &t.deny
	}
	if !slices.Contains(*list, token) {
		*list = append(*list, token)
	}
}

// cli writes the CLI's permissions: strict JSON, deny before allow, the rest is
// asked.
func (e *emitter) cli(p *profile) []byte {
	t := &tokens{}
	for _, entry := range e.entries(p, ir.Allow) {
		t.add(ir.Allow, "Mcp("+entry+")")
	}
	for _, entry := range e.entries(p, ir.Deny) {
		t.add(ir.Deny, "Mcp("+entry+")")
	}
	e.shell(p, t)
	e.files(p, t, ir.Read, "Read")
	e.files(p, t, ir.Edit, "Write")
	e.web(p, t)
	return target.JSON(target.Object{"permissions", target.Object{"allow", orEmpty(t.allow), "deny", orEmpty(t.deny)}})
}

// prefix returns the words that a command pattern starts with, where the
// pattern is those words and whatever follows: "git log *" and "git log:*".
// exact says that nothing may follow.
func prefix(pattern string) (words string, exact, ok bool) {
	words = pattern
	switch {
	case strings.HasSuffix(words, " *"):
		words = strings.TrimSuffix(words, " *")
	case strings.HasSuffix(words, ":*"):
		words = strings.TrimSuffix(words, ":*")
	default:
		exact = true
	}
	return words, exact, words != "" && literal(words)
}

// shell writes commands. A token matches its words and whatever follows them,
// so that an exact pattern is written for a deny only. An allow needs the hook
// beside it, and no deny or ask below its words that a token cannot say.
func (e *emitter) shell(p *profile, t *tokens) {
	var held []string // the starts of what must not be approved by a prefix
	rules := p.subject.Rules(ir.Command)
	if d := p.subject.Default(ir.Command); d.Decision == ir.Deny && e.unheld(p, t, d.Pos, ir.Command, "Shell(**)", "no token denies what is not listed") {
		return
	}
	for _, r := range rules {
		switch {
		case r.Decision == ir.Allow:
		case r.Pattern.Kind == ir.All && r.Decision == ir.Deny:
			t.add(ir.Deny, "Shell(**)")
			return
		default:
			words, _, ok := prefix(r.Pattern.Text)
			if ok && r.Decision == ir.Deny {
				t.add(ir.Deny, "Shell("+words+")")
				continue
			}
			if r.Decision == ir.Deny && e.unheld(p, t, r.Pos, ir.Command, "Shell(**)", fmt.Sprintf("no token is sure to match %s", r.Pattern)) {
				return
			}
			start, _, _ := strings.Cut(r.Pattern.Text, "*")
			held = append(held, strings.TrimSpace(start))
		}
	}
	if !e.hooks {
		return
	}
	for _, r := range rules {
		words, exact, ok := prefix(r.Pattern.Text)
		if r.Decision != ir.Allow || r.Pattern.Kind != ir.Plain || exact || !ok || slices.ContainsFunc(held, func(h string) bool {
			return strings.HasPrefix(h, words) || strings.HasPrefix(words, h)
		}) {
			continue
		}
		t.add(ir.Allow, "Shell("+words+")")
	}
}

// unheld denies a whole group where the hooks, which could refuse a part of it,
// are off: the CLI would ask about what the source denies.
func (e *emitter) unheld(p *profile, t *tokens, at diag.Pos, g ir.Group, token, why string) bool {
	if e.hooks {
		return false
	}
	e.loss(p, at, g, "cursor-deny", why+": the subject loses the group "+string(g), "turn hooks on, or ask instead of denying")
	t.add(ir.Deny, token)
	return true
}

// files writes path globs. The CLI cannot be told to ask about a path, so that
// an allow is written only in a group without an ask, and without a deny that
// no token says.
func (e *emitter) files(p *profile, t *tokens, g ir.Group, token string) {
	def := p.subject.Default(g).Decision
	if def == ir.Deny && e.unheld(p, t, p.subject.Default(g).Pos, g, token+"(**)", "no token denies what is not listed") {
		return
	}
	if !e.hooks && p.subject.Outside(g).Decision == ir.Deny {
		for _, outside := range []string{"/**", "~/**", "../**"} { // beside the workspace's own, which are relative
			t.add(ir.Deny, token+"("+outside+")")
		}
	}
	safe := true
	var allow []string
	for _, r := range p.subject.Rules(g) {
		switch {
		case r.Pattern.Kind == ir.All && r.Decision == ir.Deny:
			t.add(ir.Deny, token+"(**)")
			return
		case r.Decision == ir.Ask:
			safe = false
		case r.Decision == ir.Deny && r.Pattern.Kind == ir.Plain:
			globs, err := policy.ExpandBraces(r.Pattern.Text)
			if err != nil {
				safe = false
				continue
			}
			for _, glob := range globs {
				for _, x := range denyGlobs(glob) {
					t.add(ir.Deny, token+"("+x+")")
				}
			}
		case r.Decision == ir.Deny:
			safe = false
			if e.unheld(p, t, r.Pos, g, token+"(**)", fmt.Sprintf("no token says the expression %s", r.Pattern)) {
				return
			}
		case r.Pattern.Kind == ir.Plain:
			if dir, ok := strings.CutSuffix(strings.TrimPrefix(r.Pattern.Text, "/"), "/**"); ok && literal(dir) && !strings.HasPrefix(dir, "~") {
				allow = append(allow, dir+"/**")
			}
		}
	}
	if !safe || !e.hooks {
		return
	}
	if def == ir.Allow {
		allow = []string{"**"}
	}
	for _, a := range allow {
		t.add(ir.Allow, token+"("+a+")")
	}
}

// denyGlobs writes a glob for picomatch, at least as wide: without "/" at any
// depth, and everything below what matches.
func denyGlobs(glob string) []string {
	below := strings.HasSuffix(glob, "/**")
	trimmed := strings.TrimSuffix(strings.TrimSuffix(glob, "**"), "/")
	anchored := strings.Contains(strings.TrimSuffix(glob, "/"), "/")
	if trimmed == "" {
		return []string{"**"}
	}
	trimmed = strings.TrimPrefix(trimmed, "/")
	if !anchored {
		trimmed = "**/" + trimmed
	}
	if below {
		return []string{trimmed + "/**"}
	}
	return []string{trimmed, trimmed + "/**"}
}

func (e *emitter) web(p *profile, t *tokens) {
	def := p.subject.Default(ir.Web).Decision
	if def == ir.Deny && e.unheld(p, t, p.subject.Default(ir.Web).Pos, ir.Web, "WebFetch(*)", "no token denies what is not listed") {
		return
	}
	asks := def == ir.Ask
	var allow []string
	for _, r := range p.subject.Rules(ir.Web) {
		switch {
		case r.Pattern.Kind == ir.All && r.Decision == ir.Deny:
			t.add(ir.Deny, "WebFetch(*)")
			return
		case r.Decision == ir.Deny:
			t.add(ir.Deny, "WebFetch("+r.Pattern.Text+")")
		case r.Decision == ir.Ask:
			asks = true
		default:
			allow = append(allow, r.Pattern.Text)
		}
	}
	for _, host := range allow {
		held := slices.ContainsFunc(p.subject.Rules(ir.Web), func(r ir.Rule) bool {
			return r.Decision == ir.Ask && (strings.HasPrefix(host, "*") || strings.HasPrefix(r.Pattern.Text, "*") || r.Pattern.Text == host)
		})
		if !held {
			t.add(ir.Allow, "WebFetch("+host+")")
		}
	}
	if def == ir.Allow && !asks {
		t.add(ir.Allow, "WebFetch(*)")
	}
}
