package model

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/roo/format"
)

// openServers reads the project's MCP servers from the first of the files that is there.
func (d *decider) openServers(fsys fs.FS) (diags diag.List) {
	file, data, err := firstFile(fsys, d.dialect.Layout().Servers)
	d.mcpAt = diag.Pos{File: file}
	if err != nil {
		return nil
	}
	list, err := format.ReadServers(file, data, d.dialect)
	if err != nil {
		d.mcpAt = format.PlaceOf(file, err)
		why := fmt.Sprintf("the agent loads no server of this file: %s", err)
		diags.Warnf(codeArtifact, d.mcpAt, "%s", why)
		d.mcpLack = &contract.Lack{Why: why, At: d.mcpAt}
	}
	d.servers = map[string]format.Server{}
	for _, s := range list {
		d.servers[s.Name] = s
	}
	return diags
}

// Lists returns the file of those below fsys from which the agent starts servers.
func Lists(fsys fs.FS, dialect format.Dialect) []string {
	file, _, err := firstFile(fsys, dialect.Layout().Servers)
	if err != nil {
		return nil
	}
	return []string{file}
}

// restrictions are the mode key mcpRestrictions of the restriction plan. The zero value
// restricts nothing. The plan and its code at 44b5651a (src/shared/modes.ts,
// isServerAllowedForMode, isToolAllowedForModeAndServer) differ in three places; what either
// permits is permitted here:
//
//   - a server that is off by default is opened by allowedServers, and after
//     the plan also by an entry of allowedTools;
//   - allowedTools without an entry limits nothing in the code;
//   - a pattern with a wildcard ignores case in a later state of the code,
//     which makes an allow wider and leaves a disallow as it is.
type restrictions struct {
	at                                diag.Pos
	allowedServers, disallowedServers []pattern
	listed                            bool // allowedServers is there
	allowedTools, disallowedTools     []toolPattern
}

type toolPattern struct{ server, tool pattern }

func newRestrictions(f *format.MCPRestrictions) restrictions {
	if f == nil {
		return restrictions{}
	}
	return restrictions{
		at:                f.At,
		allowedServers:    patterns(f.AllowedServers),
		disallowedServers: patterns(f.DisallowedServers),
		listed:            f.AllowedServers != nil,
		allowedTools:      toolPatterns(f.AllowedTools),
		disallowedTools:   toolPatterns(f.DisallowedTools),
	}
}

func patterns(names []format.Name) []pattern {
	var out []pattern
	for _, n := range names {
		out = append(out, newPattern(n))
	}
	return out
}

func toolPatterns(tools []format.Tool) []toolPattern {
	var out []toolPattern
	for _, t := range tools {
		out = append(out, toolPattern{newPattern(t.Server), newPattern(t.Tool)})
	}
	return out
}

// pattern is a name, or a pattern with * and ?.
type pattern struct {
	format.Name
	exact, anyCase *regex // nil: compared as text
}

func newPattern(n format.Name) pattern {
	p := pattern{Name: n}
	if !strings.ContainsAny(n.Text, "*?") {
		return p
	}
	var b strings.Builder
	for _, r := range n.Text {
		switch r {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		case '.', '+', '^', '$', '{', '}', '(', ')', '|', '[', ']', '\\':
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	// Of such a text both are expressions; if not, the pattern matches nothing.
	p.exact, _ = compiled("^"+b.String()+"$", ecma.Options{})
	p.anyCase, _ = compiled("^"+b.String()+"$", ecma.Options{IgnoreCase: true})
	return p
}

func (p pattern) allows(name string) bool {
	return p.Text == name || p.anyCase != nil && p.anyCase.test(name)
}

func (p pattern) disallows(name string) bool {
	return p.Text == name || p.exact != nil && p.exact.test(name)
}

// server returns what hides a server. off is the place where its default is off.
func (r restrictions) server(name string, off *located.Value) (hider, bool) {
	for _, p := range r.disallowedServers {
		if p.disallows(name) {
			return hider{"disallowedServers: " + p.Text, p.At}, true
		}
	}
	if slices.ContainsFunc(r.allowedServers, func(p pattern) bool { return p.allows(name) }) {
		return hider{}, false
	}
	if r.listed {
		return hider{"allowedServers", r.at}, true
	}
	byTool := func(p toolPattern) bool { return p.server.allows(name) }
	if off == nil || slices.ContainsFunc(r.allowedTools, byTool) {
		return hider{}, false
	}
	return hider{"defaultEnabled: false", off.Pos}, true
}

// tool returns what hides a tool of a visible server.
func (r restrictions) tool(server, tool string) (hider, bool) {
	for _, p := range r.disallowedTools {
		if p.server.disallows(server) && p.tool.disallows(tool) {
			return hider{"disallowedTools: " + p.server.Text + ":" + p.tool.Text, p.server.At}, true
		}
	}
	allowed := func(p toolPattern) bool { return p.server.allows(server) && p.tool.allows(tool) }
	if len(r.allowedTools) == 0 || slices.ContainsFunc(r.allowedTools, allowed) {
		return hider{}, false
	}
	return hider{"allowedTools", r.at}, true
}
