package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

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

func eventsOf(stream string, tell func(message string)) *progressStream {
	return &progressStream{lines: bufio.NewReaderSize(strings.NewReader(stream), firstRead),
		flow: newFlow(), ctx: context.Background(),
		tell: func(p *sdk.ProgressNotificationParams) { tell(p.Message) }}
}

// TestRestarts restarts a server again and again under load: whatever it says of sessions that it does not know, and
// while it does not listen, no call fails.
func TestRestarts(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int // for a session that the server does not know
		body   string
		away   time.Duration
	}{
		{"404", 404, "session not found", 0},
		{"404 in JSON", 404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`, 0},
		{"400", 400, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: No valid session ID provided"}}`, 0},
		{"away", 404, "session not found", 200 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := listener.Addr().String()
			start := func(l net.Listener) *http.Server {
				var mu sync.Mutex
				known := map[string]bool{}
				next := newBackend(t).Config.Handler
				s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					id := r.Header.Get("Mcp-Session-Id")
					mu.Lock()
					ok := id == "" || known[id]
					mu.Unlock()
					if r.Method == http.MethodGet { // else it would hold the server's end up
						http.Error(w, "no", http.StatusMethodNotAllowed)
						return
					}
					if !ok {
						w.WriteHeader(c.status)
						fmt.Fprint(w, c.body)
						return
					}
					rec := httptest.NewRecorder()
					next.ServeHTTP(rec, r)
					if id := rec.Header().Get("Mcp-Session-Id"); id != "" {
						mu.Lock()
						known[id] = true
						mu.Unlock()
					}
					maps.Copy(w.Header(), rec.Header())
					w.WriteHeader(rec.Code)
					_, _ = w.Write(rec.Body.Bytes())
				})}
				go func() { _ = s.Serve(l) }()
				return s
			}
			server := start(listener)
			w := dial(t, real(t, one(fmt.Sprintf(`{"url": "http://%s", "tools": {"read": {}}}`, address)), reviewer), eras[0], object{})
			w.result("tools/call", object{"name": "s_read"})
			rounds := 20
			if testing.Short() {
				rounds = 4
			}
			for i := range rounds {
				if err := server.Shutdown(context.Background()); err != nil { // lets calls end
					t.Fatal(err)
				}
				started := make(chan *http.Server)
				go func() {
					time.Sleep(c.away)
					l, err := net.Listen("tcp", address)
					if err != nil {
						t.Error(err)
					}
					started <- start(l)
				}()
				if c.away == 0 {
					server = <-started
				}
				time.Sleep(50 * time.Millisecond) // until the gateway has learned which connections are closed
				var answers []chan object
				for j := range 4 {
					_, answer := w.start("tools/call", object{"name": "s_read", "arguments": object{"n": j}})
					answers = append(answers, answer)
				}
				for _, answer := range answers {
					if m := <-answer; m["error"] != nil {
						t.Fatalf("restart %d: got %v", i, m)
					}
				}
				if c.away > 0 {
					server = <-started
				}
			}
			server.Close()
		})
	}
}

// TestSessionWithoutItsServer holds that a call waits for a server that gives sessions and does not know them for a
// while, as several behind a balancer may.
func TestSessionWithoutItsServer(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	var forgets atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if forgets.Load() && r.Header.Get("Mcp-Session-Id") != "" {
			http.Error(w, "session not found", http.StatusNotFound)
			return
		}
		b.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)
	source := one(fmt.Sprintf(`{"url": %q, "tools": {"read": {}}}`, front.URL))
	w := dial(t, real(t, source, reviewer), eras[0], object{})
	w.result("tools/call", object{"name": "s_read"})
	forgets.Store(true)
	time.AfterFunc(300*time.Millisecond, func() { forgets.Store(false) })
	w.result("tools/call", object{"name": "s_read"})
	time.Sleep(stopGrace + 100*time.Millisecond) // sessions that are lost have ended
	w.result("tools/call", object{"name": "s_read"})
}

// TestRestartsUnderLoad cuts all connections of a server again and again while calls come and its streams are open: no
// call that only reads fails, and none that writes runs twice.
func TestRestartsUnderLoad(t *testing.T) {
	for _, kind := range []string{"http", "sse"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			ran := map[string]int{}
			of := func(*http.Request) *sdk.Server {
				s := sdk.NewServer(&sdk.Implementation{Name: "backend", Version: "1"}, nil)
				for _, name := range []string{"read", "write"} {
					s.AddTool(&sdk.Tool{Name: name, InputSchema: object{"type": "object"}},
						func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
							mu.Lock()
							defer mu.Unlock()
							ran[r.Params.Name+string(r.Params.Arguments)]++
							return text("done"), nil
						})
				}
				return s
			}
			address := "127.0.0.1:0"
			start := func() *http.Server {
				l, err := net.Listen("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				address = l.Addr().String()
				var h http.Handler = sdk.NewStreamableHTTPHandler(of, nil)
				if kind == "sse" {
					h = sdk.NewSSEHandler(of, nil)
				}
				s := &http.Server{Handler: h}
				go func() { _ = s.Serve(l) }()
				return s
			}
			server := start()
			source := one(fmt.Sprintf(`{"type": %q, "url": "http://%s", "tools": {"read": {"risk": "read"}, "write": {}}}`,
				kind, address))
			w := dial(t, real(t, source, reviewer), eras[0], object{})
			w.result("tools/call", object{"name": "s_read"})
			stop := make(chan bool)
			var load sync.WaitGroup
			end := sync.OnceFunc(func() {
				close(stop)
				load.Wait()
			})
			defer end()
			var reads [6]atomic.Int64 // that are answered
			for worker := range reads {
				load.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						case <-time.After(time.Millisecond):
						}
						args := object{"n": fmt.Sprint(worker, " ", i)}
						if m := w.call("tools/call", object{"name": "s_read", "arguments": args}); m["error"] != nil {
							t.Errorf("a call that only reads: got %v", m["error"])
						}
						reads[worker].Add(1)
						w.call("tools/call", object{"name": "s_write", "arguments": args}) // it may have been cut
					}
				})
			}
			rounds := 20
			if testing.Short() {
				rounds = 4
			}
			for i := range rounds {
				server.Close()
				time.Sleep(time.Duration(i%2) * 200 * time.Millisecond)
				server = start()
				for worker := range reads { // no call is cut by two restarts
					was := reads[worker].Load()
					eventually(t, "an answer", func() bool { return reads[worker].Load() > was })
				}
			}
			end()
			server.Close()
			for call, n := range ran {
				if strings.HasPrefix(call, "write") && n > 1 {
					t.Errorf("%s ran %d times", call, n)
				}
			}
		})
	}
}
