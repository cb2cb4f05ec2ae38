package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	prometheus "github.com/prometheus/common/model"

	"modec.dev/modec/compiler/audit"
)

// scraped returns the body of an answer.
func scraped(t *testing.T, o *office, path string, header http.Header) (status int, body string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, o.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// What a gateway did is counted by server and outcome, and no label says who called, with what, or anything else that a
// caller chose.
func TestMetrics(t *testing.T) {
	o := newOffice(t, engine(t, people(newBackend(t).URL)), func(opt *SharedOptions) { opt.Lost = func() uint64 { return 7 } })
	v := o.visit(t, "/mcp", o.tokens.of(t, "canary-ann", time.Minute, "dev"), eras[0])
	for _, tool := range []string{"s_read", "s_read", "s_drop", "canary_1", "canary_2"} {
		v.says(tool, object{"x": "canary"})
	}
	o.Shared.Reload(o.Shared.now.Engine, nil)
	if status, _ := scraped(t, o, "/mcp/canary", http.Header{"Authorization": {"Bearer canary"}}); status != http.StatusUnauthorized {
		t.Errorf("got %d for a bad token", status)
	}
	_, text := scraped(t, o, "/metrics", nil)
	parser := expfmt.NewTextParser(prometheus.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	lines := strings.Split(text, "\n")
	for _, want := range []string{
		`modec_gateway_calls_total{outcome="done",server="s"} 2`,
		`modec_gateway_calls_total{outcome="refused",server="s"} 1`,
		`modec_gateway_calls_total{outcome="refused",server=""} 2`,
		`modec_gateway_call_duration_seconds_count{server="s"} 2`,
		`modec_gateway_call_duration_seconds_bucket{server="s",le="+Inf"} 2`,
		`modec_gateway_requests_refused_total 1`, `modec_gateway_reloads_total 1`, `modec_gateway_callers 1`,
		`modec_gateway_sessions 1`, `modec_build_info{version="test"} 1`, `modec_audit_lost_total 7`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("got no %s", want)
		}
	}
	for name, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if !slices.Contains([]string{"outcome", "server", "version", "le"}, l.GetName()) {
					t.Errorf("%s has the label %s", name, l)
				}
			}
		}
	}
	if strings.Contains(text, "canary") || len(families) < 10 {
		t.Errorf("got %s", text)
	}
	openMetrics := http.Header{"Accept": {"application/openmetrics-text;version=1.0.0"}}
	if _, text := scraped(t, o, "/metrics", openMetrics); !strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("got no OpenMetrics: %s", text)
	}
}

// A duration is in all buckets that are as large.
func TestBuckets(t *testing.T) {
	h := &histogram{}
	for _, seconds := range []float64{0, .001, .0011, 59, 61} {
		m := metrics{known: func(string) bool { return true }, calls: map[callLabels]uint64{}, took: map[string]*histogram{"s": h}}
		m.observe(&audit.Event{Server: "s", Group: "mcp", Outcome: "done", MS: seconds * 1000})
	}
	got := h.metric("server", "s").Histogram
	if n := len(got.Bucket); got.GetSampleCount() != 5 || got.Bucket[0].GetCumulativeCount() != 2 ||
		got.Bucket[1].GetCumulativeCount() != 3 || got.Bucket[n-1].GetCumulativeCount() != 4 {
		t.Errorf("got %v", got)
	}
}

// The numbers are for this machine: not for others, not through another program, and not for a page that a browser
// shows.
func TestMetricsAreLocal(t *testing.T) {
	o := newOffice(t, engine(t, people(newBackend(t).URL)), nil)
	h, err := o.Handler()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from, host string
		header     http.Header
		want       int
	}{
		"here":             {"127.0.0.1:9", "localhost:8700", nil, http.StatusOK},
		"here, by IPv6":    {"[::1]:9", "[::1]:8700", nil, http.StatusOK},
		"from elsewhere":   {"192.0.2.1:9", "localhost:8700", nil, http.StatusNotFound},
		"through a proxy":  {"127.0.0.1:9", "localhost:8700", http.Header{"X-Forwarded-For": {"192.0.2.1"}}, http.StatusNotFound},
		"of a name":        {"127.0.0.1:9", "evil.example.com", nil, http.StatusForbidden},
		"by another page":  {"127.0.0.1:9", "localhost:8700", http.Header{"Origin": {"https://evil.example.com"}}, http.StatusForbidden},
		"without a sender": {"", "localhost:8700", nil, http.StatusNotFound},
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.RemoteAddr, r.Host = c.from, c.host
		if c.header != nil {
			r.Header = c.header
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: got %d %s, want %d", name, w.Code, w.Body, c.want)
		}
	}
}

// A gateway that ends is alive and not ready.
func TestReady(t *testing.T) {
	o := newOffice(t, engine(t, people(newBackend(t).URL)), nil)
	for _, c := range []struct {
		path string
		want int
	}{{"/healthz", http.StatusOK}, {"/readyz", http.StatusOK}, {"", 0}, {"/healthz", http.StatusOK},
		{"/readyz", http.StatusServiceUnavailable}} {
		if c.path == "" {
			o.Shared.Close()
			continue
		}
		if status, body := scraped(t, o, c.path, nil); status != c.want || status == http.StatusOK && body != "ok\n" {
			t.Errorf("%s: got %d %q, want %d", c.path, status, body, c.want)
		}
	}
}
