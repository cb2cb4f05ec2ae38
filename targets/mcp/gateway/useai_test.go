package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

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
