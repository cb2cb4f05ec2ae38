package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/targets/mcp/auth"
)

// slow is a server whose tool answers once it may.
func slow(t testing.TB) (url string, begun chan bool, may chan struct{}) {
	begun, may = make(chan bool, 1), make(chan struct{})
	over := make(chan struct{}) // a cancellation may be lost where the session ends with the call
	s := sdk.NewServer(&sdk.Implementation{Name: "slow", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "read", InputSchema: object{"type": "object"}},
		func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			begun <- true
			select {
			case <-may:
			case <-ctx.Done():
			case <-over:
			}
			return text("slowly"), nil
		})
	b := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(func() {
		close(over)
		b.Close()
	})
	return b.URL, begun, may
}

// TestCallsAreAnswered holds that a call under way comes to its answer when its token's time ends, and to an error of
// the protocol when its caller may not call any more or the gateway ends, whichever way a client calls; and that the
// audit has what the caller got.
func TestCallsAreAnswered(t *testing.T) {
	const static = "the-token-of-the-first-one"
	list := func(name, group string) *auth.Verifier {
		sum := sha256.Sum256([]byte(static))
		if name != static {
			sum = sha256.Sum256([]byte(name))
		}
		v, err := auth.New(auth.Options{Tokens: []auth.Token{{Name: name, SHA256: hex.EncodeToString(sum[:]),
			Claims: map[string][]string{"groups": {group}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	ends := map[string]struct {
		auth *auth.Verifier
		do   func(o *office, source string)
		want string
	}{
		"the token's time": {nil, func(o *office, _ string) {
			for len(o.openVisits()) == 0 || !isLate(o.openVisits()[0]) {
				time.Sleep(10 * time.Millisecond)
			}
		}, "slowly"},
		"the streams' end":  {nil, func(o *office, _ string) { o.Leave() }, "slowly"},
		"the gateway's end": {nil, func(o *office, _ string) { o.EndCalls() }, gatewayEnds.words},
		"the token": {list(static, "dev"),
			func(o *office, _ string) { o.Restrict(list("another-token-of-somebody", "dev")) }, notAnyMore.words},
		"the claims": {list(static, "dev"),
			func(o *office, _ string) { o.Restrict(list(static, "else")) }, notAnyMore.words},
		"the role": {list(static, "dev"), func(o *office, source string) {
			o.Reload(engine(t, strings.Replace(source, `"groups": "dev"`, `"groups": "gone"`, 1)), nil)
		}, notAnyMore.words},
	}
	for name, c := range ends {
		for _, way := range []string{"in a session", "without a session", stateless} {
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				url, begun, may := slow(t)
				source, ev := people(url), &written{}
				o := newOffice(t, engine(t, source), func(o *SharedOptions) {
					if o.Audit = ev.add; c.auth != nil {
						o.Auth = c.auth
					}
				})
				token := static
				if c.auth == nil {
					token = o.tokens.of(t, "alice", 3*time.Second, "dev")
				}
				v := &visitor{url: o.URL + "/mcp", token: token, era: eras[0]}
				switch way {
				case "in a session":
					v = o.visit(t, "/mcp", token, eras[0])
				case stateless:
					v.era = stateless
				}
				said := make(chan string, 1)
				go func() { said <- v.says("s_read", object{}) }()
				<-begun
				c.do(o, source)
				if c.want == "slowly" {
					close(may)
				}
				if got := <-said; got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				outcome, detail := audit.Done, ""
				if c.want != "slowly" {
					outcome, detail = audit.Failed, c.want
				}
				if e := ev.last(); e.Outcome != outcome || e.Detail != detail {
					t.Errorf("the audit has %s %q, want %s %q", e.Outcome, e.Detail, outcome, detail)
				}
			})
		}
	}
}

func isLate(v *visit) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.late
}

// TestSkew holds that a token is taken and its calls are answered for as long as clocks may differ, and no longer once
// a reload says that they differ by less.
func TestSkew(t *testing.T) {
	b := newBackend(t)
	k := newTokens(t)
	by := func(skew time.Duration) *auth.Verifier { return k.by(t, skew) }
	o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) { o.Auth = by(time.Minute) })
	token := k.of(t, "alice", -30*time.Second, "dev")
	for _, era := range eras {
		v := o.visit(t, "/mcp", token, era)
		if got, err := v.tools(); len(got) != 2 || err != nil {
			t.Errorf("%s: got %v %v", era, got, err)
		}
		if got := v.says("s_read", object{}); !strings.HasPrefix(got, "read ") {
			t.Errorf("%s: got %q", era, got)
		}
	}
	o.Restrict(by(10 * time.Second))
	v := &visitor{url: o.URL + "/mcp", token: token, era: stateless}
	if code, out, _, err := v.send("tools/list", nil); code != http.StatusUnauthorized || err != nil {
		t.Errorf("got %d %v %v", code, out, err)
	}
}
