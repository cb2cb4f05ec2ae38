package cursor

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// tokens are a list of cli.json.
type tokens []string

// add appends KEYWORD(ENTRY) for each entry that is not there.
func (t *tokens) add(keyword format.Keyword, entries []string) {
	for _, e := range entries {
		if token := string(keyword) + "(" + e + ")"; !slices.Contains(*t, token) {
			*t = append(*t, token)
		}
	}
}

// tokens returns the CLI's permissions; a deny goes before an allow.
func (e *emitter) tokens(p *profile, c commands) contract.Object {
	hosts, noHosts := e.hosts(p)
	allow, deny := tokens{}, tokens{}
	allow.add(format.MCP, e.allowed(p))
	deny.add(format.MCP, e.denied(p))
	allow.add(format.Shell, c.allow)
	deny.add(format.Shell, c.deny)
	deny.add(format.Read, e.paths(p, ir.Read))
	deny.add(format.Write, e.paths(p, ir.Edit))
	allow.add(format.WebFetch, hosts)
	deny.add(format.WebFetch, noHosts)
	return contract.Object{"permissions", contract.Object{"allow", []string(allow), "deny", []string(deny)}}
}

// everyPath denies a group of paths whole, for picomatch too.
var everyPath = []string{"**", "**/.*", "**/.*/**"}

// paths returns the paths that a subject may not use: what is denied, and what is
// asked about, since the engine does not ask inside the workspace.
func (e *emitter) paths(p *profile, g ir.Group) []string {
	def := p.subject.Default(g)
	permits := def.Decision == ir.Allow
	var out []string
	missing := unsaid{p: p}
	for _, r := range p.subject.Rules(g) {
		switch {
		case r.Decision == ir.Allow:
			permits = true
			continue
		case r.Pattern.Kind == ir.All:
			return everyPath
		}
		globs := plainGlobs(r.Pattern)
		if len(globs) == 0 || e.guardOpened(p, g, r) {
			missing.rule(r)
			continue
		}
		for _, glob := range globs {
			out = append(out, e.pathTokens(glob)...)
		}
	}
	if !permits {
		return everyPath
	}
	if def.Decision != ir.Allow {
		missing.defaultOf(g, def.Pos)
	}
	if !e.hooks && missing.what != "" && e.closed(p, g, missing.at, missing.what) {
		return everyPath
	}
	return out
}

// plainGlobs returns a pattern as globs without braces; none for an expression.
func plainGlobs(p ir.Pattern) []string {
	if p.Kind != ir.Plain {
		return nil
	}
	globs, err := policy.ExpandBraces(p.Text)
	if err != nil {
		return nil
	}
	return globs
}

// guardOpened reports whether a rule is a guard below which the subject opens a path: a
// token for the guard would close it again.
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

// pathTokens returns tokens for a denied glob without braces: they match everything that
// it matches and everything below that. Without hooks they also cover the engine's
// reading, which compares absolute paths, at the price of the same path in other folders.
func (e *emitter) pathTokens(glob string) []string {
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
		if !e.hooks && !strings.HasPrefix(glob, "**/") {
			bases = append(bases, "**/"+glob)
		}
	}
	var out []string
	for _, b := range bases {
		if !below {
			out = append(out, b)
		}
		out = append(out, b+"/**")
		if !e.hooks {
			out = append(out, b+"/**/.*", b+"/**/.*/**")
		}
	}
	return out
}

// stars replaces what only one of the matchers understands by `*`.
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

// hosts returns the entries for hosts. A deny only keeps a host out of the allowlist, so
// that the lists govern approval; the hook refuses.
func (e *emitter) hosts(p *profile) (allow, deny []string) {
	rules := p.subject.Rules(ir.Web)
	deny = deniedHosts(p, rules)
	if slices.Contains(deny, "*") {
		return nil, []string{"*"}
	}
	every := p.subject.Default(ir.Web).Decision == ir.Allow
	held := false // something is not allowed
	for _, r := range rules {
		if r.Decision == ir.Allow {
			every = every || r.Pattern.Text == "*"
		} else {
			held = true
		}
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
		if decideHost(p, apex) == ir.Allow && !(sub && held) {
			allow = append(allow, host)
		}
	}
	return allow, deny
}

// deniedHosts returns the denied hosts up to one that denies every host.
func deniedHosts(p *profile, rules []ir.Rule) (deny []string) {
	missing := unsaid{p: p}
	for _, r := range rules {
		if r.Decision != ir.Deny {
			continue
		}
		host, ok := hostPattern(r.Pattern)
		if apex, sub := strings.CutPrefix(host, "*."); !ok || sub && decideHost(p, apex) != ir.Deny {
			missing.rule(r)
			continue
		}
		if deny = append(deny, host); host == "*" {
			return deny
		}
	}
	return deny
}

func decideHost(p *profile, host string) ir.Decision {
	return p.subject.Decide(policy.Action{Group: ir.Web, Arg: host}).Decision
}

// hostPattern returns a host as Cursor compares it: lower case, ASCII.
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
