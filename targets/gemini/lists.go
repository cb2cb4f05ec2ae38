package gemini

import (
	"errors"
	"slices"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
)

// side is what a role or a mode says of one group, as expressions over the value of an argument.
type side struct {
	allow, ask []string    // what lists permit: they match the value whole
	hold, deny []string    // what lists hold back: they match from where the value begins
	rest       ir.Decision // what no list names
}

// plain reports whether a side has no list.
func (s *side) plain() bool { return len(s.allow)+len(s.ask)+len(s.hold)+len(s.deny) == 0 }

// grammar is how the values of a group are written as expressions.
type grammar struct {
	group    ir.Group
	tools    []string
	argument string
	// shape matches what all readers take alike, up to the end of the value. Only such values are
	// permitted where a list holds something back.
	shape string
	// parts is set where the agent may approve parts of what has another shape.
	parts bool
	// open is the shape of what no list names where none holds anything back; "": any.
	open string
	told string // to a model whose call has another shape
	// list adds a rule to a side. It fails where no expression says what the rule holds back, or,
	// with the reason, leaves out what the rule permits.
	list func(*policy.Subject, *side, ir.Rule) error
}

// lists compiles the rules of a group whose rules are about an argument of its tools.
func (w *writer) lists(g *grammar) {
	sides, ok := w.sides(g)
	rest := w.rest(g.group, sides)
	switch {
	case !ok:
		w.add(rule{tools: g.tools, decision: ir.Deny, rank: byGroup})
		return
	case !restricted(sides):
		w.plainly(g, rest)
		return
	}
	key := format.Key(g.argument)
	var deny, hold []string
	for _, s := range sides {
		deny, hold = append(deny, s.deny...), append(hold, s.hold...)
	}
	holding := len(deny)+len(hold) > 0
	for _, part := range chunks(w.unsaid(key, deny), mostParts("", 1)) {
		w.add(rule{tools: g.tools, expr: key + either(part), decision: ir.Deny, rank: refused})
	}
	most := mostParts(g.shape, len(sides)+min(1, len(hold)))
	for _, c := range combined(sides, most) {
		if c.expr == "" {
			c.decision = rest
		}
		if c.decision == ir.Deny || c.expr == "" && !holding && (g.open == "" || rest == ir.Agent) {
			continue
		}
		rank := permitted
		if c.decision >= ir.Allow {
			rank = approved
			for _, part := range chunks(hold, most) {
				expr := key + g.shape + "(?=" + either(part) + ")" + c.expr
				w.add(rule{tools: g.tools, expr: expr, decision: ir.Ask, rank: held})
			}
		}
		shape := g.shape
		if c.expr == "" && !holding {
			shape = g.open
		}
		if c.decision != ir.Agent {
			w.add(rule{tools: g.tools, expr: key + shape + c.expr, decision: c.decision, rank: rank})
		}
	}
	switch {
	case rest == ir.Agent && (holding || g.parts): // but for the shape it is the agent that decides
		w.add(rule{tools: g.tools, expr: key + "(?!" + g.shape + ")", decision: strictest(sides), rank: byGroup,
			told: g.told})
	case rest == ir.Agent:
	case !holding && g.open == "":
		w.add(rule{tools: g.tools, decision: rest, rank: byGroup})
	default:
		w.add(rule{tools: g.tools, decision: ir.Deny, rank: byGroup, told: g.told})
	}
}

// unsaid returns those of a list of what is denied that the session does not deny, and remembers those of a session.
func (w *writer) unsaid(key string, deny []string) []string {
	if w.session == nil { // it is the session
		for _, d := range deny {
			w.denies[key+d] = true
		}
		return deny
	}
	return slices.DeleteFunc(slices.Clone(deny), func(d string) bool { return w.session.denies[key+d] })
}

// strictest returns the lowest decision of a list that holds something back.
func strictest(sides []side) ir.Decision {
	for i := range sides {
		if len(sides[i].deny) > 0 {
			return ir.Deny
		}
	}
	return ir.Ask
}

// restricted reports whether any side has a list.
func restricted(sides []side) bool {
	for i := range sides {
		if !sides[i].plain() {
			return true
		}
	}
	return false
}

// plainly compiles a group without lists.
func (w *writer) plainly(g *grammar, rest ir.Decision) {
	switch {
	case rest == ir.Agent:
	case g.open != "" && rest > ir.Deny:
		w.add(rule{tools: g.tools, expr: format.Key(g.argument) + g.open, decision: rest, rank: permitted})
		w.add(rule{tools: g.tools, decision: ir.Deny, rank: byGroup, told: g.told})
	default:
		w.add(rule{tools: g.tools, decision: rest, rank: byGroup})
	}
}

// combination is what the lists of all sides permit together.
type combination struct {
	expr     string // behind the shape
	decision ir.Decision
}

// combined returns the lowest decision for each way in which the sides decide about a value, the
// highest first. A list has at most some characters.
func combined(sides []side, most int) []combination {
	all := []combination{{decision: ir.Agent}}
	for i := range sides {
		s := &sides[i]
		var next []combination
		for _, c := range all {
			for _, of := range []struct {
				list []string
				d    ir.Decision
			}{{s.allow, ir.Allow}, {s.ask, ir.Ask}} {
				for _, part := range chunks(of.list, most) {
					whole := "(?=" + either(part) + format.End + ")"
					next = append(next, combination{c.expr + whole, min(c.decision, of.d)})
				}
			}
			next = append(next, combination{c.expr, min(c.decision, s.rest)})
		}
		all = next
	}
	return all
}

// sides returns what each side states of a group; false where it is denied as a whole.
func (w *writer) sides(g *grammar) (out []side, ok bool) {
	for _, s := range w.stated(g.group) {
		of := side{rest: w.unnamed(s, g.group)}
		capped := false
		for _, r := range s.Rules(g.group) {
			if r.DeniesAll() || r.Decision == ir.Deny && r.Pattern.Kind == ir.All {
				return nil, false
			}
			err := g.list(s, &of, r)
			switch {
			case err == nil:
			case r.Decision == ir.Deny:
				w.loss(g.group, codeDeny, r.Pos, "no expression says %s (%v): the group %s is denied as a whole",
					r.Pattern, err, g.group).
					Hint("write what is permitted as a list, and deny the rest")
				return nil, false
			default:
				hint := "write it in plain words"
				if errors.Is(err, errRuns) {
					hint = "permit the commands that it is to run"
				}
				w.loss(g.group, codeApproval, r.Pos, "no expression says %s (%v): it is left out", r.Pattern, err).
					Hint(hint)
				capped = capped || r.Decision == ir.Ask
			}
		}
		if capped { // what a rule holds back that no expression finds may be anything
			of.rest, of.allow = min(of.rest, ir.Ask), nil
		}
		out = append(out, of)
	}
	return out, true
}

// stated returns the sides that say something of a group.
func (w *writer) stated(g ir.Group) (out []*policy.Subject) {
	for _, s := range w.subject.Sides() {
		if len(s.Rules(g)) > 0 || s.Default(g).Decision != ir.Agent {
			out = append(out, s)
		}
	}
	return out
}

// unnamed returns what a side decides of what no list names. A built-in set says more than its lines: where it
// leaves the rest to the permission mode, Gemini CLI asks.
func (w *writer) unnamed(s *policy.Subject, g ir.Group) ir.Decision {
	r := s.Default(g)
	if len(w.subject.Sides()) > 1 {
		return r.Decision
	}
	sets := slices.ContainsFunc(s.Rules(g), func(r ir.Rule) bool { return r.Pattern.Kind == ir.Builtin })
	if d := decided(r); !sets || r.Decision != ir.Agent || d == ir.Agent {
		return d
	}
	return min(decided(r), ir.Ask)
}

// unlisted are arguments that no list names but one that names all.
var unlisted = map[ir.Group]string{ir.Read: "modec-unlisted", ir.Edit: "modec-unlisted", ir.Command: "modec-unlisted",
	ir.Web: "modec-unlisted.example"}

// rest returns what no list names.
func (w *writer) rest(g ir.Group, sides []side) ir.Decision {
	rest := ir.Agent
	for i := range sides {
		rest = min(rest, sides[i].rest)
	}
	switch {
	case rest < ir.Agent:
		return rest
	case len(w.subject.Sides()) == 1:
		return decided(w.subject.Default(g))
	default: // the permission mode of the role decides only what neither says
		return decidedOn(w.subject, policy.Action{Group: g, Arg: unlisted[g]})
	}
}

// place returns where to report something: at a rule, or at the subject.
func (w *writer) place(at diag.Pos) diag.Pos {
	if at.IsZero() || at.File == ir.GuardsFile {
		return w.pos
	}
	return at
}
