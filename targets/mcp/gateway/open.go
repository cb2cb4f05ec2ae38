package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/audit"
)

// Requests of a server to its client are refused unless the server's setting opens their kind. Then they go to the
// client whose call is under way, and say which server asks. Where several calls are, nobody knows whose it is about,
// and it is refused. Revision 2026-07-28 has no requests of servers: a client of it is not asked.

// Openings are the requests of a server that its setting may open, and their methods.
var Openings = map[string]string{"elicitation": "elicitation/create", "roots": "roots/list",
	"sampling": "sampling/createMessage"}

// callerOf is a client with a call to a server under way.
type callerOf struct {
	gateway *Gateway
	session *sdk.ServerSession
}

type callerKey struct{}

// askable returns a context for calls by a client that may be asked.
func (g *Gateway) askable(ctx context.Context, s *sdk.ServerSession) context.Context {
	if len(g.opt.Open) == 0 {
		return ctx
	}
	return context.WithValue(ctx, callerKey{}, &callerOf{g, s})
}

// underWay notes a call, until done is called.
func (u *upstream) underWay(ctx context.Context) (done func()) {
	a, ok := ctx.Value(callerKey{}).(*callerOf)
	u.mu.Lock()
	defer u.mu.Unlock()
	if !ok || len(u.open) == 0 {
		return func() {}
	}
	if u.callers == nil {
		u.callers = map[*callerOf]bool{}
	}
	u.callers[a] = true
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.callers, a)
	}
}

// opens reports whether a request of the server is passed on.
func (u *upstream) opens(method string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(u.open, func(what string) bool { return Openings[what] == method })
}

// passOn has the client of the only call under way answer a request of the server, and writes that down.
func (u *upstream) passOn(method string, ask func(*sdk.ServerSession) (words string, err error)) error {
	u.mu.Lock()
	var a *callerOf
	for a = range u.callers {
	}
	n := len(u.callers)
	u.mu.Unlock()
	if n != 1 {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(
			"%q is refused: %d calls are under way, and it can be passed on for one", method, n)}
	}
	g, start := a.gateway, time.Now()
	words, err := ask(a.session)
	if write := g.opt.Audit; write != nil {
		t := g.Table()
		e := audit.Event{Time: start, Via: audit.ViaGateway, Principal: g.opt.principal, Role: t.ref.Role,
			Mode: t.ref.Mode, Server: u.entry.Name, Tool: method, Policy: t.inForce(), Outcome: audit.Done,
			Detail: words, MS: audit.Since(start)}
		if err != nil {
			e.Outcome, e.Detail = audit.Refused, err.Error()
		}
		write(e)
	}
	if err != nil {
		u.log().Info("a request of the server is not answered", "method", method, "error", err)
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
			Message: fmt.Sprintf("%q is refused: the client of the gateway cannot answer it", method)}
	}
	return nil
}

// elicit asks a person for a server, with the server's name before its words.
func (u *upstream) elicit(ctx context.Context, r *sdk.ElicitRequest) (res *sdk.ElicitResult, err error) {
	err = u.passOn("elicitation/create", func(s *sdk.ServerSession) (string, error) {
		own := &sdk.ElicitParams{
			Message: fmt.Sprintf("Server %s asks: %s", escaped(u.entry.Name), escaped(r.Params.Message))}
		if r.Params.URL != "" || r.Params.Mode == "url" {
			return "", errors.New("a server sends nobody to an address")
		}
		if len(own.Message) > maxShown {
			return "", fmt.Errorf("its question is longer than %d bytes", maxShown)
		}
		if r.Params.RequestedSchema != nil {
			raw, err := json.Marshal(r.Params.RequestedSchema)
			if err == nil && len(raw) > maxItem {
				err = errors.New("its schema is too long")
			}
			if err == nil {
				raw, err = tidy(raw, definitionText)
			}
			if err != nil {
				return "", err
			}
			own.RequestedSchema = json.RawMessage(raw)
		}
		var bad error
		if res, bad = s.Elicit(ctx, own); bad != nil {
			return "", bad
		}
		return res.Action, nil
	})
	return res, err
}

// sample has the client's model answer for a server, with the server's name before its prompt.
//
//lint:ignore SA1019 clients and servers of earlier revisions have it
func (u *upstream) sample(ctx context.Context, r *sdk.CreateMessageRequest) (res *sdk.CreateMessageResult, err error) {
	err = u.passOn("sampling/createMessage", func(s *sdk.ServerSession) (string, error) {
		own := *r.Params
		own.Meta, own.IncludeContext = nil, "" // what others said is not for this server
		own.SystemPrompt = fmt.Sprintf("This is a request of the MCP server %s, and not of the user.",
			escaped(u.entry.Name))
		if r.Params.SystemPrompt != "" {
			own.SystemPrompt += "\n\n" + plainText(r.Params.SystemPrompt)
		}
		var bad error
		//lint:ignore SA1019 clients and servers of earlier revisions have it
		if res, bad = s.CreateMessage(ctx, &own); bad != nil {
			return "", bad
		}
		return "a model answered", nil
	})
	return res, err
}

// roots has the client say which folders it works in.
//
//lint:ignore SA1019 clients and servers of earlier revisions have it
func (u *upstream) roots(ctx context.Context) (res *sdk.ListRootsResult, err error) {
	err = u.passOn("roots/list", func(s *sdk.ServerSession) (string, error) {
		var bad error
		//lint:ignore SA1019 clients and servers of earlier revisions have it
		if res, bad = s.ListRoots(ctx, nil); bad != nil {
			return "", bad
		}
		return fmt.Sprintf("%d folders", len(res.Roots)), nil
	})
	return res, err
}
