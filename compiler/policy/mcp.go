package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// inventory numbers the tools of a project's servers.
type inventory struct {
	servers map[string]*serverEntry
	tools   int
}

type serverEntry struct {
	server *ir.Server
	tools  map[string]int
}

func newInventory(servers []ir.Server) inventory {
	inv := inventory{servers: make(map[string]*serverEntry, len(servers))}
	for i := range servers {
		sv := &servers[i]
		e := &serverEntry{server: sv, tools: make(map[string]int, len(sv.Tools))}
		for j := range sv.Tools {
			e.tools[sv.Tools[j].Name] = inv.tools
			inv.tools++
		}
		inv.servers[sv.Name] = e
	}
	return inv
}

// mcpRules is can.mcp of one side.
type mcpRules struct {
	all      [3][]Result // bare decisions that are rules
	entries  []mcpEntry
	fallback *Result // can.mcp.default, else rule 2
	ceiling  bool    // of everyone, which opens no server and closes none by not naming it
	limits   *restrictions
}

type mcpEntry struct {
	key     string
	literal bool
	opens   bool // holds an ask or an allow, whatever its times
	rules   [3][]toolRule
	written *Result // the entry's default; nil when it writes none
	own     bool
	ceiling map[MCPKind]*Result
}

type toolRule struct {
	kind   ir.PatternKind
	text   string
	args   []ir.Field
	result Result
}

// holdsBack reports whether a pattern of what is asked about or denied matches a name: as it
// is written, or in the form in which an agent gives it to its model, where every character
// but letters, digits, "_" and "-" is "_" (Claude Code: mcp__SERVER__TOOL).
func holdsBack(pattern, name string) bool {
	return Wildcard(pattern, name) || Wildcard(underscored(pattern, "*?"), AgentName(name))
}

// AgentName returns a name of a server or a tool as Claude Code gives it to its model, in
// mcp__SERVER__TOOL: every UTF-16 unit but letters, digits, "_" and "-" becomes "_".
func AgentName(name string) string { return underscored(name, "") }

// underscored writes "_" for every UTF-16 unit of a name but letters, digits, "_", "-", and
// those of also.
func underscored(name, also string) string {
	keeps := func(c rune) bool {
		return c < utf8.RuneSelf && (isLetter(byte(c)) || isDigit(byte(c))) || c == '_' || c == '-' ||
			strings.ContainsRune(also, c)
	}
	if strings.IndexFunc(name, func(c rune) bool { return !keeps(c) }) < 0 {
		return name
	}
	var b strings.Builder
	for _, c := range name {
		switch {
		case keeps(c):
			b.WriteRune(c)
		case c > 0xFFFF:
			b.WriteString("__")
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}

func (s *side) compileMCPRules() error {
	m := &s.mcp
	m.fallback, m.ceiling = s.fallback(ir.MCP), s.everyone()
	if s.mode != nil && s.mode.Restrictions != nil {
		m.limits = newRestrictions(s.mode.Restrictions)
	}
	t := s.can.MCP
	if t == nil {
		return nil
	}
	for _, r := range t.Rules {
		if r.Pattern.Kind != ir.All {
			return fmt.Errorf("got a pattern of kind %q for every server, want a bare decision", r.Pattern.Kind)
		}
		m.all[r.Decision] = append(m.all[r.Decision],
			result(r.Decision, r.Pos, r.From, r.Decision.String(), " every server"))
	}
	for i := range t.Entries {
		e, err := s.compileEntry(&t.Entries[i])
		if err != nil {
			return err
		}
		m.entries = append(m.entries, e)
	}
	return nil
}

func (s *side) compileEntry(in *ir.MCPEntry) (mcpEntry, error) {
	of := " of server " + strconv.Quote(in.Key)
	e := mcpEntry{key: in.Key, literal: in.Literal, own: in.From == "", ceiling: map[MCPKind]*Result{}}
	e.opens = len(in.Timed) > 0 // also while they are closed: what a pair of subjects may do follows from it
	for _, r := range in.Rules {
		text := r.Decision.String() + " " + r.Pattern.String() + of
		switch r.Pattern.Kind {
		case ir.All:
			text = r.Decision.String() + " server " + strconv.Quote(in.Key)
		case ir.Plain:
		case ir.Risk:
			if err := CheckRisk(r.Pattern.Text); err != nil {
				return e, err
			}
		default:
			return e, fmt.Errorf("got a pattern of kind %q, want a tool name or a risk", r.Pattern.Kind)
		}
		e.rules[r.Decision] = append(e.rules[r.Decision],
			toolRule{r.Pattern.Kind, r.Pattern.Text, r.Pattern.Args.Fields(), result(r.Decision, r.Pos, r.From, text)})
		e.opens = e.opens || r.Decision != ir.Deny
	}
	if d := in.Default; d != nil {
		r := stated(d, "default"+of)
		e.written = &r
		e.opens = e.opens || d.Decision == ir.Ask || d.Decision == ir.Allow
	}
	for kind, d := range map[MCPKind]*ir.Default{Resource: in.Resources, Prompt: in.Prompts} {
		if d != nil {
			r := stated(d, kindNames[kind]+of)
			e.ceiling[kind] = &r
		}
	}
	return e, nil
}

var kindNames = map[MCPKind]string{Tool: "tools", Resource: "resources", Prompt: "prompts"}

func (e *mcpEntry) matches(server string) bool {
	return e.key == server || !e.literal && Wildcard(e.key, server)
}

// rulesFor reports whether the entry's rules of a decision apply to a server.
func (e *mcpEntry) rulesFor(d ir.Decision, server string) bool {
	return len(e.rules[d]) > 0 && (e.matches(server) || !e.literal && d < ir.Allow && holdsBack(e.key, server))
}

// matches reports whether a rule of a decision matches a tool of a risk. A
// resource or a prompt is no tool: what holds for every tool holds for it, and
// no pattern allows it. Neither has arguments.
func (r *toolRule) matches(a Action, risk string) bool {
	d := r.result.Decision
	switch {
	case r.kind == ir.All:
		return true
	case a.Kind != Tool:
		return r.kind == ir.Plain && r.text == "*" && d != ir.Allow && r.args == nil
	case r.kind == ir.Plain && d < ir.Allow:
		return holdsBack(r.text, a.Arg)
	case r.kind == ir.Plain:
		return Wildcard(r.text, a.Arg)
	case risk == "":
		return d != ir.Allow && r.text != "read"
	}
	return r.text == risk
}

// verdict is what one side says of a tool.
type verdict struct {
	result   *Result
	explicit bool // a deny rule, or a restriction
	opened   bool // an entry with the server's literal name opens it
}

// decide judges an action on a server for one side; sv is nil for a server that
// the inventory does not hold.
func (m *mcpRules) decide(sv *ir.Server, a Action) verdict {
	name, risk := a.Server, ""
	if sv != nil {
		if t := sv.Tool(a.Arg); t != nil {
			risk = t.Risk
		}
	}
	v := verdict{opened: m.opens(name)}
	if r := m.limits.unavailable(name, sv, a.Kind, a.Arg); r != nil {
		v.result, v.explicit = r, true
		return v
	}
	if r := m.rule(ir.Deny, a, risk); r != nil {
		v.result, v.explicit = r, true
		return v
	}
	if sv != nil && !sv.DefaultEnabled && !v.opened && !m.ceiling {
		v.result = &Result{Rule: "server " + strconv.Quote(name) + " is off by default", Pos: sv.Pos}
		return v
	}
	v.result = m.rule(ir.Ask, a, risk)
	if v.result == nil {
		v.result = m.rule(ir.Allow, a, risk)
	}
	if v.result == nil {
		v.result = m.defaultOf(name)
		if a.Most && v.result.Decision < ir.Ask {
			a.Most, a.Args = false, ""
			v.result = cmp.Or(m.rule(ir.Ask, a, risk), v.result)
		}
	}
	for i := range m.entries {
		if c := m.entries[i].ceiling[a.Kind]; c != nil && m.entries[i].matches(name) {
			v.result = both(v.result, c)
		}
	}
	return v
}

// rule returns the rule of a decision that matches. An allow whose arguments are not known asks.
func (m *mcpRules) rule(d ir.Decision, a Action, risk string) (asks *Result) {
	if len(m.all[d]) > 0 {
		return &m.all[d][0]
	}
	for i := range m.entries {
		e := &m.entries[i]
		if !e.rulesFor(d, a.Server) {
			continue
		}
		for j := range e.rules[d] {
			switch r := &e.rules[d][j]; {
			case !r.matches(a, risk):
			case r.fits(a):
				return &r.result
			case a.Args == "" && !a.Most && asks == nil:
				unknown := r.result.since("the arguments of the call are not known")
				unknown.Decision, asks = ir.Ask, &unknown
			}
		}
	}
	return asks
}

// opens reports whether a server that is off by default is named so that it is
// open.
func (m *mcpRules) opens(server string) bool {
	for i := range m.entries {
		if e := &m.entries[i]; e.literal && e.opens && e.key == server {
			return true
		}
	}
	return m.limits.names(server)
}

// defaultOf returns the decision for a server where no rule matches: the written default of
// its literal entry, else the lowest among those of the globs that match it, else that of
// can.mcp.
func (m *mcpRules) defaultOf(server string) *Result {
	if r := m.keyDefault(server, literally); r != nil {
		return r
	}
	var best *Result
	for i := range m.entries {
		e := &m.entries[i]
		if e.literal || !e.matches(server) {
			continue
		}
		if r := m.keyDefault(e.key, asGlob); r != nil && (best == nil || r.Decision < best.Decision) {
			best = r
		}
	}
	if best != nil {
		return best
	}
	return m.fallback
}

// meaning is how a key of can.mcp is meant.
type meaning bool

const (
	asGlob    meaning = false
	literally meaning = true
)

// keyDefault returns the default of a key: the subject's own where written, else the lowest
// inherited one, nil where none is written.
func (m *mcpRules) keyDefault(key string, meant meaning) *Result {
	var own, inherited *Result
	for i := range m.entries {
		e := &m.entries[i]
		switch {
		case e.literal != bool(meant), e.key != key, e.written == nil:
		case e.own && e.written.From == "":
			if own == nil || e.written.Decision < own.Decision {
				own = e.written
			}
		case inherited == nil || e.written.Decision < inherited.Decision:
			inherited = e.written
		}
	}
	if own != nil {
		return own
	}
	return inherited
}

// mcpTable holds the decision of every inventory tool.
type mcpTable struct {
	tools []*Result // by inventory number
}

func (s *Subject) compileMCP() *mcpTable {
	t := &mcpTable{tools: make([]*Result, s.engine.inventory.tools)}
	for name, e := range s.engine.inventory.servers {
		for tool, i := range e.tools {
			if e.server.Gateway != nil {
				t.tools[i] = s.through(e.server.Gateway, Action{Arg: tool})
			} else {
				t.tools[i] = s.decideTool(e.server, Action{Server: name, Arg: tool})
			}
		}
	}
	return t
}

func (s *Subject) tool(a Action) *Result {
	e := s.engine.inventory.servers[a.Server]
	if e == nil {
		return s.decideTool(nil, a)
	}
	if a.Kind == Tool && a.Args == "" && !a.Most {
		if i, ok := e.tools[a.Arg]; ok {
			return s.mcp().tools[i]
		}
	}
	if e.server.Gateway != nil {
		return s.through(e.server.Gateway, a)
	}
	return s.decideTool(e.server, a)
}

func (s *Subject) decideTool(sv *ir.Server, a Action) *Result {
	r := s.ownTool(sv, a)
	if s.ceiling != nil && s.ceiling.states(ir.MCP) {
		r = s.ceiling.lower(r, s.ceiling.mcp.decide(sv, a).result)
	}
	return r
}

// ownTool is decideTool without the ceiling.
func (s *Subject) ownTool(sv *ir.Server, a Action) *Result {
	sides := s.own(ir.MCP)
	first := sides[0].mcp.decide(sv, a)
	if len(sides) == 1 {
		return first.result
	}
	second := sides[1].mcp.decide(sv, a)
	switch off := sv != nil && !sv.DefaultEnabled; {
	case !off, first.opened == second.opened, first.explicit, second.explicit:
		return lower(first.result, second.result)
	case first.opened:
		return first.result
	}
	return second.result
}

// ListsTools reports whether the inventory has all tools of a server.
func (s *Subject) ListsTools(sv *ir.Server) bool { return s.engine.project.ListsTools(sv) }

// UnlistedToolRules returns the rules that may decide about tools of a server that the inventory does
// not list, but for those that hold for every tool: by names or patterns of names. An allow that
// something else may take back is not among them, but a deny or an ask of these rules comes first.
func (s *Subject) UnlistedToolRules(server string) (rules []ir.Rule) {
	sv := s.engine.project.Server(server)
	if sv != nil && s.ListsTools(sv) {
		return nil
	}
	for _, side := range s.own(ir.MCP) {
		m := &side.mcp
		off := sv != nil && !sv.DefaultEnabled && !m.opens(server)
		taken := len(s.sides) > 1 || m.limits != nil && m.limits.in.AllowedTools != nil
		for d := ir.Deny; d <= ir.Allow; d++ {
			for i := range m.entries {
				for _, r := range m.entries[i].unlisted(d, server, sv) {
					if !(taken && r.Decision == ir.Allow || off && d == ir.Allow) {
						rules = append(rules, r)
					}
				}
			}
		}
		if m.limits == nil || m.limits.in.DisallowedTools == nil {
			continue
		}
		for _, t := range *m.limits.in.DisallowedTools {
			if t.Tool != "*" && holdsBack(t.Server, server) && !has(sv, t.Tool) {
				rules = append(rules, toolNamed(ir.Deny, t.Tool, t.Pos))
			}
		}
	}
	return s.belowTools(server, sv, rules)
}

// unlisted returns the rules of a decision over tools of a server that the inventory lacks. An allow asks where the
// arguments of a call are not known.
func (e *mcpEntry) unlisted(d ir.Decision, server string, sv *ir.Server) (rules []ir.Rule) {
	for i := range e.rules[d] {
		r, as := &e.rules[d][i], d
		if r.args != nil {
			as = min(d, ir.Ask)
		}
		if r.kind == ir.Plain && r.text != "*" && e.rulesFor(d, server) && !has(sv, r.text) {
			rules = append(rules, toolNamed(as, r.text, r.result.Pos))
		}
	}
	return rules
}

// KnownTools returns the tools of a server of which the source says that they exist, where the inventory may lack some:
// those that it lists, and those that an allow has in full.
func (s *Subject) KnownTools(server string) (names []string) {
	if sv := s.engine.project.Server(server); sv != nil {
		if s.ListsTools(sv) {
			return nil
		}
		for i := range sv.Tools {
			names = append(names, sv.Tools[i].Name)
		}
	}
	for _, side := range s.stating(ir.MCP) {
		for i := range side.mcp.entries {
			e := &side.mcp.entries[i]
			if !e.rulesFor(ir.Allow, server) {
				continue
			}
			for _, r := range e.rules[ir.Allow] {
				if r.kind == ir.Plain && !strings.ContainsAny(r.text, "*?") && !slices.Contains(names, r.text) {
					names = append(names, r.text)
				}
			}
		}
	}
	return names
}

// PermittedTools returns the names, and patterns of names, of tools that the inventory does not list, of a server of
// which it may lack some, where a rule asks about them or allows them.
func (s *Subject) PermittedTools(server string) (patterns []string) {
	sv := s.engine.project.Server(server)
	if sv != nil && s.ListsTools(sv) {
		return nil
	}
	for _, side := range s.own(ir.MCP) {
		for i := range side.mcp.entries {
			e := &side.mcp.entries[i]
			for d := ir.Ask; d <= ir.Allow; d++ {
				if !e.rulesFor(d, server) {
					continue
				}
				for _, r := range e.rules[d] {
					if r.kind == ir.Plain && !has(sv, r.text) && !slices.Contains(patterns, r.text) {
						patterns = append(patterns, r.text)
					}
				}
			}
		}
	}
	return patterns
}

// NamedTools returns the tools of a server that the inventory lists, and those that it may lack and that a rule asks
// about or allows by name.
func (s *Subject) NamedTools(sv *ir.Server) []ir.Tool {
	tools := slices.Clone(sv.Tools)
	for _, name := range s.PermittedTools(sv.Name) {
		if !strings.ContainsAny(name, "*?") {
			tools = append(tools, ir.Tool{Name: name, Pos: sv.Pos})
		}
	}
	return tools
}

func toolNamed(d ir.Decision, pattern string, at diag.Pos) ir.Rule {
	return ir.Rule{Decision: d, Pattern: ir.Pattern{Kind: ir.Plain, Text: pattern}, Pos: at}
}

// has reports whether a server of the inventory has a tool.
func has(sv *ir.Server, tool string) bool { return sv != nil && sv.Tool(tool) != nil }

// restrictions is a mode's mcpRestrictions: it only holds back.
type restrictions struct {
	in            *ir.MCPRestrictions
	hidden, limit Result
	servers       []Result // disallowedServers
	tools         []Result // disallowedTools
}

func newRestrictions(in *ir.MCPRestrictions) *restrictions {
	r := &restrictions{in: in}
	r.hidden = result(ir.Deny, in.Pos, "", "mcpRestrictions do not list the server")
	r.limit = result(ir.Deny, in.Pos, "", "mcpRestrictions do not list the tool")
	if in.DisallowedServers != nil {
		for _, s := range *in.DisallowedServers {
			r.servers = append(r.servers, result(ir.Deny, s.Pos, "", "disallowedServers ", strconv.Quote(s.Name)))
		}
	}
	if in.DisallowedTools != nil {
		for _, t := range *in.DisallowedTools {
			r.tools = append(r.tools,
				result(ir.Deny, t.Pos, "", "disallowedTools ", strconv.Quote(t.Server+":"+t.Tool)))
		}
	}
	return r
}

// unavailable returns what makes a tool unavailable, nil when nothing does. The server is nil
// where the inventory lacks it.
func (r *restrictions) unavailable(server string, sv *ir.Server, kind MCPKind, tool string) *Result {
	if r == nil {
		return nil
	}
	for i := range r.servers {
		if holdsBack((*r.in.DisallowedServers)[i].Name, server) {
			return &r.servers[i]
		}
	}
	visible := sv == nil || sv.DefaultEnabled
	if r.in.AllowedServers != nil {
		visible = false
		for _, s := range *r.in.AllowedServers {
			visible = visible || Wildcard(s.Name, server)
		}
	}
	if !visible {
		return &r.hidden
	}
	for i := range r.tools {
		t := (*r.in.DisallowedTools)[i]
		if holdsBack(t.Server, server) && (t.Tool == "*" || kind == Tool && holdsBack(t.Tool, tool)) {
			return &r.tools[i]
		}
	}
	if r.in.AllowedTools != nil && !slices.ContainsFunc(*r.in.AllowedTools, func(t ir.ToolRef) bool {
		return Wildcard(t.Server, server) && (kind != Tool || Wildcard(t.Tool, tool))
	}) {
		return &r.limit
	}
	return nil
}

// names reports whether allowedServers names a server literally: nothing else of the
// restrictions opens one that is off by default.
func (r *restrictions) names(server string) bool {
	return r != nil && r.in.AllowedServers != nil && !strings.ContainsAny(server, "*?") &&
		slices.ContainsFunc(*r.in.AllowedServers, func(s ir.Item) bool { return s.Name == server })
}
