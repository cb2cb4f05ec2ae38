package roo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

// edit builds the group edit: what may be edited at all, as one expression.
func (e *emitter) edit(m *ir.Mode, s *policy.Subject) (group, bool) {
	w := editWriter{all: s.Default(ir.Edit).Decision > ir.Deny}
	if m.Can.Edit != nil {
		w.open = m.Can.Edit.Open
	}
	for _, r := range s.Rules(ir.Edit) {
		if r.Pattern.Kind == ir.All {
			if r.Decision == ir.Deny {
				return group{}, false
			}
			w.all = true
			continue
		}
		err := w.rule(r)
		switch {
		case err == nil:
		case r.Decision > ir.Deny:
			e.loss(m, ir.Edit, codeEdit, r.Pos, "%v: it is left out", err).Hint("write the rule as a glob")
		default:
			x := e.in.ExceptsGroup(ir.SubjectRef{Mode: m.Slug}, ir.Edit)
			if x == nil {
				e.loss(m, ir.Edit, codeEdit, r.Pos, "%v, and the mode denies it: it loses the group edit", err).
					Hint("write the rule as a glob, or write an exception for \"edit\"")
				return group{}, false
			}
			e.widened(m, ir.Edit, x, "keeps the group edit, which cannot deny %s: %v", r.Pattern, err)
		}
	}
	if !w.all && len(w.permits) == 0 {
		return group{}, false
	}
	return w.group(), true
}

// editWriter collects the rules of a mode as expressions over the whole path.
type editWriter struct {
	all                     bool // what no rule names may be edited
	open                    []ir.OpenPath
	permits, denies, guards []string
	described               []string
	composed                bool // some rule decides for paths in NFC only
}

func (w *editWriter) rule(r ir.Rule) error {
	source, composed, err := expression(r)
	if err != nil {
		return err
	}
	w.composed = w.composed || composed
	switch {
	case r.Decision > ir.Deny:
		w.permits = append(w.permits, source)
		w.described = append(w.described, r.Pattern.Text)
	case r.Pos.File == ir.GuardsFile && len(w.open) > 0:
		w.guards = append(w.guards, source)
	default:
		w.denies = append(w.denies, source)
	}
	return nil
}

func (w *editWriter) group() group {
	var b strings.Builder
	b.WriteString("^" + format.Guard)
	if w.composed {
		b.WriteString(`(?![\s\S]*` + policy.Decomposed() + ")")
	}
	if len(w.denies) > 0 {
		b.WriteString("(?!(?:" + strings.Join(w.denies, "|") + ")$)")
	}
	if len(w.guards) > 0 {
		free := make([]string, len(w.open))
		for i, o := range w.open {
			free[i] = ecma.Quote(o.Path)
		}
		b.WriteString("(?=(?:" + strings.Join(free, "|") + ")$|(?!(?:" + strings.Join(w.guards, "|") + ")$))")
	}
	if w.all {
		b.WriteString(`[\s\S]+$`)
		return group{name: "edit", regex: b.String(), description: format.EverythingElse}
	}
	b.WriteString("(?:" + strings.Join(w.permits, "|") + ")$")
	return group{name: "edit", regex: b.String(), description: strings.Join(w.described, ", ")}
}

// expression writes a rule's pattern as an expression over the whole path.
// composed is set where it decides for paths in Unicode NFC only.
func expression(r ir.Rule) (source string, composed bool, err error) {
	if r.Pattern.Kind != ir.Regex {
		return policy.ECMAScript(r.Pattern.Text, r.Decision)
	}
	p, err := ecma.Parse(r.Pattern.Text)
	if err != nil {
		return "", false, err
	}
	odd, err := oddCharacters(p)
	if err != nil {
		return "", false, fmt.Errorf("the expression %q %w", r.Pattern.Text, err)
	}
	// The expression may match anywhere, and its own anchors still mean the
	// ends of the path.
	if r.Decision == ir.Deny {
		return `(?=[\s\S]*?(?:` + r.Pattern.Text + "|" + odd + `))[\s\S]*`, true, nil
	}
	return `(?![\s\S]*` + odd + `)(?=[\s\S]*?(?:` + r.Pattern.Text + `))[\s\S]*`, false, nil
}

var (
	errBeyond = errors.New("contains a character beyond U+FFFF, which is two to Roo's engine")
	errRefers = errors.New("refers to its own groups, which shift when it is joined with others")
	errNamed  = errors.New("names a group, and a name may stand once in what it is joined to")
)

// oddCharacters returns a class of characters over which engines differ: halves of
// characters beyond U+FFFF, line separators, and for an expression with a word boundary
// whatever is not ASCII. modec's engine reads them as Roo's does; over a path with one of
// them the emitted expression permits nothing, whoever reads it. It fails on an expression
// that means something else when it is joined with others.
func oddCharacters(p *ecma.Pattern) (class string, err error) {
	class = format.HalvesAndSeparators
	p.Root.Terms(func(t ecma.Term) bool {
		switch t := t.(type) {
		case *ecma.Reference:
			err = errRefers
		case *ecma.Group:
			if t.Name != "" {
				err = errNamed
			}
		case *ecma.Literal:
			if t.Half() {
				err = errBeyond
			}
		case *ecma.Class:
			if slices.ContainsFunc(t.Items, func(i ecma.Item) bool { return i.First.Half() }) {
				err = errBeyond
			}
		case *ecma.Assertion:
			if t.Kind == ecma.Boundary || t.Kind == ecma.NotBoundary {
				class = format.NotASCII
			}
		}
		return err == nil
	})
	return class, err
}
