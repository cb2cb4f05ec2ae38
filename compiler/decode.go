package compiler

import (
	"fmt"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// decodeCan turns a checked `can` into its own rules: a bare deny becomes a
// rule that matches everything, a bare ask or allow a default. Patterns are
// checked here, where their places are known.
func (r *resolver) decodeCan(n *node, path string) ir.Can {
	var c ir.Can
	if n == nil {
		return c
	}
	c.Default = decodeDefault(n.get("default"))
	c.Unknown = decodeDefault(n.get("unknown"))
	if o := n.get("outside"); o != nil {
		if o.kind == structKind {
			c.OutsideRead, c.OutsideEdit = decodeDefault(o.get("read")), decodeDefault(o.get("edit"))
		} else {
			c.OutsideRead, c.OutsideEdit = decodeDefault(o), decodeDefault(o)
		}
	}
	path += ".can."
	c.Read = r.decodeTable(n.get("read"), path+"read", r.filePattern)
	c.Edit = r.decodeTable(n.get("edit"), path+"edit", r.filePattern)
	c.Command = r.decodeTable(n.get("command"), path+"command", r.commandPattern)
	c.Web = r.decodeTable(n.get("web"), path+"web", r.plain(diag.BadHost, policy.CheckHost))
	if b := n.get("browser"); b != nil {
		alias := r.decodeTable(b, path+"browser", r.plain(diag.BadHost, policy.CheckHost))
		if c.Web != nil {
			r.diags.Errorf(diag.Conflict, b.pos, "got browser beside web, which is its name now, want one of them").
				Path(path + "browser")
		}
		c.Web = alias
	}
	c.Modes = r.decodeTable(n.get("modes"), path+"modes", r.slugPattern)
	if e := n.get("edit"); e != nil && c.Edit != nil {
		for i, g := range elems(e.get("guarded")) {
			if err := policy.CheckPath(g.text); err != nil {
				r.diags.Errorf(diag.BadPath, g.pos, "%v", err).Path(fmt.Sprintf("%sedit.guarded[%d]", path, i))
			}
			c.Edit.Open = append(c.Edit.Open, ir.OpenPath{Path: g.text, Pos: g.pos})
		}
	}
	c.MCP = r.decodeMCP(n.get("mcp"), path+"mcp")
	return c
}

func elems(n *node) []*node {
	if n == nil {
		return nil
	}
	return n.elems
}

func decision(s string) ir.Decision {
	var d ir.Decision
	if d.UnmarshalText([]byte(s)) != nil {
		return ir.Deny
	}
	return d
}

func decodeDefault(n *node) *ir.Default {
	if n == nil {
		return nil
	}
	return &ir.Default{Decision: decision(n.text), Pos: n.pos}
}

// bare decodes a decision that stands for a whole table.
func bare(n *node) (*ir.Default, []ir.Rule) {
	if decision(n.text) == ir.Deny {
		return nil, []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: n.pos}}
	}
	return decodeDefault(n), nil
}

type patternReader func(n *node, path string) (ir.Pattern, bool)

var lists = []struct {
	name     string
	decision ir.Decision
}{{"deny", ir.Deny}, {"ask", ir.Ask}, {"allow", ir.Allow}}

func (r *resolver) decodeTable(n *node, path string, pattern patternReader) *ir.Table {
	if n == nil {
		return nil
	}
	t := &ir.Table{}
	if n.kind != structKind {
		t.Default, t.Rules = bare(n)
		return t
	}
	t.Default = decodeDefault(n.get("default"))
	t.Rules = r.decodeRules(n, path, pattern)
	return t
}

func (r *resolver) decodeRules(n *node, path string, pattern patternReader) []ir.Rule {
	var rules []ir.Rule
	for _, l := range lists {
		for i, e := range elems(n.get(l.name)) {
			if p, ok := pattern(e, fmt.Sprintf("%s.%s[%d]", path, l.name, i)); ok {
				rules = append(rules, ir.Rule{Decision: l.decision, Pattern: p, Pos: e.pos})
			}
		}
	}
	return rules
}

func (r *resolver) filePattern(n *node, path string) (ir.Pattern, bool) {
	if n.kind == structKind {
		re := n.get("regex")
		if err := policy.CheckRegex(re.text); err != nil {
			r.diags.Errorf(diag.BadRegex, re.pos, "%v", err).Path(path + ".regex")
			return ir.Pattern{}, false
		}
		return ir.Pattern{Kind: ir.Regex, Text: re.text}, true
	}
	return r.plain(diag.BadGlob, policy.CheckGlob)(n, path)
}

func (r *resolver) commandPattern(n *node, path string) (ir.Pattern, bool) {
	if name, ok := strings.CutPrefix(n.text, "@"); ok {
		if err := policy.CheckBuiltin(name); err != nil {
			r.diags.Errorf(diag.BadCommand, n.pos, "%v", err).Path(path)
			return ir.Pattern{}, false
		}
		return ir.Pattern{Kind: ir.Builtin, Text: name}, true
	}
	return r.plain(diag.BadCommand, policy.CheckCommand)(n, path)
}

func (r *resolver) slugPattern(n *node, path string) (ir.Pattern, bool) {
	p, ok := r.plain(diag.BadSlug, policy.CheckSlug)(n, path)
	if ok && n.text != "*" {
		r.modeRef(n, path)
	}
	return p, ok
}

func (r *resolver) toolPattern(n *node, path string) (ir.Pattern, bool) {
	if name, ok := strings.CutPrefix(n.text, "@"); ok {
		if err := policy.CheckRisk(name); err != nil {
			r.diags.Errorf(diag.BadToolPattern, n.pos, "%v", err).Path(path)
			return ir.Pattern{}, false
		}
		return ir.Pattern{Kind: ir.Risk, Text: name}, true
	}
	return r.plain(diag.BadToolPattern, policy.CheckToolGlob)(n, path)
}

func (r *resolver) plain(code diag.Code, check func(string) error) patternReader {
	return func(n *node, path string) (ir.Pattern, bool) {
		if err := check(n.text); err != nil {
			r.diags.Errorf(code, n.pos, "%v", err).Path(path)
			return ir.Pattern{}, false
		}
		return ir.Pattern{Text: n.text}, true
	}
}

func (r *resolver) decodeMCP(n *node, path string) *ir.MCPTable {
	if n == nil {
		return nil
	}
	t := &ir.MCPTable{}
	if n.kind != structKind {
		t.Default, t.Rules = bare(n)
		return t
	}
	t.Default = decodeDefault(n.get("default"))
	for _, f := range n.fields {
		if f.name == "default" {
			continue
		}
		at := path + "." + label(f.name)
		e := ir.MCPEntry{Key: f.name, Literal: !strings.ContainsAny(f.name, "*?"), Pos: f.pos}
		r.serverRef(f.name, f.pos, at)
		if f.node.kind != structKind {
			e.Default, e.Rules = bare(f.node)
		} else {
			e.Default = decodeDefault(f.node.get("default"))
			e.Rules = r.decodeRules(f.node, at, r.toolPattern)
			e.Resources, e.Prompts = decodeDefault(f.node.get("resources")), decodeDefault(f.node.get("prompts"))
			r.toolRefs(e, f.node, at)
		}
		t.Entries = append(t.Entries, e)
	}
	sortEntries(t.Entries)
	return t
}

func text(n *node) string {
	if n == nil {
		return ""
	}
	return n.text
}

func texts(n *node) []string {
	if n == nil {
		return nil
	}
	out := []string{}
	for _, e := range n.elems {
		out = append(out, e.text)
	}
	return out
}

func textMap(n *node) map[string]string {
	if n == nil {
		return nil
	}
	m := map[string]string{}
	for _, f := range n.fields {
		m[f.name] = f.node.text
	}
	return m
}

// plainValue turns a node into what encoding/json would give.
func plainValue(n *node) any {
	switch n.kind {
	case structKind:
		m := map[string]any{}
		for _, f := range n.fields {
			m[f.name] = plainValue(f.node)
		}
		return m
	case listKind:
		l := []any{}
		for _, e := range n.elems {
			l = append(l, plainValue(e))
		}
		return l
	case intKind, floatKind:
		f, err := strconv.ParseFloat(n.text, 64)
		if err != nil {
			return n.text
		}
		return f
	case boolKind:
		return n.text == "true"
	case nullKind:
		return nil
	}
	return n.text
}

func decodeExtra(n *node) map[string]ir.Extra {
	if n == nil {
		return nil
	}
	m := map[string]ir.Extra{}
	for _, f := range n.fields {
		fields, _ := plainValue(f.node).(map[string]any)
		m[f.name] = ir.Extra{Fields: fields, Pos: f.pos}
	}
	return m
}

func decodeRestrictions(n *node) *ir.MCPRestrictions {
	if n == nil {
		return nil
	}
	items := func(n *node) *[]ir.Item {
		if n == nil {
			return nil
		}
		l := []ir.Item{}
		for _, e := range n.elems {
			l = append(l, ir.Item{Name: e.text, Pos: e.pos})
		}
		return &l
	}
	tools := func(n *node) *[]ir.ToolRef {
		if n == nil {
			return nil
		}
		l := []ir.ToolRef{}
		for _, e := range n.elems {
			l = append(l, ir.ToolRef{Server: text(e.get("serverName")), Tool: text(e.get("toolName")), Pos: e.pos})
		}
		return &l
	}
	return &ir.MCPRestrictions{AllowedServers: items(n.get("allowedServers")), DisallowedServers: items(n.get("disallowedServers")),
		AllowedTools: tools(n.get("allowedTools")), DisallowedTools: tools(n.get("disallowedTools")), Pos: n.pos}
}

// conflicts reports entries that a restriction both allows and disallows.
func (r *resolver) conflicts(m *ir.MCPRestrictions, path string) {
	if m == nil {
		return
	}
	if m.AllowedServers != nil && m.DisallowedServers != nil {
		for _, d := range *m.DisallowedServers {
			for _, a := range *m.AllowedServers {
				if a.Name == d.Name {
					r.conflict(d.Pos, a.Pos, path, fmt.Sprintf("server %q", d.Name))
				}
			}
		}
	}
	if m.AllowedTools != nil && m.DisallowedTools != nil {
		for _, d := range *m.DisallowedTools {
			for _, a := range *m.AllowedTools {
				if a.Server == d.Server && a.Tool == d.Tool {
					r.conflict(d.Pos, a.Pos, path, fmt.Sprintf("tool %q", d.Server+":"+d.Tool))
				}
			}
		}
	}
}

func (r *resolver) conflict(at, other diag.Pos, path, what string) {
	r.diags.Errorf(diag.ConflictingRestrictions, at, "got %s both allowed and disallowed, want it on one side", what).
		Path(path).
		Related(other, "allowed here")
}
