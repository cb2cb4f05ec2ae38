package gateway

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// transport returns a new transport to the server, and a function that tells what it said of itself.
func (u *upstream) transport(ctx context.Context) (sdk.Transport, func() string, error) {
	quiet := func() string { return "" }
	var values []string
	e, err := expanded(u.entry, func(name string) (string, bool) {
		value, ok := lookupEnv(name)
		values = append(values, value)
		return value, ok
	})
	for _, value := range u.forwarded {
		_, credentials, _ := strings.Cut(value, " ") // Bearer, and what nobody else may see
		for _, secret := range []string{value, credentials} {
			if len(secret) >= shortestForwarded {
				values = append(values, secret)
			}
		}
	}
	u.mu.Lock()
	u.hidden = values
	u.mu.Unlock()
	if err != nil {
		return nil, quiet, err
	}
	if e.Command != "" {
		c := &child{cmd: command(e, u.root, lookupEnv), log: u.log(), progressed: u.events.progressed}
		return c, c.err.last, nil
	}
	for name, value := range u.forwarded {
		maps.DeleteFunc(e.Headers, func(other, _ string) bool { return strings.EqualFold(other, name) })
		e.Headers[name] = value
	}
	client, err := newRemote(ctx, e, u.events.progressed)
	if err != nil {
		return nil, quiet, err
	}
	if u.entry.Type == "sse" {
		return &sdk.SSEClientTransport{Endpoint: e.URL, HTTPClient: client, MaxEventSize: maxMessage}, quiet, nil
	}
	return &sdk.StreamableClientTransport{Endpoint: e.URL, HTTPClient: client, MaxEventSize: maxMessage}, quiet, nil
}

// client returns a client that hears the server and gives it nothing but what its setting opens.
func (u *upstream) client() *sdk.Client {
	changed := func(ks ...*kind) {
		for _, k := range ks {
			u.listing(k).drop()
			u.listing(k).news.tell(func() { u.events.changed(k) })
		}
	}
	self := &sdk.Implementation{Name: "modec", Title: "modec gateway", Version: u.version}
	options := &sdk.ClientOptions{
		Capabilities:             &sdk.ClientCapabilities{},
		MultiRoundTrip:           &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler:   func(context.Context, *sdk.ToolListChangedRequest) { changed(tools) },
		PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) { changed(prompts) },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) {
			changed(resources, templates)
		},
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			u.events.updated(u.entry.Name, r.Params.URI)
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			u.events.progressed(r.Params)
		},
	}
	if u.opens("elicitation/create") {
		options.ElicitationHandler = u.elicit
	}
	if u.opens("sampling/createMessage") {
		//lint:ignore SA1019 clients and servers of earlier revisions have it
		options.CreateMessageHandler = u.sample
	}
	if u.opens("roots/list") {
		//lint:ignore SA1019 clients and servers of earlier revisions have it
		options.Capabilities.RootsV2 = &sdk.RootCapabilities{}
	}
	c := sdk.NewClient(self, options)
	c.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			switch method {
			case "roots/list", "sampling/createMessage", "elicitation/create":
				if u.opens(method) && method == "roots/list" {
					return u.roots(ctx)
				}
				if u.opens(method) {
					break
				}
				if u.logged.first(method) {
					u.log().Warn("a request of the server to the client is refused", "method", method)
				}
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
					Message: fmt.Sprintf("%q is refused: modec gateway passes no request of a server on", method)}
			}
			return next(ctx, method, req)
		}
	})
	for _, m := range methods {
		if err := sdk.AddSendingCustomMethod[*params, *answer](c, methodPrefix+m); err != nil {
			panic(err) // of a name that the protocol has, which these are not
		}
	}
	return c
}
