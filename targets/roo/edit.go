package roo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/roo/format"
)

// edit builds the group edit: what may be edited at all, as one expression.
func (e *emitter) edit(m *ir.Mode, s *policy.Subject) (group, bool) {
	w := editWriter{all: s.Default(ir.Edit).Decision > ir.Deny}
	if m.Can.Edit != nil {
		w.description = m.Can.Edit.Description
	}
	rules := s.Rules(ir.Edit)
	for _, r := range rules {
		switch {
		case e.ignores(r), !w.all && !e.reached(r, rules): // for every tool, or nothing permits it
			continue
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
			if !e.in.Keeps(&e.diags, e.name, ir.SubjectRef{Mode: m.Slug}, ir.Edit, r.Pos, "it cannot deny %s: %v",
				r.Pattern, err) {
				e.loss(m, ir.Edit, codeEdit, r.Pos, "%v, and the mode denies it: it loses the group edit", err).
					Hint("write the rule as a glob, or write an exception for \"edit\"")
				return group{}, false
			}
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
		return x.Decision > ir.Deny && e.in.Policy.Meet(r, x)
	})
}

// editWriter collects the rules of a mode as parts of one expression.
type editWriter struct {
	all       bool     // what no rule names may be edited
	permits   []permit // over whole paths
	denies    refusal  // by the rules of the mode
	exprs     []string // what the mode denies by an expression
	described []string
	groups    int // that have names
	// description is what the source says of the group, for people.
	description string
}

// refusal is what an expression refuses: a path that begins with a word of rooted, or in
// which a word of anywhere begins a name, with all that is below it.
type refusal struct {
	rooted, anywhere []word
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
	if len(names) > 0 {
		alternatives = append(alternatives, "(.*/)?"+grouped(names))
	}
	return grouped(alternatives) + format.NameEnd
}

func (w *editWriter) rule(r ir.Rule) error {
	if r.Pattern.Kind == ir.Regex {
		p, err := ecma.Parse(r.Pattern.Text)
		if err != nil {
			return fmt.Errorf("the expression %q %w", r.Pattern.Text, err)
		}
		if r.Decision == ir.Deny {
			w.exprs = append(w.exprs, begins(w.standalone(p)))
			return nil
		}
		x := matches(w.standalone(p))
		x.pattern = p
		w.permit(r, x)
		return nil
	}
	all, err := policy.ECMAScript(r.Pattern.Text, r.Decision)
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
			w.permit(r, permit{parts: x.Parts})
		default:
			w.denies.add(x)
		}
	}
	return nil
}

func (w *editWriter) permit(r ir.Rule, x permit) {
	w.permits = append(w.permits, x)
	if !slices.Contains(w.described, r.Pattern.Text) {
		w.described = append(w.described, r.Pattern.Text)
	}
}

// group writes the expression: a look-ahead that refuses, and what is permitted. What an author
// wrote stays as it is where it reaches nothing that is refused.
func (w *editWriter) group() group {
	g := group{name: "edit", description: w.describes()}
	refused := w.refused()
	switch own := len(w.permits) == 1 && w.permits[0].pattern != nil; {
	case w.all && len(refused) == 0:
		g.description = w.description
	case w.all:
		g.description = cmp.Or(w.description, format.EverythingElse)
		g.regex = "^" + lookNot(refused...) + ".*$"
	case len(refused) == 0 && own, own && !newReachable(w.permits[0].pattern.String()).any("^"+lookAhead(refused...)):
		g.regex = w.permits[0].pattern.String()
	case len(refused) == 0:
		g.regex = strings.TrimPrefix("^"+w.body(), "^.*")
	default:
		g.regex = "^" + lookNot(refused...) + w.body()
	}
	return g
}

// describes returns what the group says for people.
func (w *editWriter) describes() string {
	if w.description == "" && slices.ContainsFunc(w.permits, func(p permit) bool { return p.pattern == nil }) {
		return strings.Join(w.described, ", ") // an expression alone describes itself
	}
	return w.description
}

// refused returns what the look-ahead refuses.
func (w *editWriter) refused() (refused []string) {
	if len(w.denies.rooted)+len(w.denies.anywhere) > 0 {
		refused = append(refused, w.denies.expression())
	}
	return append(refused, w.exprs...)
}

// body writes what is permitted.
func (w *editWriter) body() string {
	if len(w.permits) == 1 {
		p := w.permits[0]
		return p.String() + p.end.close()
	}
	all := make([]word, len(w.permits))
	for i, p := range w.permits {
		all[i] = p.parts
		if p.end == openEnd {
			all[i] = append(slices.Clone(p.parts), ".*")
		}
	}
	return grouped(joined(all)) + "$"
}

func lookNot(alternatives ...string) string { return "(?!" + strings.Join(alternatives, "|") + ")" }

func lookAhead(alternatives ...string) string { return "(?=" + strings.Join(alternatives, "|") + ")" }

// reachable is what an expression matches, at least.
type reachable struct {
	*regexlang.Space
	paths regexlang.Language
}

// units are all letters.
var units = regexlang.SetOf(func(rune) bool { return true })

func newReachable(expr string) reachable {
	r := reachable{regexlang.New(units), regexlang.All}
	if p, err := ecma.Parse(expr); err == nil {
		if l, err := r.ECMAScriptWithin(p, regexlang.Bound{}); err == nil {
			r.paths = l
		}
	}
	return r
}

// any reports whether one of some expressions, in which the dot matches line terminators, may
// match a path that is reachable.
func (r reachable) any(exprs ...string) bool {
	return slices.ContainsFunc(exprs, func(expr string) bool {
		p, err := ecma.Parse(expr)
		if err != nil {
			return true
		}
		l, err := r.ECMAScriptWithin(p, regexlang.Bound{AnyUnit: true})
		return err != nil || r.Meets(r.paths, l)
	})
}

// permit is what may be edited, from the begin of a path on.
type permit struct {
	parts   word
	end     end
	pattern *ecma.Pattern // of the source, as it is written; nil for a glob
}

func (p permit) String() string { return p.parts.String() }

// end is how an expression ends.
type end int

const (
	unclosed end = iota // where the path ends, without saying so
	anyEnd              // with anything, or where it says that the path ends
	closed              // where it says that the path ends
	openEnd             // anywhere
)

// close returns what is missing for an expression to match whole paths of one line.
func (e end) close() string {
	switch e {
	case closed:
		return ""
	case openEnd:
		return ".*$"
	}
	return "$"
}

// begins writes an expression that is looked for anywhere as one that matches from the
// begin of a path on.
func begins(p *ecma.Pattern) string {
	if body, ok := anchored(p, 0, ecma.Start); ok {
		return body[1:].String()
	}
	return prefix(p) + enclosed(p)
}

// matches writes an expression that is looked for anywhere as one from the begin of a path on.
func matches(p *ecma.Pattern) permit {
	x := permit{pattern: p}
	before, text := prefix(p), enclosed(p)
	_, start := anchored(p, 0, ecma.Start)
	if start {
		before = ""
	}
	if len(p.Root) == 1 {
		body := p.Root[0]
		if start {
			body = body[1:]
		}
		if last := len(body) - 1; last >= 0 && isAssertion(body[last], ecma.End) {
			body, x.end = body[:last], unclosed
			x.parts = word{before + body.String()}
			return x
		}
		text = body.String()
	}
	x.parts = word{before + text}
	isEnd := func(t ecma.Term) bool { return isAssertion(t, ecma.End) }
	switch {
	case every(p.Root, last, isEnd):
		x.end = closed
	case every(p.Root, last, func(t ecma.Term) bool { return isEnd(t) || isAnything(t) }):
		x.end = anyEnd
	default:
		x.end = openEnd
	}
	return x
}

// prefix returns what stands before an expression that matches from the begin of a path on.
func prefix(p *ecma.Pattern) string {
	begun := func(t ecma.Term) bool { return isAnything(t) || isAssertion(t, ecma.Start) }
	if every(p.Root, first, begun) {
		return ""
	}
	return ".*"
}

// first and last return a term of a sequence that is not empty.
func first(s ecma.Sequence) ecma.Term { return s[0] }
func last(s ecma.Sequence) ecma.Term  { return s[len(s)-1] }

// every reports whether the term at one end of each sequence of an expression is of a kind.
func every(a ecma.Alternation, end func(ecma.Sequence) ecma.Term, is func(ecma.Term) bool) bool {
	return !slices.ContainsFunc(a, func(s ecma.Sequence) bool {
		if len(s) == 0 {
			return true
		}
		t := end(s)
		if g, ok := t.(*ecma.Group); ok {
			return !every(g.Body, end, is)
		}
		return !is(t)
	})
}

func isAnything(t ecma.Term) bool { return ecma.Sequence{t}.String() == ".*" }

func isAssertion(t ecma.Term, kind ecma.AssertionKind) bool {
	a, ok := t.(*ecma.Assertion)
	return ok && a.Kind == kind
}

// anchored returns the only sequence of an expression, if it has an assertion at a place.
func anchored(p *ecma.Pattern, i int, kind ecma.AssertionKind) (ecma.Sequence, bool) {
	if len(p.Root) != 1 || i < 0 || i >= len(p.Root[0]) {
		return nil, false
	}
	return p.Root[0], isAssertion(p.Root[0][i], kind)
}

func enclosed(p *ecma.Pattern) string {
	if len(p.Root) > 1 {
		return "(" + p.String() + ")"
	}
	return p.String()
}

// standalone returns an expression that means the same wherever it stands in another one: the groups that it
// refers to, and those that have a name, get names that nothing else has there.
func (w *editWriter) standalone(p *ecma.Pattern) *ecma.Pattern {
	texts := map[int]string{} // by the number of a group, its new name
	p.Root.Terms(func(t ecma.Term) bool {
		switch t := t.(type) {
		case *ecma.Reference:
			texts[numberOf(p, t)] = ""
		case *ecma.Group:
			if t.Name != "" {
				texts[t.Number] = ""
			}
		}
		return true
	})
	if len(texts) == 0 {
		return p
	}
	for _, number := range slices.Sorted(maps.Keys(texts)) {
		w.groups++
		texts[number] = fmt.Sprintf("g%d", w.groups)
	}
	source, from := p.String(), 0
	var b strings.Builder
	put := func(at int, text, old string) {
		b.WriteString(source[from:at] + text)
		from = at + len(old)
	}
	p.Root.Terms(func(t ecma.Term) bool {
		switch t := t.(type) {
		case *ecma.Reference:
			put(t.Offset(), `\k<`+texts[numberOf(p, t)]+`>`, ecma.Sequence{t}.String())
		case *ecma.Group:
			if name := texts[t.Number]; t.Number > 0 && name != "" {
				old := "("
				if t.Name != "" {
					old = "(?<" + t.Name + ">"
				}
				put(t.Offset(), "(?<"+name+">", old)
			}
		}
		return true
	})
	b.WriteString(source[from:])
	again, err := ecma.Parse(b.String())
	if err != nil {
		return p
	}
	return again
}

// numberOf returns the number of the group that a reference names.
func numberOf(p *ecma.Pattern, r *ecma.Reference) int {
	if r.Name == "" {
		return r.Number
	}
	i := slices.IndexFunc(p.Groups, func(g *ecma.Group) bool { return g.Name == r.Name })
	return i + 1
}
