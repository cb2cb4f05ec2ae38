package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
)

// restated is what a change says in can that an agent's file says in the agent's own words.
type restated struct {
	target  contract.Target
	subject ir.SubjectRef
	group   ir.Group
	added   bool
	allows  bool // it adds an allow
}

// restate returns the neutral rule that the source has in can for one in an agent's own words, where can decides about
// the group: the agent's own words are left out there. A rule that can has no words for has a group alone.
func (d *differ) restate(ref ir.SubjectRef, r ir.NativeRule) (rule contract.NeutralRule, decides, ok bool) {
	says, restates := d.target.(contract.Restating)
	if !restates || r.Target != d.target.Name() {
		return rule, false, false
	}
	rule, ok = says.Restate(r.Text, r.Decision)
	if rule.Group == "" {
		return rule, false, false
	}
	s, err := d.policy.Subject(ref)
	return rule, err == nil && s.Default(rule.Group).Decision != ir.Agent, ok
}

// sameRule returns whether a rule decides the same, in the agent's own words or in those of the source.
func (d *differ) sameRule(ref ir.SubjectRef, x ir.NativeRule) func(ir.NativeRule) bool {
	said, decides, ok := d.restate(ref, x)
	return func(y ir.NativeRule) bool {
		if x.Target != y.Target || x.Decision != y.Decision || x.Text == y.Text {
			return x.Target == y.Target && x.Decision == y.Decision
		}
		is, _, also := d.restate(ref, y)
		return decides && ok && also && said == is
	}
}

// inCan changes what can says as a rule in the agent's own words was changed. It reports false where can does not
// decide about it.
func (d *differ) inCan(name string, at []string, ref ir.SubjectRef, r ir.NativeRule, added bool) bool {
	rule, decides, ok := d.restate(ref, r)
	if !decides {
		return false
	}
	rules := rulesOf(d.source.Can(ref), rule.Group)
	said := slices.IndexFunc(rules, func(x ir.Rule) bool {
		return x.Decision == r.Decision && x.Pattern == rule.Pattern
	})
	pos := r.Pos
	if !added {
		pos = diag.Pos{File: r.Pos.File}
	}
	why := fmt.Sprintf("can.%s decides about it: say there what is meant", rule.Group)
	list := []string{string(rule.Group), r.Decision.String()}
	switch {
	case !added && (!ok || said < 0):
		d.cannot(pos, fmt.Sprintf("%s: some of what a build makes of can.%s is taken out", name, rule.Group), why)
	case !ok:
		d.cannot(pos, fmt.Sprintf("%s: %s %s is added", name, r.Decision, r.Text), why)
	case added:
		d.change(pos, fmt.Sprintf("%s: %s %s %s is added", name, rule.Group, r.Decision, rule.Pattern),
			func(p *patcher) error {
				return p.add(append(p.owner(at, ""), list...), patternValue(rule.Pattern, ""))
			})
	default:
		d.change(pos, fmt.Sprintf("%s: %s %s %s is taken out", name, rule.Group, r.Decision, rule.Pattern),
			func(p *patcher) error {
				return p.drop(append(p.owner(at, rules[said].From), list...), patternValue(rule.Pattern, ""))
			})
	}
	d.out[len(d.out)-1].restated = &restated{target: d.target, subject: ref, group: rule.Group, added: added,
		allows: added && r.Decision == ir.Allow}
	return true
}

// wholly takes changes out that follow from one that can cannot say: where not only rules of can's are gone, somebody
// wrote a group anew.
func (d *differ) wholly(first int) {
	rest := slices.DeleteFunc(slices.Clone(d.out[first:]), func(c change) bool {
		return c.restated != nil && !c.restated.added && c.Why == "" &&
			slices.ContainsFunc(d.out[first:], func(o change) bool {
				return o.restated != nil && !o.restated.added && o.restated.group == c.restated.group && o.Why != ""
			})
	})
	d.out = append(d.out[:first], rest...)
}

// ordered reports whether a field of an agent's alone has the order of its rules, all of which a build writes of what
// can says: it follows from what is changed there.
func (d *differ) ordered(first int, rules []ir.NativeRule, v any) bool {
	list, ok := v.([]any)
	said := func(c change) bool { return c.restated != nil }
	return ok && slices.ContainsFunc(d.out[first:], said) && !slices.ContainsFunc(list, func(item any) bool {
		return !slices.ContainsFunc(rules, func(r ir.NativeRule) bool { return r.Text == item })
	})
}

// withoutOrder returns what an agent alone has without the order of its rules.
func (d *differ) withoutOrder(first int, rules []ir.NativeRule, extra map[string]ir.Extra) map[string]ir.Extra {
	out := map[string]ir.Extra{}
	for target, x := range extra {
		fields := map[string]any{}
		for k, v := range x.Fields {
			if !d.ordered(first, rules, v) {
				fields[k] = v
			}
		}
		if x.Fields = fields; len(fields) > 0 {
			out[target] = x
		}
	}
	return out
}

// ofRole compares a mode that a build makes of a role. What it says otherwise of what can decides is a change of that
// role; of anything else there is none.
func (d *differ) ofRole(a, b *ir.Mode) {
	if d.alike(a, b) {
		return
	}
	first, ref := len(d.out), ir.SubjectRef{Role: b.Slug}
	name, at := ref.String(), []string{"roles", b.Slug}
	said := true
	d.natives(name, at, ref, a.Native, b.Native, func(ir.NativeRule, bool) { said = false })
	x, y := *a, *b
	x.Extra, y.Extra = d.withoutOrder(first, a.Native, a.Extra), d.withoutOrder(first, b.Native, b.Extra)
	x.Native, y.Native = nil, nil
	if !said || !d.alike(&x, &y) || reflect.DeepEqual(a.Native, b.Native) {
		d.out = d.out[:first]
		d.cannot(b.Pos, "mode "+b.Slug+" is changed", "a build makes it of the role of this name: change that")
	}
}

// natives compares rules in the agent's own words. What can does not say of what differs is otherwise's.
func (d *differ) natives(
	name string, at []string, ref ir.SubjectRef, a, b []ir.NativeRule, otherwise func(r ir.NativeRule, added bool),
) {
	first := len(d.out)
	missing := func(list, from []ir.NativeRule, is bool) {
		for _, r := range list {
			if !slices.ContainsFunc(from, d.sameRule(ref, r)) && !d.inCan(name, at, ref, r, is) {
				otherwise(r, is)
			}
		}
	}
	missing(b, a, added)
	missing(a, b, takenOut)
	d.wholly(first)
}

// What became of a rule in a file.
const (
	added    = true
	takenOut = false
)

// proveRestated says of changes why can cannot say them, where what is built then permits more than the agents' files
// do, and reports whether there are any. What allows something is the first to go.
func (e *editor) proveRestated(changes []change, now *compiler.Result) (found bool) {
	built := sync.OnceValue(func() memfs.FS { return e.base(now) })
	for _, allows := range []bool{true, false} {
		for i := range changes {
			if c := &changes[i]; c.restated != nil && c.Why == "" && c.restated.allows == allows {
				c.Why = e.permitsMore(c, now, built())
				have, err := contract.ReadImport(e.req.Root, c.Pos.File)
				if c.Offer && (err != nil || !bytes.Equal(have, built()[c.Pos.File])) {
					c.Why = "a build would write it in another way"
				}
				found = found || c.Why != ""
			}
		}
		if found {
			break
		}
	}
	return found
}

// permitsMore returns why a change is not made of the source that was compiled with it: what is built then permits more
// than the agent's files do, the change is about that, and "" where it does not.
func (e *editor) permitsMore(c *change, now *compiler.Result, built memfs.FS) string {
	judged, ok := c.restated.target.(contract.Judged)
	if !ok {
		return "modec does not know what the agent makes of it: say in can what is meant"
	}
	was, _ := judged.Open(e.built.Over(e.req.Root), e.built.Input(judged).Options)
	_, _, found, diags := prove(e.ctx, now, e.req.Root, built, []original{{judged, contract.Original{
		File: c.Pos.File, Files: e.req.Root, Opened: was, Subjects: []ir.SubjectRef{c.restated.subject}}}},
		e.req.Seed, nil)
	for _, x := range found {
		if x.built != "" && x.Group == c.restated.group {
			m := mender{difference: x}
			return fmt.Sprintf("with it in can a build would permit more than %s does (%s is %s there): say in "+
				"can.%s what it should permit", c.Pos.File, m.named(), x.was.Decision, x.Group)
		}
	}
	if len(found) == 0 && diags.HasErrors() {
		return diags.Err().Error()
	}
	return ""
}

// sayable returns what a project has in an agent's own words, and what an import of the same file takes into can: an
// older modec kept it, or somebody wrote it so. Each is an offer.
func (e *editor) sayable(res *compiler.Result, t contract.Target) (out []change) {
	dialect, ok := t.(contract.Dialect)
	if !ok || len(ownRules(res, t)) == 0 {
		return nil
	}
	fresh, diags := read(e.ctx, Request{Root: e.req.Root, Targets: []contract.Target{t}, Ignored: e.req.Ignored,
		Approved: e.req.Approved, Repair: e.req.Repair, Must: e.req.Must})
	if diags.HasErrors() {
		return nil
	}
	e.rename(fresh, t, res)
	for i := range e.after[t.Name()].project.Roles {
		r := &e.after[t.Name()].project.Roles[i]
		own, is := res.Project.Role(r.Name), fresh.project.Role(r.Name)
		if own == nil || is == nil {
			continue
		}
		for _, n := range r.Native {
			same := func(x ir.NativeRule) bool {
				return x.Own && x.Target == n.Target && x.Decision == n.Decision && x.Text == n.Text
			}
			// What a deny of one agent's alone is about may be less than what one of can's is.
			has := func(r *ir.Role) bool { return slices.ContainsFunc(r.Native, same) }
			if n.Decision == ir.Allow && has(own) && !has(is) {
				out = append(out, e.offered(dialect, r, n, is)...)
			}
		}
	}
	return out
}

// offered says in can what a role says in an agent's own words, as an import has it.
func (e *editor) offered(t contract.Dialect, r *ir.Role, n ir.NativeRule, is *ir.Role) (out []change) {
	at := []string{"roles", r.Name}
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web} {
		var adds []func(*patcher) error
		for _, x := range rulesOf(&is.Can, g) {
			if x.Pos != n.Pos || x.Decision != n.Decision {
				continue
			}
			adds = append(adds, func(p *patcher) error {
				list := slices.Concat(at, []string{"can", string(g), x.Decision.String()})
				if err := p.add(list, patternValue(x.Pattern, "*")); !errors.Is(err, errSaid) {
					return err
				}
				return nil
			})
		}
		if len(adds) == 0 {
			continue
		}
		if _, said, err := t.TranslateRule(n.Text, n.Decision, nil); said || err != nil {
			continue // the role could have it as a rule of the dialect, and has it for the agent alone on purpose
		}
		adds = append(adds, func(p *patcher) error {
			return p.drop(append(slices.Clip(at), ownList(n)...), text(n.Text))
		})
		out = append(out, change{Edit: Edit{Pos: n.Pos, Offer: true, What: fmt.Sprintf(
			"role %s: %s %s is for %s alone, and can.%s can say it", r.Name, n.Decision, n.Text, n.Target, g)},
			do:       func(p *patcher) error { return p.all(adds) },
			restated: &restated{target: t, subject: ir.SubjectRef{Role: r.Name}, group: g, allows: true}})
	}
	return out
}

// ownList returns where a subject has a rule that is for one agent alone.
func ownList(r ir.NativeRule) []string {
	return []string{"agents", r.Target, "native", r.Decision.String()}
}

// ruleField returns the field of a role that has rules of an agent's own grammar with a decision.
func ruleField(dialects []contract.Dialect, r ir.NativeRule) string {
	for _, x := range dialects {
		for _, l := range x.RuleLists() {
			if x.Name() == r.Target && l.Decision == r.Decision {
				return l.Field
			}
		}
	}
	return ""
}
