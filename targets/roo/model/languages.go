package model

import (
	"errors"
	"maps"
	"slices"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
)

// errThrows is why an ignore file has no language: npm ignore throws at some paths.
var errThrows = errors.New("a line of the ignore file is not an expression")

// Contains reports whether a subject is a mode that is there.
func (d *decider) Contains(ref ir.SubjectRef) bool { return d.modes[ref.Mode] != nil && ref.Role == "" }

// KnownPrograms returns those whose words are held against the ignore file.
func (d *decider) KnownPrograms() []string { return slices.Sorted(maps.Keys(fileReaders)) }

// Patterns returns the fileRegex of a mode.
func (d *decider) Patterns(ref ir.SubjectRef) map[ir.Group][]ir.Pattern {
	if m := d.modes[ref.Mode]; m != nil && ref.Role == "" {
		if edits := m.groups["edit"].regex; edits != nil {
			return map[ir.Group][]ir.Pattern{ir.Edit: {{Kind: ir.Regex, Text: edits.text}}}
		}
	}
	return nil
}

// Languages returns what decides about a mode's plain files: the ignore file and the fileRegex of
// its group. No other line, host or mode is decided by its name.
func (d *decider) Languages(ref ir.SubjectRef, of policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	m := d.modes[ref.Mode]
	g := of.Group
	switch {
	case m == nil || ref.Role != "":
		return nil, nil
	case g == ir.MCP:
		return d.tools(m, of.Server, sp)
	case g != ir.Read && g != ir.Edit:
		return nil, nil
	}
	ignored, err := d.ignore.language(sp)
	if err != nil || g == ir.Read {
		return []regexlang.Language{ignored}, err
	}
	all := []regexlang.Language{ignored}
	for _, extension := range []string{".png", ".jpg"} { // picture
		slash := sp.Text("/")
		free := sp.Without(sp.Not(ignored), sp.Or(regexlang.Empty, sp.Cat(regexlang.All, slash)))
		name := sp.Or(free, sp.Cat(free, slash)) // a name that ends in a slash resolves to the one without
		all = append(all, sp.And(ignored, sp.Cat(name, sp.Text(extension))))
	}
	edits := m.groups["edit"].regex
	if edits == nil {
		return all, nil
	}
	regex := edits.prepared()
	matched, err := regex.language(sp, nil)
	if err != nil {
		return nil, err
	}
	return append(all, sp.Without(matched, ignored)), nil
}

// tools returns what decides about the tools of a server: the lists of mcp.json, and the restrictions
// of the mode.
func (d *decider) tools(m *mode, server string, sp *regexlang.Space) ([]regexlang.Language, error) {
	s := d.servers[server]
	names := func(of map[string]*located.Value) regexlang.Language {
		var any []regexlang.Language
		for name := range of {
			any = append(any, sp.Text(name))
		}
		return sp.Or(any...)
	}
	matched := func(
		list []toolPattern, ofServer func(pattern, string) bool, as func(pattern) *regex,
	) (regexlang.Language, error) {
		var any []regexlang.Language
		for _, p := range list {
			if !ofServer(p.server, server) {
				continue
			}
			any = append(any, sp.Text(p.tool.Text))
			if re := as(p.tool); re != nil && re.re != nil {
				l, err := sp.ECMAScript(re.re.Pattern, re == p.tool.anyCase)
				if err != nil {
					return regexlang.None, err
				}
				any = append(any, l)
			}
		}
		return sp.Or(any...), nil
	}
	allowed, err := matched(m.restrictions.allowedTools, pattern.allows, func(p pattern) *regex { return p.anyCase })
	if err != nil {
		return nil, err
	}
	held, err := matched(m.restrictions.disallowedTools, pattern.disallows, func(p pattern) *regex { return p.exact })
	return []regexlang.Language{names(s.DisabledTools), names(s.AlwaysAllow), allowed, held}, err
}

// language returns what an expression matches where each letter is read as another one.
func (r *regex) language(sp *regexlang.Space, as func(rune) rune) (regexlang.Language, error) {
	if r.re == nil {
		return regexlang.All, nil
	}
	return sp.ECMAScriptAs(r.re.Pattern, as)
}

// language returns the paths that the file refuses: those that its rules match, and what is below
// a folder that they match. A rule that begins with "!" takes back what those before it match.
func (g *ignoreFile) language(sp *regexlang.Space) (regexlang.Language, error) {
	matched := regexlang.None
	for i := range g.rules {
		r := &g.rules[i]
		if r.regex == nil {
			return regexlang.None, errThrows
		}
		of, err := sp.ECMAScript(r.regex.re.Pattern, true)
		if err != nil {
			return regexlang.None, err
		}
		if r.negative {
			matched = sp.Without(matched, of)
		} else {
			matched = sp.Or(matched, of)
		}
	}
	folders := sp.And(matched, sp.Cat(regexlang.All, sp.Text("/")))
	below := sp.Cat(folders, regexlang.Some)
	return sp.Or(matched, below), nil
}
