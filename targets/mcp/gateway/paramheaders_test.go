package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
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

// A request whose headers say something else than its body is refused with the status of that, whoever finds it out and
// however the answer would have come, and no server hears of it.
func TestHeaderMismatch(t *testing.T) {
	var calls atomic.Int32
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "backend", Version: "1"}, nil)
		s.AddTool(&sdk.Tool{Name: "put", InputSchema: repeatedSchema},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				calls.Add(1)
				return text("done"), nil
			})
		return s
	}, nil)
	backend := httptest.NewServer(h)
	t.Cleanup(backend.Close)
	o := newOffice(t, engine(t, `{"servers": {"s": {"url": "`+backend.URL+`", "tools": {"put": {}}}},
		"roles": {"dev": {"claims": {"groups": "dev"}, "can": {"mcp": {"s": "allow"}}}}}`), nil)
	token := o.tokens.of(t, "ada", time.Hour, "dev")
	const newest = "2026-07-28"
	type header map[string][]string
	good := func(more header) header {
		h := header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"s_put"}, "Mcp-Protocol-Version": {newest},
			"Mcp-Param-Region": {"eu"}}
		maps.Copy(h, more)
		return h
	}
	send := func(era string, headers header, params object) (int, float64, string) {
		v := o.visit(t, "/mcp", token, era)
		params["name"], params["arguments"] = "s_put", object{"region": "eu"}
		req, err := v.request(http.MethodPost, object{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range headers {
			req.Header[name] = values
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		var m struct {
			ID    any
			Error struct{ Code float64 }
		}
		if err == nil && res.StatusCode != http.StatusOK {
			err = json.Unmarshal(data, &m)
		}
		if kind := res.Header.Get("Content-Type"); err != nil || m.Error.Code != 0 && kind != "application/json" {
			t.Errorf("%v: got %v and %s: %s", headers, err, kind, data)
		}
		return res.StatusCode, m.Error.Code, string(data)
	}
	meta := func(version string, more object) object {
		m := object{reserved + "protocolVersion": version, reserved + "clientCapabilities": object{},
			reserved + "clientInfo": object{"name": "t", "version": "1"}}
		maps.Copy(m, more)
		return object{"_meta": m}
	}
	progress := object{"progressToken": "p"}
	for name, c := range map[string]struct {
		era     string
		headers header
		params  object
		status  int
		code    float64
	}{
		"as it should be": {newest, good(nil), meta(newest, nil), 200, 0},
		"in a stream":     {newest, good(nil), meta(newest, progress), 200, 0},

		"another method":            {newest, good(header{"Mcp-Method": {"tools/list"}}), meta(newest, nil), 400, -32020},
		"no method":                 {newest, good(header{"Mcp-Method": nil}), meta(newest, nil), 400, -32020},
		"two methods":               {newest, good(header{"Mcp-Method": {"tools/call", "ping"}}), meta(newest, nil), 400, -32020},
		"another name":              {newest, good(header{"Mcp-Name": {"s_get"}}), meta(newest, nil), 400, -32020},
		"no name":                   {newest, good(header{"Mcp-Name": nil}), meta(newest, nil), 400, -32020},
		"two names":                 {newest, good(header{"Mcp-Name": {"s_put", "s_get"}}), meta(newest, nil), 400, -32020},
		"another argument":          {newest, good(header{"Mcp-Param-Region": {"us"}}), meta(newest, nil), 400, -32020},
		"no argument":               {newest, good(header{"Mcp-Param-Region": nil}), meta(newest, nil), 400, -32020},
		"two arguments":             {newest, good(header{"Mcp-Param-Region": {"eu", "us"}}), meta(newest, nil), 400, -32020},
		"one that the call has not": {newest, good(header{"Mcp-Param-Count": {"3"}}), meta(newest, nil), 400, -32020},
		"another argument, in a stream": {newest, good(header{"Mcp-Param-Region": {"us"}}), meta(newest, progress),
			400, -32020},
		"another method, in a stream": {newest, good(header{"Mcp-Method": {"tools/list"}}), meta(newest, progress),
			400, -32020},
		"an older version in the body":  {newest, good(nil), meta("2025-11-25", nil), 400, -32020},
		"no version in the body":        {newest, good(nil), object{}, 400, -32602},
		"two versions":                  {newest, good(header{"Mcp-Protocol-Version": {newest, "2025-11-25"}}), meta(newest, nil), 400, -32020},
		"an older version in the head":  {newest, good(header{"Mcp-Protocol-Version": {"2025-11-25"}}), meta(newest, nil), 400, -32020},
		"no version in the head":        {newest, good(header{"Mcp-Protocol-Version": nil}), meta(newest, nil), 400, -32020},
		"a version that is none":        {newest, good(header{"Mcp-Protocol-Version": {"2099-01-01"}}), meta("2099-01-01", nil), 400, -32022},
		"a version that is none, alone": {newest, good(header{"Mcp-Protocol-Version": {"2099-01-01"}}), meta(newest, nil), 400, -32020},

		"in a session":                         {"2025-11-25", nil, object{}, 200, 0},
		"in a session, a newer body":           {"2025-11-25", nil, meta(newest, nil), 400, -32020},
		"in a session, a version that is none": {"2025-11-25", header{"Mcp-Protocol-Version": {"1999-01-01"}}, object{}, 400, -32600},
		"in a session, two versions": {"2025-11-25",
			header{"Mcp-Protocol-Version": {"2025-11-25", "2025-06-18"}}, object{}, 400, -32020},
		"in a session, two ids": {"2025-11-25", header{"Mcp-Session-Id": {"a", "b"}}, object{}, 400, -32020},
		"in a session, the headers of the newest": {"2025-11-25", header{"Mcp-Method": {"tools/list"},
			"Mcp-Param-Region": {"us"}}, object{}, 200, 0}, // which that revision does not have
	} {
		before := calls.Load()
		status, code, text := send(c.era, c.headers, c.params)
		if status != c.status || code != c.code {
			t.Errorf("%s: got %d (%v), want %d (%v): %s", name, status, code, c.status, c.code, text)
		}
		if called := calls.Load() > before; called != (c.status == 200) {
			t.Errorf("%s: called %t", name, called)
		}
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
