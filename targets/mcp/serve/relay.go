package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// relay passes a request on to a handler of the SDK, and the answer back as the protocol has it: messages
// keep their ids, every error is JSON and has a code, and a client that does not read its stream delays
// nobody else.
func relay(next http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		if bad := twice(r.Header); bad != nil {
			refuseHTTP(w, http.StatusBadRequest, nil, bad)
			return
		}
		if r.Method == http.MethodGet {
			stream(next, &answers{ResponseWriter: w}, r)
			return
		}
		next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if tooBig, ok := errors.AsType[*http.MaxBytesError](err); ok {
		refuseHTTP(w, http.StatusRequestEntityTooLarge, nil,
			fail(invalidRequest, "got a body of more than %d bytes", tooBig.Limit))
		return
	} else if err != nil {
		refuseHTTP(w, http.StatusBadRequest, nil, fail(invalidRequest, "the body did not come whole"))
		return
	}
	a := &answers{ResponseWriter: w, modern: isModern(r)}
	bad := a.take(body)
	if bad == nil {
		bad = twice(r.Header)
	}
	if bad != nil {
		refuseHTTP(w, http.StatusBadRequest, idOf(body), bad)
		return
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if a.one.method == untilTold {
		stream(next, a, r)
		return
	}
	next.ServeHTTP(a, r)
	a.close()
}

// twice fails for a header of the protocol that is there more than once: another server between may have looked at the
// other one.
func twice(h http.Header) *jsonrpc.Error {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if strings.HasPrefix(name, "Mcp-") && len(h[name]) > 1 {
			return mismatch("the header " + name + " is there more than once")
		}
	}
	return nil
}

// newer reports whether a message says itself that it is of a revision without sessions. Who asks which revisions there
// are may not know one.
func (m *message) newer() bool {
	if m.method == "server/discover" || !bytes.Contains(m.params, []byte(sdk.MetaKeyProtocolVersion)) {
		return false
	}
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	return json.Unmarshal(m.params, &p) == nil && p.Meta[sdk.MetaKeyProtocolVersion] != nil
}

func mismatch(words string) *jsonrpc.Error {
	return fail(headerMismatch, "header mismatch: %s", words)
}

// isModern reports whether a request is of a revision without sessions.
func isModern(r *http.Request) bool { return r.Header.Get("Mcp-Protocol-Version") >= statelessSince }

// refuseHTTP answers with an error of the protocol.
func refuseHTTP(w http.ResponseWriter, status int, id json.RawMessage, e *jsonrpc.Error) {
	if id == nil {
		id = noID
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_, _ = w.Write(errorMessage(id, e))
}

// answers writes what the SDK answers.
type answers struct {
	http.ResponseWriter
	modern bool
	one    *message // of the body; nil: none

	plain  int  // the status of an error in words, which is written with them; 0: none
	events bool // an event stream
	begun  bool // the status is written, or a part of the answer
	told   bool // the request is answered
}

// close answers the request with an error where the SDK ended it without an answer: a client cannot tell an empty
// body from a broken server.
func (a *answers) close() {
	if a.one == nil || a.one.id == nil || !a.one.asks || a.plain != 0 || a.told || a.begun && !a.events {
		return
	}
	e := fail(internalError, "the request was ended before it was answered")
	if !a.begun {
		refuseHTTP(a.ResponseWriter, http.StatusOK, a.one.id, e)
		return
	}
	_, _ = fmt.Fprintf(a.ResponseWriter, "event: message\ndata: %s\n\n", errorMessage(a.one.id, e))
}

// take reads the message of a body. It fails where that is not of the protocol.
func (a *answers) take(body []byte) *jsonrpc.Error {
	switch trimmed := bytes.TrimSpace(body); {
	case len(trimmed) == 0:
		return fail(invalidRequest, "got an empty body, want a message")
	case !json.Valid(trimmed):
		return notJSON("a body", trimmed)
	}
	m, err := readMessage(body)
	if err == nil {
		_, err = m.decode()
	}
	if err != nil {
		return fail(invalidRequest, "got JSON that is not a message: %v", err)
	}
	if !a.modern && m.newer() {
		return mismatch("the message says which revision it is of, and the header Mcp-Protocol-Version does not")
	}
	a.one = &m
	return nil
}

// fault is what is wrong with the request; nil: nothing that shows.
func (a *answers) fault() *jsonrpc.Error {
	if a.one == nil || a.one.id == nil {
		return nil
	}
	return a.one.fault
}

// WriteHeader keeps the status of an error in words until they come.
func (a *answers) WriteHeader(status int) {
	h := a.Header()
	switch kind := h.Get("Content-Type"); {
	case status >= http.StatusBadRequest && strings.HasPrefix(kind, "text/plain"):
		a.plain = status
		return
	case strings.HasPrefix(kind, "text/event-stream"):
		a.events = true
	default:
		h.Del("Content-Length")
	}
	a.begun = true
	a.ResponseWriter.WriteHeader(status)
}

// Write passes messages on. It takes each write as whole events, or as a whole body.
func (a *answers) Write(data []byte) (int, error) {
	if a.plain != 0 {
		status := a.plain
		a.plain = 0
		a.refuse(status, strings.TrimSpace(string(data)))
		return len(data), nil
	}
	if text := a.mismatched(data); text != nil {
		h := a.Header()
		h.Set("Content-Type", jsonType)
		h.Del("Content-Length")
		a.begun = true
		a.ResponseWriter.WriteHeader(http.StatusBadRequest)
		if _, err := a.ResponseWriter.Write(text); err != nil {
			return 0, err
		}
		return len(data), nil
	}
	a.begun = true
	out, kind := data, ""
	if !a.events { // of a stream the header may be on its way, in another goroutine
		kind = a.Header().Get("Content-Type")
	}
	switch {
	case a.events || strings.HasPrefix(kind, "text/event-stream"):
		a.events = true
		out = a.eventsOf(data)
	case strings.HasPrefix(kind, jsonType):
		out = withCode(data, a.fault())
	}
	if _, err := a.ResponseWriter.Write(out); err != nil {
		return 0, err
	}
	return len(data), nil
}

// mismatched returns the message of an answer that begins by saying that the request's headers are not what its body
// says, nil for any other: it has a status of its own, which the SDK does not give it where a method finds it out.
func (a *answers) mismatched(data []byte) json.RawMessage {
	if a.begun || a.one == nil || !bytes.Contains(data, []byte(strconv.Itoa(sdk.CodeHeaderMismatch))) {
		return nil
	}
	for line := range bytes.Lines(data) { // an event, or a whole body
		text := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data: ")))
		var m struct {
			Error struct{ Code int64 }
		}
		if json.Unmarshal(text, &m) == nil && m.Error.Code == sdk.CodeHeaderMismatch {
			return withCode(text, a.fault())
		}
	}
	return nil
}

// eventsOf mends the messages of events.
func (a *answers) eventsOf(data []byte) []byte {
	const field = "data: "
	lines := bytes.SplitAfter(data, []byte("\n"))
	for i, l := range lines {
		if text, ok := bytes.CutPrefix(bytes.TrimSuffix(l, []byte("\n")), []byte(field)); ok && len(text) > 0 {
			lines[i] = fmt.Appendf(nil, "%s%s\n", field, withCode(text, a.fault()))
			a.told = a.told || answersTo(text)
		}
	}
	return bytes.Join(lines, nil)
}

// answersTo reports whether a message is an answer: it has no method. Others come before it in a stream.
func answersTo(message []byte) bool {
	var m struct{ Method *string }
	return json.Unmarshal(message, &m) == nil && m.Method == nil
}

// refuse writes an error of the SDK that is none of the protocol: a client reads why as from any other
// answer. What only the method or its parameters are to blame for has no status of HTTP in the revisions
// that have sessions.
func (a *answers) refuse(status int, words string) {
	var e *jsonrpc.Error
	var id json.RawMessage
	if a.one != nil {
		id = a.one.id
	}
	if status == http.StatusBadRequest {
		e = a.fault()
	}
	if e != nil && !a.modern {
		status = http.StatusOK
	}
	if e == nil {
		e = fail(invalidRequest, "%s", words)
		if _, of := aboutGo(words); of {
			e = fail(invalidRequest, "got a message that cannot be read")
		}
	}
	h := a.Header()
	h.Del("Content-Length")
	a.begun = true
	refuseHTTP(a.ResponseWriter, status, id, e)
}

// Unwrap returns the writer below.
func (a *answers) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush sends what was written, and that events follow.
func (a *answers) Flush() {
	if !a.begun && strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream") {
		a.begun, a.events = true, true
	}
	_ = http.NewResponseController(a.ResponseWriter).Flush()
}

// mostUnread is how many bytes of a stream wait for a client that does not read it.
const mostUnread = 256 << 10

// stream serves a stream of events. What is written waits for the client in a goroutine of its own, so that
// nobody else waits for it; the stream of a client that does not read ends.
func stream(next http.Handler, a *answers, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	q := &queue{to: a.ResponseWriter, header: a.Header().Clone(), end: cancel, done: make(chan struct{})}
	q.more.L = &q.mu
	go q.run()
	a.ResponseWriter = q
	next.ServeHTTP(a, r.WithContext(ctx))
	q.close()
}

// queue is a writer that does not wait for who reads. It has a header of its own: to, the writer below, is
// run's alone.
type queue struct {
	to     http.ResponseWriter
	header http.Header
	end    func() // of the request
	done   chan struct{}

	mu     sync.Mutex
	more   sync.Cond
	waits  []byte
	flush  bool
	begun  bool
	status int         // with sent, what run begins the answer with
	sent   http.Header // as header was when the answer began
	closed bool
}

var errUnread = errors.New("the client does not read its stream")

// Header returns the header that the answer begins with.
func (q *queue) Header() http.Header { return q.header }

func (q *queue) WriteHeader(status int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.begin(status)
	q.more.Signal()
}

// begin notes how the answer begins, once. The queue is locked.
func (q *queue) begin(status int) {
	if !q.begun {
		q.begun, q.status, q.sent = true, status, q.header.Clone()
	}
}

func (q *queue) Write(data []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.waits)+len(data) > mostUnread {
		q.end()
		return 0, errUnread
	}
	q.begin(http.StatusOK)
	q.waits = append(q.waits, data...)
	q.more.Signal()
	return len(data), nil
}

// Flush is what a response's controller calls.
func (q *queue) Flush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.begin(http.StatusOK)
	q.flush = true
	q.more.Signal()
}

// run writes what waits.
func (q *queue) run() {
	defer close(q.done)
	control := http.NewResponseController(q.to)
	for {
		q.mu.Lock()
		for len(q.waits) == 0 && !q.flush && q.status == 0 && !q.closed {
			q.more.Wait()
		}
		data, flush, status, sent, closed := q.waits, q.flush, q.status, q.sent, q.closed
		q.waits, q.flush, q.status = nil, false, 0
		q.mu.Unlock()
		if status != 0 {
			clear(q.to.Header())
			maps.Copy(q.to.Header(), sent)
			q.to.WriteHeader(status)
		}
		if len(data) > 0 {
			if _, err := q.to.Write(data); err != nil {
				q.end()
			}
		}
		if flush && control.Flush() != nil {
			q.end()
		}
		if closed && len(data) == 0 && status == 0 {
			return
		}
	}
}

// close writes what is left, if the client reads it.
func (q *queue) close() {
	_ = http.NewResponseController(q.to).SetWriteDeadline(time.Now().Add(Patience))
	q.mu.Lock()
	q.begin(http.StatusOK)
	q.closed = true
	q.more.Signal()
	q.mu.Unlock()
	<-q.done
}
