package claude

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
)

// settings is a settings file, or what flags say in its place.
type settings struct {
	file    string
	rules   [ir.Allow + 1]ruleSet
	mode    string
	noAuto  bool
	noPass  bool
	noHooks bool
	hooks   []*listener
	servers []string // with strict
	strict  bool
	agent   string // as which subagent the session runs
}

// permissionModes are the values of defaultMode; any other keeps the whole file
// from loading.
var permissionModes = map[string]bool{"default": true, "manual": true, "plan": true, "acceptEdits": true, "dontAsk": true, "auto": true, "bypassPermissions": true, "delegate": true}

// settings reads a settings file, nil for one that Claude Code does not load.
// base is the folder that a rule's leading / stands for. The mode auto is not
// taken from a file of the project.
func (o *opener) settings(name string, data []byte, base string, ofProject bool) *settings {
	v, err := located.JSON(name, data)
	if err != nil || !v.Is(located.Object) {
		o.warn(diag.Pos{File: name}, "got settings that do not load: %v", err)
		return nil
	}
	s := &settings{file: name}
	p := v.Get("permissions")
	if mode := p.Get("defaultMode"); mode != nil {
		text, ok := mode.Str()
		if !ok || !permissionModes[text] {
			o.warn(mode.Line(), "got the mode %q, for which the whole file does not load", text)
			return nil
		}
		if s.mode = text; ofProject && text == "auto" {
			s.mode = ""
		}
	}
	for list, key := range [...]string{ir.Deny: "deny", ir.Ask: "ask", ir.Allow: "allow"} {
		for _, r := range p.Get(key).List() {
			text, ok := r.Str()
			if !ok {
				o.warn(r.Line(), "got a rule in %s that is no text", key)
				continue
			}
			if err := s.rules[list].add(ir.Decision(list), text, r.Line(), base); err != nil {
				o.warn(r.Line(), "got the rule %q in %s, which Claude Code leaves out: %v", text, key, err)
			}
		}
	}
	disable := func(key string) bool { text, _ := p.Get(key).Str(); return text == "disable" }
	s.noAuto, s.noPass = disable("disableAutoMode"), disable("disableBypassPermissionsMode")
	s.noHooks = v.Get("disableAllHooks").True()
	s.agent, _ = v.Get("agent").Str()
	s.hooks = o.hooksOf(v.Get("hooks"))
	return s
}

// toolList is a list of tools: a subagent's tools, its disallowedTools, or
// --tools, which speaks of built-in tools only.
type toolList struct {
	patterns [][]string // names, cut at each *
	not      bool
	builtin  bool
}

// newToolList reads names with or without a specifier, which scopes nothing
// here.
func newToolList(names []string, not, builtin bool) *toolList {
	l := &toolList{not: not, builtin: builtin}
	for _, n := range names {
		if i := strings.IndexByte(n, '('); i >= 0 {
			n = n[:i]
		}
		if n = strings.TrimSpace(n); n == "Task" {
			n = "Agent"
		}
		if n != "" {
			l.patterns = append(l.patterns, strings.Split(n, "*"))
		}
	}
	return l
}

// names reports whether a list of tools to be offered holds one.
func (l *toolList) names(tool string) bool { return !l.not && l.match(tool) }

func (l *toolList) offers(tool string) bool {
	return l.builtin && strings.HasPrefix(tool, "mcp__") || l.match(tool) != l.not
}

func (l *toolList) match(tool string) bool {
	for _, p := range l.patterns {
		if wild(p, tool) || len(p) == 1 && strings.HasPrefix(p[0], "mcp__") && !strings.Contains(p[0][5:], "__") && strings.HasPrefix(tool, p[0]+"__") {
			return true
		}
	}
	return false
}

// agent is a subagent.
type agent struct {
	name  string
	at    diag.Pos
	tools []*toolList
	mode  string
	hooks []*listener
}

// frontMatter cuts a Markdown file into its front matter and the rest. Places in
// the front matter are those of the file.
func frontMatter(name string, data []byte) (v *located.Value, body string, err error) {
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\uFEFF"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	front, body, closed := strings.Cut("\n"+rest, "\n---\n")
	if !closed {
		front, closed = strings.CutSuffix("\n"+rest, "\n---")
	}
	if !ok || !closed {
		return nil, "", errNoFrontMatter
	}
	v, err = located.YAML(name, []byte(front)) // the cut's line break stands for the dashes' line
	if err == nil {
		return v, body, nil
	}
	if v, again := located.YAML(name, []byte(quoted(front))); again == nil {
		return v, body, nil
	}
	return nil, "", fmt.Errorf("got front matter that does not load: %w", err)
}

var oneLine = regexp.MustCompile(`^([A-Za-z0-9_-]+):[ \t]+(.+)$`)

// quoted quotes the values that are no YAML by themselves, as in `description: Use
// when: always`. Observed on 2.1.329: such a subagent loads, its other fields as
// they stand; one whose value goes on over further lines does not.
func quoted(front string) string {
	lines := strings.Split(front, "\n")
	for i, l := range lines {
		m := oneLine.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		if _, err := located.YAML("", []byte(l)); err != nil {
			lines[i] = m[1] + ": " + quote(strings.TrimSpace(m[2]))
		}
	}
	return strings.Join(lines, "\n")
}

var errNoFrontMatter = errors.New("got a file without front matter, which is no subagent")

// agent reads a subagent's file, nil for one that Claude Code does not load.
// tools and disallowedTools are a list or a text with commas; without tools the
// subagent has all of the session's.
func (o *opener) agent(name string, data []byte) *agent {
	v, _, err := frontMatter(name, data)
	if err != nil {
		o.warn(diag.Pos{File: name}, "%v", err)
		return nil
	}
	a := &agent{at: diag.Pos{File: name}}
	var ok bool
	if a.name, ok = v.Get("name").Str(); !ok || a.name == "" {
		o.warn(a.at, "got a subagent without a name")
		return nil
	}
	if t := v.Get("tools"); t != nil && !t.Is(located.Null) {
		a.tools = append(a.tools, newToolList(toolNames(t), false, false))
		a.at = t.Line()
	}
	if t := v.Get("disallowedTools"); t != nil {
		a.tools = append(a.tools, newToolList(toolNames(t), true, false))
	}
	if mode, ok := v.Get("permissionMode").Str(); ok {
		if a.mode = mode; !permissionModes[mode] {
			o.warn(v.Get("permissionMode").Line(), "got the mode %q, which Claude Code leaves out", mode)
			a.mode = ""
		}
	}
	a.hooks = o.hooksOf(v.Get("hooks"))
	return a
}

func toolNames(v *located.Value) []string {
	if text, ok := v.Str(); ok {
		return splitRules(text, false)
	}
	return v.Strings()
}

// enter lays a subagent over its session. Its own mode holds unless the session
// has one that Claude Code does not let a subagent lower.
func (s *session) enter(a *agent) {
	s.tools = append(s.tools, a.tools...)
	s.hooks = append(s.hooks, a.hooks...)
	switch s.mode {
	case "bypassPermissions", "acceptEdits", "auto":
	default:
		if a.mode != "" {
			s.mode = a.mode
		}
	}
}
