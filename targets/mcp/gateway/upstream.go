package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/singleflight"

	"modec.dev/modec/compiler/ir"
)

// Limits of time. A server's entry may set that of a call.
const (
	startLimit  = 60 * time.Second // until a server has answered for the first time
	listLimit   = 15 * time.Second // that a client waits for a server's list
	fetchLimit  = 60 * time.Second // of fetching a list, for the next one who asks
	callLimit   = 10 * time.Minute
	listTTL     = 5 * time.Minute // of a list, where the server says nothing
	failedTTL   = 3 * time.Second // of a list that could not be fetched
	backOff     = time.Second     // after a server ended or did not start; twice as long each time
	maxBackOff  = time.Minute
	stableAfter = time.Minute // a server that ran so long starts again at once
)

// caller calls a server. The tests have others than upstream.
type caller interface {
	// list returns what the server offers of a kind.
	list(context.Context, *kind) (*list, error)
	// call calls a method with the parameters of a client, and returns the result as it came.
	call(ctx context.Context, method string, p *params) (*answer, error)
	// subscribe asks to be told of changes of a resource, or no longer.
	subscribe(ctx context.Context, uri string, to subscription) error
	close()
}

// subscription is whether a client hears of the changes of a resource.
type subscription bool

const (
	begun subscription = true
	ended subscription = false
)

// methods are those that an upstream calls as modec's own.
var methods = []string{"tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list",
	"resources/templates/list", "resources/read", "completion/complete"}

// upstream is a server of the inventory. It is started when it is first needed, and again after it ended.
type upstream struct {
	entry   *ir.Server
	root    string
	version string
	logger  *slog.Logger // that of the gateway
	events  events
	life    context.Context
	end     context.CancelFunc
	// forwarded are headers of a caller, for a server of this caller alone. References in them are text.
	forwarded map[string]string
	// reticent servers tell their callers only that they are not available, and the log why.
	reticent bool
	hidden   []string      // values that the entry's references stand for
	backOff  time.Duration // after the second failure

	flights singleflight.Group  // starts of the server, and fetches of its lists
	lists   [len(kinds)]listing // in the order of kinds
	caches  *caches             // of what the lists say
	logged  logOnce             // of what the server tries or offers, and does not get

	mu         sync.Mutex
	raw        bool      // the texts of results are passed on as they are
	open       []string  // the requests of the server that are passed on, by [Openings]
	session    *session  // nil: none runs
	why        error     // none does
	again      time.Time // when another one may be started
	ran        bool      // a session did
	down       time.Time // since when the server does not listen; zero: it does
	failures   int
	callers    map[*callerOf]bool // with a call under way
	subscribed map[string]bool
}

// events are what an upstream tells of itself.
type events interface {
	changed(k *kind)                              // a list is another one now
	updated(server, uri string)                   // a resource is
	progressed(p *sdk.ProgressNotificationParams) // a call is
}

// session is a connection to a server.
type session struct {
	*sdk.ClientSession
	started time.Time
	stop    context.CancelFunc
}

func newUpstream(entry *ir.Server, root, version string, log *slog.Logger, ev events, c *caches) *upstream {
	u := &upstream{entry: entry, root: root, version: version, logger: log, events: ev, backOff: backOff, caches: c}
	u.life, u.end = context.WithCancel(context.Background())
	for _, k := range kinds {
		u.listing(k).news = newNews(newsGap)
	}
	return u
}

// log returns where what happens with the server is logged: seldom, so that no server has its own.
func (u *upstream) log() *slog.Logger { return u.logger.With("server", u.entry.Name) }

// listing returns what is known of the server's list of a kind.
func (u *upstream) listing(k *kind) *listing { return &u.lists[slices.Index(kinds[:], k)] }

// connected returns the session with the server, which it starts where none runs.
func (u *upstream) connected(ctx context.Context) (*session, error) {
	if u.life.Err() != nil {
		return nil, errNotServed
	}
	if s, err := u.running(); s != nil || err != nil {
		return s, err
	}
	return share(ctx, &u.flights, "start", func() (*session, error) {
		if s, err := u.running(); s != nil || err != nil { // it was started meanwhile
			return s, err
		}
		s, err := u.start()
		if err != nil {
			if why := u.masked(err.Error()); u.caches.first(u.entry.Name + " " + why) {
				u.log().Warn("the server does not start", "error", why)
			}
			u.pause(err)
			return nil, err
		}
		u.mu.Lock()
		u.session, u.ran = s, true
		u.mu.Unlock()
		go u.watch(s)
		u.subscribeAgain(s)
		return s, nil
	})
}

var errNotServed = errors.New("it is no longer served")

// running returns the session with the server, or why there is none for a while; neither where one is to be started.
func (u *upstream) running() (*session, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.session == nil && time.Now().Before(u.again) {
		return nil, u.why
	}
	return u.session, nil
}

// pause leaves the server alone for a while after it failed once more. The first time it is started again at once.
func (u *upstream) pause(why error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if unsent(why) {
		u.why, u.again = why, time.Now().Add(resendPause)
	} else if u.failures++; u.failures > 1 {
		u.why, u.again = why, time.Now().Add(min(u.backOff<<min(u.failures-2, 10), maxBackOff))
	}
}

// Limits of sending a call again that the server has not got.
const (
	resendFor   = 10 * time.Second // after a server that ran does not listen any more
	resendPause = 100 * time.Millisecond
	mostLost    = 3 // times that one call is sent again which was lost with its session or its connection
)

// inSession does something in the session with the server. A server that restarts costs no call that was not sent, and
// none that only reads: that is sent again, in another session where this one has ended or the server does not know it
// any more.
func (u *upstream) inSession(ctx context.Context, reads bool, do func(context.Context, *session) error) error {
	for lost := 0; ; {
		var sent atomic.Bool
		s, err := u.connected(ctx)
		again := u.entry.URL != "" && isCut(err)
		if err == nil {
			err = do(context.WithValue(ctx, sentKey{}, &sent), s)
			again = unsent(err) || err != nil && !sent.Load()
		}
		switch more := s != nil && lost < mostLost; {
		case more && errors.Is(err, errNoSession):
			lost++
			u.leave(s)
			continue
		case more && !again && reads && isCut(err):
			lost++
			again = true
		}
		if !u.mayResend(again) {
			return err
		}
		select {
		case <-time.After(resendPause):
		case <-ctx.Done():
			return err
		}
	}
}

// readsOnly reports whether a call changes nothing: a tool's, where the source says so.
func (u *upstream) readsOnly(method string, p *params) bool {
	t := u.entry.Tool(p.Name)
	return method != "tools/call" || t != nil && t.Risk == "read"
}

// isCut reports whether an error says that the connection to the server failed.
func isCut(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok || isGone(err)
}

// isGone reports whether an error says that the server ended. What a call writes may come to a program that just did.
func isGone(err error) bool {
	return slices.ContainsFunc([]error{sdk.ErrConnectionClosed, io.EOF, os.ErrClosed, syscall.EPIPE},
		func(gone error) bool { return errors.Is(err, gone) })
}

// sentKey is that of an [atomic.Bool] in a call's context, which its transport sets once it sends the call.
type sentKey struct{}

// noteSent notes that a call is sent.
func noteSent(ctx context.Context) {
	if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}

// mayResend reports whether a call is sent again that could not be sent, or was cut. It notes since when that is so.
func (u *upstream) mayResend(failed bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !failed {
		u.down = time.Time{}
		return false
	}
	if u.down.IsZero() {
		u.down = time.Now()
	}
	return u.ran && time.Since(u.down) < resendFor
}

// leave ends a session that the server does not know any more, once other calls have learned of it.
func (u *upstream) leave(s *session) {
	u.mu.Lock()
	mine := u.session == s
	if mine {
		u.session = nil
	}
	u.mu.Unlock()
	if mine {
		u.dropLists()
		time.AfterFunc(stopGrace, s.end)
	}
}

func (u *upstream) dropLists() {
	for _, k := range kinds {
		u.listing(k).drop()
	}
}

// Close ends the session, and soon what still waits for the server.
func (s *session) Close() error {
	defer time.AfterFunc(stopGrace, s.stop).Stop()
	return s.ClientSession.Close()
}

// end ends a session that may have ended.
func (s *session) end() {
	_ = s.Close()
	s.stop()
}

// watch notes the end of a session. A program that ended again and again is left alone for a while.
func (u *upstream) watch(s *session) {
	err := s.Wait()
	s.end()
	u.mu.Lock()
	mine := u.session == s
	if mine && u.life.Err() == nil {
		u.session = nil
	}
	if time.Since(s.started) > stableAfter {
		u.failures = 0
	}
	u.mu.Unlock()
	if !mine || u.life.Err() != nil {
		return
	}
	u.log().Warn("the server ended", "error", u.masked(fmt.Sprint(err)))
	if u.entry.URL == "" {
		u.pause(errors.New("it ended, and is started again soon"))
	}
	u.dropLists()
}

// start connects to the server. Servers know the revisions with sessions for longer than the one without,
// which is tried where they refuse those.
func (u *upstream) start() (*session, error) {
	s, err := u.startWith("2025-11-25")
	if _, refused := errors.AsType[*jsonrpc.Error](err); refused {
		if newer, err := u.startWith(""); err == nil {
			return newer, nil
		}
	}
	return s, err
}

func (u *upstream) startWith(revision string) (*session, error) {
	ctx, stop := context.WithCancel(u.life) // a stream of HTTP ends with it
	transport, hint, err := u.transport(ctx)
	if err != nil {
		stop()
		return nil, err
	}
	late := time.AfterFunc(startLimit, stop)
	cs, err := u.client().Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if timely := late.Stop(); err != nil || !timely {
		stop()
		if err == nil {
			_ = cs.Close() // too late
		}
		if !timely {
			err = fmt.Errorf("it did not answer within %s", startLimit)
		}
		if text := hint(); text != "" {
			err = fmt.Errorf("%w; it said: %s", err, text)
		}
		return nil, err
	}
	return &session{ClientSession: cs, started: time.Now(), stop: stop}, nil
}

// call calls a method of the server.
func (u *upstream) call(ctx context.Context, method string, p *params) (*answer, error) {
	defer u.underWay(ctx)()
	ctx, cancel := u.limited(ctx)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(u.life, func() { end(errNotServed) })()
	var a *answer
	if err := u.inSession(ctx, u.readsOnly(method, p), func(ctx context.Context, s *session) (err error) {
		a, err = sdk.CallCustomMethod[*params, *answer](ctx, s.ClientSession, methodPrefix+method, p)
		return err
	}); err != nil {
		return nil, u.failed(ctx, err)
	}
	if err := a.read(isList(method)); err != nil {
		return nil, u.failed(ctx, err)
	}
	var kind string
	if t := a.fields["resultType"]; t != nil && (json.Unmarshal(t, &kind) != nil || kind != "complete") {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("server %q asks the client "+
			"for something before it answers, which modec gateway does not pass on", u.entry.Name)}
	}
	err := a.check(method)
	if read := method == "tools/call" || method == "prompts/get"; err == nil && read && !u.isRaw() {
		err = a.plain()
	}
	if err != nil {
		return nil, u.failed(ctx, err)
	}
	return a, nil
}

// limited returns a context that ends with the time of a call, in which the server is started too.
func (u *upstream) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := callLimit
	if n := u.entry.TimeoutSeconds; n > 0 {
		limit = time.Duration(n) * time.Second
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer within %s", limit))
}

// ofTransport reports whether an error is the SDK's own: that its transport sent nothing, or has ended.
func ofTransport(e *jsonrpc.Error) bool { return -32005 <= e.Code && e.Code <= -32003 }

// maxErrorData is the most bytes of an error's data that are passed on.
const maxErrorData = 16 << 10

// missingCapability is the code of a server that needs what the client has not declared (revision 2026-07-28).
const missingCapability = -32021

// failed returns the error that a client sees: that of the server, or why there is none.
func (u *upstream) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, context.Canceled) {
			return cause
		}
		err = cause
	}
	var of *jsonrpc.Error
	if errors.As(err, &of) && !ofTransport(of) {
		out := &jsonrpc.Error{Code: of.Code, Message: shorten(u.masked(of.Message))}
		if data, bad := tidy(of.Data, u.plainMasked); len(of.Data) > 0 && bad == nil && len(data) <= maxErrorData {
			out.Data = data
		}
		// The codes of a hop are those of the one to the server. But what a client cannot do is passed on as it is.
		hop := -32099 <= of.Code && of.Code <= -32020 && of.Code != missingCapability
		if of.Code == 0 || hop {
			out.Code, out.Data = jsonrpc.CodeInternalError, nil
		}
		return out
	}
	if isGone(err) {
		err = errors.New("it ended while the call was under way")
	}
	why := u.masked(strings.ReplaceAll(err.Error(), methodPrefix, ""))
	if u.reticent {
		u.log().Warn("the server is not available", "error", shorten(why))
		why = "the gateway's log says why"
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("server %q is not available: %s",
		u.entry.Name, shorten(why))}
}

// masked returns a text without the values that references in the entry stand for.
func (u *upstream) masked(text string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, value := range u.hidden {
		if len(value) >= shortestHidden {
			text = strings.ReplaceAll(text, value, "***")
			text = strings.ReplaceAll(text, url.PathEscape(value), "***")
			text = strings.ReplaceAll(text, url.QueryEscape(value), "***")
		}
	}
	return text
}

// plainMasked does so for a text of a value, and takes away what drives a terminal.
func (u *upstream) plainMasked(_, text string) (string, error) {
	return u.masked(resultText(text)), nil
}

// shortestForwarded is how long a value of a caller's header is at least that is looked for: shorter ones are names,
// which a server may speak of.
const shortestForwarded = 16

// shortestHidden is how long a value is at least that is looked for: shorter ones are in ordinary words.
const shortestHidden = 4

// instructions returns the text with which the server introduced itself.
func (u *upstream) instructions() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.session == nil || u.session.InitializeResult() == nil {
		return ""
	}
	return u.session.InitializeResult().Instructions
}

// close ends the server, also one that is still starting.
func (u *upstream) close() {
	u.end()
	select { // of a start under way, else of this nothing
	case <-u.flights.DoChan("start", func() (any, error) { return nil, errNotServed }):
	case <-time.After(3 * stopGrace):
	}
	u.mu.Lock()
	s := u.session
	u.mu.Unlock()
	if s != nil {
		s.end()
	}
}

// counter numbers the progress of calls to servers.
var counter atomic.Int64
