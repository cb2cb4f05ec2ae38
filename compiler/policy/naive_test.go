package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/dlclark/regexp2/v2"
	"golang.org/x/text/unicode/norm"

	"modec.dev/modec/compiler/ir"
)

// naive decides a mode's or role's file, web, modes and mcp actions a second
// time: straight from the model, with plain loops, doublestar for globs, no
// index, no cache and none of the package's own code but Fold and Host (tested
// by tables).
type naive struct {
	p    *ir.Project
	can  *ir.Can
	role *ir.Role
	mode *ir.Mode

	everyone bool // of the ceiling, which nothing outside of the root is above
}

// below is the lower of what the subject decides and of what everyone states, which is a role that leaves the rest.
func (n *naive) below(decide func(*naive) ir.Decision) ir.Decision {
	d := decide(n)
	if n.p.Everyone == nil {
		return d
	}
	p := &ir.Project{}
	for _, sv := range n.p.Servers {
		sv.DefaultEnabled = true
		p.Servers = append(p.Servers, sv)
	}
	c := decide(&naive{p: p, can: n.p.Everyone, role: &ir.Role{}, everyone: true})
	if c > ir.Ask {
		return d
	}
	return min(d, c)
}

// unsaid is the decision of a group without a default of its own.
func (n *naive) unsaid(g ir.Group) ir.Decision {
	switch {
	case n.can.Default != nil:
		return n.can.Default.Decision
	case n.role == nil && g == ir.MCP && n.mode.Restrictions != nil && n.can.MCP == nil:
		return ir.Ask
	case n.role == nil:
		return ir.Deny
	case n.role.PermissionMode != "":
		return ir.Agent
	}
	if n.p.Unsaid != nil {
		return n.p.Unsaid.Decision
	}
	return ir.Agent
}

func (n *naive) fallback(g ir.Group) ir.Decision {
	if t := n.can.Table(g); t != nil && t.Default != nil {
		return t.Default.Decision
	}
	return n.unsaid(g)
}

func (n *naive) file(g ir.Group, raw string) ir.Decision {
	if !strings.Contains(raw, `\`) {
		return n.fileAs(g, raw)
	}
	return ir.Both(n.fileAs(g, raw), n.fileAs(g, strings.ReplaceAll(raw, `\`, "/")))
}

// folded decides a file where names may stand for others.
func (n *naive) folded(g ir.Group, raw string) ir.Decision {
	d := n.file(g, raw)
	if strings.Contains(raw, ":") {
		d = ir.Both(d, n.fileAs(g, naiveWindows(raw)))
	}
	if naivePlain(raw) && !naiveNothing.MatchString(raw) {
		return d
	}
	d = ir.Both(d, n.fallback(g))
	var rules []ir.Rule
	if t := n.can.Table(g); t != nil {
		rules = t.Rules
	}
	for _, r := range rules {
		if r.Decision != ir.Allow {
			d = min(d, r.Decision)
		}
	}
	if naiveNothing.MatchString(raw) {
		d = ir.Both(d, n.ceiling(g))
	}
	return d
}

var (
	naiveStream  = regexp.MustCompile(`(?s):.*$`)
	naiveShort   = regexp.MustCompile(`[^/\\]~[0-9]`)
	naiveEnd     = regexp.MustCompile(`[^/\\:]*[. ](:[^/\\]*)?([/\\]|$)`)
	naiveDots    = regexp.MustCompile(`(?:^|[/\\])(\.\.?)(?:[/\\]|$)`)
	naiveNothing = regexp.MustCompile(`(^|[/\\])([. ]{3,}|[. ]*( |:[^/\\]*)|\. | \.)([/\\]|$)`)
)

// naivePlain reports whether no file system takes a path for another one.
func naivePlain(raw string) bool {
	dotless := raw
	for naiveDots.MatchString(dotless) {
		dotless = naiveDots.ReplaceAllString(dotless, "/")
	}
	return !naiveShort.MatchString(raw) && !naiveEnd.MatchString(dotless) && oldLetters(norm.NFC.String(raw)) == norm.NFC.String(raw)
}

// naiveWindows returns the path that Windows reads, without the streams of its files.
func naiveWindows(raw string) string {
	drive := ""
	if len(raw) > 1 && raw[1] == ':' && isLetter(raw[0]) {
		if drive, raw = raw[:2], raw[2:]; raw != "" && !strings.ContainsAny(raw[:1], `/\`) {
			i := strings.IndexAny(raw+"/", `/\`)
			drive, raw = drive+raw[:i], raw[i:]
		}
	}
	names := strings.Split(strings.ReplaceAll(raw, `\`, "/"), "/")
	for i, name := range names {
		names[i] = naiveStream.ReplaceAllString(name, "")
	}
	return drive + strings.Join(names, "/")
}

// ceiling is the most that a path outside of the root may get.
func (n *naive) ceiling(g ir.Group) ir.Decision {
	switch {
	case n.everyone:
		return ir.Agent
	case g == ir.Edit && n.can.OutsideEdit != nil:
		return n.can.OutsideEdit.Decision
	case g == ir.Read && n.can.OutsideRead != nil:
		return n.can.OutsideRead.Decision
	case g == ir.Edit || n.role == nil:
		return ir.Deny
	case n.p.Unsaid != nil:
		return min(ir.Ask, n.p.Unsaid.Decision)
	}
	return ir.Ask
}

func (n *naive) fileAs(g ir.Group, raw string) ir.Decision {
	cleaned := path.Clean(strings.TrimLeft(raw, "/"))
	if strings.HasPrefix(raw, "/") {
		cleaned = path.Clean("/" + strings.TrimLeft(raw, "/"))
	}
	outside := strings.HasPrefix(cleaned, "/") || cleaned == ".." || strings.HasPrefix(cleaned, "../") || strings.HasPrefix(raw, "~") ||
		len(raw) > 1 && raw[1] == ':' && isLetter(raw[0]) || strings.Contains(raw, "\x00")
	lowest := n.fallback(g)
	matched := false
	apply := func(d ir.Decision) {
		if !matched || d < lowest {
			lowest = d
		}
		matched = true
	}
	if t := n.can.Table(g); t != nil {
		for _, r := range t.Rules {
			if naiveFile(r, cleaned, outside) {
				apply(r.Decision)
			}
		}
	}
	if outside {
		written := g == ir.Edit && n.can.OutsideEdit != nil || g == ir.Read && n.can.OutsideRead != nil
		switch {
		case written || n.fallback(g) != ir.Agent:
			lowest = ir.Both(lowest, n.ceiling(g))
		case lowest == ir.Allow:
			lowest = ir.Agent
		}
	}
	return lowest
}

// naiveUp writes ".." as a name that ".*" does not match.
func naiveUp(p string) string {
	names := strings.Split(p, "/")
	for i, name := range names {
		if name == ".." {
			names[i] = "\x01\x01"
		}
	}
	return strings.Join(names, "/")
}

func naiveFile(r ir.Rule, cleaned string, outside bool) bool {
	holds := r.Decision != ir.Allow
	switch r.Pattern.Kind {
	case ir.All:
		return true
	case ir.Regex:
		ok, err := regexp2.MustCompile(r.Pattern.Text, regexp2.ECMAScript).MatchString(cleaned)
		if err == nil && !ok && holds {
			ok, err = regexp2.MustCompile(r.Pattern.Text, regexp2.ECMAScript).MatchString(composed(cleaned))
		}
		return ok && err == nil
	}
	pattern := r.Pattern.Text
	if holds {
		pattern, cleaned = Fold(pattern), Fold(cleaned)
	}
	if cleaned == "." {
		return strings.Trim(strings.ReplaceAll(pattern, "**", ""), "/") == ""
	}
	if strings.HasPrefix(cleaned, "/") { // its first name is one that nothing but "*" matches
		cleaned = strings.Repeat("\x00", 64) + strings.TrimSuffix(cleaned, "/")
	}
	pattern, cleaned = naiveUp(pattern), naiveUp(cleaned)
	if !strings.Contains(pattern[:len(pattern)-1], "/") {
		pattern = "**/" + pattern
	}
	pattern = strings.TrimPrefix(pattern, "/")
	var all []string
	for _, p := range naiveBraces(pattern) {
		first, _, _ := strings.Cut(p, "/")
		if first != "**" && outside && !holds && strings.ContainsAny(first, "*?[") {
			continue
		}
		if strings.HasSuffix(p, "/") {
			p += "**"
		}
		all = append(all, p)
		if holds {
			all = append(all, p+"/**")
		}
	}
	for _, p := range all {
		if ok, err := doublestar.Match(p, cleaned); err == nil && ok {
			return true
		}
	}
	return false
}

// naiveBraces expands the innermost braces first. doublestar knows braces, but
// lets a "*" next to one become part of a "**".
func naiveBraces(p string) []string {
	end := strings.IndexByte(p, '}')
	if end < 0 {
		return []string{p}
	}
	start := strings.LastIndexByte(p[:end], '{')
	if start < 0 {
		return []string{p}
	}
	var out []string
	for _, part := range strings.Split(p[start+1:end], ",") {
		out = append(out, naiveBraces(p[:start]+part+p[end+1:])...)
	}
	return out
}

func (n *naive) web(arg string) ir.Decision {
	host, ok := Host(arg)
	t := n.can.Web
	if t == nil {
		return n.unsaid(ir.Web)
	}
	lowest, matched, hasDeny, hasAsk, star := ir.Allow, false, false, false, false
	for _, r := range t.Rules {
		p := r.Pattern.Text
		all := r.Pattern.Kind == ir.All || p == "*"
		hasDeny = hasDeny || r.Decision == ir.Deny
		hasAsk = hasAsk || r.Decision == ir.Ask
		star = star || all && r.Decision == ir.Allow
		bare, _ := Host(strings.TrimPrefix(p, "*."))
		hit := all || ok && (strings.HasPrefix(p, "*.") && strings.HasSuffix(host, "."+bare) || host == bare && !strings.HasPrefix(p, "*."))
		if hit && (!matched || r.Decision < lowest) {
			lowest, matched = r.Decision, true
		}
	}
	if ok {
		if matched {
			return lowest
		}
		return n.fallback(ir.Web)
	}
	switch {
	case hasDeny:
		return ir.Deny
	case hasAsk:
		return ir.Ask
	case star:
		return ir.Allow
	case len(t.Rules) > 0 && n.fallback(ir.Web) == ir.Allow:
		return ir.Ask
	}
	return n.fallback(ir.Web)
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_*?-]`)

// naiveName writes a name of the basic plane as an agent shows it to its model.
func naiveName(s string) string { return notInNames.ReplaceAllString(s, "_") }

// naiveFits reports whether a call may have the arguments of a pattern, and whether it has them for sure.
func naiveFits(p ir.Pattern, args string) (maybe, sure bool) {
	maybe, sure = true, true
	for _, f := range p.Args.Fields() {
		var value any = map[string]any{}
		d := json.NewDecoder(strings.NewReader(args))
		d.UseNumber()
		if d.Decode(&value) != nil {
			value = nil
		}
		for _, name := range strings.Split(f.Name, ".") {
			object, _ := value.(map[string]any)
			value = object[name]
			for other := range object {
				if strings.EqualFold(other, name) && other != name {
					value = nil
				}
			}
		}
		text := fmt.Sprint(value)
		switch value.(type) {
		case string, bool:
		case json.Number:
			if !regexp.MustCompile(`^(0|-?[1-9][0-9]{0,14}|-?[0-9]\.[0-9]*[1-9])$`).MatchString(text) {
				sure = false
				continue
			}
		default:
			sure = false
			continue
		}
		expr := strings.ReplaceAll(regexp.QuoteMeta(f.Value), `\*`, `.*`)
		sure = sure && regexp.MustCompile(`(?s)^`+expr+`$`).MatchString(text)
		maybe = maybe && regexp.MustCompile(`(?is)^`+expr+`$`).MatchString(text)
	}
	return maybe, sure
}

// tool decides an MCP tool.
func (n *naive) tool(a Action) ir.Decision {
	server, tool := a.Server, a.Arg
	enabled, risk := true, ""
	for _, sv := range n.p.Servers {
		if sv.Name != server {
			continue
		}
		enabled = sv.DefaultEnabled
		for _, t := range sv.Tools {
			if t.Name == tool {
				risk = t.Risk
			}
		}
	}
	glob := func(p, s string) bool { ok, _ := path.Match(p, s); return ok }
	holds := func(p, s string) bool { return glob(p, s) || glob(naiveName(p), naiveName(s)) }
	opened := false
	if n.mode != nil && n.mode.Restrictions != nil {
		r := n.mode.Restrictions
		found := false
		if r.AllowedTools != nil {
			for _, t := range *r.AllowedTools {
				found = found || glob(t.Server, server) && glob(t.Tool, tool)
			}
			if !found {
				return ir.Deny
			}
		}
		if r.AllowedServers != nil {
			any := false
			for _, s := range *r.AllowedServers {
				any = any || glob(s.Name, server)
				opened = opened || s.Name == server
			}
			if !any {
				return ir.Deny
			}
		} else if !enabled {
			return ir.Deny
		}
		if r.DisallowedServers != nil {
			for _, s := range *r.DisallowedServers {
				if holds(s.Name, server) {
					return ir.Deny
				}
			}
		}
		if r.DisallowedTools != nil {
			for _, t := range *r.DisallowedTools {
				if holds(t.Server, server) && holds(t.Tool, tool) {
					return ir.Deny
				}
			}
		}
	}
	t := n.can.MCP
	if t == nil {
		if !enabled && !opened {
			return ir.Deny
		}
		return n.unsaid(ir.MCP)
	}
	lowest, matched, unknown, mayAsk := ir.Allow, false, false, false
	apply := func(d ir.Decision) { lowest, matched = min(lowest, d), true }
	for _, r := range t.Rules {
		apply(r.Decision)
	}
	defaults := map[string]*keyed{}
	for _, e := range t.Entries {
		named := e.Key == server || !e.Literal && glob(e.Key, server)
		if !named && (e.Literal || !holds(e.Key, server)) {
			continue
		}
		if named && defaults[e.Key] == nil {
			defaults[e.Key] = &keyed{}
		}
		if named && e.Default != nil {
			d := e.Default.Decision
			k := defaults[e.Key]
			if e.From == "" {
				k.own = &d
			} else if k.inherited == nil || d < *k.inherited {
				k.inherited = &d
			}
			opened = opened || e.Key == server && d != ir.Deny && d != ir.Agent
		}
		for _, r := range e.Rules {
			opened = opened || e.Key == server && r.Decision != ir.Deny
			if !named && r.Decision == ir.Allow {
				continue
			}
			hit := false
			switch r.Pattern.Kind {
			case ir.All:
				hit = true
			case ir.Risk:
				hit = r.Pattern.Text == risk || risk == "" && r.Decision != ir.Allow && r.Pattern.Text != "read"
			default:
				hit = glob(r.Pattern.Text, tool) || r.Decision != ir.Allow && holds(r.Pattern.Text, tool)
			}
			maybe, sure := naiveFits(r.Pattern, a.Args)
			if a.Most && r.Pattern.Args != "" {
				maybe, sure = false, r.Decision == ir.Allow
				mayAsk = mayAsk || hit && r.Decision == ir.Ask
			}
			switch {
			case hit && (sure || maybe && r.Decision != ir.Allow):
				apply(r.Decision)
			case hit && a.Args == "" && !a.Most:
				unknown = true
			}
		}
	}
	if matched && lowest == ir.Deny || !enabled && !opened {
		return ir.Deny
	}
	if matched {
		return lowest
	}
	if unknown {
		return ir.Ask
	}
	if mayAsk {
		return max(ir.Ask, n.rest(server, defaults))
	}
	return n.rest(server, defaults)
}

type keyed struct{ own, inherited *ir.Decision }

// rest decides the tools of a server that no rule matches.
func (n *naive) rest(server string, defaults map[string]*keyed) ir.Decision {
	last := n.unsaid(ir.MCP)
	if t := n.can.MCP; t.Default != nil {
		last = t.Default.Decision
	}
	of := func(k *keyed) *ir.Decision { return cmp.Or(k.own, k.inherited) }
	if k := defaults[server]; k != nil && of(k) != nil {
		return *of(k)
	}
	delete(defaults, server)
	var lowestGlob *ir.Decision
	for _, k := range defaults {
		if d := of(k); d != nil && (lowestGlob == nil || *d < *lowestGlob) {
			lowestGlob = d
		}
	}
	return *cmp.Or(lowestGlob, &last)
}
