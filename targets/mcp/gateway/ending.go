package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/targets/mcp/serve"
)

// What gave access to a request under way may go: its token expires or is not taken any more, a role is gone, or the
// gateway ends. Streams end then. A call that was let in is answered: at the end of its token's time or of the gateway
// it comes to its answer, and whoever may not call any more gets an error in its place. The audit has that error too.

// cutShort is why a request has no other answer. It is the cause of its context's end.
type cutShort struct{ words string }

func (e *cutShort) Error() string { return e.words }

// As makes it an error of the protocol.
func (e *cutShort) As(target any) bool {
	if to, ok := target.(**jsonrpc.Error); ok {
		*to = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: e.words}
		return true
	}
	return false
}

var (
	notAnyMore    = &cutShort{"the call was ended: what gave you access to it was taken away"}
	noMoreTime    = &cutShort{"the stream was ended: its time is over"}
	gatewayEnds   = &cutShort{"the call was ended, since the gateway ends: call again"}
	gatewayLeaves = &cutShort{"the stream was ended, since the gateway ends: open it again"}
)

// cutReason returns why a request has no other answer; nil: it has its own.
func cutReason(ctx context.Context) error {
	if why, ok := errors.AsType[*cutShort](context.Cause(ctx)); ok {
		return why
	}
	return nil
}

// listenMethod are the methods whose answer is a stream that stays open.
const listenMethod = "subscriptions/listen"

// withLifetime returns the context of a message, which ends with the request that it came with and with the gateway.
func (g *Gateway) withLifetime(ctx context.Context, method string, req sdk.Request) (own context.Context, done func()) {
	own, end := context.WithCancelCause(ctx)
	dones := []func(){func() { end(nil) }}
	if life := g.opt.life; life != nil {
		of := life.calls
		if method == listenMethod {
			of = life.streams
		}
		stop := context.AfterFunc(of, func() { end(context.Cause(of)) })
		dones = append(dones, func() { stop() })
	}
	if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
		if v, ok := extra.TokenInfo.Extra[visitKey].(*visit); ok {
			dones = append(dones, v.begin(method, end))
			own = context.WithValue(own, tokenKey{}, v.token)
		}
	}
	return own, func() {
		for _, f := range dones {
			f()
		}
	}
}

// life is that of a gateway for many: the streams end before the calls do.
type life struct {
	streams, calls       context.Context
	endStreams, endCalls context.CancelCauseFunc
}

func newLife() *life {
	l := &life{}
	l.streams, l.endStreams = context.WithCancelCause(context.Background())
	l.calls, l.endCalls = context.WithCancelCause(context.Background())
	return l
}

// Leave ends the streams: the gateway ends once the calls under way are answered.
func (s *Shared) Leave() { s.life.endStreams(gatewayLeaves) }

// EndCalls answers the calls under way with an error.
func (s *Shared) EndCalls() { s.life.endCalls(gatewayEnds) }

// message is one under way.
type message struct {
	method string
	end    context.CancelCauseFunc
}

// begin notes a message of the request, until done is called.
func (v *visit) begin(method string, end context.CancelCauseFunc) (done func()) {
	m := &message{method, end}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.gone:
		end(notAnyMore)
	case v.late && method == listenMethod:
		end(noMoreTime)
	}
	if v.messages == nil {
		v.messages = map[*message]bool{}
	}
	v.messages[m] = true
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.messages, m)
	}
}

// endStream ends a request that stays open, and no call.
func (v *visit) endStream() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.late = true
	for m := range v.messages {
		if m.method == listenMethod {
			m.end(noMoreTime)
		}
	}
	if v.reads {
		v.stop()
	}
}

// end ends a request whose caller has no access any more. Its calls are answered with an error first.
func (v *visit) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gone = true
	for m := range v.messages {
		m.end(notAnyMore)
	}
	if v.reads {
		v.stop()
		return
	}
	time.AfterFunc(serve.Patience, v.stop)
}

// isGone reports whether the caller has no access any more.
func (v *visit) isGone() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.gone
}
