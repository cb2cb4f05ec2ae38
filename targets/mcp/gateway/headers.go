package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	gojson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"modec.dev/modec/compiler/ir"
)

// A caller has credentials of its own for servers. What a server gets of them its entry names: headers of the request,
// or where it says so those of a map that the caller sends in one header, by patterns of addresses. The first is one
// credential for all servers; with the second each server gets its own and none of another's.

// mostPatterns is how many patterns a map of headers has at most.
const mostPatterns = 64

// forwarded returns the headers that each server gets of a request, and a digest of them. It fails for a map of
// headers that cannot be read: whoever sent it would call as somebody else than they think.
func (s *Shared) forwarded(r *http.Request) (headers map[string]map[string]string, sum string, err error) {
	maps := map[string]headerMap{} // by the header they are in
	for name, o := range s.opt.Servers {
		from := func(h string) (string, bool) {
			values := r.Header.Values(h)
			return strings.Join(values, ", "), len(values) > 0
		}
		if o.Map != "" {
			m, read := maps[o.Map]
			if !read {
				if m, err = readHeaderMap(r.Header.Values(o.Map)); err != nil {
					return nil, "", &rejection{http.StatusBadRequest, fmt.Sprintf("the header %s cannot be read: %v",
						http.CanonicalHeaderKey(o.Map), err)}
				}
				maps[o.Map] = m
			}
			own := m.of(s.addresses[name])
			from = func(h string) (string, bool) {
				value, ok := own[http.CanonicalHeaderKey(h)]
				return value, ok
			}
		}
		for _, h := range o.Forward {
			value, ok := from(h)
			if !ok {
				continue
			}
			if headers == nil {
				headers = map[string]map[string]string{}
			}
			if headers[name] == nil {
				headers[name] = map[string]string{}
			}
			headers[name][http.CanonicalHeaderKey(h)] = value
		}
	}
	if headers == nil {
		return nil, "", nil
	}
	text, _ := json.Marshal(headers) // maps of texts, sorted
	return headers, digest(text), nil
}

// headerMap says which headers servers get, by patterns of their addresses, in the order of the text.
type headerMap []struct {
	pattern string
	headers map[string]string // by their canonical names
}

// of returns the headers of the server at an address: those of the address itself, else those of the first pattern that
// matches it. A star stands for what has no slash.
func (m headerMap) of(address string) map[string]string {
	for _, e := range m {
		if e.pattern == address {
			return e.headers
		}
	}
	for _, e := range m {
		if doublestar.MatchUnvalidated(e.pattern, address) {
			return e.headers
		}
	}
	return nil
}

// readHeaderMap reads a map: {"https://*.example.com/**": {"headers": {"X-Tenant": "one"}}}. No error of it shows what
// is in it.
func readHeaderMap(values []string) (m headerMap, err error) {
	if len(values) == 0 {
		return nil, nil
	}
	if len(values) > 1 {
		return nil, errors.New("it is there more than once")
	}
	no := errors.New("it is no JSON object of patterns with headers, or has a key twice")
	d := jsontext.NewDecoder(strings.NewReader(values[0])) // which refuses a key that is there twice
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, no
	}
	for d.PeekKind() == '"' {
		var pattern string
		var of struct {
			Headers map[string]string `json:"headers"`
		}
		if gojson.UnmarshalDecode(d, &pattern) != nil {
			return nil, no
		}
		if len(m) == mostPatterns {
			return nil, fmt.Errorf("it has more than %d patterns", mostPatterns)
		}
		if !doublestar.ValidatePattern(pattern) {
			return nil, fmt.Errorf("pattern %d is not one", len(m)+1)
		}
		if gojson.UnmarshalDecode(d, &of) != nil {
			return nil, no // the library's words show what is there
		}
		if of.Headers == nil { // the server would get none, and its caller not learn of it
			return nil, fmt.Errorf("pattern %d has no \"headers\"", len(m)+1)
		}
		headers := map[string]string{}
		for name, value := range of.Headers {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, fmt.Errorf("a header of pattern %d is not one", len(m)+1)
			}
			headers[http.CanonicalHeaderKey(name)] = value
		}
		if len(headers) < len(of.Headers) {
			return nil, fmt.Errorf("a header of pattern %d is there twice", len(m)+1)
		}
		m = append(m, struct {
			pattern string
			headers map[string]string
		}{pattern, headers})
	}
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '}' {
		return nil, no
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the map")
	}
	return m, nil
}

// addressesOf returns where the remote servers of an inventory are, as far as the environment says.
func addressesOf(p *ir.Project) map[string]string {
	list := map[string]string{}
	for i := range p.Servers {
		if e, err := expanded(&p.Servers[i], lookupEnv); err == nil && e.URL != "" {
			list[p.Servers[i].Name] = e.URL
		}
	}
	return list
}

// checkForward fails for headers that cannot be passed on to a server.
func (s *Shared) checkForward(name string, sv *ir.Server) error {
	o := s.opt.Servers[name]
	passable := func(h string) bool {
		return httpguts.ValidHeaderFieldName(h) && !strings.HasPrefix(http.CanonicalHeaderKey(h), "Mcp-") &&
			!slices.Contains(ofHop, http.CanonicalHeaderKey(h))
	}
	for _, h := range o.Forward {
		if !passable(h) {
			return fmt.Errorf("server %q: %q is no header that can be passed on", name, h)
		}
	}
	switch of := http.CanonicalHeaderKey(o.Map); {
	case o.Shared && len(o.Forward) > 0:
		return fmt.Errorf("server %q is shared, so no header of one caller can be passed on to it", name)
	case len(o.Forward) > 0 && sv.Entry().Command != "":
		return fmt.Errorf("server %q is a program, so no header can be passed on to it", name)
	case o.Shared && len(o.Open) > 0:
		return fmt.Errorf("server %q is shared, so nothing that it asks can be passed on: it could be about another "+
			"caller", name)
	case o.Map == "":
	case len(o.Forward) == 0:
		return fmt.Errorf("server %q: name in forward which headers of the map %s it gets", name, of)
	case !passable(o.Map) || of == "Authorization" || of == "Cookie":
		return fmt.Errorf("server %q: %q is no header that can have a map", name, o.Map)
	}
	for other, with := range s.opt.Servers {
		if o.Map != "" && with.Map == "" && slices.ContainsFunc(with.Forward, func(h string) bool {
			return strings.EqualFold(h, o.Map)
		}) {
			return fmt.Errorf("server %q would get the map %s with the headers of others", other, o.Map)
		}
	}
	return nil
}
