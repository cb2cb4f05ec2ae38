package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/secret"
)

// calls are the connections to all servers.
var calls = sync.OnceValue(func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = mostIdle
	return t
})

// mostIdle is how many connections to a server are kept for calls to come.
const mostIdle = 32

// methodPrefix stands before a method of the protocol that is called as one of modec's own: the SDK would decode
// the answer to the method itself into types that lack what modec does not know.
const methodPrefix = "modec/"

// ownName returns a message with the name that its method has in the protocol.
func ownName(msg jsonrpc.Message) jsonrpc.Message {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !strings.HasPrefix(req.Method, methodPrefix) {
		return msg
	}
	named := *req
	named.Method = strings.TrimPrefix(req.Method, methodPrefix)
	return &named
}

// remote carries the requests to one server over HTTP: with the headers of its entry, to its own origin only, and
// with answers of a bounded size.
type remote struct {
	origin  *url.URL
	headers map[string]string
	// progressed hears of a call's progress before its result is read: the SDK may tell of it later.
	progressed func(*sdk.ProgressNotificationParams)
	flow       *flow // of all its streams
	life       context.Context
}

func newRemote(
	life context.Context, e secret.Entry, progressed func(*sdk.ProgressNotificationParams),
) (*http.Client, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("got the address %q, want one that begins with https:// or http://", shorten(e.URL))
	}
	return &http.Client{Transport: &remote{origin: u, headers: e.Headers, progressed: progressed, flow: newFlow(),
		life: life}}, nil
}

func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != r.origin.Scheme || req.URL.Host != r.origin.Host {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, fmt.Errorf("the server sends modec to another one, %s://%s, which its entry does not name",
			req.URL.Scheme, shorten(req.URL.Host))
	}
	return r.send(req)
}

// send sends a request to the server.
func (r *remote) send(req *http.Request) (*http.Response, error) {
	req = req.Clone(httptrace.WithClientTrace(req.Context(),
		&httptrace.ClientTrace{WroteHeaders: func() { noteSent(req.Context()) }})) // before the body
	for name, value := range r.headers {
		if !strings.HasPrefix(http.CanonicalHeaderKey(name), "Mcp-") { // the protocol's own
			req.Header.Set(name, value)
		}
	}
	sent, err := r.rename(req)
	if err != nil {
		return nil, err
	}
	if isAnswer(sent) {
		return r.answer(req, sent)
	}
	res, err := calls().RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if r.lost(req, sent, res) {
		res.Body.Close()
		return nil, errNoSession
	}
	if costsSession(req, sent, res) {
		res.Body = &singleAnswer{Closer: res.Body, sent: sent, status: res.Status, from: &bounded{res.Body, maxMessage}}
		res.StatusCode, res.Status, res.ContentLength = http.StatusOK, "200 OK", -1
		res.Header.Set("Content-Type", "application/json")
		res.Header.Del("Content-Length")
		return res, nil
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/event-stream" {
		res.Body = &bounded{res.Body, maxMessage}
	} else if r.progressed != nil {
		res.Body = &progressStream{Closer: res.Body, lines: bufio.NewReaderSize(res.Body, firstRead),
			tell: r.progressed, flow: r.flow, ctx: req.Context()}
	}
	return res, nil
}

// errNoSession is why a request was not taken: the server does not know its session any more, as after a restart.
var errNoSession = errors.New("it does not know the session any more")

// lost reports whether the server does not know the session of a request any more. Some servers say so with 404. Others
// refuse every request of it with 400, so a ping is sent to find out.
func (r *remote) lost(req *http.Request, sent []byte, res *http.Response) bool {
	sse := req.Header.Get("Accept") == "" // of revision 2024-11-05, which has sessions in its addresses
	if req.Method != http.MethodPost || req.Header.Get("Mcp-Session-Id") == "" && !sse {
		return false
	}
	if res.StatusCode != http.StatusBadRequest || hasMethod(sent, "ping") {
		return res.StatusCode == http.StatusNotFound
	}
	const body = `{"jsonrpc":"2.0","id":"modec","method":"ping"}`
	ping := req.Clone(req.Context())
	ping.Body, ping.GetBody, ping.ContentLength = io.NopCloser(strings.NewReader(body)), nil, int64(len(body))
	answer, err := calls().RoundTrip(ping)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusBadRequest || answer.StatusCode == http.StatusNotFound
}

// unsent reports whether an error says that a server has not got a request: it does not listen just now.
func unsent(err error) bool {
	of, ok := errors.AsType[*net.OpError](err)
	return ok && of.Op == "dial"
}

// answer sends what answers a call of the server, until the connection ends: the SDK waits for that, and the server may
// take it from nobody.
func (r *remote) answer(req *http.Request, sent []byte) (*http.Response, error) {
	msg, _ := jsonrpc.DecodeMessage(sent)
	defer r.flow.answered(msg)
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	defer context.AfterFunc(r.life, cancel)()
	res, err := calls().RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	res.Body.Close() // nobody reads it
	res.Body = http.NoBody
	return res, nil
}

// isAnswer reports whether a body that the SDK wrote answers a call of the server.
func isAnswer(body []byte) bool { return len(body) > 0 && !hasMethod(body, "") }

// costsSession reports whether the SDK may end the session for an answer to a request: by its status, or by what its
// body has. A server that refuses one call with 403 costs that call alone. What passes is left to the SDK.
func costsSession(req *http.Request, sent []byte, res *http.Response) bool {
	if req.Method != http.MethodPost || !strings.Contains(req.Header.Get("Accept"), "text/event-stream") ||
		hasMethod(sent, "initialize") || hasMethod(sent, "server/discover") { // before which there is none
		return false
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); res.StatusCode == http.StatusOK {
		return kind == "application/json"
	}
	return 400 <= res.StatusCode && res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests
}

// singleAnswer is the body of an answer to one request. What it has counts for that request alone, and once it is read.
type singleAnswer struct {
	io.Closer
	from   io.Reader
	sent   []byte
	status string // of the answer
	read   *bytes.Reader
}

func (l *singleAnswer) Read(p []byte) (int, error) {
	if l.read == nil {
		data, err := io.ReadAll(l.from)
		l.read = bytes.NewReader(l.answer(data, err))
	}
	return l.read.Read(p)
}

// answer returns the body for the SDK: as it came where it answers the request, and else an error that says why not.
func (l *singleAnswer) answer(data []byte, err error) []byte {
	sent, _ := jsonrpc.DecodeMessage(l.sent)
	call, ok := sent.(*jsonrpc.Request)
	if !ok || !call.IsCall() {
		return data // nobody waits for an answer
	}
	came, _ := jsonrpc.DecodeMessage(data)
	res, answers := came.(*jsonrpc.Response)
	own := &jsonrpc.Response{ID: call.ID}
	failed := func(why string) { own.Error = &jsonrpc.Error{Code: transportCode, Message: why} }
	switch refusal := errorIn(data); {
	case err != nil:
		failed(err.Error())
	case refusal != nil:
		own.Error = refusal
	case !strings.HasPrefix(l.status, "200"):
		failed("it answered with " + l.status)
	case !answers:
		failed("its answer is no message of the protocol")
	case res.ID != own.ID:
		failed("it answered another request than this one")
	default:
		return data
	}
	out, bad := jsonrpc.EncodeMessage(own)
	if bad != nil {
		return data
	}
	return out
}

// errorIn returns the error that a message has, nil for none. That of a server which could not read a request has no
// id.
func errorIn(data []byte) error {
	var of struct{ Error *jsonrpc.Error }
	if !bytes.Contains(data, []byte(`"error"`)) || json.Unmarshal(data, &of) != nil {
		return nil
	}
	if of.Error == nil || of.Error.Message == "" {
		return nil
	}
	return of.Error
}

// transportCode is that of errors that say why a server has not answered ([ofTransport]).
const transportCode = -32005

// rename puts the protocol's name of the method into the request, and into the headers that the SDK wrote. It returns
// the body.
func (r *remote) rename(req *http.Request) (body []byte, err error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err = io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	if hasMethod(body, methodPrefix) {
		body = bytes.Replace(body, []byte(methodKey+methodPrefix), []byte(methodKey), 1)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	method := req.Header.Get("Mcp-Method")
	if !strings.HasPrefix(method, methodPrefix) {
		return body, nil
	}
	req.Header.Set("Mcp-Method", strings.TrimPrefix(method, methodPrefix))
	repeat(req)
	var of struct {
		Params struct{ Name, URI string }
	}
	if err := json.Unmarshal(body, &of); err != nil {
		return nil, err
	}
	if name := of.Params.Name + of.Params.URI; name != "" { // a request has one of them
		req.Header.Set("Mcp-Name", headerText(name))
	}
	return body, nil
}

// methodKey is how the SDK begins the method of a message.
const methodKey = `"method":"`

// hasMethod reports whether the method of a message that the SDK wrote begins so.
func hasMethod(body []byte, method string) bool {
	return bytes.Contains(body[:min(len(body), 100)], []byte(methodKey+method))
}

// headerText returns a text as a header may have it: one that is not plain in base64, as revision 2026-07-28
// has it.
func headerText(s string) string {
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	if strings.IndexFunc(s, odd) < 0 && strings.TrimSpace(s) == s && !strings.HasPrefix(s, "=?") {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// maxProgress is how many bytes an event that tells of progress has at most. A longer one is left to the SDK.
const maxProgress = 16 << 10

// progressStream is a stream of events from which those about progress are told as they are read, and taken out.
type progressStream struct {
	io.Closer
	lines *bufio.Reader
	tell  func(*sdk.ProgressNotificationParams)

	long   []byte // a line that is longer than the buffer, as far as it was read
	rest   []byte // of what was read last
	within bool   // a line that is longer than maxProgress

	flow *flow
	ctx  context.Context // of the request
}

// firstRead is how many bytes are read at once.
const firstRead = 4 << 10

func (o *progressStream) Read(p []byte) (int, error) {
	for len(o.rest) == 0 {
		line, err := o.lines.ReadSlice('\n')
		part := errors.Is(err, bufio.ErrBufferFull)
		if len(line) == 0 && err != nil && len(o.long) == 0 {
			return 0, err
		}
		if !o.within && (part || len(o.long) > 0) {
			if o.long = append(o.long, line...); part && len(o.long) < maxProgress {
				continue
			}
			line, o.long = o.long, nil
		}
		if !o.within && !part && o.progress(line) {
			continue
		}
		if err := o.came(line, o.within); err != nil {
			return 0, err
		}
		o.rest, o.within = line, part // what ends the stream is read again
	}
	n := copy(p, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// came waits until a line, or a part of one that is longer, may be passed on: of a message, or more of the last one.
func (o *progressStream) came(line []byte, more bool) error {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !more && (!ok || !bytes.Contains(data, []byte(`"method"`))) {
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(bytes.TrimSpace(data))
	if more || err != nil {
		msg = &jsonrpc.Request{} // a part of one
	}
	return o.flow.came(o.ctx, msg, len(line))
}

// progress tells of a line that is about a call's progress.
func (o *progressStream) progress(line []byte) bool {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok || !bytes.Contains(data, []byte("notifications/progress")) {
		return false
	}
	msg, err := jsonrpc.DecodeMessage(bytes.TrimSpace(data))
	if err != nil {
		return false
	}
	p := progressIn(msg)
	if p == nil {
		return false
	}
	o.tell(p)
	return true
}

// bounded is a body of which at most so many bytes are read.
type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it sent a message of more than %d bytes", maxMessage)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
