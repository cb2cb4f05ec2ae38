package mcp

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// statelessSince is the first revision without sessions.
const statelessSince = "2026-07-28"

// HTTPOptions say how a server answers HTTP.
type HTTPOptions struct {
	Body    int64         // most bytes of a request; 0: 4 MiB
	Idle    time.Duration // after which a session of the protocol ends; 0: an hour
	Origins []string      // origins that browsers may ask from, beside the server's own
	Hosts   []string      // host names beside those of the loopback interface that requests may name
}

// Handler serves /mcp, and /mcp/MODE with the working mode fixed, in every revision
// that the SDK speaks: requests of 2026-07-28 and later one by one, earlier ones in
// sessions.
func (s *Server) Handler(opt HTTPOptions) (http.Handler, error) {
	if opt.Idle == 0 {
		opt.Idle = time.Hour
	}
	at := func(r *http.Request) *sdk.Server { return s.scope(s.modeOf(r)).sdk }
	options := sdk.StreamableHTTPOptions{Logger: s.sdkLogger, MaxRequestBodyBytes: opt.Body, SessionTimeout: opt.Idle,
		DisableLocalhostProtection: true} // hosts are checked below, whatever the address
	stateless := options
	stateless.Stateless, stateless.JSONResponse, stateless.PropagateRequestCancellation, stateless.SessionTimeout = true, true, true, 0
	inSessions, alone := sdk.NewStreamableHTTPHandler(at, &options), sdk.NewStreamableHTTPHandler(at, &stateless)
	origins := http.NewCrossOriginProtection()
	for _, o := range opt.Origins {
		if err := origins.AddTrustedOrigin(o); err != nil {
			return nil, err
		}
	}
	endpoint := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if mode := s.modeOf(r); mode != "" && s.Model().Project.Mode(mode) == nil {
			http.Error(w, "got a mode that there is none of", http.StatusNotFound)
			return
		}
		if r.Header.Get("Mcp-Protocol-Version") >= statelessSince {
			alone.ServeHTTP(w, r)
			return
		}
		inSessions.ServeHTTP(w, r)
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", endpoint)
	if s.opt.Mode == "" {
		mux.Handle("/mcp/{mode}", endpoint)
	}
	return hosts(opt.Hosts, sameOrigin(origins.Handler(inTime(mux, s.opt.Timeout)), origins)), nil
}

// inTime ends a request whose body does not come in time. Streams that are read from
// afterwards may stay open.
func inTime(next http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.ContentLength != 0 && control.SetReadDeadline(time.Now().Add(limit)) == nil {
			r.Body = &timedBody{r.Body, func() { _ = control.SetReadDeadline(time.Time{}) }}
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody tells when it was read to its end.
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

// modeOf is the working mode of a request.
func (s *Server) modeOf(r *http.Request) string {
	if s.opt.Mode != "" {
		return s.opt.Mode
	}
	return r.PathValue("mode")
}

// sameOrigin refuses what comes from another origin, requests that only read too: an
// event stream does.
func sameOrigin(next http.Handler, p *http.CrossOriginProtection) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && r.Method != http.MethodOptions {
			probe := r.Clone(r.Context())
			probe.Method = http.MethodPost
			if err := p.Check(probe); err != nil {
				http.Error(w, "got a request of another origin", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// hosts refuses a request that names another host than those of the loopback interface
// and the ones allowed: a page may have had its own name point here (DNS rebinding).
func hosts(allowed []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Host
		if h, _, err := net.SplitHostPort(r.Host); err == nil {
			name = h
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
			http.Error(w, "got a request for another host", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Address returns where clients find an endpoint.
func Address(listener net.Addr, mode string) string {
	u := url.URL{Scheme: "http", Host: listener.String(), Path: "/mcp"}
	if mode != "" {
		u.Path += "/" + mode
	}
	return u.String()
}
