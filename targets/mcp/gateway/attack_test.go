package gateway

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/targets/mcp/auth"
	"modec.dev/modec/targets/mcp/serve"
)

// patience is how long a test waits for what has to come.
const patience = time.Minute

// TestApprovalOfOtherHeaders holds that what a person agreed to counts for the headers that were sent when it was
// asked: with others the call would reach another tenant.
func TestApprovalOfOtherHeaders(t *testing.T) {
	b := newBackend(t)
	source := strings.Replace(people(b.URL), `"allow": ["read", "write"]`, `"allow": ["read"], "ask": ["write"]`, 1)
	o := newOffice(t, engine(t, source), func(o *SharedOptions) {
		o.Servers = map[string]ServerOptions{"s": {Forward: []string{"X-Tenant"}}}
	})
	v := &visitor{url: o.URL + "/mcp", token: o.tokens.of(t, "alice", time.Hour, "dev"), era: eras[1],
		caps: object{"elicitation": object{"form": object{}}}}
	call := func(tenant string, more object) object {
		t.Helper()
		if v.headers = map[string]string{"X-Tenant": tenant}; tenant == "" {
			v.headers = nil
		}
		params := object{"name": "s_write", "arguments": object{}}
		for key, value := range more {
			params[key] = value
		}
		code, out, _, err := v.send("tools/call", params)
		result, ok := out["result"].(object)
		if err != nil || code != 200 || !ok {
			t.Fatalf("got %d %v %v", code, out, err)
		}
		return result
	}
	state := call("one", nil)["requestState"]
	agreed := object{"requestState": state, "inputResponses": object{approvalKey: object{"action": "accept"}}}
	for _, tenant := range []string{"two", "", "one, one"} {
		if said, bad := textOf(t, call(tenant, agreed)); !bad || !strings.Contains(said, "does not count") {
			t.Errorf("with the tenant %q: got %s", tenant, said)
		}
	}
	if said, _ := textOf(t, call("one", agreed)); said != "write tenant=one cookie= auth= args={}" {
		t.Errorf("got %s", said)
	}
}

// news opens a stream of news, and returns its lines until it ends.
func (v *visitor) news(t testing.TB) chan string {
	t.Helper()
	method, body := http.MethodGet, any(nil)
	if v.era >= stateless {
		method, body = http.MethodPost, object{"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": object{
			"_meta": object{reserved + "protocolVersion": v.era, reserved + "clientCapabilities": object{},
				reserved + "clientInfo": object{"name": "t", "version": "1"}},
			"notifications": object{"toolsListChanged": true}}}
	}
	req, err := v.request(method, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if v.era >= stateless {
		req.Header.Set("Mcp-Method", "subscriptions/listen")
	} else {
		req.Header.Set("Accept", "text/event-stream")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		text, err := io.ReadAll(res.Body)
		t.Fatalf("got %d %s %v", res.StatusCode, text, err)
	}
	heard := make(chan string)
	go func() {
		defer close(heard)
		for lines := bufio.NewScanner(res.Body); lines.Scan(); { // how it ends is not the question
			select {
			case heard <- lines.Text():
			case <-t.Context().Done():
				return
			}
		}
	}()
	return heard
}

func holdEnded(t *testing.T, news chan string) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case _, open := <-news:
			if !open {
				return
			}
		case <-late:
			t.Fatal("the stream stays")
		}
	}
}

// isOpen reports whether a stream has not ended.
func isOpen(news chan string) bool {
	for {
		select {
		case _, open := <-news:
			if !open {
				return false
			}
		default:
			return true
		}
	}
}

// TestStreamsEnd holds that a stream of news ends with what gave access to it: the time of its token, the token in the
// list, its claims and the role in the policy. The streams of others stay.
func TestStreamsEnd(t *testing.T) {
	b := newBackend(t)
	source := people(b.URL)
	list := func(tokens map[string]string) *auth.Verifier {
		var opt auth.Options
		for token, group := range tokens {
			sum := sha256.Sum256([]byte(token))
			opt.Tokens = append(opt.Tokens, auth.Token{Name: token, SHA256: hex.EncodeToString(sum[:]),
				Claims: map[string][]string{"groups": strings.Fields(group)}})
		}
		v, err := auth.New(opt)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	const one, other = "the-token-of-the-first-one", "the-token-of-the-other-one"
	for name, c := range map[string]struct {
		auth *auth.Verifier
		ends func(*office)
	}{
		"the token's time": {nil, func(*office) {}},
		"the token": {list(map[string]string{one: "dev", other: "ops"}),
			func(o *office) { o.Restrict(list(map[string]string{other: "ops"})) }},
		"the claims": {list(map[string]string{one: "dev ops", other: "ops"}),
			func(o *office) { o.Restrict(list(map[string]string{one: "ops", other: "ops"})) }},
		"the role's claims": {list(map[string]string{one: "dev", other: "ops"}), func(o *office) {
			o.Reload(engine(t, strings.Replace(source, `"groups": "dev"`, `"groups": "gone"`, 1)), nil)
		}},
		"the role": {list(map[string]string{one: "dev", other: "ops"}),
			func(o *office) { o.Reload(engine(t, strings.Replace(source, `"dev":`, `"dev2":`, 1)), nil) }},
	} {
		for _, era := range eras {
			for _, path := range []string{"/mcp", "/mcp/dev"} {
				t.Run(name+" "+era+" "+path, func(t *testing.T) {
					t.Parallel()
					o := newOffice(t, engine(t, source), func(o *SharedOptions) {
						if c.auth != nil {
							o.Auth = c.auth
						}
					})
					first, second := one, other
					if c.auth == nil {
						first, second = o.tokens.of(t, "alice", 5*time.Second, "dev"), o.tokens.of(t, "bob", time.Hour, "ops")
					}
					ends, stays := o.visit(t, path, first, era).news(t), o.visit(t, "/mcp", second, era).news(t)
					c.ends(o)
					holdEnded(t, ends)
					if !isOpen(stays) {
						t.Error("the stream of another one ends")
					}
				})
			}
		}
	}
}

// TestStreamsEndByTheirOwnToken holds that a role which goes ends the stream of a token that had it, whatever the first
// token of the same caller has.
func TestStreamsEndByTheirOwnToken(t *testing.T) {
	b := newBackend(t)
	source := strings.Replace(people(b.URL), `"groups": "dev"`, `"groups": ["dev", "also"]`, 1)
	o := newOffice(t, engine(t, source), nil)
	also := &visitor{url: o.URL + "/mcp/dev", token: o.tokens.of(t, "alice", time.Hour, "also"), era: eras[1]}
	if got, err := also.tools(); len(got) != 2 || err != nil {
		t.Fatal(got, err)
	}
	ends := o.visit(t, "/mcp/dev", o.tokens.of(t, "alice", time.Hour, "dev"), eras[1]).news(t)
	stays := o.visit(t, "/mcp/dev", also.token, eras[1]).news(t)
	o.Reload(engine(t, strings.Replace(source, `["dev", "also"]`, `"also"`, 1)), nil)
	holdEnded(t, ends)
	if !isOpen(stays) {
		t.Error("the stream of the other token ends")
	}
}

// TestRestrictInBetween holds that a request whose token was looked at before it was taken out of the list, and that
// came in only afterwards, ends too.
func TestRestrictInBetween(t *testing.T) {
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), nil)
	token := o.tokens.of(t, "alice", time.Hour, "dev")
	info, err := o.verify(t.Context(), token, &http.Request{})
	if err != nil {
		t.Fatal(err)
	}
	v := info.Extra[visitKey].(*visit)
	v.stop = func() {}
	o.Restrict(newTokens(t).Verifier)
	if err := o.enter(v, &http.Request{}); err != nil {
		t.Fatal(err)
	}
	defer o.leave(v)
	if o.askedBefore(v); !v.isGone() {
		t.Error("the request goes on")
	}
}

// TestHeadersOfAttackers holds that a request with two tokens is refused, whichever of them is good.
func TestHeadersOfAttackers(t *testing.T) {
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), nil)
	good := "Bearer " + o.tokens.of(t, "alice", time.Hour, "dev")
	for _, c := range []struct {
		sent []string
		want int
	}{
		{[]string{good}, 200},
		{[]string{good, "Bearer x"}, 400},
		{[]string{"Bearer x", good}, 400},
		{[]string{good, good}, 400},
		{[]string{good + ", " + good}, 401},
	} {
		for _, era := range eras {
			v := &visitor{url: o.URL + "/mcp", era: era}
			meta := object{reserved + "protocolVersion": era, reserved + "clientCapabilities": object{}}
			req, err := v.request(http.MethodPost, object{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": object{"_meta": meta}})
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Authorization"] = c.sent
			req.Header.Set("Mcp-Method", "tools/list")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			// A token alone is no session, which the earlier revision wants; it is the token that is asked about here.
			if got := res.StatusCode; (era >= stateless || c.want != 200) && got != c.want {
				t.Errorf("%s %q: got %d, want %d", era, c.sent, got, c.want)
			}
		}
	}
}

// TestBodies holds the bounds of what a body has: messages, bytes and time.
func TestBodies(t *testing.T) {
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) {
		o.HTTP = serve.HTTPOptions{Body: 1 << 20, BodyTime: 200 * time.Millisecond}
	})
	token := o.tokens.of(t, "alice", time.Hour, "dev")
	v := o.visit(t, "/mcp", token, "2025-03-26")
	post := func(body any) (int, string) {
		t.Helper()
		req, err := v.request(http.MethodPost, body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	before := len(o.openVisits())
	batch := []object{{"jsonrpc": "2.0", "id": 1, "method": "ping"}}
	if code, text := post(batch); code != 400 || !strings.Contains(text, "want one message") {
		t.Errorf("a batch: got %d %s", code, text)
	}
	if code, text := post(object{"x": strings.Repeat("x", 1<<20)}); code != 413 || !strings.Contains(text, "more than") {
		t.Errorf("a long body: got %d %s", code, text)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(o.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{", token)
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || strings.Contains(line, "200") {
		t.Errorf("a body that does not come: got %q, %v", line, err)
	}
	for range 100 {
		if len(o.openVisits()) == before {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%d requests stay under way", len(o.openVisits())-before)
}

func (o *office) openVisits() (list []*visit) {
	o.Shared.mu.Lock()
	defer o.Shared.mu.Unlock()
	for v := range o.visits {
		list = append(list, v)
	}
	return list
}

// TestEndedStaysEnded holds that a session that its client ended is over whatever headers come with its id, and after
// a reload that ended its gateway.
func TestEndedStaysEnded(t *testing.T) {
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) {
		o.Servers = map[string]ServerOptions{"s": {Forward: []string{"X-Tenant"}}}
	})
	v := o.visit(t, "/mcp", o.tokens.of(t, "alice", time.Hour, "dev"), eras[0])
	v.headers = map[string]string{"X-Tenant": "two"}
	if got, err := v.tools(); len(got) != 2 || err != nil {
		t.Fatalf("a session goes on with other values: got %v %v", got, err)
	}
	req, err := v.request(http.MethodDelete, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusNoContent {
		t.Fatal(res, err)
	}
	res.Body.Close()
	check := func(when string) {
		t.Helper()
		for _, tenant := range []string{"two", "one", "three", ""} {
			if v.headers = map[string]string{"X-Tenant": tenant}; tenant == "" {
				v.headers = nil
			}
			if code, out, _, err := v.send("tools/list", nil); code != http.StatusNotFound || err != nil {
				t.Errorf("%s, with the tenant %q: got %d %v %v", when, tenant, code, out, err)
			}
		}
	}
	check("after its end")
	o.Shared.mu.Lock()
	for id := range o.members {
		o.drop(id)
	}
	o.Shared.mu.Unlock()
	check("after its gateway's end")
}

// TestServersOfOneCaller holds that other values of a forwarded header start again only the server that gets it, that
// the endpoints of one caller share its servers, and that these end with its last gateway.
func TestServersOfOneCaller(t *testing.T) {
	gets, other := newBackend(t), newBackend(t)
	source := strings.Replace(people(gets.URL), `{"servers": {`,
		`{"servers": {"o": {"type": "http", "url": "`+other.URL+`", "tools": {"read": {}}}, `, 1)
	source = strings.ReplaceAll(source, `"can": {"mcp": {`, `"can": {"mcp": {"o": {"allow": ["read"]}, `)
	o := newOffice(t, engine(t, source), func(o *SharedOptions) {
		o.Servers = map[string]ServerOptions{"s": {Forward: []string{"X-Tenant"}}}
	})
	tenants := []string{"one", "two", "three"}
	for _, who := range []string{"alice", "bob"} {
		token := o.tokens.of(t, who, time.Hour, "dev", "ops")
		for _, tenant := range tenants {
			for _, path := range []string{"/mcp", "/mcp/dev", "/mcp/dev/look"} {
				v := &visitor{url: o.URL + path, token: token, era: eras[1], headers: map[string]string{"X-Tenant": tenant}}
				if want, said := "read tenant= cookie= auth= args={}", v.says("o_read", object{}); said != want {
					t.Errorf("got %s, want %s", said, want)
				}
				if want, said := "read tenant="+tenant+" cookie= auth= args={}", v.says("s_read", object{}); said != want {
					t.Errorf("got %s, want %s", said, want)
				}
			}
		}
	}
	if got, want := []int{int(gets.sessions.Load()), int(other.sessions.Load())}, []int{2 * len(tenants), 2}; !slices.Equal(got, want) {
		t.Errorf("got %v sessions, want %v", got, want)
	}
	hubs := func() int {
		o.hubMu.Lock()
		defer o.hubMu.Unlock()
		return len(o.hubs)
	}
	if got, want := hubs(), 2*(len(tenants)+1); got != want {
		t.Errorf("got %d servers, want %d", got, want)
	}
	o.Shared.mu.Lock()
	for id := range o.members {
		if id.principal == "https://id.example.com alice" {
			o.drop(id)
		}
	}
	o.Shared.mu.Unlock()
	for end := time.Now().Add(patience); hubs() != len(tenants)+1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got %d servers after one of two callers is gone", hubs())
		}
	}
}

// watched is a server that notes who asks it for what.
type watched struct {
	*fake
	name  string
	mu    *sync.Mutex
	lists *[]string
}

func (w *watched) list(ctx context.Context, k *kind) (*list, error) {
	w.mu.Lock()
	*w.lists = append(*w.lists, w.name+" "+k.field)
	w.mu.Unlock()
	return w.fake.list(ctx, k)
}

// TestHiddenAsksNobody holds that what is denied takes the way of what does not exist: no server is asked about the
// one that is not about the other. So it cannot answer later, though its server had to be started.
func TestHiddenAsksNobody(t *testing.T) {
	const source = `{"servers": {"s": {"command": "s", "tools": {"a": {}, "b": {}, "c": {}}}, "h": {"command": "h", "tools": {"a": {}}}},
		"roles": {"r": {"can": {"mcp": {"s": {"deny": ["b"], "default": "allow"}, "h": "deny"}}}}}`
	e := engine(t, source)
	pinned := &pins.Set{}
	sv := e.Project().Server("s")
	p := pins.Of(sv)
	for _, name := range []string{"a", "b"} {
		pin, err := pins.New(json.RawMessage(`{"name":"` + name + `","inputSchema":{"type":"object"},"x-own":1}`))
		if err != nil {
			t.Fatal(err)
		}
		p.Items[pins.Tools][name] = pin
	}
	pinned.Servers = []*pins.Server{p}
	var mu sync.Mutex
	var lists []string
	f := offering(t, []string{"a", "b", "c", "d"}, []string{"p"}, []string{"res://r"}, []string{"res://t/{x}"})
	g, err := newGateway(e, Options{Subject: ir.SubjectRef{Role: "r"}, Version: "test", Pins: pinned,
		Logger: slog.New(slog.DiscardHandler)},
		func(sv ir.Server) caller { return &watched{f, sv.Name, &mu, &lists} })
	if err != nil {
		t.Fatal(err)
	}
	for _, era := range eras {
		w := dial(t, g, era, object{})
		asks := func(method string, params object) (got []string, said string) {
			t.Helper()
			mu.Lock()
			lists = nil
			mu.Unlock()
			m := w.call(method, params)
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(lists)
			return lists, fmt.Sprint(m["error"])
		}
		for method, c := range map[string]struct {
			key    string
			denied []string
			of     func(string) object
		}{
			"tools/call":          {"name", []string{"s_b", "s_c", "s_d", "h_a", "h_b"}, nil},
			"prompts/get":         {"name", []string{"h_p"}, nil},
			"resources/read":      {"uri", []string{"hid://r", "res://other"}, nil},
			"completion/complete": {"", []string{"h_p"}, func(name string) object { return object{"type": "ref/prompt", "name": name} }},
		} {
			params := func(name string) object {
				if c.of == nil {
					return object{c.key: name}
				}
				return object{"ref": c.of(name), "argument": object{"name": "x", "value": ""}}
			}
			unknown, words := asks(method, params("unknown://x"))
			if method == "tools/call" && len(unknown) > 0 {
				t.Errorf("%s %s: an unknown tool asks %q", era, method, unknown)
			}
			for _, name := range c.denied {
				got, said := asks(method, params(name))
				if d := cmp.Diff(unknown, got); d != "" {
					t.Errorf("%s %s %s: other servers are asked than of what does not exist:\n%s", era, method, name, d)
				}
				if want := strings.ReplaceAll(words, "unknown://x", name); said != want {
					t.Errorf("%s %s %s: got %s, want %s", era, method, name, said, want)
				}
			}
		}
		if got, said := asks("tools/call", object{"name": "s_a"}); !slices.Equal(got, []string{"s tools"}) || said != "<nil>" {
			t.Errorf("%s: what is there asks %q and says %s", era, got, said)
		}
	}
}

// holdEndMakesRoom ends a session, and with it all that it has subscribed to.
func holdEndMakesRoom(t *testing.T, v *visitor, left *atomic.Int32) {
	t.Helper()
	req, err := v.request(http.MethodDelete, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	for end := time.Now().Add(patience); left.Load() < mostSubscribed; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d subscriptions of a session that ended are over, want %d", left.Load(), mostSubscribed)
		}
	}
}

// TestSubscriptions holds how many resources one caller, and all of them, subscribe to; that a session which ends makes
// room; and that one session of a caller that has heard enough does not end what another one hears.
func TestSubscriptions(t *testing.T) {
	var at *sdk.Server
	var asked, left atomic.Int32
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return at }, nil)
	at = sdk.NewServer(&sdk.Implementation{Name: "b", Version: "1"}, &sdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { asked.Add(1); return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { left.Add(1); return nil },
	})
	at.AddResourceTemplate(&sdk.ResourceTemplate{Name: "t", URITemplate: "res://t/{id}"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) { return nil, nil })
	b := httptest.NewServer(h)
	t.Cleanup(b.Close)
	source := `{"servers": {"s": {"type": "http", "url": "` + b.URL + `"}},
		"roles": {"dev": {"claims": {"groups": "dev"}, "can": {"mcp": {"s": "allow"}}}}}`
	o := newOffice(t, engine(t, source), func(o *SharedOptions) { o.Servers = map[string]ServerOptions{"s": {Shared: true}} })
	subscribe := func(v *visitor, verb, uri string) string {
		t.Helper()
		code, out, _, err := v.send("resources/"+verb, object{"uri": uri})
		if err != nil || code != 200 {
			t.Fatalf("got %d %v %v", code, out, err)
		}
		e, _ := out["error"].(object)
		said, _ := e["message"].(string)
		return said
	}
	const full = "There are as many subscriptions to this server as there may be."
	var all []*visitor
	began := 0
	for i := range mostOfServer/mostSubscribed + 1 {
		v := o.visit(t, "/mcp", o.tokens.of(t, fmt.Sprint("who", i), time.Hour, "dev"), eras[0])
		all = append(all, v)
		own := 0
		for j := range mostSubscribed + 1 {
			switch said := subscribe(v, "subscribe", fmt.Sprintf("res://t/%d-%d", i, j)); said {
			case "":
				own++
			case full:
			default:
				t.Fatalf("got %s", said)
			}
		}
		if began += own; own > mostSubscribed || own < mostSubscribed && began != mostOfServer {
			t.Errorf("caller %d has %d subscriptions, and all %d", i, own, began)
		}
	}
	if n := int(asked.Load()); began != mostOfServer || n != began {
		t.Errorf("got %d subscriptions, %d of the server, want %d", began, n, mostOfServer)
	}
	holdEndMakesRoom(t, all[0], &left)
	// Two sessions of one caller hear of one resource.
	one, two := o.visit(t, "/mcp", all[0].token, eras[0]), o.visit(t, "/mcp", all[0].token, eras[0])
	for _, v := range []*visitor{one, two} {
		if said := subscribe(v, "subscribe", "res://t/both"); said != "" {
			t.Errorf("got %s", said)
		}
	}
	before := left.Load()
	if said := subscribe(one, "unsubscribe", "res://t/both"); said != "" || left.Load() != before {
		t.Errorf("got %q, and the server is told that nobody listens: %t", said, left.Load() != before)
	}
	heard := two.news(t)
	for end := time.Now().Add(patience); ; {
		if err := at.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: "res://t/both"}); err != nil {
			t.Fatal(err)
		}
		select {
		case line := <-heard:
			if !strings.Contains(line, "res://t/both") {
				continue
			}
		case <-time.After(100 * time.Millisecond): // the stream may not have been there yet
			if time.Now().Before(end) {
				continue
			}
			t.Error("the other session hears nothing")
		}
		break
	}
	if said := subscribe(two, "unsubscribe", "res://t/both"); said != "" || left.Load() != before+1 {
		t.Errorf("got %q, and the server is told that nobody listens %d times, want once", said, left.Load()-before)
	}
	if said := subscribe(two, "unsubscribe", "other://x"); said != "Resource not found: other://x" {
		t.Errorf("got %q", said)
	}
}
