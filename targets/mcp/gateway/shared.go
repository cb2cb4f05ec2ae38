package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

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

// singleToken refuses a request with two tokens: another server between may have looked at the other one.
func singleToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header.Values("Authorization")) > 1 {
			http.Error(w, "got more than one Authorization header", http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// challenge returns the header by which a caller learns what is wanted (RFC 6750, section 3). where is the address of
// the metadata; "": there is none.
func challenge(where, fault string) string {
	var params []string
	if fault != "" {
		params = append(params, fmt.Sprintf("error=%q", fault))
	}
	if where != "" {
		params = append(params, fmt.Sprintf("resource_metadata=%q", where))
	}
	return strings.TrimSpace("Bearer " + strings.Join(params, ", "))
}

// challenged says to a caller without a token that one is needed, to one whose token is not taken that it is not, and
// to one who has no role that it may not call.
func challenged(where string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&challenger{ResponseWriter: w, where: where, token: r.Header.Get("Authorization") != ""}, r)
	})
}

// challenger adds the header to the responses whose status requires it.
type challenger struct {
	http.ResponseWriter
	where string
	token bool // the request has one
}

func (c *challenger) WriteHeader(status int) {
	switch {
	case status == http.StatusUnauthorized && c.token:
		c.Header().Set("WWW-Authenticate", challenge(c.where, "invalid_token"))
	case status == http.StatusUnauthorized:
		c.Header().Set("WWW-Authenticate", challenge(c.where, ""))
	case status == http.StatusForbidden:
		c.Header().Set("WWW-Authenticate", challenge(c.where, "insufficient_scope"))
	}
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (c *challenger) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush is for the SDK, which looks for it itself.
func (c *challenger) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// describe serves the metadata by which clients find the issuer. It returns their address.
func (s *Shared) describe(mux *http.ServeMux) (where string, err error) {
	if s.opt.Address == "" || s.opt.Issuer == "" {
		return "", nil
	}
	u, err := url.Parse(s.opt.Address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", fmt.Errorf("%q is no address of a gateway, such as https://mcp.example.com/mcp", s.opt.Address)
	}
	h := sdkauth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: s.opt.Address, AuthorizationServers: []string{s.opt.Issuer},
		BearerMethodsSupported: []string{"header"}, ResourceName: "modec gateway",
	})
	const well = "/.well-known/oauth-protected-resource"
	mux.Handle(well, h)
	mux.Handle(well+"/mcp", h)
	return u.Scheme + "://" + u.Host + well + strings.TrimSuffix(u.Path, "/"), nil
}

// verify is the SDK's way to ask who has a token.
func (s *Shared) verify(ctx context.Context, token string, r *http.Request) (*sdkauth.TokenInfo, error) {
	v := &visit{token: token, by: s.auth.Load()}
	p, err := s.who(ctx, token, v.by)
	switch {
	case errors.Is(err, auth.ErrInvalid):
		s.opt.Logger.Info("a token is refused", "why", err, "from", r.RemoteAddr)
		s.refused(r, "", err.Error())
		return nil, fmt.Errorf("%w: %w", sdkauth.ErrInvalidToken, auth.ErrInvalid) // and not why
	case err != nil:
		s.opt.Logger.Error("no token can be verified", "why", err)
		return nil, errors.New("no token can be verified at the moment")
	}
	v.who = p
	return &sdkauth.TokenInfo{UserID: p.ID, Expiration: p.Expires, Extra: map[string]any{visitKey: v}}, nil
}

// who returns who has a token, by the verifier of the start and by that of the last reload.
func (s *Shared) who(ctx context.Context, token string, now *auth.Verifier) (*auth.Principal, error) {
	p, err := s.opt.Auth.Verify(ctx, token)
	if err == nil && now != nil {
		return both(ctx, p, token, now)
	}
	return p, err
}

// both returns who has a token by a verifier that came later too, with the claims that it has by both.
func both(ctx context.Context, p *auth.Principal, token string, now *auth.Verifier) (*auth.Principal, error) {
	q, err := now.Verify(ctx, token)
	if err != nil {
		return nil, err
	}
	if q.ID != p.ID {
		return nil, fmt.Errorf("%w: it is another one's now", auth.ErrInvalid)
	}
	claims := map[string][]string{}
	for name, values := range p.Claims {
		gone := func(v string) bool { return !slices.Contains(q.Claims[name], v) }
		if values = slices.DeleteFunc(slices.Clone(values), gone); len(values) > 0 {
			claims[name] = values
		}
	}
	expires := p.Expires
	if q.Expires.Before(expires) { // clocks may differ by less now
		expires = q.Expires
	}
	return &auth.Principal{ID: p.ID, Claims: claims, Expires: expires}, nil
}

// Restrict takes another list of whose tokens are taken, as far as it is narrower than that of the start. The requests
// under way of those whose tokens are not taken any more end, calls with an error.
func (s *Shared) Restrict(v *auth.Verifier) {
	s.auth.Store(v)
	s.mu.Lock()
	visits := slices.Collect(maps.Keys(s.visits))
	s.mu.Unlock()
	for _, v := range visits {
		s.askAgain(v)
	}
}

// askAgain asks again who has the token of a request under way.
func (s *Shared) askAgain(v *visit) {
	if v.token == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), serve.Patience)
	defer cancel()
	p, err := s.who(ctx, v.token, s.auth.Load())
	if err != nil && !errors.Is(err, auth.ErrInvalid) {
		return // nobody knows; the token's own time ends the request
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recheck(v, p)
}

// askedBefore asks again who has the token of a request that has come in, if the list of tokens is another one than
// when it was looked at: Restrict may not have seen the request.
func (s *Shared) askedBefore(v *visit) {
	if s.auth.Load() != v.by {
		s.askAgain(v)
	}
}

// recheck ends a request under way whose principal has other roles now than when it came, with the lock held. It is
// nobody's where the token is not taken any more.
func (s *Shared) recheck(v *visit, p *auth.Principal) {
	if p != nil {
		if key, _, err := s.table(p, v.key.role, v.key.mode); err == nil && key == v.key {
			return
		}
	}
	v.end()
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

// table returns what a principal is served at an endpoint, with the lock held. What one may not enter is the
// same as what does not exist.
func (s *Shared) table(p *auth.Principal, role, mode string) (key tableKey, t *Table, err error) {
	key.role, key.mode = role, mode
	switch {
	case strings.Contains(role+mode, "/"), s.opt.Subject != (ir.SubjectRef{}) && role != "":
		return key, nil, noEndpoint
	case s.opt.Subject == (ir.SubjectRef{}):
		held := s.held(p)
		if role != "" && !slices.Contains(held, role) {
			return key, nil, noEndpoint
		}
		if len(held) == 0 {
			return key, nil, noRole
		}
		if role == "" {
			key.roles = strings.Join(held, roleSeparator)
		}
	}
	if known := s.tables[key]; known != nil {
		return key, known, nil
	}
	if t, err = s.compiled(key); err != nil {
		if mode != "" {
			return key, nil, noEndpoint // there is no such mode, or the role may not work in it
		}
		return key, nil, err
	}
	t.policy = s.Digest()
	s.tables[key] = t
	return key, t, nil
}

// roleSeparator stands between the roles of a key: no name has it.
const roleSeparator = "\x00"

// held returns the roles that a principal has by both policies, that of the start and that of now.
func (s *Shared) held(p *auth.Principal) []string {
	claims := p.Claims
	if s.opt.Auth == nil {
		claims = nil
	} else if claims == nil {
		claims = map[string][]string{}
	}
	held := s.first.Held(claims)
	if s.now != s.first {
		now := s.now.Held(claims)
		held = slices.DeleteFunc(held, func(role string) bool { return !slices.Contains(now, role) })
	}
	return held
}

// compiled returns what both policies permit: that of the start, and that of now.
func (s *Shared) compiled(key tableKey) (*Table, error) {
	ref := ir.SubjectRef{Role: key.role, Mode: key.mode}
	if key.roles == "" && key.role == "" {
		ref = s.opt.Subject
	}
	of := func(m model) (*Table, error) {
		e := m.At(s.servedAt)
		if key.roles != "" {
			return newTableOf(e, strings.Split(key.roles, roleSeparator), s.opt.Naming, m.pins)
		}
		return tableOf(e, ref, s.opt.Naming, noAgent, m.pins)
	}
	first, err := of(s.first)
	if err != nil {
		return nil, err
	}
	if err := first.index(); err != nil || s.now == s.first {
		return first, err
	}
	now, err := of(s.now)
	if err != nil {
		return nil, err
	}
	both, _ := narrow(first, now)
	return both, nil
}

// room reports whether there may be one more gateway for a principal. It ends one that nobody uses where
// there would be too many, with the lock held.
func (s *Shared) room(principal string) bool {
	own := 0
	for id := range s.members {
		if id.principal == principal {
			own++
		}
	}
	if len(s.members) < s.opt.Callers && own < mostOfOne {
		return true
	}
	var oldest memberKey
	found := false
	for id, m := range s.members {
		if m.busy > 0 || own >= mostOfOne && id.principal != principal {
			continue
		}
		if !found || m.used.Before(s.members[oldest].used) {
			oldest, found = id, true
		}
	}
	if found {
		s.drop(oldest)
	}
	return found
}

// drop ends a gateway, with the lock held. Calls under way come to their answers first.
func (s *Shared) drop(id memberKey) {
	m := s.members[id]
	delete(s.members, id)
	m.left = true
	for v := range s.visits {
		if v.to == m {
			v.endStream()
		}
	}
	if m.busy == 0 {
		go m.close()
	}
}

// close ends a gateway with the sessions of its clients.
func (m *member) close() {
	for session := range m.gateway.sdk.Sessions() {
		_ = session.Close() // it may have ended
	}
	m.gateway.Close()
}

// member makes a gateway for a principal, with the lock held.
func (s *Shared) member(p *auth.Principal, id memberKey, t *Table, headers map[string]map[string]string) *member {
	key := id.table
	log := s.opt.Logger.With("principal", p.ID)
	opened := map[string][]string{}
	for name, o := range s.opt.Servers {
		if len(o.Open) > 0 {
			opened[name] = o.Open
		}
	}
	opt := Options{Version: s.opt.Version, Root: s.opt.Root, Logger: log, Naming: s.opt.Naming, Audit: s.opt.Audit,
		Explicit: s.opt.Explicit, Open: opened,
		life: s.life, principal: p.ID, asks: s.asks, headers: id.headers, caches: s.caches}
	g := withTable(t, opt, func(g *Gateway, sv *ir.Server) caller {
		if s.setting(sv.Name).Shared {
			return s.join(g, hubKey{server: sv.Name}, sv, s.opt.Logger, nil)
		}
		passed := s.forwardedTo(sv.Name, headers[sv.Name])
		text, _ := json.Marshal(passed) // texts, sorted
		return s.join(g, hubKey{sv.Name, p.ID, digest(text)}, sv, log, passed)
	})
	m := &member{gateway: g, who: p, used: time.Now()}
	m.end = serve.NewEndpoint(g.sdk, serve.EndpointOptions{HTTPOptions: s.opt.HTTP,
		Full:  func() bool { return s.full(p.ID) },
		Ended: &s.ended, Progress: true, Bare: true,
		Of: strings.Join([]string{"gateway", p.ID, key.role, key.mode}, "\x00")})
	return m
}

// full reports whether there are as many sessions of the protocol as there may be, of all or of a principal, none of
// which is idle. The longest idle one ends.
func (s *Shared) full(principal string) bool {
	s.mu.Lock()
	members := maps.Clone(s.members)
	s.mu.Unlock()
	all, own := 0, 0
	for id, m := range members {
		for range m.gateway.sdk.Sessions() {
			if all++; id.principal == principal {
				own++
			}
		}
	}
	if all < s.opt.HTTP.Connections && own < s.opt.Sessions {
		return false
	}
	var oldest time.Time
	var end func()
	for id, m := range members {
		if own >= s.opt.Sessions && id.principal != principal {
			continue
		}
		if since, f := m.end.Idle(); f != nil && (end == nil || since.Before(oldest)) {
			oldest, end = since, f
		}
	}
	if end == nil {
		return true
	}
	end()
	return false
}

// Reload takes another model and other pins for everybody, as far as it narrows what the gateway was started with. It
// returns in words what else it permits: that is not served before the gateway is started again.
func (s *Shared) Reload(e *policy.Engine, set *pins.Set) (waiting []string) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	s.mu.Lock()
	s.counts.reloaded()
	s.now = model{e, set}
	s.sum(s.now)
	waiting = s.wider()
	next := s.newTables()
	s.hubMu.Lock()
	for key, h := range s.hubs {
		if sv := e.Project().Server(key.server); sv == nil || !sameEntry(h.up.entry, sv) {
			delete(s.hubs, key)
			h.retire()
		}
	}
	s.hubMu.Unlock()
	s.mu.Unlock()
	for g, t := range next {
		g.take(t)
	}
	return waiting
}

// tick serves what is permitted now.
func (s *Shared) tick() {
	s.mu.Lock()
	depends := s.first.Timed() || s.now.Timed()
	s.mu.Unlock()
	if !depends {
		return
	}
	s.reloading.Lock()
	defer s.reloading.Unlock()
	s.mu.Lock()
	before, now := s.servedAt, time.Now()
	if s.opt.Now != nil {
		now = s.opt.Now()
	}
	s.servedAt = now
	var next map[*Gateway]*Table
	if s.first.At(before) != s.first.At(now) || s.now.At(before) != s.now.At(now) {
		next = s.newTables()
	}
	s.mu.Unlock()
	for g, t := range next {
		g.take(t)
	}
}

// newTables returns the tables of the gateways that are there, by the models and the time of now, with the lock held.
func (s *Shared) newTables() map[*Gateway]*Table {
	next := map[*Gateway]*Table{}
	s.tables = map[tableKey]*Table{}
	for id, m := range s.members {
		key, t, err := s.table(m.who, id.table.role, id.table.mode)
		if err != nil || key != id.table { // roles are gone: the next request finds out what is left
			s.drop(id)
			continue
		}
		next[m.gateway] = t
	}
	for v := range s.visits {
		s.recheck(v, v.who)
	}
	return next
}

// wider says what the policy of now permits beyond that of the start, role by role.
func (s *Shared) wider() (list []string) {
	p := s.now.Project()
	for i := range p.Roles {
		name := p.Roles[i].Name
		if by := p.Roles[i].Principals; s.opt.Auth != nil || s.opt.Subject == (ir.SubjectRef{}) && by == ir.Anyone {
			list = append(list, moreCallers(s.first.Project().Role(name), &p.Roles[i])...)
		}
		for _, at := range []func(*policy.Engine) *policy.Engine{closed, opened} {
			next, err := newTableOf(at(s.now.Engine), []string{name}, s.opt.Naming, s.now.pins)
			if err != nil || len(next.servers) == 0 {
				continue
			}
			old, err := newTableOf(at(s.first.Engine), []string{name}, s.opt.Naming, s.first.pins)
			if err != nil {
				old = &Table{} // there was no such role
			}
			_, more := narrow(old, next)
			for _, what := range more {
				if what = "role " + name + ": " + what; !slices.Contains(list, what) {
					list = append(list, what)
				}
			}
		}
	}
	return list
}

// moreCallers says who has a role now and did not at the start, when it was another one; nil: there was none.
func moreCallers(first, now *ir.Role) (list []string) {
	add := func(who string) { list = append(list, fmt.Sprintf("role %s: %s", now.Name, who)) }
	wide := func(r *ir.Role) int {
		return slices.Index([]ir.Principals{"", ir.Authenticated, ir.Anyone}, r.Principals)
	}
	switch {
	case !now.Held():
		return nil
	case first == nil || !first.Held():
		add("its callers")
		return list
	case wide(now) > wide(first):
		who := "every caller with a token"
		if now.Principals == ir.Anyone {
			who = "every caller"
		}
		add(who)
		return list
	case wide(first) > 0:
		return nil // everybody has it already
	}
	for _, name := range slices.Sorted(maps.Keys(first.Claims)) {
		if now.Claims[name] == nil {
			add("callers without its claim " + name)
			continue
		}
		for _, value := range now.Claims[name] {
			if !slices.Contains(first.Claims[name], value) {
				add(fmt.Sprintf("callers with the claim %s = %q", name, value))
			}
		}
	}
	return list
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
