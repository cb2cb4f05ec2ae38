package roo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dlclark/regexp2"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
)

// mode is an entry of customModes.
type mode struct {
	slug, name, role, when, description, custom string
	groups                                      []group
	servers                                     *[]string // zoo: allowedMcpServers
	tools                                       *[]toolRef
}

type group struct {
	name        string
	regex       string // edit only; "" is no restriction
	description string
}

type toolRef struct{ server, tool string }

// builtins are the built-in modes of Roo 3.52.1 (DEFAULT_MODES), by slug.
var builtins = []struct{ slug, name string }{
	{"architect", "🏗️ Architect"}, {"ask", "❓ Ask"}, {"code", "💻 Code"}, {"debug", "🪲 Debug"}, {"orchestrator", "🪃 Orchestrator"},
}

func (e *emitter) emit() ([]target.File, diag.List) {
	p := e.in.Project
	e.checkExtras()
	e.checkNames()
	e.hoistIgnored()
	servers := e.servers()
	var modes []mode
	for i := range p.Modes {
		m, err := e.mode(&p.Modes[i], servers)
		if err != nil {
			e.diags.Errorf(p.Modes[i].Pos, "bad-pattern", "", "%v", err)
			continue
		}
		modes = append(modes, m)
	}
	if e.in.Options.String("builtins") == "shadow" {
		for _, b := range builtins {
			if !slices.ContainsFunc(modes, func(m mode) bool { return m.slug == b.slug }) {
				modes = append(modes, mode{slug: b.slug, name: b.name, role: "This mode is switched off in this project.", when: "Never: this mode is switched off in this project."})
			}
		}
	}
	if len(e.diags) > 0 && e.diags.HasErrors() {
		return nil, e.diags
	}
	write := writeYAML
	if e.in.Options.String("format") == "json" {
		write = writeJSON
	}
	files := []target.File{{Path: e.file("modes"), Data: write(modes)}}
	if len(p.Servers) > 0 {
		files = append(files, target.File{Path: e.dir() + "/mcp.json", Data: e.serversJSON(servers)})
	}
	if len(e.ignored) > 0 {
		files = append(files, target.File{Path: e.file("ignore"), Data: e.ignoreFile()})
	}
	for i := range p.Modes {
		for _, r := range p.Modes[i].Rules {
			files = append(files, target.File{Path: e.dir() + "/rules-" + p.Modes[i].Slug + "/" + r.Name, Data: []byte(r.Text)})
		}
	}
	return files, e.diags
}

func (e *emitter) checkExtras() {
	for i := range e.in.Project.Modes {
		if x, ok := e.in.Project.Modes[i].Extra[e.name]; ok && len(x.Fields) > 0 {
			e.diags.Errorf(x.Pos, "roo-unknown-extra", "", "got settings in extra.%s, want none: Roo has no mode setting that the source does not have", e.name)
		}
	}
}

func (e *emitter) mode(m *ir.Mode, servers []server) (mode, error) {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
	if err != nil {
		return mode{}, err
	}
	out := mode{slug: m.Slug, name: m.Name, role: m.RoleDefinition, when: m.WhenToUse, description: m.Description, custom: m.CustomInstructions}
	if m.Model != "" && m.Model != "inherit" {
		e.diags = append(e.diags, diag.Diagnostic{Severity: diag.Warning, Code: "roo-model", Pos: m.Pos, Message: "a mode names no model, it is left out", Target: e.name, Subject: "mode " + m.Slug, Loss: diag.Text,
			Hint: "the user picks a model for each mode in the agent"})
	}
	if e.whole(m, s, ir.Read, "roo-read") {
		out.groups = append(out.groups, group{name: "read"})
	}
	if g, ok := e.edit(m, s); ok {
		out.groups = append(out.groups, g)
	}
	if e.whole(m, s, ir.Command, "roo-command") {
		out.groups = append(out.groups, group{name: "command"})
	}
	if e.dialect == zoo && e.whole(m, s, ir.Web, "roo-web") {
		out.groups = append(out.groups, group{name: "web"})
	}
	e.modeServers(m, s, servers, &out)
	return out, nil
}

// whole reports whether a mode keeps a group that is all or nothing: when it
// denies nothing in it.
func (e *emitter) whole(m *ir.Mode, s *policy.Subject, g ir.Group, code string) bool {
	def := s.Default(g)
	some := def.Decision > ir.Deny
	at, why := def.Pos, "what is not listed"
	denies := def.Decision == ir.Deny
	for _, r := range s.Rules(g) {
		switch {
		case r.Decision > ir.Deny:
			some = true
		case r.Pattern.Kind == ir.All:
			return false
		case g == ir.Read && r.Pattern.Kind == ir.Plain && e.ignored[r.Pattern.Text]:
		default:
			if !denies {
				at, why = r.Pos, r.Pattern.String()
			}
			denies = true
		}
	}
	switch {
	case !some:
		return false
	case !denies:
		return true
	}
	ref := ir.SubjectRef{Mode: m.Slug}
	if x := e.in.ExceptsGroup(ref, g); x != nil {
		e.widened(m, g, x, fmt.Sprintf("keeps the group %s, which cannot deny %s", g, why))
		return true
	}
	e.loss(m, g, code, at, fmt.Sprintf("the group %s is all or nothing and the mode denies %s: it loses the group", g, why),
		fmt.Sprintf("ask instead of denying, deny it in every mode, or write an exception for %q", g))
	return false
}

// hoistIgnored finds the read denies that every mode has and that gitignore can
// say: .rooignore holds them for all modes at once, and costs none its group.
func (e *emitter) hoistIgnored() {
	counts := map[string]int{}
	modes := e.in.Project.Modes
	for i := range modes {
		seen := map[string]bool{}
		if modes[i].Can.Read == nil {
			continue
		}
		for _, r := range modes[i].Can.Read.Rules {
			if r.Decision == ir.Deny && r.Pattern.Kind == ir.Plain && gitignore(r.Pattern.Text) && !seen[r.Pattern.Text] {
				seen[r.Pattern.Text] = true
				counts[r.Pattern.Text]++
			}
		}
	}
	readers := 0
	for i := range modes {
		if modes[i].Can.Mentions(ir.Read) || modes[i].Can.Default != nil {
			readers++ // a mode that reads nothing agrees with every deny
		}
	}
	e.ignored = map[string]bool{}
	for text, n := range counts {
		if n == readers {
			e.ignored[text] = true
		}
	}
}

// gitignore reports whether a glob means the same in a gitignore file, which
// has no braces and other escapes; Roo's reader ignores case, as a deny does.
func gitignore(glob string) bool {
	return !strings.ContainsAny(glob, `{}\[]#! `) && isASCII(glob)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func (e *emitter) ignoreFile() []byte {
	var lines []string
	for text := range e.ignored {
		lines = append(lines, strings.TrimSuffix(text, "/**"))
		if strings.HasSuffix(text, "/**") && !strings.Contains(strings.TrimSuffix(text, "/**"), "/") {
			lines[len(lines)-1] = "/" + lines[len(lines)-1] // "dir/**" is anchored, "dir" would not be
		}
	}
	slices.Sort(lines)
	return []byte("# Written by modec: what no mode may read.\n" + strings.Join(slices.Compact(lines), "\n") + "\n")
}

// inside refuses what is no path below the root as the source means it: Roo
// tests the path as the model wrote it.
const inside = `(?![/~\\])(?![A-Za-z]:)(?![\s\S]*[\\\u0000])(?![\s\S]*//)(?!(?:[\s\S]*/)?\.{1,2}(?:/|$))`

// edit builds the group edit: what may be edited at all as one expression.
func (e *emitter) edit(m *ir.Mode, s *policy.Subject) (group, bool) {
	rules := s.Rules(ir.Edit)
	open := map[string]bool{}
	if m.Can.Edit != nil {
		for _, o := range m.Can.Edit.Open {
			open[o.Path] = true
		}
	}
	all := s.Default(ir.Edit).Decision > ir.Deny
	var denies, permits, opens []string
	var described []string
	composed := false
	for _, r := range rules {
		guard := r.Pos.File == "modec:guards"
		switch r.Pattern.Kind {
		case ir.All:
			if r.Decision == ir.Deny {
				return group{}, false
			}
			all = true
			continue
		}
		source, c, err := e.expression(r)
		if err != nil {
			hint := "write the rule as a glob"
			if r.Decision == ir.Deny {
				e.loss(m, ir.Edit, "roo-edit", r.Pos, fmt.Sprintf("%v, and the mode denies it: it loses the group edit", err), hint)
				return group{}, false
			}
			e.loss(m, ir.Edit, "roo-edit", r.Pos, fmt.Sprintf("%v: it is left out", err), hint)
			continue
		}
		switch {
		case r.Decision == ir.Deny && guard && len(open) > 0:
			composed = composed || c
			opens = append(opens, source)
		case r.Decision == ir.Deny:
			composed = composed || c
			denies = append(denies, source)
		default:
			if r.Decision == ir.Ask && c {
				composed = true
			}
			permits = append(permits, source)
			described = append(described, r.Pattern.Text)
		}
	}
	if !all && len(permits) == 0 {
		return group{}, false
	}
	var b strings.Builder
	b.WriteString("^" + inside)
	if composed {
		b.WriteString(`(?![\s\S]*` + policy.Decomposed() + ")")
	}
	if len(denies) > 0 {
		b.WriteString("(?!(?:" + strings.Join(denies, "|") + ")$)")
	}
	if len(opens) > 0 {
		var free []string
		for _, o := range m.Can.Edit.Open {
			free = append(free, regexp2.Escape(o.Path))
		}
		b.WriteString("(?=(?:" + strings.Join(free, "|") + ")$|(?!(?:" + strings.Join(opens, "|") + ")$))")
	}
	if all {
		b.WriteString(`[\s\S]+$`)
		return group{name: "edit", regex: b.String(), description: "Everything but the project's guarded and denied paths"}, true
	}
	b.WriteString("(?:" + strings.Join(permits, "|") + ")$")
	return group{name: "edit", regex: b.String(), description: strings.Join(described, ", ")}, true
}

// expression writes a rule's pattern as an expression over the whole path.
func (e *emitter) expression(r ir.Rule) (source string, composed bool, err error) {
	if r.Pattern.Kind != ir.Regex {
		return policy.ECMAScript(r.Pattern.Text, r.Decision)
	}
	if numbered(r.Pattern.Text) {
		return "", false, fmt.Errorf("the expression %q refers to its own groups, which shift when it is joined with others", r.Pattern.Text)
	}
	// Unanchored: the expression may match anywhere, and its own anchors still
	// mean the ends of the path.
	return `(?=[\s\S]*?(?:` + r.Pattern.Text + `))[\s\S]*`, r.Decision == ir.Deny, nil
}

// numbered reports whether an expression has back references or named groups.
func numbered(re string) bool {
	for i := 0; i+1 < len(re); i++ {
		switch {
		case re[i] == '\\':
			if c := re[i+1]; '1' <= c && c <= '9' || c == 'k' {
				return true
			}
			i++
		case strings.HasPrefix(re[i:], "(?<") && i+3 < len(re) && re[i+3] != '=' && re[i+3] != '!':
			return true
		}
	}
	return false
}
