package serve

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/targets/mcp/seal"
)

const here = "serve\x00\x00" // the endpoint /mcp of a server without a role

const (
	keyOne = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"
	keyTwo = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=\n"
)

func keys(t testing.TB, lines string) *seal.Keys {
	t.Helper()
	k, err := seal.Read([]byte(lines))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// balanced returns the address of a balancer that sends each request to any of the servers.
func balanced(t testing.TB, urls ...string) string {
	t.Helper()
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(18, 1))
	p := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		mu.Lock()
		u, err := url.Parse(urls[random.IntN(len(urls))])
		mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		r.SetURL(u)
	}}
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	return srv.URL
}

// send sends a message, and returns the code, the session's id and the answer.
func send(t testing.TB, method, url, id, body string) (int, string, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if id != "" {
		req.Header.Set(sessionHeader, id)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, res.Header.Get(sessionHeader), string(text)
}

// TestShared walks through a random balancer in front of three servers that share a store
// and keys, in every revision.
func TestShared(t *testing.T) {
	store := NewMemory()
	var urls []string
	for range 3 {
		urls = append(urls, listen(t, serve(t, Options{Store: store}), HTTPOptions{Keys: keys(t, keyOne)}))
	}
	url := balanced(t, urls...)
	for _, era := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			cs := dial(t, url+"/mcp", era)
			if got := cs.InitializeResult().ProtocolVersion; got != era {
				t.Errorf("got revision %s", got)
			}
			for range 20 {
				task, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "code"})
				call[switchModeOutput](t, cs, "switch_mode", map[string]any{"session_id": task.SessionID, "new_mode_slug": "architect"})
				info, _ := call[taskInfoOutput](t, cs, "get_task_info", map[string]any{"session_id": task.SessionID})
				if info.ModeSlug != "architect" {
					t.Errorf("got %+v", info)
				}
			}
			if v, _ := call[validateOutput](t, dial(t, url+"/mcp/architect", era), "validate_tool_use", map[string]any{"tool_name": "edit", "file_path": "a.go"}); v.Allowed {
				t.Errorf("got %+v", v)
			}
		})
	}
}

const (
	helloHTTP = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	pingHTTP  = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// TestSealedSessions holds what is taken over and what is not.
func TestSealedSessions(t *testing.T) {
	a := listen(t, serve(t, Options{}), HTTPOptions{Keys: keys(t, keyOne), Connections: 3})
	b := listen(t, serve(t, Options{}), HTTPOptions{Keys: keys(t, keyOne+keyTwo), Connections: 3})
	next := listen(t, serve(t, Options{}), HTTPOptions{Keys: keys(t, keyTwo)})
	alone := listen(t, serve(t, Options{}), HTTPOptions{})
	code, id, _ := send(t, "POST", a+"/mcp", "", helloHTTP)
	if code != 200 || len(id) < 100 {
		t.Fatal(code, id)
	}
	_, mine, _ := send(t, "POST", alone+"/mcp", "", helloHTTP)
	k := keys(t, keyOne)
	made := func(purpose string, s sealed, life time.Duration) string {
		value, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return k.Seal(purpose, value, time.Now().Add(life))
	}
	for _, c := range []struct {
		name, url, id string
		want          int
	}{
		{"where it began", a + "/mcp", id, 200},
		{"another server", b + "/mcp", id, 200},
		{"and again", b + "/mcp", id, 200},
		{"another endpoint", a + "/mcp/code", id, 404},
		{"another endpoint of another server", b + "/mcp/code", id, 404},
		{"a server without the key", next + "/mcp", id, 404},
		{"a server that shares none", alone + "/mcp", id, 404},
		{"an id that nobody sealed", a + "/mcp", mine, 404},
		{"changed", a + "/mcp", id[:len(id)-2] + "AA", 404},
		{"cut", a + "/mcp", id[:len(id)-1], 404},
		{"sealed by the key", b + "/mcp", made(sealedFor, sealed{ID: "x", Of: here, Version: "2025-06-18"}, time.Hour), 200},
		{"too late", b + "/mcp", made(sealedFor, sealed{ID: "y", Of: here}, -time.Second), 404},
		{"for another purpose", b + "/mcp", made("modec gateway: session", sealed{ID: "y", Of: here}, time.Hour), 404},
		{"of another role", b + "/mcp", made(sealedFor, sealed{ID: "y", Of: "serve\x00\x00reviewer"}, time.Hour), 404},
	} {
		if code, _, text := send(t, "POST", c.url, c.id, pingHTTP); code != c.want {
			t.Errorf("%s: got %d %s, want %d", c.name, code, text, c.want)
		}
	}

	// A second initialize on a session says its own id again, and none of the SDK's.
	if _, again, _ := send(t, "POST", b+"/mcp", id, helloHTTP); again != "" && again != id {
		t.Errorf("got id %q", again)
	}

	// There are two here by now, and as many as there may be with another one.
	if code, _, text := send(t, "POST", b+"/mcp", made(sealedFor, sealed{ID: "third", Of: here}, time.Hour), pingHTTP); code != 200 {
		t.Errorf("got %d %s", code, text)
	}
	if code, _, text := send(t, "POST", b+"/mcp", made(sealedFor, sealed{ID: "fourth", Of: here}, time.Hour), pingHTTP); code != 503 {
		t.Errorf("got %d %s, want 503", code, text)
	}

	// What its client ended is over, here.
	for _, want := range []int{204, 404} {
		if code, _, text := send(t, "DELETE", b+"/mcp", id, ""); code != want {
			t.Errorf("got %d %s, want %d", code, text, want)
		}
	}
	if code, _, _ := send(t, "POST", b+"/mcp", id, pingHTTP); code != 404 {
		t.Errorf("got %d for a session that ended", code)
	}
	if code, _, text := send(t, "POST", b+"/mcp", made(sealedFor, sealed{ID: "fourth", Of: here}, time.Hour), pingHTTP); code != 200 {
		t.Errorf("got %d %s: there is room again", code, text)
	}
	// One that never was here ends too, and takes no room.
	never := made(sealedFor, sealed{ID: "never", Of: here}, time.Hour)
	for _, want := range []int{204, 404} {
		if code, _, text := send(t, "DELETE", b+"/mcp", never, ""); code != want {
			t.Errorf("got %d %s, want %d", code, text, want)
		}
	}
}

// TestSealedStreams: a stream of a session that another server began hears of changes here.
func TestSealedStreams(t *testing.T) {
	a := listen(t, serve(t, Options{}), HTTPOptions{Keys: keys(t, keyOne)})
	s := serve(t, Options{})
	b := listen(t, s, HTTPOptions{Keys: keys(t, keyOne)})
	_, id, _ := send(t, "POST", a+"/mcp", "", helloHTTP)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", b+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set(sessionHeader, id)
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	defer res.Body.Close()
	uri := "mode://code"
	if code, _, text := send(t, "POST", b+"/mcp", id, fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":%q}}`, uri)); code != 200 || strings.Contains(text, "error") {
		t.Fatal(code, text)
	}
	s.scope("").tell([]string{uri})
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "notifications/resources/updated") {
			return
		}
	}
	t.Error("the stream ended without news:", lines.Err())
}

// TestSealedIdle: the SDK's own session ends without use, and begins again when it is used.
func TestSealedIdle(t *testing.T) {
	s := serve(t, Options{})
	url := listen(t, s, HTTPOptions{Keys: keys(t, keyOne), Idle: 50 * time.Millisecond})
	_, id, _ := send(t, "POST", url+"/mcp", "", helloHTTP)
	for range 3 {
		for len(slicesOf(s.scope("").sdk)) > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		for { // the SDK may end it before it is forgotten here
			code, _, text := send(t, "POST", url+"/mcp", id, pingHTTP)
			if code == 200 {
				break
			}
			if code != 404 {
				t.Fatal(code, text)
			}
		}
	}
}

func slicesOf(s *sdk.Server) (all []*sdk.ServerSession) {
	for ss := range s.Sessions() {
		all = append(all, ss)
	}
	return all
}

// TestSealedTogether takes one session over by many requests at once: it begins once.
func TestSealedTogether(t *testing.T) {
	a := listen(t, serve(t, Options{}), HTTPOptions{Keys: keys(t, keyOne)})
	s := serve(t, Options{})
	b := listen(t, s, HTTPOptions{Keys: keys(t, keyOne)})
	_, id, _ := send(t, "POST", a+"/mcp", "", helloHTTP)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			body := strings.Replace(pingHTTP, `"id":2`, fmt.Sprintf(`"id":%d`, i+10), 1)
			if code, _, text := send(t, "POST", b+"/mcp", id, body); code != 200 || !strings.Contains(text, fmt.Sprintf(`"id":%d`, i+10)) {
				t.Errorf("got %d %s", code, text)
			}
		})
	}
	wg.Wait()
	if n := len(slicesOf(s.scope("").sdk)); n != 1 {
		t.Errorf("%d sessions began, want 1", n)
	}
	if _, err := base64.RawURLEncoding.DecodeString(id); err != nil {
		t.Error(err)
	}
}
