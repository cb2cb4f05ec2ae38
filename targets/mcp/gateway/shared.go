package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcp/auth"
	"modec.dev/modec/targets/mcp/seal"
	"modec.dev/modec/targets/mcp/serve"
)

// SharedOptions configure a gateway for many. The version has no default.
type SharedOptions struct {
	Version string
	Root    string       // the project's folder, in which servers are started
	Logger  *slog.Logger // nil: nothing is logged
	Naming  Naming
	Pins    *pins.Set         // of the project; nil: it has none
	Audit   func(audit.Event) // writes an event; nil: nothing is written
	Lost    func() uint64     // returns how many events could not be written; nil: nobody counts them
	// Subject is what everybody is who calls. It is for a gateway without Auth; without both, callers hold
	// the roles of anyone.
	Subject ir.SubjectRef
	// Auth finds out who calls; nil: nobody is asked.
	Auth *auth.Verifier
	// Issuer is whom clients get their tokens from, as the metadata name it; "": they are not told.
	Issuer string
	// Address is the one that clients know the gateway by, such as https://mcp.example.com/mcp. It is in
	// the metadata.
	Address string
	Servers map[string]ServerOptions
	// Explicit is [Options.Explicit].
	Explicit bool
	HTTP     serve.HTTPOptions
	// Callers is how many principals are served at once, each with its own servers; default 1,000.
	Callers int
	// Sessions is how many sessions of the protocol a principal has at once, after which its longest idle one ends;
	// default 160.
	Sessions int
	// Idle is after how long without a request a principal's servers end; default 10 minutes.
	Idle time.Duration
	// Now is the clock, for what is permitted at times; nil: the machine's.
	Now func() time.Time
}

// ServerOptions are those of one server of the inventory.
type ServerOptions struct {
	// Shared is set for a server of which one is started for all principals. It must not keep anything of
	// one that another one could see.
	Shared bool
	// Forward are the headers of a request that are passed on to the server, at lists as at calls. No other
	// one is.
	Forward []string
	// Open are the requests of the server to the client that are passed on, of [Openings].
	Open []string
	// Raw is set for a server of whose results the texts are passed on as they are.
	Raw bool
	// Map is a header of a request in which the caller says by patterns of addresses which headers servers get. With it
	// those of Forward come from there, and not from the request.
	Map string
}

// The most of one principal, so that it leaves room for others.
const (
	mostOfOne      = 16  // gateways: endpoints, and values of the headers that are passed on
	mostAtOnce     = 128 // requests and streams
	mostSubscribed = 256 // resources of one server
)

// Shared serves many principals over HTTP, each as its own claims say: /mcp with all roles that it holds,
// /mcp/ROLE with one of them, /mcp/ROLE/MODE with the role in a mode. A principal has a [Gateway] of its own
// for each, with servers of its own, so that nothing of one is in the answer for another: who calls is found
// out anew at every request, and an id of somebody else's session is unknown.
type Shared struct {
	opt    SharedOptions
	counts *metrics

	reloading sync.Mutex
	auth      atomic.Pointer[auth.Verifier] // of the last reload; nil: that of the start

	mu       sync.Mutex
	first    model     // of the start
	now      model     // of the last reload
	servedAt time.Time // that is served, where something depends on the time
	members  map[memberKey]*member
	open     map[string]int // requests under way, by principal
	visits   map[*visit]bool
	tables   map[tableKey]*Table
	closed   bool
	stop     chan struct{}
	asks     *approver
	life     *life
	ended    serve.Endings
	caches   *caches
	unknown  *unknownCallers // nil: nothing is written down

	addresses map[string]string // of the servers, at the start

	settings atomic.Pointer[map[string]ServerOptions] // as far as they hold
	latest   map[string]ServerOptions                 // as the last reload has them
	digest   atomic.Pointer[string]                   // of the policy, as the last reload has it

	hubMu sync.Mutex
	hubs  map[hubKey]*hub
	left  map[*hub]bool // that nobody joins any more, and that have not ended
}

// model is what is served: the policy, and the pins of the servers.
type model struct {
	*policy.Engine
	pins *pins.Set
}

// memberKey is whom a gateway is for.
type memberKey struct {
	principal string
	table     tableKey
	headers   string // a digest of those that are passed on
}

// tableKey is what a table depends on.
type tableKey struct {
	role, mode string // of the endpoint
	roles      string // of the caller, on the endpoint of all of them
}

// member is a gateway of one principal.
type member struct {
	gateway *Gateway
	who     *auth.Principal // as at the first request
	end     *serve.Endpoint
	busy    int  // requests under way
	left    bool // no request comes any more
	used    time.Time
}

// visit is a request under way.
type visit struct {
	who   *auth.Principal // as its token says
	token string          // "" where nobody is asked
	by    *auth.Verifier  // of the last reload that the token was shown to
	key   tableKey
	to    *member
	reads bool // it is a stream of what the gateway says
	stop  context.CancelFunc

	mu       sync.Mutex
	messages map[*message]bool // under way
	late     bool              // no stream stays open
	gone     bool              // the caller has no access any more
}

// NewShared returns a gateway for many. Close ends its servers.
func NewShared(e *policy.Engine, opt SharedOptions) (*Shared, error) {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	opt.Callers, opt.Idle = cmp.Or(opt.Callers, 1000), cmp.Or(opt.Idle, 10*time.Minute)
	opt.Sessions = cmp.Or(opt.Sessions, 160)
	if opt.HTTP.Keys == nil {
		opt.HTTP.Keys = seal.New() // ids of sessions are sealed for their principals
	}
	opt.HTTP.Connections = cmp.Or(opt.HTTP.Connections, 1000)
	m := model{e, opt.Pins}
	s := &Shared{opt: opt, first: m, now: m, members: map[memberKey]*member{}, open: map[string]int{},
		visits: map[*visit]bool{}, tables: map[tableKey]*Table{},
		hubs: map[hubKey]*hub{}, left: map[*hub]bool{}, stop: make(chan struct{}), life: newLife(),
		asks:   newApprover(opt.HTTP.Keys),
		caches: newCaches(), addresses: addressesOf(e.Project())}
	s.settings.Store(&s.opt.Servers)
	s.latest = s.opt.Servers
	s.sum(m)
	s.count()
	if err := s.check(m); err != nil {
		return nil, err
	}
	go s.clean()
	return s, nil
}

// count has the gateway count what it does.
func (s *Shared) count() {
	p := s.first.Project()
	s.counts = &metrics{started: time.Now(), version: s.opt.Version, calls: map[callLabels]uint64{},
		took: map[string]*histogram{}, known: func(server string) bool { return p.Server(server) != nil }}
	write := s.opt.Audit
	if write != nil {
		s.unknown = newUnknownCallers(write)
	}
	s.opt.Audit = func(e audit.Event) {
		s.counts.observe(&e)
		if e.Policy == "" {
			e.Policy = s.Digest()
		}
		if write != nil {
			write(e)
		}
	}
}

// check fails where nobody could call, and for settings that do not fit the inventory.
func (s *Shared) check(e model) error {
	for _, name := range slices.Sorted(maps.Keys(s.opt.Servers)) {
		sv := e.Project().Server(name)
		if sv == nil {
			return fmt.Errorf("the inventory has no server %q that the gateway could have settings for", name)
		}
		if err := s.checkForward(name, sv); err != nil {
			return err
		}
	}
	switch {
	case s.opt.Auth != nil && s.opt.Subject != (ir.SubjectRef{}):
		return errors.New("callers have the roles of their tokens: leave --role and --mode out, or [gateway.auth]")
	case s.opt.Auth == nil && s.opt.Subject != (ir.SubjectRef{}):
		_, err := NewTable(e.Opened(), s.opt.Subject, s.opt.Naming, noAgent, e.pins)
		return err
	case s.opt.Auth == nil && len(e.Held(nil)) == 0:
		return errors.New("nobody could call: say in modec.toml who may, at [gateway.auth], name one role for all " +
			"with --role, or give a role `claims: \"anyone\"`")
	}
	return s.named(e)
}

// ofHop are the headers that are about one connection and one message.
var ofHop = []string{"Accept", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Keep-Alive",
	"Last-Event-Id", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// named fails where the tools of the roles cannot be named.
func (s *Shared) named(e model) error {
	if err := s.opt.Naming.check(e.Project()); err != nil {
		return err
	}
	var held []string // somebody may have all of them
	p := e.Project()
	for i := range p.Roles {
		if p.Roles[i].Held() {
			held = append(held, p.Roles[i].Name)
		}
	}
	t, err := newTableOf(e.Opened(), held, s.opt.Naming, e.pins)
	if err != nil {
		return err
	}
	return t.index()
}

// Servers returns the servers of the inventory that somebody may use.
func (s *Shared) Servers() (list []*ir.Server) {
	p := s.first.Project()
	for i := range p.Servers {
		if p.Servers[i].Type != ir.External {
			list = append(list, &p.Servers[i])
		}
	}
	return list
}

// Handler serves /mcp, /mcp/ROLE and /mcp/ROLE/MODE, the metadata of RFC 9728, /healthz and /readyz. To this machine
// alone it serves /metrics too.
func (s *Shared) Handler() (http.Handler, error) {
	var mcp http.Handler = http.HandlerFunc(s.serve)
	mux := http.NewServeMux()
	if s.opt.Auth != nil {
		where, err := s.describe(mux)
		if err != nil {
			return nil, err
		}
		mcp = sdkauth.RequireBearerToken(s.verify, &sdkauth.RequireBearerTokenOptions{
			ResourceMetadataURL: where, AllowMissingExpiration: true, // the verifier judges it
			ClockSkew: auth.MaxSkew,
		})(mcp)
		mcp = challenged(where, singleToken(mcp))
	}
	for _, path := range []string{"/mcp", "/mcp/{role}", "/mcp/{role}/{mode}"} {
		mux.Handle(path, mcp)
	}
	guarded, err := serve.FilterRequests(mux, s.opt.HTTP, s.opt.Logger)
	if err != nil {
		return nil, err
	}
	all := http.NewServeMux() // without FilterRequests
	all.HandleFunc("GET /healthz", healthy)
	all.HandleFunc("GET /readyz", s.ready)
	counted, err := serve.FilterRequests(s.Metrics(), serve.HTTPOptions{}, s.opt.Logger)
	if err != nil {
		return nil, err
	}
	all.Handle("GET /metrics", onlyHere(counted))
	all.Handle("/", guarded)
	return serve.InTime(all, s.opt.HTTP), nil
}

const visitKey = "visit"

// serve answers one request for its own principal.
func (s *Shared) serve(w http.ResponseWriter, r *http.Request) {
	v := &visit{who: &auth.Principal{ID: "anyone"}}
	if info := sdkauth.TokenInfoFromContext(r.Context()); info != nil {
		v, _ = info.Extra[visitKey].(*visit)
	}
	if v == nil {
		http.Error(w, "nobody is known to call", http.StatusUnauthorized)
		return
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	v.stop, v.reads = stop, r.Method == http.MethodGet
	if at := v.who.Expires; !at.IsZero() { // a stream must not outlive its token
		defer time.AfterFunc(time.Until(at), v.endStream).Stop()
	}
	if err := s.enter(v, r); err != nil {
		p := v.who
		var no *rejection
		if errors.As(err, &no) {
			s.opt.Logger.Info("a request is refused", "why", no.words, "principal", p.ID)
			s.refused(r, p.ID, no.words)
			if no.status == http.StatusTooManyRequests || no.status == http.StatusServiceUnavailable {
				w.Header().Set("Retry-After", "10")
			}
			http.Error(w, no.words, no.status)
			return
		}
		s.opt.Logger.Error("a request cannot be answered", "why", err, "principal", p.ID)
		http.Error(w, "the gateway failed", http.StatusInternalServerError)
		return
	}
	defer s.leave(v)
	if s.askedBefore(v); v.isGone() {
		http.Error(w, "what gave you access was taken away", http.StatusUnauthorized)
		return
	}
	r = r.Clone(ctx)
	r.Header.Del("Authorization")
	r.Header.Del("Cookie")
	v.to.end.ServeHTTP(w, r)
}

// refused writes into the audit that a request did not come to a gateway. A role in its path is only what somebody
// wrote there.
func (s *Shared) refused(r *http.Request, principal, why string) {
	e := audit.Event{Time: time.Now(), Via: audit.ViaGateway, Principal: principal, Tool: shorten(r.URL.Path),
		Outcome: audit.Refused, Detail: why}
	if principal != "" || s.unknown == nil {
		s.opt.Audit(e)
		return
	}
	s.counts.observe(&e)
	s.unknown.add(e)
}

// rejection is why a request has no gateway.
type rejection struct {
	status int
	words  string
}

func (t *rejection) Error() string { return t.words }

var (
	noEndpoint = &rejection{http.StatusNotFound, "there is no such endpoint for you"}
	noRole     = &rejection{http.StatusForbidden, "no role's claims fit you"}
	tooMany    = &rejection{http.StatusTooManyRequests, "you have as many requests under way as you may"}
	noRoom     = &rejection{http.StatusServiceUnavailable, "the gateway serves as many callers as it may; try later"}
)

// enter gives a request the principal's gateway for its endpoint. Its caller leaves it.
func (s *Shared) enter(v *visit, r *http.Request) (err error) {
	s.tick()
	headers, sum, err := s.forwarded(r)
	if err != nil {
		return err
	}
	p := v.who
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return noRoom
	}
	var t *Table
	if v.key, t, err = s.table(p, r.PathValue("role"), r.PathValue("mode")); err != nil {
		return err
	}
	if s.open[p.ID] >= mostAtOnce {
		return tooMany
	}
	id := memberKey{p.ID, v.key, sum}
	v.to = s.members[id]
	if v.to == nil {
		if !s.room(p.ID) {
			return noRoom
		}
		v.to = s.member(p, id, t, headers)
		s.members[id] = v.to
	}
	v.to.busy++
	s.open[p.ID]++
	s.visits[v] = true
	return nil
}

// leave ends a request.
func (s *Shared) leave(v *visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.visits, v)
	v.to.busy--
	if s.open[v.who.ID]--; s.open[v.who.ID] == 0 {
		delete(s.open, v.who.ID)
	}
	v.to.used = time.Now()
	if v.to.left && v.to.busy == 0 {
		go v.to.close()
	}
}

// clean ends what nobody has used for a while.
func (s *Shared) clean() {
	tick := time.NewTicker(max(s.opt.Idle/10, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case now := <-tick.C:
			s.tick() // so that clients learn what changes
			s.mu.Lock()
			for id, m := range s.members {
				if m.busy == 0 && now.Sub(m.used) > s.opt.Idle {
					s.drop(id)
				}
			}
			s.mu.Unlock()
			s.hubMu.Lock()
			for key, h := range s.hubs {
				if h.unused(now.Add(-s.opt.Idle)) {
					delete(s.hubs, key)
					h.retire()
				}
			}
			s.hubMu.Unlock()
		}
	}
}

// Close ends every server.
func (s *Shared) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	close(s.stop)
	members := slices.Collect(maps.Values(s.members))
	s.mu.Unlock()
	s.hubMu.Lock()
	hubs := slices.AppendSeq(slices.Collect(maps.Keys(s.left)), maps.Values(s.hubs))
	s.hubMu.Unlock()
	var all sync.WaitGroup
	for _, m := range members {
		all.Go(m.close)
	}
	for _, h := range hubs {
		all.Go(h.up.close)
	}
	all.Wait()
	if s.unknown != nil {
		s.unknown.tell()
	}
}
