package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/targets/mcp/auth"
)

// TestSettleHeaders holds that a header that the settings take away from a server does not reach it any more, in the
// sessions that are there and in new ones, and that what they add waits.
func TestSettleHeaders(t *testing.T) {
	const mapped = "X-Mcp-Headers"
	for name, c := range map[string]struct {
		first, next   ServerOptions
		before, after string
		waiting       []string
	}{
		"forward": {
			ServerOptions{Forward: []string{"Authorization", "X-Tenant"}},
			ServerOptions{Forward: []string{"x-tenant", "Cookie"}},
			"read tenant=one cookie= auth=Bearer", "read tenant=one cookie= auth= ",
			[]string{`the header Cookie of the request for server "s"`},
		},
		"no settings": {
			ServerOptions{Forward: []string{"Authorization", "X-Tenant"}}, ServerOptions{},
			"read tenant=one cookie= auth=Bearer", "read tenant= cookie= auth= ", nil,
		},
		"no map": {
			ServerOptions{Forward: []string{"X-Tenant"}, Map: mapped}, ServerOptions{Forward: []string{"X-Tenant"}},
			"read tenant=mapped cookie= auth= ", "read tenant= cookie= auth= ",
			[]string{`the header X-Tenant of the request for server "s"`},
		},
		"another map": {
			ServerOptions{Forward: []string{"X-Tenant"}}, ServerOptions{Forward: []string{"X-Tenant"}, Map: mapped},
			"read tenant=one cookie= auth= ", "read tenant= cookie= auth= ",
			[]string{`the header X-Tenant of the map X-Mcp-Headers for server "s"`},
		},
	} {
		for _, era := range eras {
			t.Run(name+" "+era, func(t *testing.T) {
				b := newBackend(t)
				o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) {
					o.Servers = map[string]ServerOptions{"s": c.first}
				})
				headers := map[string]string{"X-Tenant": "one", mapped: `{"` + b.URL + `": {"headers": {"X-Tenant": "mapped"}}}`}
				alice := o.visit(t, "/mcp", o.tokens.of(t, "alice", time.Hour, "dev"), era)
				alice.headers = headers
				if got := alice.says("s_read", object{}); !strings.HasPrefix(got, c.before) {
					t.Fatalf("before: got %q", got)
				}
				if d := cmp.Diff(c.waiting, o.UpdateServers(map[string]ServerOptions{"s": c.next})); d != "" {
					t.Error(d)
				}
				bob := o.visit(t, "/mcp", o.tokens.of(t, "bob", time.Hour, "dev"), era)
				bob.headers = headers
				for who, v := range map[string]*visitor{"alice": alice, "bob": bob} {
					if got := v.says("s_read", object{}); !strings.HasPrefix(got, c.after) {
						t.Errorf("%s, after: got %q", who, got)
					}
				}
				if d := cmp.Diff([]string(nil), o.UpdateServers(map[string]ServerOptions{"s": c.first})); d != "" {
					t.Error(d)
				}
				if got := alice.says("s_read", object{}); !strings.HasPrefix(got, c.before) {
					t.Errorf("again as at the start: got %q", got)
				}
			})
		}
	}
}

// TestSettleShared holds that a server that is shared no longer is another one for each caller, that a call under way
// comes to its answer, and that its server ends then.
func TestSettleShared(t *testing.T) {
	url, begun, may := slow(t)
	o := newOffice(t, engine(t, people(url)), func(o *SharedOptions) {
		o.Servers = map[string]ServerOptions{"s": {Shared: true}}
	})
	said := make(chan string, 3)
	call := func(who string) {
		v := &visitor{url: o.URL + "/mcp", token: o.tokens.of(t, who, time.Hour, "dev"), era: stateless}
		go func() { said <- v.says("s_read", object{}) }()
		<-begun
	}
	call("alice")
	want := []string{`server "t" as one for all callers`}
	if d := cmp.Diff(want, o.UpdateServers(map[string]ServerOptions{"s": {}, "t": {Shared: true}})); d != "" {
		t.Error(d)
	}
	call("alice")
	call("bob")
	o.hubMu.Lock()
	own, left := 0, len(o.left)
	for key := range o.hubs {
		if key.server == "s" && key.principal != "" {
			own++
		}
	}
	o.hubMu.Unlock()
	if own != 2 || left != 1 {
		t.Errorf("got %d servers of one caller and %d that end, want 2 and 1", own, left)
	}
	close(may)
	for range 3 {
		if got := <-said; got != "slowly" {
			t.Errorf("got %q", got)
		}
	}
	for late := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		o.hubMu.Lock()
		left = len(o.left)
		o.hubMu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(late) {
			t.Fatal("the server that was shared does not end")
		}
	}
}

// TestSettleOpen holds that a server that runs asks nothing any more that its settings do not open any more, and does
// not ask what they open anew.
func TestSettleOpen(t *testing.T) {
	opt := reviewer
	opt.Open = map[string][]string{"s": {"elicitation"}}
	g := real(t, one(program("plain")), opt)
	w := dial(t, g, eras[0], object{"elicitation": object{}, "sampling": object{}})
	w.asked = func(object) object { return object{"action": "accept", "content": object{}} }
	for _, c := range []struct {
		open    []string
		want    string // whether elicitation, roots and sampling are refused
		waiting []string
	}{
		{[]string{"elicitation"}, "false true true", nil},
		{[]string{"sampling"}, "true true true", []string{`sampling of server "s"`}},
		{nil, "true true true", nil},
		{[]string{"elicitation"}, "false true true", nil},
	} {
		if d := cmp.Diff(c.waiting, g.UpdateServers(map[string]ServerOptions{"s": {Open: c.open}})); d != "" {
			t.Errorf("%v: %s", c.open, d)
		}
		if said, bad := textOf(t, w.result("tools/call", object{"name": "s_greedy"})); said != c.want || bad {
			t.Errorf("%v: got %s, want %s", c.open, said, c.want)
		}
	}
}

// TestMoreCallers holds that a reload names whom a role takes in that it did not take in at the start, and nobody else.
func TestMoreCallers(t *testing.T) {
	source := func(of string) string {
		return `{"servers": {"s": {"type": "http", "url": "http://127.0.0.1:1", "tools": {"read": {}}}}, "roles": {"own": {"claims": {"x": "y"},
			"can": {"mcp": "allow"}}, "dev": {` + of + `"can": {"mcp": "allow"}}}}`
	}
	const claims = `"claims": {"groups": ["dev", "ops"], "area": "west"}, `
	for name, c := range map[string]struct {
		first, next string
		want        []string
	}{
		"the same": {claims, claims, nil},
		"less":     {claims, `"claims": {"groups": "ops", "area": "west", "more": "x"}, `, nil},
		"nobody":   {claims, ``, nil},
		"a value": {claims, `"claims": {"groups": ["dev", "boss"], "area": "west"}, `,
			[]string{`role dev: callers with the claim groups = "boss"`}},
		"a claim less":  {claims, `"claims": {"groups": "dev"}, `, []string{"role dev: callers without its claim area"}},
		"from nobody":   {``, claims, []string{"role dev: its callers"}},
		"all by tokens": {claims, `"claims": "authenticated", `, []string{"role dev: every caller with a token"}},
		"all":           {claims, `"claims": "anyone", `, []string{"role dev: every caller"}},
		"from all":      {`"claims": "anyone", `, claims, nil},
	} {
		s, err := NewShared(engine(t, source(c.first)), SharedOptions{Auth: newTokens(t).Verifier})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, s.Reload(engine(t, source(c.next)), nil)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		s.Close()
	}
}

// TestDigest holds that a gateway has one digest of its policy in every event, that each change of what somebody may do,
// or of who may, is another one, and that the same source has the same one again.
func TestDigest(t *testing.T) {
	b := newBackend(t)
	source, ev := people(b.URL), &written{}
	list := func(name string) *auth.Verifier {
		sum := sha256.Sum256([]byte("the-token-of-the-first-one"))
		v, err := auth.New(auth.Options{Tokens: []auth.Token{{Name: name, SHA256: hex.EncodeToString(sum[:]),
			Claims: map[string][]string{"groups": {"dev", "ops"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	servers := map[string]ServerOptions{"s": {Forward: []string{"X-Tenant"}}}
	o := newOffice(t, engine(t, source), func(o *SharedOptions) {
		o.Audit, o.Auth, o.Servers = ev.add, list("one"), servers
	})
	digests := map[string]string{}
	check := func(what string) {
		t.Helper()
		of := o.Digest()
		if before, known := digests[of]; known || len(of) != 16 {
			t.Errorf("%s: got the digest %q of %s", what, of, before)
		}
		digests[of] = what
		for _, path := range []string{"/mcp", "/mcp/dev", "/mcp/dev/look", "/mcp/none"} {
			v := &visitor{url: o.URL + path, token: "the-token-of-the-first-one", era: stateless}
			if code, _, _, err := v.send("tools/call", object{"name": "s_read"}); err != nil || code == http.StatusUnauthorized {
				continue // those without a token are counted
			}
			if e := ev.last(); e.Policy != of {
				t.Errorf("%s, %s: the audit has the policy %q, want %q", what, path, e.Policy, of)
			}
		}
	}
	check("the start")
	first := o.Digest()
	for what, change := range map[string][2]string{
		"a tool":         {`"allow": ["read", "write"]`, `"allow": ["write"]`},
		"a mode":         {`"mcp": {"s": {"allow": ["read"]}}`, `"mcp": {"s": {"deny": ["read"]}}`},
		"a role's claim": {`"groups": "dev"`, `"groups": "devs"`},
	} {
		if !strings.Contains(source, change[0]) {
			t.Fatal(what)
		}
		o.Reload(engine(t, strings.Replace(source, change[0], change[1], 1)), nil)
		check(what)
	}
	o.Restrict(list("renamed"))
	o.Reload(engine(t, source), nil)
	check("a token's name")
	o.Restrict(list("one"))
	o.UpdateServers(map[string]ServerOptions{"s": {}})
	o.Reload(engine(t, source), nil)
	check("a server's settings")
	e := engine(t, source)
	o.UpdateServers(servers)
	o.Reload(e, pinned(t, e, "s"))
	check("a pin")
	o.Reload(engine(t, source), nil)
	if of := o.Digest(); of != first {
		t.Errorf("got the digest %q of the source of the start, want %q", of, first)
	}
}
