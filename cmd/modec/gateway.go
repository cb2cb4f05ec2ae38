package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/accepted"
	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcp/auth"
	"modec.dev/modec/targets/mcp/gateway"
	"modec.dev/modec/targets/mcp/serve"
)

type gatewayCmd struct {
	acceptFlag
	Role      string            `placeholder:"NAME" help:"The role that calls."`
	Mode      string            `placeholder:"SLUG" help:"The mode that calls; with --role, that the role works in."`
	Target    string            `placeholder:"NAME" help:"The agent that starts it; alone: serve all its subjects."`
	Namespace map[string]string `mapsep:"none" placeholder:"SERVER=PREFIX" help:"${namespace_help}"`
	AgentAsks bool              `help:"The agent asks by itself: pass on what is asked about or left to the agent."`

	HTTP        string   `name:"http" placeholder:"ADDR" help:"Serve many callers: /mcp, /mcp/ROLE, /mcp/ROLE/MODE."`
	Address     string   `placeholder:"URL" help:"How clients reach /mcp from outside, for the metadata."`
	Host        []string `placeholder:"NAME" help:"Host names besides localhost in requests; may be repeated."`
	Origin      []string `placeholder:"ORIGIN" help:"Origins whose pages may ask; may be repeated."`
	TLSCert     string   `name:"tls-cert" placeholder:"FILE" help:"Serve HTTPS with the certificates of FILE."`
	TLSKey      string   `name:"tls-key" placeholder:"FILE" help:"The private key of --tls-cert."`
	Metrics     string   `placeholder:"ADDR" help:"Serve /metrics, /healthz and /readyz there, to whoever reaches it."`
	MaxSessions int      `placeholder:"N" help:"Sessions of one caller; one more ends the longest idle (default 160)."`
	SessionKeys string   `placeholder:"FILE" help:"Share HTTP sessions by the keys of FILE, or of env:NAME."`
}

func (c *gatewayCmd) Run(e *env) error {
	ref := ir.SubjectRef{Mode: c.Mode, Role: c.Role}
	if err := c.fits(ref); err != nil {
		return err
	}
	e.ui.Endless = true
	l := &gatewayLoader{env: e, ref: ref, target: c.Target}
	w, err := e.watch()
	if err != nil {
		return err
	}
	w.also = pins.File
	res, diags := compiler.Open(e.ctx, e.request())
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	pinned, diags := e.pins()
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	if c.HTTP != "" {
		return c.shared(e, l, w, res, pinned)
	}
	done := l.logTo(e)
	defer done()
	rec := e.recorder(res.Project, userName(), l.log)
	defer rec.end()
	l.record = rec.function()
	opt := gateway.Options{Subject: ref, Version: version(), Root: e.dir,
		Logger: l.log, Naming: c.Namespace, AgentAsks: c.AgentAsks, Pins: pinned,
		Audit: l.record, Explicit: res.Config.Gateway.Denial == explicit, Raw: map[string]bool{},
		Open: map[string][]string{}}
	for name, o := range res.Config.Gateway.Servers {
		if len(o.Open) > 0 {
			opt.Open[name] = o.Open
		}
		if opt.Raw[name] = o.Raw; res.Project.Server(name) == nil {
			return fmt.Errorf("modec.toml: [gateway.servers.%s]: the inventory has no such server", name)
		}
	}
	if c.Target != "" {
		if err := c.unite(e, &opt); err != nil {
			return err
		}
	}
	g, err := gateway.New(res.Policy.On(c.Target), opt)
	if err != nil {
		return err
	}
	defer g.Close()
	if err := c.start(e, g.Servers()); err != nil {
		return err
	}
	l.gateway = g
	l.watch(w)
	collectOften()
	in, ok := e.stdin.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(e.stdin)
	}
	return g.Run(e.ctx, in, keepOpen{e.ui.Out})
}

// explicit has a gateway answer a call of what is denied with the rule.
const explicit = "explicit"

// unite has the gateway serve the subjects of a target together, unless it serves one of them.
func (c *gatewayCmd) unite(e *env, opt *gateway.Options) error {
	var names []string
	for _, t := range e.targets {
		host, ok := t.(contract.GatewayHost)
		if !ok {
			continue
		}
		if names = append(names, t.Name()); t.Name() != c.Target {
			continue
		}
		if opt.Subject == (ir.SubjectRef{}) {
			opt.Who = "the subjects of " + t.Name()
			opt.Unite = func(p *ir.Project) []ir.SubjectRef { return contract.United(host, p) }
		}
		return nil
	}
	return fmt.Errorf("got --target %q, want one of %s", c.Target, diag.Quote(names))
}

// fits fails for flags that say nothing together.
func (c *gatewayCmd) fits(ref ir.SubjectRef) error {
	switch {
	case c.HTTP == "" && ref == (ir.SubjectRef{}) && c.Target == "":
		return errors.New("the gateway serves one role or mode: name it with --role, --mode or both; " +
			"--http serves many callers")
	case c.Target != "" && (c.HTTP != "" || !c.AgentAsks):
		return errors.New("--target names an agent that enforces what its subjects may do: it needs --agent-asks, " +
			"and goes without --http")
	case c.HTTP == "" && (c.Address != "" || c.TLSCert != "" || c.TLSKey != "" || c.SessionKeys != "" ||
		c.Metrics != "" || c.MaxSessions != 0 || len(c.Host)+len(c.Origin) > 0):
		return errors.New("--address, --host, --max-sessions, --metrics, --origin, --tls-cert, --tls-key and " +
			"--session-keys are for --http: name the address to listen at with --http 127.0.0.1:8700")
	case c.MaxSessions < 0:
		return fmt.Errorf("got --max-sessions %d, want a number of sessions", c.MaxSessions)
	case c.HTTP != "" && c.AgentAsks:
		return errors.New("--agent-asks is for the agent that starts the gateway: callers over HTTP may be others")
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return errors.New("HTTPS needs both files: --tls-cert and --tls-key")
	}
	return nil
}

// shared serves many callers over HTTP.
func (c *gatewayCmd) shared(e *env, l *gatewayLoader, w *watcher, res *compiler.Result, pinned *pins.Set) error {
	done := l.logTo(e)
	defer done()
	opt := gateway.SharedOptions{Version: version(), Root: e.dir, Logger: l.log, Naming: c.Namespace, Subject: l.ref,
		Pins: pinned, Explicit: res.Config.Gateway.Denial == explicit,
		Address: c.Address, Sessions: c.MaxSessions,
		HTTP: serve.HTTPOptions{Hosts: c.Host, Origins: c.Origin}}
	if u, err := url.Parse(c.Address); err == nil && u.Hostname() != "" {
		opt.HTTP.Hosts = append(opt.HTTP.Hosts, u.Hostname())
	}
	rec := e.recorder(res.Project, "", l.log)
	defer rec.end()
	l.record = rec.function()
	if opt.Audit = l.record; rec != nil {
		opt.Lost = rec.missed
	}
	set := res.Config.Gateway
	opt.Servers = settings(set)
	var err error
	if set.Auth != nil {
		opt.Issuer = set.Auth.Issuer
		if opt.Auth, err = e.verifier(set.Auth); err != nil {
			return fmt.Errorf("modec.toml: [gateway.auth]: %w", err)
		}
		if err := opt.Auth.Ready(e.ctx); err != nil {
			l.log.Warn("the keys of tokens cannot be read: who has one is refused until they can", "error", err)
		}
	}
	if c.SessionKeys != "" {
		if opt.HTTP.Keys, err = e.sessionKeys(c.SessionKeys, l.log); err != nil {
			return err
		}
	}
	g, err := gateway.NewShared(res.Policy.On(""), opt)
	if err != nil {
		return err
	}
	defer g.Close()
	h, err := g.Handler()
	if err != nil {
		return err
	}
	if err := c.start(e, g.Servers()); err != nil {
		return err
	}
	listener, err := c.listen(e, l.log, opt.Auth != nil)
	if err != nil {
		return err
	}
	if c.TLSCert == "" && !onLoopback(listener) {
		l.log.Warn("tokens cross the network as they are: serve HTTPS with --tls-cert, or have a proxy do it")
	}
	if c.Metrics != "" {
		end, err := c.measured(e, g.Status(), l.log)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		defer end()
	}
	l.gateway, l.auth = g, set.Auth
	l.watch(w)
	collectOften()
	go keepSmall(e.ctx)
	e.ui.Note("serving %s\n", serve.Address(listener.Addr().String(), ""))
	return e.serveHTTP(listener, h, l.log, parting{wait: lastCalls, begin: g.Leave, rest: g.EndCalls})
}

// lastCalls is how long a gateway that ends waits for calls under way. With what follows it is less than the 10 seconds
// after which containers are killed.
const lastCalls = 6 * time.Second

// settings are those of the servers.
func settings(set config.Gateway) map[string]gateway.ServerOptions {
	list := map[string]gateway.ServerOptions{}
	for name, o := range set.Servers {
		list[name] = gateway.ServerOptions{Shared: o.Shared, Forward: o.Forward, Map: o.Map, Raw: o.Raw, Open: o.Open}
	}
	return list
}

// measured serves the state of the gateway at an address of its own, until end is called.
func (c *gatewayCmd) measured(e *env, h http.Handler, log *slog.Logger) (end func(), err error) {
	listener, err := net.Listen("tcp", c.Metrics)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for --metrics: %w", err)
	}
	server := &http.Server{Handler: h, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are not served any more", "error", err)
		}
	}()
	e.ui.Note("metrics at http://%s/metrics\n", listener.Addr())
	return func() { _ = server.Close() }, nil // whoever reads them comes again
}

// listen opens the address. Without a question who calls it is one of this machine.
func (c *gatewayCmd) listen(e *env, log *slog.Logger, asked bool) (net.Listener, error) {
	listener, err := net.Listen("tcp", c.HTTP)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	if !asked && !onLoopback(listener) {
		_ = listener.Close() // nobody was served
		return nil, errors.New("others could reach this address, and nobody is asked who calls: " +
			"say in modec.toml whose tokens are taken, at [gateway.auth], or listen at 127.0.0.1")
	}
	if c.TLSCert == "" {
		return listener, nil
	}
	certs := &certificates{cert: e.abs(c.TLSCert), key: e.abs(c.TLSKey), log: log}
	if err := certs.load(); err != nil {
		_ = listener.Close() // nobody was served
		return nil, fmt.Errorf("the certificates cannot be read: %w", err)
	}
	return tls.NewListener(listener, &tls.Config{GetCertificate: certs.get, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"}}), nil
}

// certificates are those of a server, which are read again once their file is another one.
type certificates struct {
	cert, key string // files
	log       *slog.Logger

	mu     sync.Mutex
	loaded *tls.Certificate
	of     time.Time // when the file was written
	looked time.Time // at the file
}

// load reads the certificates if their file is another one than before.
func (c *certificates) load() error {
	info, err := os.Stat(c.cert)
	if err != nil || info.ModTime().Equal(c.of) {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	c.loaded, c.of = &pair, info.ModTime()
	return nil
}

// get returns the certificates for a connection. It looks at their file once a second.
func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) > time.Second {
		c.looked = now
		if err := c.load(); err != nil {
			c.log.Warn("the certificates cannot be read again; those of before are used", "error", err)
		}
	}
	return c.loaded, nil
}

// authOptions are those of [gateway.auth], but for the way to its keys.
func authOptions(a *config.Auth) auth.Options {
	opt := auth.Options{Issuer: a.Issuer, Audience: a.Audience, Algorithms: a.Algorithms, Skew: a.Skew, KeysAt: a.Keys}
	for _, t := range a.Tokens {
		opt.Tokens = append(opt.Tokens, auth.Token{Name: t.Name, SHA256: t.SHA256, Claims: t.Claims})
	}
	return opt
}

// verifier returns what finds out who calls.
func (e *env) verifier(a *config.Auth) (*auth.Verifier, error) {
	opt := authOptions(a)
	switch {
	case a.Issuer == "":
	case a.Keys == "" || strings.Contains(a.Keys, "://"):
		fetch, err := auth.Remote(a.Issuer, a.Keys)
		if err != nil {
			return nil, err
		}
		opt.Keys = fetch
	case !contract.LocalPath(a.Keys):
		return nil, fmt.Errorf("jwks: %q is no address and no file of the project", a.Keys)
	default:
		opt.Local = true
		opt.Keys = func(context.Context) ([]byte, error) {
			root, err := os.OpenRoot(e.dir)
			if err != nil {
				return nil, err
			}
			defer root.Close()
			return root.ReadFile(a.Keys)
		}
	}
	return auth.New(opt)
}

// start has the user accept the servers that the gateway may start or reach, as `modec run` does.
func (c *gatewayCmd) start(e *env, servers []*ir.Server) error {
	var points []accepted.Point
	for _, sv := range servers {
		points = append(points, startOf(sv))
	}
	return c.acceptPoints(e, points, "For the gateway:", "New for the gateway:")
}

// reloaded writes down that another source is served.
func (l *gatewayLoader) reloaded(digest string, waiting []string) {
	if l.record == nil {
		return
	}
	ev := audit.Event{Via: audit.ViaGateway, Role: l.ref.Role, Mode: l.ref.Mode, Tool: "reload", Policy: digest,
		Outcome: audit.Done}
	if len(waiting) > 0 {
		ev.Detail = report.Count(len(waiting), "permission") + " more, not served before the gateway is started again"
	}
	l.record(ev)
}

// gatewayLoader takes changes of the source to a gateway.
type gatewayLoader struct {
	*env
	log     *slog.Logger
	ref     ir.SubjectRef
	target  string
	gateway interface {
		UpdateServers(map[string]gateway.ServerOptions) []string
		Reload(*policy.Engine, *pins.Set) []string
		Digest() string
	}
	record func(audit.Event) // nil: nothing is written
	auth   *config.Auth      // of the start; nil: callers are not asked who they are
}

// logTo logs to standard error, until done is called.
func (l *gatewayLoader) logTo(e *env) (done func()) {
	level := slog.LevelWarn
	if e.ui.Verbose {
		level = slog.LevelInfo
	}
	out := newPatient(e.ui.Err)
	l.log = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: maskedAttr}))
	return out.Close
}

// watch takes changes of the source to the gateway from now on.
func (l *gatewayLoader) watch(w *watcher) {
	go func() {
		if err := w.run(l.ctx, l.reload); err != nil {
			l.log.Error("changes are not seen any more", "error", err)
		}
	}()
}

// restrict takes whose tokens are taken as far as that is narrower. It returns in words what waits.
func (l *gatewayLoader) restrict(a *config.Auth) (waiting []string, err error) {
	many, ok := l.gateway.(*gateway.Shared)
	switch {
	case !ok || l.auth == nil:
		return nil, nil
	case a == nil:
		return nil, errors.New("it is gone, so nobody could call: stop the gateway instead")
	}
	v, err := l.verifier(a)
	if err != nil {
		return nil, err
	}
	many.Restrict(v)
	return auth.Wider(authOptions(l.auth), authOptions(a)), nil
}

// reload takes what is there now as far as it narrows, or keeps serving the last good source.
func (l *gatewayLoader) reload() {
	defer func() {
		if r := recover(); r != nil {
			l.log.Error("the source cannot be served; the last good one is", "error", r)
		}
	}()
	res, diags := compiler.Open(l.ctx, l.request())
	if diags.HasErrors() {
		i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
		l.log.Error("the source does not compile; the last good one is served", "error", diags[i].String())
		return
	}
	pinned, diags := l.pins()
	if diags.HasErrors() {
		l.log.Error("the pins cannot be read; what was served last is", "error", diags[0].String())
		return
	}
	waiting, err := l.restrict(res.Config.Gateway.Auth)
	if err != nil {
		l.log.Error("[gateway.auth] of modec.toml cannot be followed; the last good one is", "error", err)
		return
	}
	waiting = append(waiting, l.gateway.UpdateServers(settings(res.Config.Gateway))...)
	waiting = append(waiting, l.gateway.Reload(res.Policy.On(l.target), pinned)...)
	collectOften()
	l.reloaded(l.gateway.Digest(), waiting)
	for _, what := range waiting {
		l.log.Warn("the source permits more now: start the gateway again to have it served", "what", what)
	}
	if len(waiting) == 0 {
		l.log.Info("serving the changed source")
	}
}
