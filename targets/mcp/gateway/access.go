package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"modec.dev/modec/targets/mcp/auth"
	"modec.dev/modec/targets/mcp/serve"
)

// singleToken refuses a request with two tokens: another server between may have looked at the other one.
func singleToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header.Values("Authorization")) > 1 {
			http.Error(w, "got more than one Authorization header", http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// challenge returns the header by which a caller learns what is wanted (RFC 6750, section 3). where is the address of
// the metadata; "": there is none.
func challenge(where, fault string) string {
	var params []string
	if fault != "" {
		params = append(params, fmt.Sprintf("error=%q", fault))
	}
	if where != "" {
		params = append(params, fmt.Sprintf("resource_metadata=%q", where))
	}
	return strings.TrimSpace("Bearer " + strings.Join(params, ", "))
}

// challenged says to a caller without a token that one is needed, to one whose token is not taken that it is not, and
// to one who has no role that it may not call.
func challenged(where string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&challenger{ResponseWriter: w, where: where, token: r.Header.Get("Authorization") != ""}, r)
	})
}

// challenger adds the header to the responses whose status requires it.
type challenger struct {
	http.ResponseWriter
	where string
	token bool // the request has one
}

func (c *challenger) WriteHeader(status int) {
	switch {
	case status == http.StatusUnauthorized && c.token:
		c.Header().Set("WWW-Authenticate", challenge(c.where, "invalid_token"))
	case status == http.StatusUnauthorized:
		c.Header().Set("WWW-Authenticate", challenge(c.where, ""))
	case status == http.StatusForbidden:
		c.Header().Set("WWW-Authenticate", challenge(c.where, "insufficient_scope"))
	}
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (c *challenger) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush is for the SDK, which looks for it itself.
func (c *challenger) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// describe serves the metadata by which clients find the issuer. It returns their address.
func (s *Shared) describe(mux *http.ServeMux) (where string, err error) {
	if s.opt.Address == "" || s.opt.Issuer == "" {
		return "", nil
	}
	u, err := url.Parse(s.opt.Address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", fmt.Errorf("%q is no address of a gateway, such as https://mcp.example.com/mcp", s.opt.Address)
	}
	h := sdkauth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: s.opt.Address, AuthorizationServers: []string{s.opt.Issuer},
		BearerMethodsSupported: []string{"header"}, ResourceName: "modec gateway",
	})
	const well = "/.well-known/oauth-protected-resource"
	mux.Handle(well, h)
	mux.Handle(well+"/mcp", h)
	return u.Scheme + "://" + u.Host + well + strings.TrimSuffix(u.Path, "/"), nil
}

// verify is the SDK's way to ask who has a token.
func (s *Shared) verify(ctx context.Context, token string, r *http.Request) (*sdkauth.TokenInfo, error) {
	v := &visit{token: token, by: s.auth.Load()}
	p, err := s.who(ctx, token, v.by)
	switch {
	case errors.Is(err, auth.ErrInvalid):
		s.opt.Logger.Info("a token is refused", "why", err, "from", r.RemoteAddr)
		s.refused(r, "", err.Error())
		return nil, fmt.Errorf("%w: %w", sdkauth.ErrInvalidToken, auth.ErrInvalid) // and not why
	case err != nil:
		s.opt.Logger.Error("no token can be verified", "why", err)
		return nil, errors.New("no token can be verified at the moment")
	}
	v.who = p
	return &sdkauth.TokenInfo{UserID: p.ID, Expiration: p.Expires, Extra: map[string]any{visitKey: v}}, nil
}

// who returns who has a token, by the verifier of the start and by that of the last reload.
func (s *Shared) who(ctx context.Context, token string, now *auth.Verifier) (*auth.Principal, error) {
	p, err := s.opt.Auth.Verify(ctx, token)
	if err == nil && now != nil {
		return both(ctx, p, token, now)
	}
	return p, err
}

// both returns who has a token by a verifier that came later too, with the claims that it has by both.
func both(ctx context.Context, p *auth.Principal, token string, now *auth.Verifier) (*auth.Principal, error) {
	q, err := now.Verify(ctx, token)
	if err != nil {
		return nil, err
	}
	if q.ID != p.ID {
		return nil, fmt.Errorf("%w: it is another one's now", auth.ErrInvalid)
	}
	claims := map[string][]string{}
	for name, values := range p.Claims {
		gone := func(v string) bool { return !slices.Contains(q.Claims[name], v) }
		if values = slices.DeleteFunc(slices.Clone(values), gone); len(values) > 0 {
			claims[name] = values
		}
	}
	expires := p.Expires
	if q.Expires.Before(expires) { // clocks may differ by less now
		expires = q.Expires
	}
	return &auth.Principal{ID: p.ID, Claims: claims, Expires: expires}, nil
}

// Restrict takes another list of whose tokens are taken, as far as it is narrower than that of the start. The requests
// under way of those whose tokens are not taken any more end, calls with an error.
func (s *Shared) Restrict(v *auth.Verifier) {
	s.auth.Store(v)
	s.mu.Lock()
	visits := slices.Collect(maps.Keys(s.visits))
	s.mu.Unlock()
	for _, v := range visits {
		s.askAgain(v)
	}
}

// askAgain asks again who has the token of a request under way.
func (s *Shared) askAgain(v *visit) {
	if v.token == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), serve.Patience)
	defer cancel()
	p, err := s.who(ctx, v.token, s.auth.Load())
	if err != nil && !errors.Is(err, auth.ErrInvalid) {
		return // nobody knows; the token's own time ends the request
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recheck(v, p)
}

// askedBefore asks again who has the token of a request that has come in, if the list of tokens is another one than
// when it was looked at: Restrict may not have seen the request.
func (s *Shared) askedBefore(v *visit) {
	if s.auth.Load() != v.by {
		s.askAgain(v)
	}
}

// recheck ends a request under way whose principal has other roles now than when it came, with the lock held. It is
// nobody's where the token is not taken any more.
func (s *Shared) recheck(v *visit, p *auth.Principal) {
	if p != nil {
		if key, _, err := s.table(p, v.key.role, v.key.mode); err == nil && key == v.key {
			return
		}
	}
	v.end()
}
