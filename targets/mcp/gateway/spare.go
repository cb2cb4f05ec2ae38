package gateway

import (
	"context"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Each caller of a gateway for many has sessions of its own with the servers, and most list what five servers offer and
// call one of them. A session with a remote server that was only asked for lists has nothing that another one would
// lack: it ends soon, the lists stay, and the next call begins another one. And the stream of what a server tells by
// itself is opened once a client has a stream on which it could be told.

const (
	sparedAfter = 10 * time.Second // without use
	// unheardTTL is how long a list counts at most whose server tells of changes while nobody hears it.
	unheardTTL = 30 * time.Second
)

// spares has the sessions with the server end after a while without use. heard reports whether a client hears what the
// server tells.
func (u *upstream) spares(after time.Duration, heard func() bool) {
	u.sparedAfter, u.heard, u.listening = after, heard, make(chan struct{})
}

// use notes that the session with the server is needed, until done is called. One that was asked for more than lists is
// kept.
func (u *upstream) use(method string) (done func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.uses++
	if !isList(method) {
		u.asked = true
	}
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.uses--; u.uses == 0 && !u.asked && u.heard != nil && u.last != nil && u.life.Err() == nil {
			u.spareLater()
		}
	}
}

// spareLater ends the session after a while, with the lock held.
func (u *upstream) spareLater() {
	if u.sparing == nil {
		u.sparing = time.AfterFunc(u.sparedAfter, u.spare)
	} else {
		u.sparing.Reset(u.sparedAfter)
	}
}

// spare ends the session if nobody needs it.
func (u *upstream) spare() {
	heard := u.heard()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sparing = nil
	s := u.last
	if s == nil || u.uses > 0 || u.asked || len(u.subscribed) > 0 || u.life.Err() != nil {
		return
	}
	told := slices.ContainsFunc(kinds[:], func(k *kind) bool { return announces(s, k) })
	if told && heard {
		u.spareLater() // whoever hears it may leave
		return
	}
	s.spared, u.last = true, nil
	u.session.empty()
	if listens(u.listening) {
		u.listening = make(chan struct{})
		for _, k := range kinds {
			if announces(s, k) {
				u.listing(k).shorten(time.Now().Add(unheardTTL))
			}
		}
	}
	go func() {
		_ = s.Close() // the server may have ended it
		s.stop()
	}()
}

// announces reports whether a server says that it tells of changes of a list.
func announces(s *session, k *kind) bool {
	if !offers(s, k) {
		return false
	}
	switch c := s.InitializeResult().Capabilities; k {
	case tools:
		return c.Tools.ListChanged
	case prompts:
		return c.Prompts.ListChanged
	default:
		return c.Resources.ListChanged
	}
}

// heardFor returns for how long a list counts of which the server says how long.
func (u *upstream) heardFor(s *session, k *kind, ttl time.Duration) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.heard != nil && announces(s, k) && !listens(u.listening) {
		return min(ttl, unheardTTL)
	}
	return ttl
}

// attend has the server heard from now on, if a client hears it. It reports whether nobody did before.
func (u *upstream) attend() bool {
	if u.heard == nil || !u.heard() {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if listens(u.listening) {
		return false
	}
	close(u.listening)
	return true
}

// hear does so, and tells what changed while nobody heard it.
func (u *upstream) hear() {
	if !u.attend() {
		return
	}
	for _, k := range kinds {
		old, ok := u.listing(k).held()
		if !ok {
			continue
		}
		u.listing(k).drop()
		if l, err := u.list(u.life, k); err == nil && l.sum() != old {
			u.events.changed(k)
		}
	}
}

// listen notes that a client hears what the gateway tells, until done is called.
func (g *Gateway) listen() (done func()) {
	if g.listeners.Add(1) == 1 {
		for _, c := range g.state.Load().servers {
			if s, ok := c.(spoke); ok {
				go s.up.hear()
			}
		}
	}
	return func() { g.listeners.Add(-1) }
}

// isHeard reports whether a client hears what the server tells.
func (h *hub) isHeard() bool {
	return slices.ContainsFunc(h.joined(), func(g *Gateway) bool { return g.listeners.Load() > 0 })
}

// listens reports whether what a server tells is heard.
func listens(to <-chan struct{}) bool {
	select {
	case <-to:
		return true
	default:
		return false
	}
}

// isStream reports whether a request opens the stream of what a server tells by itself.
func isStream(req *http.Request) bool {
	return req.Method == http.MethodGet && strings.Contains(req.Header.Get("Accept"), "text/event-stream") &&
		req.Header.Get("Last-Event-Id") == "" // else it may be that of a call
}

// later is the body of a stream that is opened once somebody listens.
type later struct {
	context.Context
	listening <-chan struct{}
	open      func() (*http.Response, error)
	body      io.ReadCloser // nil before
}

// answer returns a stream's answer before it is opened.
func (l *later) answer(req *http.Request) *http.Response {
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1, Body: l, Request: req}
}

func (l *later) Read(p []byte) (int, error) {
	if l.body == nil {
		select {
		case <-l.listening:
		case <-l.Done():
			return 0, l.Err()
		}
		res, err := l.open()
		if err != nil {
			return 0, err
		}
		kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
		if l.body = res.Body; res.StatusCode != http.StatusOK || kind != "text/event-stream" { // it has no stream
			l.body.Close()
			l.body = http.NoBody
			<-l.Done()
			return 0, l.Err()
		}
	}
	return l.body.Read(p)
}

func (l *later) Close() error {
	if l.body == nil {
		return nil
	}
	return l.body.Close()
}
