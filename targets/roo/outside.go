package roo

import (
	"errors"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/roo/format"
)

// anywhere builds the group edit of a mode that may edit files outside the project, where its
// expressions are about the last name of a path: that is the same however the path is written. It
// reports false where one path in two spellings could be decided in two ways. The mode then
// edits inside the project only, and so it does where the ignore file, which says nothing of paths outside, has more
// names than an expression should repeat.
func (e *emitter) anywhere(m *ir.Mode, s *policy.Subject) (group, bool) {
	t := m.Can.Edit
	if !opensOutside(m, s) || t == nil || s.Default(ir.Edit).Decision > ir.Deny {
		return group{}, false
	}
	w, ignored := editWriter{description: t.Description}, editWriter{}
	rules := s.Rules(ir.Edit)
	for _, r := range rules {
		to := &w
		if e.ignores(r) { // inside the agent refuses it, however the path is written
			to = &ignored
		}
		switch {
		case r.Decision == ir.Deny && !e.reached(r, rules):
			continue
		case r.DeniesAll(), r.Pattern.Kind == ir.All, r.Decision == ir.Deny && r.Pattern.Kind == ir.Regex,
			to.rule(r) != nil:
			return group{}, false
		}
	}
	body := w.body()
	if len(w.denies.rooted) > 0 || len(w.permits) == 0 || !aboutNames("^"+body) {
		return group{}, false
	}
	g := group{name: "edit", description: w.describes(), regex: "^"}
	names := ignored.folders(body)
	refused, ok := anyNames(append(slices.Clone(w.denies.anywhere), names...))
	switch own := w.permits[0].pattern; {
	case !ok:
		return group{}, false
	case refused == "" && len(w.permits) == 1 && own != nil:
		g.regex = own.String()
		return g, true
	case len(names) > 0 && len("^"+lookNot(refused)+body) > longestIgnored:
		return group{}, false
	}
	if refused != "" {
		g.regex += lookNot(refused)
	}
	if breaksLines(body) {
		g.regex += "(?=.*$)" // of what is refused only the first line is looked at
	}
	g.regex += body
	return g, true
}

// folders returns the names of the ignore file that count at any depth. What lies in a folder is refused with a file of
// the folder's name, which nothing permits.
func (w *editWriter) folders(body string) []word {
	names := slices.Clone(w.denies.anywhere)
	for i, name := range names {
		last := len(name) - 2
		if last < 1 || name[last] != "/" || name[last+1] != ".+" || slices.Contains(name[:last], "/") {
			continue
		}
		folder := name[:last:last]
		if at := "^(.*/)?" + strings.ReplaceAll(folder.String(), "[^/]", ".") + "$"; !newReachable("^" + body).any(at) {
			names[i] = folder
		}
	}
	return names
}

// opensOutside reports whether a mode says that it may edit outside the project.
func opensOutside(m *ir.Mode, s *policy.Subject) bool {
	return m.Can.OutsideEdit != nil && s.Outside(ir.Edit).Decision > ir.Deny
}

// longestIgnored is how many letters an expression has at most that repeats the names of the ignore file, since that
// file says nothing of paths outside. A longer one nobody could read.
const longestIgnored = 120

// anyNames returns what refuses single names wherever they stand in a path, "" where none is
// refused. It reports false for several names: other ones may stand between them in another spelling.
func anyNames(words []word) (string, bool) {
	names := joined(words)
	if len(names) == 0 {
		return "", true
	}
	text := grouped(names)
	if bare := strings.ReplaceAll(text, "[^/]", ""); strings.ContainsAny(bare, "/[") {
		return "", false
	}
	return format.Folders + strings.ReplaceAll(text, "[^/]", format.AnyName) + format.AnyEnd, true
}

// aboutNames reports whether an expression takes a path of one line by its last name alone, whatever
// leads to it. Where a system separates names by a backslash, it takes that by its last name, too. No
// such name is one of those that lead elsewhere.
func aboutNames(expr string) bool {
	p, err := ecma.Parse(expr)
	if err != nil {
		return false
	}
	if nameAtEnd(p) {
		return true
	}
	sp := regexlang.New(units)
	least, err1 := sp.ECMAScriptWithin(p, regexlang.Bound{Fewer: true})
	most, err2 := sp.ECMAScriptWithin(p, regexlang.Bound{})
	line, err3 := sp.Go(`^[^\n\r]*$`)
	slashed, err4 := sp.Go(`/`)
	separated, err5 := sp.Go(`[/\\]`)
	elsewhere, err6 := sp.Go(`^\.{0,2}$`)
	if errors.Join(err1, err2, err3, err4, err5, err6) != nil {
		return false
	}
	most = sp.And(most, line)
	names := sp.Without(most, slashed)
	paths := sp.Or(names, sp.Cat(line, sp.Text("/"), names))
	windows := sp.Without(names, separated)
	windows = sp.Or(windows, sp.Cat(line, sp.Text(`\`), windows))
	return !sp.Meets(most, sp.Not(paths)) && !sp.Meets(paths, sp.Not(sp.And(least, line))) &&
		!sp.Meets(names, sp.Not(windows)) && !sp.Meets(names, elsewhere)
}

// nameAtEnd reports whether an expression is about the end of the last name of a path alone, by its form: an
// expression that is not regular has no language to compare. What stands before its $ looks at nothing
// around it, and takes no separator, no line break and no name that leads elsewhere.
func nameAtEnd(p *ecma.Pattern) bool {
	if len(p.Root) != 1 {
		return false
	}
	body := p.Root[0]
	last := len(body) - 1
	if last < 3 || !isAssertion(body[0], ecma.Start) || !isAnything(body[1]) || !isAssertion(body[last], ecma.End) {
		return false
	}
	inner := ecma.Alternation{body[2:last]}
	looks := false
	inner.Terms(func(t ecma.Term) bool {
		_, look := t.(*ecma.Look)
		_, assertion := t.(*ecma.Assertion)
		looks = looks || look || assertion
		return !looks
	})
	sp := regexlang.New(units)
	alone, err1 := ecma.Parse("^(?:" + inner.String() + ")$")
	if looks || err1 != nil {
		return false
	}
	most, err2 := sp.ECMAScriptWithin(alone, regexlang.Bound{})
	not, err3 := sp.Go(`[/\\\n\r\x{2028}\x{2029}]|^\.{0,2}$`)
	return errors.Join(err2, err3) == nil && !sp.Meets(most, not)
}
