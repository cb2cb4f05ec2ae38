package otlp

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
)

const scopeName = "modec.dev/modec/audit"

// seconds are upper bounds of durations: those of the gateway's own metrics.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}

// meter counts events and how long they took. Its attributes are words of the audit: never who calls, what a call is
// about, or any other text of a caller, so that there are a few hundred series at most.
type meter struct {
	sdkmetric.Exporter
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
	address, err := endpoint(env, "METRICS")
	if err != nil {
		return nil, err
	}
	m := &meter{sender: s}
	if m.Exporter, err = otlpmetrichttp.New(context.Background(), otlpmetrichttp.WithEndpointURL(address),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{Enabled: true, InitialInterval: firstPause,
			MaxInterval: mostPause, MaxElapsedTime: mostTries})); err != nil {
		return nil, err
	}
	m.provider = sdkmetric.NewMeterProvider(sdkmetric.WithResource(of),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(m)))
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

// Export sends what was counted. What does not arrive is in the next one: it counts from the start.
func (m *meter) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	err := m.Exporter.Export(ctx, all)
	switch {
	case err != nil && !m.failing.Swap(true):
		m.sender.log.Warn("metrics do not reach the OpenTelemetry collector", "why", err)
	case err == nil && m.failing.Swap(false):
		m.sender.log.Warn("metrics reach the OpenTelemetry collector again")
	}
	return nil // it was told
}
