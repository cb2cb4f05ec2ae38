package otlp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// poster sends one signal to a collector.
type poster struct {
	address string
	headers http.Header
	client  *http.Client
}

// newPoster returns what sends a signal, LOGS or METRICS, as the variables of OpenTelemetry say.
func newPoster(env func(string) string, signal, version string) (p poster, err error) {
	of := func(name string) string {
		return cmp.Or(env("OTEL_EXPORTER_OTLP_"+signal+"_"+name), env("OTEL_EXPORTER_OTLP_"+name))
	}
	if is := cmp.Or(of("PROTOCOL"), "http/protobuf"); is != "http/protobuf" {
		return p, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q, and modec sends http/protobuf: set this, and the "+
			"address of the collector for it", is)
	}
	if p.address, err = endpoint(env, signal); err != nil {
		return p, err
	}
	timeout := 10 * time.Second
	if text := of("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return p, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT is %q, want milliseconds", text)
		}
		timeout = time.Duration(ms) * time.Millisecond
	}
	p.headers, p.client = http.Header{}, &http.Client{Timeout: timeout}
	for pair := range strings.SplitSeq(of("HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if value, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			p.headers.Set(strings.TrimSpace(name), value)
		} else if strings.TrimSpace(pair) != "" {
			return p, errors.New("OTEL_EXPORTER_OTLP_HEADERS is no list of NAME=VALUE, separated by commas")
		}
	}
	p.headers.Set("Content-Type", "application/x-protobuf")
	p.headers.Set("User-Agent", "modec/"+version)
	return p, nil
}

// endpoint returns the address of the collector for a signal.
func endpoint(env func(string) string, signal string) (string, error) {
	text, own := env("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"), true
	if text == "" {
		text, own = cmp.Or(env("OTEL_EXPORTER_OTLP_ENDPOINT"), "http://localhost:4318"), false
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("OTEL_EXPORTER_OTLP_ENDPOINT is no address, such as http://localhost:4318")
	}
	if !own {
		u = u.JoinPath("v1", strings.ToLower(signal))
	}
	return u.String(), nil
}

// post sends a batch, again where the collector may take it later. It returns how many records or
// points were rejected.
func (p *poster) post(ctx context.Context, body []byte) (rejected int, err error) {
	pause := firstPause
	for try := 1; ; try++ {
		answer, again, err := p.once(ctx, body)
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
func (p *poster) once(ctx context.Context, body []byte) (answer []byte, again time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address, strings.NewReader(string(body)))
	if err != nil {
		return nil, never, err
	}
	r.Header = p.headers.Clone()
	res, err := p.client.Do(r)
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
