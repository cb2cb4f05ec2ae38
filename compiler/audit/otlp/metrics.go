package otlp

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/protobuf/encoding/protowire"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
)

const scopeName = "modec.dev/modec/audit"

// seconds are upper bounds of durations: those of the gateway's own metrics.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}

// meter counts events and how long they took. Its attributes are words of the audit: never who calls, what a call is
// about, or any other text of a caller, so that there are a few hundred series at most.
type meter struct {
	to       poster
	sender   *Sender // whose log tells what does not arrive
	provider *sdkmetric.MeterProvider
	events   metric.Int64Counter
	took     metric.Float64Histogram
	failing  atomic.Bool
}

// newMeter returns a meter; nil where OTEL_METRICS_EXPORTER is "none".
func newMeter(env func(string) string, version string, of *resource.Resource, s *Sender) (*meter, error) {
	switch exporter := env("OTEL_METRICS_EXPORTER"); {
	case strings.EqualFold(exporter, "none"):
		return nil, nil
	case exporter != "" && exporter != "otlp":
		return nil, fmt.Errorf("OTEL_METRICS_EXPORTER is %q, want \"otlp\", or \"none\" for no metrics", exporter)
	}
	to, err := newPoster(env, "METRICS", version)
	if err != nil {
		return nil, err
	}
	interval := time.Minute
	if text := env("OTEL_METRIC_EXPORT_INTERVAL"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("OTEL_METRIC_EXPORT_INTERVAL is %q, want milliseconds", text)
		}
		interval = time.Duration(ms) * time.Millisecond
	}
	m := &meter{to: to, sender: s}
	m.provider = sdkmetric.NewMeterProvider(sdkmetric.WithResource(of),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(m, sdkmetric.WithInterval(interval),
			sdkmetric.WithTimeout(tries*(to.client.Timeout+mostPause)))))
	meters := m.provider.Meter(scopeName, metric.WithInstrumentationVersion(version))
	if m.events, err = meters.Int64Counter("modec.audit.events", metric.WithUnit("{event}"),
		metric.WithDescription("What was asked, allowed and refused.")); err != nil {
		return nil, err
	}
	if m.took, err = meters.Float64Histogram("modec.audit.duration", metric.WithUnit("s"),
		metric.WithDescription("How long it took until it was decided, and for what is done until it was done."),
		metric.WithExplicitBucketBoundaries(seconds...)); err != nil {
		return nil, err
	}
	_, err = meters.Int64ObservableCounter("modec.audit.lost", metric.WithUnit("{event}"),
		metric.WithDescription("Events that were not sent as logs."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(min(s.Lost(), math.MaxInt64)))
			return nil
		}))
	return m, err
}

// count counts an event.
func (m *meter) count(e *audit.Event) {
	if m == nil {
		return
	}
	of := []attribute.KeyValue{
		attribute.String("modec.via", string(e.Via)), attribute.String("modec.outcome", string(e.Outcome)),
	}
	if slices.Contains(ir.Decided, ir.Group(e.Group)) {
		of = append(of, attribute.String("modec.group", e.Group))
	}
	var d ir.Decision
	if d.UnmarshalText([]byte(e.Decision)) == nil {
		of = append(of, attribute.String("modec.decision", e.Decision))
	}
	with := metric.WithAttributeSet(attribute.NewSet(of...))
	m.events.Add(context.Background(), 1, with)
	m.took.Record(context.Background(), e.MS/1000, with)
}

// close sends what was counted last.
func (m *meter) close(ctx context.Context) {
	if m != nil {
		_ = m.provider.Shutdown(ctx) // it was told
	}
}

// Temporality is the SDK's: what is sent has been counted since the start.
func (*meter) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

// Aggregation is the SDK's own choice.
func (*meter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

// Export is the SDK's way to send what was counted. What does not arrive is in the next one: it counts from the start.
func (m *meter) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	_, err := m.to.post(ctx, encodeMetrics(all))
	switch {
	case err != nil && !m.failing.Swap(true):
		m.sender.log.Warn("metrics do not reach the OpenTelemetry collector", "why", err)
	case err == nil && m.failing.Swap(false):
		m.sender.log.Warn("metrics reach the OpenTelemetry collector again")
	}
	return nil // it was told
}

// Shutdown is the SDK's: there is nothing to end.
func (*meter) Shutdown(context.Context) error { return nil }

// ForceFlush is the SDK's: metrics are sent when they come.
func (*meter) ForceFlush(context.Context) error { return nil }

// The fields are those of ExportMetricsServiceRequest in
// opentelemetry/proto/collector/metrics/v1/metrics_service.proto, and of what it holds.

// cumulative is AGGREGATION_TEMPORALITY_CUMULATIVE.
const cumulative = 2

// encodeMetrics writes the metrics of one resource.
func encodeMetrics(all *metricdata.ResourceMetrics) message {
	var request, of, res message
	for _, kv := range all.Resource.Attributes() {
		res.bytes(1, keyValue(kv))
	}
	of.bytes(1, res)
	for _, s := range all.ScopeMetrics {
		var scope, scoped message
		scope.text(1, s.Scope.Name)
		scope.text(2, s.Scope.Version)
		scoped.bytes(1, scope)
		for i := range s.Metrics {
			scoped.bytes(2, encodeMetric(&s.Metrics[i]))
		}
		of.bytes(2, scoped)
	}
	request.bytes(1, of)
	return request
}

func encodeMetric(x *metricdata.Metrics) (m message) {
	m.text(1, x.Name)
	m.text(2, x.Description)
	m.text(3, x.Unit)
	switch data := x.Data.(type) {
	case metricdata.Sum[int64]:
		var sum message
		for _, p := range data.DataPoints {
			var point message
			point.fixed(2, nanoseconds(p.StartTime))
			point.fixed(3, nanoseconds(p.Time))
			point.fixed(6, uint64(p.Value))
			point.attributes(7, p.Attributes)
			sum.bytes(1, point)
		}
		sum.varint(2, cumulative)
		sum.varint(3, protowire.EncodeBool(data.IsMonotonic))
		m.bytes(7, sum)
	case metricdata.Histogram[float64]:
		var histogram message
		for i := range data.DataPoints {
			histogram.bytes(1, encodeHistogram(&data.DataPoints[i]))
		}
		histogram.varint(2, cumulative)
		m.bytes(9, histogram)
	}
	return m
}

func encodeHistogram(p *metricdata.HistogramDataPoint[float64]) (point message) {
	point.fixed(2, nanoseconds(p.StartTime))
	point.fixed(3, nanoseconds(p.Time))
	point.fixed(4, p.Count)
	point.fixed(5, math.Float64bits(p.Sum))
	var counts, bounds []byte
	for _, n := range p.BucketCounts {
		counts = protowire.AppendFixed64(counts, n)
	}
	for _, b := range p.Bounds {
		bounds = protowire.AppendFixed64(bounds, math.Float64bits(b))
	}
	point.bytes(6, counts)
	point.bytes(7, bounds)
	point.attributes(9, p.Attributes)
	return point
}

// attributes writes a set of attributes.
func (m *message) attributes(field protowire.Number, set attribute.Set) {
	for _, kv := range set.ToSlice() {
		m.bytes(field, keyValue(kv))
	}
}
