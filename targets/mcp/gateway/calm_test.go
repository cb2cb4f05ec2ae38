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
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
)

// A flood of news is told at once and then now and then, and the last of it always.
func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int32
		c := &calm{gap: 200 * time.Millisecond}
		for range 950 {
			c.tell(func() { told.Add(1) })
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

// The same is said once a minute, and what else there is to say at once.
func TestLately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lately
		if !l.first("a") || l.first("a") || !l.first("b") {
			t.Error("the same is said twice, or something else is not")
		}
		time.Sleep(quiet)
		if !l.first("a") {
			t.Error("after a while it is not said again")
		}
	})
}

// Some pass at once, then some a second, and after a while as many as before.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		passed := func(times int) (n int) {
			for range times {
				if p.lets() {
					n++
				}
			}
			return n
		}
		if got := passed(progressAtOnce); got != progressAtOnce {
			t.Errorf("got %d, want all of %d", got, progressAtOnce)
		}
		if got := passed(10_000); got != 0 {
			t.Errorf("got %d more at once", got)
		}
		time.Sleep(time.Second)
		if got := passed(10_000); got != progressASecond {
			t.Errorf("got %d in a second, want %d", got, progressASecond)
		}
		time.Sleep(time.Hour)
		if got := passed(10_000); got != progressAtOnce {
			t.Errorf("got %d, want %d", got, progressAtOnce)
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
	g.shelf.mu.Lock()
	defer g.shelf.mu.Unlock()
	if g.shelf.order.Len() > 0 {
		t.Error("the server's lists were asked for")
	}
}

// An answer counts as long as it says, one that failed for seconds, and nothing that was asked for before a change.
func TestFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flight[int]
		fetched, fails := 0, false
		get := func() (int, error) {
			return f.get(t.Context(), time.Now, func() (int, time.Duration, error) {
				time.Sleep(time.Second)
				if fetched++; fails {
					return 0, failedTTL, errors.New("gone")
				}
				return fetched, time.Minute, nil
			})
		}
		want := func(what string, n int) {
			t.Helper()
			if got, err := get(); got != n || err != nil {
				t.Errorf("%s: got %d, %v, want %d", what, got, err, n)
			}
		}
		want("the first", 1)
		time.Sleep(59 * time.Second)
		want("while it counts", 1)
		time.Sleep(2 * time.Second)
		want("after that", 2)
		f.drop()
		want("after a change", 3)
		f.drop()
		done := make(chan bool)
		go func() { _, _ = get(); done <- true }()
		time.Sleep(time.Second / 2)
		f.drop() // while it is under way
		<-done
		want("after a change in between", 5)
		f.drop()
		fails = true
		if _, err := get(); err == nil {
			t.Error("got no error")
		}
		fails = false
		if _, err := get(); err == nil || fetched != 6 {
			t.Errorf("asked %d times, %v: a server that fails is asked again at once", fetched, err)
		}
		time.Sleep(failedTTL)
		want("after a while", 7)
		ctx, cancel := context.WithCancel(t.Context())
		f.drop()
		go func() {
			time.Sleep(time.Second / 2)
			cancel()
		}()
		go func() {
			if _, err := f.get(ctx, time.Now, func() (int, time.Duration, error) {
				time.Sleep(time.Second)
				return 8, time.Minute, nil
			}); err == nil {
				t.Error("who gave up has an answer")
			}
		}()
		synctest.Wait()
		want("who waits for what another one asked for", 8)
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
	u := newUpstream(&ir.Server{Name: "s"}, t.TempDir(), "test", slog.New(slog.DiscardHandler), nil)
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
		s := newStrangers(ev.add)
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
		s.end()
		want("later")
		add(1, "after the end")
		want("after the end")
		s.end()
		want()
	})
}

// A call that is written to a program which has just ended is told as one that the program's end cut off.
func TestWriteToAnEndedServer(t *testing.T) {
	u := newUpstream(&ir.Server{Name: "s"}, t.TempDir(), "test", slog.New(slog.DiscardHandler), nil)
	defer u.end()
	for _, why := range []error{syscall.EPIPE, os.ErrClosed, io.EOF} {
		err := u.failed(t.Context(), fmt.Errorf("calling %q: %w", "tools/call", &os.PathError{Op: "write", Path: "|1", Err: why}))
		if err == nil || !strings.Contains(err.Error(), "it ended while the call was under way") {
			t.Errorf("got %v of %v", err, why)
		}
	}
}
