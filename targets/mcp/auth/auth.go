// Package auth finds out who calls a server over HTTP. [New] makes a [Verifier] of what a project says of its
// issuer and its static tokens, and [Verifier.Verify] returns the [Principal] of a bearer token.
//
//	token ─┬─ static: SHA-256 in the project's list ─────────────┬─► Principal{ID, Claims, Expires}
//	       └─ JWT: go-oidc (issuer, audience, times) ─ keySet ───┘
//
// Nothing of a token is believed before its signature was verified by a key of the issuer and an algorithm
// that the project allows. There is no symmetric algorithm and no "none" among those that it can allow: whoever
// could verify such a token could write one. A token without an expiry, a subject or the server's audience is
// refused. Keys are fetched when they are needed, kept for ten minutes, and fetched again for a key that is not among
// them, at most every half minute: a caller with invented keys cannot have the issuer asked at each request. Those of a
// file are read again each second. A token's signature is verified once while the keys are the same.
//
// Sources: RFC 7519 (JWT), 7517 (JWK), 8725 (best practices), 9068 (access tokens); the protocol's chapter on
// authorization (modelcontextprotocol.io/specification/draft/basic/authorization).
package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json/jsontext"

	"modec.dev/modec/compiler/ir"
)

// Principal is who calls.
type Principal struct {
	// ID is the same for the same person or program, and another one for everybody else.
	ID string
	// Claims are what the issuer says of it: texts by name, of an object within an object "outer.inner".
	Claims map[string][]string
	// Expires is when the token is not taken any more, which the clocks' difference delays; zero for a static one.
	Expires time.Time
}

// Token is a static token. Only its digest is known.
type Token struct {
	Name   string // of who has it
	SHA256 string // of the token, in hexadecimal digits
	Claims map[string][]string
}

// Options say whose tokens are taken. Without an issuer only static ones are.
type Options struct {
	Issuer     string        // as tokens name it
	Audience   string        // which tokens have to name
	Algorithms []string      // of signatures; default [DefaultAlgorithms]
	Skew       time.Duration // by which clocks may differ, at most 5 minutes; default none
	// Keys returns the issuer's keys as JSON (RFC 7517); see [Remote].
	Keys   func(context.Context) ([]byte, error)
	KeysAt string // where those are, for people; "": where the issuer's metadata say
	// Local says that Keys reads a file, which is read again each second: a key counts for as long as it is in it.
	Local  bool
	Tokens []Token
}

// Algorithms are those that a project may allow.
var Algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512,
	oidc.EdDSA,
}

// DefaultAlgorithms are those that are allowed where a project says nothing.
var DefaultAlgorithms = []string{oidc.RS256, oidc.ES256}

// Limits of what a caller sends, and of the times of a token.
const (
	MaxSkew   = 5 * time.Minute
	maxToken  = 16 << 10 // bytes
	maxClaims = 256      // values
	maxDepth  = 4        // of objects within objects
	minStatic = 20       // bytes: fewer can be guessed
)

// ErrInvalid is the error for a token that is not taken. Why is said to the server's log, not to the caller.
var ErrInvalid = errors.New("the token is not taken")

// Verifier finds out who has a token. It is safe for concurrent use.
type Verifier struct {
	static map[[sha256.Size]byte]*Token
	issuer *oidc.IDTokenVerifier // nil: none
	keys   *keySet
	skew   time.Duration
	digest string
}

// New returns a verifier. It fails where the options are not whole.
func New(opt Options) (*Verifier, error) {
	v := &Verifier{static: map[[sha256.Size]byte]*Token{}, digest: digestOf(opt)}
	names := map[string]bool{}
	for _, t := range opt.Tokens {
		sum, err := hex.DecodeString(t.SHA256)
		switch {
		case err != nil || len(sum) != sha256.Size:
			return nil, fmt.Errorf("token %q: its sha256 is no SHA-256 in 64 hexadecimal digits, "+
				"as `printf %%s \"$TOKEN\" | sha256sum` writes it", t.Name)
		case t.Name == "" || names[t.Name]:
			return nil, fmt.Errorf("token %q: every token needs a name of its own", t.Name)
		case v.static[[sha256.Size]byte(sum)] != nil:
			return nil, fmt.Errorf("token %q is the one of another name", t.Name)
		}
		names[t.Name] = true
		v.static[[sha256.Size]byte(sum)] = &t
	}
	if opt.Issuer == "" {
		if len(v.static) == 0 {
			return nil, errors.New("it names no issuer and no token, so nobody could call")
		}
		return v, nil
	}
	if opt.Audience == "" {
		return nil, errors.New("it names no audience: tokens for other servers would be taken too")
	}
	if opt.Skew < 0 || opt.Skew > MaxSkew {
		return nil, fmt.Errorf("clocks may differ by up to %s, and not by %s", MaxSkew, opt.Skew)
	}
	if len(opt.Algorithms) == 0 {
		opt.Algorithms = DefaultAlgorithms
	}
	for _, a := range opt.Algorithms {
		if !slices.Contains(Algorithms, a) {
			return nil, fmt.Errorf("%q is no algorithm of a signature that only the issuer can make; those are %s",
				a, strings.Join(Algorithms, ", "))
		}
	}
	v.skew = opt.Skew
	v.keys = newKeySet(&opt)
	v.issuer = oidc.NewVerifier(opt.Issuer, v.keys, &oidc.Config{
		ClientID: opt.Audience, SupportedSigningAlgs: opt.Algorithms,
		Now: func() time.Time { return time.Now().Add(-opt.Skew) },
	})
	return v, nil
}

// Ready fails where the issuer's keys are in a file that cannot be read now. Those at an address are not asked for
// before the first token comes.
func (v *Verifier) Ready(ctx context.Context) error {
	if v.keys == nil || !v.keys.local {
		return nil
	}
	_, err := v.keys.current(ctx, v.keys.fresh)
	return err
}

// Digest returns a hash of whose tokens are taken, but for the keys of the issuer.
func (v *Verifier) Digest() string { return v.digest }

// digestOf returns that of options.
func digestOf(opt Options) string {
	opt.Keys = nil
	opt.Tokens = slices.Clone(opt.Tokens)
	slices.SortFunc(opt.Tokens, func(a, b Token) int { return strings.Compare(a.Name, b.Name) })
	if len(opt.Algorithms) == 0 {
		opt.Algorithms = DefaultAlgorithms
	}
	text, _ := json.Marshal(struct {
		Options
		Keys *int `json:",omitempty"` // in the place of the function
	}{Options: opt}) // texts can be written
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Verify returns who has a token. The error is [ErrInvalid], or that the issuer's keys are not there.
func (v *Verifier) Verify(ctx context.Context, token string) (*Principal, error) {
	if len(token) > maxToken || token == "" {
		return nil, fmt.Errorf("%w: it is longer than %d bytes, or empty", ErrInvalid, maxToken)
	}
	if t := v.static[sha256.Sum256([]byte(token))]; t != nil {
		if len(token) < minStatic {
			return nil, fmt.Errorf("%w: token %q of the project has less than %d bytes, which can be guessed",
				ErrInvalid, t.Name, minStatic)
		}
		return &Principal{ID: "token " + t.Name, Claims: maps.Clone(t.Claims)}, nil
	}
	if v.issuer == nil {
		return nil, fmt.Errorf("%w: it is none of the project's", ErrInvalid)
	}
	if strings.Count(token, ".") != 2 {
		return nil, fmt.Errorf("%w: it is none of the project's, and no JWT", ErrInvalid)
	}
	if _, err := v.keys.current(ctx, v.keys.fresh); err != nil {
		return nil, err
	}
	id, err := v.issuer.Verify(ctx, token)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if id.Subject == "" {
		return nil, fmt.Errorf("%w: it names no subject", ErrInvalid)
	}
	var raw map[string]json.RawMessage
	if err := id.Claims(&raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := exact(raw, time.Now().Add(v.skew)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	p := &Principal{ID: id.Issuer + " " + id.Subject, Claims: map[string][]string{}, Expires: id.Expiry.Add(v.skew)}
	if n := p.read("", raw, 0); n > maxClaims {
		return nil, fmt.Errorf("%w: it has more than %d claims", ErrInvalid, maxClaims)
	}
	return p, nil
}

// unambiguous reports whether each part of a token that is JSON has a key once: readers differ in which of two counts
// (RFC 7519, section 4).
func unambiguous(token string) bool {
	for part := range strings.SplitSeq(token[:strings.LastIndexByte(token, '.')], ".") {
		text, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || !jsontext.Value(text).IsValid() {
			return false
		}
	}
	return true
}

// exact fails for a token that another reader could take for another one: with a claim whose name differs from a
// registered one by case alone, which JSON readers of Go take for it. It fails too for one that is no token of access
// (RFC 8417), and for one that does not count yet at that time.
func exact(raw map[string]json.RawMessage, now time.Time) error {
	for name := range raw {
		for _, registered := range []string{"iss", "sub", "aud", "exp", "nbf", "iat"} {
			if name != registered && strings.EqualFold(name, registered) {
				return fmt.Errorf("it has a claim %q, which is not %q", name, registered)
			}
		}
	}
	if raw["events"] != nil {
		return errors.New("it tells of an event, and gives no access")
	}
	var seconds float64
	for _, name := range []string{"exp", "nbf", "iat"} {
		if raw[name] != nil && json.Unmarshal(raw[name], &seconds) != nil {
			return fmt.Errorf("its %q is no number", name)
		}
	}
	var begins float64
	if err := json.Unmarshal(raw["nbf"], &begins); raw["nbf"] != nil && (err != nil || begins > float64(now.Unix())) {
		return errors.New("it does not count yet")
	}
	return nil
}

// read notes claims. A claim of an object within an object gives way to one that is written out with a dot.
func (p *Principal) read(before string, raw map[string]json.RawMessage, depth int) (n int) {
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		name := before + key
		var text string
		var list []json.RawMessage
		var object map[string]json.RawMessage
		switch value := raw[key]; {
		case json.Unmarshal(value, &text) == nil && value[0] == '"':
			if ir.ScopeClaim(name) { // RFC 8693, section 4.2: a list in a text
				n += p.add(name, strings.Fields(text)...)
			} else {
				n += p.add(name, text)
			}
		case json.Unmarshal(value, &list) == nil && value[0] == '[':
			for _, item := range list {
				if json.Unmarshal(item, &text) == nil && item[0] == '"' {
					n += p.add(name, text)
				}
			}
		case json.Unmarshal(value, &object) == nil && value[0] == '{':
			if depth < maxDepth {
				maps.DeleteFunc(object, func(inner string, _ json.RawMessage) bool {
					_, written := raw[key+"."+inner]
					return written
				})
				n += p.read(name+".", object, depth+1)
			}
		case string(value) == "true" || string(value) == "false":
			n += p.add(name, string(value))
		}
	}
	return n
}

func (p *Principal) add(name string, values ...string) int {
	if len(p.Claims) < maxClaims {
		p.Claims[name] = append(p.Claims[name], values...)
	}
	return len(values)
}

// unavailable is why the issuer's keys are not there.
type unavailable struct{ err error }

func (u *unavailable) Error() string { return "the issuer's keys are not there: " + u.err.Error() }

func (u *unavailable) Unwrap() error { return u.err }

// Timeout of asking an issuer.
const askLimit = 10 * time.Second

// client asks an issuer, which may not send it anywhere else.
var client = &http.Client{
	Timeout: askLimit,
	CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("it sends modec to another address; write that one in modec.toml")
	},
}
