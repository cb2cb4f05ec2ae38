package gateway

import (
	"context"
	"maps"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// resourceSubscription is a resource whose changes are reported, and to which sessions.
type resourceSubscription struct {
	up caller
	by map[*sdk.ServerSession]bool

	news *news
}

// subscribe asks a resource's server to tell of its changes. Of what a person is asked about nothing is told.
func (g *Gateway) subscribe(ctx context.Context, to *sdk.ServerSession, uri string) error {
	o, err := g.resource(ctx, uri)
	if err != nil {
		return err
	}
	if o.grant.Access == Asked {
		return refusal("a person is asked before this is read, so changes of it are not told")
	}
	again := g.addSubscriber(to, uri, o.up) // first, so that one who leaves does not end it for this one
	if err = o.up.subscribe(ctx, uri, begun); err != nil && !again {
		g.removeSubscriber(to, uri)
	}
	return err
}

// unsubscribe asks a resource's server to tell of its changes no longer, once nobody is there who wants to hear of
// them.
func (g *Gateway) unsubscribe(ctx context.Context, to *sdk.ServerSession, uri string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listLimit) // the end of a stream is one of these
	defer cancel()
	up, was := g.removeSubscriber(to, uri)
	if !was {
		_, err := g.resource(ctx, uri) // for the answer about what does not exist
		return err
	}
	return g.endSubscription(ctx, up, uri)
}

// endSubscription unsubscribes from a resource that no client is subscribed to any more.
func (g *Gateway) endSubscription(ctx context.Context, up caller, uri string) error {
	if up == nil {
		return nil
	}
	err := up.subscribe(ctx, uri, ended)
	g.mu.Lock()
	h := g.subscriptions[uri]
	g.mu.Unlock()
	if h != nil && h.up == up { // somebody came meanwhile
		return up.subscribe(ctx, uri, begun)
	}
	return err
}

// addSubscriber records that a session is subscribed to a resource, and reports whether it was before. Sessions end
// without unsubscribing, so the first subscription of one waits for its end.
func (g *Gateway) addSubscriber(to *sdk.ServerSession, uri string, up caller) (again bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := false
	for _, s := range g.subscriptions {
		known = known || s.by[to]
	}
	h := g.subscriptions[uri]
	if h == nil || h.up != up {
		h = &resourceSubscription{up: up, by: map[*sdk.ServerSession]bool{}, news: newNews(newsGap)}
		g.subscriptions[uri] = h
	}
	again = h.by[to]
	h.by[to] = true
	if !known {
		go func() {
			_ = to.Wait() // why does not matter
			g.left(to)
		}()
	}
	return again
}

// removeSubscriber records that a session is not subscribed to a resource any more, and reports whether it was. up is
// the server to unsubscribe from; nil: other sessions are subscribed.
func (g *Gateway) removeSubscriber(to *sdk.ServerSession, uri string) (up caller, was bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.subscriptions[uri]
	if h == nil || !h.by[to] {
		return nil, false
	}
	if delete(h.by, to); len(h.by) > 0 {
		return nil, true
	}
	delete(g.subscriptions, uri)
	return h.up, true
}

// left ends what a session subscribed to that has ended.
func (g *Gateway) left(s *sdk.ServerSession) {
	g.mu.Lock()
	uris := slices.Collect(maps.Keys(g.subscriptions))
	g.mu.Unlock()
	for _, uri := range uris {
		up, _ := g.removeSubscriber(s, uri)
		ctx, cancel := context.WithTimeout(context.Background(), listLimit)
		if err := g.endSubscription(ctx, up, uri); err != nil {
			g.opt.Logger.Info("a subscription could not be ended", "uri", shorten(uri), "error", err)
		}
		cancel()
	}
}

// subscribe asks the server to tell of changes of a resource, or to do so no longer.
func (u *upstream) subscribe(ctx context.Context, uri string, to subscription) error {
	if len(uri) > maxKey {
		return refusal("The address is longer than a resource's may be.")
	}
	u.mu.Lock()
	if to == begun && len(u.subscribed) >= mostOfServer {
		u.mu.Unlock()
		return refusal("There are as many subscriptions to this server as there may be.")
	}
	if to == begun {
		if u.subscribed == nil {
			u.subscribed = map[string]bool{}
		}
		u.subscribed[uri] = true
	} else {
		delete(u.subscribed, uri)
	}
	u.mu.Unlock()
	if err := u.inSession(ctx, true, func(ctx context.Context, s *session) error {
		if to == begun {
			return s.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
		}
		return s.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: uri})
	}); err != nil {
		u.mu.Lock()
		delete(u.subscribed, uri)
		u.mu.Unlock()
		return u.failed(ctx, err)
	}
	return nil
}

// mostOfServer is how many resources of one server are subscribed to at once.
const mostOfServer = 1000

// subscribeAgain takes a server's subscriptions to a new session.
func (u *upstream) subscribeAgain(s *session) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for uri := range u.subscribed {
		go func() {
			if err := s.Subscribe(u.life, &sdk.SubscribeParams{URI: uri}); err != nil {
				u.log().Warn("changes of a resource are not told any more", "uri", shorten(uri), "error", err)
			}
		}()
	}
}
