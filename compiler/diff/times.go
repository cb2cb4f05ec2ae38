package diff

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// on adds what a subject may do otherwise for an agent, "" for any, and what it may while its allows with times are
// open, and the times that are others.
func (r *Report) on(agent string, before, after *policy.Engine, ref ir.SubjectRef, seed uint64) error {
	before, after = before.On(agent), after.On(agent)
	if err := r.also(before, after, ref, seed, Change{Agent: agent}); err != nil {
		return err
	}
	a, b := before.Project(), after.Project()
	found := &Report{}
	if before.Timed() || after.Timed() {
		if err := r.also(before.Opened(), after.Opened(), ref, seed, Change{Agent: agent, InTimes: true}); err != nil {
			return err
		}
		if has(a, ref) && has(b, ref) {
			found.times(ref, a.Can(ref).Timed(), b.Can(ref).Timed())
		}
	}
	if a.ByArgs() || b.ByArgs() {
		if err := r.also(before.Opened(), after.Opened(), ref, seed, Change{Agent: agent, SomeArgs: true}); err != nil {
			return err
		}
		if has(a, ref) && has(b, ref) {
			found.args(ref, a.Can(ref).ByArgs(), b.Can(ref).ByArgs())
			found.args(ref, a.Everyone.ByArgs(), b.Everyone.ByArgs())
		}
	}
	for _, o := range found.Others {
		if agent == "" {
			r.other(o)
		} else if !slices.Contains(r.Others, o) {
			o.Text += ", on " + agent
			r.other(o)
		}
	}
	return nil
}

// also adds the changes of a subject that are not there yet, marked as another one is.
func (r *Report) also(before, after *policy.Engine, ref ir.SubjectRef, seed uint64, as Change) error {
	found := &Report{tools: r.tools, most: as.SomeArgs}
	if err := found.subject(before, after, ref, seed); err != nil {
		return err
	}
	r.tools = found.tools
	known := len(r.Changes)
	for _, c := range found.Changes {
		if !slices.ContainsFunc(r.Changes[:known], func(x Change) bool { return alike(&x, &c) }) {
			c.Agent, c.InTimes, c.SomeArgs = as.Agent, as.InTimes, as.SomeArgs
			r.add(c)
		}
	}
	return nil
}

// alike reports whether two changes are the same, by whatever rules.
func alike(a, b *Change) bool {
	return a.Subject == b.Subject && a.Group == b.Group && a.What == b.What && a.Kind == b.Kind && a.Only == b.Only &&
		a.Before.Decision == b.Before.Decision && a.After.Decision == b.After.Decision
}

// times adds the allows that both sources have, at other times.
func (r *Report) times(ref ir.SubjectRef, before, after []ir.TimedRule) {
	for _, one := range patternsOf(after) {
		was, is := timesOf(before, one), timesOf(after, one)
		if len(was) == 0 || slices.Equal(was, is) {
			continue
		}
		kind := Widened // unless each of the times is within one that there was
		if !slices.ContainsFunc(is, func(x ir.Times) bool {
			return !slices.ContainsFunc(was, func(y ir.Times) bool { return x.Within(y) })
		}) {
			kind = Narrowed
		}
		what := string(one.Group) + " "
		if one.Server != "" {
			what += one.Server + ":"
		}
		r.other(Other{kind, ref.String(), fmt.Sprintf("%s%s is allowed %s, and was %s", what, one.Pattern, words(is),
			words(was)), one.Pos})
	}
}

// args adds the rules that both sources have, with other arguments.
func (r *Report) args(ref ir.SubjectRef, before, after []ir.TimedRule) {
	for _, one := range after {
		args := one.Pattern.Args
		of := func(rules []ir.TimedRule) string {
			var words []string
			for _, x := range rules {
				with := x.Pattern.Args.String()
				if x.Pattern.Args = args; sameRule(&x, &one) && x.Decision == one.Decision {
					words = append(words, with)
				}
			}
			slices.Sort(words)
			return strings.Join(slices.Compact(words), ", or ")
		}
		was, is := of(before), of(after)
		one.Pattern.Args = ""
		text := fmt.Sprintf("mcp %s:%s is %s with %s, and was with %s", one.Server, one.Pattern, one.Decision, is, was)
		said := func(o Other) bool { return o.Text == text }
		if was != "" && was != is && !slices.ContainsFunc(r.Others, said) {
			r.other(Other{Widened, ref.String(), text, one.Pos})
		}
	}
}

// patternsOf returns one of the rules for each pattern.
func patternsOf(rules []ir.TimedRule) (out []ir.TimedRule) {
	for _, r := range rules {
		if !slices.ContainsFunc(out, func(x ir.TimedRule) bool { return sameRule(&x, &r) }) {
			out = append(out, r)
		}
	}
	return out
}

func sameRule(a, b *ir.TimedRule) bool {
	return a.Group == b.Group && a.Server == b.Server && a.Pattern == b.Pattern
}

// timesOf returns the times of a pattern, sorted, each once.
func timesOf(rules []ir.TimedRule, of ir.TimedRule) (times []ir.Times) {
	for _, r := range rules {
		if sameRule(&r, &of) {
			times = append(times, r.Times)
		}
	}
	slices.SortFunc(times, func(a, b ir.Times) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(times)
}

func words(times []ir.Times) string {
	var out []string
	for _, t := range times {
		out = append(out, t.String())
	}
	return strings.Join(out, ", and ")
}
