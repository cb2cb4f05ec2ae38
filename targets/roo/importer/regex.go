package importer

import (
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

// access is what a fileRegex permits and denies, as expressions.
type access struct {
	permits, denies []string
	all             bool // what is not denied is permitted
}

// accessOf takes a fileRegex that modec wrote apart. What refuses paths that are not clean
// paths below the root, and what is known from elsewhere, every project has. An
// expression of somebody else is the one thing that it permits.
func accessOf(source string, known map[string]bool) access {
	foreign := access{permits: []string{source}}
	p, err := ecma.Parse(source)
	if err != nil || len(p.Root) != 1 || len(p.Root[0]) < 3 {
		return foreign
	}
	rest := p.Root[0]
	if rest[:2].String() != "^"+format.Guard {
		return foreign
	}
	rest = rest[2:]
	if rest[:1].String() == `(?![\s\S]*`+policy.Decomposed()+")" {
		rest = rest[1:]
	}
	var a access
	if body, ok := looked(rest, ecma.NotAhead); ok {
		if denies, ok := whole(body); ok {
			for _, d := range denies {
				if !known[d.String()] {
					a.denies = append(a.denies, denied(d))
				}
			}
			rest = rest[1:]
		}
	}
	if guards, ok := guarded(rest); ok {
		for _, g := range guards {
			if !known[g.String()] {
				return foreign
			}
		}
		rest = rest[1:]
	}
	permits, ok := whole(ecma.Alternation{rest})
	switch {
	case rest.String() == `[\s\S]+$`:
		a.all = true
	case ok:
		for _, s := range permits {
			a.permits = append(a.permits, permitted(s))
		}
	default:
		return foreign // edited since
	}
	return a
}

// looked returns the body of a look-around that a sequence begins with.
func looked(s ecma.Sequence, kind ecma.LookKind) (ecma.Alternation, bool) {
	if len(s) == 0 {
		return nil, false
	}
	l, ok := s[0].(*ecma.Look)
	if !ok || l.Kind != kind {
		return nil, false
	}
	return l.Body, true
}

// guarded returns what a sequence denies first but for paths that the mode opens:
// (?=(?:OPEN)$|(?!(?:GUARDED)$)).
func guarded(s ecma.Sequence) (ecma.Alternation, bool) {
	body, ok := looked(s, ecma.Ahead)
	if !ok || len(body) != 2 {
		return nil, false
	}
	_, opens := whole(body[:1])
	inner, ok := looked(body[1], ecma.NotAhead)
	if !ok || !opens || len(body[1]) != 1 {
		return nil, false
	}
	return whole(inner)
}

// whole returns what stands in an expression over the whole path: (?:…)$.
func whole(a ecma.Alternation) (ecma.Alternation, bool) {
	if len(a) != 1 || len(a[0]) != 2 || a[0][1:].String() != "$" {
		return nil, false
	}
	return groupBody(a[0][:1])
}

// groupBody returns what stands in the group that a sequence is: one without a name.
func groupBody(s ecma.Sequence) (ecma.Alternation, bool) {
	if len(s) != 1 {
		return nil, false
	}
	g, ok := s[0].(*ecma.Group)
	if !ok || g.Name != "" {
		return nil, false
	}
	return g.Body, true
}

// permitted undoes what the emitter puts around an expression of the source that permits;
// any other becomes one over the whole path.
func permitted(s ecma.Sequence) string {
	if len(s) == 3 && s[2:].String() == `[\s\S]*` {
		body, ok := looked(s, ecma.NotAhead)
		if ok && len(body) == 1 && len(body[0]) == 2 && isOdd(body[0][1:]) && body[0][:1].String() == `[\s\S]*` {
			if inner, ok := anywhere(s[1:]); ok {
				return inner.String()
			}
		}
	}
	return "^(?:" + s.String() + ")$"
}

// denied does the same for an expression that denies.
func denied(s ecma.Sequence) string {
	if len(s) == 2 && s[1:].String() == `[\s\S]*` {
		body, ok := anywhere(s)
		if last := len(body) - 1; ok && last > 0 && isOdd(body[last]) {
			return body[:last].String()
		}
	}
	return "^(?:" + s.String() + ")$"
}

// anywhere returns the expression that a sequence looks for first: (?=[\s\S]*?(?:…)).
func anywhere(s ecma.Sequence) (ecma.Alternation, bool) {
	body, ok := looked(s, ecma.Ahead)
	if !ok || len(body) != 1 || len(body[0]) != 2 || body[0][:1].String() != `[\s\S]*?` {
		return nil, false
	}
	return groupBody(body[0][1:])
}

// isOdd reports whether a sequence is one of the classes that the emitter adds.
func isOdd(s ecma.Sequence) bool {
	return s.String() == format.HalvesAndSeparators || s.String() == format.NotASCII
}

// written are globs as the emitter writes them in a deny.
func written(globs []string) map[string]bool {
	out := map[string]bool{}
	for _, g := range globs {
		if source, _, err := policy.ECMAScript(g, ir.Deny); err == nil {
			out[source] = true
		}
	}
	return out
}
