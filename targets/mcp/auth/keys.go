package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// How long keys are kept.
const (
	keysFresh  = 10 * time.Minute // until they are fetched again: a key that is gone may be one that was stolen
	keysStale  = 24 * time.Hour   // until they do not count any more, where they cannot be fetched again
	keysPause  = 30 * time.Second // between two times that they are fetched
	keysLocal  = time.Second      // in the place of both, where they are in a file
	maxKeysDoc = 1 << 20          // bytes
)

// keySet verifies signatures by the keys of an issuer. It is an oidc.KeySet.
type keySet struct {
	fetch      func(context.Context) ([]byte, error)
	algorithms []jose.SignatureAlgorithm
	now        func() time.Time
	fresh      time.Duration // until they are fetched again
	pause      time.Duration // between two times that they are fetched
	local      bool          // they are in a file

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	doc     []byte    // in which the keys are
	fetched time.Time // when the keys were
	tried   time.Time // when that was last tried
	failed  error     // why it failed then
	flying  chan struct{}

	// verified are the digests of tokens whose signature one of these keys verified: a caller sends one token again and
	// again, and to verify it takes longer than to call a tool. All else about it is asked at each request.
	verified map[[sha256.Size]byte]bool
}

// mostVerified is how many of them are kept.
const mostVerified = 4096

// seen returns what a token says whose signature was verified by the keys of now; nil where it was not.
func (s *keySet) seen(token string) []byte {
	s.mu.Lock()
	known := s.verified[sha256.Sum256([]byte(token))]
	s.mu.Unlock()
	if !known {
		return nil
	}
	return payloadOf(token)
}

// saw notes that a key of a set verified a token's signature, if that set is the one of now.
func (s *keySet) saw(token string, keys []jose.JSONWebKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(keys) == 0 || len(s.keys) == 0 || &keys[0] != &s.keys[0] {
		return
	}
	if s.verified == nil || len(s.verified) >= mostVerified {
		s.verified = map[[sha256.Size]byte]bool{}
	}
	s.verified[sha256.Sum256([]byte(token))] = true
}

// payloadOf returns what a token says; nil where it is not a JWT.
func payloadOf(token string) []byte {
	_, rest, _ := strings.Cut(token, ".")
	text, _, _ := strings.Cut(rest, ".")
	payload, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return payload
}

func newKeySet(opt *Options) *keySet {
	s := &keySet{fetch: opt.Keys, now: time.Now, fresh: keysFresh, pause: keysPause, local: opt.Local}
	if opt.Local {
		s.fresh, s.pause = keysLocal, keysLocal
	}
	for _, a := range opt.Algorithms {
		s.algorithms = append(s.algorithms, jose.SignatureAlgorithm(a))
	}
	return s
}

// VerifySignature returns what a token says, once a key of the issuer has verified it.
func (s *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	before, err := s.current(ctx, s.fresh)
	if err != nil {
		return nil, err
	}
	if payload := s.seen(token); payload != nil {
		return payload, nil
	}
	jws, err := jose.ParseSignedCompact(token, s.algorithms)
	if err != nil {
		return nil, err
	}
	if len(jws.Signatures) != 1 {
		return nil, errors.New("it has not one signature")
	}
	if !unambiguous(token) {
		return nil, errors.New("it has a claim twice")
	}
	if payload, ok := verified(jws, before); ok {
		if bytes.Equal(payload, payloadOf(token)) {
			s.saw(token, before)
		}
		return payload, nil
	}
	keys, err := s.current(ctx, s.pause) // the issuer may have another key by now
	if err != nil {
		return nil, err
	}
	if payload, ok := verified(jws, keys); ok {
		return payload, nil
	}
	return nil, errors.New("no key of the issuer verifies its signature")
}

// verified returns what a token says, where one of the keys with its id verifies it.
func verified(jws *jose.JSONWebSignature, keys []jose.JSONWebKey) ([]byte, bool) {
	h := jws.Signatures[0].Header
	for i := range keys {
		k := &keys[i]
		if h.KeyID != "" && k.KeyID != h.KeyID || k.Algorithm != "" && k.Algorithm != h.Algorithm {
			continue
		}
		if payload, err := jws.Verify(k.Key); err == nil {
			return payload, true
		}
	}
	return nil, false
}

// current returns the keys, fetched again where they are older than that and nobody tried just now.
func (s *keySet) current(ctx context.Context, age time.Duration) ([]jose.JSONWebKey, error) {
	s.mu.Lock()
	now := s.now()
	if now.Sub(s.fetched) < age || now.Sub(s.tried) < s.pause && s.flying == nil {
		defer s.mu.Unlock()
		return s.known(now)
	}
	if s.flying == nil {
		s.flying, s.tried = make(chan struct{}), now
		go s.renew(context.WithoutCancel(ctx))
	}
	flying := s.flying
	s.mu.Unlock()
	select {
	case <-flying:
	case <-ctx.Done():
		return nil, &unavailable{ctx.Err()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known(s.now())
}

// known returns the keys that are there, with the lock held.
func (s *keySet) known(now time.Time) ([]jose.JSONWebKey, error) {
	if s.keys == nil || now.Sub(s.fetched) >= keysStale {
		err := s.failed
		if err == nil {
			err = errors.New("they were not fetched yet")
		}
		return nil, &unavailable{err}
	}
	return s.keys, nil
}

// renew fetches the keys.
func (s *keySet) renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*askLimit)
	defer cancel()
	doc, err := s.fetch(ctx)
	var keys []jose.JSONWebKey
	if s.local && errors.Is(err, fs.ErrNotExist) {
		doc, err = []byte(`{"keys":[]}`), nil // somebody took all of them away
	}
	if err == nil {
		keys, err = publicKeys(doc)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed = err; err == nil {
		if s.fetched = s.now(); !bytes.Equal(s.doc, doc) {
			s.keys, s.doc, s.verified = keys, doc, nil
		}
	}
	close(s.flying)
	s.flying = nil
}

// publicKeys reads a set of keys, which may be empty. What is no key of a signature is left out.
func publicKeys(doc []byte) ([]jose.JSONWebKey, error) {
	var raw struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(doc, &raw); err != nil || raw.Keys == nil {
		return nil, errors.New(`it is no set of keys: JSON with "keys" (RFC 7517)`)
	}
	keys := []jose.JSONWebKey{}
	for _, one := range raw.Keys {
		var k jose.JSONWebKey
		if json.Unmarshal(one, &k) == nil && k.Valid() && k.IsPublic() && k.Use != "enc" {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// Remote returns a function that fetches an issuer's keys: from an address, or where it is empty from the one that
// the issuer's own metadata name (OpenID Connect Discovery 1.0, section 4). It fails for an address that others
// between could answer for.
func Remote(issuer, address string) (func(context.Context) ([]byte, error), error) {
	first := address
	if address == "" {
		first = strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
	}
	if err := checkAddress(first); err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]byte, error) {
		doc, err := get(ctx, first)
		if err != nil || address != "" {
			return doc, err
		}
		var of struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		if err := json.Unmarshal(doc, &of); err != nil || of.Issuer != issuer || checkAddress(of.Keys) != nil {
			return nil, fmt.Errorf("%s does not say where the keys of %s are", first, issuer)
		}
		return get(ctx, of.Keys)
	}, nil
}

// checkAddress reports an address that others between could answer for.
func checkAddress(text string) error {
	u, err := url.Parse(text)
	if err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname())) {
		return nil
	}
	return fmt.Errorf("%q is no address that begins with https:// (or http:// of this machine itself)", text)
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, res.Status)
	}
	doc, err := io.ReadAll(io.LimitReader(res.Body, maxKeysDoc+1))
	if err == nil && len(doc) > maxKeysDoc {
		err = fmt.Errorf("%s answers with more than %d bytes", address, maxKeysDoc)
	}
	return slices.Clip(doc), err
}
