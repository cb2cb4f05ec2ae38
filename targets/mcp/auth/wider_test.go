package auth

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWider holds that everything by which a token is taken that was not before is named, and nothing else.
func TestWider(t *testing.T) {
	dev := Token{Name: "dev", SHA256: strings.Repeat("a", 64), Claims: map[string][]string{"groups": {"dev", "ops"}}}
	first := Options{Issuer: "https://id.example.com", Audience: "a", KeysAt: "jwks.json", Skew: 30 * time.Second,
		Tokens: []Token{dev}}
	for name, c := range map[string]struct {
		change func(*Options)
		want   []string
	}{
		"nothing":             {func(*Options) {}, nil},
		"less":                {func(o *Options) { o.Tokens, o.Skew, o.Algorithms = nil, 0, []string{"RS256"} }, nil},
		"no issuer":           {func(o *Options) { o.Issuer, o.Audience, o.KeysAt = "", "", "" }, nil},
		"less claims":         {func(o *Options) { o.Tokens[0].Claims = map[string][]string{"groups": {"dev"}} }, nil},
		"letters of a digest": {func(o *Options) { o.Tokens[0].SHA256 = strings.Repeat("A", 64) }, nil},
		"a token": {func(o *Options) { o.Tokens = append(o.Tokens, Token{Name: "new", SHA256: strings.Repeat("b", 64)}) },
			[]string{`the token "new"`}},
		"a name": {func(o *Options) { o.Tokens[0].Name = "boss" }, []string{`the token "boss", which was "dev"`}},
		"a claim": {func(o *Options) { o.Tokens[0].Claims = map[string][]string{"groups": {"dev", "boss"}, "z": {"1"}} },
			[]string{`the claim groups = "boss" of the token "dev"`, `the claim z = "1" of the token "dev"`}},
		"an issuer":    {func(o *Options) { o.Issuer = "https://b" }, []string{`tokens of the issuer "https://b"`}},
		"an audience":  {func(o *Options) { o.Audience = "b" }, []string{`tokens for the audience "b"`}},
		"keys":         {func(o *Options) { o.KeysAt = "" }, []string{"tokens by the keys of the issuer's metadata"}},
		"an algorithm": {func(o *Options) { o.Algorithms = []string{"RS256", "PS256"} }, []string{"tokens that are signed by PS256"}},
		"a skew":       {func(o *Options) { o.Skew = time.Minute }, []string{"tokens by clocks that differ by 1m0s"}},
	} {
		next := first
		next.Tokens = []Token{dev}
		c.change(&next)
		if d := cmp.Diff(c.want, Wider(first, next)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
