package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/targets/mcp/seal"
)

// statelessSince is the first revision without sessions.
const statelessSince = "2026-07-28"

// HTTPOptions bound and open a server of HTTP. The zero value serves the loopback interface.
type HTTPOptions struct {
	Body        int64         // most bytes of a request; 0: 4 MiB
	BodyTime    time.Duration // within which they have to come; 0: 30 s
	Idle        time.Duration // after which a session of the protocol ends; 0: half an hour
	Connections int           // most sessions of the protocol at once; 0: 1,000
	Origins     []string      // origins that browsers may ask from, in addition to the server's own
	Hosts       []string      // host names that requests may name, in addition to those of the loopback interface
	Keys        *seal.Keys    // servers with the same ones take over sessions of the protocol; nil: none does
}

// maxHello is the longest request that starts a session of the protocol, in bytes: what
// it says is kept as long as the session.
const maxHello = 64 << 10

// Handler serves /mcp, and /mcp/MODE with the working mode fixed, each an [Endpoint].
func (s *Server) Handler(opt HTTPOptions) (http.Handler, error) {
	opt = opt.orDefault()
	h := &endpoints{Server: s, opt: opt, byMode: map[string]*Endpoint{}}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.Handle("/mcp/{mode}", h)
	guarded, err := FilterRequests(mux, opt, s.opt.Logger)
	if err != nil {
		return nil, err
	}
	return InTime(guarded, opt), nil
}

// orDefault fills in what is zero.
func (o HTTPOptions) orDefault() HTTPOptions {
	o.Idle, o.Connections = cmp.Or(o.Idle, 30*time.Minute), cmp.Or(o.Connections, 1000)
	o.BodyTime, o.Body = cmp.Or(o.BodyTime, 30*time.Second), cmp.Or(o.Body, maxLine)
	return o
}

// FilterRequests refuses requests for other hosts than the loopback interface and those allowed, and of other
// origins than its own and those allowed. The rest goes to a handler. [InTime] belongs around it.
func FilterRequests(next http.Handler, opt HTTPOptions, log *slog.Logger) (http.Handler, error) {
	origins := http.NewCrossOriginProtection()
	for _, o := range opt.Origins {
		if err := origins.AddTrustedOrigin(o); err != nil {
			return nil, err
		}
	}
	g := requestFilter{log}
	return g.hosts(opt.Hosts, g.sameOrigin(opt.Origins, origins, next)), nil
}

// endpoints are the paths of a server, made when they are first asked for.
type endpoints struct {
	*Server
	opt HTTPOptions

	mu     sync.Mutex
	byMode map[string]*Endpoint
}

func (h *endpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mode := r.PathValue("mode")
	switch fixed := h.Server.opt.Mode; {
	case fixed != "" && mode != "" && mode != fixed, mode != "" && h.Model().Project.Mode(mode) == nil:
		http.Error(w, "got a mode that is not served here", http.StatusNotFound)
		return
	case fixed != "":
		mode = fixed
	}
	h.at(mode).ServeHTTP(w, r)
}

// full reports whether there are as many sessions of the protocol as there may be.
func (h *endpoints) full() bool {
	h.Server.mu.Lock()
	scopes := slices.Collect(maps.Values(h.scopes))
	h.Server.mu.Unlock()
	n := 0
	for _, sc := range scopes {
		for range sc.sdk.Sessions() {
			n++
		}
	}
	return n >= h.opt.Connections
}

func (h *endpoints) at(mode string) *Endpoint {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.byMode[mode]
	if e == nil {
		e = NewEndpoint(h.scope(mode).sdk, EndpointOptions{HTTPOptions: h.opt, Full: h.full, Logger: h.sdkLogger,
			Of: strings.Join([]string{"serve", mode, h.Server.opt.Role}, "\x00")})
		h.byMode[mode] = e
	}
	return e
}

// EndpointOptions are those of one endpoint. Only Of and Full have no default.
type EndpointOptions struct {
	HTTPOptions
	// Of is what sessions belong to: an id that was sealed for something else is unknown.
	Of string
	// Full reports whether there are as many sessions of the protocol as there may be.
	Full   func() bool
	Logger *slog.Logger // of the SDK; nil: nothing is logged
	Ended  *Endings     // endpoints of one Of have the same; nil: its own
	// Progress says that calls tell of theirs: one that asks for it is answered by a stream.
	Progress bool
	// Bare says that a request that belongs to no session and begins none is answered by itself, in JSON, also in a
	// revision with sessions: some clients send nothing else.
	Bare bool
}

// Endpoint serves a server of the SDK over HTTP in every revision that the SDK speaks: requests of
// 2026-07-28 and later one by one, earlier ones in sessions, which belong to their endpoint. With keys
// the ids of its sessions are sealed, and whoever has the keys takes them over.
type Endpoint struct {
	opt               EndpointOptions
	inSessions, alone http.Handler
	shared            *shared // nil: without keys
}

// Idle returns since when the session of the longest idle client is idle, and a function that ends it; nil where all
// are busy, or without keys.
func (e *Endpoint) Idle() (since time.Time, end func()) {
	if e.shared == nil {
		return since, nil
	}
	return e.shared.idle()
}

// retryAfter is how many seconds a client is told to wait where there are too many sessions.
const retryAfter = "10"

// NewEndpoint returns an endpoint.
func NewEndpoint(server *sdk.Server, opt EndpointOptions) *Endpoint {
	opt.HTTPOptions, opt.Ended = opt.HTTPOptions.orDefault(), cmp.Or(opt.Ended, &Endings{})
	of := func(*http.Request) *sdk.Server { return server }
	// Hosts are checked for every address, not only where the SDK would.
	options := sdk.StreamableHTTPOptions{
		Logger:                     opt.Logger,
		MaxRequestBodyBytes:        opt.Body,
		SessionTimeout:             opt.Idle,
		DisableLocalhostProtection: true,
	}
	alone := options
	alone.Stateless, alone.JSONResponse, alone.PropagateRequestCancellation = true, true, true
	alone.SessionTimeout = 0
	e := &Endpoint{opt: opt, inSessions: sdk.NewStreamableHTTPHandler(of, &options),
		alone: sdk.NewStreamableHTTPHandler(of, &alone)}
	if opt.Progress {
		telling := alone
		telling.JSONResponse = false
		e.alone = &byProgress{sdk.NewStreamableHTTPHandler(of, &telling), e.alone}
	}
	if opt.Keys != nil {
		e.shared = &shared{EndpointOptions: opt, server: server, next: e.inSessions, here: map[string]*localSession{}}
		e.inSessions = e.shared
	}
	return e
}

func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	most := e.opt.Body
	if isModern(r) {
		r.Body = http.MaxBytesReader(w, r.Body, most)
		relay(e.alone, w, r)
		return
	}
	if r.Method == http.MethodPost && r.Header.Get(sessionHeader) == "" {
		if e.opt.Bare && bare(w, r, most) {
			relay(e.alone, w, r)
			return
		}
		if e.opt.Full() {
			w.Header().Set("Retry-After", retryAfter)
			http.Error(w, "there are as many sessions as there may be; end one first", http.StatusServiceUnavailable)
			return
		}
		most = min(most, maxHello)
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	relay(e.inSessions, w, r)
}

// bare reports whether a body is one request that does not begin a session. The body can be read again.
func bare(w http.ResponseWriter, r *http.Request, most int64) bool {
	r.Body = http.MaxBytesReader(w, r.Body, most)
	body, err := io.ReadAll(r.Body)
	r.Body = &replayedBody{io.MultiReader(bytes.NewReader(body), failingReader{err}), r.Body}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	return err == nil && json.Unmarshal(body, &m) == nil && m.ID != nil && m.Method != "" && m.Method != "initialize"
}

// replayedBody is a body that was read, and can be read again.
type replayedBody struct {
	io.Reader
	io.Closer
}

// failingReader ends as a body did that was read.
type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, cmp.Or(f.err, io.EOF) }

// byProgress has a request that asks for progress answered by a stream, and others by one message.
type byProgress struct{ stream, message http.Handler }

func (b *byProgress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // of a request that relay has read
	if err != nil {
		http.Error(w, "the body did not come whole", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte(`"progressToken"`)) {
		b.stream.ServeHTTP(w, r)
		return
	}
	b.message.ServeHTTP(w, r)
}

// InTime ends a request whose body does not come in time. Streams that are read from
// afterwards may stay open.
func InTime(next http.Handler, opt HTTPOptions) http.Handler {
	limit := opt.orDefault().BodyTime
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.ContentLength != 0 && control.SetReadDeadline(time.Now().Add(limit)) == nil {
			r.Body = &timedBody{r.Body, func() { _ = control.SetReadDeadline(time.Time{}) }}
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody calls done once it was read to its end.
type timedBody struct {
	io.ReadCloser
	done func()
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.done()
	}
	return n, err
}

// requestFilter refuses requests by their headers.
type requestFilter struct{ log *slog.Logger }

// sameOrigin refuses what comes from another origin, requests that only read too: an
// event stream does. Pages of a trusted origin may read the answers.
func (g requestFilter) sameOrigin(trusted []string, p *http.CrossOriginProtection, next http.Handler) http.Handler {
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.forbid(w, "got a request of another origin", "origin", r.Header.Get("Origin"))
	}))
	next = p.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if slices.Contains(trusted, origin) {
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id")
			h.Add("Vary", "Origin")
			if r.Method == http.MethodOptions {
				h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
				h.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, Last-Event-Id, "+
					"Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		} else if origin != "" {
			probe := r.Clone(r.Context())
			probe.Method = http.MethodPost
			if err := p.Check(probe); err != nil {
				g.forbid(w, "got a request of another origin", "origin", origin)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// forbid refuses a request by one of its headers, and logs that: its client may be one that is set up wrongly.
func (g requestFilter) forbid(w http.ResponseWriter, words, header, value string) {
	g.log.Info("a request is refused", "why", words, header, value)
	http.Error(w, words, http.StatusForbidden)
}

// hosts refuses a request that names another host than those of the loopback interface
// and the ones allowed: a page may have had its own name point here (DNS rebinding).
func (g requestFilter) hosts(allowed []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Host
		if h, port, err := net.SplitHostPort(r.Host); err == nil {
			if _, err := strconv.ParseUint(port, 10, 16); err == nil || port == "" {
				name = h
			}
		}
		name = strings.ToLower(strings.Trim(name, "[]"))
		ok := name == "localhost"
		if ip := net.ParseIP(name); ip != nil {
			ok = ip.IsLoopback()
		}
		for _, a := range allowed {
			ok = ok || strings.EqualFold(a, name)
		}
		if !ok {
			g.forbid(w, "got a request for another host", "host", r.Host)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Address is where clients find an endpoint of a server at host:port.
func Address(host, mode string) string {
	u := url.URL{Scheme: "http", Host: host, Path: "/mcp"}
	if mode != "" {
		u.Path += "/" + mode
	}
	return u.String()
}
