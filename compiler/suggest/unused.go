package suggest

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/secret"
)

// Unused is a rule of the source by which nothing was decided.
type Unused struct {
	Pos      diag.Pos    `json:"pos"`
	Group    ir.Group    `json:"group"`
	Decision ir.Decision `json:"decision"`
	Rule     string      `json:"rule"`
	Subjects []string    `json:"subjects" jsonschema:"those that have the rule"`

	text string // of the rule, as the log has it
	refs []ir.SubjectRef
}

// Usage collects by which rules something was decided. Its zero value has none.
type Usage struct {
	Events int
	First  time.Time
	Agents map[string]int // events by the agent whose hook wrote them
	Via    map[audit.Via]int

	placed map[usedRule]bool // by the place that the rule had then
	owned  map[usedRule]bool // by the subject
}

// usedRule is a rule at a place or of a subject.
type usedRule struct{ of, rule string }

// Add takes an event into account. A source may have changed since: a rule is known again by its words where it is at
// the place that it had or the subject has it, and by its place where the policy is as it was.
func (u *Usage) Add(ev *audit.Event) {
	if u.placed == nil {
		u.Agents, u.Via = map[string]int{}, map[audit.Via]int{}
		u.placed, u.owned = map[usedRule]bool{}, map[usedRule]bool{}
	}
	u.Events++
	u.Via[ev.Via]++
	if ev.Agent != "" {
		u.Agents[ev.Agent]++
	}
	if u.First.IsZero() || ev.Time.Before(u.First) {
		u.First = ev.Time
	}
	if ev.Rule == "" {
		return
	}
	u.placed[usedRule{ev.Place, ev.Rule}] = true
	u.placed[usedRule{ev.Place, policyOf(ev.Policy)}] = true
	for _, ref := range []ir.SubjectRef{{Role: ev.Role}, {Mode: ev.Mode}} {
		if ref != (ir.SubjectRef{}) {
			u.owned[usedRule{ref.String(), ev.Rule}] = true
		}
	}
}

// policyOf stands for any rule of a policy.
func policyOf(digest string) string { return "policy " + digest }

// Unused returns the allows and asks of a project's source by which nothing was decided, by their places, and how many
// denies there are beside them. An agent that is held to a deny by its files does not even ask, so that a deny says
// nothing by not being used.
func (u *Usage) Unused(e *policy.Engine) (list []Unused, denies int) {
	p := e.Project()
	all := map[diag.Pos]*Unused{}
	var order []*Unused
	add := func(ref ir.SubjectRef, g ir.Group, d ir.Decision, pos diag.Pos, text string) {
		if pos.IsZero() {
			return
		}
		r := all[pos]
		if r == nil {
			r = &Unused{Pos: pos, Group: g, Decision: d, text: diag.Clean(secret.Text(text))}
			r.Rule = r.text
			all[pos] = r
			order = append(order, r)
		}
		r.refs = append(r.refs, ref)
	}
	for _, ref := range p.Subjects() {
		can := p.Can(ref)
		for _, g := range ir.Groups {
			t := can.Table(g)
			if t == nil {
				continue
			}
			for _, r := range slices.Concat(t.Timed, t.Rules) {
				add(ref, g, r.Decision, r.Pos, r.Decision.String()+" "+r.Pattern.String())
			}
		}
		if can.MCP == nil {
			continue
		}
		for _, x := range can.MCP.Entries {
			of := " of server " + strconv.Quote(x.Key)
			for _, r := range slices.Concat(x.Timed, x.Rules) {
				add(ref, ir.MCP, r.Decision, r.Pos, r.Decision.String()+" "+r.Pattern.String()+of)
			}
			if d := x.Default; d != nil {
				add(ref, ir.MCP, d.Decision, d.Pos, "default"+of)
			}
		}
	}
	for _, r := range order {
		switch {
		case u.used(e, r) || r.Decision == ir.Agent:
		case r.Decision == ir.Deny:
			denies++
		default:
			for _, ref := range r.refs {
				r.Subjects = append(r.Subjects, ref.String())
			}
			list = append(list, *r)
		}
	}
	slices.SortStableFunc(list, func(a, b Unused) int {
		return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Rule, b.Rule))
	})
	return list, denies
}

// used reports whether something was decided by a rule.
func (u *Usage) used(e *policy.Engine, r *Unused) bool {
	at := r.Pos.String()
	return u.placed[usedRule{at, r.text}] || slices.ContainsFunc(r.refs, func(ref ir.SubjectRef) bool {
		return u.owned[usedRule{ref.String(), r.text}] || u.placed[usedRule{at, policyOf(e.Digest(ref))}]
	})
}
