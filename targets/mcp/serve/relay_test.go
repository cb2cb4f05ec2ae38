package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNeverEmpty holds that a request which ended without an answer is answered with an error, alone or at the end of a
// stream, and that nothing is added to an answer or where nobody asked.
func TestNeverEmpty(t *testing.T) {
	const asks = `{"jsonrpc":"2.0","id":"7","method":"tools/list"}`
	says := func(kind string, parts ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			for _, p := range parts {
				_, _ = io.WriteString(w, p)
			}
		}
	}
	const told = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"result\":1}}\n\n"
	const answer = `{"jsonrpc":"2.0","id":"7","result":{"method":"x"}}`
	for name, c := range map[string]struct {
		body  string
		next  http.HandlerFunc
		error bool
	}{
		"nothing":                 {asks, says("application/json"), true},
		"an empty stream":         {asks, says("text/event-stream"), true},
		"a begun stream":          {asks, says("text/event-stream", told), true},
		"words":                   {asks, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadRequest) }, false},
		"an answer":               {asks, says("application/json", answer), false},
		"an answer in a stream":   {asks, says("text/event-stream", told, "data: "+answer+"\n\n"), false},
		"a notification":          {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, says("application/json"), false},
		"an answer of the client": {`{"jsonrpc":"2.0","id":"7","result":{}}`, says("application/json"), false},
	} {
		w := httptest.NewRecorder()
		relay(c.next, w, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(c.body)))
		if got := strings.Contains(w.Body.String(), `"code":-32603`); got != c.error || strings.Count(w.Body.String(), `"error"`) > 1 {
			t.Errorf("%s: got %d %q", name, w.Code, w.Body)
		}
		if c.error && !strings.Contains(w.Body.String(), `"id":"7"`) {
			t.Errorf("%s: got %q for another request", name, w.Body)
		}
	}
}
