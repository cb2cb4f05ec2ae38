package gateway

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcp/auth"
	"modec.dev/modec/targets/mcp/auth/authtest"
	"modec.dev/modec/targets/mcp/seal"
	"modec.dev/modec/targets/mcp/serve"
)

// backend is a server of the inventory over HTTP. It says which headers it sees, and counts its sessions.
type backend struct {
	*httptest.Server
	sessions atomic.Int32
	mu       sync.Mutex
	seen     []http.Header
}

func newBackend(t testing.TB) *backend {
	b := &backend{}
	h := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "backend", Version: "1"}, nil)
		for _, name := range []string{"read", "write", "drop", "hidden"} {
			s.AddTool(&sdk.Tool{Name: name, InputSchema: object{"type": "object"}},
				func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					h := r.Extra.Header
					return text(fmt.Sprintf("%s tenant=%s cookie=%s auth=%s args=%s", r.Params.Name, h.Get("X-Tenant"),
						h.Get("Cookie"), h.Get("Authorization"), r.Params.Arguments)), nil
				})
		}
		return s
	}, nil)
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.seen = append(b.seen, r.Header.Clone())
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
			b.sessions.Add(1)
		}
		b.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(b.Close)
	return b
}

// people is a source with roles by claims, in front of a backend.
func people(url string) string {
	return `{"servers": {"s": {"type": "http", "url": "` + url + `", "headers": {"X-Own": "fixed"},
		"tools": {"read": {}, "write": {}, "drop": {}}}},
	"modes": {"look": {"name": "Look", "roleDefinition": "x", "can": {"mcp": {"s": {"allow": ["read"]}}}}},
	"roles": {
		"dev": {"claims": {"groups": "dev"}, "can": {"mcp": {"s": {"allow": ["read", "write"]}}}},
		"ops": {"claims": {"groups": "ops"}, "can": {"mcp": {"s": {"allow": ["read", "drop"]}}, "modes": {"deny": ["*"]}}},
		"own": {"can": {"mcp": "allow"}}}}`
}

// tokens signs tokens of an issuer without an address.
type tokens struct {
	key *ecdsa.PrivateKey
	doc []byte // its public half
	*auth.Verifier
}

func newTokens(t testing.TB) *tokens {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), Algorithm: "ES256"}}})
	if err != nil {
		t.Fatal(err)
	}
	k := &tokens{key: key, doc: doc}
	k.Verifier = k.by(t, 0)
	return k
}

// by returns a verifier of the tokens where clocks may differ.
func (k *tokens) by(t testing.TB, skew time.Duration) *auth.Verifier {
	v, err := auth.New(auth.Options{Issuer: "https://id.example.com", Audience: "gateway", Skew: skew,
		Keys: func(context.Context) ([]byte, error) { return k.doc, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (k *tokens) of(t testing.TB, who string, life time.Duration, groups ...string) string {
	return authtest.Signed(t, jose.ES256, k.key, "", object{"iss": "https://id.example.com", "aud": "gateway", "sub": who,
		"exp": time.Now().Add(life).Unix(), "groups": groups})
}

// office is a gateway for many.
type office struct {
	*Shared
	*httptest.Server
	tokens *tokens
}

func newOffice(t testing.TB, e *policy.Engine, more func(*SharedOptions)) *office {
	t.Helper()
	o := &office{tokens: newTokens(t)}
	opt := SharedOptions{Version: "test", Root: t.TempDir(), Auth: o.tokens.Verifier,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	if more != nil {
		more(&opt)
	}
	var err error
	if o.Shared, err = NewShared(e, opt); err != nil {
		t.Fatal(err)
	}
	h, err := o.Handler()
	if err != nil {
		t.Fatal(err)
	}
	o.Server = httptest.NewServer(h)
	t.Cleanup(func() {
		o.Server.Close()
		o.Shared.Close()
	})
	return o
}

// visitor is a client of a gateway for many.
type visitor struct {
	url, token, era, session string
	headers                  map[string]string
	caps                     object // of the client
	id                       atomic.Int32
}

// send posts a message, and returns the status and what came.
func (v *visitor) send(method string, params object) (int, object, http.Header, error) {
	m := object{"jsonrpc": "2.0", "id": v.id.Add(1), "method": method}
	if params == nil {
		params = object{}
	}
	if v.era >= stateless {
		params["_meta"] = object{reserved + "protocolVersion": v.era, reserved + "clientCapabilities": orNone(v.caps),
			reserved + "clientInfo": object{"name": "t", "version": "1"}}
	}
	m["params"] = params
	if strings.HasPrefix(method, "notifications/") {
		delete(m, "id")
	}
	req, err := v.request(http.MethodPost, m)
	if err != nil {
		return 0, nil, nil, err
	}
	if v.era >= stateless {
		req.Header.Set("Mcp-Method", method)
		if name, ok := params["name"].(string); ok {
			req.Header.Set("Mcp-Name", name)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	var out object
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var one object
				if json.Unmarshal([]byte(data), &one) == nil && one["id"] != nil {
					out = one
				}
			}
		}
		return res.StatusCode, out, res.Header, nil
	}
	data, err := io.ReadAll(res.Body)
	_ = json.Unmarshal(data, &out) // it may be a text
	if out == nil && len(data) > 0 {
		out = object{"text": string(data)}
	}
	return res.StatusCode, out, res.Header, err
}

func orNone(o object) object {
	if o == nil {
		return object{}
	}
	return o
}

// request returns a request with what a visitor always sends.
func (v *visitor) request(method string, body any) (*http.Request, error) {
	data := []byte(nil)
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequest(method, v.url, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if v.token != "" {
		req.Header.Set("Authorization", "Bearer "+v.token)
	}
	if v.era != "" {
		req.Header.Set("Mcp-Protocol-Version", v.era)
	}
	if v.session != "" {
		req.Header.Set("Mcp-Session-Id", v.session)
	}
	for name, value := range v.headers {
		req.Header.Set(name, value)
	}
	return req, nil
}

// visit begins as clients of an era do.
func (o *office) visit(t testing.TB, path, token, era string) *visitor {
	t.Helper()
	v := &visitor{url: o.URL + path, token: token, era: era}
	if era >= stateless {
		return v
	}
	v.era = ""
	code, out, head, err := v.send("initialize", object{"protocolVersion": era, "capabilities": object{},
		"clientInfo": object{"name": "t", "version": "1"}})
	if err != nil || code != 200 {
		t.Fatalf("got %d %v %v", code, out, err)
	}
	v.era, v.session = era, head.Get("Mcp-Session-Id")
	if _, _, _, err := v.send("notifications/initialized", nil); err != nil {
		t.Fatal(err)
	}
	return v
}

// tools lists what a visitor sees.
func (v *visitor) tools() (names []string, err error) {
	code, out, _, err := v.send("tools/list", nil)
	if err != nil || code != 200 {
		return nil, fmt.Errorf("got %d %v %v", code, out, err)
	}
	result, _ := out["result"].(object)
	list, ok := result["tools"].([]any)
	if !ok {
		return nil, fmt.Errorf("got %v", out)
	}
	for _, it := range list {
		names = append(names, it.(object)["name"].(string))
	}
	return names, nil
}

// says calls a tool and returns its text, or the error's.
func (v *visitor) says(tool string, args object) string {
	code, out, _, err := v.send("tools/call", object{"name": tool, "arguments": args})
	if err != nil {
		return err.Error()
	}
	if e, ok := out["error"].(object); ok {
		return e["message"].(string)
	}
	result, ok := out["result"].(object)
	if !ok {
		return fmt.Sprint(code, out)
	}
	return result["content"].([]any)[0].(object)["text"].(string)
}

// TestShared holds what each of several callers sees and can call, in both eras: the roles of its own token, all
// or one of them, and nothing of others.
func TestShared(t *testing.T) {
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), nil)
	dev := o.tokens.of(t, "alice", time.Hour, "dev")
	ops := o.tokens.of(t, "bob", time.Hour, "ops")
	both := o.tokens.of(t, "carol", time.Hour, "dev", "ops", "else")
	for _, era := range eras {
		for _, c := range []struct {
			path, token string
			want        []string
		}{
			{"/mcp", dev, []string{"s_read", "s_write"}},
			{"/mcp", ops, []string{"s_drop", "s_read"}},
			{"/mcp", both, []string{"s_drop", "s_read", "s_write"}},
			{"/mcp/dev", both, []string{"s_read", "s_write"}},
			{"/mcp/ops", both, []string{"s_drop", "s_read"}},
			{"/mcp/dev/look", both, []string{"s_read"}},
		} {
			v := o.visit(t, c.path, c.token, era)
			got, err := v.tools()
			slices.Sort(got)
			if d := cmp.Diff(c.want, got); d != "" || err != nil {
				t.Errorf("%s %s: %v\n%s", era, c.path, err, d)
			}
			for _, tool := range []string{"s_read", "s_write", "s_drop", "s_hidden", "s_nothing"} {
				said, listed := v.says(tool, object{"a": 1}), slices.Contains(c.want, tool)
				if want := fmt.Sprintf("unknown tool %q", tool); !listed && said != want {
					t.Errorf("%s %s: %s says %s, want %s", era, c.path, tool, said, want)
				}
				if want := strings.TrimPrefix(tool, "s_") + ` tenant= cookie= auth= args={"a":1}`; listed && said != want {
					t.Errorf("%s %s: %s says %s, want %s", era, c.path, tool, said, want)
				}
			}
		}
	}
	for _, c := range []struct {
		name, path, token string
		code              int
	}{
		{"no token", "/mcp", "", 401},
		{"forged", "/mcp", newTokens(t).of(t, "alice", time.Hour, "dev"), 401},
		{"expired", "/mcp", o.tokens.of(t, "alice", -time.Minute, "dev"), 401},
		{"no role", "/mcp", o.tokens.of(t, "dave", time.Hour), 403},
		{"no role's claim", "/mcp", o.tokens.of(t, "dave", time.Hour, "own"), 403},
		{"another's role", "/mcp/ops", dev, 404},
		{"a role of nobody", "/mcp/own", dev, 404},
		{"no such role", "/mcp/nothing", dev, 404},
		{"a mode that the role may not enter", "/mcp/ops/look", ops, 404},
		{"no such mode", "/mcp/dev/nothing", dev, 404},
		{"another path", "/other", dev, 404},
	} {
		for _, era := range eras {
			v := &visitor{url: o.URL + c.path, token: c.token, era: era}
			code, out, head, err := v.send("tools/list", nil)
			if err != nil || code != c.code {
				t.Errorf("%s: got %d %v %v, want %d", c.name, code, out, err, c.code)
			}
			want := map[int]string{401: `Bearer error="invalid_token"`, 403: `Bearer error="insufficient_scope"`}[c.code]
			if c.token == "" {
				want = "Bearer"
			}
			if got := head.Get("WWW-Authenticate"); got != want {
				t.Errorf("%s: got the challenge %q, want %q", c.name, got, want)
			}
		}
	}
	// A role that one does not have and one that there is not have the same answer.
	one := &visitor{url: o.URL + "/mcp/ops", token: dev, era: eras[1]}
	other := &visitor{url: o.URL + "/mcp/nix", token: dev, era: eras[1]}
	_, a, _, _ := one.send("tools/list", nil)
	_, z, _, _ := other.send("tools/list", nil)
	if d := cmp.Diff(a, z); d != "" {
		t.Error(d)
	}
}

// TestListenInSession holds that a method of the revision without sessions is unknown in a session.
func TestListenInSession(t *testing.T) {
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), nil)
	v := o.visit(t, "/mcp", o.tokens.of(t, "alice", time.Hour, "dev"), eras[0])
	_, out, _, err := v.send("subscriptions/listen", object{"notifications": object{"toolsListChanged": true}})
	e, _ := out["error"].(object)
	if err != nil || e["code"] != float64(jsonrpc.CodeMethodNotFound) {
		t.Errorf("got %v %v", out, err)
	}
}

// TestSharedSessions holds that a session is its principal's alone, and answers by the token of each request.
func TestSharedSessions(t *testing.T) {
	b := newBackend(t)
	keys := seal.New()
	at := func() *office {
		return newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) { o.HTTP = serve.HTTPOptions{Keys: keys} })
	}
	o := at()
	alice := o.visit(t, "/mcp", o.tokens.of(t, "alice", time.Hour, "dev"), "2025-11-25")
	thief := &visitor{url: alice.url, era: alice.era, session: alice.session, token: o.tokens.of(t, "bob", time.Hour, "ops")}
	if code, out, _, err := thief.send("tools/list", nil); code != 404 || err != nil {
		t.Errorf("another's session: got %d %v %v", code, out, err)
	}
	path := &visitor{url: alice.url + "/dev", era: alice.era, session: alice.session, token: alice.token}
	if code, out, _, err := path.send("tools/list", nil); code != 404 || err != nil {
		t.Errorf("another endpoint: got %d %v %v", code, out, err)
	}
	// Her roles are others now: the session goes on with what they permit.
	changed := &visitor{url: alice.url, era: alice.era, session: alice.session, token: o.tokens.of(t, "alice", time.Hour, "ops")}
	got, err := changed.tools()
	slices.Sort(got)
	if d := cmp.Diff([]string{"s_drop", "s_read"}, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if said := changed.says("s_write", nil); said != `unknown tool "s_write"` {
		t.Errorf("got %s", said)
	}
	// Another replica with the same key goes on with it, for her alone.
	second := at()
	moved := &visitor{url: second.URL + "/mcp", era: alice.era, session: alice.session, token: second.tokens.of(t, "alice", time.Hour, "dev")}
	got, err = moved.tools()
	slices.Sort(got)
	if d := cmp.Diff([]string{"s_read", "s_write"}, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	moved.token = second.tokens.of(t, "bob", time.Hour, "dev")
	if code, _, _, err := moved.send("tools/list", nil); code != 404 || err != nil {
		t.Errorf("another's session on another replica: got %d %v", code, err)
	}
}

// TestForwarded holds which headers reach a server: those of its entry and those that are to be passed on, as they
// are, and never those of one caller with the call of another.
func TestForwarded(t *testing.T) {
	t.Setenv("MODEC_CANARY", "leaked")
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) {
		o.Servers = map[string]ServerOptions{"s": {Forward: []string{"x-tenant"}}}
	})
	token := o.tokens.of(t, "alice", time.Hour, "dev")
	for _, era := range eras {
		for _, tenant := range []string{"one", "two", "${MODEC_CANARY}", "${env:MODEC_CANARY}"} {
			v := &visitor{url: o.URL + "/mcp", token: token, era: era,
				headers: map[string]string{"X-Tenant": tenant, "Cookie": "c=1", "X-Own": "mine", "X-Other": "2"}}
			if era < stateless {
				v = o.visit(t, "/mcp", token, era)
				v.headers = map[string]string{"X-Tenant": tenant, "Cookie": "c=1", "X-Own": "mine"}
			}
			if want, said := "read tenant="+tenant+" cookie= auth= args={}", v.says("s_read", object{}); said != want {
				t.Errorf("got %s, want %s", said, want)
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.seen {
		if own := h.Values("X-Own"); !slices.Equal(own, []string{"fixed"}) || h.Get("X-Other") != "" ||
			strings.Contains(fmt.Sprint(h), "leaked") || strings.Contains(fmt.Sprint(h), token) {
			t.Errorf("got %v", h)
		}
	}
	for _, c := range []struct {
		of   ServerOptions
		name string
		want string
	}{
		{ServerOptions{Forward: []string{"X-A"}, Shared: true}, "s", "is shared"},
		{ServerOptions{Forward: []string{"mcp-session-id"}}, "s", "no header that can be passed on"},
		{ServerOptions{Forward: []string{"host"}}, "s", "no header that can be passed on"},
		{ServerOptions{Forward: []string{"a b"}}, "s", "no header that can be passed on"},
		{ServerOptions{}, "other", "no server"},
	} {
		_, err := NewShared(engine(t, people(b.URL)), SharedOptions{Auth: o.tokens.Verifier,
			Servers: map[string]ServerOptions{c.name: c.of}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestMixing has two callers call at once, each of which must see its own answers alone.
func TestMixing(t *testing.T) {
	b := newBackend(t)
	for _, shared := range []bool{false, true} {
		o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) {
			if shared {
				o.Servers = map[string]ServerOptions{"s": {Shared: true}}
			} else {
				o.Servers = map[string]ServerOptions{"s": {Forward: []string{"X-Tenant"}}}
			}
		})
		before := b.sessions.Load()
		var all sync.WaitGroup
		for who, group := range map[string]string{"alice": "dev", "bob": "ops"} {
			for i := range 100 {
				era := eras[i%2]
				v := o.visit(t, "/mcp", o.tokens.of(t, who, time.Hour, group), era)
				v.headers = map[string]string{"X-Tenant": who}
				all.Go(func() {
					got, err := v.tools()
					slices.Sort(got)
					want := map[string][]string{"alice": {"s_read", "s_write"}, "bob": {"s_drop", "s_read"}}[who]
					if d := cmp.Diff(want, got); d != "" || err != nil {
						t.Errorf("%s: %v\n%s", who, err, d)
					}
					tenant := who
					if shared {
						tenant = ""
					}
					want1 := fmt.Sprintf(`read tenant=%s cookie= auth= args={"i":%d}`, tenant, i)
					if said := v.says("s_read", object{"i": i}); said != want1 {
						t.Errorf("%s: got %s, want %s", who, said, want1)
					}
					no := map[string]string{"alice": "s_drop", "bob": "s_write"}[who]
					if said := v.says(no, nil); said != fmt.Sprintf("unknown tool %q", no) {
						t.Errorf("%s: got %s", who, said)
					}
				})
			}
		}
		all.Wait()
		if n := b.sessions.Load() - before; shared && n != 1 {
			t.Errorf("got %d sessions with a shared server", n)
		}
	}
}

// TestSharedReload holds that what narrows is live at once for all, and what widens waits.
func TestSharedReload(t *testing.T) {
	b := newBackend(t)
	source := people(b.URL)
	o := newOffice(t, engine(t, source), nil)
	alice := o.visit(t, "/mcp", o.tokens.of(t, "alice", time.Hour, "dev"), "2025-11-25")
	if got, err := alice.tools(); len(got) != 2 || err != nil {
		t.Fatal(got, err)
	}
	with := func(old, next string) []string {
		t.Helper()
		return o.Reload(engine(t, strings.Replace(source, old, next, 1)), nil)
	}
	check := func(what string, want ...string) {
		t.Helper()
		fresh := o.visit(t, "/mcp", o.tokens.of(t, "erin", time.Hour, "dev"), "2025-11-25")
		for _, v := range []*visitor{alice, fresh} {
			got, err := v.tools()
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%s: %v\n%s", what, err, d)
			}
		}
	}
	if waiting := with(`"allow": ["read", "write"]`, `"allow": ["read"]`); len(waiting) > 0 {
		t.Errorf("got %q", waiting)
	}
	check("narrower", "s_read")
	waiting := with(`"allow": ["read", "write"]`, `"allow": ["read", "write", "drop"]`)
	if want := []string{`role dev: tool "drop" of server "s" (deny → allow)`}; !slices.Equal(waiting, want) {
		t.Errorf("got %q", waiting)
	}
	check("wider", "s_read", "s_write")
	with(`"claims": {"groups": "dev"}`, `"claims": {"groups": "dev2"}`)
	if _, err := alice.tools(); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("a role that is taken away: got %v", err)
	}
}

// TestRoom holds the bounds of how many gateways there are, of all and of one principal, and that idle ones end.
func TestRoom(t *testing.T) {
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) {
		o.Callers, o.Idle = 20, 2*time.Second
		o.Servers = map[string]ServerOptions{"s": {Forward: []string{"X-Tenant"}}}
	})
	token := o.tokens.of(t, "alice", time.Hour, "dev")
	for i := range 50 {
		v := &visitor{url: o.URL + "/mcp", token: token, era: eras[1], headers: map[string]string{"X-Tenant": fmt.Sprint(i)}}
		if got, err := v.tools(); len(got) != 2 || err != nil {
			t.Fatal(got, err)
		}
	}
	count := func() int {
		o.Shared.mu.Lock()
		defer o.Shared.mu.Unlock()
		return len(o.members)
	}
	if n := count(); n != mostOfOne {
		t.Errorf("got %d gateways of one principal, want %d", n, mostOfOne)
	}
	for i := range 30 {
		v := &visitor{url: o.URL + "/mcp", token: o.tokens.of(t, fmt.Sprint(i), time.Hour, "dev"), era: eras[1]}
		if got, err := v.tools(); len(got) != 2 || err != nil {
			t.Fatal(got, err)
		}
	}
	if n := count(); n != 20 {
		t.Errorf("got %d gateways, want 20", n)
	}
	o.Shared.mu.Lock()
	for _, m := range o.members {
		m.busy++
	}
	o.Shared.mu.Unlock()
	v := &visitor{url: o.URL + "/mcp", token: o.tokens.of(t, "late", time.Hour, "dev"), era: eras[1]}
	if code, _, _, err := v.send("tools/list", nil); code != http.StatusServiceUnavailable || err != nil {
		t.Errorf("got %d %v", code, err)
	}
	o.Shared.mu.Lock()
	for _, m := range o.members {
		m.busy--
	}
	o.Shared.mu.Unlock()
	for range 100 {
		if count() == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%d gateways stay", count())
}

// TestMetadata holds what a client learns of how to be known.
func TestMetadata(t *testing.T) {
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) {
		o.Issuer, o.Address = "https://id.example.com", "https://mcp.example.com/mcp"
	})
	v := &visitor{url: o.URL + "/mcp", era: eras[1]}
	_, _, head, err := v.send("tools/list", nil)
	want := `Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`
	if got := head.Get("WWW-Authenticate"); got != want || err != nil {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource/mcp", "/healthz", "/readyz"} {
		res, err := http.Get(o.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || strings.Contains(path, "oauth") && !strings.Contains(string(text), `"https://id.example.com"`) {
			t.Errorf("%s: got %d %s", path, res.StatusCode, text)
		}
	}
}

// TestSharedWithout holds who may call where nobody is asked who calls.
func TestSharedWithout(t *testing.T) {
	b := newBackend(t)
	if _, err := NewShared(engine(t, people(b.URL)), SharedOptions{}); err == nil || !strings.Contains(err.Error(), "nobody could call") {
		t.Errorf("got %v", err)
	}
	if _, err := NewShared(engine(t, people(b.URL)), SharedOptions{Auth: newTokens(t).Verifier, Subject: ir.SubjectRef{Role: "dev"}}); err == nil {
		t.Error("a role for all beside tokens is taken")
	}
	one := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) { o.Auth, o.Subject = nil, ir.SubjectRef{Role: "ops"} })
	for path, want := range map[string]int{"/mcp": 2, "/mcp/ops": -1, "/mcp/dev": -1} {
		got, err := (&visitor{url: one.URL + path, era: eras[1]}).tools()
		if want < 0 && err == nil || want >= 0 && (err != nil || len(got) != want) {
			t.Errorf("%s: got %v %v", path, got, err)
		}
	}
	anyone := strings.Replace(people(b.URL), `"claims": {"groups": "dev"}`, `"claims": "anyone"`, 1)
	many := newOffice(t, engine(t, anyone), func(o *SharedOptions) { o.Auth = nil })
	for path, want := range map[string]int{"/mcp": 2, "/mcp/dev": 2, "/mcp/ops": -1} {
		got, err := (&visitor{url: many.URL + path, era: eras[1], token: "x"}).tools()
		if want < 0 && err == nil || want >= 0 && (err != nil || len(got) != want) {
			t.Errorf("%s: got %v %v", path, got, err)
		}
	}
}

// TestSharedAudit holds that the record says who called, with which roles, and what they did not come to see.
func TestSharedAudit(t *testing.T) {
	b := newBackend(t)
	var mu sync.Mutex
	var events []string
	o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) {
		o.Audit = func(e audit.Event) {
			mu.Lock()
			defer mu.Unlock()
			detail, rest, _ := strings.Cut(e.Detail, ":")
			if strings.Contains(rest, "the last of") && !strings.Contains(rest, "of 50 such requests") {
				t.Errorf("got %q", e.Detail)
			}
			events = append(events, strings.Join([]string{e.Principal, e.Role, e.Server, e.Tool, e.Decision, string(e.Outcome), detail}, "|"))
		}
	})
	both := o.tokens.of(t, "carol", time.Hour, "dev", "ops")
	v := &visitor{url: o.URL + "/mcp", token: both, era: eras[1]}
	v.says("s_read", object{})
	v.says("s_hidden", object{})
	v = &visitor{url: o.URL + "/mcp/dev", token: both, era: eras[1]}
	v.says("s_drop", object{})
	v = &visitor{url: o.URL + "/mcp/own", token: both, era: eras[1]}
	v.says("s_read", object{})
	v = &visitor{url: o.URL + "/mcp", token: "forged", era: eras[1]}
	v.says("s_read", object{})
	const carol = "https://id.example.com carol"
	want := []string{
		carol + "|dev,ops|s|read|allow|" + string(audit.Done) + "|",
		carol + "|dev,ops|s|hidden|deny|" + string(audit.Refused) + "|",
		carol + "|dev|s|drop|deny|" + string(audit.Refused) + "|",
		carol + "|||/mcp/own||" + string(audit.Refused) + "|there is no such endpoint for you",
		"|||/mcp||" + string(audit.Refused) + "|the token is not taken",
	}
	mu.Lock()
	if d := cmp.Diff(want, events); d != "" {
		t.Error(d)
	}
	mu.Unlock()
	for i := range 50 { // nobody drives out of the audit what is written of others
		v.token = fmt.Sprint("forged", i)
		v.says("s_read", object{})
	}
	o.Shared.Close()
	mu.Lock()
	defer mu.Unlock()
	if more := events[len(want):]; len(more) != 1 || !strings.Contains(more[0], string(audit.Refused)) {
		t.Errorf("got %q, want one event for all", more)
	}
}

// TestNarrowing holds that a reload that takes something away is live, whatever the settings name.
func TestNarrowing(t *testing.T) {
	b := newBackend(t)
	source := people(b.URL)
	o := newOffice(t, engine(t, source), func(o *SharedOptions) {
		o.Naming, o.Servers = Naming{"s": "s_"}, map[string]ServerOptions{"s": {Shared: true}}
	})
	alice := o.visit(t, "/mcp", o.tokens.of(t, "alice", time.Hour, "dev"), "2025-11-25")
	if got, err := alice.tools(); len(got) != 2 || err != nil {
		t.Fatal(got, err)
	}
	without := `{"servers": {"z": {"command": "x", "tools": {"read": {}}}}, "roles": {"dev": {"claims": {"groups": "dev"}, "can": {"mcp": {"z": "allow"}}}}}`
	o.Reload(engine(t, without), nil)
	if got, err := alice.tools(); len(got) != 0 || err != nil {
		t.Errorf("the server is gone: got %v %v", got, err)
	}
	o.hubMu.Lock()
	if len(o.hubs) != 0 {
		t.Errorf("got %d shared servers, want none", len(o.hubs))
	}
	o.hubMu.Unlock()

	g := faked(t, engine(t, source), Options{Subject: ir.SubjectRef{Role: "own"}, Logger: slog.New(slog.DiscardHandler)},
		map[string]*fake{"s": offering(t, []string{"read"}, nil, nil, nil)})
	g.Reload(engine(t, without), nil)
	if n := len(g.Table().Servers()); n != 0 {
		t.Errorf("the role is gone, and %d servers are served", n)
	}
}

// TestRevoked holds that a token that is taken out of the list counts no longer, and one that is added not yet.
func TestRevoked(t *testing.T) {
	b := newBackend(t)
	list := func(tokens ...string) *auth.Verifier {
		var opt auth.Options
		for _, token := range tokens {
			sum := sha256.Sum256([]byte(token))
			opt.Tokens = append(opt.Tokens, auth.Token{Name: token, SHA256: hex.EncodeToString(sum[:]),
				Claims: map[string][]string{"groups": {"dev"}}})
		}
		v, err := auth.New(opt)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	const one, two, three = "the-first-token-of-all", "the-second-token-of-all", "the-third-token-of-all"
	o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) { o.Auth = list(one, two) })
	check := func(token string, want int) {
		t.Helper()
		v := &visitor{url: o.URL + "/mcp", token: token, era: eras[1]}
		if code, _, _, err := v.send("tools/list", nil); code != want || err != nil {
			t.Errorf("%s: got %d %v, want %d", token, code, err, want)
		}
	}
	check(one, 200)
	o.Restrict(list(two, three))
	check(one, 401)
	check(two, 200)
	check(three, 401)
}

// TestOwnShare holds that one caller leaves room for others.
func TestOwnShare(t *testing.T) {
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) { o.Sessions = 20 })
	greedy := o.tokens.of(t, "greedy", time.Hour, "dev")
	var all []*visitor
	for range 25 {
		v := o.visit(t, "/mcp", greedy, "2025-11-25") // the longest idle session ends for another one
		all = append(all, v)
	}
	began := 0
	o.Shared.mu.Lock()
	for _, m := range o.members {
		for range m.gateway.sdk.Sessions() {
			began++
		}
	}
	o.Shared.mu.Unlock()
	if began != o.opt.Sessions {
		t.Errorf("got %d sessions of one caller, want %d", began, o.opt.Sessions)
	}
	if got, err := all[0].tools(); len(got) != 2 || err != nil {
		t.Errorf("a session that was idle does not go on: got %v %v", got, err)
	}
	for _, v := range all[:20] {
		v.news(t)
	}
	busy := &visitor{url: o.URL + "/mcp", token: greedy}
	eventually(t, "a full gateway", func() bool {
		req, err := busy.request(http.MethodPost, object{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": object{
			"protocolVersion": "2025-11-25", "capabilities": object{}, "clientInfo": object{"name": "t", "version": "1"}}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != ""
	})
	if got, err := o.visit(t, "/mcp", o.tokens.of(t, "alice", time.Hour, "dev"), "2025-11-25").tools(); len(got) != 2 || err != nil {
		t.Errorf("another caller: got %v %v", got, err)
	}
	o.Shared.mu.Lock()
	for id := range o.members {
		o.open[id.principal] = mostAtOnce
	}
	o.Shared.mu.Unlock()
	v := &visitor{url: o.URL + "/mcp", token: greedy, era: eras[1]}
	if code, _, _, err := v.send("tools/list", nil); code != http.StatusTooManyRequests || err != nil {
		t.Errorf("got %d %v", code, err)
	}
	v.token = o.tokens.of(t, "bob", time.Hour, "dev")
	if code, _, _, err := v.send("tools/list", nil); code != 200 || err != nil {
		t.Errorf("got %d %v", code, err)
	}
}

// TestUnavailable holds that callers do not learn how a server is reached.
func TestUnavailable(t *testing.T) {
	t.Setenv("MODEC_CANARY", "corp-pass-1")
	b := newBackend(t)
	o := newOffice(t, engine(t, strings.Replace(people(b.URL), b.URL, "http://127.0.0.1:1/${env:MODEC_CANARY}/x?k=${env:MODEC_CANARY}", 1)), nil)
	v := &visitor{url: o.URL + "/mcp", token: o.tokens.of(t, "alice", time.Hour, "dev"), era: eras[1]}
	if said := v.says("s_read", object{}); said != `server "s" is not available: the gateway's log says why` {
		t.Errorf("got %s", said)
	}
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
