package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// soon is in how many days an allow ends that lint warns of.
const soon = 7

// eachTimed calls f with the allows with times that a subject writes, or has from a policy of the source.
func (p *pass) eachTimed(f func(s *subject, r *ir.TimedRule)) {
	subjects := p.subjects()
	for i := range subjects {
		rules := subjects[i].can.Timed()
		for j := range rules {
			if r := &rules[j]; ofSource(r.Pos) && own(r.From) {
				f(&subjects[i], r)
			}
		}
	}
}

// expired finds allows whose last day has passed. They are no part of any artifact, and say to people what is not so.
func (p *pass) expired() {
	if p.Now.IsZero() {
		return
	}
	p.eachTimed(func(s *subject, r *ir.TimedRule) {
		if r.Times.Over(p.Now) {
			p.find(r.Pos, "allow %s permits nothing since its last day, %s", r.Pattern, r.Times.Until).
				Subject(writer(s, r.From)).
				Hint("write a later day, or take it out; what the rest of its table says of it counts then")
		}
	})
}

// endsSoon finds allows that end within a week.
func (p *pass) endsSoon() {
	if p.Now.IsZero() {
		return
	}
	p.eachTimed(func(s *subject, r *ir.TimedRule) {
		days, ok := r.Times.DaysLeft(p.Now)
		if !ok || days > soon {
			return
		}
		p.find(r.Pos, "allow %s ends %s, on %s", r.Pattern, inDays(days), r.Times.Until).
			Subject(writer(s, r.From)).
			Hint("write a later day if it is still needed then")
	})
}

// inDays says when something is that is some days away.
func inDays(days int) string {
	switch days {
	case 0:
		return "today"
	case 1:
		return "tomorrow"
	}
	return fmt.Sprintf("in %d days", days)
}

// exceptionEndsSoon finds exceptions that end within a week: nothing compiles afterwards.
func (p *pass) exceptionEndsSoon() {
	if p.Now.IsZero() {
		return
	}
	for _, x := range p.Exceptions {
		days := int(x.Until.Sub(p.Now.Truncate(24*time.Hour)).Hours() / 24)
		if days < 0 || days > soon {
			continue
		}
		p.find(x.Pos, "the exception ends %s, on %s: no build and no check works afterwards until it is taken out or "+
			"moved", inDays(days), x.Until.Format(time.DateOnly)).
			Hint("take it out and build, or have somebody decide again and move the date")
	}
}

// idleTimes finds allows whose times limit nothing: the same is allowed at any time.
func (p *pass) idleTimes() {
	if p.Policy == nil || !p.Policy.Timed() {
		return
	}
	p.eachTimed(func(s *subject, r *ir.TimedRule) {
		if r.Pattern.Kind != ir.Plain || r.Group != ir.Command && strings.ContainsAny(r.Pattern.Text, "*?[{") {
			return
		}
		for _, server := range p.timedServers(r) {
			text := strings.TrimSuffix(strings.TrimSuffix(r.Pattern.Text, ":*"), " *")
			if strings.Contains(text, "*") {
				return
			}
			always := p.decide(s.ref, policy.Action{Group: r.Group, Server: server, Arg: text})
			if always.Decision != ir.Allow {
				continue
			}
			p.find(r.Pos, "allow %s has times, and is allowed at any time", r.Pattern).
				Subject(writer(s, r.From)).
				Hint("take out what allows it at any time, or the times").
				Related(always.Pos, always.Rule)
			return
		}
	})
}

// timedServers returns the servers of an allow, and for any other group than mcp a name of none.
func (p *pass) timedServers(r *ir.TimedRule) []string {
	if r.Group != ir.MCP {
		return []string{""}
	}
	var names []string
	for i := range p.Project.Servers {
		if name := p.Project.Servers[i].Name; policy.Wildcard(r.Server, name) {
			names = append(names, name)
		}
	}
	return slices.Clip(names)
}

// writer names whose rule it is.
func writer(s *subject, from string) string {
	if from != "" {
		return from
	}
	return s.name
}
