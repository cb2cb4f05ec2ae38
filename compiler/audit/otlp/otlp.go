// Package otlp sends the events of an audit to an OpenTelemetry collector over OTLP/HTTP: each as a log, and all of
// them as metrics, counted by decision. [Open] reads the standard variables of OpenTelemetry that say where the
// collector is, and [Sender.Send] sends an event.
//
// A collector that is slow or gone delays nobody: events wait in a queue of bounded length, and those for which it has
// no room, or that the collector does not take, are counted ([Sender.Lost]) and told of once in a row.
//
// The queue, the batches and the exporters are those of OpenTelemetry's SDK.
package otlp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdk "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"modec.dev/modec/compiler/audit"
)

const (
	mostQueued = 2048 // events that wait
	batch      = 512  // events of one request
	every      = time.Second
	firstPause = 250 * time.Millisecond // before another try; longer each time
	mostPause  = 5 * time.Second
	mostTries  = 15 * time.Second // for all tries of a request
	goodbye    = 2 * time.Second  // for what waits when the program ends
)

// Sender sends events. It is safe for concurrent use.
type Sender struct {
	sdk.Exporter
	log *slog.Logger
	// meter counts the events too; nil: OTEL_METRICS_EXPORTER turns that off.
	meter *meter

	provider *sdk.LoggerProvider
	logger   log.Logger
	queued   atomic.Int64
	lost     atomic.Uint64
	failing  atomic.Bool
	closed   atomic.Bool
}

// Open returns a sender to the collector that the variables of OpenTelemetry name, by default one of this machine. It
// connects with the first event. The sender is nil where OTEL_SDK_DISABLED turns it off.
func Open(env func(string) string, version string, logger *slog.Logger) (*Sender, error) {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	address, err := endpoint(env, "LOGS")
	if err != nil {
		return nil, err
	}
	s := &Sender{log: logger}
	if s.Exporter, err = otlploghttp.New(context.Background(), otlploghttp.WithEndpointURL(address),
		otlploghttp.WithRetry(otlploghttp.RetryConfig{Enabled: true, InitialInterval: firstPause,
			MaxInterval: mostPause, MaxElapsedTime: mostTries})); err != nil {
		return nil, err
	}
	of := resource.NewSchemaless(
		attribute.String("service.name", cmp.Or(env("OTEL_SERVICE_NAME"), "modec")),
		attribute.String("service.version", version))
	if s.meter, err = newMeter(env, version, of, s); err != nil {
		return nil, err
	}
	s.provider = sdk.NewLoggerProvider(
		sdk.WithResource(of),
		sdk.WithProcessor(sdk.NewBatchProcessor(s,
			sdk.WithMaxQueueSize(mostQueued+batch), sdk.WithExportMaxBatchSize(batch), sdk.WithExportInterval(every),
			sdk.WithExportTimeout(2*mostTries))))
	s.logger = s.provider.Logger(scopeName, log.WithInstrumentationVersion(version))
	return s, nil
}

// Send sends an event, without secrets as the log has it, some time later. It never waits.
func (s *Sender) Send(e *audit.Event) {
	s.meter.count(e)
	if s.queued.Add(1) > mostQueued {
		s.queued.Add(-1)
		s.miss(1, errors.New("events come faster than the collector takes them"))
		return
	}
	var r log.Record
	r.SetTimestamp(e.Time)
	r.SetObservedTimestamp(time.Now())
	r.SetEventName("modec.audit")
	r.SetSeverity(log.SeverityInfo)
	r.SetSeverityText("INFO")
	if e.Denied() || e.Outcome == audit.Failed || e.Outcome == audit.Lost {
		r.SetSeverity(log.SeverityWarn)
		r.SetSeverityText("WARN")
	}
	tool := strings.TrimPrefix(e.Server+":"+e.Tool, ":")
	r.SetBody(attribute.StringValue(strings.TrimSpace(string(e.Outcome) + " " + tool)))
	for _, x := range []struct{ name, value string }{
		{"id", e.ID}, {"via", string(e.Via)}, {"agent", e.Agent}, {"principal", e.Principal}, {"role", e.Role},
		{"mode", e.Mode}, {"server", e.Server}, {"tool", e.Tool}, {"group", e.Group}, {"about", e.About},
		{"decision", e.Decision}, {"rule", e.Rule}, {"place", e.Place}, {"policy", e.Policy},
		{"outcome", string(e.Outcome)}, {"detail", e.Detail}, {"digest", e.Digest}, {"arguments", string(e.Arguments)},
	} {
		if x.value != "" {
			r.AddAttributes(attribute.String("modec."+x.name, x.value))
		}
	}
	r.AddAttributes(attribute.Float64("modec.ms", e.MS))
	s.logger.Emit(context.Background(), r)
}

// Lost returns how many events were not sent.
func (s *Sender) Lost() uint64 { return s.lost.Load() }

// miss counts events that are not sent. It tells of the first of several in a row.
func (s *Sender) miss(n int, why error) {
	s.lost.Add(uint64(n))
	if !s.failing.Swap(true) {
		s.log.Warn("events do not reach the OpenTelemetry collector; what was decided holds", "why", why)
	}
}

// Close sends what waits, as far as the collector takes it at once.
func (s *Sender) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_ = s.provider.Shutdown(ctx) // what is left is counted here
	s.meter.close(ctx)
	s.closed.Store(true)
	if n := s.queued.Swap(0); n > 0 {
		s.miss(int(n), errors.New("the program ends before the collector took them"))
	}
	if n := s.Lost(); n > 0 {
		s.log.Warn("events were not sent to the OpenTelemetry collector", "count", n)
	}
}

// Export sends a batch, and counts what does not arrive.
func (s *Sender) Export(ctx context.Context, records []sdk.Record) error {
	n := len(records)
	err := s.Exporter.Export(ctx, records)
	if s.closed.Load() { // and counted
		return nil
	}
	s.queued.Add(int64(-n))
	if err != nil {
		s.miss(min(n, rejectedOf(err, n)), err)
	} else if s.failing.Swap(false) {
		s.log.Warn("events reach the OpenTelemetry collector again", "lost", s.Lost())
	}
	return nil // it was told
}

// rejectedOf returns how many records the collector rejected: all, unless the SDK's error says how many.
func rejectedOf(err error, all int) (n int) {
	text := err.Error()
	if i := strings.LastIndexByte(text, '('); strings.Contains(text, "partial success") && i >= 0 {
		if _, bad := fmt.Sscanf(text[i:], "(%d", &n); bad == nil {
			return n
		}
	}
	return all
}

// endpoint returns the address of the collector for a signal, LOGS or METRICS, as the variables of OpenTelemetry say.
// It fails for those that cannot be followed, and does not repeat values, which may be secret.
func endpoint(env func(string) string, signal string) (string, error) {
	of := func(name string) string {
		return cmp.Or(env("OTEL_EXPORTER_OTLP_"+signal+"_"+name), env("OTEL_EXPORTER_OTLP_"+name))
	}
	if is := cmp.Or(of("PROTOCOL"), "http/protobuf"); is != "http/protobuf" {
		return "", fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q, and modec sends http/protobuf: set this, and the "+
			"address of the collector for it", is)
	}
	for pair := range strings.SplitSeq(of("HEADERS"), ",") {
		_, value, ok := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(value); strings.TrimSpace(pair) != "" && (!ok || err != nil) {
			return "", errors.New("OTEL_EXPORTER_OTLP_HEADERS is no list of NAME=VALUE, separated by commas")
		}
	}
	u, err := url.Parse(cmp.Or(of("ENDPOINT"), "http://localhost:4318"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("OTEL_EXPORTER_OTLP_ENDPOINT is no address, such as http://localhost:4318")
	}
	if env("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") == "" {
		u = u.JoinPath("v1", strings.ToLower(signal))
	}
	return u.String(), nil
}
