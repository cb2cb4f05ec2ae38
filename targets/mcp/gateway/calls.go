package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// stateless is the first revision without sessions.
const stateless = "2026-07-28"

// request is what requests of every method have.
type request interface {
	GetParams() sdk.Params
	ProtocolVersion() string
	ClientCapabilities() *sdk.ClientCapabilities
}

// listed answers with all that the subject may see of a kind, on one page.
func (g *Gateway) listed(ctx context.Context, k *kind, r request) (sdk.Result, error) {
	var from params
	raw, _ := json.Marshal(r.GetParams()) // what was read can be written
	if json.Unmarshal(raw, &from) != nil || from.Cursor != "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: fmt.Sprintf("got the cursor %q, and the list has one page", from.Cursor)}
	}
	_, j := g.joined(ctx, k)
	return &answer{fields: j.fields(k, r.ProtocolVersion() >= stateless)}, nil
}

// fields returns the result of a list.
func (j *join) fields(k *kind, newest bool) map[string]json.RawMessage {
	listed := []byte{'['}
	for _, o := range j.offers {
		if o.down {
			continue
		}
		if len(listed) > 1 {
			listed = append(listed, ',')
		}
		if k == tools || k == prompts {
			listed = append(listed, renamed(o.raw, o.name)...)
		} else {
			listed = append(listed, o.raw...)
		}
	}
	out := map[string]json.RawMessage{k.field: append(listed, ']')}
	if newest {
		out["resultType"] = complete
		out["ttlMs"], out["cacheScope"] = json.RawMessage("0"), json.RawMessage(`"private"`)
	}
	return out
}

var complete = json.RawMessage(`"complete"`)

// passed returns a server's result as the client's revision has it.
func passed(a *answer, r request) *answer {
	for _, key := range []string{"resultType", "ttlMs", "cacheScope", "inputRequests", "requestState"} {
		delete(a.fields, key) // those are of the hop to the server
	}
	var meta map[string]json.RawMessage
	if raw := a.fields["_meta"]; raw != nil && json.Unmarshal(raw, &meta) == nil {
		if own := passedMeta(meta); len(own) < len(meta) {
			a.fields["_meta"], _ = json.Marshal(own) // what was read can be written
		}
	} else {
		delete(a.fields, "_meta")
	}
	if r.ProtocolVersion() < stateless {
		return a
	}
	a.fields["resultType"] = complete
	return a
}

// callTool calls a tool that exists for the subject, once a person agrees where the policy asks.
func (g *Gateway) callTool(ctx context.Context, r *sdk.CallToolRequest) (sdk.Result, error) {
	o, err := g.tool(ctx, r.Params.Name)
	if err != nil {
		return nil, err
	}
	noteOffer(ctx, o)
	args := r.Params.Arguments
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if args, err = tidy(args, nil); err == nil && args[0] != '{' {
		err = errors.New("got no object")
	}
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: fmt.Sprintf("the arguments cannot be passed on: %v", err)}
	}
	if err := repeats(r, o, args); err != nil {
		return nil, err
	}
	if o.grant = g.Table().called(o, args); o.grant.Access == Hidden {
		no := refusal(fmt.Sprintf("The policy does not permit %s to call the tool %q with these arguments%s. "+
			"Nothing was done.", g.Table().who, o.name, ruleOf(o)))
		noteAsked(ctx, nil, no)
		return no.result(r), nil
	}
	if o.grant.Access == Asked {
		res, err := g.ask(ctx, question{request: r, session: r.Session, what: "call the tool", offer: o, kind: tools,
			args: args, state: r.Params.RequestState, responses: r.Params.InputResponses,
			again: func(ctx context.Context) (*offer, error) { return g.tool(ctx, r.Params.Name) }})
		var no refusal
		if errors.As(err, &no) {
			return no.result(r), nil
		}
		if res != nil || err != nil {
			return res, err
		}
	}
	return g.forward(repeating(ctx, o, args), "tools/call", r, r.Session, r.Params.GetMeta(), o,
		&params{Name: o.key, Arguments: args})
}

// forward has the server of an item answer for it.
func (g *Gateway) forward(
	ctx context.Context, method string, r request, session *sdk.ServerSession, meta map[string]any, o *offer, p *params,
) (sdk.Result, error) {
	own, done := g.follow(ctx, session, meta)
	defer done()
	ctx = g.askable(ctx, session)
	p.Meta = own
	a, err := o.up.call(ctx, method, p)
	if err != nil {
		return nil, err
	}
	return passed(a, r), nil
}

// getPrompt gets a prompt that exists for the subject.
func (g *Gateway) getPrompt(ctx context.Context, r *sdk.GetPromptRequest) (sdk.Result, error) {
	o, err := g.prompt(ctx, r.Params.Name)
	if err != nil {
		return nil, err
	}
	noteOffer(ctx, o)
	args, err := json.Marshal(r.Params.Arguments)
	if err != nil {
		return nil, err
	}
	if r.Params.Arguments == nil {
		args = nil
	}
	if o.grant.Access == Asked {
		res, err := g.ask(ctx, question{request: r, session: r.Session, what: "get the prompt", offer: o, kind: prompts,
			args: args, state: r.Params.RequestState, responses: r.Params.InputResponses,
			again: func(ctx context.Context) (*offer, error) { return g.prompt(ctx, r.Params.Name) }})
		if res != nil || err != nil {
			return res, err
		}
	}
	return g.forward(ctx, "prompts/get", r, r.Session, r.Params.GetMeta(), o, &params{Name: o.key, Arguments: args})
}

// readResource reads a resource that exists for the subject.
func (g *Gateway) readResource(ctx context.Context, r *sdk.ReadResourceRequest) (sdk.Result, error) {
	o, err := g.resource(ctx, r.Params.URI)
	if err != nil {
		return nil, err
	}
	noteOffer(ctx, o)
	if o.grant.Access == Asked {
		args, _ := json.Marshal(map[string]string{"uri": r.Params.URI}) // a text can be written
		res, err := g.ask(ctx, question{request: r, session: r.Session, what: "read the resource", offer: o,
			kind: resources, args: args, state: r.Params.RequestState, responses: r.Params.InputResponses,
			again: func(ctx context.Context) (*offer, error) { return g.resource(ctx, r.Params.URI) }})
		if res != nil || err != nil {
			return res, err
		}
	}
	res, err := g.forward(ctx, "resources/read", r, r.Session, r.Params.GetMeta(), o, &params{URI: r.Params.URI})
	if a, ok := res.(*answer); ok && r.ProtocolVersion() >= stateless { // the client must not keep it
		a.fields["ttlMs"], a.fields["cacheScope"] = json.RawMessage("0"), json.RawMessage(`"private"`)
	}
	return res, err
}

// complete completes an argument of a prompt or a template. Of what a person is asked about nothing is completed:
// nobody wants to be asked at each key.
func (g *Gateway) complete(ctx context.Context, r *sdk.CompleteRequest) (sdk.Result, error) {
	if r.Params.Ref == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "got no ref"}
	}
	ref := *r.Params.Ref
	var o *offer
	var err error
	switch ref.Type {
	case "ref/prompt":
		if o, err = g.prompt(ctx, ref.Name); err == nil {
			ref.Name = o.key
		}
	case "ref/resource":
		if st, j := g.joined(ctx, templates); j.byName[ref.URI] != nil {
			o = j.byName[ref.URI].at(st)
		} else {
			err = unknownResource(ref.URI)
		}
	default:
		err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("got a ref of type %q", ref.Type)}
	}
	if err != nil {
		return nil, err
	}
	if o.grant.Access == Asked {
		nothing := map[string]json.RawMessage{"completion": json.RawMessage(`{"values":[]}`)}
		return passed(&answer{fields: nothing}, r), nil
	}
	p := &params{Ref: &ref, Argument: r.Params.Argument}
	if r.Params.Context != nil {
		p.Context = r.Params.Context
	}
	p.Meta = passedMeta(r.Params.GetMeta())
	a, err := o.up.call(ctx, "completion/complete", p)
	if err != nil {
		return nil, err
	}
	return passed(a, r), nil
}

func unknownResource(uri string) error {
	data, _ := json.Marshal(map[string]string{"uri": uri}) // a text can be written
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found: " + uri, Data: data}
}
