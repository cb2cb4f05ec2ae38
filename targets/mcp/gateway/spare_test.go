package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// speaker is a server over HTTP that tells of changes. It counts its sessions, those that were ended, and the streams
// that are open.
type speaker struct {
	*sdk.Server
	url                    string
	began, deleted, opened atomic.Int32
}

func newSpeaker(t *testing.T) *speaker {
	s := &speaker{Server: sdk.NewServer(&sdk.Implementation{Name: "speaker", Version: "1"}, nil)}
	s.offer("read")
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.Server }, nil)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodDelete:
			s.deleted.Add(1)
		case r.Method == http.MethodGet:
			s.opened.Add(1)
			defer s.opened.Add(-1)
		case r.Header.Get("Mcp-Session-Id") == "":
			s.began.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	s.url = ts.URL
	return s
}

// offer adds a tool, of which sessions are told.
func (s *speaker) offer(name string) {
	s.AddTool(&sdk.Tool{Name: name, InputSchema: object{"type": "object"}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("done"), nil })
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%s: it does not come", what)
		}
	}
}

// TestSpared holds what a gateway for many keeps of sessions with remote servers: one that was only listed ends, and
// the list stays; one that was called does not; and what a server tells comes to whoever has a stream, also what changed
// before it was opened.
func TestSpared(t *testing.T) {
	const spared = 50 * time.Millisecond
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := newSpeaker(t)
			o := newOffice(t, engine(t, people(s.url)), func(o *SharedOptions) { o.Spared = spared })
			counts := func() string {
				return fmt.Sprintf("%d begun, %d ended, %d streams", s.began.Load(), s.deleted.Load(), s.opened.Load())
			}
			is := func(want string) {
				t.Helper()
				eventually(t, "want "+want+" and got "+counts(), func() bool { return counts() == want })
			}
			lists := func(v *visitor, want string) {
				t.Helper()
				if got, err := v.tools(); strings.Join(got, " ") != want || err != nil {
					t.Fatalf("got %v %v, want %s", got, err, want)
				}
			}
			token := o.tokens.of(t, "alice"+era, time.Hour, "dev")
			v := o.visit(t, "/mcp", token, era)
			lists(v, "s_read")
			is("1 begun, 1 ended, 0 streams")
			lists(v, "s_read")
			if n := s.began.Load(); n != 1 {
				t.Errorf("a list that is there took %d sessions", n)
			}
			s.offer("write")
			heard := v.news(t) // of a list that changed while nobody heard of it
			comes := func(what string) {
				t.Helper()
				for late := time.After(patience); ; {
					select {
					case line := <-heard:
						if strings.Contains(line, "notifications/tools/list_changed") {
							return
						}
					case <-late:
						t.Fatalf("%s: the client does not hear of it", what)
					}
				}
			}
			comes("before the stream")
			lists(v, "s_read s_write")
			is("2 begun, 1 ended, 1 streams")
			time.Sleep(4 * spared)
			is("2 begun, 1 ended, 1 streams") // somebody hears it
			s.RemoveTools("write")
			comes("while the stream is open")
			lists(v, "s_read")
			o.CloseClientConnections() // the stream's too
			is("2 begun, 2 ended, 0 streams")
			if said := v.says("s_read", object{}); said != "done" {
				t.Errorf("got %s", said)
			}
			time.Sleep(4 * spared)
			is("3 begun, 2 ended, 0 streams") // a session that was called is kept, and no stream
			s.offer("write")
			comesIn := v.news(t)
			eventually(t, "a change in a session that was called", func() bool {
				select {
				case line := <-comesIn:
					return strings.Contains(line, "notifications/tools/list_changed")
				default:
					return false
				}
			})
			is("3 begun, 2 ended, 1 streams")
			o.CloseClientConnections()
		})
	}
}

// TestUnheard holds that a list of a server that nobody hears counts for seconds, and that of one that tells nothing as
// long as ever.
func TestUnheard(t *testing.T) {
	for _, tells := range []bool{true, false} {
		s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, &sdk.ServerOptions{
			SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.TTLMs = 600_000 },
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: tells}}})
		s.AddTool(&sdk.Tool{Name: "read", InputSchema: object{"type": "object"}}, nil)
		ts := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
		t.Cleanup(ts.Close)
		o := newOffice(t, engine(t, people(ts.URL)), nil)
		if got, err := o.visit(t, "/mcp", o.tokens.of(t, "a", time.Hour, "dev"), eras[1]).tools(); len(got) != 1 || err != nil {
			t.Fatal(got, err)
		}
		o.hubMu.Lock()
		for _, h := range o.hubs {
			f := h.up.listing(tools)
			f.mu.Lock()
			if left := time.Until(f.until); (left > unheardTTL) == tells || left < unheardTTL/2 {
				t.Errorf("tells of changes: %t, and the list counts for %s", tells, left)
			}
			f.mu.Unlock()
		}
		o.hubMu.Unlock()
	}
}

// TestNoStream holds that a session goes on whose server has no stream, whatever it says instead.
func TestNoStream(t *testing.T) {
	for what, answer := range map[string]http.HandlerFunc{
		"405":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusMethodNotAllowed) },
		"404":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) },
		"words": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello\n\nthere") },
	} {
		b := newBackend(t)
		asked := make(chan bool, 10)
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				answer(w, r)
				asked <- true
				return
			}
			b.Config.Handler.ServeHTTP(w, r)
		}))
		t.Cleanup(front.Close)
		o := newOffice(t, engine(t, people(front.URL)), nil)
		v := o.visit(t, "/mcp", o.tokens.of(t, "alice", time.Hour, "dev"), eras[0])
		v.says("s_read", object{})
		v.news(t)
		select {
		case <-asked:
		case <-time.After(patience):
			t.Fatal("the stream is not asked for")
		}
		for range 3 {
			time.Sleep(20 * time.Millisecond)
			if said := v.says("s_read", object{}); said != "read tenant= cookie= auth= args={}" {
				t.Errorf("%s: got %s", what, said)
			}
		}
		if n := b.sessions.Load(); n != 1 {
			t.Errorf("%s: got %d sessions, want one", what, n)
		}
		o.CloseClientConnections()
	}
}

// TestLongEvents holds that events of every length come whole, and those of progress in order.
func TestLongEvents(t *testing.T) {
	var told []string
	for _, n := range []int{10, firstRead - 20, firstRead, 3 * firstRead, maxProgress - 1, maxProgress, 3 * maxProgress} {
		told = nil
		long := "data: {\"x\":\"" + strings.Repeat("y", n) + "\"}\n\n"
		progress := fmt.Sprintf(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a",`+
			`"message":"%s","progress":1}}`, strings.Repeat("z", min(n, maxProgress/2))) + "\n\n"
		o := eventsOf(long+progress+long, func(m string) { told = append(told, m) })
		got, err := io.ReadAll(o)
		if want := long + "\n" + long; string(got) != want || err != nil || len(told) != 1 || len(told[0]) != min(n, maxProgress/2) {
			t.Errorf("%d: got %d bytes, want %d, %v and %d events of progress", n, len(got), len(want), err, len(told))
		}
	}
}

func eventsOf(stream string, tell func(message string)) *inOrder {
	return &inOrder{lines: bufio.NewReaderSize(strings.NewReader(stream), firstRead),
		tell: func(p *sdk.ProgressNotificationParams) { tell(p.Message) }}
}
