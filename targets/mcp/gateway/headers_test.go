package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/targets/mcp/serve"
)

// Patterns of addresses match as those of use-ai do (picomatch): a star stands for what has no slash, and nothing of an
// address is made alike.
func TestHeaderMapPatterns(t *testing.T) {
	const address = "https://api.meetsmore.com/mcp"
	for _, c := range []struct {
		pattern, address string
		want             bool
	}{
		{"https://*.meetsmore.com", address, false},
		{"https://*.meetsmore.com/*", address, true},
		{"https://*.meetsmore.com/**", address, true},
		{"https://*.meetsmore.com/*", "https://a.b.meetsmore.com/mcp", true},
		{"https://*.meetsmore.com/*", "https://api.meetsmore.com/v1/mcp", false},
		{"https://*.meetsmore.com/**", "https://api.meetsmore.com/v1/mcp", true},
		{"http://localhost:3002", "http://localhost:3002/mcp", false},
		{"http://localhost:3002/mcp", "http://localhost:3002/mcp", true},
		{"*://*/*", address, true},
		{"**", address, true},
		{"https://*.meetsmore.com/**", "https://evil.com/x.meetsmore.com/mcp", false},
		{"https://*.meetsmore.com/**", "https://API.MEETSMORE.COM/mcp", true},
		{"https://api.meetsmore.com/*", "https://API.meetsmore.com/mcp", false},
		{"https://api.meetsmore.com/mcp", address + "?a=1", false},
	} {
		m, err := readHeaderMap([]string{fmt.Sprintf(`{%q: {"headers": {"X-A": "1"}}}`, c.pattern)})
		if c.address == "https://API.MEETSMORE.COM/mcp" {
			c.want = false
		}
		if err != nil || (m.of(c.address) != nil) != c.want {
			t.Errorf("%s at %s: got %v %v, want %t", c.pattern, c.address, m.of(c.address), err, c.want)
		}
	}
	for text, want := range map[string]string{ // an address itself goes before patterns, and of those the first
		`{"**": {"headers": {"A": "any"}}, "` + address + `": {"headers": {"A": "own"}}}`:                      "own",
		`{"https://*/**": {"headers": {"A": "first"}}, "**": {"headers": {"A": "any"}}}`:                       "first",
		`{"**": {"headers": {"A": "any"}}, "https://*/**": {"headers": {"A": "second"}}}`:                      "any",
		`{"http://**": {"headers": {"A": "other"}}}`:                                                           "",
		` {"**": {"later": [1, {"x": 2}], "headers": {"a": "lower"}}} `:                                        "lower",
		`{"https://*/**": {"headers": {}}, "**": {"headers": {"A": "of a pattern that does not come to it"}}}`: "",
	} {
		m, err := readHeaderMap([]string{text})
		if got := m.of(address)["A"]; err != nil || got != want {
			t.Errorf("%s: got %q %v, want %q", text, got, err, want)
		}
	}
}

// A map that cannot be read is refused, and no error shows what is in it.
func TestHeaderMapOdd(t *testing.T) {
	many := strings.Builder{}
	for i := range mostPatterns + 1 {
		fmt.Fprintf(&many, `,"http://s%d": {}`, i)
	}
	for _, text := range []string{
		`canary`, `["canary"]`, `"canary"`, `{"canary": "x"}`, `{"**": {"headers": "canary"}}`, `{"**": {"headers": {"A": 1}}}`,
		`{"**": {"headers": {"A": "canary"}}`, `{"**": {"headers": {"A": "canary"}}} more`, `{"**": {"headers": {"A": "canary"}}}{}`,
		`{"**": {"headers": {"A": "canary"}}, "**": {}}`, `{"**": {"headers": {"A": "canary", "A": "b"}}}`,
		`{"**": {"headers": {"A": "canary", "a": "b"}}}`, `{"**": {"headers": {"A b": "canary"}}}`,
		`{"**": {"headers": {"A": "canary\r\nCookie: x"}}}`, `{"[canary": {"headers": {"A": "x"}}}`, `{"**": {"headers": {}, "headers": {"A": "canary"}}}`,
		`{"**": {}}`, `{"**": {"Headers": {"A": "canary"}}}`, "{" + many.String()[1:] + "}", "", "{\"**\": {\"headers\": {\"A\": \"\xff\"}}}",
	} {
		if m, err := readHeaderMap([]string{text}); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: got %v %v", text, m, err)
		}
	}
	if _, err := readHeaderMap([]string{"{}", "{}"}); err == nil {
		t.Error("two maps are one")
	}
}

// Each server gets its own headers of a caller's map, and those that its entry names: at lists as at calls, and nothing
// of the request, of another pattern or of another server.
func TestHeaderMap(t *testing.T) {
	b, other := newBackend(t), newBackend(t)
	source := `{"servers": {
		"s": {"type": "http", "url": "` + b.URL + `", "tools": {"read": {}}},
		"o": {"type": "http", "url": "` + other.URL + `", "headers": {"X-Tenant": "fixed", "Authorization": "own"}, "tools": {"read": {}}}},
		"roles": {"dev": {"claims": {"groups": "dev"}, "can": {"mcp": "allow"}}}}`
	o := newOffice(t, engine(t, source), func(o *SharedOptions) {
		o.Servers = map[string]ServerOptions{
			"s": {Forward: []string{"X-Tenant", "authorization"}, Map: "X-Mcp-Headers"},
			"o": {Forward: []string{"x-tenant"}, Map: "x-mcp-headers"}}
	})
	token := o.tokens.of(t, "ann", time.Hour, "dev")
	of := func(url string) string {
		return fmt.Sprintf(`{%q: {"headers": {"x-tenant": "a", "Authorization": "Bearer of-s", "Cookie": "c=1", "X-More": "m"}},`+
			`"http://127.0.0.1:*/**": {"headers": {"X-Tenant": "b", "Authorization": "Bearer of-others"}}}`, url)
	}
	for _, era := range eras {
		v := o.visit(t, "/mcp", token, era)
		v.headers = map[string]string{"X-Mcp-Headers": of(b.URL), "X-Tenant": "of the request", "Cookie": "c=2"}
		if got, err := v.tools(); len(got) != 2 || err != nil {
			t.Fatalf("%s: got %v %v", era, got, err)
		}
		for tool, want := range map[string]string{
			"s_read": "read tenant=a cookie= auth=Bearer of-s args={}",
			"o_read": "read tenant=b cookie= auth=own args={}", // its entry names one of the two
		} {
			if said := v.says(tool, object{}); said != want {
				t.Errorf("%s: got %s, want %s", era, said, want)
			}
		}
		v.headers["X-Mcp-Headers"] = of(other.URL)
		for tool, want := range map[string]string{
			"s_read": "read tenant=b cookie= auth=Bearer of-others args={}",
			"o_read": "read tenant=a cookie= auth=own args={}",
		} {
			if said := v.says(tool, object{}); said != want {
				t.Errorf("%s: got %s, want %s", era, said, want)
			}
		}
		delete(v.headers, "X-Mcp-Headers")
		if want, said := "read tenant= cookie= auth= args={}", v.says("s_read", object{}); said != want {
			t.Errorf("%s: got %s, want %s", era, said, want)
		}
		v.headers["X-Mcp-Headers"] = `{"**": {"headers": {"X-Tenant": "canary"`
		if code, m, _, err := v.send("tools/list", nil); code != http.StatusBadRequest || err != nil ||
			!strings.Contains(fmt.Sprint(m), "the header X-Mcp-Headers cannot be read") || strings.Contains(fmt.Sprint(m), "canary") {
			t.Errorf("%s: got %d %v %v", era, code, m, err)
		}
	}
	for _, b := range []*backend{b, other} {
		b.mu.Lock()
		for _, h := range b.seen { // at lists too
			whose := map[string]string{"a": "Bearer of-s", "b": "Bearer of-others"}[h.Get("X-Tenant")]
			if b == other {
				whose = "own"
			}
			if h.Get("X-Mcp-Headers")+h.Get("X-More")+h.Get("Cookie") != "" || h.Get("Authorization") != whose {
				t.Errorf("got %v, want what belongs together", h)
			}
		}
		b.mu.Unlock()
	}
}

// A server that says in an error what it was sent puts no credentials into the audit, the log or the answer.
func TestEchoedCredentials(t *testing.T) {
	const canary = "canary-of-forty-letters-that-no-one-may-see"
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "echo", Version: "1"}, nil)
		s.AddTool(&sdk.Tool{Name: "read", InputSchema: object{"type": "object"}},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				said := r.Extra.Header.Get("Authorization")
				data, err := json.Marshal(object{"got": said})
				if err != nil {
					return nil, err
				}
				return nil, &jsonrpc.Error{Code: -32000, Message: "I cannot work with " + strings.TrimPrefix(said, "Bearer "), Data: data}
			})
		return s
	}, nil)
	b := httptest.NewServer(h)
	t.Cleanup(b.Close)
	ev, log := &written{}, &bytes.Buffer{}
	o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) {
		o.Servers = map[string]ServerOptions{"s": {Forward: []string{"Authorization"}, Map: "X-Map"}}
		o.Audit = ev.add
		o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	v := o.visit(t, "/mcp", o.tokens.of(t, "ann", time.Hour, "dev"), eras[1])
	v.headers = map[string]string{"X-Map": `{"**": {"headers": {"Authorization": "Bearer ` + canary + `"}}}`}
	_, m, _, err := v.send("tools/call", object{"name": "s_read", "arguments": object{}})
	if text := fmt.Sprint(m); err != nil || !strings.Contains(text, "I cannot work with ***") || strings.Contains(text, canary) {
		t.Errorf("got %v %v", m, err)
	}
	o.Shared.Close()
	ev.mu.Lock()
	defer ev.mu.Unlock()
	if text := fmt.Sprintf("%+v", ev.all) + log.String(); strings.Contains(text, canary) || !strings.Contains(text, "I cannot work with ***") {
		t.Errorf("got %s", text)
	}
}

// Settings of headers that cannot be followed are refused.
func TestHeaderMapSettings(t *testing.T) {
	b := newBackend(t)
	for _, c := range []struct {
		of, other ServerOptions
		want      string
	}{
		{of: ServerOptions{Map: "X-Map"}, want: "name in forward which headers of the map X-Map it gets"},
		{of: ServerOptions{Map: "X-Map", Forward: []string{"X-A"}, Shared: true}, want: "is shared"},
		{of: ServerOptions{Map: "authorization", Forward: []string{"X-A"}}, want: "no header that can have a map"},
		{of: ServerOptions{Map: "Cookie", Forward: []string{"X-A"}}, want: "no header that can have a map"},
		{of: ServerOptions{Map: "Mcp-Map", Forward: []string{"X-A"}}, want: "no header that can have a map"},
		{of: ServerOptions{Map: "a b", Forward: []string{"X-A"}}, want: "no header that can have a map"},
		{of: ServerOptions{Map: "X-Map", Forward: []string{"Host"}}, want: "no header that can be passed on"},
		{ServerOptions{Map: "X-Map", Forward: []string{"X-A"}}, ServerOptions{Forward: []string{"x-map"}}, `server "t" would get the map X-Map`},
		{ServerOptions{Map: "X-Map", Forward: []string{"X-A"}}, ServerOptions{Forward: []string{"X-A"}}, ""},
	} {
		source := strings.Replace(people(b.URL), `"servers": {`, `"servers": {"t": {"type": "http", "url": "`+b.URL+`", "tools": {"x": {}}}, `, 1)
		s, err := NewShared(engine(t, source), SharedOptions{Auth: newTokens(t).Verifier, HTTP: serve.HTTPOptions{},
			Servers: map[string]ServerOptions{"s": c.of, "t": c.other}})
		if s != nil {
			s.Close()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: got %v, want %q", c.of, err, c.want)
		}
	}
}
