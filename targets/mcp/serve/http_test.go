package serve

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func listen(t testing.TB, s *Server, opt HTTPOptions) string {
	t.Helper()
	h, err := s.Handler(opt)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func dial(t testing.TB, url, era string) *sdk.ClientSession {
	t.Helper()
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}}).
		Connect(context.Background(), &sdk.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true}, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

// TestHTTP walks in every revision on one endpoint, and on one that fixes the mode.
func TestHTTP(t *testing.T) {
	url := listen(t, serve(t, Options{}), HTTPOptions{})
	for _, era := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			cs := dial(t, url+"/mcp", era)
			if got := cs.InitializeResult().ProtocolVersion; got != era {
				t.Errorf("got revision %s", got)
			}
			task, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "code", "initial_message": "x"})
			v, _ := call[validateOutput](t, dial(t, url+"/mcp", era), "validate_tool_use", map[string]any{"session_id": task.SessionID, "tool_name": "edit", "file_path": "a.go"})
			if !v.Allowed {
				t.Errorf("got %+v", v)
			}
			v, _ = call[validateOutput](t, dial(t, url+"/mcp/architect", era), "validate_tool_use", map[string]any{"tool_name": "edit", "file_path": "a.go"})
			if v.Allowed || v.Mode != "architect" {
				t.Errorf("got %+v", v)
			}
		})
	}
}

// TestHTTPRefuses holds the guards of the endpoint on both sides.
func TestHTTPRefuses(t *testing.T) {
	url := listen(t, serve(t, Options{}), HTTPOptions{Body: 2000, Origins: []string{"https://trusted.example"}, Hosts: []string{"modec.internal"}})
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	for _, c := range []struct {
		name, method, path, body string
		header                   map[string]string
		want                     int
	}{
		{"plain", "POST", "/mcp", hello, nil, 200},
		{"own origin", "POST", "/mcp", hello, map[string]string{"Origin": url}, 200},
		{"trusted origin", "POST", "/mcp", hello, map[string]string{"Origin": "https://trusted.example"}, 200},
		{"another origin", "POST", "/mcp", hello, map[string]string{"Origin": "https://evil.example"}, 403},
		{"no origin at all", "POST", "/mcp", hello, map[string]string{"Origin": "null"}, 403},
		{"another origin reads", "GET", "/mcp", "", map[string]string{"Origin": "https://evil.example", "Accept": "text/event-stream"}, 403},
		{"another host", "POST", "/mcp", hello, map[string]string{"Host": "evil.example"}, 403},
		{"a name that begins like the loopback's", "POST", "/mcp", hello, map[string]string{"Host": "127.0.0.1:1234.evil.example"}, 403},
		{"the loopback's name", "POST", "/mcp", hello, map[string]string{"Host": "localhost:1234"}, 200},
		{"an allowed host", "POST", "/mcp", hello, map[string]string{"Host": "modec.internal"}, 200},
		{"a body at the limit", "POST", "/mcp", hello + strings.Repeat(" ", 2000-len(hello)), nil, 200},
		{"a body above it", "POST", "/mcp", hello + strings.Repeat(" ", 2001-len(hello)), nil, 413},
		{"no JSON", "POST", "/mcp", "{", nil, 400},
		{"an unknown mode", "POST", "/mcp/nope", hello, nil, 404},
		{"an unknown path", "POST", "/", hello, nil, 404},
		{"a mode's path", "POST", "/mcp/code", hello, nil, 200},
		{"an unknown session", "POST", "/mcp", hello, map[string]string{"Mcp-Session-Id": "x"}, 404},
		{"a page asks first", "OPTIONS", "/mcp", "", map[string]string{"Origin": "https://trusted.example", "Access-Control-Request-Method": "POST"}, 204},
		{"another page asks first", "OPTIONS", "/mcp", "", map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}, 403},
		{"a wrong type", "POST", "/mcp", hello, map[string]string{"Content-Type": "text/plain"}, 415},
	} {
		req, err := http.NewRequest(c.method, url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for k, v := range c.header {
			if k == "Host" {
				req.Host = v
				continue
			}
			req.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s: got %d %s, want %d", c.name, res.StatusCode, body, c.want)
		}
	}
	if _, err := serve(t, Options{}).Handler(HTTPOptions{Origins: []string{"no origin"}}); err == nil {
		t.Error("an origin that is none was taken")
	}
}

// A header that contradicts the body, or a revision that nobody has, is refused with a reason.
func TestHTTPHeadersHaveReasons(t *testing.T) {
	url := listen(t, serve(t, Options{}), HTTPOptions{})
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	for _, c := range []struct{ version, method, want string }{
		{"2026-07-28", "tools/call", `"code":"HEADER_MISMATCH"`},
		{"2026-07-29", "tools/list", `"code":"`},
		{"2030-01-01", "tools/list", `"code":"`},
	} {
		body := strings.Replace(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}`, "META", strings.Replace(meta, "2026-07-28", c.version, 1), 1)
		req, err := http.NewRequest("POST", url+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": c.version, "Mcp-Method": c.method} {
			req.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if !strings.Contains(string(text), `"error"`) || !strings.Contains(string(text), c.want) {
			t.Errorf("%v: got %s, want %s", c, text, c.want)
		}
	}
}

// TestHTTPSessions: a session of the protocol belongs to its endpoint, there are so many
// and no more, and what starts one is short.
func TestHTTPSessions(t *testing.T) {
	url := listen(t, serve(t, Options{}), HTTPOptions{Connections: 3})
	ask := func(path, id, body string) (int, string) {
		req, err := http.NewRequest("POST", url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if id != "" {
			req.Header.Set("Mcp-Session-Id", id)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		io.Copy(io.Discard, res.Body)
		return res.StatusCode, res.Header.Get("Mcp-Session-Id")
	}
	first, _, _ := strings.Cut(hello, "\n")
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	code, id := ask("/mcp", "", first)
	if code != 200 || id == "" {
		t.Fatal(code, id)
	}
	if code, _ := ask("/mcp", id, list); code != 200 {
		t.Errorf("got %d", code)
	}
	if code, _ := ask("/mcp/architect", id, list); code != 404 {
		t.Errorf("a session was used at another endpoint: got %d", code)
	}
	if code, _ := ask("/mcp/code", "", strings.Replace(first, `"x"`, `"`+strings.Repeat("x", maxHello)+`"`, 1)); code < 400 {
		t.Errorf("a long greeting was taken: got %d", code)
	}
	for _, want := range []int{200, 200, 503} {
		if code, _ := ask("/mcp/code", "", first); code != want {
			t.Errorf("got %d, want %d", code, want)
		}
	}
	fixed := listen(t, serve(t, Options{Mode: "code"}), HTTPOptions{})
	for path, want := range map[string]int{"/mcp": 200, "/mcp/code": 200, "/mcp/architect": 404} {
		req, _ := http.NewRequest("POST", fixed+path, strings.NewReader(first))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: got %d, want %d", path, res.StatusCode, want)
		}
	}
}

// TestHTTPReloadWaitsForNobody reloads while a client does not read its stream: others
// are answered.
func TestHTTPReloadWaitsForNobody(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	url := listen(t, s, HTTPOptions{})
	stalled, err := sdk.NewClient(&sdk.Implementation{Name: "stalled", Version: "1"}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}}).
		Connect(context.Background(), &sdk.StreamableClientTransport{Endpoint: url + "/mcp", DisableStandaloneSSE: true}, &sdk.ClientSessionOptions{ProtocolVersion: eras[0]})
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Model().Project.Modes {
		if err := stalled.Subscribe(context.Background(), &sdk.SubscribeParams{URI: "mode://" + s.Model().Project.Modes[i].Slug}); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", stalled.ID())
	models := []*Model{compiled(t, source), compiled(t, strings.ReplaceAll(source, "You ", "Now you "+strings.Repeat("x", 10_000)))}
	for i := range 600 { // a reload that waited for the client would never end
		s.Reload(models[i%2])
	}
	call[listModesOutput](t, dial(t, url+"/mcp", eras[0]), "list_modes", nil)
}

// TestHTTPEndsSlowBodies: a body that does not come is not waited for, and an answer
// that takes longer than a body may is.
func TestHTTPEndsSlowBodies(t *testing.T) {
	asked, ended := make(chan struct{}), make(chan struct{})
	s := serve(t, Options{Verify: func(context.Context) (*Verification, error) {
		close(asked)
		<-ended
		return &Verification{Targets: []string{}, Findings: []string{}}, nil
	}})
	url := listen(t, s, HTTPOptions{BodyTime: 200 * time.Millisecond})
	cs := dial(t, url+"/mcp", eras[0])
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if v, refused := call[Verification](t, cs, "verify", nil); refused || v.Wider != 0 {
			t.Errorf("got %+v", v)
		}
	}()
	select {
	case <-asked:
	case <-answered:
		t.Fatal("verify did not run")
	}
	defer func() { // the answer takes longer than the body of the other request may
		close(ended)
		<-answered
	}()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{")
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || strings.Contains(line, "200") {
		t.Errorf("got %q, %v", line, err)
	}
}

// TestManyClients asks from sixteen clients while the model is reloaded: no error, and
// the memory stays.
func TestManyClients(t *testing.T) {
	const clients, calls = 16, 1000
	s := serve(t, Options{Limits: Limits{Sessions: 100_000}})
	models := []*Model{compiled(t, source), compiled(t, strings.Replace(source, "You plan.", "You plan well.", 1))}
	stop := make(chan struct{})
	var reloads sync.WaitGroup
	reloads.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				s.Reload(models[i%2])
			}
		}
	})
	round := func(n int) {
		var wg sync.WaitGroup
		for i := range clients {
			cs := connect(t, s, []string{"", "code"}[i%2], eras[i/2%2], nil)
			wg.Go(func() {
				task, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "code", "initial_message": "x"})
				for j := range n {
					var err error
					switch j % 5 {
					case 0, 1, 2:
						_, err = cs.CallTool(context.Background(), &sdk.CallToolParams{Name: "validate_tool_use", Arguments: map[string]any{"session_id": task.SessionID, "tool_name": "edit", "file_path": fmt.Sprint(j, ".go")}})
					case 3:
						_, err = cs.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: "mode://code"})
					case 4:
						_, err = cs.CallTool(context.Background(), &sdk.CallToolParams{Name: "list_modes", Arguments: map[string]any{}})
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
				call[completeTaskOutput](t, cs, "complete_task", map[string]any{"session_id": task.SessionID})
				cs.Close()
			})
		}
		wg.Wait()
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	n := calls
	if raceEnabled {
		n /= 5
	}
	round(n / 10) // what is made once
	before := heap()
	round(n)
	after := heap()
	close(stop)
	reloads.Wait()
	if after > before+16<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}

// FuzzHTTP throws bodies at the endpoint: it answers, and lives.
func FuzzHTTP(f *testing.F) {
	s := serve(f, Options{})
	h, err := s.Handler(HTTPOptions{Body: 64 << 10})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_modes","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`), true)
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`), false)
	f.Add([]byte(`[]`), false)
	f.Fuzz(func(t *testing.T, body []byte, modern bool) {
		r := httptest.NewRequest("POST", "http://localhost/mcp", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if modern {
			r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			r.Header.Set("Mcp-Method", "tools/call")
			r.Header.Set("Mcp-Name", "list_modes")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		h.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
	})
}
