package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

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
	u := newUpstream(ir.Server{Name: "s"}, t.TempDir(), "test", slog.New(slog.DiscardHandler), nil)
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
