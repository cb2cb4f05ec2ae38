package policy

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"modec.dev/modec/compiler/ir"
)

// AddClosedTimes adds to a resolved project the rules that replace an allow outside of its times: an ask,
// where the rest of its group is allowed or left to the agent. Elsewhere the rest of the group
// stands for it, which is asked about or denied. For a glob over servers of which some deny the
// rest and others permit it, it is a deny.
func AddClosedTimes(p *ir.Project) {
	p.EachCan(func(ref ir.SubjectRef, _ string, can *ir.Can) {
		if len(can.Timed()) > 0 {
			settle(p, &side{can: can, mode: p.Mode(ref.Mode), role: p.Role(ref.Role)})
		}
	})
}

func settle(p *ir.Project, s *side) {
	rest := cmp.Or(p.Unsaid, &ir.Default{Decision: ir.Agent})
	s.defaults = map[ir.Group]*Result{}
	for _, g := range ir.Groups {
		r := s.groupDefault(g, rest)
		s.defaults[g] = &r
		if t := s.can.Table(g); t != nil && r.Decision > ir.Ask {
			t.Rules = append(slices.Clip(t.Rules), standing(ir.Ask, t.Timed)...)
		}
	}
	if s.can.MCP == nil || s.compileMCPRules() != nil {
		return
	}
	for i := range s.can.MCP.Entries {
		e := &s.can.MCP.Entries[i]
		switch least, most := s.mcp.rest(p, e); {
		case most <= ir.Ask:
		case least < ir.Ask: // an ask would open what one of the servers denies
			e.Rules = append(slices.Clip(e.Rules), standing(ir.Deny, e.Timed)...)
		default:
			e.Rules = append(slices.Clip(e.Rules), standing(ir.Ask, e.Timed)...)
		}
	}
}

// standing returns the rules that stand for allows outside of their times.
func standing(d ir.Decision, timed []ir.Rule) []ir.Rule {
	out := slices.Clone(timed)
	for i := range out {
		out[i].Decision = d
	}
	return out
}

// rest returns the lowest and the highest decision where no rule matches, for the servers that an entry is about.
func (m *mcpRules) rest(p *ir.Project, e *ir.MCPEntry) (least, most ir.Decision) {
	if e.Literal {
		d := m.defaultOf(e.Key).Decision
		return d, d
	}
	least = m.fallback.Decision
	if r := m.keyDefault(e.Key, asGlob); r != nil {
		least = r.Decision
	}
	most = least
	for i := range p.Servers {
		if name := p.Servers[i].Name; Wildcard(e.Key, name) {
			d := m.defaultOf(name).Decision
			least, most = min(least, d), max(most, d)
		}
	}
	return least, most
}

// times are the engines of one project at different times. Any engine but these decides with every time
// closed: what is built does not depend on the clock.
type times struct {
	all []ir.Times // that the project has

	mu      sync.Mutex
	minute  int64              // of the last answer: all times begin and end with a minute
	last    *Engine            // the answer; nil: there is none
	engines map[string]*Engine // by which of all are open
}

// Timed reports whether some decision depends on the time.
func (e *Engine) Timed() bool { return len(e.times.all) > 0 }

// At returns the engine that decides as the project does at a moment: an allow counts where its times
// include it. It is this engine where nothing is open.
func (e *Engine) At(now time.Time) *Engine {
	t := e.times
	if len(t.all) == 0 {
		return e
	}
	minute := now.Unix() / 60
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil || t.minute != minute {
		t.minute, t.last = minute, e.opened(func(x ir.Times) bool { return x.Open(now) })
	}
	return t.last
}

// Opened returns the engine that decides with every time open.
func (e *Engine) Opened() *Engine {
	t := e.times
	if len(t.all) == 0 {
		return e
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return e.opened(func(ir.Times) bool { return true })
}

// Closed returns the engine that decides with every time closed.
func (e *Engine) Closed() *Engine {
	if e.closed != nil {
		return e.closed
	}
	return e
}

// opened returns the engine with some times open, with the lock held.
func (e *Engine) opened(is func(ir.Times) bool) *Engine {
	var key strings.Builder
	none := true
	for _, x := range e.times.all {
		if is(x) {
			key.WriteByte('+')
			none = false
		} else {
			key.WriteByte('-')
		}
	}
	if none {
		return e
	}
	if o := e.times.engines[key.String()]; o != nil {
		return o
	}
	o := New(e.project.Opened(is))
	o.digests = e.digests // of the policy, whatever the time is
	o.times = &times{}
	o.closed, o.open = e, is
	if e.times.engines == nil {
		e.times.engines = map[string]*Engine{}
	}
	e.times.engines[key.String()] = o
	return o
}
