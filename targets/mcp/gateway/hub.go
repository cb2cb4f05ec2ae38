package gateway

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/ir"
)

// hub is a server that several gateways share: those of all principals, or those of one. Progress and changes of a
// resource go to the gateway that asked for them, changes of a list to all.
type hub struct {
	up  *upstream
	of  *Shared
	key hubKey

	mu            sync.Mutex
	members       []*Gateway
	left          time.Time                    // when nobody was there any more
	retired       bool                         // nobody joins any more
	busy          int                          // calls under way
	subscriptions map[string]map[*Gateway]bool // who is told of the changes of a resource
	calls         map[string]*Gateway          // whose they are, by the tokens of their progress
}

// hubKey is what a hub is for: a server by its name and, where principals do not share it, whose it is and a digest
// of the headers that it gets of the caller's.
type hubKey struct{ server, principal, headers string }

// join returns a hub's server as one gateway sees it. The hub begins with its first gateway.
func (s *Shared) join(
	g *Gateway, key hubKey, sv *ir.Server, log *slog.Logger, forwarded map[string]string,
) caller {
	s.hubMu.Lock()
	defer s.hubMu.Unlock()
	h := s.hubs[key]
	if h != nil && !sameEntry(h.up.entry, sv) {
		h.retire()
		h = nil
	}
	if h == nil {
		h = &hub{of: s, key: key}
		h.up = newUpstream(sv, s.opt.Root, s.opt.Version, log, h, s.caches)
		h.up.forwarded, h.up.reticent = forwarded, true
		h.up.setOptions(s.setting(sv.Name))
		s.hubs[key] = h
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.members, g) {
		h.members = append(h.members, g)
	}
	return hubServer{h, g}
}

// retire ends the server once nobody uses it. The lock of all hubs is held.
func (h *hub) retire() {
	h.of.left[h] = true
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retired = true
	h.endUnused()
}

// unused reports whether nobody uses the server since a time.
func (h *hub) unused(since time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.members) == 0 && h.left.Before(since)
}

// endUnused ends a server that nobody uses or can use, with the lock held. Calls under way come to their answers.
func (h *hub) endUnused() {
	if !h.retired || len(h.members) > 0 || h.busy > 0 {
		return
	}
	go func() {
		h.up.close()
		h.of.hubMu.Lock()
		defer h.of.hubMu.Unlock()
		delete(h.of.left, h)
	}()
}

// joined returns the gateways that share the server.
func (h *hub) joined() []*Gateway {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.members)
}

func (h *hub) changed(k *kind) {
	for _, g := range h.joined() {
		g.changed(k)
	}
}

func (h *hub) updated(server, uri string) {
	h.mu.Lock()
	members := slices.Collect(maps.Keys(h.subscriptions[uri]))
	h.mu.Unlock()
	for _, g := range members {
		g.updated(server, uri)
	}
}

// progressed tells the gateway that made the call.
func (h *hub) progressed(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	h.mu.Lock()
	g := h.calls[token]
	h.mu.Unlock()
	if g != nil {
		g.progressed(p)
	}
}

// hubServer is a shared server as one gateway sees it.
type hubServer struct {
	*hub
	gateway *Gateway
}

func (s hubServer) list(ctx context.Context, k *kind) (*list, error) { return s.up.list(ctx, k) }

func (s hubServer) call(ctx context.Context, method string, p *params) (*answer, error) {
	s.mu.Lock()
	s.busy++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy--
		s.endUnused()
	}()
	if token, ok := p.Meta["progressToken"].(string); ok {
		s.mu.Lock()
		if s.calls == nil {
			s.calls = map[string]*Gateway{}
		}
		s.calls[token] = s.gateway
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if delete(s.calls, token); len(s.calls) == 0 {
				s.calls = nil // it keeps the room of its most
			}
		}()
	}
	return s.up.call(ctx, method, p)
}

func (s hubServer) subscribe(ctx context.Context, uri string, to subscription) error {
	s.mu.Lock()
	own := 0
	for _, who := range s.subscriptions {
		if who[s.gateway] {
			own++
		}
	}
	if to == begun && own >= mostSubscribed {
		s.mu.Unlock()
		return refusal("There are as many subscriptions to this server as there may be.")
	}
	others := len(s.subscriptions[uri])
	if s.subscriptions[uri][s.gateway] {
		others--
	}
	if to == begun {
		if s.subscriptions == nil {
			s.subscriptions = map[string]map[*Gateway]bool{}
		}
		if s.subscriptions[uri] == nil {
			s.subscriptions[uri] = map[*Gateway]bool{}
		}
		s.subscriptions[uri][s.gateway] = true
	} else {
		s.leave(uri)
	}
	s.mu.Unlock()
	if others > 0 {
		return nil // the server tells of it already, or goes on to
	}
	err := s.up.subscribe(ctx, uri, to)
	if err != nil && to == begun {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave(uri)
	}
	return err
}

// leave ends a gateway's subscription, with the lock held.
func (s hubServer) leave(uri string) {
	delete(s.subscriptions[uri], s.gateway)
	if len(s.subscriptions[uri]) == 0 {
		delete(s.subscriptions, uri)
	}
}

// close leaves the server to the others. That of one principal ends with its last gateway.
func (s hubServer) close() {
	s.of.hubMu.Lock()
	defer s.of.hubMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = slices.DeleteFunc(s.members, func(g *Gateway) bool { return g == s.gateway })
	s.left = time.Now()
	if len(s.members) == 0 && s.key.principal != "" {
		s.retired, s.of.left[s.hub] = true, true
		if s.of.hubs[s.key] == s.hub {
			delete(s.of.hubs, s.key)
		}
	}
	for uri, who := range s.subscriptions {
		if who[s.gateway] && len(who) == 1 && !s.retired {
			go s.endSubscription(uri)
		}
		s.leave(uri)
	}
	s.endUnused()
}

// endSubscription unsubscribes from a resource that no client is subscribed to any more.
func (s hubServer) endSubscription(uri string) {
	ctx, cancel := context.WithTimeout(s.up.life, listLimit)
	defer cancel()
	if err := s.up.subscribe(ctx, uri, ended); err != nil {
		s.up.log().Info("a subscription could not be ended", "uri", shorten(uri), "error", err)
	}
}
