// Package authtest signs tokens for tests.
package authtest

import (
	"encoding/json"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// Signed returns a token with these claims. id names the key; "": the token names none.
func Signed(t testing.TB, alg jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	t.Helper()
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return SignedText(t, alg, key, id, text)
}

// SignedText returns a token of what is written so.
func SignedText(t testing.TB, alg jose.SignatureAlgorithm, key any, id string, text []byte) string {
	t.Helper()
	opt := &jose.SignerOptions{}
	if id != "" {
		opt.WithHeader("kid", id)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, opt)
	if err != nil {
		t.Fatal(err)
	}
	jws, err := s.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
