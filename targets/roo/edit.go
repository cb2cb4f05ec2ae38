package roo

import (
	"errors"
	"fmt"
	"regexp"
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
	rules := s.Rules(ir.Edit)
	for _, r := range rules {
		if r.Decision > ir.Deny && r.Pos.File != ir.GuardsFile {
			w.named = append(w.named, r.Pattern.Text)
		}
	}
	for _, r := range rules {
		switch {
		case e.holds(r), !w.all && !e.reached(r, rules): // for every tool, or nothing permits it
			continue
		case r.Pos.File == ir.GuardsFile && r.Decision > ir.Deny:
			continue // present, and whether a person is asked Roo does not say
		case r.DeniesAll():
			return group{}, false
		case r.Pattern.Kind == ir.All:
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

// reached reports whether a rule decides about a path that another one permits, where
// nothing else may be edited.
func (e *emitter) reached(r ir.Rule, rules []ir.Rule) bool {
	if r.Decision > ir.Deny {
		return true
	}
	return slices.ContainsFunc(rules, func(x ir.Rule) bool {
		return x.Decision > ir.Deny && x.Pos.File != ir.GuardsFile && e.in.Policy.Meet(r, x)
	})
}

// editWriter collects the rules of a mode as parts of one expression.
type editWriter struct {
	all       bool // what no rule names may be edited
	open      []ir.OpenPath
	named     []string // the patterns of what may be edited
	permits   []word   // over whole paths
	denies    refusal  // by the rules of the mode
	guards    refusal  // by those of the project
	exprs     []string // what the mode denies by an expression
	described []string
}

// refusal is what an expression refuses: a path that begins with a word of rooted, or in
// which a word of anywhere begins a name, with all that is below it.
type refusal struct {
	rooted, anywhere []word
	dots             bool // names that are "", "." or ".." are refused too
}

func (r *refusal) add(x policy.Expression) {
	if x.Anywhere {
		r.anywhere = append(r.anywhere, x.Parts)
	} else {
		r.rooted = append(r.rooted, x.Parts)
	}
}

// expression matches the begin of a path that is refused.
func (r *refusal) expression() string {
	alternatives, names := joined(r.rooted), joined(r.anywhere)
	if r.dots {
		names = append([]string{format.Dots}, names...)
	}
	if len(names) > 0 {
		alternatives = append(alternatives, "(.*/)?"+grouped(names))
	}
	return grouped(alternatives) + format.NameEnd
}

func (w *editWriter) rule(r ir.Rule) error {
	if r.Pattern.Kind == ir.Regex {
		p, err := ecma.Parse(r.Pattern.Text)
		if err == nil {
			err = alone(p)
		}
		if err != nil {
			return fmt.Errorf("the expression %q %w", r.Pattern.Text, err)
		}
		if r.Decision == ir.Deny {
			w.exprs = append(w.exprs, begins(p))
			return nil
		}
		w.permit(r, word{matches(p)})
		return nil
	}
	guard := r.Pos.File == ir.GuardsFile
	text := r.Pattern.Text
	if guard {
		text = w.shorter(text)
	}
	all, err := policy.ECMAScript(text, r.Decision)
	if err != nil {
		return err
	}
	for _, x := range all {
		switch {
		case r.Decision > ir.Deny:
			if x.Anywhere && x.Parts[0] != ".*" {
				x.Parts = append(word{"(.*/)?"}, x.Parts...)
			}
			if r.Decision == ir.Ask { // about all that is below, too
				x.Parts = append(x.Parts, "(/.*)?")
			}
			w.permit(r, x.Parts)
		case guard && len(w.open) > 0:
			w.guards.add(x)
		default:
			w.denies.add(x)
		}
	}
	return nil
}

// shorter returns a guard that refuses more and is easier to read: the folder of an agent
// whole, unless the mode names it, and the JSON files of modec.
func (w *editWriter) shorter(guard string) string {
	folder, ok := format.AgentFolder(guard)
	switch {
	case ok && !w.names(folder):
		return folder
	case strings.HasPrefix(guard, "modec.") && strings.HasSuffix(guard, ".json"):
		return "modec.*.json"
	}
	return guard
}

// names reports whether a rule may let something in an agent's folder be edited.
func (w *editWriter) names(folder string) bool {
	return slices.ContainsFunc(w.named, func(text string) bool {
		return strings.Contains(text, strings.TrimPrefix(folder, "."))
	})
}

func (w *editWriter) permit(r ir.Rule, x word) {
	w.permits = append(w.permits, x)
	if !slices.Contains(w.described, r.Pattern.Text) {
		w.described = append(w.described, r.Pattern.Text)
	}
}

// group writes the expression: a look-ahead that refuses, and what is permitted.
func (w *editWriter) group() group {
	g := group{name: "edit", description: strings.Join(w.described, ", ")}
	body := ".*$"
	if w.all {
		g.description = format.EverythingElse
	} else {
		body = grouped(joined(w.permits)) + "$"
	}
	w.denies.dots = true
	refused := []string{format.Backslash, w.denies.expression()}
	if !plainStart.MatchString(body) {
		refused = append([]string{format.Home, format.Drive}, refused...)
	}
	text := "^" + lookNot(refused...)
	if len(w.guards.rooted)+len(w.guards.anywhere) > 0 {
		var open []word
		for _, o := range w.open {
			open = append(open, word{ecma.Quote(o.Path)})
		}
		text += lookNot(lookNot(grouped(joined(open))+"$") + w.guards.expression())
	}
	if len(w.exprs) > 0 {
		text += lookNot(w.exprs...)
	}
	g.regex = text + oneLine(body) + body
	return g
}

func lookNot(alternatives ...string) string { return "(?!" + strings.Join(alternatives, "|") + ")" }

// plainStart matches an expression for paths that begin with two characters of a name.
var plainStart = regexp.MustCompile(`^[A-Za-z0-9_-]{2}`)

// oneLine returns what restricts an expression to paths of one line. What is refused is
// looked for in the first one.
func oneLine(body string) string {
	p, err := ecma.Parse(body)
	breaks := err != nil
	if err == nil {
		p.Root.Terms(func(t ecma.Term) bool {
			if s, ok := t.(ecma.Single); ok {
				u := s.Units()
				breaks = breaks || slices.ContainsFunc([]uint16{'\n', '\r', 0x2028, 0x2029}, u.Contains)
			}
			return true
		})
	}
	if breaks {
		return "(?=.*$)"
	}
	return ""
}

// begins writes an expression that is looked for anywhere as one that matches from the
// begin of a path on.
func begins(p *ecma.Pattern) string {
	if body, ok := anchored(p, 0, ecma.Start); ok {
		return body[1:].String()
	}
	return ".*" + enclosed(p)
}

// matches writes an expression that is looked for anywhere as one over the whole path.
func matches(p *ecma.Pattern) string {
	body, start := anchored(p, 0, ecma.Start)
	if !start {
		return ".*" + enclosed(p) + ".*"
	}
	if _, end := anchored(p, len(body)-1, ecma.End); end {
		return body[1 : len(body)-1].String()
	}
	return body[1:].String() + ".*"
}

// anchored returns the only sequence of an expression, if it has an assertion at a place.
func anchored(p *ecma.Pattern, i int, kind ecma.AssertionKind) (ecma.Sequence, bool) {
	if len(p.Root) != 1 || i < 0 || i >= len(p.Root[0]) {
		return nil, false
	}
	a, ok := p.Root[0][i].(*ecma.Assertion)
	return p.Root[0], ok && a.Kind == kind
}

func enclosed(p *ecma.Pattern) string {
	if len(p.Root) > 1 {
		return "(" + p.String() + ")"
	}
	return p.String()
}

var (
	errRefers = errors.New("refers to its own groups, which shift when it is joined with others")
	errNamed  = errors.New("names a group, and a name may stand once in what it is joined to")
)

// alone fails on an expression that means something else when it is joined with others.
func alone(p *ecma.Pattern) (err error) {
	p.Root.Terms(func(t ecma.Term) bool {
		switch t := t.(type) {
		case *ecma.Reference:
			err = errRefers
		case *ecma.Group:
			if t.Name != "" {
				err = errNamed
			}
		}
		return err == nil
	})
	return err
}
