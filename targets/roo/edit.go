package roo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dlclark/regexp2"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// inside refuses what is no clean path below the root: Roo tests the path as
// the model wrote it. 1365 UTF-16 units are the most that surely fit into the
// 4096 bytes of the longest path that modec judges.
const inside = `(?!$|[/~\\]|[A-Za-z]:|[\s\S]*[\\\u0000]|[\s\S]*/(?:/|$)|(?:[\s\S]*/)?\.{1,2}(?:/|$)|[\s\S]{1366})`

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
			e.loss(m, ir.Edit, codeEdit, r.Pos, fmt.Sprintf("%v: it is left out", err), "write the rule as a glob")
		default:
			x := e.in.ExceptsGroup(ir.SubjectRef{Mode: m.Slug}, ir.Edit)
			if x == nil {
				e.loss(m, ir.Edit, codeEdit, r.Pos, fmt.Sprintf("%v, and the mode denies it: it loses the group edit", err),
					"write the rule as a glob, or write an exception for \"edit\"")
				return group{}, false
			}
			e.widened(m, ir.Edit, x, fmt.Sprintf("keeps the group edit, which cannot deny %s: %v", r.Pattern, err))
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
	b.WriteString("^" + inside)
	if w.composed {
		b.WriteString(`(?![\s\S]*` + policy.Decomposed() + ")")
	}
	if len(w.denies) > 0 {
		b.WriteString("(?!(?:" + strings.Join(w.denies, "|") + ")$)")
	}
	if len(w.guards) > 0 {
		free := make([]string, len(w.open))
		for i, o := range w.open {
			free[i] = regexp2.Escape(o.Path)
		}
		b.WriteString("(?=(?:" + strings.Join(free, "|") + ")$|(?!(?:" + strings.Join(w.guards, "|") + ")$))")
	}
	if w.all {
		b.WriteString(`[\s\S]+$`)
		return group{name: "edit", regex: b.String(), description: everythingElse}
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
	odd, err := oddCharacters(r.Pattern.Text)
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
	errBeyond = errors.New("holds a character beyond U+FFFF, which is two to Roo's engine")
	errRefers = errors.New("refers to its own groups, which shift when it is joined with others")
	errNamed  = errors.New("names a group, and a name may stand once in what it is joined to")
	errRepeat = errors.New("repeats an assertion, which Roo's engine refuses")
)

// oddCharacters returns a class of the characters of a path over which an
// expression means one thing to modec's engine and another to Roo's: halves of
// characters beyond U+FFFF, line separators, and where a word boundary is asked
// for whatever is not ASCII. It fails on an expression that Roo's engine
// refuses, since Roo then drops every mode of the file, and on one that means
// something else when it is joined with others.
func oddCharacters(re string) (class string, err error) {
	class = `[\uD800-\uDFFF\u2028\u2029]`
	inClass := false
	asserts := false  // the item before is an assertion
	var opened []bool // of each group around, whether it is an assertion
	for i := 0; i < len(re); i++ {
		c, before := re[i], asserts
		asserts = false
		switch {
		case c >= 0xF0: // the first byte of a character beyond U+FFFF
			return "", errBeyond
		case c == '\\':
			i++
			switch n := re[i]; {
			case inClass:
			case '1' <= n && n <= '9' || n == 'k':
				return "", errRefers
			case n == 'b' || n == 'B':
				class, asserts = `[^\u0000-\u007F]`, true
			case n >= 0xF0:
				return "", errBeyond
			}
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
		case c == '^' || c == '$':
			asserts = true
		case c == '(':
			open, assertion := opening(re[i:])
			if open == "" {
				return "", errNamed
			}
			opened = append(opened, assertion)
			i += len(open) - 1
		case c == ')' && len(opened) > 0:
			asserts, opened = opened[len(opened)-1], opened[:len(opened)-1]
		case before && (strings.IndexByte("*+?", c) >= 0 || c == '{' && quantifies(re[i:])):
			return "", errRepeat
		}
	}
	return class, nil
}

// opening returns what opens a group, "" for a named one, and whether the
// group is an assertion that ECMAScript does not let repeat.
func opening(re string) (open string, assertion bool) {
	for _, o := range []string{"(?<=", "(?<!"} {
		if strings.HasPrefix(re, o) {
			return o, true
		}
	}
	for _, o := range []string{"(?:", "(?=", "(?!"} {
		if strings.HasPrefix(re, o) {
			return o, false
		}
	}
	if strings.HasPrefix(re, "(?") {
		return "", false
	}
	return "(", false
}

// quantifies reports whether a brace opens a quantifier, and is not itself.
func quantifies(re string) bool {
	n := strings.TrimLeft(re[1:], "0123456789")
	if len(n) == len(re)-1 {
		return false
	}
	if strings.HasPrefix(n, ",") {
		n = strings.TrimLeft(n[1:], "0123456789")
	}
	return strings.HasPrefix(n, "}")
}
