package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/inventory"
	"modec.dev/modec/compiler/policy"
)

// offer is an item that the subject may see.
type offer struct {
	item
	name   string // by which clients know it
	server string
	grant  Grant
	up     caller // nil in a join, which several gateways may have
	// unpinned is set where it is hidden because it is not as it was pinned.
	unpinned bool
	down     bool // its server does not answer now: nobody else answers in its place
}

// at returns an offer with the server that answers for it in a state.
func (o *offer) at(st *state) *offer {
	own := *o
	own.up = st.servers[o.server]
	return &own
}

// join is what servers offer of a kind, as far as a table lets the subject see it. It does not change.
type join struct {
	offers []*offer
	byName map[string]*offer
	// unpinned are the names of what is hidden because it is not as it was pinned.
	unpinned map[string]bool
}

// joined asks the servers that offer something of a kind to the subject, all at once. One that fails, or does not
// answer in time, costs what it offers and nothing else.
func (g *Gateway) joined(ctx context.Context, k *kind) (*state, *join) {
	st := g.state.Load()
	lists := make([]*list, len(st.table.servers))
	var all sync.WaitGroup
	for i, s := range st.table.servers {
		if !s.offers(k) {
			continue
		}
		all.Go(func() {
			limit := g.late.limit(s.entry.Name, k)
			ctx, cancel := context.WithTimeoutCause(ctx, limit, lateError(limit))
			defer cancel()
			up := st.servers[s.entry.Name]
			l, err := up.list(ctx, k)
			if err == nil {
				lists[i] = l
				return
			}
			if l != nil && k != tools { // whose names belong to one server each
				lists[i] = &list{items: l.items, down: true}
			}
			if _, late := context.Cause(ctx).(lateError); late && g.late.begin(s.entry.Name, k) {
				go g.waitFor(up, s.entry.Name, k)
			}
			if err = cmp.Or(context.Cause(ctx), err); g.first(s.entry.Name, k.field, err.Error()) {
				g.opt.Logger.Warn("a server's list is left out", "server", s.entry.Name, "of", k.field, "error", err)
			}
		})
	}
	all.Wait()
	return st, g.join(st.table, k, lists)
}

// first reports whether something was not logged about this caller in the last minute.
func (g *Gateway) first(what ...string) bool {
	return g.caches.first(g.opt.principal + " " + strings.Join(what, " "))
}

// lateError is how long a server was waited for.
type lateError time.Duration

func (e lateError) Error() string {
	return fmt.Sprintf("it does not answer within %s", time.Duration(e))
}

// waitFor waits for a list that did not come in time, and tells the client when it is there.
func (g *Gateway) waitFor(up caller, server string, k *kind) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit+fetchLimit)
	defer cancel()
	_, err := up.list(ctx, k)
	g.late.end(server, k, err)
	switch {
	case err != nil:
	case k == templates:
		g.changed(resources) // which is told of both
	default:
		g.changed(k)
	}
}

// late knows the lists that did not come in time. Nobody waits long for one of them again until it has come: what one
// server owes delays what the others offer once.
type late struct {
	most time.Duration // that a list is waited for; 0: listLimit
	of   sync.Map      // true: somebody waits for it
}

// lateLimit is how long a list is waited for that was late.
const lateLimit = 250 * time.Millisecond

// limit returns how long a list is waited for.
func (l *late) limit(server string, k *kind) time.Duration {
	if _, was := l.of.Load(server + " " + k.method); was {
		return lateLimit
	}
	return cmp.Or(l.most, listLimit)
}

// begin notes that a list is late. It reports whether the caller is to wait for it, which one at a time does.
func (l *late) begin(server string, k *kind) bool {
	waits, _ := l.of.Swap(server+" "+k.method, true)
	return waits != true
}

// end notes how waiting for a list ended.
func (l *late) end(server string, k *kind, err error) {
	if err == nil {
		l.of.Delete(server + " " + k.method)
	} else {
		l.of.Store(server+" "+k.method, false)
	}
}

// offers reports whether there may be anything of a kind for the subject.
func (s *serverTable) offers(k *kind) bool {
	switch k.of {
	case policy.Tool:
		return len(s.tools) > 0
	case policy.Prompt:
		return s.prompts.Access > Hidden
	}
	return s.resources.Access > Hidden
}

// join joins lists with the table. What several servers offer under one name or address is the first one's, by the
// order of the source, also while that one does not answer: so none takes away what another one before it offers, or
// stands in for it.
func (g *Gateway) join(t *Table, k *kind, lists []*list) *join {
	j := &join{byName: map[string]*offer{}, unpinned: map[string]bool{}}
	for i, s := range t.servers {
		if lists[i] == nil {
			continue
		}
		for _, it := range lists[i].items {
			o, ok := g.offer(t, s, k, it)
			if !ok {
				if o.unpinned {
					j.unpinned[o.name] = true
				}
				continue
			}
			if k == prompts && !inventory.Takes(o.name) {
				if g.first(s.entry.Name, k.field, it.key) {
					g.opt.Logger.Warn("a prompt is left out, since clients do not take its name",
						"server", s.entry.Name, "name", shorten(it.key))
				}
				continue
			}
			if first := j.byName[o.name]; first != nil {
				if g.first(s.entry.Name, k.field, it.key) {
					g.opt.Logger.Warn("this is left out, since a server before offers it too", "of", k.field, "server",
						o.server, "name", shorten(o.name), "before", first.server)
				}
				continue
			}
			o.down = lists[i].down
			j.offers = append(j.offers, o)
			j.byName[o.name] = o
		}
	}
	return j
}

// tool returns the tool that clients know by a name. It asks no server but the tool's own, and none where it is hidden
// whatever the server says: what is denied must not answer later than what does not exist.
func (g *Gateway) tool(ctx context.Context, name string) (*offer, error) {
	st := g.state.Load()
	n, ok := st.table.names[name]
	if !ok {
		return nil, g.unknown(st.table, tools, name, unknownTool(name))
	}
	s := st.table.server(n.server)
	if !s.mayBeAsPinned(tools, n.tool) {
		foundUnpinned(ctx)
		return nil, g.unknown(st.table, tools, name, unknownTool(name))
	}
	l, err := st.servers[n.server].list(ctx, tools)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(l.items, func(it item) bool { return it.key == n.tool })
	if i < 0 {
		return nil, unknownTool(name)
	}
	o, ok := g.offer(st.table, s, tools, l.items[i])
	if ok {
		return o.at(st), nil
	}
	if o.unpinned {
		foundUnpinned(ctx)
	}
	return nil, g.unknown(st.table, tools, name, unknownTool(name))
}

// prompt returns the prompt that clients know by a name.
func (g *Gateway) prompt(ctx context.Context, name string) (*offer, error) {
	st, j := g.joined(ctx, prompts)
	if j.byName[name] != nil {
		return j.byName[name].at(st), nil
	}
	if j.unpinned[name] {
		foundUnpinned(ctx)
	}
	none := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", name)}
	return nil, g.unknown(st.table, prompts, name, none)
}

// unknown returns the answer about a tool or prompt that the subject does not see: none, which is that of what does not
// exist, or where the gateway is explicit which rule denies it.
func (g *Gateway) unknown(t *Table, k *kind, name string, none error) error {
	if !g.opt.Explicit {
		return none
	}
	d, ok := g.denied(t, k, name)
	switch {
	case !ok || !d.known:
		return none
	case accessOf(d.result.Decision, g.opt.AgentAsks) > Hidden && k == prompts:
		return none // the policy has nothing against it, so the server does not offer it
	case accessOf(d.result.Decision, g.opt.AgentAsks) > Hidden:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
			Message: fmt.Sprintf("%s %q is not served now: its server does not offer it, or not as it is pinned, or "+
				"it waits for the gateway to be started again", k.noun(), name)}
	}
	text := fmt.Sprintf("%s %q is denied to %s: %s", k.noun(), name, t.who, d.result.Explanation())
	if d.result.Pos.File != "" {
		text += ", " + d.result.Pos.String()
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: diag.Clean(text)}
}

// resource returns the resource of an address, or the template that it is of: the first one that takes it, by the order
// of the source. A resource that is listed goes before every template.
func (g *Gateway) resource(ctx context.Context, uri string) (*offer, error) {
	st, j := g.joined(ctx, resources)
	if o := j.byName[uri]; o != nil {
		return o.at(st), nil
	}
	st, j = g.joined(ctx, templates)
	for _, o := range j.offers {
		if o.matches.MatchString(uri) {
			return o.at(st), nil
		}
	}
	return nil, unknownResource(uri)
}
