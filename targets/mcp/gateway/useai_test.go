package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// front passes requests on to a backend but those that answer answers, by the body.
func front(t *testing.T, b *backend, answer func(w http.ResponseWriter, body []byte) bool) string {
	to, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(to)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || answer(w, body) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(ts.Close)
	return ts.URL
}

// before passes requests on to a backend, those for its lists only where let returns true.
func before(t *testing.T, b *backend, let func() bool) string {
	return front(t, b, func(w http.ResponseWriter, body []byte) bool {
		if !bytes.Contains(body, []byte(`"tools/list"`)) || let() {
			return false
		}
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return true
	})
}

// pair is a source with two servers, of each of which a role has one tool.
func pair(one, other string) string {
	return fmt.Sprintf(`{"servers": {"a": {"url": %q, "tools": {"read": {}}}, "b": {"url": %q, "tools": {"read": {}}}},
		"roles": {"dev": {"claims": {"groups": "dev"}, "can": {"mcp": "allow"}}}}`, one, other)
}

// Servers are asked for their lists side by side: here each answers only once the other one has been asked too.
func TestListsSideBySide(t *testing.T) {
	b := newBackend(t)
	var asked [2]chan struct{}
	var once [2]atomic.Bool
	for i := range asked {
		asked[i] = make(chan struct{})
	}
	waits := func(i int) func() bool {
		return func() bool {
			if once[i].CompareAndSwap(false, true) {
				close(asked[i])
			}
			select {
			case <-asked[1-i]:
				return true
			case <-time.After(patience):
				return false
			}
		}
	}
	o := newOffice(t, engine(t, pair(before(t, b, waits(0)), before(t, b, waits(1)))), nil)
	v := o.visit(t, "/mcp", o.tokens.of(t, "ann", time.Hour, "dev"), eras[1])
	if got, err := v.tools(); err != nil || !slices.Equal(got, []string{"a_read", "b_read"}) {
		t.Errorf("got %v %v", got, err)
	}
}

// A server that fails for a while costs its own tools, and only for seconds after it is back.
func TestListsComeBack(t *testing.T) {
	b := newBackend(t)
	var down atomic.Bool
	down.Store(true)
	o := newOffice(t, engine(t, pair(b.URL, before(t, b, func() bool { return !down.Load() }))), nil)
	v := o.visit(t, "/mcp", o.tokens.of(t, "ann", time.Hour, "dev"), eras[1])
	if got, err := v.tools(); err != nil || !slices.Equal(got, []string{"a_read"}) {
		t.Fatalf("got %v %v", got, err)
	}
	down.Store(false)
	for late := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		got, err := v.tools()
		if err == nil && slices.Equal(got, []string{"a_read", "b_read"}) {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("got %v %v", got, err)
		}
	}
}

// Each of many tokens is another person's. What they leave behind is bounded by the number of callers, and what they see
// is kept once.
func TestManyTokens(t *testing.T) {
	const most = 50
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) {
		o.Callers = most
		o.Servers = map[string]ServerOptions{"s": {Forward: []string{"X-Tenant"}}}
	})
	few, many := 200, 2000
	left := func() (members, servers, tables, lists int) {
		o.Shared.mu.Lock()
		members, tables = len(o.members), len(o.tables)
		if n := len(o.open) + len(o.visits); n != 0 {
			t.Errorf("%d requests are still under way", n)
		}
		o.Shared.mu.Unlock()
		o.hubMu.Lock()
		servers = len(o.hubs)
		o.hubMu.Unlock()
		return members, servers, tables, int(o.caches.size.Load())
	}
	// What is no longer used is closed beside the next call.
	settled := func() string {
		for range 200 {
			if _, servers, _, _ := left(); servers <= most {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		return fmt.Sprint(left())
	}
	before := ""
	for i := range many {
		if i == few {
			before = settled()
		}
		v := &visitor{url: o.URL + "/mcp", token: o.tokens.of(t, fmt.Sprint("who", i), time.Hour, "dev"), era: eras[1],
			headers: map[string]string{"X-Tenant": fmt.Sprint(i)}}
		if got, err := v.tools(); len(got) != 2 || err != nil {
			t.Fatal(got, err)
		}
	}
	after := settled()
	if members, servers, _, _ := left(); members > most || servers > most {
		t.Errorf("got %d gateways and %d servers of %d callers", members, servers, most)
	}
	if after != before {
		t.Errorf("after %d tokens: %s gateways, servers, tables and bytes of lists, after %d: %s", few, before, many, after)
	}
}

// Clients as use-ai's post one message without initialize, a session or a revision, and read one message of JSON: lists
// and calls are answered so, for each request's own principal, and what is denied by an error of the protocol.
func TestOneMessage(t *testing.T) {
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), nil)
	post := func(who, group, body string) (map[string]json.RawMessage, string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, o.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer "+o.tokens.of(t, who, time.Hour, group))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		var m map[string]json.RawMessage
		if err != nil || res.StatusCode != 200 || json.Unmarshal(data, &m) != nil || res.Header.Get("Mcp-Session-Id") != "" {
			t.Fatalf("%s: got %d %v %s", body, res.StatusCode, res.Header, data)
		}
		return m, string(data)
	}
	m, text := post("ann", "dev", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	if strings.Count(text, `"inputSchema"`) != 2 || !strings.Contains(text, `"s_write"`) ||
		strings.Contains(text, "nextCursor") || m["result"] == nil {
		t.Errorf("got %s", text)
	}
	if _, text = post("bob", "ops", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); !strings.Contains(text, `"s_drop"`) || strings.Contains(text, `"s_write"`) {
		t.Errorf("got %s", text)
	}
	call := func(name string) string {
		return `{"jsonrpc":"2.0","id":1764124800000,"method":"tools/call","params":{"name":"` + name + `","arguments":{"x":1}}}`
	}
	if m, text = post("ann", "dev", call("s_read")); !strings.Contains(text, `read tenant=`) || string(m["id"]) != "1764124800000" {
		t.Errorf("got %s", text)
	}
	if m, text = post("ann", "dev", call("s_drop")); m["error"] == nil || !strings.Contains(text, "unknown tool") {
		t.Errorf("got %s", text)
	}
}
