package migrate

import (
	"fmt"
	"reflect"
	"slices"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
)

// restated is what a change says in can that an agent's file says in the agent's own words.
type restated struct {
	target  contract.Target
	subject ir.SubjectRef
	rule    contract.NeutralRule
	// decision is that of a rule that is added, zero for one that is taken out.
	decision ir.Decision
	added    bool
}

// restate returns the neutral rule that the source has in can for one in an agent's own words: it decides there what
// becomes of the group, and the agent's own words are left out.
func (d *differ) restate(ref ir.SubjectRef, r ir.NativeRule) (rule contract.NeutralRule, ok bool) {
	says, ok := d.target.(contract.Restating)
	if !ok || r.Target != d.target.Name() {
		return rule, false
	}
	if rule, ok = says.Restate(r.Text, r.Decision); !ok {
		return rule, false
	}
	s, err := policy.New(d.source).Subject(ref)
	return rule, err == nil && s.Default(rule.Group).Decision != ir.Agent
}

// sameRule returns whether a rule decides the same, in the agent's own words or in those of the source.
func (d *differ) sameRule(ref ir.SubjectRef, x ir.NativeRule) func(ir.NativeRule) bool {
	said, ok := d.restate(ref, x)
	return func(y ir.NativeRule) bool {
		if x.Target != y.Target || x.Decision != y.Decision || x.Text == y.Text {
			return x.Target == y.Target && x.Decision == y.Decision
		}
		is, also := d.restate(ref, y)
		return ok && also && said == is
	}
}

// inCan changes what can says as a rule in the agent's own words was changed. It reports false where can does not
// say it.
func (d *differ) inCan(name string, at []string, ref ir.SubjectRef, r ir.NativeRule, added bool) bool {
	rule, ok := d.restate(ref, r)
	if !ok {
		return false
	}
	path, verb, do, pos := slices.Concat(at, []string{"can", string(rule.Group), r.Decision.String()}), "added",
		(*patcher).add, r.Pos
	if !added {
		verb, do, pos.Line, pos.Col = "taken out", (*patcher).drop, 0, 0
	}
	what := fmt.Sprintf("%s: %s %s %s is %s", name, rule.Group, r.Decision, rule.Pattern, verb)
	d.change(pos, what, func(p *patcher) error { return do(p, path, patternValue(rule.Pattern, "")) })
	d.out[len(d.out)-1].restated = &restated{target: d.target, subject: ref, rule: rule, decision: r.Decision,
		added: added}
	return true
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
	said := d.natives(name, at, ref, a.Native, b.Native)
	x, y := *a, *b
	x.Extra, y.Extra = d.withoutOrder(first, a.Native, a.Extra), d.withoutOrder(first, b.Native, b.Extra)
	x.Native, y.Native = nil, nil
	if !said || !d.alike(&x, &y) || reflect.DeepEqual(a.Native, b.Native) {
		d.out = d.out[:first]
		d.cannot(b.Pos, "mode "+b.Slug+" is changed", "a build makes it of the role of this name: change that")
	}
}

// natives compares rules in the agent's own words, and reports whether can says all that differs.
func (d *differ) natives(name string, at []string, ref ir.SubjectRef, a, b []ir.NativeRule) (all bool) {
	all = true
	for _, r := range b {
		if !slices.ContainsFunc(a, d.sameRule(ref, r)) {
			all = d.inCan(name, at, ref, r, added) && all
		}
	}
	for _, r := range a {
		if !slices.ContainsFunc(b, d.sameRule(ref, r)) {
			all = d.inCan(name, at, ref, r, takenOut) && all
		}
	}
	return all
}

// What became of a rule in a file.
const (
	added    = true
	takenOut = false
)

// permitsMore returns why a change is not made of the source that was compiled with it: what is built then permits more
// than the agent's files do, the change is about that, and "" where it does not.
func (e *editor) permitsMore(c *change, now *compiler.Result, built memfs.FS) string {
	judged, ok := c.restated.target.(contract.Judged)
	if !ok {
		return "modec does not know what the agent makes of it: say in can what is meant"
	}
	was, _ := judged.Open(e.req.Root, e.built.Input(judged).Options)
	_, _, found, diags := prove(e.ctx, now, e.req.Root, built, []original{{judged, contract.Original{
		File: c.Pos.File, Files: e.req.Root, Opened: was, Subjects: []ir.SubjectRef{c.restated.subject}}}},
		e.req.Seed, nil)
	for _, x := range found {
		if x.built != "" && x.Group == c.restated.rule.Group {
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
