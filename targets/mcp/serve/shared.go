package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const sessionHeader = "Mcp-Session-Id"

// sealedLife is how long a session of the protocol lives that servers share: the old key
// is needed that long after a rotation.
const sealedLife = 24 * time.Hour

// sealedFor is the purpose of a sealed session.
const sealedFor = "modec serve: session"

// sealed is a session of the protocol as its id says it: whichever server has the key goes
// on with it.
type sealed struct {
	ID      string `json:"id"`
	Of      string `json:"of"`      // what it belongs to
	Version string `json:"version"` // of the protocol, as the client asked for it
}

// shared serves sessions of the protocol whose ids are sealed. The SDK has a session of its
// own for each, here and with an id of its own, which clients do not see.
type shared struct {
	EndpointOptions
	server *sdk.Server
	next   http.Handler // of the SDK

	mu   sync.Mutex
	here map[string]*localSession // by the id that is sealed
}

// Endings are the sealed sessions that clients ended, until when their ids would hold. The zero value is ready.
type Endings struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// add notes the end of a session. It keeps so many at most, and forgets first those that hold no more.
func (e *Endings) add(id string, until time.Time, most int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.until) >= most {
		now := time.Now()
		for other, t := range e.until {
			if now.After(t) || len(e.until) >= most {
				delete(e.until, other)
			}
		}
	}
	if e.until == nil {
		e.until = map[string]time.Time{}
	}
	e.until[id] = until
}

func (e *Endings) has(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ended := e.until[id]
	return ended
}

// localSession is a session of the SDK for a sealed one.
type localSession struct {
	begin func() (*sdk.ServerSession, error) // once

	session *sdk.ServerSession // nil: it has not begun
	busy    int                // requests and streams
	used    time.Time
}

// idle returns since when the session of the longest idle client is idle, and a function that ends it; nil where all
// are busy. Its client may go on with it: it begins anew then.
func (s *shared) idle() (since time.Time, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, t := range s.here {
		if t.session != nil && t.busy == 0 && (end == nil || t.used.Before(since)) {
			since, end = t.used, func() { s.endIdle(id, t) }
		}
	}
	return since, end
}

// endIdle ends a session unless a request has come in the meantime. No request finds it from now on.
func (s *shared) endIdle(id string, t *localSession) {
	s.mu.Lock()
	idle := t.busy == 0
	if idle && s.here[id] == t {
		delete(s.here, id)
	}
	s.mu.Unlock()
	if idle {
		_ = t.session.Close() // it may have ended
	}
}

// leave notes that a request in a session is done.
func (s *shared) leave(t *localSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.busy--
	t.used = time.Now()
}

func (s *shared) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text := r.Header.Get(sessionHeader)
	if text == "" {
		s.next.ServeHTTP(&renamedSession{ResponseWriter: w, rename: s.sealNew}, r)
		return
	}
	session, until, err := s.open(text)
	if err != nil {
		http.Error(w, "session not found", http.StatusNotFound) // the client begins another
		return
	}
	if r.Method == http.MethodDelete && !s.end(session.ID, until) {
		w.WriteHeader(http.StatusNoContent) // it was never here
		return
	}
	t := s.take(r.Context(), session)
	defer s.leave(t)
	ss, err := t.begin()
	if err != nil {
		w.Header().Set("Retry-After", retryAfter)
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	r = r.Clone(r.Context())
	r.Header.Set(sessionHeader, ss.ID())
	s.next.ServeHTTP(&renamedSession{ResponseWriter: w, rename: func(string) string { return text }}, r)
}

// open reads a session's id. It is for one endpoint.
func (s *shared) open(text string) (session sealed, until time.Time, err error) {
	value, until, err := s.Keys.Open(sealedFor, text, time.Now())
	if err != nil {
		return session, until, err
	}
	if err := json.Unmarshal(value, &session); err != nil {
		return session, until, err
	}
	if s.Ended.has(session.ID) || session.Of != s.Of {
		return session, until, errors.New("it ended, or belongs to another endpoint")
	}
	return session, until, nil
}

// sealNew returns the id under which clients know a new session of the SDK.
func (s *shared) sealNew(id string) string {
	session := sealed{ID: rand.Text(), Of: s.Of}
	if ss := s.find(id); ss != nil {
		// What no revision is long is no revision either, and the answer to it is the same.
		if p := ss.InitializeParams(); p != nil && len(p.ProtocolVersion) <= len(statelessSince) {
			session.Version = p.ProtocolVersion
		}
		t := &localSession{begin: func() (*sdk.ServerSession, error) { return ss, nil }, session: ss, used: time.Now()}
		s.mu.Lock()
		s.here[session.ID] = t
		s.mu.Unlock()
		go s.forget(session.ID, t, ss)
	}
	value, _ := json.Marshal(session) // texts can be written
	return s.Keys.Seal(sealedFor, value, time.Now().Add(sealedLife))
}

func (s *shared) find(id string) *sdk.ServerSession {
	for ss := range s.server.Sessions() {
		if ss.ID() == id {
			return ss
		}
	}
	return nil
}

// forget removes a session once the SDK ended its own. The next request takes it again.
func (s *shared) forget(id string, t *localSession, ss *sdk.ServerSession) {
	if ss != nil {
		_ = ss.Wait()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.here[id] == t {
		delete(s.here, id)
	}
}

// end notes that a client ended a session, and reports whether it is here. Other servers do
// not learn of it: for them it ends with its time.
func (s *shared) end(id string, until time.Time) bool {
	s.Ended.add(id, until, 10*s.Connections)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.here[id] != nil
}

// take returns the SDK's session for a sealed one, which begins here where another server
// has it. It is busy until the caller leaves it.
func (s *shared) take(ctx context.Context, session sealed) *localSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.here[session.ID]
	if t == nil {
		t = &localSession{}
		t.begin = sync.OnceValues(func() (*sdk.ServerSession, error) {
			ss, err := s.begin(context.WithoutCancel(ctx), session)
			if err != nil {
				s.forget(session.ID, t, nil)
				return nil, err
			}
			s.mu.Lock()
			t.session = ss
			s.mu.Unlock()
			go s.forget(session.ID, t, ss)
			return ss, nil
		})
		s.here[session.ID] = t
	}
	t.busy++
	return t
}

// begin says to the SDK what the session's client said to another server.
func (s *shared) begin(ctx context.Context, session sealed) (*sdk.ServerSession, error) {
	if s.Full() {
		return nil, errors.New("there are as many sessions as there may be; end one first")
	}
	version, _ := json.Marshal(session.Version) // a text can be written
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` + string(version) +
		`,"capabilities":{},"clientInfo":{"name":"taken over","version":""}}}`
	id, code := s.post(ctx, "", hello)
	ss := s.find(id)
	if ss == nil {
		return nil, errors.New("the session cannot be taken over: " + cmp.Or(http.StatusText(code), "no answer"))
	}
	s.post(ctx, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return ss, nil
}

func (s *shared) post(ctx context.Context, id, body string) (session string, code int) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(body))
	if err != nil {
		return "", 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if id != "" {
		r.Header.Set(sessionHeader, id)
	}
	w := &discardedAnswer{header: http.Header{}}
	s.next.ServeHTTP(w, r)
	return w.header.Get(sessionHeader), w.code
}

// discardedAnswer is an answer that nobody reads.
type discardedAnswer struct {
	header http.Header
	code   int
}

func (w *discardedAnswer) Header() http.Header { return w.header }

func (w *discardedAnswer) WriteHeader(code int) { w.code = cmp.Or(w.code, code) }

func (w *discardedAnswer) Write(p []byte) (int, error) { return len(p), nil }

// renamedSession renames the session in the header of an answer.
type renamedSession struct {
	http.ResponseWriter
	rename func(string) string
	done   bool
}

func (w *renamedSession) head() {
	if id := w.Header().Get(sessionHeader); !w.done && id != "" {
		w.Header().Set(sessionHeader, w.rename(id))
	}
	w.done = true
}

func (w *renamedSession) WriteHeader(code int) {
	w.head()
	w.ResponseWriter.WriteHeader(code)
}

func (w *renamedSession) Write(p []byte) (int, error) {
	w.head()
	return w.ResponseWriter.Write(p)
}

// Flush sends what was written so far.
func (w *renamedSession) Flush() {
	w.head()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (w *renamedSession) Unwrap() http.ResponseWriter { return w.ResponseWriter }
