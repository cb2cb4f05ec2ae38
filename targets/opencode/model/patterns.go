package model

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// Patterns returns the patterns of what a subject's sessions permit, in the source's grammar as near as it goes: there
// a "*" crosses no slash. What no file can be called is left out, and so is what stands for everything.
func (d *Decider) Patterns(ref ir.SubjectRef) map[ir.Group][]ir.Pattern {
	out := map[ir.Group][]ir.Pattern{}
	for i := range d.setups[ref] {
		s := d.session(ref, i)
		for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web} {
			for _, r := range s.Rules {
				if r.At.File == "" || r.Decision == ir.Deny || r.Pattern == format.Every ||
					!format.Match(r.Key, keys[g]) {
					continue
				}
				p := ir.Pattern{Text: inSource(g, r.Pattern)}
				if p.Text != "" && !slices.Contains(out[g], p) {
					out[g] = append(out[g], p)
				}
			}
		}
	}
	for _, h := range d.hooked(ref) {
		h.AddPermitted(out, ref)
	}
	return out
}

// inSource translates a pattern of a group, "" for none.
func inSource(g ir.Group, pattern string) string {
	switch g {
	case ir.Command:
		if strings.HasPrefix(pattern, "*") { // no program begins it
			return ""
		}
		return pattern
	case ir.Web:
		_, host, _ := strings.Cut(pattern, "://")
		if i := strings.IndexAny(host, "/?"); i >= 0 {
			host = host[:i]
		}
		if below, ok := strings.CutPrefix(host, "*."); ok {
			return "*." + strings.ReplaceAll(below, "*", "x")
		}
		return strings.ReplaceAll(host, "*", "x")
	}
	return glob(strings.ReplaceAll(pattern, `\`, "/"))
}

// glob returns the glob of the paths that a pattern matches.
func glob(pattern string) string {
	if strings.Contains(pattern, "//") || strings.HasPrefix(pattern, "/") ||
		strings.HasPrefix(pattern, "~") && !strings.HasPrefix(pattern, "~/") {
		return ""
	}
	for strings.Contains(pattern, "**") {
		pattern = strings.ReplaceAll(pattern, "**", "*")
	}
	var b strings.Builder
	for i, c := range pattern {
		begins := i == 0 || pattern[i-1] == '/'
		ends := i+1 == len(pattern)
		switch {
		case c == '*' && begins && ends:
			b.WriteString("**")
		case c == '*' && begins && pattern[i+1] == '/':
			b.WriteString("*/**")
		case c == '*' && begins:
			b.WriteString("**/*")
		case c == '*':
			b.WriteString("{*,*/**/*}")
		case strings.ContainsRune("[]{}", c):
			b.WriteString(`\` + string(c))
		default:
			b.WriteRune(c)
		}
	}
	if policy.CheckGlob(b.String()) != nil {
		return pattern
	}
	return b.String()
}
