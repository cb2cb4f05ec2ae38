package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/singleflight"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
)

// lengthy returns a list of one tool, as long as it is asked for.
func lengthy(name string, size int) *list {
	raw := make([]byte, size)
	return &list{items: []item{{key: name, raw: raw[:size:size]}}}
}

// Equal lists are kept once. The list that was not used for longest goes once there are too many bytes, and not before.
func TestCaches(t *testing.T) {
	size := int64(lengthy("a", 1000).size())
	c := newCaches()
	c.most = 3 * size
	a := c.keep(lengthy("a", 1000))
	if again := c.keep(lengthy("a", 1000)); a != again || c.size.Load() != size {
		t.Fatalf("the same list is kept twice: %d bytes, want %d", c.size.Load(), size)
	}
	b, other := c.keep(lengthy("b", 1000)), c.keep(lengthy("c", 1000))
	if c.list(b) == nil || c.list(other) == nil || c.list(a) == nil || c.size.Load() != 3*size {
		t.Fatalf("as many bytes as there may be are too many: %d", c.size.Load())
	}
	if c.keep(lengthy("d", 1000)); c.list(b) != nil || c.list(a) == nil || c.size.Load() != 3*size {
		t.Errorf("got %d bytes, and the one that was used last is gone: %v", c.size.Load(), c.list(a) == nil)
	}
	long := c.keep(lengthy("long", 10_000))
	if c.list(long) == nil || c.lists.Len() != 1 {
		t.Errorf("a list that is longer than all may be is not kept alone: there are %d", c.lists.Len())
	}
}

// Two lists that differ in anything differ in their sums.
func TestSum(t *testing.T) {
	of := func(key, raw, pinned string) sum {
		it := item{key: key, raw: []byte(raw)}
		it.pin.Sum = pinned
		return (&list{items: []item{it}}).sum()
	}
	seen := map[sum]bool{(&list{}).sum(): true}
	for _, s := range []sum{of("a", "b", "c"), of("ab", "", "c"), of("", "ab", "c"), of("a", "bc", ""), of("a", "b", "d")} {
		if seen[s] {
			t.Error("two lists have one sum")
		}
		seen[s] = true
	}
}

// Lists of many callers are kept up to a bound of all together, and each caller has its own on either side of it.
func TestListsBounded(t *testing.T) {
	const length, callers = 20_000, 12
	h := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "backend", Version: "1"}, nil)
		s.AddTool(&sdk.Tool{Name: "read", InputSchema: object{"type": "object"},
			Description: "for " + r.Header.Get("X-Tenant") + strings.Repeat(".", length)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("read"), nil })
		return s
	}, nil)
	var mu sync.Mutex
	connected := 0
	b := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
			mu.Lock()
			connected++
			mu.Unlock()
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(b.Close)
	e := engine(t, people(b.URL))
	for _, c := range []struct {
		name  string
		most  int64
		fewer bool // not all are kept
	}{{"more", mostKept, false}, {"fewer", 6 * length, true}} {
		t.Run(c.name, func(t *testing.T) {
			o := newOffice(t, e, func(o *SharedOptions) { o.Servers = map[string]ServerOptions{"s": {Forward: []string{"X-Tenant"}}} })
			o.caches.most = c.most
			for range 2 {
				for i := range callers {
					name := fmt.Sprint("caller", i)
					v := o.visit(t, "/mcp", o.tokens.of(t, name, time.Hour, "dev"), eras[1])
					v.headers = map[string]string{"X-Tenant": name}
					_, m, _, err := v.send("tools/list", nil)
					if text := fmt.Sprint(m); err != nil || !strings.Contains(text, "for "+name+"...") {
						t.Fatalf("%s: got %.200s %v", name, text, err)
					}
				}
			}
			lists, size := o.caches.lists.Len(), o.caches.size.Load()
			if size > c.most || (lists < callers) != c.fewer {
				t.Errorf("got %d lists in %d bytes, with room for %d", lists, size, c.most)
			}
		})
	}
	if connected != 2*callers {
		t.Errorf("got %d sessions with the server, want one for each caller", connected)
	}
}

// A flood of news is told at once and then now and then, and the last of it always.
func TestNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int32
		n := newNews(200 * time.Millisecond)
		for range 950 {
			n.tell(func() { told.Add(1) })
			time.Sleep(time.Millisecond)
		}
		if n := told.Load(); n < 5 || n > 6 {
			t.Errorf("told %d times in a second", n)
		}
		before := told.Load()
		time.Sleep(time.Second)
		if told.Load() != before+1 {
			t.Errorf("told %d times more: the last news is lost, or comes again", told.Load()-before)
		}
	})
}

// A server that tells of a resource's changes without end is looked up, and passed on, a few times a second.
func TestFloodOfUpdates(t *testing.T) {
	g := real(t, one(program("plain")), reviewer)
	w := dial(t, g, eras[0], object{})
	uri := w.listed(resources)[0]
	w.result("resources/subscribe", object{"uri": uri})
	start := time.Now()
	for range 10_000 {
		g.updated("s", uri)
	}
	w.hears("notifications/resources/updated")
	w.result("ping", nil) // what was told before has come
	most := int(time.Since(start)/newsGap) + 1
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.told); n > most {
		t.Errorf("got %d more notifications, want up to %d", n, most)
	}
}

// A server that tells of progress without end is passed on within bounds, and the answer comes.
func TestFloodOfProgress(t *testing.T) {
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "b", Version: "1"}, nil)
		s.AddTool(&sdk.Tool{Name: "steps", InputSchema: object{"type": "object"}},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				for i := range 2000 {
					if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{Meta: sdk.Meta{"own": i},
						ProgressToken: r.Params.GetProgressToken(), Progress: float64(i),
						Message: "\x1b[31m" + strings.Repeat("x", 10_000)}); err != nil {
						return nil, err
					}
				}
				return text("done"), nil
			})
		return s
	}, nil)
	b := httptest.NewServer(h)
	t.Cleanup(b.Close)
	o := newOffice(t, engine(t, `{"servers": {"s": {"type": "http", "url": "`+b.URL+`", "tools": {"steps": {}}}},
		"roles": {"dev": {"claims": {"groups": "dev"}, "can": {"mcp": "allow"}}}}`), nil)
	v := o.visit(t, "/mcp", o.tokens.of(t, "alice", time.Hour, "dev"), eras[1])
	req, err := v.request(http.MethodPost, object{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": object{
		"name": "s_steps", "arguments": object{}, "_meta": object{"progressToken": "mine",
			reserved + "protocolVersion": eras[1], reserved + "clientCapabilities": object{}}}})
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Method", "tools/call")
	req.Header.Set("Mcp-Name", "s_steps")
	start := time.Now()
	lines, err := linesOf(req)
	if err != nil || !strings.Contains(lines[len(lines)-1], "done") {
		t.Fatalf("got %v, %.200q", err, lines)
	}
	most := progressAtOnce + int(time.Since(start).Seconds()*progressASecond) + 2
	if n := len(lines) - 1; n < progressAtOnce || n > most {
		t.Errorf("got %d notifications, want %d to %d", n, progressAtOnce, most)
	}
	for _, line := range lines {
		if len(line) > 2*maxProgressWords || strings.Contains(line, "u001b") {
			t.Fatalf("got %.100s… of %d bytes", line, len(line))
		}
	}
}

// A server that tells of changes that nobody asked to hear of has nothing looked up for it.
func TestUnheardUpdates(t *testing.T) {
	g := real(t, one(program("plain")), reviewer)
	for range 1000 {
		g.updated("s", "res://other")
	}
	if g.caches.lists.Len() > 0 {
		t.Error("the server's lists were asked for")
	}
}

// A list counts as long as it says, and one that was asked for before a change not at all.
func TestListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l listing
		counts := func(want bool) {
			t.Helper()
			if _, _, ok := l.now(); ok != want {
				t.Errorf("got %v, want %v", ok, want)
			}
		}
		counts(false)
		l.set(&sum{1}, nil, time.Minute, l.turn())
		time.Sleep(59 * time.Second)
		counts(true)
		time.Sleep(2 * time.Second)
		counts(false)
		before := l.turn()
		l.drop()
		l.set(&sum{2}, nil, time.Minute, before) // it was under way
		counts(false)
		l.set(&sum{3}, nil, time.Minute, l.turn())
		counts(true)
		l.set(nil, errors.New("gone"), failedTTL, l.turn())
		if last, err, ok := l.now(); err == nil || !ok || *last != (sum{3}) {
			t.Errorf("got %v, %v, and %v as the last", err, ok, last)
		}
		time.Sleep(failedTTL)
		counts(false)
	})
}

// What many ask for is done once, and who gives up waiting does not end it for the others.
func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var of singleflight.Group
		times := 0
		do := func() (int, error) {
			time.Sleep(time.Second)
			times++
			return times, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		go func() {
			if _, err := share(ctx, &of, "a", do); err == nil {
				t.Error("who gave up has an answer")
			}
		}()
		synctest.Wait()
		if got, err := share(t.Context(), &of, "a", do); got != 1 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if got, err := share(t.Context(), &of, "a", do); got != 2 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
	})
}

// A list counts as long as its server says, within bounds.
func TestLifetime(t *testing.T) {
	for ms, want := range map[string]time.Duration{"": listTTL, "60000": time.Minute, "0": time.Second, "1e300": time.Hour,
		"-5": listTTL, `"x"`: listTTL, "null": time.Second} {
		a := &answer{fields: map[string]json.RawMessage{}}
		if ms != "" {
			a.fields["ttlMs"] = json.RawMessage(ms)
		}
		if got := lifetime(a); got != want {
			t.Errorf("%s: got %s, want %s", ms, got, want)
		}
	}
}

// The codes that the protocol has for a hop are those of the hop to the server: no client hears of them as of its own,
// but that of what it has not declared itself.
func TestErrorsOfServers(t *testing.T) {
	u := newUpstream(&ir.Server{Name: "s"}, t.TempDir(), "test", slog.New(slog.DiscardHandler), nil, nil)
	defer u.end()
	for code, want := range map[int64]int64{-32020: -32603, -32021: -32021, -32022: -32603, -32042: -32603, -32099: -32603,
		0: -32603, -32602: -32602, -32002: -32002, 1001: 1001} {
		err := u.failed(t.Context(), &jsonrpc.Error{Code: code, Message: "no \x1b[31mred", Data: json.RawMessage(`{"a":1}`)})
		var e *jsonrpc.Error
		if !errors.As(err, &e) || e.Code != want || strings.Contains(e.Message, "\x1b") {
			t.Errorf("%d: got %v, want the code %d", code, err, want)
		}
		if e != nil && (e.Data != nil) != (code == want) {
			t.Errorf("%d: got the data %s", code, e.Data)
		}
	}
}

// The first request of who is nobody is written at once, and those of a while behind it as one.
func TestStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ev := &written{}
		s := newUnknownCallers(ev.add)
		want := func(want ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for _, e := range ev.events() {
				got = append(got, e.Detail)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		add := func(n int, detail string) {
			for range n {
				s.add(audit.Event{Detail: detail})
			}
		}
		add(1000, "no")
		want("no")
		time.Sleep(quiet + time.Second)
		want("no; the last of 999 such requests since the event before")
		add(1, "once more")
		want()
		time.Sleep(quiet)
		want("once more")
		time.Sleep(2 * quiet)
		add(2, "later")
		want("later")
		s.tell()
		want("later")
	})
}

// A call that is written to a program which has just ended is told as one that the program's end cut off.
func TestWriteToAnEndedServer(t *testing.T) {
	u := newUpstream(&ir.Server{Name: "s"}, t.TempDir(), "test", slog.New(slog.DiscardHandler), nil, nil)
	defer u.end()
	for _, why := range []error{syscall.EPIPE, os.ErrClosed, io.EOF} {
		err := u.failed(t.Context(), fmt.Errorf("calling %q: %w", "tools/call", &os.PathError{Op: "write", Path: "|1", Err: why}))
		if err == nil || !strings.Contains(err.Error(), "it ended while the call was under way") {
			t.Errorf("got %v of %v", err, why)
		}
	}
}
