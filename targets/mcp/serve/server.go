package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/diag"
)

// Options configure a server. Only the version has no default.
type Options struct {
	Version string        // of modec
	Name    string        // that clients see; "": modec
	Logger  *slog.Logger  // nil: nothing is logged
	Mode    string        // the working mode of every call that names none; "": none
	Role    string        // the role of every session; "": each names its own
	Store   Store         // nil: in memory
	Limits  Limits        // zero fields: DefaultLimits
	Timeout time.Duration // of one call; default 30 s
	// Writer changes the source; nil: the tools that write are not there.
	Writer Writer
	// TryRestrictions returns what the project says with the MCP restrictions of a mode in the place of those that
	// it has, and writes nothing; nil: only the restrictions themselves are checked.
	TryRestrictions func(context.Context, string, *RestrictionsInput) (diag.List, error)
	// Audit writes an event; nil: nothing is written.
	Audit func(audit.Event)
	// HideEnv keeps the values of roles' environments from whoever asks.
	HideEnv bool
	// Verify proves the artifacts; nil: the tool verify is not there.
	Verify func(context.Context) (*Verification, error)
}

// Writer changes the project's source. Calls come one after the other.
type Writer interface {
	// SetRoles puts roles in the place of those that were set before.
	SetRoles(context.Context, []RoleInput) (*Written, error)
	// SetRestrictions puts a mode's MCP restrictions in the place of those that were
	// set before.
	SetRestrictions(context.Context, string, *RestrictionsInput) (*Written, error)
}

// Written is what became of a change of the source.
type Written struct {
	File        string    // that was written; "" where nothing was
	Diagnostics diag.List // of the whole project with the change
}

// Verification is what verify found.
type Verification struct {
	Decisions int      `json:"decisions" jsonschema:"distinct decisions that were compared"`
	Wider     int      `json:"wider" jsonschema:"decisions by which an artifact permits more than the source"`
	Targets   []string `json:"targets" jsonschema:"the targets that were verified"`
	Findings  []string `json:"findings" jsonschema:"the wider decisions, the first of them"`
}

// Server serves one model at a time. It is safe for concurrent use.
type Server struct {
	opt       Options
	sdkLogger *slog.Logger
	model     atomic.Pointer[Model]
	broken    atomic.Pointer[string] // why the source that lies on the disk is not served

	mu        sync.Mutex
	scopes    map[string]*scope // by the mode of their endpoint
	reloading sync.Mutex        // so that of two reloads the later one holds
	proving   sync.Mutex        // one verification at a time

	writing sync.Mutex
	stop    context.CancelFunc
	now     func() time.Time // of sessions, and of what is permitted at times
}

// scope is the server of one endpoint: its working mode is fixed.
type scope struct {
	*Server
	mode string
	sdk  *sdk.Server

	mu      sync.Mutex
	shown   map[string]any  // resources and prompts as they are registered, by URI or name
	watched map[string]bool // addresses of which clients want to know when they change, or once did
	untold  map[string]bool // resources that changed and of which clients do not know yet
	telling bool
}

// New returns a server of a model. Close ends it.
func New(m *Model, opt Options) (*Server, error) {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	sdkLogger := opt.Logger
	if !sdkLogger.Enabled(context.Background(), slog.LevelDebug) {
		sdkLogger = slog.New(warnings{opt.Logger.Handler()}) // else two lines a request
	}
	if opt.Store == nil {
		opt.Store = NewMemory()
	}
	opt.Limits, opt.Name = opt.Limits.orDefault(), cmp.Or(opt.Name, "modec")
	opt.Timeout = cmp.Or(opt.Timeout, 30*time.Second)
	if opt.Role != "" && m.Project.Role(opt.Role) == nil {
		return nil, fmt.Errorf("got role %q, want %s", opt.Role,
			diag.OneOf(m.Project.RoleNames(), "none: the project has no role"))
	}
	if opt.Mode != "" && m.Project.Mode(opt.Mode) == nil {
		return nil, fmt.Errorf("got mode %q, want %s", opt.Mode,
			diag.OneOf(m.Project.ModeNames(), "none: the project has no mode"))
	}
	if err := enters(m, opt.Role, opt.Mode); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{opt: opt, sdkLogger: sdkLogger, scopes: map[string]*scope{}, stop: stop, now: time.Now}
	if shared, ok := opt.Store.(interface{ Now() time.Time }); ok {
		s.now = shared.Now
	}
	s.prepare(m)
	s.model.Store(m)
	go s.clean(ctx)
	return s, nil
}

// Close ends the cleaning and the store.
func (s *Server) Close() error {
	s.stop()
	return s.opt.Store.Close()
}

// clean removes sessions long after they expired: until then a caller learns that they
// did.
func (s *Server) clean(ctx context.Context) {
	t := time.NewTicker(s.opt.Limits.Cleanup)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.cleanOnce()
		}
	}
}

func (s *Server) cleanOnce() {
	n, err := s.opt.Store.Clean(s.now().Add(-2 * s.opt.Limits.Timeout))
	if err != nil {
		s.opt.Logger.Error("sessions were not cleaned", "error", err)
	} else if n > 0 {
		s.opt.Logger.Info("sessions cleaned", "count", n)
	}
}

// Model returns what is served now.
func (s *Server) Model() *Model { return s.model.Load() }

// current returns the model as it decides now, with what is permitted at this time. Resources and prompts are those
// of [Server.Model], which do not change with the clock.
func (s *Server) current() *Model {
	m := s.Model()
	e := m.Policy.At(s.now())
	if e == m.Policy {
		return m
	}
	now := *m
	now.Policy = e
	return &now
}

// Reload serves another model from now on. Connections stay, and learn which resources
// changed.
func (s *Server) Reload(m *Model) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	s.prepare(m)
	old := s.model.Swap(m)
	s.broken.Store(nil)
	s.mu.Lock()
	scopes := slices.Collect(maps.Values(s.scopes))
	s.mu.Unlock()
	watched := map[string]bool{} // only these are written by both models: of hundreds of roles that takes seconds
	for _, sc := range scopes {
		sc.mu.Lock()
		maps.Copy(watched, sc.watched)
		sc.mu.Unlock()
	}
	uris := changed(old, m, watched)
	for _, sc := range scopes {
		sc.register()
		sc.tell(uris)
	}
	s.opt.Logger.Info("serving a new model", "modes", len(m.Project.Modes), "roles", len(m.Project.Roles))
}

// prepare hides the values of environments where Options.HideEnv says so.
func (s *Server) prepare(m *Model) {
	if !s.opt.HideEnv {
		return
	}
	m.Project.Roles = slices.Clone(m.Project.Roles)
	for i := range m.Project.Roles {
		r := &m.Project.Roles[i]
		hidden := map[string]string{}
		for name := range r.Env {
			hidden[name] = Hidden
		}
		if len(hidden) > 0 {
			r.Env = hidden
		}
	}
}

// tell notifies clients of changed resources, in a goroutine of its own: a client that
// does not read delays only its own endpoint.
func (sc *scope) tell(uris []string) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for _, u := range uris {
		sc.untold[u] = true
	}
	if sc.telling || len(sc.untold) == 0 {
		return
	}
	sc.telling = true
	go func() {
		for {
			sc.mu.Lock()
			next := slices.Sorted(maps.Keys(sc.untold))
			clear(sc.untold)
			if len(next) == 0 {
				sc.telling = false
				sc.mu.Unlock()
				return
			}
			sc.mu.Unlock()
			for _, uri := range next {
				ctx, cancel := context.WithTimeout(context.Background(), Patience)
				if err := sc.sdk.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
					sc.opt.Logger.Warn("a client did not learn of a change", "uri", uri, "error", err)
				}
				cancel()
			}
		}
	}()
}

// Broken reports that the source on the disk cannot be served: the last good model stays.
func (s *Server) Broken(why string) {
	s.broken.Store(&why)
	s.opt.Logger.Error("the source does not compile; the last good model is served", "error", why)
}

// scope returns the server of an endpoint.
func (s *Server) scope(mode string) *scope {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sc := s.scopes[mode]; sc != nil {
		return sc
	}
	sc := &scope{Server: s, mode: mode, shown: map[string]any{}, watched: map[string]bool{},
		untold: map[string]bool{}}
	self := sdk.Implementation{Name: s.opt.Name, Title: s.opt.Name, Version: s.opt.Version}
	sc.sdk = sdk.NewServer(&self, &sdk.ServerOptions{
		Instructions: instructions,
		Logger:       s.sdkLogger,
		Capabilities: &sdk.ServerCapabilities{
			Tools:      &sdk.ToolCapabilities{},
			Resources:  &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
			Prompts:    &sdk.PromptCapabilities{ListChanged: true},
			Extensions: map[string]any{skillsExtension: map[string]any{}},
		},
		CompletionHandler: sc.complete,
		// A client may subscribe to any address: the next model may have that resource.
		SubscribeHandler:   sc.subscribe,
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		// The model may change at any time; all who may ask get the same answer.
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.TTLMs, c.CacheScope = 0, "public" },
	})
	sc.sdk.AddReceivingMiddleware(sc.aroundRequest)
	sc.tools()
	sc.templates()
	sc.skills()
	sc.register()
	s.scopes[mode] = sc
	return sc
}

// mostWatched is how many addresses a server remembers. Once clients asked about more, all that it has are compared.
const mostWatched = 10_000

// everyAddress stands for all of them.
const everyAddress = ""

// subscribe remembers an address.
func (sc *scope) subscribe(_ context.Context, req *sdk.SubscribeRequest) error {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if uri := req.Params.URI; len(sc.watched) < mostWatched {
		sc.watched[uri] = true
	} else if !sc.watched[uri] {
		sc.watched[everyAddress] = true
	}
	return nil
}

const instructions = "modec knows which modes and roles this project has, what each may do, and which rule of the " +
	"source decides. Ask validate_tool_use before an action whose permission is in doubt; list_modes and " +
	"get_mode_info describe the modes. create_task starts a task in a mode and returns a session_id, which the " +
	"other calls take. Do not attempt in another way what a rule refuses."

// aroundRequest is around every request: a panic becomes an error, a call is answered in time,
// and every error is one of the protocol.
func (s *Server) aroundRequest(next sdk.MethodHandler) sdk.MethodHandler {
	safely := func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if r := recover(); r != nil {
				s.opt.Logger.Error("a handler panicked", "method", method, "panic", r, "stack", string(debug.Stack()))
				res, err = nil, fail(internalError, "the server failed at %s", method)
			}
		}()
		if err := saysNothing(method, req); err != nil {
			return nil, err
		}
		return next(ctx, method, req)
	}
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		if s.mayTakeLong(method, req) {
			res, err = s.inTime(ctx, method, req, safely)
		} else {
			res, err = safely(ctx, method, req)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			err = s.inWords(method, req, err)
		}
		return withMetadata(res), err
	}
}

// inWords returns an error of a handler or of the SDK as one of the protocol, with its reason.
func (s *Server) inWords(method string, req sdk.Request, err error) error {
	var wire *jsonrpc.Error
	known := errors.As(err, &wire)
	var data struct{ Code string }
	if known && wire.Code != 0 && json.Unmarshal(wire.Data, &data) == nil && data.Code != "" {
		return err
	}
	switch p := req.GetParams().(type) {
	case *sdk.ReadResourceParams: // the SDK knows no reasons, and writes some addresses as no JSON
		if _, _, why := content(s.Model(), p.URI); why != nil {
			return why
		}
	case *sdk.GetPromptParams:
		if s.Model().Project.Mode(p.Name) == nil {
			return fail(modeNotFound, "got the prompt of a mode %q, which is not there; %s", p.Name,
				diag.OneOf(s.Model().Project.ModeNames(), "the project has no mode"))
		}
	}
	switch {
	case known && wire.Code == jsonrpc.CodeInvalidParams && wire.Data == nil:
		return fail(validationError, "%s", wire.Message) // of the SDK: an unknown tool or prompt
	case known && wire.Code != 0 && json.Valid(wire.Data):
		return err
	}
	coded := protocolError(err)
	_, unread := aboutGo(err.Error())
	if method == "initialize" || unread || known && wire.Code != 0 { // a second initialize is the client's
		s.opt.Logger.Info("a request is refused", "method", method, "error", coded.Message)
		return coded
	}
	s.opt.Logger.Error("a request failed", "method", method, "error", err)
	coded.Code, coded.Data = jsonrpc.CodeInternalError, dataOf(internalError, nil)
	return coded
}

// mayTakeLong reports whether a call waits for something: the others take microseconds.
func (s *Server) mayTakeLong(method string, req sdk.Request) bool {
	if method != "tools/call" {
		return false
	}
	p, ok := req.GetParams().(*sdk.CallToolParamsRaw)
	return !ok || p.Name != "validate_tool_use" && p.Name != "explain"
}

// inTime answers at the deadline, whether or not the handler is done by then.
func (s *Server) inTime(
	ctx context.Context, method string, req sdk.Request, next sdk.MethodHandler,
) (sdk.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	type answer struct {
		res sdk.Result
		err error
	}
	done := make(chan answer, 1)
	go func() {
		defer cancel()
		res, err := next(ctx, method, req)
		done <- answer{res, err}
	}()
	select {
	case a := <-done:
		return a.res, a.err
	case <-ctx.Done():
		select {
		case a := <-done: // both at once
			return a.res, a.err
		default:
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, fail(timedOut, "got no answer within %s", s.opt.Timeout)
		}
		return nil, ctx.Err()
	}
}

// Run serves a pair of streams, standard input and output, until the input ends or the
// context does.
func (s *Server) Run(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	done := make(chan error, 1)
	go func() { done <- s.scope(s.opt.Mode).sdk.Run(ctx, &lines{in: in, out: out}) }()
	select {
	case err := <-done:
		return ended(err)
	case <-ctx.Done():
	}
	select { // a client that does not read its answers does not keep the server
	case err := <-done:
		return ended(err)
	case <-time.After(Patience):
		return nil
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// register brings the resources and prompts of an endpoint up to those of the model that
// is served.
func (sc *scope) register() {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	m := sc.Model()
	next := map[string]any{}
	for _, r := range resources(m) {
		next[r.URI] = *r
		if old, ok := sc.shown[r.URI]; !ok || !same(old, *r) {
			sc.sdk.AddResource(r, sc.read)
		}
	}
	for _, p := range prompts(m) {
		next["prompt "+p.Name] = *p
		if old, ok := sc.shown["prompt "+p.Name]; !ok || !same(old, *p) {
			sc.sdk.AddPrompt(p, sc.prompt)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(sc.shown)) {
		if _, ok := next[key]; ok {
			continue
		}
		if p, ok := sc.shown[key].(sdk.Prompt); ok {
			sc.sdk.RemovePrompts(p.Name)
		} else {
			sc.sdk.RemoveResources(key)
		}
	}
	sc.shown = next
}

// same compares what is registered, by what goes over the wire.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// warnings passes on the warnings and errors of a log.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

func (w warnings) WithAttrs(a []slog.Attr) slog.Handler { return warnings{w.Handler.WithAttrs(a)} }

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
