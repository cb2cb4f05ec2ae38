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
		t.addOwn([]string{string(keyword) + "(" + e + ")"})
	}
}

// addOwn appends tokens that are not there.
func (t *tokens) addOwn(list []string) {
	for _, token := range list {
		if !slices.Contains(*t, token) {
			*t = append(*t, token)
		}
	}
}

// tokens returns the CLI's permissions, nil where there are none; a deny goes before an
// allow. Cursor requires both lists (cursor.com/docs/cli/reference/configuration).
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
	ownAllow, ownDeny := e.own(p)
	allow.addOwn(ownAllow)
	deny.addOwn(ownDeny)
	if len(allow)+len(deny) == 0 {
		return nil
	}
	return permissions(allow, deny)
}

// permissions returns the content of cli.json.
func permissions(allow, deny []string) contract.Object {
	return contract.Object{"permissions", contract.Object{"allow", allow, "deny", deny}}
}

// everyPath denies a group of paths whole.
var everyPath = []string{"**"}

// paths returns the paths that a subject may not use: what is denied, and what is
// asked about, since the engine does not ask inside the workspace.
func (e *emitter) paths(p *profile, g ir.Group) []string {
	if p.most(g) < ir.Allow || e.closed(p, g) {
		return everyPath
	}
	var out []string
	for _, r := range p.subject.Rules(g) {
		if !refuses(r) {
			continue
		}
		for _, glob := range plainGlobs(r.Pattern) {
			out = append(out, p.pathTokens(glob)...)
		}
	}
	return out
}

// plainGlobs returns a pattern as globs without braces; none for an expression, and for one
// that begins above the project, which no token means.
func plainGlobs(p ir.Pattern) []string {
	if p.Kind != ir.Plain {
		return nil
	}
	globs, err := policy.ExpandBraces(p.Text)
	above := func(glob string) bool { return strings.HasPrefix(glob, "..") }
	if err != nil || slices.ContainsFunc(globs, above) {
		return nil
	}
	return globs
}

// pathTokens returns tokens for a denied glob without braces: they match everything that
// it matches and everything below that. The engine compares absolute paths: without a hook
// that is exact, a token for an anchored path also matches the same path in other folders.
func (p *profile) pathTokens(glob string) []string {
	anchored := strings.Contains(strings.TrimSuffix(glob, "/"), "/")
	below := strings.HasSuffix(glob, "/**")
	glob = strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(glob, "**"), "/"), "/")
	switch glob {
	case "", "*", "**", "**/*":
		return everyPath
	}
	glob = stars(glob)
	if !strings.HasPrefix(glob, "**/") && !(anchored && p.hooked) {
		glob = "**/" + glob
	}
	if below && p.hooked {
		return []string{glob + "/**"}
	}
	return []string{glob, glob + "/**"}
}

// stars replaces what only one of the matchers understands by `*`.
func stars(glob string) string {
	var b strings.Builder
	replaced := false // the last character
	for i := 0; i < len(glob); i++ {
		c := glob[i]
		if replaced && c == '*' {
			continue
		}
		replaced = false
		switch {
		case c == '[':
			i += max(0, strings.IndexByte(glob[i:], ']'))
		case c == '\\':
			i++
		case !strings.ContainsRune(`?()!+@|$^"]{}`, rune(c)):
			b.WriteByte(c)
			continue
		}
		if replaced = true; !strings.HasSuffix(b.String(), "*") {
			b.WriteByte('*')
		}
	}
	return b.String()
}

// hosts returns the entries for hosts. A deny only keeps a host out of the allowlist, so
// that the lists govern approval; the hook refuses.
func (e *emitter) hosts(p *profile) (allow, deny []string) {
	whole, at := p.byDefault(ir.Web) == ir.Allow, p.subject.Default(ir.Web).Pos
	restricted := false // something is not allowed
	for _, r := range p.subject.Rules(ir.Web) {
		host, ok := hostPattern(r.Pattern)
		apex, sub := strings.CutPrefix(host, "*.") // Cursor's *.host is also the host
		switch {
		case r.Decision == ir.Allow && host == "*":
			whole, at = true, r.Pos
		case r.Decision == ir.Allow:
		case r.Decision == ir.Deny && host == "*":
			return nil, []string{"*"}
		case r.Decision == ir.Deny && ok && !(sub && decideHost(p, apex) != ir.Deny):
			deny = append(deny, host)
		}
		restricted = restricted || r.Decision != ir.Allow
	}
	if whole && !restricted {
		return []string{"*"}, nil
	}
	if whole {
		e.loss(p, ir.Web, codeApproval, at,
			"no entry means every host but some: Cursor asks about every host that no other rule allows").
			Hint("list the hosts, or allow \"*\" and deny none")
	}
	for _, r := range p.subject.Rules(ir.Web) {
		host, ok := hostPattern(r.Pattern)
		if r.Decision != ir.Allow || !ok || host == "*" {
			continue
		}
		apex, sub := strings.CutPrefix(host, "*.")
		if decideHost(p, apex) == ir.Allow && !(sub && restricted) {
			allow = append(allow, host)
		}
	}
	return allow, deny
}

func decideHost(p *profile, host string) ir.Decision {
	return decided(p.subject.Decide(policy.Action{Group: ir.Web, Arg: host}))
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
