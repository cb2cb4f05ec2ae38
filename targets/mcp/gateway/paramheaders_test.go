package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// repeatedSchema has arguments that are repeated in headers, one of them below another.
var repeatedSchema = object{"type": "object", "properties": object{
	"region": object{"type": "string", "x-mcp-header": "Region"},
	"count":  object{"type": "integer", "x-mcp-header": "Count"},
	"free":   object{"type": "string"},
	"where":  object{"type": "object", "properties": object{"dry": object{"type": "boolean", "x-mcp-header": "Dry-Run"}}},
}}

// Of a tool whose schema says so, the gateway repeats arguments in the headers of its request, for a server that refuses
// a call without them, and holds a client's headers to the arguments, before anything else happens.
func TestParamHeaders(t *testing.T) {
	var mu sync.Mutex
	var seen []http.Header
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "backend", Version: "1"}, nil)
		s.AddTool(&sdk.Tool{Name: "put", InputSchema: repeatedSchema},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return text("done " + string(r.Params.Arguments)), nil
			})
		return s
	}, &sdk.StreamableHTTPOptions{Stateless: true})
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"method":"initialize"`) { // it knows the revision with headers alone
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"too old","data":{"supported":["2026-07-28"]}}}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if r.Header.Get("Mcp-Method") == "tools/call" {
			mu.Lock()
			seen = append(seen, r.Header.Clone())
			mu.Unlock()
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(backend.Close) // after the gateway, which listens to it
	o := newOffice(t, engine(t, `{"servers": {"s": {"url": "`+backend.URL+`", "tools": {"put": {}}}},
		"roles": {"dev": {"claims": {"groups": "dev"}, "can": {"mcp": {"s": "allow"}}}}}`), nil)
	token := o.tokens.of(t, "ada", time.Hour, "dev")
	call := func(args object, headers map[string]string) (string, float64) {
		v := o.visit(t, "/mcp", token, eras[1])
		v.headers = headers
		_, m, _, err := v.send("tools/call", object{"name": "s_put", "arguments": args})
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := m["error"].(object); ok {
			return e["message"].(string), e["code"].(float64)
		}
		content, _ := json.Marshal(m["result"])
		return string(content), 0
	}
	for _, c := range []struct {
		args    object
		headers map[string]string
		want    map[string]string // at the backend; nil: nothing comes there
		says    string
	}{
		{object{"region": "eu", "count": 3}, map[string]string{"Mcp-Param-Region": "eu", "Mcp-Param-Count": "3"},
			map[string]string{"Mcp-Param-Region": "eu", "Mcp-Param-Count": "3"}, "done"},
		{object{"region": "日本", "where": object{"dry": true}},
			map[string]string{"Mcp-Param-Region": "=?base64?5pel5pys?=", "Mcp-Param-Dry-Run": "true"},
			map[string]string{"Mcp-Param-Region": "=?base64?5pel5pys?=", "Mcp-Param-Dry-Run": "true"}, "done"},
		{object{"region": ""}, map[string]string{"Mcp-Param-Region": "=?base64??="},
			map[string]string{"Mcp-Param-Region": "=?base64??="}, "done"},
		{object{"free": "x"}, nil, map[string]string{}, "done"},
		{object{"region": nil}, nil, map[string]string{}, "done"},
		{object{"region": "eu"}, nil, nil, "header mismatch: the header Mcp-Param-Region is missing"},
		{object{"region": "eu"}, map[string]string{"Mcp-Param-Region": "us"}, nil, "header mismatch: the header Mcp-Param-Region is not what the call has"},
		{object{}, map[string]string{"Mcp-Param-Region": "us"}, nil, "header mismatch: the header Mcp-Param-Region is not what the call has"},
		{object{"region": "eu"}, map[string]string{"Mcp-Param-Region": "=?base64?!?="}, nil, "header mismatch: the header Mcp-Param-Region is not what the call has"},
	} {
		mu.Lock()
		seen = nil
		mu.Unlock()
		says, code := call(c.args, c.headers)
		if !strings.Contains(says, c.says) || (code == sdk.CodeHeaderMismatch) != (c.want == nil) {
			t.Errorf("%v: got %s (%v)", c.args, says, code)
		}
		mu.Lock()
		if (len(seen) == 1) != (c.want != nil) {
			t.Errorf("%v: got %d calls", c.args, len(seen))
		}
		if len(seen) == 1 {
			got := map[string]string{}
			for name, values := range seen[0] {
				if strings.HasPrefix(name, paramHeader) {
					got[name] = values[0]
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%v: %s", c.args, d)
			}
		}
		mu.Unlock()
	}
}

// What a hostile schema says of headers is not followed.
func TestParamHeadersHostile(t *testing.T) {
	for name, schema := range map[string]object{
		"a line break": {"properties": object{"a": object{"type": "string", "x-mcp-header": "A\r\nAuthorization"}}},
		"no text":      {"properties": object{"a": object{"type": "string", "x-mcp-header": 3}}},
		"nothing":      {"properties": object{"a": object{"type": "string", "x-mcp-header": ""}}},
		"an object":    {"properties": object{"a": object{"type": "object", "x-mcp-header": "A"}}},
		"twice": {"properties": object{"a": object{"type": "string", "x-mcp-header": "A"},
			"b": object{"type": "string", "x-mcp-header": "a"}}},
	} {
		raw, err := json.Marshal(object{"inputSchema": schema})
		if err != nil {
			t.Fatal(err)
		}
		args := json.RawMessage(`{"a": "x", "b": "y"}`)
		if argumentHeaders(raw, args, func(name, _ string, _ bool) { t.Errorf("got the header %q", name) }) {
			t.Errorf("%s is followed", name)
		}
		o := &offer{item: item{raw: raw}}
		if ctx := repeating(t.Context(), o, args); ctx != t.Context() {
			t.Errorf("%s: got headers", name)
		}
	}
	big, err := json.Marshal(object{"inputSchema": repeatedSchema})
	if err != nil {
		t.Fatal(err)
	}
	argumentHeaders(big, json.RawMessage(`{"count": 1e300, "region": {"x": 1}}`), func(name, value string, has bool) {
		if has {
			t.Errorf("got %s: %s", name, value)
		}
	})
}
