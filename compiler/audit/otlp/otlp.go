// Package otlp sends the events of an audit to an OpenTelemetry collector, as logs over OTLP/HTTP. [Open] reads the
// standard variables of OpenTelemetry that say where the collector is, and [Sender.Send] sends an event.
//
// A collector that is slow or gone delays nobody: events wait in a queue of bounded length, and those for which it has
// no room, or that the collector does not take, are counted ([Sender.Lost]) and told of once in a row.
//
// The queue and the batches are those of OpenTelemetry's SDK. Its own exporter is not used: it links gRPC, which makes
// the program a sixth larger and every start longer.
package otlp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdk "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"modec.dev/modec/compiler/audit"
)

const (
	mostQueued = 2048 // events that wait
	batch      = 512  // events of one request
	every      = time.Second
	tries      = 4                      // of a request
	firstPause = 250 * time.Millisecond // before another try; twice as long each time
	mostPause  = 5 * time.Second        // that a collector may ask for
	mostAnswer = 64 << 10               // bytes of an answer
	goodbye    = 2 * time.Second        // for what waits when the program ends
)

// Sender sends events. It is safe for concurrent use.
type Sender struct {
	address string
	headers http.Header
	client  *http.Client
	log     *slog.Logger

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
	of := func(name string) string {
		return cmp.Or(env("OTEL_EXPORTER_OTLP_LOGS_"+name), env("OTEL_EXPORTER_OTLP_"+name))
	}
	if p := cmp.Or(of("PROTOCOL"), "http/protobuf"); p != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q, and modec sends http/protobuf: set this, and the "+
			"address of the collector for it", p)
	}
	address, err := endpoint(env)
	if err != nil {
		return nil, err
	}
	timeout := 10 * time.Second
	if text := of("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT is %q, want milliseconds", text)
		}
		timeout = time.Duration(ms) * time.Millisecond
	}
	s := &Sender{address: address, headers: http.Header{}, log: logger, client: &http.Client{Timeout: timeout}}
	for pair := range strings.SplitSeq(of("HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if value, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			s.headers.Set(strings.TrimSpace(name), value)
		} else if strings.TrimSpace(pair) != "" {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS is no list of NAME=VALUE, separated by commas")
		}
	}
	s.headers.Set("Content-Type", "application/x-protobuf")
	s.headers.Set("User-Agent", "modec/"+version)
	s.provider = sdk.NewLoggerProvider(
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", cmp.Or(env("OTEL_SERVICE_NAME"), "modec")),
			attribute.String("service.version", version))),
		sdk.WithProcessor(sdk.NewBatchProcessor(s,
			sdk.WithMaxQueueSize(mostQueued+batch), sdk.WithExportMaxBatchSize(batch), sdk.WithExportInterval(every),
			sdk.WithExportTimeout(tries*(timeout+mostPause)))))
	s.logger = s.provider.Logger("modec.dev/modec/audit", log.WithInstrumentationVersion(version))
	return s, nil
}

// endpoint returns the address of the collector's logs.
func endpoint(env func(string) string) (string, error) {
	text, own := env("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"), true
	if text == "" {
		text, own = cmp.Or(env("OTEL_EXPORTER_OTLP_ENDPOINT"), "http://localhost:4318"), false
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("OTEL_EXPORTER_OTLP_ENDPOINT is no address, such as http://localhost:4318")
	}
	if !own {
		u = u.JoinPath("v1/logs")
	}
	return u.String(), nil
}

// Send sends an event, without secrets as the log has it, some time later. It never waits.
func (s *Sender) Send(e *audit.Event) {
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
	s.closed.Store(true)
	if n := s.queued.Swap(0); n > 0 {
		s.miss(int(n), errors.New("the program ends before the collector took them"))
	}
	if n := s.Lost(); n > 0 {
		s.log.Warn("events were not sent to the OpenTelemetry collector", "count", n)
	}
}

// Export is the SDK's way to send a batch.
func (s *Sender) Export(ctx context.Context, records []sdk.Record) error {
	n := len(records)
	rejected, err := s.post(ctx, encode(records))
	if s.closed.Load() { // and counted
		return nil
	}
	s.queued.Add(int64(-n))
	switch {
	case err != nil:
		s.miss(n, err)
	case rejected > 0:
		s.miss(min(n, rejected), errors.New("it rejected some of a batch"))
	case s.failing.Swap(false):
		s.log.Warn("events reach the OpenTelemetry collector again", "lost", s.Lost())
	}
	return nil // it was told
}

// Shutdown is the SDK's: there is nothing to end.
func (s *Sender) Shutdown(context.Context) error { return nil }

// ForceFlush is the SDK's: a batch is sent when it comes.
func (s *Sender) ForceFlush(context.Context) error { return nil }

// post sends a batch, again where the collector may take it later. It returns how many records were rejected.
func (s *Sender) post(ctx context.Context, body []byte) (rejected int, err error) {
	pause := firstPause
	for try := 1; ; try++ {
		answer, again, err := s.once(ctx, body)
		if err == nil {
			return rejectedOf(answer), nil
		}
		if again < 0 || try == tries {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(min(max(again, pause), mostPause)):
		}
		pause *= 2
	}
}

// never says that a batch is not to be sent again.
const never time.Duration = -1

// once sends a batch. Where that failed it returns after which time it may be sent again.
func (s *Sender) once(ctx context.Context, body []byte) (answer []byte, again time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, strings.NewReader(string(body)))
	if err != nil {
		return nil, never, err
	}
	r.Header = s.headers.Clone()
	res, err := s.client.Do(r)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) {
			err = of.Err // the address may have a password in it
		}
		return nil, 0, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	switch code := res.StatusCode; {
	case code/100 == 2:
		return answer, 0, err
	case code == http.StatusTooManyRequests, code == http.StatusBadGateway, code == http.StatusServiceUnavailable,
		code == http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return nil, time.Duration(max(seconds, 0)) * time.Second, fmt.Errorf("it answers %s", res.Status)
	}
	return nil, never, fmt.Errorf("it answers %s", res.Status)
}
