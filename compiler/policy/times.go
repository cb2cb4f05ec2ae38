package policy

import (
	"slices"
	"strings"
	"sync"
	"time"

	"modec.dev/modec/compiler/ir"
)

// Settle adds to a resolved project what stands for an allow outside of its times: an ask,
// where the rest of its group is allowed or left to the agent. Elsewhere the rest of the group
// stands for it, which is asked about or denied.
func Settle(p *ir.Project) {
	for _, modes := range [][]ir.Mode{p.Modes, p.Builtins} {
		for i := range modes {
			settle(p, &side{can: &modes[i].Can, mode: &modes[i]})
		}
	}
	for i := range p.Roles {
		settle(p, &side{can: &p.Roles[i].Can, role: &p.Roles[i]})
	}
}

func settle(p *ir.Project, s *side) {
	if len(s.can.Timed()) == 0 {
		return
	}
	silence := p.Silence
	if silence == nil {
		silence = &ir.Default{Decision: ir.Agent}
	}
	s.defaults = map[ir.Group]*Result{}
	for _, g := range ir.Groups {
		r := s.groupDefault(g, silence)
		s.defaults[g] = &r
		if t := s.can.Table(g); t != nil && r.Decision > ir.Ask {
			t.Rules = append(slices.Clip(t.Rules), asked(t.Timed)...)
		}
	}
	if s.can.MCP == nil || s.compileMCPRules() != nil {
		return
	}
	for i := range s.can.MCP.Entries {
		if e := &s.can.MCP.Entries[i]; len(e.Timed) > 0 && s.mcp.most(p, e) > ir.Ask {
			e.Rules = append(slices.Clip(e.Rules), asked(e.Timed)...)
		}
	}
}

// asked returns the asks that stand for allows outside of their times.
func asked(timed []ir.Rule) []ir.Rule {
	out := slices.Clone(timed)
	for i := range out {
		out[i].Decision = ir.Ask
	}
	return out
}

// most returns the highest decision where no rule matches, for the servers that an entry is about.
func (m *mcpRules) most(p *ir.Project, e *ir.MCPEntry) ir.Decision {
	if e.Literal {
		return m.defaultOf(e.Key).Decision
	}
	d := m.fallback.Decision
	if r := m.keyDefault(e.Key, asGlob); r != nil {
		d = r.Decision
	}
	for i := range p.Servers {
		if name := p.Servers[i].Name; Wildcard(e.Key, name) {
			d = max(d, m.defaultOf(name).Decision)
		}
	}
	return d
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
