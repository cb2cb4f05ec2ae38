package gateway

import (
	"cmp"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"modec.dev/modec/compiler/audit"
)

// metrics counts what a gateway for many does. Its labels are names of the inventory and words of the audit, never who
// calls or what with.
type metrics struct {
	started time.Time
	version string
	known   func(server string) bool // the inventory has it

	mu      sync.Mutex
	calls   map[callLabels]uint64
	took    map[string]*histogram // by server
	refused uint64                // requests that came to no gateway
	reloads uint64
}

type callLabels struct {
	server  string // "": none that the caller may use
	outcome audit.Outcome
}

// histogram counts durations, each in the first bucket that has room for it.
type histogram struct {
	counts [len(buckets)]uint64
	count  uint64
	sum    float64
}

// buckets are upper bounds in seconds.
var buckets = [...]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}

// observe counts an event of the audit.
func (m *metrics) observe(e *audit.Event) {
	server := e.Server
	if !m.known(server) {
		server = ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Group == "" {
		m.refused++
		return
	}
	m.calls[callLabels{server, e.Outcome}]++
	if e.Outcome != audit.Done && e.Outcome != audit.Failed {
		return // how long a person or a policy took says nothing of a server
	}
	h := m.took[server]
	if h == nil {
		h = &histogram{}
		m.took[server] = h
	}
	seconds := e.MS / 1000
	h.count++
	h.sum += seconds
	if i, _ := slices.BinarySearch(buckets[:], seconds); i < len(buckets) {
		h.counts[i]++
	}
}

func (m *metrics) reloaded() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reloads++
}

// families returns what was counted.
func (m *metrics) families() []*dto.MetricFamily {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := family("modec_gateway_calls_total", "Calls of tools, prompts and resources, by what became of them.",
		dto.MetricType_COUNTER)
	keys := slices.SortedFunc(maps.Keys(m.calls), func(a, b callLabels) int {
		return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.outcome, b.outcome))
	})
	for _, k := range keys {
		calls.Metric = append(calls.Metric, counted(m.calls[k], "outcome", string(k.outcome), "server", k.server))
	}
	took := family("modec_gateway_call_duration_seconds", "How long calls took that were passed on to a server.",
		dto.MetricType_HISTOGRAM)
	for _, server := range slices.Sorted(maps.Keys(m.took)) {
		took.Metric = append(took.Metric, m.took[server].metric("server", server))
	}
	started := float64(m.started.UnixMilli()) / 1000
	out := []*dto.MetricFamily{
		family("modec_build_info", "The version of modec.", dto.MetricType_GAUGE, gauge(1, "version", m.version)),
		family("process_start_time_seconds", "When the gateway was started, in seconds since 1970.",
			dto.MetricType_GAUGE, gauge(started)),
		family("modec_gateway_requests_refused_total", "Requests without a valid token, or without the role.",
			dto.MetricType_COUNTER, counted(m.refused)),
		family("modec_gateway_reloads_total", "How often a changed source was taken.", dto.MetricType_COUNTER,
			counted(m.reloads)),
	}
	for _, f := range []*dto.MetricFamily{calls, took} {
		if len(f.Metric) > 0 {
			out = append(out, f)
		}
	}
	return out
}

func (h *histogram) metric(labels ...string) *dto.Metric {
	count, total := h.count, h.sum
	out := &dto.Histogram{SampleCount: &count, SampleSum: &total}
	var sum uint64
	for i, n := range h.counts {
		sum += n
		below := sum
		out.Bucket = append(out.Bucket, &dto.Bucket{CumulativeCount: &below, UpperBound: &buckets[i]})
	}
	return &dto.Metric{Histogram: out, Label: labeled(labels)}
}

func family(name, help string, of dto.MetricType, list ...*dto.Metric) *dto.MetricFamily {
	return &dto.MetricFamily{Name: &name, Help: &help, Type: &of, Metric: list}
}

func counted(n uint64, labels ...string) *dto.Metric {
	v := float64(n)
	return &dto.Metric{Counter: &dto.Counter{Value: &v}, Label: labeled(labels)}
}

func gauge(v float64, labels ...string) *dto.Metric {
	return &dto.Metric{Gauge: &dto.Gauge{Value: &v}, Label: labeled(labels)}
}

// labeled returns labels of names and values in turn.
func labeled(list []string) (out []*dto.LabelPair) {
	for pair := range slices.Chunk(list, 2) {
		out = append(out, &dto.LabelPair{Name: &pair[0], Value: &pair[1]})
	}
	return out
}

// state returns how much is in use now.
func (s *Shared) state() []*dto.MetricFamily {
	callers, requests, sessions := map[string]bool{}, 0, 0
	s.mu.Lock()
	for id := range s.members {
		callers[id.principal] = true
	}
	for _, n := range s.open {
		requests += n
	}
	members := slices.Collect(maps.Values(s.members))
	s.mu.Unlock()
	for _, m := range members {
		for range m.gateway.sdk.Sessions() {
			sessions++
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var out []*dto.MetricFamily
	for _, x := range []struct {
		name, help string
		value      float64
	}{
		{"modec_gateway_callers", "Principals that are served now.", float64(len(callers))},
		{"modec_gateway_sessions", "Sessions of the protocol that are open.", float64(sessions)},
		{"modec_gateway_requests", "Requests and streams that are under way.", float64(requests)},
		{"go_goroutines", "Goroutines that exist.", float64(runtime.NumGoroutine())},
		{"go_memstats_heap_alloc_bytes", "Bytes of objects on the heap.", float64(memory.HeapAlloc)},
		{"go_memstats_sys_bytes", "Bytes that the system gave.", float64(memory.Sys)},
	} {
		out = append(out, family(x.name, x.help, dto.MetricType_GAUGE, gauge(x.value)))
	}
	if s.opt.Lost != nil {
		out = append(out, family("modec_audit_lost_total", "Events of the audit that were not written or sent.",
			dto.MetricType_COUNTER, counted(s.opt.Lost())))
	}
	return out
}

// Metrics answers with what the gateway counts, in the format that the request prefers of those of Prometheus. It asks
// nobody who they are.
func (s *Shared) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
		w.Header().Set("Content-Type", string(format))
		to := expfmt.NewEncoder(w, format)
		for _, f := range append(s.counts.families(), s.state()...) {
			if err := to.Encode(f); err != nil {
				return // whoever asks is gone
			}
		}
		if end, ok := to.(io.Closer); ok {
			_ = end.Close() // the same
		}
	})
}

// Status serves /metrics, /healthz and /readyz, and asks nobody who they are.
func (s *Shared) Status() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthy)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.Metrics())
	return mux
}

// healthy answers that the gateway runs.
func healthy(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") }

// onlyHere serves requests of this machine that no other program passes on, and knows nothing of others.
func onlyHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		ip := net.ParseIP(host)
		passed := slices.ContainsFunc([]string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"},
			func(name string) bool { return len(r.Header.Values(name)) > 0 })
		if ip == nil || !ip.IsLoopback() || passed {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ready answers whether requests are served: not any more once the gateway ends.
func (s *Shared) ready(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		http.Error(w, "the gateway ends", http.StatusServiceUnavailable)
		return
	}
	healthy(w, r)
}
