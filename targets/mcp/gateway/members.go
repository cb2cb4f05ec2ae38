package gateway

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/mcp/auth"
	"modec.dev/modec/targets/mcp/serve"
)

// table returns what a principal is served at an endpoint, with the lock held. What one may not enter is the
// same as what does not exist.
func (s *Shared) table(p *auth.Principal, role, mode string) (key tableKey, t *Table, err error) {
	key.role, key.mode = role, mode
	switch {
	case strings.Contains(role+mode, "/"), s.opt.Subject != (ir.SubjectRef{}) && role != "":
		return key, nil, noEndpoint
	case s.opt.Subject == (ir.SubjectRef{}):
		held := s.held(p)
		if role != "" && !slices.Contains(held, role) {
			return key, nil, noEndpoint
		}
		if len(held) == 0 {
			return key, nil, noRole
		}
		if role == "" {
			key.roles = strings.Join(held, roleSeparator)
		}
	}
	if known := s.tables[key]; known != nil {
		return key, known, nil
	}
	if t, err = s.compiled(key); err != nil {
		if mode != "" {
			return key, nil, noEndpoint // there is no such mode, or the role may not work in it
		}
		return key, nil, err
	}
	t.policy = s.Digest()
	s.tables[key] = t
	return key, t, nil
}

// roleSeparator stands between the roles of a key: no name has it.
const roleSeparator = "\x00"

// held returns the roles that a principal has by both policies, that of the start and that of now.
func (s *Shared) held(p *auth.Principal) []string {
	claims := p.Claims
	if s.opt.Auth == nil {
		claims = nil
	} else if claims == nil {
		claims = map[string][]string{}
	}
	held := s.first.Held(claims)
	if s.now != s.first {
		now := s.now.Held(claims)
		held = slices.DeleteFunc(held, func(role string) bool { return !slices.Contains(now, role) })
	}
	return held
}

// compiled returns what both policies permit: that of the start, and that of now.
func (s *Shared) compiled(key tableKey) (*Table, error) {
	ref := ir.SubjectRef{Role: key.role, Mode: key.mode}
	if key.roles == "" && key.role == "" {
		ref = s.opt.Subject
	}
	of := func(m model) (*Table, error) {
		e := m.At(s.servedAt)
		if key.roles != "" {
			return newTableOf(e, strings.Split(key.roles, roleSeparator), s.opt.Naming, m.pins)
		}
		return tableOf(e, ref, s.opt.Naming, noAgent, m.pins)
	}
	first, err := of(s.first)
	if err != nil {
		return nil, err
	}
	if err := first.index(); err != nil || s.now == s.first {
		return first, err
	}
	now, err := of(s.now)
	if err != nil {
		return nil, err
	}
	both, _ := narrow(first, now)
	return both, nil
}

// room reports whether there may be one more gateway for a principal. It ends one that nobody uses where
// there would be too many, with the lock held.
func (s *Shared) room(principal string) bool {
	own := 0
	for id := range s.members {
		if id.principal == principal {
			own++
		}
	}
	if len(s.members) < s.opt.Callers && own < mostOfOne {
		return true
	}
	var oldest memberKey
	found := false
	for id, m := range s.members {
		if m.busy > 0 || own >= mostOfOne && id.principal != principal {
			continue
		}
		if !found || m.used.Before(s.members[oldest].used) {
			oldest, found = id, true
		}
	}
	if found {
		s.drop(oldest)
	}
	return found
}

// drop ends a gateway, with the lock held. Calls under way come to their answers first.
func (s *Shared) drop(id memberKey) {
	m := s.members[id]
	delete(s.members, id)
	m.left = true
	for v := range s.visits {
		if v.to == m {
			v.endStream()
		}
	}
	if m.busy == 0 {
		go m.close()
	}
}

// close ends a gateway with the sessions of its clients.
func (m *member) close() {
	for session := range m.gateway.sdk.Sessions() {
		_ = session.Close() // it may have ended
	}
	m.gateway.Close()
}

// member makes a gateway for a principal, with the lock held.
func (s *Shared) member(p *auth.Principal, id memberKey, t *Table, headers map[string]map[string]string) *member {
	key := id.table
	log := s.opt.Logger.With("principal", p.ID)
	opened := map[string][]string{}
	for name, o := range s.opt.Servers {
		if len(o.Open) > 0 {
			opened[name] = o.Open
		}
	}
	opt := Options{Version: s.opt.Version, Root: s.opt.Root, Logger: log, Naming: s.opt.Naming, Audit: s.opt.Audit,
		Explicit: s.opt.Explicit, Open: opened,
		life: s.life, principal: p.ID, asks: s.asks, headers: id.headers, caches: s.caches}
	g := withTable(t, opt, func(g *Gateway, sv *ir.Server) caller {
		if s.setting(sv.Name).Shared {
			return s.join(g, hubKey{server: sv.Name}, sv, s.opt.Logger, nil)
		}
		passed := s.forwardedTo(sv.Name, headers[sv.Name])
		text, _ := json.Marshal(passed) // texts, sorted
		return s.join(g, hubKey{sv.Name, p.ID, digest(text)}, sv, log, passed)
	})
	m := &member{gateway: g, who: p, used: time.Now()}
	m.end = serve.NewEndpoint(g.sdk, serve.EndpointOptions{HTTPOptions: s.opt.HTTP,
		Full:  func() bool { return s.full(p.ID) },
		Ended: &s.ended, Progress: true, Bare: true,
		Of: strings.Join([]string{"gateway", p.ID, key.role, key.mode}, "\x00")})
	return m
}

// full reports whether there are as many sessions of the protocol as there may be, of all or of a principal, none of
// which is idle. The longest idle ones end.
func (s *Shared) full(principal string) bool {
	for {
		s.mu.Lock()
		members := maps.Clone(s.members)
		s.mu.Unlock()
		all, own := 0, 0
		for id, m := range members {
			for range m.gateway.sdk.Sessions() {
				if all++; id.principal == principal {
					own++
				}
			}
		}
		if all < s.opt.HTTP.Connections && own < s.opt.Sessions {
			return false
		}
		var oldest time.Time
		var end func()
		for id, m := range members {
			if own >= s.opt.Sessions && id.principal != principal {
				continue
			}
			if since, f := m.end.Idle(); f != nil && (end == nil || since.Before(oldest)) {
				oldest, end = since, f
			}
		}
		if end == nil {
			return true
		}
		end()
	}
}
