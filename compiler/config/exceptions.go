package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Exceptions returns the [[exceptions]] of modec.toml by the name of their target. An
// unknown subject, an action that cannot be read and an exception past its last day are
// errors: a widening that nobody stands behind any more must not go on silently.
func (c *Config) Exceptions(p *ir.Project, today time.Time) (map[string][]contract.Exception, diag.List) {
	var diags diag.List
	out := map[string][]contract.Exception{}
	for _, raw := range c.exceptions {
		ref, err := p.ParseSubject(raw.subject, "")
		if err != nil {
			diags.Errorf(diag.UnknownSubject, raw.at["subject"], "%v", err).Path("exceptions.subject")
			continue
		}
		e := contract.Exception{Subject: ref, Reason: raw.reason, Until: raw.until, Pos: raw.pos}
		if e.Group, e.Server, e.Pattern, err = parseWhat(raw.what, p); err != nil {
			diags.Errorf(diag.BadException, raw.at["what"], "%v", err).Path("exceptions.what")
			continue
		}
		if today.After(raw.until.AddDate(0, 0, 1)) {
			diags.Errorf(diag.ExceptionExpired, raw.at["until"],
				"the exception ended on %s", raw.until.Format(time.DateOnly)).
				Path("exceptions.until").
				Hint("remove it, or have somebody decide again and move the date")
			continue
		}
		out[raw.target] = append(out[raw.target], e)
	}
	return out, diags
}

// parseWhat reads what an exception concerns: "mcp", "mcp github",
// "mcp github:create_issue", "command git push *".
func parseWhat(what string, p *ir.Project) (g ir.Group, server, pattern string, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(what), " ")
	g, rest = ir.Group(word), strings.TrimSpace(rest)
	if !slices.Contains(ir.Groups, g) {
		return g, "", "", fmt.Errorf("got tool group %q, want one of %s", word, diag.Quote(groupNames()))
	}
	if g != ir.MCP || rest == "" {
		return g, "", rest, nil
	}
	server, pattern, named := strings.Cut(rest, ":")
	if !named {
		pattern = "*"
	}
	s := p.Server(server)
	if s == nil {
		return g, "", "", fmt.Errorf("got unknown server %q, want one of the inventory", server)
	}
	if pattern != "*" && s.Tool(pattern) == nil {
		return g, "", "", fmt.Errorf("got unknown tool %q of server %q, want one of the inventory or \"*\"",
			pattern, server)
	}
	return g, server, pattern, nil
}
