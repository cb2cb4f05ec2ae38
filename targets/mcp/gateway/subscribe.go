package gateway

import (
	"context"
	"maps"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// hearing is a resource whose changes are told, and to whom.
type hearing struct {
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
	again := g.hear(to, uri, o.up) // before the server is asked, so that one who leaves does not end it for this one
	if err = o.up.subscribe(ctx, uri, begun); err != nil && !again {
		g.unhear(to, uri)
	}
	return err
}

// unsubscribe asks a resource's server to tell of its changes no longer, once nobody is there who wants to hear of
// them.
func (g *Gateway) unsubscribe(ctx context.Context, to *sdk.ServerSession, uri string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listLimit) // the end of a stream is one of these
	defer cancel()
	up, was := g.unhear(to, uri)
	if !was {
		_, err := g.resource(ctx, uri) // for the answer about what does not exist
		return err
	}
	return g.silence(ctx, up, uri)
}

// silence ends a subscription that nobody has any more.
func (g *Gateway) silence(ctx context.Context, up caller, uri string) error {
	if up == nil {
		return nil
	}
	err := up.subscribe(ctx, uri, ended)
	g.mu.Lock()
	h := g.heard[uri]
	g.mu.Unlock()
	if h != nil && h.up == up { // somebody came meanwhile
		return up.subscribe(ctx, uri, begun)
	}
	return err
}

// hear notes who hears of a resource, and reports whether it did before. Sessions end without a word.
func (g *Gateway) hear(to *sdk.ServerSession, uri string, up caller) (again bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := slices.ContainsFunc(slices.Collect(maps.Values(g.heard)), func(h *hearing) bool { return h.by[to] })
	h := g.heard[uri]
	if h == nil || h.up != up {
		h = &hearing{up: up, by: map[*sdk.ServerSession]bool{}, news: newNews(newsGap)}
		g.heard[uri] = h
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

// unhear notes who hears of a resource no longer, and reports whether it did. up is the server that nobody hears any
// more about it; nil: somebody does.
func (g *Gateway) unhear(to *sdk.ServerSession, uri string) (up caller, was bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.heard[uri]
	if h == nil || !h.by[to] {
		return nil, false
	}
	if delete(h.by, to); len(h.by) > 0 {
		return nil, true
	}
	delete(g.heard, uri)
	return h.up, true
}

// left ends what a session subscribed to that has ended.
func (g *Gateway) left(s *sdk.ServerSession) {
	g.mu.Lock()
	uris := slices.Collect(maps.Keys(g.heard))
	g.mu.Unlock()
	for _, uri := range uris {
		up, _ := g.unhear(s, uri)
		ctx, cancel := context.WithTimeout(context.Background(), listLimit)
		if err := g.silence(ctx, up, uri); err != nil {
			g.opt.Logger.Info("a subscription stays", "uri", shorten(uri), "error", err)
		}
		cancel()
	}
}
