package cursor

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// tokens is a list of cli.json.
type tokens []string

// add appends KEYWORD(ENTRY) for each entry that is not there.
func (t *tokens) add(keyword string, entries []string) {
	for _, e := range entries {
		if token := keyword + "(" + e + ")"; !slices.Contains(*t, token) {
			*t = append(*t, token)
		}
	}
}

// tokens are the CLI's permissions; a deny goes before an allow.
func (e *emitter) tokens(p *profile, c commands) contract.Object {
	hosts, noHosts := e.hosts(p)
	allow, deny := tokens{}, tokens{}
	allow.add("Mcp", e.allowed(p))
	deny.add("Mcp", e.denied(p))
	allow.add("Shell", c.allow)
	deny.add("Shell", c.deny)
	deny.add("Read", e.paths(p, ir.Read))
	deny.add("Write", e.paths(p, ir.Edit))
	allow.add("WebFetch", hosts)
	deny.add("WebFetch", noHosts)
	return contract.Object{"permissions", contract.Object{"allow", []string(allow), "deny", []string(deny)}}
}

// everyPath denies a group of paths whole, for picomatch too.
var everyPath = []string{"**", "**/.*", "**/.*/**"}

// paths writes the paths that a subject may not use: what is denied, and what is
// asked about, since the engine does not ask inside the workspace.
func (e *emitter) paths(p *profile, g ir.Group) []string {
	rules, def := p.subject.Rules(g), p.subject.Default(g)
	permits := def.Decision == ir.Allow
	var out []string
	unsaid, at := "", diag.Pos{}
	miss := func(pos diag.Pos, rule, what string) {
		p.hold(pos, rule)
		if unsaid == "" {
			unsaid, at = what, pos
		}
	}
	for _, r := range rules {
		if r.Decision == ir.Allow {
			permits = true
			continue
		}
		if r.Pattern.Kind == ir.All {
			return everyPath
		}
		globs, err := []string(nil), error(nil)
		if r.Pattern.Kind == ir.Plain {
			globs, err = policy.ExpandBraces(r.Pattern.Text)
		}
		if err != nil || len(globs) == 0 || e.guardOpened(p, g, r) {
			miss(r.Pos, r.Decision.String()+" "+r.Pattern.String(), r.Pattern.String())
			continue
		}
		for _, glob := range globs {
			out = append(out, pathTokens(glob, !e.hooks)...)
		}
	}
	if !permits {
		return everyPath
	}
	if def.Decision != ir.Allow {
		miss(def.Pos, "the default of "+string(g), "what is not listed")
	}
	if !e.hooks && unsaid != "" && e.closed(p, g, at, unsaid) {
		return everyPath
	}
	return out
}

// guardOpened reports whether a subject opens a path below a guard: a token for
// the guard would close it again.
func (e *emitter) guardOpened(p *profile, g ir.Group, r ir.Rule) bool {
	if g != ir.Edit || r.Pos.File != ir.GuardsFile {
		return false
	}
	can := e.can(p.ref)
	if can == nil || can.Edit == nil {
		return false
	}
	dir := strings.TrimSuffix(r.Pattern.Text, "**")
	for _, o := range can.Edit.Open {
		if o.Path == r.Pattern.Text || dir != r.Pattern.Text && strings.HasPrefix(o.Path, dir) {
			return true
		}
	}
	return false
}

func (e *emitter) can(ref ir.SubjectRef) *ir.Can {
	if ref.Role != "" {
		return &e.in.Project.Role(ref.Role).Can
	}
	return &e.in.Project.Mode(ref.Mode).Can
}

// pathTokens writes a glob without braces for a deny: everything that it
// matches and everything below that. sure also covers the engine's reading,
// which compares absolute paths, at the price of the same path in other folders.
func pathTokens(glob string, sure bool) []string {
	anchored := strings.Contains(strings.TrimSuffix(glob, "/"), "/")
	below := strings.HasSuffix(glob, "/**")
	glob = strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(glob, "**"), "/"), "/")
	switch glob {
	case "", "*", "**", "**/*":
		return everyPath
	}
	glob = stars(glob)
	bases := []string{"**/" + glob}
	if anchored {
		bases = []string{glob}
		if sure && !strings.HasPrefix(glob, "**/") {
			bases = append(bases, "**/"+glob)
		}
	}
	var out []string
	for _, b := range bases {
		if !below {
			out = append(out, b)
		}
		out = append(out, b+"/**")
		if sure {
			out = append(out, b+"/**/.*", b+"/**/.*/**")
		}
	}
	return out
}

// stars widens what only one of the matchers understands to `*`.
func stars(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		c := glob[i]
		switch {
		case c == '[':
			i += max(0, strings.IndexByte(glob[i:], ']'))
		case c == '\\':
			i++
		case !strings.ContainsRune(`?()!+@|$^"]{}`, rune(c)):
			b.WriteByte(c)
			continue
		}
		if !strings.HasSuffix(b.String(), "*") {
			b.WriteByte('*')
		}
	}
	return b.String()
}

// hosts writes hosts. A deny only keeps a host out of the allowlist, so that the
// lists hold approval; the hook refuses.
func (e *emitter) hosts(p *profile) (allow, deny []string) {
	rules, def := p.subject.Rules(ir.Web), p.subject.Default(ir.Web)
	decide := func(host string) ir.Decision {
		return p.subject.Decide(policy.Action{Group: ir.Web, Arg: host}).Decision
	}
	held := false // something is not allowed
	every := def.Decision == ir.Allow
	for _, r := range rules {
		if r.Decision == ir.Allow {
			every = every || r.Pattern.Text == "*"
			continue
		}
		held = true
		if r.Decision != ir.Deny {
			continue
		}
		host, ok := hostPattern(r.Pattern)
		if apex, sub := strings.CutPrefix(host, "*."); !ok || sub && decide(apex) != ir.Deny {
			p.hold(r.Pos, "deny "+r.Pattern.String())
			continue
		}
		if host == "*" {
			return nil, []string{"*"}
		}
		deny = append(deny, host)
	}
	if every && !held {
		return []string{"*"}, nil
	}
	for _, r := range rules {
		host, ok := hostPattern(r.Pattern)
		if r.Decision != ir.Allow || !ok || host == "*" {
			continue
		}
		apex, sub := strings.CutPrefix(host, "*.")
		if decide(apex) == ir.Allow && !(sub && held) {
			allow = append(allow, host)
		}
	}
	return allow, deny
}

// hostPattern writes a host as Cursor compares it: lower case, ASCII.
func hostPattern(p ir.Pattern) (string, bool) {
	if p.Kind == ir.All || p.Text == "*" {
		return "*", true
	}
	bare, sub := strings.CutPrefix(p.Text, "*.")
	host, ok := policy.Host(bare)
	if sub {
		host = "*." + host
	}
	return host, ok && p.Kind == ir.Plain && !strings.ContainsAny(host, "/()")
}
