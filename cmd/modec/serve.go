package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/mcp/serve"
)

type serveCmd struct {
	Config      string     `env:"MODEC_CONFIG" placeholder:"FILE" help:"Settings as TOML, by the names of the flags below. The environment wins over it, and flags over both."`
	PrintConfig string     `placeholder:"CLIENT" help:"Print the entry for a client's list of servers, and end: ${clients}."`
	Install     clientName `placeholder:"CLIENT" help:"Merge that entry into the client's file in the project, and end. Beside --print-config it needs no name."`
	serveSettings
}

// serveSettings are what a file, the environment and flags may say: pointers and lists,
// of which nil is not said.
type serveSettings struct {
	HTTP           *string        `name:"http" env:"MODEC_HTTP" toml:"http" placeholder:"ADDR" help:"Serve streamable HTTP at this address (127.0.0.1:8765) in place of standard input and output. Endpoints: /mcp, and /mcp/MODE for one mode."`
	Mode           *string        `env:"MODEC_MODE" toml:"mode" placeholder:"SLUG" help:"The working mode of every session."`
	Role           *string        `env:"MODEC_ROLE" toml:"role" placeholder:"NAME" help:"The role of every session."`
	Model          *string        `env:"MODEC_MODEL" toml:"model" placeholder:"FILE" help:"Serve a compiled model (modec.model.json) in place of the source: no CUE is evaluated."`
	State          *string        `env:"MODEC_STATE" toml:"state" placeholder:"FILE" help:"Keep sessions in this SQLite database. Default: in memory."`
	AllowWrites    *bool          `env:"MODEC_ALLOW_WRITES" toml:"allow-writes" help:"Offer the tools that change the source: set_roles, update_mode_restrictions."`
	NoGlobal       *bool          `env:"MODEC_NO_GLOBAL" toml:"no-global" help:"Leave out the modes of ~/.config/modec and ~/.roo/custom_modes.yaml."`
	Timeout        *time.Duration `env:"MODEC_TIMEOUT" toml:"timeout" placeholder:"DURATION" help:"How long a session lives without use. Default: 1h."`
	Cleanup        *time.Duration `env:"MODEC_CLEANUP" toml:"cleanup" placeholder:"DURATION" help:"How often sessions that ended are removed. Default: 5m."`
	MaxSessions    *int           `env:"MODEC_MAX_SESSIONS" toml:"max-sessions" placeholder:"N" help:"Most sessions at once. Default: 10000."`
	MaxMessages    *int           `env:"MODEC_MAX_MESSAGES" toml:"max-messages" placeholder:"N" help:"Most messages and switches of a session. Default: 1000."`
	MaxText        *int           `env:"MODEC_MAX_TEXT" toml:"max-text" placeholder:"BYTES" help:"Most bytes of a message. Default: 65536."`
	MaxBody        *int64         `env:"MODEC_MAX_BODY" toml:"max-body" placeholder:"BYTES" help:"Most bytes of an HTTP request. Default: 4 MiB."`
	RequestTimeout *time.Duration `env:"MODEC_REQUEST_TIMEOUT" toml:"request-timeout" placeholder:"DURATION" help:"How long one call may take. Default: 30s."`
	Origin         []string       `env:"MODEC_ORIGIN" toml:"origin" placeholder:"URL" help:"An origin that browsers may ask from; may be repeated. Default: none."`
	Host           []string       `env:"MODEC_HOST" toml:"host" placeholder:"NAME" help:"A host name beside those of the loopback interface that requests may name; may be repeated."`
	LogFile        *string        `env:"MODEC_LOG_FILE" toml:"log-file" placeholder:"FILE" help:"Write the log here, as JSON, in place of standard error."`
	LogLevel       *string        `env:"MODEC_LOG_LEVEL" toml:"log-level" placeholder:"LEVEL" help:"debug, info, warn or error. Default: info with --http, else warn."`
}

func (serveCmd) Help() string {
	return `Serves the compiled project to agents over the Model Context Protocol, every released revision of it: modes, roles and servers as resources, each mode's system prompt as a prompt and as a skill, and tools that tell what may be done (validate_tool_use, explain), keep tasks (create_task, switch_mode, get_task_info, complete_task) and list what there is. It watches the source: a change is served at once, without dropping a connection; a source that does not compile is reported, and the last good one served.

Modes come from the project, below it from the user's own (~/.config/modec, a project like any other, and custom_modes.yaml there and in ~/.roo), below these from modec (architect, ask, code, debug, orchestrator).

Over HTTP it listens where you say and answers requests of the loopback interface's own names only. Nobody is asked who they are: do not let it listen where others can reach it. A session's id is a handle, not a key.

Examples:
  modec serve
  modec serve --mode architect
  modec serve --model modec.model.json
  modec serve --http 127.0.0.1:8765 --state ~/.local/state/modec/sessions.db
  modec serve --print-config claude
  modec serve --install cursor`
}

func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

func (c *serveCmd) Run(e *env) error {
	if err := c.fromFile(e); err != nil {
		return err
	}
	if c.PrintConfig != "" || c.Install != "" {
		return c.entry(e)
	}
	log, end, err := c.logger(e)
	if err != nil {
		return err
	}
	defer end()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	l := &modelLoader{env: e, log: log, file: or(c.Model, ""), global: !or(c.NoGlobal, false)}
	if l.file != "" {
		l.file = e.abs(l.file)
	}
	w, err := l.watch()
	if err != nil {
		return err
	}
	model, diags := l.load()
	if diags.HasErrors() {
		return e.ui.fail("serve", diags)
	}
	opt := serve.Options{Version: version(), Logger: log, Mode: or(c.Mode, ""), Role: or(c.Role, ""), Timeout: or(c.RequestTimeout, 0), HideEnv: or(c.HTTP, "") != "",
		Limits: serve.Limits{Sessions: or(c.MaxSessions, 0), Messages: or(c.MaxMessages, 0), Text: or(c.MaxText, 0), Timeout: or(c.Timeout, 0), Cleanup: or(c.Cleanup, 0)}}
	if l.file == "" {
		opt.Verify = l.verify
	}
	if or(c.AllowWrites, false) {
		if l.file != "" {
			return errors.New("got --allow-writes with --model, want a source that can be written")
		}
		opt.Writer = l
	}
	if state := or(c.State, ""); state != "" {
		if opt.Store, err = serve.OpenSQLite(e.abs(state)); err != nil {
			return err
		}
	}
	s, err := serve.New(model, opt)
	if err != nil {
		return err
	}
	defer s.Close()
	l.server = s
	go func() {
		if err := w.run(ctx, l.reload); err != nil {
			log.Error("changes are not seen any more", "error", err)
		}
	}()
	if addr := or(c.HTTP, ""); addr != "" {
		return c.http(ctx, e, s, addr, log)
	}
	in, ok := e.stdin.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(e.stdin)
	}
	return s.Run(ctx, in, keepOpen{e.ui.out})
}

// keepOpen is standard output, which nobody closes.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// fromFile lays what flags and the environment say over the settings of a file.
func (c *serveCmd) fromFile(e *env) error {
	if c.Config == "" {
		return c.check()
	}
	data, err := os.ReadFile(e.abs(c.Config))
	if err != nil {
		return fmt.Errorf("the settings cannot be read: %w", err)
	}
	var raw struct {
		serveSettings
		Timeout        *string `toml:"timeout"`
		Cleanup        *string `toml:"cleanup"`
		RequestTimeout *string `toml:"request-timeout"`
	}
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := d.Decode(&raw); err != nil {
		var strict *toml.StrictMissingError
		if errors.As(err, &strict) && len(strict.Errors) > 0 {
			row, col := strict.Errors[0].Position()
			return fmt.Errorf("%s:%d:%d: got an unknown setting %q, want the name of a flag of modec serve", c.Config, row, col, strings.Join(strict.Errors[0].Key(), "."))
		}
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			row, col := bad.Position()
			return fmt.Errorf("%s:%d:%d: %s", c.Config, row, col, strings.TrimPrefix(bad.Error(), "toml: "))
		}
		return fmt.Errorf("%s: %w", c.Config, err)
	}
	f := raw.serveSettings
	for _, x := range []struct {
		name string
		text *string
		into **time.Duration
	}{{"timeout", raw.Timeout, &f.Timeout}, {"cleanup", raw.Cleanup, &f.Cleanup}, {"request-timeout", raw.RequestTimeout, &f.RequestTimeout}} {
		if x.text == nil {
			continue
		}
		d, err := time.ParseDuration(*x.text)
		if err != nil {
			return fmt.Errorf("%s: %s: got %q, want a duration such as \"90s\" or \"1h\"", c.Config, x.name, *x.text)
		}
		*x.into = &d
	}
	c.serveSettings.under(f)
	return c.check()
}

// under fills in what is not said. An empty variable of the environment says nothing.
func (s *serveSettings) under(file serveSettings) {
	mine, theirs := reflect.ValueOf(s).Elem(), reflect.ValueOf(file)
	for i := range mine.NumField() {
		f := mine.Field(i)
		if f.IsNil() || f.Kind() == reflect.Pointer && f.Elem().Kind() == reflect.String && f.Elem().Len() == 0 {
			f.Set(theirs.Field(i))
		}
	}
}

// check holds numbers and durations to what makes sense.
func (c *serveCmd) check() error {
	for _, x := range []struct {
		name string
		n    int64
		said bool
	}{
		{"max-sessions", int64(or(c.MaxSessions, 1)), c.MaxSessions != nil}, {"max-messages", int64(or(c.MaxMessages, 1)), c.MaxMessages != nil},
		{"max-text", int64(or(c.MaxText, 1)), c.MaxText != nil}, {"max-body", or(c.MaxBody, 1), c.MaxBody != nil},
	} {
		if x.said && x.n < 1 {
			return fmt.Errorf("got %s %d, want 1 or more", x.name, x.n)
		}
	}
	for name, d := range map[string]*time.Duration{"timeout": c.Timeout, "cleanup": c.Cleanup, "request-timeout": c.RequestTimeout} {
		if d != nil && *d < time.Second {
			return fmt.Errorf("got %s %s, want a second or more", name, *d)
		}
	}
	return nil
}

// logger writes to standard error or a file, never to standard output.
func (c *serveCmd) logger(e *env) (*slog.Logger, func(), error) {
	level := slog.LevelWarn
	if or(c.HTTP, "") != "" {
		level = slog.LevelInfo
	}
	if c.LogLevel != nil {
		if err := level.UnmarshalText([]byte(*c.LogLevel)); err != nil {
			return nil, nil, fmt.Errorf("got log-level %q, want debug, info, warn or error", *c.LogLevel)
		}
	}
	if c.LogFile == nil {
		out := newPatient(e.ui.err)
		return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})), out.Close, nil
	}
	f, err := os.OpenFile(e.abs(*c.LogFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("the log cannot be written: %w", err)
	}
	return slog.New(slog.NewJSONHandler(f, &slog.HandlerOptions{Level: level})), func() { f.Close() }, nil
}

// http serves until the context ends, and lets requests that are under way end.
func (c *serveCmd) http(ctx context.Context, e *env, s *serve.Server, addr string, log *slog.Logger) error {
	h, err := s.Handler(serve.HTTPOptions{Body: or(c.MaxBody, 0), Origins: c.Origin, Hosts: c.Host})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		log.Warn("others can reach this address, and nobody is asked who they are", "address", listener.Addr().String())
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	e.ui.note("serving %s\n", serve.Address(listener.Addr().String(), ""))
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(patience); errors.Is(err, context.DeadlineExceeded) {
		return server.Close() // streams that clients hold open
	} else if err != nil {
		return err
	}
	return nil
}

// modelLoader makes models, of the source or of a compiled one.
type modelLoader struct {
	*env
	log    *slog.Logger
	file   string // of a compiled model; "": the source
	global bool
	server *serve.Server

	loading sync.Mutex // so that a later reload does not serve what was there before
}

func (l *modelLoader) watch() (*watcher, error) {
	if l.file != "" {
		return l.watchFile(l.file)
	}
	return l.env.watch()
}

func (l *modelLoader) load() (*serve.Model, diag.List) {
	var diags diag.List
	var p *ir.Project
	if l.file != "" {
		var err error
		if p, err = readPolicy(l.file); err != nil {
			diags.Errorf(diag.BadModel, diag.Pos{File: l.file}, "%v", err)
			return nil, diags
		}
	} else {
		res, list := compiler.Open(l.ctx, l.request())
		if diags = list; diags.HasErrors() {
			return nil, diags
		}
		p = res.Project
	}
	var global []*ir.Project
	if l.global {
		global = l.users()
	}
	return serve.NewModel(l.dir, l.targets, p, global...), diags
}

// users are the modes that the user has everywhere. What of them does not load is
// logged and left out: it must not keep the project from being served.
func (l *modelLoader) users() (out []*ir.Project) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	own := filepath.Join(home, ".config", "modec")
	if file := filepath.Join(own, "modec.model.json"); l.file != "" {
		if p, err := readPolicy(file); err == nil {
			out = append(out, p)
		} else if !errors.Is(err, fs.ErrNotExist) {
			l.log.Warn("the user's own model is left out", "error", err)
		}
	} else if _, err := os.Stat(filepath.Join(own, config.File)); err == nil && own != l.dir {
		req := l.request()
		req.Root = own
		if res, diags := compiler.Open(l.ctx, req); diags.HasErrors() {
			l.log.Warn("the user's own source is left out", "error", diags[0].String())
		} else {
			out = append(out, res.Project)
		}
	}
	for _, t := range l.targets {
		g, ok := t.(contract.GlobalModes)
		if !ok {
			continue
		}
		format, files := g.GlobalModes()
		for _, name := range files {
			if p := l.customModes(g, format, filepath.Join(own, path.Base(name))); p != nil {
				out = append(out, p)
			}
			if p := l.customModes(g, format, filepath.Join(home, filepath.FromSlash(name))); p != nil {
				out = append(out, p)
			}
		}
		break // of two agents with such a file the first: modec's own folder has one for both
	}
	return out
}

// customModes reads a file of modes in an agent's own format.
func (l *modelLoader) customModes(from contract.Importer, format, file string) *ir.Project {
	if _, err := os.Stat(file); err != nil {
		return nil
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil
	}
	defer root.Close()
	got, diags := from.Import(contract.Source{Root: root.FS(), Format: format, Files: []string{filepath.Base(file)}})
	if diags.HasErrors() {
		l.log.Warn("the user's own modes are left out", "file", file, "error", diags[0].String())
		return nil
	}
	return got.Project
}

// reload serves what lies there now, or goes on with what was good.
func (l *modelLoader) reload() {
	l.loading.Lock()
	defer l.loading.Unlock()
	defer func() {
		if r := recover(); r != nil {
			l.server.Broken(fmt.Sprintf("the source cannot be served: %v", r))
		}
	}()
	m, diags := l.load()
	if diags.HasErrors() {
		i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
		l.server.Broken(diags[i].String())
		return
	}
	l.server.Reload(m)
}

// verify proves the artifacts of the source as it is.
func (l *modelLoader) verify(ctx context.Context) (*serve.Verification, error) {
	res, diags := compiler.Compile(ctx, l.request())
	if diags.HasErrors() {
		return nil, errors.New(diags[0].String())
	}
	report, _ := res.Verify(ctx, verifySeed, nil)
	if report == nil {
		return nil, errors.New("the artifacts cannot be verified")
	}
	v := &serve.Verification{Decisions: report.Decisions, Wider: report.Wider(), Targets: []string{}, Findings: []string{}}
	for _, s := range report.Surfaces {
		if !slices.Contains(v.Targets, s.Target) {
			v.Targets = append(v.Targets, s.Target)
		}
		for _, f := range s.Findings {
			if len(v.Findings) < 10 {
				v.Findings = append(v.Findings, fmt.Sprintf("%s: %s %s %q: %s, and %s by the source", s.Target, f.Subject, f.Group, f.Action, f.Artifact, f.Source))
			}
		}
	}
	return v, nil
}
