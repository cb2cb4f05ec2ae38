package otlp

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"modec.dev/modec/compiler/audit"
)

// named returns the last metric of a name that arrived.
func (c *collector) named(name string) (found *metrics.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.measured {
		for _, s := range r.ScopeMetrics {
			for _, m := range s.Metrics {
				if m.Name == name {
					found = m
				}
			}
		}
	}
	return found
}

// Events are counted by what was decided, with how long they took, in the form of the standard.
func TestMetrics(t *testing.T) {
	c := newCollector(t, nil)
	s, told := openTo(t, c.URL+"/otel", map[string]string{"OTEL_SERVICE_NAME": "shop"})
	for range 3 {
		s.Send(&sent)
	}
	s.Send(&audit.Event{Via: audit.ViaServe, Group: "command", Decision: "allow", Outcome: audit.Allowed, MS: 30})
	s.Send(&audit.Event{Via: audit.ViaGateway, Group: "mcp", Decision: "allow", Outcome: audit.Done, MS: 1e6})
	s.Close()
	if told.Len() > 0 {
		t.Errorf("told %s", told)
	}
	events := c.named("modec.audit.events")
	if events == nil || !events.GetSum().IsMonotonic || events.Unit != "{event}" || events.Description == "" ||
		events.GetSum().AggregationTemporality != metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
		t.Fatalf("got %v", events)
	}
	got := map[string]int64{}
	for _, p := range events.GetSum().DataPoints {
		var of []string
		for _, kv := range p.Attributes {
			of = append(of, kv.Key+"="+kv.Value.GetStringValue())
		}
		got[strings.Join(of, " ")] = p.GetAsInt()
		if p.StartTimeUnixNano == 0 || p.TimeUnixNano < p.StartTimeUnixNano {
			t.Errorf("got the times %d and %d", p.StartTimeUnixNano, p.TimeUnixNano)
		}
	}
	want := map[string]int64{
		"modec.decision=deny modec.outcome=refused modec.via=gateway":                    3,
		"modec.decision=allow modec.group=command modec.outcome=allowed modec.via=serve": 1,
		"modec.decision=allow modec.group=mcp modec.outcome=done modec.via=gateway":      1,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v", got)
	}
	took := c.named("modec.audit.duration")
	if took == nil || took.Unit != "s" || len(took.GetHistogram().DataPoints) != 3 {
		t.Fatalf("got %v", took)
	}
	for _, p := range took.GetHistogram().DataPoints {
		n := uint64(0)
		for _, b := range p.BucketCounts {
			n += b
		}
		if n != p.Count || len(p.BucketCounts) != len(p.ExplicitBounds)+1 || len(p.ExplicitBounds) != len(seconds) || p.Sum == nil {
			t.Errorf("got %v", p)
		}
		switch p.Count {
		case 3: // 1.5 ms each
			if p.BucketCounts[1] != 3 || *p.Sum < .0044 || *p.Sum > .0046 {
				t.Errorf("got %v", p)
			}
		case 1:
			if p.BucketCounts[5] != 1 && p.BucketCounts[len(seconds)] != 1 {
				t.Errorf("got %v", p)
			}
		}
	}
	if lost := c.named("modec.audit.lost"); lost == nil || lost.GetSum().DataPoints[0].GetAsInt() != 0 {
		t.Errorf("got %v", lost)
	}
	r := c.measured[0]
	if got := r.Resource.Attributes[0]; got.Key != "service.name" || got.Value.GetStringValue() != "shop" ||
		r.ScopeMetrics[0].Scope.Name != scopeName || r.ScopeMetrics[0].Scope.Version != "1.2.3" {
		t.Errorf("got %v", r)
	}
}

// Whatever callers say, there are as many series as the audit has words, and nothing of a call is in them.
func TestSeries(t *testing.T) {
	c := newCollector(t, nil)
	s, _ := openTo(t, c.URL, nil)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 1000 {
				canary := fmt.Sprintf("canary-%d-%d", i, j)
				s.Send(&audit.Event{Via: audit.ViaGateway, Agent: canary, Principal: canary, Role: canary, Mode: canary, Server: canary,
					Tool: canary, Group: canary, About: canary, Decision: canary, Rule: canary, Place: canary, Policy: canary,
					Outcome: audit.Refused, Detail: canary, Digest: canary})
			}
		})
	}
	all.Wait()
	s.Close()
	events := c.named("modec.audit.events").GetSum().DataPoints
	if len(events) != 1 || events[0].GetAsInt() != 4000 {
		t.Errorf("got %d series", len(events))
	}
	for _, r := range c.measured {
		data, err := proto.Marshal(r)
		if err != nil || strings.Contains(string(data), "canary") {
			t.Errorf("got %q, %v", data, err)
		}
	}
	if lost := c.named("modec.audit.lost").GetSum().DataPoints[0].GetAsInt(); lost != int64(s.Lost()) {
		t.Errorf("got %d lost, want %d", lost, s.Lost())
	}
}

// The variables of OpenTelemetry say whether and where metrics go.
func TestMetricsSettings(t *testing.T) {
	c := newCollector(t, nil)
	s, _ := openTo(t, c.URL, map[string]string{"OTEL_METRICS_EXPORTER": "none"})
	s.Send(&sent)
	s.Close()
	if len(c.measured) != 0 || len(c.records()) != 1 {
		t.Errorf("got %v", c.measured)
	}
	other := newCollector(t, nil)
	s, _ = openTo(t, c.URL, map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": other.URL + "/v1/metrics"})
	s.Send(&sent)
	s.Close()
	if len(c.measured) != 0 || other.named("modec.audit.events") == nil {
		t.Errorf("got %v, and elsewhere %v", c.measured, other.measured)
	}
	for name, value := range map[string]string{"OTEL_METRICS_EXPORTER": "prometheus",
		"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"} {
		if s, err := Open(func(n string) string { return map[string]string{name: value}[n] }, "1", slog.New(slog.DiscardHandler)); err == nil || s != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
