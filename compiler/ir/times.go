package ir

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // where the system has no time zones
)

// Times say when an allow holds: from a first day until a last one, both included, and in some
// hours of each day. What is not written does not limit. All of it is read off the clocks of
// one time zone.
type Times struct {
	From  string `json:"from,omitempty"`  // the first day, as 2026-12-31
	Until string `json:"until,omitempty"` // the last day
	Daily string `json:"daily,omitempty"` // hours, as 09:00-17:30; over midnight where the end is the earlier
	Zone  string `json:"zone,omitempty"`  // an IANA name; "": UTC
}

// Timed reports whether the times limit anything.
func (t Times) Timed() bool { return t != Times{} }

// String writes the times as a person reads them.
func (t Times) String() string {
	var parts []string
	for _, p := range []struct{ word, value string }{{"from", t.From}, {"until", t.Until}, {"daily", t.Daily}} {
		if p.value != "" {
			parts = append(parts, p.word+" "+p.value)
		}
	}
	if t.Zone != "" {
		parts = append(parts, "("+t.Zone+")")
	}
	return strings.Join(parts, " ")
}

// Field is a part of times that is written.
type Field struct{ Name, Value string }

// Fields returns what is written of the times, as a source writes it.
func (t Times) Fields() (list []Field) {
	for _, f := range []Field{{"from", t.From}, {"until", t.Until}, {"daily", t.Daily}, {"zone", t.Zone}} {
		if f.Value != "" {
			list = append(list, f)
		}
	}
	return list
}

// Part is a field of [Times] by its name in the source.
type Part string

const (
	NoPart    Part = ""
	PartFrom  Part = "from"
	PartUntil Part = "until"
	PartDaily Part = "daily"
	PartZone  Part = "zone"
)

// Check returns what is wrong with the times, and with which part of them.
func (t Times) Check() (Part, error) {
	if t.From == "" && t.Until == "" && t.Daily == "" {
		return NoPart, errors.New("there is no time in it: write from, until or daily")
	}
	if _, err := zone(t.Zone); err != nil {
		return PartZone, err
	}
	for _, d := range []struct {
		part  Part
		value string
	}{{PartFrom, t.From}, {PartUntil, t.Until}} {
		if _, err := time.Parse(time.DateOnly, d.value); d.value != "" && err != nil {
			return d.part, fmt.Errorf("got %q, want a day such as \"2026-12-31\"", d.value)
		}
	}
	if t.From != "" && t.Until != "" && t.Until < t.From {
		return PartUntil, fmt.Errorf("the last day %s is before the first one, %s", t.Until, t.From)
	}
	if _, err := readHours(t.Daily); t.Daily != "" && err != nil {
		return PartDaily, err
	}
	return NoPart, nil
}

// Open reports whether the times include a moment. Times that cannot be read include none.
func (t Times) Open(now time.Time) bool {
	if _, err := t.Check(); err != nil {
		return false
	}
	at := t.local(now)
	day := at.Format(time.DateOnly)
	if t.From != "" && day < t.From || t.Until != "" && day > t.Until {
		return false
	}
	if t.Daily == "" {
		return true
	}
	h, err := readHours(t.Daily)
	return err == nil && h.include(at.Hour()*60+at.Minute())
}

// Over reports whether the last day has passed.
func (t Times) Over(now time.Time) bool {
	return t.Until != "" && t.local(now).Format(time.DateOnly) > t.Until
}

// Within reports whether other times include all of these. It reports false where that takes more than a look at the
// limits.
func (t Times) Within(o Times) bool {
	sameClock := t.Zone == o.Zone || o.From == "" && o.Until == "" && o.Daily == ""
	return sameClock && (o.From == "" || t.From >= o.From) && (o.Until == "" || t.Until != "" && t.Until <= o.Until) &&
		(o.Daily == "" || t.Daily == o.Daily)
}

// DaysLeft returns how many days follow until the last one; false where there is no last day, or it has passed.
func (t Times) DaysLeft(now time.Time) (int, bool) {
	last, err := time.Parse(time.DateOnly, t.Until)
	if err != nil || t.Over(now) {
		return 0, false
	}
	today, err := time.Parse(time.DateOnly, t.local(now).Format(time.DateOnly))
	return int(last.Sub(today) / (24 * time.Hour)), err == nil
}

// local returns a moment on the clocks of the zone.
func (t Times) local(now time.Time) time.Time {
	z, err := zone(t.Zone)
	if err != nil {
		z = time.UTC
	}
	return now.In(z)
}

var zones sync.Map // string to *time.Location

// zone returns a time zone. That of the machine is none: a source means the same everywhere.
func zone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location), nil
	}
	z, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("got the time zone %q, want a name such as \"Europe/Berlin\" or \"UTC\"", name)
	}
	zones.Store(name, z)
	return z, nil
}

// hours are a part of each day, in minutes since midnight. The last minute is the one before the end.
type hours struct{ start, end int }

func readHours(text string) (h hours, err error) {
	from, to, ok := strings.Cut(text, "-")
	if !ok {
		return h, wrongHours(text)
	}
	if h.start, ok = readClock(from); !ok || h.start == 24*60 {
		return h, wrongHours(text)
	}
	if h.end, ok = readClock(to); !ok {
		return h, wrongHours(text)
	}
	if h.start == h.end {
		return h, fmt.Errorf("got %q, which begins when it ends; leave daily out for the whole day", text)
	}
	return h, nil
}

func wrongHours(text string) error {
	return fmt.Errorf("got %q, want hours such as \"09:00-17:30\", in 24 hours", text)
}

// readClock reads HH:MM; 24:00 is the end of the day.
func readClock(text string) (minutes int, ok bool) {
	if text == "24:00" {
		return 24 * 60, true
	}
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err == nil && len(text) == len("15:04")
}

// include reports whether a minute of the day is in the hours.
func (h hours) include(minute int) bool {
	if h.start < h.end {
		return h.start <= minute && minute < h.end
	}
	return minute >= h.start || minute < h.end
}

// Times returns the different times of what the project's subjects may do, sorted.
func (p *Project) Times() []Times {
	var all []Times
	p.EachCan(func(_ SubjectRef, _ string, c *Can) {
		c.eachTimed(func(r *Rule) {
			if !slices.Contains(all, r.Times) {
				all = append(all, r.Times)
			}
		})
	})
	slices.SortFunc(all, func(a, b Times) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// eachTimed calls f with each allow that has times.
func (c *Can) eachTimed(f func(*Rule)) {
	for _, g := range Groups {
		if t := c.Table(g); t != nil {
			for i := range t.Timed {
				f(&t.Timed[i])
			}
		}
	}
	if c.MCP != nil {
		for i := range c.MCP.Entries {
			for j := range c.MCP.Entries[i].Timed {
				f(&c.MCP.Entries[i].Timed[j])
			}
		}
	}
}

// Timed lists the allows that have times, by group.
func (c *Can) Timed() (rules []TimedRule) {
	for _, g := range Groups {
		if t := c.Table(g); t != nil {
			for _, r := range t.Timed {
				rules = append(rules, TimedRule{Group: g, Rule: r})
			}
		}
	}
	if c.MCP != nil {
		for _, e := range c.MCP.Entries {
			for _, r := range e.Timed {
				rules = append(rules, TimedRule{Group: MCP, Server: e.Key, Rule: r})
			}
		}
	}
	return rules
}

// TimedRule is an allow that has times, with what it is about.
type TimedRule struct {
	Group  Group
	Server string // the key of can.mcp
	Rule
}

// Opened returns the project as it is at a time: where open reports that times include it, their allows are
// allows as any other. It returns the project itself where there are none.
func (p *Project) Opened(open func(Times) bool) *Project {
	if !slices.ContainsFunc(p.Times(), open) {
		return p
	}
	q := *p
	q.Modes, q.Builtins, q.Roles = slices.Clone(p.Modes), slices.Clone(p.Builtins), slices.Clone(p.Roles)
	q.change(func(c *Can) { c.open(open) })
	return &q
}

// open does so for what a subject may do. It changes no table, but copies of them.
func (c *Can) open(is func(Times) bool) {
	for _, t := range []**Table{&c.Read, &c.Edit, &c.Command, &c.Web, &c.Modes} {
		if *t != nil && len((*t).Timed) > 0 {
			x := **t
			x.Rules, x.Timed = opened(x.Rules, x.Timed, is)
			*t = &x
		}
	}
	if c.MCP == nil {
		return
	}
	x := *c.MCP
	x.Entries = slices.Clone(x.Entries)
	for i := range x.Entries {
		e := &x.Entries[i]
		if len(e.Timed) > 0 {
			e.Rules, e.Timed = opened(e.Rules, e.Timed, is)
		}
	}
	c.MCP = &x
}

// opened returns rules with those of timed that are open, in the place of what stands for them
// at other times, and those that are not.
func opened(rules, timed []Rule, is func(Times) bool) (now, later []Rule) {
	for _, r := range rules {
		if !r.Times.Timed() || !is(r.Times) {
			now = append(now, r)
		}
	}
	for _, r := range timed {
		if is(r.Times) {
			r.Times = Times{}
			now = append(now, r)
		} else {
			later = append(later, r)
		}
	}
	return now, later
}

// checkRules refuses a model in which times and arguments stand where they would not limit, or cannot be read.
func (p *Project) checkRules() (err error) {
	check := func(rules, timed []Rule) {
		for _, r := range rules {
			if r.Times.Timed() && r.Decision > Ask {
				err = fmt.Errorf("model: a rule with times is %s outside of them, want ask or deny", r.Decision)
			}
		}
		for _, r := range timed {
			if _, bad := r.Times.Check(); bad != nil {
				err = fmt.Errorf("model: the times of a rule: %w", bad)
			} else if r.Decision != Allow {
				err = fmt.Errorf("model: a rule with times is %s, want allow", r.Decision)
			}
		}
	}
	p.EachCan(func(ref SubjectRef, target string, c *Can) {
		if c == nil {
			err = fmt.Errorf("model: %s has nothing for %q, want rules", ref, target)
			return
		}
		for _, g := range Groups {
			if t := c.Table(g); t != nil {
				check(t.Rules, t.Timed)
				byArgs := func(r Rule) bool { return r.Pattern.Args != "" }
				if slices.ContainsFunc(slices.Concat(t.Rules, t.Timed), byArgs) {
					err = fmt.Errorf("model: a rule of %s has arguments, want that in mcp alone", g)
				}
			}
		}
		if c.MCP != nil {
			for _, e := range c.MCP.Entries {
				check(e.Rules, e.Timed)
			}
		}
	})
	return err
}
