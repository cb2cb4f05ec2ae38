package gateway

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/compiler/policy"
)

// Reload takes another model and other pins for everybody, as far as it narrows what the gateway was started with. It
// returns in words what else it permits: that is not served before the gateway is started again.
func (s *Shared) Reload(e *policy.Engine, set *pins.Set) (waiting []string) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	s.mu.Lock()
	s.counts.reloaded()
	s.now = model{e, set}
	s.sum(s.now)
	waiting = s.wider()
	next := s.newTables()
	s.hubMu.Lock()
	for key, h := range s.hubs {
		if sv := e.Project().Server(key.server); sv == nil || !sameEntry(h.up.entry, sv) {
			delete(s.hubs, key)
			h.retire()
		}
	}
	s.hubMu.Unlock()
	s.mu.Unlock()
	for g, t := range next {
		g.take(t)
	}
	return waiting
}

// tick serves what is permitted now.
func (s *Shared) tick() {
	s.mu.Lock()
	depends := s.first.Timed() || s.now.Timed()
	s.mu.Unlock()
	if !depends {
		return
	}
	s.reloading.Lock()
	defer s.reloading.Unlock()
	s.mu.Lock()
	before, now := s.servedAt, time.Now()
	if s.opt.Now != nil {
		now = s.opt.Now()
	}
	s.servedAt = now
	var next map[*Gateway]*Table
	if s.first.At(before) != s.first.At(now) || s.now.At(before) != s.now.At(now) {
		next = s.newTables()
	}
	s.mu.Unlock()
	for g, t := range next {
		g.take(t)
	}
}

// newTables returns the tables of the gateways that are there, by the models and the time of now, with the lock held.
func (s *Shared) newTables() map[*Gateway]*Table {
	next := map[*Gateway]*Table{}
	s.tables = map[tableKey]*Table{}
	for id, m := range s.members {
		key, t, err := s.table(m.who, id.table.role, id.table.mode)
		if err != nil || key != id.table { // roles are gone: the next request finds out what is left
			s.drop(id)
			continue
		}
		next[m.gateway] = t
	}
	for v := range s.visits {
		s.recheck(v, v.who)
	}
	return next
}

// wider says what the policy of now permits beyond that of the start, role by role.
func (s *Shared) wider() (list []string) {
	p := s.now.Project()
	for i := range p.Roles {
		name := p.Roles[i].Name
		if by := p.Roles[i].Principals; s.opt.Auth != nil || s.opt.Subject == (ir.SubjectRef{}) && by == ir.Anyone {
			list = append(list, moreCallers(s.first.Project().Role(name), &p.Roles[i])...)
		}
		for _, at := range []func(*policy.Engine) *policy.Engine{closed, opened} {
			next, err := newTableOf(at(s.now.Engine), []string{name}, s.opt.Naming, s.now.pins)
			if err != nil || len(next.servers) == 0 {
				continue
			}
			old, err := newTableOf(at(s.first.Engine), []string{name}, s.opt.Naming, s.first.pins)
			if err != nil {
				old = &Table{} // there was no such role
			}
			_, more := narrow(old, next)
			for _, what := range more {
				if what = "role " + name + ": " + what; !slices.Contains(list, what) {
					list = append(list, what)
				}
			}
		}
	}
	return list
}

// moreCallers says who has a role now and did not at the start, when it was another one; nil: there was none.
func moreCallers(first, now *ir.Role) (list []string) {
	add := func(who string) { list = append(list, fmt.Sprintf("role %s: %s", now.Name, who)) }
	wide := func(r *ir.Role) int {
		return slices.Index([]ir.Principals{"", ir.Authenticated, ir.Anyone}, r.Principals)
	}
	switch {
	case !now.Held():
		return nil
	case first == nil || !first.Held():
		add("its callers")
		return list
	case wide(now) > wide(first):
		who := "every caller with a token"
		if now.Principals == ir.Anyone {
			who = "every caller"
		}
		add(who)
		return list
	case wide(first) > 0:
		return nil // everybody has it already
	}
	for _, name := range slices.Sorted(maps.Keys(first.Claims)) {
		if now.Claims[name] == nil {
			add("callers without its claim " + name)
			continue
		}
		for _, value := range now.Claims[name] {
			if !slices.Contains(first.Claims[name], value) {
				add(fmt.Sprintf("callers with the claim %s = %q", name, value))
			}
		}
	}
	return list
}
