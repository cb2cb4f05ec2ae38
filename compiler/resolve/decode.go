package resolve

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/source"
)

// decodeCan reads the rules of a `can`. A bare deny becomes a rule that matches everything, a
// bare ask or allow a default. It checks the patterns, because their places are known here.
func (r *resolver) decodeCan(n *source.Node, path string) ir.Can {
	var c ir.Can
	if n == nil {
		return c
	}
	c.Default = decodeDefault(n.Get("default"))
	c.Unknown = decodeDefault(n.Get("unknown"))
	if o := n.Get("outside"); o != nil {
		if o.Kind == source.Struct {
			c.OutsideRead, c.OutsideEdit = decodeDefault(o.Get("read")), decodeDefault(o.Get("edit"))
		} else {
			c.OutsideRead, c.OutsideEdit = decodeDefault(o), decodeDefault(o)
		}
	}
	path += ".can."
	c.Read = r.decodeTable(n.Get("read"), path+"read", r.filePattern)
	c.Edit = r.decodeTable(n.Get("edit"), path+"edit", r.filePattern)
	c.Command = r.decodeTable(n.Get("command"), path+"command", r.commandPattern)
	c.Web = r.decodeTable(n.Get("web"), path+"web", r.hostPattern)
	if b := n.Get("browser"); b != nil {
		alias := r.decodeTable(b, path+"browser", r.hostPattern)
		if c.Web != nil {
			r.diags.Errorf(diag.Conflict, b.Pos, "browser stands beside web, its new name; keep web alone").
				Path(path + "browser")
		}
		c.Web = alias
	}
	c.Modes = r.decodeTable(n.Get("modes"), path+"modes", r.slugPattern)
	if e := n.Get("edit"); e != nil && c.Edit != nil {
		if d := e.Get("description"); d != nil {
			c.Edit.Description = d.Text
		}
	}
	c.MCP = r.decodeMCP(n.Get("mcp"), path+"mcp")
	return c
}

// elems returns the elements of a list, nil for a node that is not there.
func elems(n *source.Node) []*source.Node {
	if n == nil {
		return nil
	}
	return n.Elems
}

// decision reads a decision that the schema has checked.
func decision(s string) ir.Decision {
	var d ir.Decision
	if d.UnmarshalText([]byte(s)) != nil {
		return ir.Deny
	}
	return d
}

func decodeDefault(n *source.Node) *ir.Default {
	if n == nil {
		return nil
	}
	return &ir.Default{Decision: decision(n.Text), Pos: n.Pos}
}

// bare reads a decision in the place of a table.
func bare(n *source.Node) (*ir.Default, []ir.Rule) {
	if decision(n.Text) == ir.Deny {
		return nil, []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: n.Pos}}
	}
	return decodeDefault(n), nil
}

// patternReader reads and checks a pattern.
type patternReader func(n *source.Node, path string, d ir.Decision) (ir.Pattern, bool)

// lists are the lists of rules in a table.
var lists = []struct {
	name     string
	decision ir.Decision
}{{"deny", ir.Deny}, {"ask", ir.Ask}, {"allow", ir.Allow}}

func (r *resolver) decodeTable(n *source.Node, path string, pattern patternReader) *ir.Table {
	if n == nil {
		return nil
	}
	t := &ir.Table{}
	if n.Kind != source.Struct {
		t.Default, t.Rules = bare(n)
		return t
	}
	t.Default = decodeDefault(n.Get("default"))
	t.Rules, t.Timed = r.decodeRules(n, path, pattern)
	return t
}

// decodeRules returns the rules of a table, and the allows with times.
func (r *resolver) decodeRules(n *source.Node, path string, pattern patternReader) (rules, timed []ir.Rule) {
	for _, l := range lists {
		for i, e := range elems(n.Get(l.name)) {
			at := fmt.Sprintf("%s.%s[%d]", path, l.name, i)
			text, where := ruleOf(e, at)
			if text == nil {
				field := "rule"
				if e.Get("args") != nil {
					field = "tool"
				}
				r.diags.Errorf(diag.MissingField, e.Pos, "the field %s is missing (string)", field).Path(at)
				continue
			}
			args, known := r.decodeArgs(e, at)
			times, ok := r.decodeTimes(e, at)
			p, fits := pattern(text, where, l.decision)
			p.Args = args
			switch rule := (ir.Rule{Decision: l.decision, Pattern: p, Pos: e.Pos, Times: times}); {
			case !known || !ok || !fits:
			case times.Timed():
				timed = append(timed, rule)
			default:
				rules = append(rules, rule)
			}
		}
	}
	return rules, timed
}

// ruleOf returns the pattern of an item, which may have times or arguments beside it; nil where it has none.
func ruleOf(n *source.Node, path string) (*source.Node, string) {
	if n.Kind != source.Struct || n.Get("regex") != nil {
		return n, path
	}
	if tool := n.Get("tool"); tool != nil {
		return tool, path + ".tool"
	}
	if n.Get("args") != nil {
		return nil, path
	}
	return n.Get("rule"), path + ".rule"
}

// decodeArgs reads the arguments of an item. It reports false where something is wrong with them.
func (r *resolver) decodeArgs(n *source.Node, path string) (ir.Args, bool) {
	if n.Get("tool") == nil {
		return "", true
	}
	if rule := n.Get("rule"); rule != nil {
		r.diags.Errorf(diag.Conflict, rule.Pos, "rule stands beside tool; keep tool alone").Path(path)
		return "", false
	}
	of := n.Get("args")
	args, err := ir.NewArgs(textMap(of))
	if err != nil {
		r.diags.Errorf(diag.BadValue, cmp.Or(of, n).Pos, "%v", err).Path(path)
	}
	return args, err == nil
}

// decodeTimes reads the times of an item. It reports false where something is wrong with them.
func (r *resolver) decodeTimes(n *source.Node, path string) (ir.Times, bool) {
	if n.Kind != source.Struct {
		return ir.Times{}, true
	}
	t := ir.Times{
		From: text(n.Get("from")), Until: text(n.Get("until")), Daily: text(n.Get("daily")), Zone: text(n.Get("zone")),
	}
	if n.Get("regex") != nil && n.Get("rule") != nil {
		r.diags.Errorf(diag.Conflict, n.Get("regex").Pos, "regex stands beside rule; keep one of them").Path(path)
		return t, false
	}
	if (n.Get("regex") != nil || n.Get("tool") != nil) && !t.Timed() {
		return t, true
	}
	part, err := t.Check()
	if err == nil {
		return t, true
	}
	at := n.Pos
	if f := n.Get(string(part)); part != ir.NoPart && f != nil {
		at, path = f.Pos, diag.Join(path, string(part))
	}
	r.diags.Errorf(diag.BadValue, at, "%v", err).Path(path)
	return t, false
}

func (r *resolver) filePattern(n *source.Node, path string, d ir.Decision) (ir.Pattern, bool) {
	if n.Kind == source.Struct {
		re := n.Get("regex")
		if err := policy.CheckRegex(re.Text); err != nil {
			r.diags.Errorf(diag.BadRegex, re.Pos, "%v", err).Path(path + ".regex")
			return ir.Pattern{}, false
		}
		return ir.Pattern{Kind: ir.Regex, Text: re.Text}, true
	}
	return r.plain(diag.BadGlob, policy.CheckGlob)(n, path, d)
}

func (r *resolver) commandPattern(n *source.Node, path string, d ir.Decision) (ir.Pattern, bool) {
	if name, ok := strings.CutPrefix(n.Text, "@"); ok {
		if err := policy.CheckBuiltin(name); err != nil {
			r.diags.Errorf(diag.BadCommand, n.Pos, "%v", err).Path(path)
			return ir.Pattern{}, false
		}
		return ir.Pattern{Kind: ir.Builtin, Text: name}, true
	}
	check := policy.CheckCommand
	if d < ir.Allow {
		check = policy.CheckRestriction // one that matches nothing would be trusted to hold
	}
	return r.plain(diag.BadCommand, check)(n, path, d)
}

// hostPattern reads a host. The model has it in its canonical form, which is what agents compare.
func (r *resolver) hostPattern(n *source.Node, path string, _ ir.Decision) (ir.Pattern, bool) {
	host, err := policy.HostPattern(n.Text)
	if err != nil {
		r.diags.Errorf(diag.BadHost, n.Pos, "%v", err).Path(path)
		return ir.Pattern{}, false
	}
	return ir.Pattern{Text: host}, true
}

func (r *resolver) slugPattern(n *source.Node, path string, d ir.Decision) (ir.Pattern, bool) {
	p, ok := r.plain(diag.BadSlug, policy.CheckSlug)(n, path, d)
	if ok && n.Text != "*" {
		r.modeRef(n, path)
	}
	return p, ok
}

func (r *resolver) toolPattern(n *source.Node, path string, d ir.Decision) (ir.Pattern, bool) {
	if name, ok := strings.CutPrefix(n.Text, "@"); ok {
		if err := policy.CheckRisk(name); err != nil {
			r.diags.Errorf(diag.BadToolPattern, n.Pos, "%v", err).Path(path)
			return ir.Pattern{}, false
		}
		return ir.Pattern{Kind: ir.Risk, Text: name}, true
	}
	return r.plain(diag.BadToolPattern, policy.CheckToolGlob)(n, path, d)
}

// plain returns a reader of patterns that are texts.
func (r *resolver) plain(code diag.Code, check func(string) error) patternReader {
	return func(n *source.Node, path string, _ ir.Decision) (ir.Pattern, bool) {
		if err := check(n.Text); err != nil {
			r.diags.Errorf(code, n.Pos, "%v", err).Path(path)
			return ir.Pattern{}, false
		}
		return ir.Pattern{Text: n.Text}, true
	}
}

func (r *resolver) decodeMCP(n *source.Node, path string) *ir.MCPTable {
	if n == nil {
		return nil
	}
	t := &ir.MCPTable{}
	if n.Kind != source.Struct {
		t.Default, t.Rules = bare(n)
		return t
	}
	t.Default = decodeDefault(n.Get("default"))
	for _, f := range n.Fields {
		if f.Name == "default" {
			continue
		}
		at := path + "." + diag.Label(f.Name)
		e := ir.MCPEntry{Key: f.Name, Literal: !strings.ContainsAny(f.Name, "*?"), Pos: f.Pos}
		r.serverRef(f.Name, f.Pos, at)
		if f.Node.Kind != source.Struct {
			e.Default, e.Rules = bare(f.Node)
		} else {
			e.Default = decodeDefault(f.Node.Get("default"))
			e.Rules, e.Timed = r.decodeRules(f.Node, at, r.toolPattern)
			e.Resources = decodeDefault(f.Node.Get("resources"))
			e.Prompts = decodeDefault(f.Node.Get("prompts"))
			r.toolRefs(e, f.Node, at)
		}
		t.Entries = append(t.Entries, e)
	}
	sortEntries(t.Entries)
	return t
}

// text returns the text of a scalar, "" for a node that is not there.
func text(n *source.Node) string {
	if n == nil {
		return ""
	}
	return n.Text
}

// texts returns the texts of a list, nil for a node that is not there.
func texts(n *source.Node) []string {
	if n == nil {
		return nil
	}
	out := []string{}
	for _, e := range n.Elems {
		out = append(out, e.Text)
	}
	return out
}

// textMap returns the texts of a struct, nil for a node that is not there.
func textMap(n *source.Node) map[string]string {
	if n == nil {
		return nil
	}
	m := map[string]string{}
	for _, f := range n.Fields {
		m[f.Name] = f.Node.Text
	}
	return m
}

// plainValue returns a node as encoding/json would decode it.
func plainValue(n *source.Node) any {
	switch n.Kind {
	case source.Struct:
		m := map[string]any{}
		for _, f := range n.Fields {
			m[f.Name] = plainValue(f.Node)
		}
		return m
	case source.List:
		l := []any{}
		for _, e := range n.Elems {
			l = append(l, plainValue(e))
		}
		return l
	case source.Int, source.Float:
		f, err := strconv.ParseFloat(n.Text, 64)
		if err != nil {
			return n.Text
		}
		return f
	case source.Bool:
		return n.Text == "true"
	case source.Null:
		return nil
	}
	return n.Text
}

// agentSettings returns agents.NAME.settings of a subject, each its own or else that of its parents.
func (r *resolver) agentSettings(s *subject) map[string]ir.Extra {
	var m map[string]ir.Extra
	for _, target := range r.settings.Known {
		n := r.inherited(s, "agents."+target+".settings")
		if n == nil || len(n.Fields) == 0 {
			continue
		}
		if m == nil {
			m = map[string]ir.Extra{}
		}
		settings, _ := plainValue(n).(map[string]any)
		keys := map[string]diag.Pos{}
		for _, f := range n.Fields {
			keys[f.Name] = f.Pos
		}
		m[target] = ir.Extra{Fields: settings, Pos: n.Pos, Keys: keys}
	}
	return m
}

// fields returns the fields of a node, nil for a node that is not there.
func fields(n *source.Node) []source.Field {
	if n == nil {
		return nil
	}
	return n.Fields
}

func decodeRestrictions(n *source.Node) *ir.MCPRestrictions {
	if n == nil {
		return nil
	}
	items := func(n *source.Node) *[]ir.Item {
		if n == nil {
			return nil
		}
		l := []ir.Item{}
		for _, e := range n.Elems {
			l = append(l, ir.Item{Name: e.Text, Pos: e.Pos})
		}
		return &l
	}
	tools := func(n *source.Node) *[]ir.ToolRef {
		if n == nil {
			return nil
		}
		l := []ir.ToolRef{}
		for _, e := range n.Elems {
			l = append(l, ir.ToolRef{Server: text(e.Get("serverName")), Tool: text(e.Get("toolName")), Pos: e.Pos})
		}
		return &l
	}
	return &ir.MCPRestrictions{
		Pos:               n.Pos,
		AllowedServers:    items(n.Get("allowedServers")),
		DisallowedServers: items(n.Get("disallowedServers")),
		AllowedTools:      tools(n.Get("allowedTools")),
		DisallowedTools:   tools(n.Get("disallowedTools")),
	}
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
					r.conflict(d.Pos, a.Pos, fmt.Sprintf("the server %q", d.Name)).Path(path)
				}
			}
		}
	}
	if m.AllowedTools != nil && m.DisallowedTools != nil {
		for _, d := range *m.DisallowedTools {
			for _, a := range *m.AllowedTools {
				if a.Server == d.Server && a.Tool == d.Tool {
					r.conflict(d.Pos, a.Pos, fmt.Sprintf("the tool %q", d.Server+":"+d.Tool)).Path(path)
				}
			}
		}
	}
}

func (r *resolver) conflict(at, other diag.Pos, what string) diag.Builder {
	return r.diags.
		Errorf(diag.ConflictingRestrictions, at, "%s is both allowed and disallowed; keep one of them", what).
		Related(other, "allowed here")
}
