package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"modec.dev/modec/targets/mcp/serve"
)

// updated tells the client that a resource changed, if it may know the resource and it is that server's.
func (g *Gateway) updated(server, uri string) {
	g.mu.Lock()
	h := g.subscriptions[uri]
	g.mu.Unlock()
	if h != nil { // a server may tell of anything, and without end
		h.news.tell(func() { g.tellUpdated(server, uri) })
	}
}

// tellUpdated does so.
func (g *Gateway) tellUpdated(server, uri string) {
	ctx, cancel := context.WithTimeout(context.Background(), serve.Patience)
	defer cancel()
	if o, err := g.resource(ctx, uri); err != nil || o.server != server || o.grant.Access != Passed {
		return
	}
	if err := g.sdk.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
		g.opt.Logger.Warn("the client did not learn of a change", "uri", shorten(uri), "error", err)
	}
}

// progressed passes the progress of a call on to the client that made it. Of one that has ended nothing is told.
func (g *Gateway) progressed(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	g.mu.Lock()
	to, ok := g.progress[token]
	g.mu.Unlock()
	if !ok || !to.pace.Allow() {
		return
	}
	own := *p
	own.ProgressToken, own.Meta = to.token, passedMeta(p.Meta)
	if meta, err := json.Marshal(own.Meta); err != nil || len(meta) > maxErrorData {
		own.Meta = nil
	}
	if own.Message = plainText(own.Message); len(own.Message) > maxProgressWords {
		own.Message = strings.ToValidUTF8(own.Message[:maxProgressWords], "") + "…"
	}
	if err := to.session.NotifyProgress(to.ctx, &own); err != nil {
		g.opt.Logger.Info("progress was lost", "error", err)
	}
}

// follow gives a call a token of its own for its progress, where the client has asked for progress. done ends it.
func (g *Gateway) follow(ctx context.Context, s *sdk.ServerSession, meta map[string]any) (
	own map[string]any, done func()) {
	own = passedMeta(meta)
	token, ok := own["progressToken"]
	if !ok {
		return own, func() {}
	}
	key := fmt.Sprintf("modec-%d", counter.Add(1))
	own["progressToken"] = key
	g.mu.Lock()
	defer g.mu.Unlock()
	g.progress[key] = progress{ctx, s, token, rate.NewLimiter(progressASecond, progressAtOnce)}
	return own, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.progress, key)
	}
}

// changed tells the client that a list is another one. The SDK has no notification but for items that are added to
// it, which may be there: the one here is never listed, since the lists are not the SDK's.
func (g *Gateway) changed(k *kind) {
	switch k {
	case tools:
		g.sdk.AddTool(&sdk.Tool{Name: "modec-changed", InputSchema: map[string]any{"type": "object"}}, nil)
	case prompts:
		g.sdk.AddPrompt(&sdk.Prompt{Name: "modec-changed"}, nil)
	case resources:
		g.sdk.AddResource(&sdk.Resource{URI: "modec:changed", Name: "modec-changed"}, nil)
	}
}
