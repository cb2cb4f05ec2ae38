package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcp/serve"
)

// Options configure a gateway. The subject and the version have no default.
type Options struct {
	Subject ir.SubjectRef
	Version string       // of modec
	Root    string       // the project's folder, in which servers are started
	Logger  *slog.Logger // nil: nothing is logged
	Naming  Naming
	Pins    *pins.Set // of the project; nil: it has none
	// Raw are the servers of whose results the texts are passed on as they are, with what drives terminals.
	Raw map[string]bool
	// Open are the requests of servers to the client that are passed on, of [Openings], by the servers' names.
	Open map[string][]string
	// AgentAsks says that the client itself asks a person before it calls a tool: what is asked about or
	// left to the agent is passed on.
	AgentAsks bool
	// Unite returns the subjects of a source that the gateway serves together, in the place of Subject, for an
	// agent that asks and enforces what each of them may do. Who names them for people. Rules with times allow nothing
	// then: the agent's files have no times.
	Unite func(*ir.Project) []ir.SubjectRef
	Who   string
	// Explicit says that a call of what is denied is answered with the rule that denies it. Otherwise the answer is
	// that of what does not exist.
	Explicit bool
	Audit    func(audit.Event) // writes an event; nil: nothing is written
	Now      func() time.Time  // the clock, for what is permitted at times; nil: the machine's

	life      *life     // of the gateway for many that this is one of; nil: none
	principal string    // who calls; "": whoever started the gateway
	asks      *approver // nil: one of its own
	headers   string    // a digest of those of the caller that are passed on
	caches    *caches   // nil: some of its own
}

// Gateway serves one client. It is safe for concurrent use.
type Gateway struct {
	opt    Options
	sdk    *sdk.Server
	asks   *approver
	caches *caches
	start  func(*ir.Server) caller // of an upstream

	state     atomic.Pointer[state]
	settings  atomic.Pointer[map[string]ServerOptions] // of the servers, as far as they hold
	reloading sync.Mutex
	clock     clock // of a gateway that is not one of many

	logged logOnce // of what is not as pinned
	late   late    // lists

	mu            sync.Mutex
	progress      map[string]progress
	subscriptions map[string]*resourceSubscription // by the addresses of resources
}

// state is a table with the servers that it needs.
type state struct {
	table   *Table
	servers map[string]caller
}

// progress is where the progress of a call goes.
type progress struct {
	ctx     context.Context
	session *sdk.ServerSession
	token   any
	pace    *rate.Limiter
}

// New returns a gateway. No server is started before it is needed. Close ends those that were.
func New(e *policy.Engine, opt Options) (*Gateway, error) {
	return newGateway(e, opt, nil)
}

func newGateway(e *policy.Engine, opt Options, start func(ir.Server) caller) (*Gateway, error) {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	t, err := opt.newTable(e)
	if err != nil {
		return nil, err
	}
	var starts func(*Gateway, *ir.Server) caller
	if start != nil {
		starts = func(_ *Gateway, sv *ir.Server) caller { return start(*sv) }
	}
	g := withTable(t, opt, starts)
	g.clock.now, g.clock.stop = opt.Now, make(chan struct{})
	g.clock.united = opt.Unite != nil
	g.clock.add(model{e, opt.Pins}, t)
	if opt.timed(e) {
		g.tick()
		g.watchClock()
	}
	return g, nil
}

// withTable returns a gateway that serves a table. start makes its servers; nil: each as its entry says.
func withTable(t *Table, opt Options, start func(*Gateway, *ir.Server) caller) *Gateway {
	g := &Gateway{opt: opt, asks: opt.asks, caches: opt.caches, progress: map[string]progress{},
		subscriptions: map[string]*resourceSubscription{}}
	if g.asks == nil {
		g.asks = newApprover(nil)
	}
	if g.caches == nil {
		g.caches = newCaches()
	}
	first := opt.servers()
	g.settings.Store(&first)
	g.start = func(sv *ir.Server) caller {
		if start != nil {
			return start(g, sv)
		}
		u := newUpstream(sv, opt.Root, opt.Version, opt.Logger, g, g.caches)
		u.setOptions((*g.settings.Load())[sv.Name])
		return u
	}
	g.sdk = g.server()
	g.use(t)
	if names := t.Unlisted(); len(names) > 0 {
		opt.Logger.Warn(unlisted(names))
	}
	if len(t.moved) > 0 {
		opt.Logger.Warn(pinnedOtherwise(t.moved))
	}
	if len(t.alike) > 0 {
		opt.Logger.Warn(indistinct(t.alike))
	}
	return g
}

// use serves a table from now on, with the servers that run already where they are the same.
func (g *Gateway) use(t *Table) {
	next := &state{table: t, servers: map[string]caller{}}
	old := g.state.Load()
	for _, s := range t.servers {
		name := s.entry.Name
		if old != nil && old.servers[name] != nil {
			next.servers[name] = old.servers[name]
		} else {
			next.servers[name] = g.start(&s.entry)
		}
	}
	g.state.Store(next)
	if old == nil {
		return
	}
	for name, c := range old.servers {
		if next.servers[name] == nil {
			go c.close()
		}
	}
}

// Reload takes another model and other pins, as far as they narrow what is served. It returns in words what else they
// permit: that is not served before the gateway is started again. A subject that is gone may do nothing.
func (g *Gateway) Reload(e *policy.Engine, set *pins.Set) (waiting []string) {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	m := model{e, set}
	t := g.tableOf(m, e)
	if len(t.moved) > 0 && !slices.Equal(t.moved, g.state.Load().table.moved) {
		g.opt.Logger.Warn(pinnedOtherwise(t.moved))
	}
	c := &g.clock
	times := []func(*policy.Engine) *policy.Engine{closed, opened}
	if g.opt.Unite != nil {
		times = times[:1]
	}
	for _, at := range times {
		_, wider := narrow(c.table(g, at), g.tableOf(m, at(e)))
		for _, what := range wider {
			if !slices.Contains(waiting, what) {
				waiting = append(waiting, what)
			}
		}
	}
	c.add(m, t)
	c.last = nil
	if g.atNow(); g.opt.timed(e) {
		g.watchClock()
	}
	return waiting
}

// tableOf returns the table of a model by its engine at a time: one of nothing where the subject is gone, or may
// not work in its mode.
func (g *Gateway) tableOf(m model, at *policy.Engine) *Table {
	t, err := g.opt.tableOf(at, m.pins)
	if err != nil {
		g.opt.Logger.Warn("nothing is served any more", "why", err)
		t = emptyTable(m.Engine, g.opt.Subject)
	}
	return t
}

// take serves another table, and tells the clients.
func (g *Gateway) take(t *Table) {
	g.use(t)
	for _, k := range kinds {
		g.changed(k)
	}
}

// Digest returns the digest of the policy that is served now.
func (g *Gateway) Digest() string { return g.Table().inForce() }

// Table returns what is served now.
func (g *Gateway) Table() *Table { return g.state.Load().table }

// Servers returns the servers of which something exists for the subject, now or at another time.
func (g *Gateway) Servers() []*ir.Server {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	return g.clock.table(g, opened).Servers()
}

// Close ends every server.
func (g *Gateway) Close() {
	g.clock.end.Do(func() {
		if g.clock.stop != nil {
			close(g.clock.stop)
		}
	})
	var all sync.WaitGroup
	for _, c := range g.state.Load().servers {
		all.Go(c.close)
	}
	all.Wait()
}

// Run serves a pair of streams, standard input and output, until the input ends or the context does.
func (g *Gateway) Run(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	done := make(chan error, 1)
	go func() { done <- g.sdk.Run(ctx, serve.Lines(in, out)) }()
	ended := func(err error) error {
		if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
	select {
	case err := <-done:
		return ended(err)
	case <-ctx.Done():
	}
	select { // a client that does not read its answers does not keep the gateway
	case err := <-done:
		return ended(err)
	case <-time.After(serve.Patience):
		return nil
	}
}

const instructions = "The tools of this project's MCP servers, as far as the project's policy permits them to you. " +
	"A tool's name begins with its server's. Some calls are asked about first. Do not attempt in another way what is " +
	"refused."

// server returns the server that the client sees.
func (g *Gateway) server() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "modec-gateway", Title: "modec gateway", Version: g.opt.Version},
		&sdk.ServerOptions{
			Instructions: instructions,
			Logger:       slog.New(slog.DiscardHandler), // the middleware logs what matters
			Capabilities: &sdk.ServerCapabilities{
				Tools:       &sdk.ToolCapabilities{ListChanged: true},
				Prompts:     &sdk.PromptCapabilities{ListChanged: true},
				Resources:   &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
				Completions: &sdk.CompletionCapabilities{},
			},
			SubscribeHandler: func(ctx context.Context, r *sdk.SubscribeRequest) error {
				return g.subscribe(ctx, r.Session, r.Params.URI)
			},
			UnsubscribeHandler: func(ctx context.Context, r *sdk.UnsubscribeRequest) error {
				return g.unsubscribe(ctx, r.Session, r.Params.URI)
			},
			SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
				c.TTLMs, c.CacheScope = 0, "private"
			},
		})
	s.AddReceivingMiddleware(g.receive)
	return s
}

// receive is around every message of the client.
func (g *Gateway) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if r := recover(); r != nil {
				g.opt.Logger.Error("a handler panicked", "method", method, "panic", r, "stack", string(debug.Stack()))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
					Message: "the gateway failed at " + method}
			}
		}()
		ctx, done := g.withLifetime(ctx, method, req)
		defer done()
		res, err = g.handle(ctx, method, req, next)
		if why := cutReason(ctx); why != nil {
			res, err = nil, why
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			err = serve.StandardError(err)
		}
		return res, err
	}
}

// handle answers a message. It names every method that there is.
func (g *Gateway) handle(ctx context.Context, method string, req sdk.Request, next sdk.MethodHandler) (
	sdk.Result, error) {
	g.tick()
	switch r := req.(type) {
	case *sdk.ListToolsRequest:
		return g.listed(ctx, tools, r)
	case *sdk.ListPromptsRequest:
		return g.listed(ctx, prompts, r)
	case *sdk.ListResourcesRequest:
		return g.listed(ctx, resources, r)
	case *sdk.ListResourceTemplatesRequest:
		return g.listed(ctx, templates, r)
	case *sdk.CallToolRequest:
		return g.audited(ctx, tools, r.Params.Name, r.Params.Arguments,
			func(ctx context.Context) (sdk.Result, error) { return g.callTool(ctx, r) })
	case *sdk.GetPromptRequest:
		return g.audited(ctx, prompts, r.Params.Name, arguments(r.Params.Arguments),
			func(ctx context.Context) (sdk.Result, error) { return g.getPrompt(ctx, r) })
	case *sdk.ReadResourceRequest:
		return g.audited(ctx, resources, r.Params.URI, arguments(map[string]string{"uri": r.Params.URI}),
			func(ctx context.Context) (sdk.Result, error) { return g.readResource(ctx, r) })
	case *sdk.CompleteRequest:
		return g.complete(ctx, r)
	case *sdk.SubscriptionsListenRequest:
		if r.ProtocolVersion() < stateless {
			return nil, noMethod(method) // in its revision
		}
	}
	switch method {
	case "initialize", "ping", "server/discover", "resources/subscribe", "resources/unsubscribe",
		listenMethod, "notifications/initialized", "notifications/cancelled", "notifications/progress",
		"notifications/roots/list_changed":
		return next(ctx, method, req)
	}
	return nil, noMethod(method)
}

func noMethod(method string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("there is no method %q", method)}
}

// offer returns an item of a server as clients see it; false where it is hidden, by the policy or because it is not as
// it was pinned. Every list and every call goes through it.
func (g *Gateway) offer(t *Table, s *serverTable, k *kind, it item) (*offer, bool) {
	o := &offer{item: it, name: it.key, server: s.entry.Name, grant: t.Grant(s.entry.Name, k.of, it.key)}
	if k == tools || k == prompts {
		o.name = s.prefix + it.key
	}
	if o.grant.Access > Hidden && !s.isAsPinned(k, &it) {
		o.grant, o.unpinned = Grant{}, true
		g.logUnpinned(s, k, &it)
	}
	return o, o.grant.Access > Hidden
}

// logUnpinned logs once that an item is hidden because it is not as it was pinned, and how it differs.
func (g *Gateway) logUnpinned(s *serverTable, k *kind, it *item) {
	was, ok := s.pins.Items[k.pin][it.key]
	if !g.logged.first(pins.ID(s.entry.Name, k.pin, it.key) + " " + was.Sum) {
		return
	}
	how := "not pinned"
	if ok {
		var parts []string
		for _, p := range pins.Difference(was.Value, it.pin.Value) {
			parts = append(parts, p.Short())
		}
		how = strings.Join(parts[:min(len(parts), mostParts)], "; ")
		if more := len(parts) - mostParts; more > 0 {
			how += fmt.Sprintf("; and %d more", more)
		}
		how = cmp.Or(how, "its digest is not that of its object in "+pins.File)
	}
	g.opt.Logger.Warn("the "+k.noun()+" is hidden, because it is not as pinned", "server", s.entry.Name,
		"name", shorten(it.key), "difference", how, "accept",
		pins.Command(pins.ID(s.entry.Name, k.pin, it.key)))
}

// mostParts is how many differences of an object are told.
const mostParts = 5

// logOnce remembers what was logged. Nothing more is logged after [maxItems] times, so that no server fills a log.
type logOnce struct {
	mu   sync.Mutex
	told map[string]bool
}

func (o *logOnce) first(what string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told[what] || len(o.told) >= maxItems {
		return false
	}
	if o.told == nil {
		o.told = map[string]bool{}
	}
	o.told[what] = true
	return true
}

func unknownTool(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
}
