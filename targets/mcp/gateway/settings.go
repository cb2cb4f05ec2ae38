package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The settings of servers narrow while a gateway runs, as the policy does: what was there at the start and is there
// still holds, and what is more waits for a new start.

// narrowTo returns what both the settings of the start and later ones permit, and in words what only the later ones do.
func (o ServerOptions) narrowTo(name string, next ServerOptions) (both ServerOptions, wider []string) {
	server := strconv.Quote(name)
	both = ServerOptions{Shared: o.Shared && next.Shared, Raw: o.Raw && next.Raw, Map: o.Map}
	for _, h := range next.Forward {
		same := func(other string) bool { return strings.EqualFold(h, other) }
		if strings.EqualFold(o.Map, next.Map) && slices.ContainsFunc(o.Forward, same) {
			both.Forward = append(both.Forward, h)
			continue
		}
		from := "the request"
		if next.Map != "" {
			from = "the map " + http.CanonicalHeaderKey(next.Map)
		}
		wider = append(wider, fmt.Sprintf("the header %s of %s for server %s", http.CanonicalHeaderKey(h), from,
			server))
	}
	for _, what := range next.Open {
		if slices.Contains(o.Open, what) {
			both.Open = append(both.Open, what)
			continue
		}
		wider = append(wider, fmt.Sprintf("%s of server %s", what, server))
	}
	if next.Raw && !o.Raw {
		wider = append(wider, "raw results of server "+server)
	}
	if next.Shared && !o.Shared {
		wider = append(wider, "server "+server+" as one for all callers")
	}
	return both, wider
}

// narrowSettings does so for all servers, by their names.
func narrowSettings(first, next map[string]ServerOptions) (both map[string]ServerOptions, wider []string) {
	both = map[string]ServerOptions{}
	for name := range first {
		both[name] = ServerOptions{}
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		var more []string
		both[name], more = first[name].narrowTo(name, next[name])
		wider = append(wider, more...)
	}
	return both, wider
}

// UpdateServers takes other settings of the servers, of which it reads Open and Raw, as far as they are narrower than
// those of the start. It returns in words what else they permit.
func (g *Gateway) UpdateServers(next map[string]ServerOptions) (waiting []string) {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	own := map[string]ServerOptions{}
	for name, o := range next { // there is one caller, without a request of HTTP
		own[name] = ServerOptions{Raw: o.Raw, Open: o.Open}
	}
	both, waiting := narrowSettings(g.opt.servers(), own)
	g.settings.Store(&both)
	for name, c := range g.state.Load().servers {
		if u, ok := c.(*upstream); ok {
			u.setOptions(both[name])
		}
	}
	return waiting
}

// servers are the settings of the start.
func (o *Options) servers() map[string]ServerOptions {
	list := map[string]ServerOptions{}
	for name, raw := range o.Raw {
		list[name] = ServerOptions{Raw: raw}
	}
	for name, open := range o.Open {
		list[name] = ServerOptions{Raw: o.Raw[name], Open: open}
	}
	return list
}

// UpdateServers takes other settings of the servers, as far as they are narrower than those of the start. It returns in
// words what else they permit. Where the headers of callers do not go to a server any more, or it is not shared any
// more, callers have another session with it from the next call on.
func (s *Shared) UpdateServers(next map[string]ServerOptions) (waiting []string) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	both, waiting := narrowSettings(s.opt.Servers, next)
	s.latest = next
	old := *s.settings.Swap(&both)
	anew := map[string]bool{}
	for name, o := range old {
		if n := both[name]; o.Shared != n.Shared || !slices.Equal(o.Forward, n.Forward) {
			anew[name] = true
		}
	}
	s.mu.Lock()
	members := slices.Collect(maps.Values(s.members))
	s.mu.Unlock()
	s.hubMu.Lock()
	for key, h := range s.hubs {
		h.up.setOptions(both[key.server])
		if anew[key.server] {
			delete(s.hubs, key)
			h.retire()
		}
	}
	s.hubMu.Unlock()
	if len(anew) > 0 {
		for _, m := range members {
			m.gateway.reconnect(anew)
		}
	}
	return waiting
}

// sum notes the digest of a model, with the settings of now.
func (s *Shared) sum(m model) {
	of := s.digestOf(m)
	s.digest.Store(&of)
}

// digestOf returns the digest of all that decides about callers: the policy, the pins, whose tokens are taken and the
// servers' settings.
func (s *Shared) digestOf(m model) string {
	parts := []string{m.Project().DigestOfAll()}
	if m.pins != nil {
		parts = append(parts, string(m.pins.Bytes()))
	}
	if v := cmp.Or(s.auth.Load(), s.opt.Auth); v != nil {
		parts = append(parts, v.Digest())
	}
	for _, name := range slices.Sorted(maps.Keys(s.latest)) {
		text, _ := json.Marshal(s.latest[name]) // texts can be written
		parts = append(parts, name, string(text))
	}
	return digest([]byte(strings.Join(parts, roleSeparator)))[:shortDigest]
}

// Digest returns the digest of the policy, as the last reload has it.
func (s *Shared) Digest() string { return *s.digest.Load() }

// setting returns what holds of a server's settings.
func (s *Shared) setting(server string) ServerOptions { return (*s.settings.Load())[server] }

// forwardedTo returns the headers of a caller that a server gets, of those that it got at the start.
func (s *Shared) forwardedTo(server string, headers map[string]string) map[string]string {
	var out map[string]string
	for _, h := range s.setting(server).Forward {
		if value, ok := headers[http.CanonicalHeaderKey(h)]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[http.CanonicalHeaderKey(h)] = value
		}
	}
	return out
}

// reconnect begins anew with servers. Calls under way come to their answers, and subscriptions go on.
func (g *Gateway) reconnect(names map[string]bool) {
	old := g.state.Load()
	next := &state{table: old.table, servers: maps.Clone(old.servers)}
	moved := map[caller]caller{}
	for _, s := range old.table.servers {
		name := s.entry.Name
		if c := old.servers[name]; names[name] && c != nil {
			next.servers[name] = g.start(&s.entry)
			moved[c] = next.servers[name]
		}
	}
	if len(moved) == 0 {
		return
	}
	g.state.Store(next)
	g.mu.Lock()
	for uri, h := range g.subscriptions {
		up := moved[h.up]
		if up == nil {
			continue
		}
		h.up = up
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), listLimit)
			defer cancel()
			if err := up.subscribe(ctx, uri, begun); err != nil {
				g.opt.Logger.Warn("changes of a resource are not told any more", "uri", shorten(uri), "error", err)
			}
		}()
	}
	g.mu.Unlock()
	for c := range moved {
		go c.close()
	}
	for _, k := range kinds {
		g.changed(k)
	}
}

// setOptions takes other settings of the server.
func (u *upstream) setOptions(o ServerOptions) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.raw, u.open = o.Raw, o.Open
}

// isRaw reports whether the texts of results are passed on as they are.
func (u *upstream) isRaw() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.raw
}
