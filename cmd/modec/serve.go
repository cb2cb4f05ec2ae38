package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/targets/mcp/seal"
	"modec.dev/modec/targets/mcp/serve"
)

type serveCmd struct {
	textOrJSON
	Config        string     `env:"MODEC_CONFIG" placeholder:"FILE" help:"Read the flags below from a TOML file."`
	PrintConfig   string     `placeholder:"CLIENT" help:"Print the entry for a client's list of servers: ${clients}."`
	Install       clientName `placeholder:"CLIENT" help:"Write that entry into the client's file of the project."`
	PrintSettings bool       `help:"Print a file for --config with every setting and its default."`
	serveSettings
}

func (serveCmd) reports() []any { return []any{clientReport{}, report.Outcome{}} }

func (c *serveCmd) Run(e *env) error {
	if c.PrintSettings {
		_, err := io.WriteString(e.ui.Out, settingsFile())
		return err
	}
	if err := c.settle(e); err != nil {
		return err
	}
	if dir := or(c.Project, ""); dir != "" && !e.named {
		e.dir = filepath.Clean(e.abs(dir))
	}
	if c.PrintConfig != "" || c.Install != "" {
		return c.entry(e)
	}
	log, end, err := c.logger(e)
	if err != nil {
		return err
	}
	defer end()
	e.ui.Endless = true
	l := &modelLoader{env: e, log: log, file: or(c.Model, ""), global: !or(c.NoGlobal, false), own: or(c.GlobalDir, "")}
	if l.file != "" {
		l.file = e.abs(l.file)
	}
	if info, err := os.Stat(e.dir); l.file == "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the project's folder %s does not exist", e.dir)
	} else if l.file == "" && err == nil && !info.IsDir() {
		return fmt.Errorf("the project's folder %s is a file", e.dir)
	}
	w, err := l.watch()
	if err != nil {
		return err
	}
	model, diags := l.load()
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	opt, err := c.options(l)
	if err != nil {
		return err
	}
	principal := userName()
	if or(c.HTTP, "") != "" {
		principal = "" // callers are not authenticated
	}
	rec := e.recorder(model.Project, principal, log)
	defer rec.end()
	opt.Audit = rec.function()
	s, err := serve.New(model, opt)
	if err != nil {
		return err
	}
	defer s.Close()
	l.server = s
	go func() {
		if err := w.run(e.ctx, l.reload); err != nil {
			log.Error("changes are not seen any more", "error", err)
		}
	}()
	if addr := or(c.HTTP, ""); addr != "" {
		return c.http(e, s, addr, log)
	}
	in, ok := e.stdin.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(e.stdin)
	}
	return s.Run(e.ctx, in, keepOpen{e.ui.Out})
}

// options turns the settings into those of a server.
func (c *serveCmd) options(l *modelLoader) (opt serve.Options, err error) {
	opt = serve.Options{Version: version(), Logger: l.log, Mode: or(c.Mode, ""), Role: or(c.Role, ""),
		Timeout: or(c.RequestTimeout, 0), HideEnv: or(c.HTTP, "") != "",
		Limits: serve.Limits{Sessions: or(c.MaxSessions, 0), Messages: or(c.MaxMessages, 0), Text: or(c.MaxText, 0),
			Timeout: or(c.Timeout, 0), Cleanup: or(c.Cleanup, 0)}}
	opt.Name = or(c.ServerName, "")
	if l.file == "" && !l.alone() {
		opt.Verify, opt.TryRestrictions = l.verify, l.tryRestrictions
	}
	if or(c.AllowWrites, false) {
		if l.alone() {
			return opt, fmt.Errorf("--allow-writes changes the source, and %s has none: `modec init` writes one", l.dir)
		}
		if l.file != "" {
			return opt, errors.New("--allow-writes changes the source, and --model serves none: leave one out")
		}
		opt.Writer = l
	}
	switch state := or(c.State, ""); {
	case serve.IsPostgres(state):
		opt.Store, err = serve.OpenPostgres(state, l.log)
	case strings.Contains(state, "://"):
		scheme, _, _ := strings.Cut(state, "://") // the rest may have a password
		err = fmt.Errorf("state: got a URL of %q, want postgres://, or a file", scheme)
	case state != "":
		opt.Store, err = serve.OpenSQLite(l.abs(state))
	}
	return opt, err
}

// keys reads the keys that servers share, from a file or a variable; nil where none are set.
func (c *serveCmd) keys(e *env, log *slog.Logger) (*seal.Keys, error) {
	place := or(c.SessionKeys, "")
	if place == "" {
		if serve.IsPostgres(or(c.State, "")) {
			log.Info("other servers cannot go on with sessions of HTTP that begin here; --session-keys lets them")
		}
		return nil, nil
	}
	return e.sessionKeys(place, log)
}

// sessionKeys reads keys that servers share from a file, or from the variable of env:NAME.
func (e *env) sessionKeys(place string, log *slog.Logger) (*seal.Keys, error) {
	text := []byte{}
	if name, ok := strings.CutPrefix(place, "env:"); ok {
		text = []byte(os.Getenv(name))
	} else {
		info, err := os.Stat(e.abs(place))
		if err == nil {
			text, err = os.ReadFile(e.abs(place))
		}
		if err != nil {
			return nil, fmt.Errorf("the keys cannot be read: %w", err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0 {
			log.Warn("everybody on this machine can read the keys", "file", place)
		}
	}
	keys, err := seal.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	return keys, nil
}

// keepOpen is standard output, which nobody closes.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// maskedAttr masks the secrets in what is logged.
func maskedAttr(_ []string, a slog.Attr) slog.Attr {
	switch x := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(secret.Value(a.Key, x))
	case error:
		a.Value = slog.StringValue(secret.Text(x.Error()))
	}
	return a
}

// logger writes to standard error, to a file or to both, never to standard output.
func (c *serveCmd) logger(e *env) (*slog.Logger, func(), error) {
	level := slog.LevelWarn
	if or(c.HTTP, "") != "" {
		level = slog.LevelInfo
	}
	if name := or(c.LogLevel, ""); name != "" {
		if strings.EqualFold(name, "warning") { // as Python calls it
			name = "warn"
		}
		if err := level.UnmarshalText([]byte(name)); err != nil {
			return nil, nil, fmt.Errorf("log-level: got %q, want debug, info, warning or error", *c.LogLevel)
		}
	}
	opt := &slog.HandlerOptions{Level: level, ReplaceAttr: maskedAttr}
	handler := func(to io.Writer, format string) slog.Handler {
		if or(c.LogFormat, format) == "json" {
			return slog.NewJSONHandler(to, opt)
		}
		return slog.NewTextHandler(to, opt)
	}
	var handlers []slog.Handler
	end := func() {}
	if c.LogFile == nil || or(c.LogStderr, false) {
		out := newPatient(e.ui.Err)
		handlers, end = append(handlers, handler(out, "text")), out.Close
	}
	if c.LogFile != nil {
		f, err := os.OpenFile(e.abs(*c.LogFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			end()
			return nil, nil, fmt.Errorf("the log cannot be written: %w", err)
		}
		before := end
		handlers, end = append(handlers, handler(f, "json")), func() { before(); f.Close() }
	}
	return slog.New(slog.NewMultiHandler(handlers...)), end, nil
}

// http serves over HTTP until the context ends.
func (c *serveCmd) http(e *env, s *serve.Server, addr string, log *slog.Logger) error {
	keys, err := c.keys(e, log)
	if err != nil {
		return err
	}
	h, err := s.Handler(serve.HTTPOptions{Body: or(c.MaxBody, 0), Origins: c.Origin, Hosts: c.Host, Keys: keys})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	if !onLoopback(listener) {
		log.Warn("others can reach this address, and callers are not authenticated",
			"address", listener.Addr().String())
	}
	e.ui.Note("serving %s\n", serve.Address(listener.Addr().String(), ""))
	return e.serveHTTP(listener, h, log, quickly)
}

// onLoopback reports whether only this machine can reach a listener.
func onLoopback(l net.Listener) bool {
	tcp, ok := l.Addr().(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}

// parting is how a server ends that has calls under way.
type parting struct {
	wait  time.Duration // for their answers
	begin func()        // called at once; nil: nothing is
	rest  func()        // has those answered that are left; nil: they are cut
}

// quickly is the parting of a server whose calls are short.
var quickly = parting{wait: time.Second}

// Bounds of what is left once a server has waited.
const (
	lastErrors = time.Second     // until the calls that are left are answered with an error
	lastWrites = 2 * time.Second // until what was cut has ended
)

// serveHTTP serves until the context ends, and lets requests that are under way end.
func (e *env) serveHTTP(listener net.Listener, h http.Handler, log *slog.Logger, end parting) error {
	calls, cut := context.WithCancel(context.WithoutCancel(e.ctx))
	defer cut()
	server := &http.Server{Handler: endsWith(e.ctx, calls, h), ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-e.ctx.Done():
	}
	if end.begin != nil {
		end.begin()
	}
	within := func(limit time.Duration) error {
		patience, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), limit)
		defer cancel()
		return server.Shutdown(patience)
	}
	err := within(end.wait)
	if errors.Is(err, context.DeadlineExceeded) && end.rest != nil {
		end.rest()
		err = within(lastErrors)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		cut()
		err = within(lastWrites)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close() // calls that do not end
	}
	return err
}

// endsWith lets requests end: streams, which clients hold open, with the first context, and calls with the second.
func endsWith(streams, calls context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own, cancel := context.WithCancel(r.Context())
		defer cancel()
		ctx := calls
		if r.Method == http.MethodGet {
			ctx = streams
		}
		stop := context.AfterFunc(ctx, cancel)
		defer stop()
		next.ServeHTTP(w, r.WithContext(own))
	})
}
