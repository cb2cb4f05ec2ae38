package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/compiler/policy"
)

// note is what is known of a call while it is answered.
type note struct {
	offer   *offer        // nil: nothing that the subject may know has the name
	outcome audit.Outcome // "": of the answer
	detail  string
	// otherwise is set where the item is hidden because it is not as it was pinned.
	unpinned bool
}

type noteKey struct{}

// noteOffer notes the item that a call is about.
func noteOffer(ctx context.Context, o *offer) {
	if n, ok := ctx.Value(noteKey{}).(*note); ok {
		n.offer = o
	}
}

// foundUnpinned notes that an item is hidden because it is not as it was pinned.
func foundUnpinned(ctx context.Context) {
	if n, ok := ctx.Value(noteKey{}).(*note); ok {
		n.unpinned = true
	}
}

// noteAsked notes what became of a question to a person.
func noteAsked(ctx context.Context, res sdk.Result, err error) {
	n, ok := ctx.Value(noteKey{}).(*note)
	switch {
	case !ok:
	case err == error(declined("decline")), err == error(declined("cancel")):
		n.outcome = audit.Declined
	case err != nil:
		n.outcome, n.detail = audit.Refused, err.Error()
	case res != nil:
		n.outcome = audit.Asked
	default:
		n.detail = "a person agreed"
	}
}

// audited answers a call and writes it down. The subject cannot tell what is denied from what does not exist, and the
// record can.
func (g *Gateway) audited(ctx context.Context, k *kind, name string, args []byte,
	do func(context.Context) (sdk.Result, error)) (sdk.Result, error) {
	if g.opt.Audit == nil {
		return do(ctx)
	}
	start, n := time.Now(), &note{}
	t := g.Table() // by which it is decided, or one that a reload puts in its place meanwhile
	res, err := do(context.WithValue(ctx, noteKey{}, n))
	why := cutReason(ctx)
	if why != nil {
		res, err = nil, why
	}
	e := audit.Event{Time: start, Via: audit.ViaGateway, Principal: g.opt.principal, Role: t.ref.Role,
		Mode: t.ref.Mode, Tool: k.act(), Token: tokenOf(ctx),
		Group: string(ir.MCP), Policy: t.inForce(), Input: args, MS: audit.Since(start)}
	if k != resources {
		e.Tool = name
	}
	if n.offer == nil {
		e.Outcome = audit.Refused
		g.hidden(t, &e, k, name)
		if n.unpinned {
			e.Decision, e.Rule, e.Place = ir.Deny.String(), "it is not as it was pinned", pins.File
		} else if e.Decision == ir.Allow.String() || e.Decision == ir.Ask.String() {
			e.Outcome, e.Detail = audit.Failed, "it is not offered now"
		}
		if why != nil {
			e.Outcome, e.Detail = audit.Failed, why.Error()
		}
		g.opt.Audit(e)
		return res, err
	}
	r := n.offer.grant.Result
	e.Server, e.Decision, e.Rule, e.Place = n.offer.server, r.Decision.String(), r.Rule, r.Pos.String()
	if k != resources {
		e.Tool = n.offer.key
	}
	if k == tools {
		e.About = n.offer.key
	}
	e.Outcome, e.Detail = n.outcome, n.detail
	switch a, _ := res.(*answer); {
	case why != nil:
		e.Outcome, e.Detail = audit.Failed, why.Error()
	case e.Outcome != "":
	case err != nil:
		e.Outcome, e.Detail = audit.Failed, strings.TrimSpace(e.Detail+" "+err.Error())
	case a != nil && string(a.fields["isError"]) == "true":
		e.Outcome = audit.Failed
	default:
		e.Outcome = audit.Done
	}
	g.opt.Audit(e)
	return res, err
}

// act returns what a call about an item of the kind is called, where the item is not named.
func (k *kind) act() string {
	switch k.of {
	case policy.Prompt:
		return "prompts/get"
	case policy.Resource:
		return "resources/read"
	}
	return "tools/call"
}

// hidden writes into an event why the subject does not see an item.
func (g *Gateway) hidden(t *Table, e *audit.Event, k *kind, name string) {
	e.Decision, e.Rule = ir.Deny.String(), "nothing of the inventory has this name"
	if k == resources {
		e.Rule = "no server that may be used offers it"
		return
	}
	d, ok := g.denied(t, k, name)
	switch {
	case !ok:
		return
	case !d.known:
		e.Server, e.Tool, e.Rule = d.server, d.item, "the inventory does not list it"
		return
	case k == tools:
		e.About = d.item
	}
	r := d.result
	e.Server, e.Tool, e.Decision, e.Rule = d.server, d.item, r.Decision.String(), r.Rule
	e.Place = r.Pos.String()
}

// denial is what a name stands for that the subject does not see, and what the policy says of it.
type denial struct {
	server, item string
	known        bool // the inventory has it; otherwise there is no result
	result       policy.Result
}

// denied returns what the name of a tool or prompt stands for; false where nothing of the inventory may have it.
func (g *Gateway) denied(t *Table, k *kind, name string) (d denial, ok bool) {
	for i := range t.project.Servers {
		sv := &t.project.Servers[i]
		prefix, set := g.opt.Naming[sv.Name]
		if !set {
			prefix = sv.Name + "_"
		}
		item, fits := strings.CutPrefix(name, prefix)
		if !fits || item == "" {
			continue
		}
		listed := slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool { return t.Name == item })
		if k == tools && !listed {
			if !ok && prefix != "" {
				d, ok = denial{server: sv.Name, item: item}, true
			}
			continue
		}
		r, _ := t.decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: item, Kind: k.of})
		return denial{sv.Name, item, true, r}, true
	}
	return d, ok
}

// arguments returns the arguments of a call as JSON.
func arguments(of any) []byte {
	data, _ := json.Marshal(of) // texts can be written
	return data
}

type tokenKey struct{}

// tokenOf returns the caller's token; "" where nobody is asked for one.
func tokenOf(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string)
	return token
}
