package otlp

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"modec.dev/modec/compiler/audit"
)

// collector takes what is sent to it, in process.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	got      []*logs.ResourceLogs
	measured []*metrics.ResourceMetrics
	headers  http.Header
	requests int
	answer   func(request int) (code int, body []byte) // nil: all is well
}

func newCollector(t *testing.T, answer func(int) (int, []byte)) *collector {
	c := &collector{answer: answer}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if strings.HasSuffix(r.URL.Path, "/v1/metrics") {
		var all metrics.MetricsData
		if bad := proto.Unmarshal(body, &all); bad != nil || err != nil {
			http.Error(w, "not a request", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		c.measured = append(c.measured, all.ResourceMetrics...)
		c.mu.Unlock()
		return
	}
	var all logs.LogsData // on the wire like a request to a collector
	if bad := proto.Unmarshal(body, &all); bad != nil || err != nil || r.Method != http.MethodPost {
		http.Error(w, "not a request", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.requests++
	n := c.requests
	c.mu.Unlock()
	code, text := http.StatusOK, []byte(nil)
	if c.answer != nil {
		code, text = c.answer(n)
	}
	if code == http.StatusOK {
		c.mu.Lock()
		c.got, c.headers = append(c.got, all.ResourceLogs...), r.Header
		c.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

// records returns what arrived.
func (c *collector) records() (list []*logs.LogRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.got {
		for _, s := range r.ScopeLogs {
			list = append(list, s.LogRecords...)
		}
	}
	return list
}

// openTo opens a sender to an address. What it tells is in the buffer once it is closed.
func openTo(t *testing.T, address string, env map[string]string) (*Sender, *bytes.Buffer) {
	t.Helper()
	told := &bytes.Buffer{}
	get := func(name string) string {
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return address
		}
		return env[name]
	}
	for name, value := range env { // which the SDK reads by itself
		t.Setenv(name, value)
	}
	s, err := Open(get, "1.2.3", slog.New(slog.NewTextHandler(told, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s, told
}

var sent = audit.Event{Time: time.Date(2026, 11, 24, 12, 0, 0, 5e6, time.UTC), ID: "abc", Via: audit.ViaGateway,
	Principal: "ann", Role: "dev", Server: "hub", Tool: "list", Decision: "deny", Rule: `deny "l*"`,
	Outcome: audit.Refused, MS: 1.5}

// An event arrives as a log record of the standard form, with the headers and the names that the variables say.
func TestSend(t *testing.T) {
	c := newCollector(t, nil)
	s, told := openTo(t, c.URL+"/otel", map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20x, X-Team=a",
		"OTEL_SERVICE_NAME": "shop"})
	s.Send(&sent)
	s.Send(&audit.Event{Outcome: audit.Done, Tool: "reload"})
	s.Close()
	list := c.records()
	if len(list) != 2 || s.Lost() != 0 || told.Len() > 0 {
		t.Fatalf("got %v, %d lost, %s", list, s.Lost(), told)
	}
	r := list[0]
	if r.TimeUnixNano != uint64(sent.Time.UnixNano()) || r.SeverityNumber != logs.SeverityNumber_SEVERITY_NUMBER_WARN ||
		r.SeverityText != "WARN" || r.EventName != "modec.audit" || r.Body.GetStringValue() != "refused hub:list" ||
		r.ObservedTimeUnixNano == 0 || list[1].SeverityNumber != logs.SeverityNumber_SEVERITY_NUMBER_INFO {
		t.Errorf("got %v", r)
	}
	got := map[string]string{}
	for _, kv := range r.Attributes {
		got[kv.Key] = kv.Value.GetStringValue()
		if kv.Key == "modec.ms" && kv.Value.GetDoubleValue() != 1.5 {
			t.Errorf("got %v", kv)
		}
	}
	for name, want := range map[string]string{"modec.principal": "ann", "modec.role": "dev", "modec.rule": `deny "l*"`,
		"modec.outcome": "refused", "modec.via": "gateway", "modec.id": "abc"} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	if _, empty := got["modec.mode"]; empty {
		t.Error("got an empty attribute")
	}
	res := c.got[0].Resource.String()
	if !strings.Contains(res, `"service.name"`) || !strings.Contains(res, `"shop"`) || !strings.Contains(res, `"1.2.3"`) ||
		c.got[0].ScopeLogs[0].Scope.Name != "modec.dev/modec/audit" {
		t.Errorf("got %s", res)
	}
	if c.headers.Get("Authorization") != "Bearer x" || c.headers.Get("X-Team") != "a" {
		t.Errorf("got the headers %v", c.headers)
	}
}

// A collector that does not answer delays nobody: what its queue has no room for is counted, to the event.
func TestSlowCollector(t *testing.T) {
	release := make(chan struct{})
	c := newCollector(t, func(int) (int, []byte) {
		<-release
		return http.StatusOK, nil
	})
	s, told := openTo(t, c.URL, nil)
	for range mostQueued + 1000 {
		s.Send(&sent) // which would not return if it waited
	}
	if s.Lost() != 1000 {
		t.Errorf("got %d lost, want 1000", s.Lost())
	}
	close(release)
	s.Close()
	if n := len(c.records()); n != mostQueued || strings.Count(told.String(), "do not reach") != 1 ||
		!strings.Contains(told.String(), "count=1000") {
		t.Errorf("got %d of %d, %s", n, mostQueued, told)
	}
}

// What a collector does not take is counted and told once; what it may take later is sent again.
func TestFailingCollector(t *testing.T) {
	var rejected []byte // 2 of them
	rejected = protowire.AppendTag(rejected, 1, protowire.BytesType)
	rejected = protowire.AppendBytes(rejected, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 2))
	for name, c := range map[string]struct {
		answer         func(int) (int, []byte)
		requests, lost int
		told           string
	}{
		"it refuses":            {func(int) (int, []byte) { return 401, nil }, 1, 3, "401"},
		"it is broken for good": {func(int) (int, []byte) { return 503, nil }, 2, 3, "were not sent"},
		"it is broken once":     {func(n int) (int, []byte) { return map[int]int{1: 503}[n] + 200*min(n-1, 1), nil }, 2, 0, ""},
		"it rejects some":       {func(int) (int, []byte) { return 200, rejected }, 1, 2, "2 logs rejected"},
	} {
		at := newCollector(t, c.answer)
		s, told := openTo(t, at.URL, nil)
		for range 3 {
			s.Send(&sent)
		}
		s.Close()
		if at.requests < c.requests || s.Lost() != uint64(c.lost) || !strings.Contains(told.String(), c.told) ||
			c.told == "" && told.Len() > 0 || strings.Count(told.String(), "do not reach") > 1 {
			t.Errorf("%s: got %d requests, %d lost, %s", name, at.requests, s.Lost(), told)
		}
	}
}

// A program ends although nobody listens, and says what was lost, without the password of the address.
func TestNoCollector(t *testing.T) {
	c := newCollector(t, nil)
	c.Close()
	s, told := openTo(t, strings.Replace(c.URL, "//", "//user:hunter2@", 1), nil)
	s.Send(&sent)
	s.Close()
	if s.Lost() != 1 || !strings.Contains(told.String(), "count=1") || strings.Contains(told.String(), "hunter2") {
		t.Errorf("got %d lost, %s", s.Lost(), told)
	}
}

// Variables that cannot be followed are refused, and their values, which may be secret, are not repeated.
func TestOpen(t *testing.T) {
	for name, bad := range map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318",
		"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "unix:///x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
		"OTEL_EXPORTER_OTLP_HEADERS": "hunter2"} {
		s, err := Open(func(n string) string {
			if n == name {
				return bad
			}
			return ""
		}, "1", slog.New(slog.DiscardHandler))
		if err == nil || s != nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	s, err := Open(func(n string) string { return map[string]string{"OTEL_SDK_DISABLED": "true"}[n] }, "1", nil)
	if s != nil || err != nil {
		t.Errorf("got %v, %v", s, errors.Join(err))
	}
	for endpointOf, want := range map[[2]string]string{{"", ""}: "http://localhost:4318/v1/logs",
		{"https://c.test/base/", ""}: "https://c.test/base/v1/logs", {"", "https://c.test/own"}: "https://c.test/own"} {
		got, err := endpoint(func(n string) string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpointOf[0],
				"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": endpointOf[1]}[n]
		}, "LOGS")
		if got != want || err != nil {
			t.Errorf("%q: got %s, %v, want %s", endpointOf, got, err, want)
		}
	}
}
