package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// floods are messages that a server may send without end. Some are worked off only while it reads answers.
var floods = map[string]struct {
	message string
	answers bool
}{
	"questions":         {`{"jsonrpc":"2.0","id":"#","method":"ping"}`, true},
	"changes of a list": {`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, false},
}

// TestFloods: what a server tells and asks without end is kept to a bound, and the gateway stays.
func TestFloods(t *testing.T) {
	for name, f := range floods {
		if testing.Short() && !f.answers {
			continue
		}
		t.Run("a program, "+name, func(t *testing.T) {
			count := filepath.Join(t.TempDir(), "count")
			g := real(t, one(program("flood", "MESSAGE", f.message, "COUNT", count)), reviewer)
			holdFlood(t, g, f.answers, func() int {
				data, _ := os.ReadFile(count)
				n, _ := strconv.Atoi(string(data))
				return n
			})
		})
		t.Run("a server, "+name, func(t *testing.T) {
			var count atomic.Int32
			url := floodServer(t, f.message, &count)
			g := real(t, one(fmt.Sprintf(`{"type": "http", "url": %q, "tools": {"echo": {}}}`, url)), reviewer)
			holdFlood(t, g, f.answers, func() int { return int(count.Load()) })
		})
	}
}

// holdFlood calls a tool of a server, which floods from then on, and looks at what the gateway keeps of it.
func holdFlood(t *testing.T, g *Gateway, stops bool, sent func() int) {
	t.Helper()
	w := dial(t, g, eras[0], object{})
	w.listed(tools)
	before := heap()
	w.start("tools/call", object{"name": "s_echo"})
	for start := time.Now(); sent() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal("the server does not flood")
		}
	}
	time.Sleep(time.Second)
	if grown := heap() - before; grown > 48<<20 {
		t.Errorf("after %d messages %d MiB more are kept", sent(), grown>>20)
	}
	for start := time.Now(); stops; {
		n := sent()
		if time.Sleep(300 * time.Millisecond); sent() == n {
			break
		}
		if time.Since(start) > time.Minute {
			t.Fatalf("a server that reads no answer is read: %d messages, and then %d", n, sent())
		}
	}
	w.result("ping", nil)
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// floodServer answers until a tool is called. Then it floods the stream of what it tells by itself, and answers no
// answer.
func floodServer(t *testing.T, message string, count *atomic.Int32) (url string) {
	called := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			select {
			case <-called:
				flood(w, "data: "+message+"\n\n", func(n int) { count.Store(int32(n + 1)) })
			case <-r.Context().Done():
			}
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		switch {
		case m.Method == "tools/call":
			close(called)
			<-r.Context().Done()
		case m.Method == "" && m.ID != nil:
			<-r.Context().Done()
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Mcp-Session-Id", "1")
			writeJSON(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, floodAnswers[m.Method]))
		}
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

// TestFlow: what is told is read within a rate, and of calls no more than may wait for an answer.
func TestFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, start := newFlow(), time.Now()
		told := &jsonrpc.Request{Method: "notifications/message"}
		for range toldAtOnce + toldASecond {
			if err := f.came(t.Context(), told, 0); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took < 900*time.Millisecond || took > 2*time.Second {
			t.Errorf("got %s", took)
		}
		if err := f.came(t.Context(), told, 2*maxMessage); err != nil { // longer than any may be
			t.Error(err)
		}
		id, _ := jsonrpc.MakeID("x")
		asks := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			return f.came(ctx, &jsonrpc.Request{Method: "ping", ID: id}, 0)
		}
		for range mostAsked {
			if err := asks(); err != nil {
				t.Fatal(err)
			}
		}
		if asks() == nil {
			t.Error("more calls than may wait are read")
		}
		if f.answered(&jsonrpc.Response{ID: id}); asks() != nil {
			t.Error("an answer to the server lets nothing in")
		}
	})
}
