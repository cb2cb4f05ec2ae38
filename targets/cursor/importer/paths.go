package importer

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// files adds a Read or Write token. The engine compares the absolute
// path, and a star is any text; the documentation starts at the workspace. A deny
// of the source is both.
func (im *importer) files(r *ir.Role, t format.Token) {
	table, outside := r.Can.Read, &r.Can.OutsideRead
	if t.Keyword == format.Write {
		table, outside = r.Can.Edit, &r.Can.OutsideEdit
	}
	texts := []string{t.Inside}
	if absolutePath().MatchString(t.Inside) {
		*outside = &ir.Default{Decision: ir.Deny, Pos: t.At}
		if texts = below(t.Inside); len(texts) == 0 {
			im.out.Note(contract.NeedsDecision, t.At, "role "+r.Name, string(t.Keyword)+"("+t.Inside+")",
				"it is denied outside the project: where the project lies in it, deny it there too")
		}
	}
	for _, text := range texts {
		globs := engineGlobs(text)
		if strings.ContainsAny(text, special) {
			globs = append(globs, documentedGlob(text))
		}
		for _, g := range globs {
			if policy.CheckGlob(g) != nil {
				g = "**"
			}
			table.Rules = append(table.Rules, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: g}, Pos: t.At})
		}
	}
}

var (
	absolutePath = lazy.Regexp(`\A(?:/|~|file:|[A-Za-z]:|\\\\)`)
	// noProject matches folders in which nobody keeps a project.
	noProject = lazy.Regexp(`\A(?:/(?:etc|usr|bin|sbin|lib|lib64|proc|sys|dev|boot` +
		`|System|Library|Applications)|~/\.[^/*]+)(?:/|\z)`)
	// manyProjects matches folders that contain projects, whatever their names.
	manyProjects = lazy.Regexp(`\A(?:~?|/home(?:/[^/*]+)?|/Users(?:/[^/*]+)?|/root|/workspaces?|/mnt|/data)\z`)
)

// below returns what an absolute pattern may be as seen from the project, which may lie
// anywhere but where nobody keeps a project.
func below(text string) []string {
	text = strings.TrimPrefix(text, "file://")
	if noProject().MatchString(text) {
		return nil
	}
	dir, rest := text, ""
	if i := strings.IndexByte(text, '*'); i >= 0 {
		i = strings.LastIndexByte(text[:i], '/') + 1
		dir, rest = text[:i], text[i:]
	}
	if dir = strings.TrimSuffix(dir, "/"); manyProjects().MatchString(dir) {
		switch {
		case strings.HasPrefix(rest, "*"):
			return []string{rest}
		case rest == "":
			return []string{"**"} // the folder itself
		}
		return []string{"/" + rest, "**/" + rest}
	}
	// /a/b/c is a/b/c, b/c or c.
	var out []string
	names := strings.Split(strings.Trim(dir, "/"), "/")
	for i := 1; i < len(names); i++ {
		out = append(out, "/"+strings.Join(append(slices.Clone(names[i:]), rest), "/"))
	}
	return out
}

// engineGlobs returns a pattern of which only "*" is a wildcard, for any text, as
// globs of the source. One that does not start with a star starts at the root.
func engineGlobs(text string) []string {
	g := globs{""}
	if text = strings.TrimPrefix(text, "./"); !strings.HasPrefix(text, "*") && !strings.HasPrefix(text, "/") {
		g.append("/")
	}
	for text != "" {
		c := text[:1]
		switch {
		case c == "*":
			text = strings.TrimLeft(text, "*")
			if !g.star(text) {
				return g
			}
			continue
		case strings.Contains(`?[]{}\`, c):
			g.append("?") // glob syntax has no escape that every agent knows
		default:
			g.append(c)
		}
		text = text[1:]
	}
	return g.simplified()
}

// globs are the globs that a pattern becomes.
type globs []string

// mostGlobs is how many globs one pattern becomes at most.
const mostGlobs = 8

// append adds a text to each.
func (g globs) append(s string) {
	for i := range g {
		g[i] += s
	}
}

// star adds any text, "/" included, before the rest of the pattern. Where that would be
// too many globs, these match everything that starts as they do, and star returns false.
func (g *globs) star(rest string) bool {
	first := (*g)[0]
	segment := first == "" || strings.HasSuffix(first, "/") // a path's segment starts here
	slash := strings.HasPrefix(rest, "/")
	switch {
	case segment && (rest == "" || slash):
		g.append("**")
	case segment:
		g.append("**/*")
	case rest == "":
		g.append("*")
	case slash:
		g.append("*/**")
	case len(*g) >= mostGlobs:
		g.append("*")
		return false
	default:
		deeper := slices.Clone(*g)
		g.append("*")
		deeper.append("*/**/*")
		*g = append(*g, deeper...)
	}
	return true
}

// simplified returns the globs sorted, in their shortest form.
func (g globs) simplified() []string {
	for i, glob := range g {
		for strings.Contains(glob, "**/**/") {
			glob = strings.ReplaceAll(glob, "**/**/", "**/")
		}
		if glob == "/**" || glob == "**/*" || glob == "/" {
			glob = "**"
		}
		g[i] = glob
	}
	slices.Sort(g)
	return slices.Compact(g)
}

// documentedGlob returns a pattern as picomatch reads it, with any text in the place of
// what the source cannot write.
func documentedGlob(text string) string {
	text = strings.Map(func(c rune) rune {
		if strings.ContainsRune(`!()+@|\`, c) {
			return '*'
		}
		return c
	}, strings.TrimPrefix(text, "./"))
	if !strings.Contains(text, "/") && !strings.HasPrefix(text, "*") {
		text = "/" + text // from the workspace's root
	}
	return text
}

// implied removes the denies that another one says already. covers reports whether one
// pattern matches everything that another one does, equal ones aside.
func implied(t *ir.Table, covers func(wide, narrow string) bool) {
	deny := func(r ir.Rule) bool { return r.Decision == ir.Deny && r.Pattern.Kind == ir.Plain }
	every := func(r ir.Rule) bool { return deny(r) && (r.Pattern.Text == "*" || r.Pattern.Text == "**") }
	if i := slices.IndexFunc(t.Rules, every); i >= 0 {
		t.Rules = []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: t.Rules[i].Pos}}
		return
	}
	rules := slices.Clone(t.Rules)
	seen := map[ir.Pattern]bool{}
	t.Rules = slices.DeleteFunc(t.Rules, func(r ir.Rule) bool {
		if !deny(r) {
			return false
		}
		twice := seen[r.Pattern]
		seen[r.Pattern] = true
		return twice || slices.ContainsFunc(rules, func(o ir.Rule) bool {
			return deny(o) && covers(o.Pattern.Text, r.Pattern.Text)
		})
	})
}

// coversPath reports whether a path lies below another: a deny of a path holds there too,
// dot files included, for which Cursor needs tokens of their own.
func coversPath(wide, narrow string) bool { return strings.HasPrefix(narrow, wide+"/") }

func coversNothing(string, string) bool { return false }
