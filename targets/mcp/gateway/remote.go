package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"modec.dev/modec/compiler/secret"
)

// alias stands before a method of the protocol that is called as one of modec's own: the SDK would decode
// the answer to the method itself into types that lack what modec does not know.
const alias = "modec/"

// ownName returns a message with the name that its method has in the protocol.
func ownName(msg jsonrpc.Message) jsonrpc.Message {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !strings.HasPrefix(req.Method, alias) {
		return msg
	}
	named := *req
	named.Method = strings.TrimPrefix(req.Method, alias)
	return &named
}

// remote carries the requests to one server over HTTP: with the headers of its entry, to its own origin only, and
// with answers of a bounded size.
type remote struct {
	base    http.RoundTripper
	origin  *url.URL
	headers map[string]string
}

func newRemote(e secret.Entry) (*http.Client, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("got the address %q, want one that begins with https:// or http://", shorten(e.URL))
	}
	return &http.Client{Transport: &remote{base: http.DefaultTransport, origin: u, headers: e.Headers}}, nil
}

func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != r.origin.Scheme || req.URL.Host != r.origin.Host {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, fmt.Errorf("the server sends modec to another one, %s://%s, which its entry does not name",
			req.URL.Scheme, shorten(req.URL.Host))
	}
	req = req.Clone(req.Context())
	for name, value := range r.headers {
		if !strings.HasPrefix(http.CanonicalHeaderKey(name), "Mcp-") { // the protocol's own
			req.Header.Set(name, value)
		}
	}
	if err := r.rename(req); err != nil {
		return nil, err
	}
	res, err := r.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/event-stream" {
		res.Body = &bounded{res.Body, maxMessage}
	}
	return res, nil
}

// rename puts the protocol's name of the method into the request, and into the headers that the SDK wrote.
func (r *remote) rename(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return err
	}
	if at := []byte(`"method":"` + alias); bytes.Contains(body[:min(len(body), 100)], at) {
		body = bytes.Replace(body, at, []byte(`"method":"`), 1)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	method := req.Header.Get("Mcp-Method")
	if !strings.HasPrefix(method, alias) {
		return nil
	}
	req.Header.Set("Mcp-Method", strings.TrimPrefix(method, alias))
	var of struct {
		Params struct{ Name, URI string }
	}
	if err := json.Unmarshal(body, &of); err != nil {
		return err
	}
	if name := of.Params.Name + of.Params.URI; name != "" { // a request has one of them
		req.Header.Set("Mcp-Name", headerText(name))
	}
	return nil
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
