package gateway

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/mcp/seal"
	"modec.dev/modec/targets/mcp/serve"
)

// TestKills ends a server a thousand times with calls under way. Each of them has an error, none hangs, the server runs
// again, and nothing of the ended ones stays.
func TestKills(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 20
	}
	table, err := NewTable(engine(t, one(program("plain"))), reviewer.Subject, nil, noAgent, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := withTable(table, Options{Version: "test", Logger: slog.New(slog.DiscardHandler)},
		func(g *Gateway, sv *ir.Server) caller {
			u := newUpstream(sv, t.TempDir(), "test", slog.New(slog.DiscardHandler), g, g.caches)
			u.backOff = 0 // how long a server is left alone is not the question here
			return u
		})
	w := dial(t, g, eras[0], object{})
	runs := func(round int) {
		t.Helper()
		for late := time.Now().Add(patience); ; {
			m := w.call("tools/call", object{"name": "s_echo", "arguments": object{"round": round}})
			if r, ok := m["result"].(object); ok {
				if said, bad := textOf(t, r); bad || !strings.HasPrefix(said, fmt.Sprintf(`{"round":%d} `, round)) {
					t.Fatalf("round %d: got %s", round, said)
				}
				return
			}
			if time.Now().After(late) {
				t.Fatalf("the server does not run again after round %d: %v", round, m)
			}
		}
	}
	runs(0)
	before := runtime.NumGoroutine()
	for round := range rounds {
		var waiting []chan object
		for i := range 3 {
			token := fmt.Sprint(round, "-", i)
			_, c := w.start("tools/call", object{"name": "s_slow", "arguments": object{"wait": true}, "_meta": object{"progressToken": token}})
			waiting = append(waiting, c)
			for w.hears("notifications/progress")["params"].(object)["progressToken"] != token { // until it is under way
			}
		}
		_, c := w.start("tools/call", object{"name": "s_end"})
		for _, c := range append(waiting, c) {
			select {
			case m := <-c:
				if e, _ := m["error"].(object); e == nil || !strings.Contains(fmt.Sprint(e), `server "s" is not available`) {
					t.Fatalf("round %d: got %v", round, m)
				}
			case <-time.After(patience):
				t.Fatalf("round %d: a call hangs", round)
			}
		}
		runs(round + 1)
	}
	for late := time.Now().Add(patience); runtime.NumGoroutine() > before+10; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d goroutines after %d kills, and %d before", runtime.NumGoroutine(), rounds, before)
		}
	}
}

// balancer sends each request to any of its replicas, and to another one where that one dies over it.
type balancer struct {
	mu       sync.Mutex
	replicas []*office
	again    atomic.Int32
}

func (b *balancer) pick() *office {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.replicas[rand.IntN(len(b.replicas))]
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for range 100 {
		to := b.pick()
		req, err := http.NewRequestWithContext(r.Context(), r.Method, to.URL+r.URL.Path, bytes.NewReader(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		req.Header = r.Header.Clone()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			b.again.Add(1)
			continue
		}
		data, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			b.again.Add(1)
			continue
		}
		for name, values := range res.Header {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(res.StatusCode)
		_, _ = w.Write(data) // the client may have gone
		return
	}
	http.Error(w, "no replica answers", http.StatusBadGateway)
}

// kill ends a replica with what it has under way, and puts another one in its place.
func (b *balancer) kill(i int, next *office) {
	b.mu.Lock()
	old := b.replicas[i]
	b.mu.Unlock()
	old.Server.Listener.Close()
	old.Server.CloseClientConnections()
	b.mu.Lock()
	b.replicas[i] = next
	b.mu.Unlock()
}

// TestReplicas has three replicas behind a balancer that takes any of them, each of which is killed under load and
// another one put in its place. No answer is lost, and each is its own caller's.
func TestReplicas(t *testing.T) {
	b := newBackend(t)
	e := engine(t, people(b.URL))
	keys, who := seal.New(), newTokens(t)
	replica := func() *office {
		return newOffice(t, e, func(o *SharedOptions) {
			o.Auth, o.HTTP = who.Verifier, serve.HTTPOptions{Keys: keys}
			o.Servers = map[string]ServerOptions{"s": {Forward: []string{"X-Tenant"}}}
			o.Logger = slog.New(slog.DiscardHandler)
		})
	}
	all := &balancer{replicas: []*office{replica(), replica(), replica()}}
	front := httptest.NewServer(all)
	t.Cleanup(front.Close)
	calls := 200
	if testing.Short() {
		calls = 40
	}
	var answered atomic.Int32
	var clients sync.WaitGroup
	groups := []string{"dev", "ops"}
	lists := map[string][]string{"dev": {"s_read", "s_write"}, "ops": {"s_drop", "s_read"}}
	const callers = 12
	for i := range callers {
		group, name := groups[i%2], fmt.Sprint("caller", i)
		v := (&office{Server: &httptest.Server{URL: front.URL}}).visit(t, "/mcp", who.of(t, name, time.Hour, group), eras[i/2%2])
		v.headers = map[string]string{"X-Tenant": name}
		clients.Go(func() {
			for j := range calls {
				want := fmt.Sprintf(`read tenant=%s cookie= auth= args={"i":%d}`, name, j)
				if said := v.says("s_read", object{"i": j}); said != want {
					t.Errorf("%s: got %s, want %s", name, said, want)
				}
				answered.Add(1)
				if j%10 > 0 {
					continue
				}
				got, err := v.tools()
				slices.Sort(got)
				if d := cmp.Diff(lists[group], got); d != "" || err != nil {
					t.Errorf("%s: %v\n%s", name, err, d)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	for i := range 6 { // each of the three twice, spread over the load
		for answered.Load() < int32((i+1)*callers*calls/8) {
			select {
			case <-done:
				t.Fatal("the load ended before the kills")
			case <-time.After(time.Millisecond):
			}
		}
		all.kill(i%3, replica())
	}
	<-done
	if n := answered.Load(); n != int32(callers*calls) {
		t.Errorf("got %d answers, want %d", n, callers*calls)
	}
	t.Logf("%d requests were sent again, because their replica died", all.again.Load())
}

// crowd has a thousand callers list and call what five shared servers offer, and returns what the gateway keeps for each
// of them, in bytes.
func crowd(t testing.TB, callers int) (o *office, kept float64) {
	var servers, allowed []string
	var backends []*backend
	for i := range 5 {
		b := newBackend(t)
		backends = append(backends, b)
		servers = append(servers, fmt.Sprintf(`"s%d": {"type": "http", "url": %q, "tools": {"read": {}, "write": {}}}`, i, b.URL))
		allowed = append(allowed, fmt.Sprintf(`"s%d": {"allow": ["read"]}`, i))
	}
	source := `{"servers": {` + strings.Join(servers, ",") + `}, "roles": {"dev": {"claims": {"groups": "dev"}, "can": {"mcp": {` +
		strings.Join(allowed, ",") + `}}}}}`
	o = newOffice(t, engine(t, source), func(o *SharedOptions) {
		o.Servers, o.Callers = map[string]ServerOptions{}, callers
		for i := range 5 {
			o.Servers[fmt.Sprint("s", i)] = ServerOptions{Shared: true}
		}
	})
	visit := func(i int) {
		v := &visitor{url: o.URL + "/mcp", token: o.tokens.of(t, fmt.Sprint("caller", i), time.Hour, "dev"), era: eras[1]}
		if got, err := v.tools(); len(got) != 5 || err != nil {
			t.Fatalf("got %v %v", got, err)
		}
		want := fmt.Sprintf(`read tenant= cookie= auth= args={"i":%d}`, i)
		if said := v.says(fmt.Sprintf("s%d_read", i%5), object{"i": i}); said != want {
			t.Fatalf("got %s, want %s", said, want)
		}
	}
	heap := func() float64 {
		for _, b := range backends { // what the test itself keeps
			b.mu.Lock()
			b.seen = nil
			b.mu.Unlock()
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for i := range 20 { // what is made once
		visit(callers + i)
	}
	before := heap()
	for i := range callers {
		visit(i)
	}
	kept = (heap() - before) / float64(callers)
	for i, b := range backends {
		if n := b.sessions.Load(); n != 1 {
			t.Errorf("server %d has %d sessions, want one for all", i, n)
		}
	}
	return o, kept
}

// TestCrowd bounds what a thousand callers of five servers cost: a gateway each and no more, one session with each
// server, no goroutine for who is not asking, and some bytes.
func TestCrowd(t *testing.T) {
	before := runtime.NumGoroutine()
	o, kept := crowd(t, 1000)
	o.Shared.mu.Lock()
	members, open, visits := len(o.members), len(o.open), len(o.visits)
	o.Shared.mu.Unlock()
	o.hubMu.Lock()
	hubs := len(o.hubs)
	o.hubMu.Unlock()
	if members != 1000 || hubs != 5 || open != 0 || visits != 0 {
		t.Errorf("got %d gateways, %d servers, %d callers and %d requests under way, want 1000, 5, 0 and 0", members, hubs, open, visits)
	}
	if n := runtime.NumGoroutine() - before; n > 100 {
		t.Errorf("got %d goroutines", n)
	}
	if kept > 40<<10 {
		t.Errorf("got %.0f bytes for each caller, want up to 40 KiB", kept)
	}
}

// BenchmarkGatewayCrowd measures the memory of a gateway with a thousand callers of five servers. The whole process
// counts: the test, its five servers and its client too.
func BenchmarkGatewayCrowd(b *testing.B) {
	for b.Loop() {
		_, kept := crowd(b, 1000)
		b.ReportMetric(kept/1024, "KiB/caller")
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			continue // not on this system
		}
		var kb float64
		if _, after, ok := strings.Cut(string(status), "VmRSS:"); ok {
			fmt.Sscan(after, &kb)
			b.ReportMetric(kb/1024, "MiB-resident")
		}
	}
}
