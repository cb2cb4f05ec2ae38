package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/targets/mcp/auth/authtest"
)

const audience = "https://mcp.example.com/mcp"

type object = map[string]any

// issuer is an issuer of tokens on this machine.
type issuer struct {
	*httptest.Server
	mu    sync.Mutex
	keys  []jose.JSONWebKey
	asked int
	down  bool
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	is := &issuer{}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(object{"issuer": is.URL, "jwks_uri": is.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		is.mu.Lock()
		defer is.mu.Unlock()
		is.asked++
		if is.down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: is.keys})
	})
	is.Server = httptest.NewServer(mux)
	t.Cleanup(is.Close)
	return is
}

// key makes a key that the issuer publishes.
func (is *issuer) key(t testing.TB, id string) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is.mu.Lock()
	defer is.mu.Unlock()
	is.keys = append(is.keys, jose.JSONWebKey{Key: k.Public(), KeyID: id, Algorithm: "ES256", Use: "sig"})
	return k
}

func (is *issuer) claims(more object) object {
	out := object{"iss": is.URL, "aud": audience, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range more {
		if out[name] = value; value == nil {
			delete(out, name)
		}
	}
	return out
}

func verifier(t testing.TB, is *issuer, more func(*Options)) *Verifier {
	t.Helper()
	fetch, err := Remote(is.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Issuer: is.URL, Audience: audience, Keys: fetch, Skew: 30 * time.Second}
	if more != nil {
		more(&opt)
	}
	v, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTokens(t *testing.T) {
	is := newIssuer(t)
	key := is.key(t, "a")
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	is.mu.Lock()
	is.keys = append(is.keys, jose.JSONWebKey{Key: of.Public(), KeyID: "rsa", Use: "sig"},
		jose.JSONWebKey{Key: []byte("a secret of 32 bytes, published!"), KeyID: "oct", Algorithm: "HS256"})
	is.mu.Unlock()
	public, err := x509.MarshalPKIXPublicKey(of.Public())
	if err != nil {
		t.Fatal(err)
	}
	asSecret := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	static := "static-token-of-twenty-letters"
	sum := sha256.Sum256([]byte(static))
	short := sha256.Sum256([]byte("short"))
	v := verifier(t, is, func(o *Options) {
		o.Tokens = []Token{{Name: "ci", SHA256: hex.EncodeToString(sum[:]), Claims: map[string][]string{"roles": {"ci"}}},
			{Name: "short", SHA256: hex.EncodeToString(short[:])}}
	})
	good := authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"roles": []string{"dev", "ops"}}))
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + strings.Split(good, ".")[1] + "."
	for _, c := range []struct {
		name, token string
		ok          bool
	}{
		{"good", good, true},
		{"of RSA", authtest.Signed(t, jose.RS256, of, "rsa", is.claims(nil)), true},
		{"without a key's id", authtest.Signed(t, jose.ES256, key, "", is.claims(nil)), true},
		{"static", static, true},
		{"audience in a list", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"aud": []string{"x", audience}})), true},
		{"expired a moment ago", authtest.Signed(t, jose.ES256, key, "a",
			is.claims(object{"exp": time.Now().Add(-20 * time.Second).Unix()})), true},

		{"empty", "", false},
		{"static, too short", "short", false},
		{"its digest", hex.EncodeToString(sum[:]), false},
		{"no JWT", "abc", false},
		{"alg none", none, false},
		{"no signature", strings.Join(strings.Split(good, ".")[:2], ".") + ".", false},
		{"of a stranger", authtest.Signed(t, jose.ES256, stranger, "a", is.claims(nil)), false},
		{"of a stranger without an id", authtest.Signed(t, jose.ES256, stranger, "", is.claims(nil)), false},
		{"an algorithm that is not allowed", authtest.Signed(t, jose.RS512, of, "rsa", is.claims(nil)), false},
		{"the public key as a secret", authtest.Signed(t, jose.HS256, asSecret, "rsa", is.claims(nil)), false},
		{"a secret among the keys", authtest.Signed(t, jose.HS256, []byte("a secret of 32 bytes, published!"), "oct", is.claims(nil)), false},
		{"another audience", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"aud": "https://other.example.com"})), false},
		{"no audience", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"aud": nil})), false},
		{"another issuer", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"iss": "https://evil.example.com"})), false},
		{"expired", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"exp": time.Now().Add(-time.Minute).Unix()})), false},
		{"an expiry as text", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"exp": strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)})), false},
		{"a beginning as text", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"iat": "1"})), false},
		{"no expiry", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"exp": nil})), false},
		{"not yet", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"nbf": time.Now().Add(time.Hour).Unix()})), false},
		{"no subject", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"sub": nil})), false},
		{"a second subject", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"sub": "mallory", "Sub": "alice"})), false},
		{"a second expiry", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"exp": 1, "EXP": 9999999999})), false},
		{"a second audience", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"aud": "other", "Aud": audience})), false},
		{"a folded letter", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"i\u017f\u017f": "x"})), false},
		{"a claim twice", authtest.SignedText(t, jose.ES256, key, "a", []byte(`{"groups":["dev"],"groups":["boss"],`+text(is.claims(nil))[1:])), false},
		{"a claim within one twice", authtest.SignedText(t, jose.ES256, key, "a", []byte(`{"x":{"groups":["dev"],"groups":["boss"]},`+text(is.claims(nil))[1:])), false},
		{"a text of claims", authtest.SignedText(t, jose.ES256, key, "a", []byte(text(is.claims(nil)))), true},
		{"an event", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"events": object{}})), false},
		{"in a minute", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"nbf": time.Now().Add(time.Minute).Unix()})), false},
		{"in a moment", authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"nbf": time.Now().Add(10 * time.Second).Unix()})), true},
		{"too long", good + strings.Repeat("A", maxToken), false},
		{"another payload", strings.Split(good, ".")[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"root"}`)) +
			"." + strings.Split(good, ".")[2], false},
	} {
		p, err := v.Verify(t.Context(), c.token)
		if (err == nil) != c.ok {
			t.Errorf("%s: got %v", c.name, err)
		}
		if !c.ok && (p != nil || !errors.Is(err, ErrInvalid)) {
			t.Errorf("%s: got %v, %v", c.name, p, err)
		}
	}
	if _, err := v.Verify(t.Context(), "short"); !strings.Contains(err.Error(), `token "short" of the project has less than`) {
		t.Errorf("a short token: got %v", err)
	}
	p, err := v.Verify(t.Context(), good)
	if err != nil || p.ID != is.URL+" alice" || cmp.Diff(p.Claims["roles"], []string{"dev", "ops"}) != "" {
		t.Errorf("got %v, %v", p, err)
	}
}

// text returns claims as JSON.
func text(claims object) string {
	data, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestClaims(t *testing.T) {
	is := newIssuer(t)
	key := is.key(t, "a")
	v := verifier(t, is, nil)
	token := authtest.Signed(t, jose.ES256, key, "a", is.claims(object{
		"scope": "read write", "groups": []any{"a", 1, "b"}, "admin": true, "level": 3,
		"realm": object{"roles": []string{"x"}, "deep": object{"er": "y"}},
		"outer": object{"inner": "hidden", "own": "seen"}, "outer.inner": "written",
	}))
	p, err := v.Verify(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"iss", "aud", "sub"} {
		delete(p.Claims, name)
	}
	want := map[string][]string{"scope": {"read", "write"}, "groups": {"a", "b"}, "admin": {"true"}, "realm.roles": {"x"},
		"realm.deep.er": {"y"}, "outer.own": {"seen"}, "outer.inner": {"written"}}
	if d := cmp.Diff(want, p.Claims); d != "" {
		t.Error(d)
	}
	var many []string
	for i := range maxClaims + 1 {
		many = append(many, fmt.Sprint(i))
	}
	for n, ok := range map[int]bool{maxClaims - 3: true, maxClaims + 1: false} { // beside iss, aud and sub
		token := authtest.Signed(t, jose.ES256, key, "a", is.claims(object{"groups": many[:n]}))
		if _, err := v.Verify(t.Context(), token); (err == nil) != ok {
			t.Errorf("%d: got %v", n, err)
		}
	}
}

// TestKeys holds that keys are fetched when they are needed, also new ones, and not at each request.
func TestKeys(t *testing.T) {
	is := newIssuer(t)
	key := is.key(t, "a")
	v := verifier(t, is, nil)
	var keys *keySet
	now := time.Now()
	fetch, err := Remote(is.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	keys = newKeySet(&Options{Keys: fetch, Algorithms: DefaultAlgorithms})
	keys.now = func() time.Time { return now }
	check := func(what string, key *ecdsa.PrivateKey, id string, ok bool, asked int) {
		t.Helper()
		_, err := keys.VerifySignature(t.Context(), authtest.Signed(t, jose.ES256, key, id, is.claims(nil)))
		if (err == nil) != ok {
			t.Errorf("%s: got %v", what, err)
		}
		if is.asked != asked {
			t.Errorf("%s: the issuer was asked %d times, want %d", what, is.asked, asked)
		}
	}
	check("the first", key, "a", true, 1)
	check("again", key, "a", true, 1)
	other := is.key(t, "b")
	check("a new key at once", other, "b", false, 1)
	now = now.Add(keysPause)
	check("a new key later", other, "b", true, 2)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		check("an invented key", stranger, "c", false, 2)
	}
	is.mu.Lock()
	is.keys = is.keys[1:]
	is.mu.Unlock()
	now = now.Add(keysFresh)
	check("a key that is gone", key, "a", false, 3)
	is.mu.Lock()
	all := is.keys
	is.keys = is.keys[:0:0]
	is.mu.Unlock()
	now = now.Add(keysFresh)
	check("all keys are gone", other, "b", false, 4)
	is.mu.Lock()
	is.keys = all
	is.mu.Unlock()
	now = now.Add(keysFresh)
	check("they are back", other, "b", true, 5)
	is.mu.Lock()
	is.down = true
	is.mu.Unlock()
	now = now.Add(keysFresh)
	check("the issuer is down", other, "b", true, 6)
	now = now.Add(keysStale)
	check("for a day", other, "b", false, 7)
	if _, err := v.Verify(t.Context(), authtest.Signed(t, jose.ES256, key, "a", is.claims(nil))); err == nil || errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want that the keys are not there", err)
	}
}

// TestLocalKeys holds that a key of a file counts for as long as the file has it, and that a file that cannot be read
// changes nothing.
func TestLocalKeys(t *testing.T) {
	is := newIssuer(t)
	first, second := is.key(t, "a"), is.key(t, "b")
	now, all := time.Now(), is.keys
	var doc []byte
	keys := newKeySet(&Options{Local: true, Algorithms: DefaultAlgorithms, Keys: func(context.Context) ([]byte, error) {
		if string(doc) == `"gone"` {
			return nil, fs.ErrNotExist
		}
		return doc, nil
	}})
	keys.now = func() time.Time { return now }
	same := map[string]string{"a": authtest.Signed(t, jose.ES256, first, "a", is.claims(nil)),
		"b": authtest.Signed(t, jose.ES256, second, "b", is.claims(nil))}
	for _, c := range []struct {
		what          string
		set           any
		first, second bool
	}{
		{"one", jose.JSONWebKeySet{Keys: all[:1]}, true, false},
		{"both", jose.JSONWebKeySet{Keys: all}, true, true},
		{"the other", jose.JSONWebKeySet{Keys: all[1:]}, false, true},
		{"no file of keys", "half", false, true},
		{"none", object{"keys": []any{}}, false, false},
		{"the other again", jose.JSONWebKeySet{Keys: all[1:]}, false, true},
		{"no file", "gone", false, false},
		{"one again", jose.JSONWebKeySet{Keys: all[:1]}, true, false},
	} {
		var err error
		if doc, err = json.Marshal(c.set); err != nil {
			t.Fatal(err)
		}
		now = now.Add(keysLocal)
		for id, key := range map[string]*ecdsa.PrivateKey{"a": first, "b": second} {
			want := id == "a" && c.first || id == "b" && c.second
			_, err := keys.VerifySignature(t.Context(), authtest.Signed(t, jose.ES256, key, id, is.claims(nil)))
			if (err == nil) != want {
				t.Errorf("%s: the key %s: got %v", c.what, id, err)
			}
			for range 2 { // a token that came before, and is known from then on
				payload, err := keys.VerifySignature(t.Context(), same[id])
				if (err == nil) != want || want && !strings.Contains(string(payload), `"sub":"alice"`) {
					t.Errorf("%s: the same token of key %s: got %s %v", c.what, id, payload, err)
				}
			}
			for _, forged := range []string{same[id][:len(same[id])-8] + "AAAAAAAA", strings.Replace(same[id], ".", ".A", 1),
				same[id] + "A", strings.Replace(same[id], ".", "A.", 1)} {
				if _, err := keys.VerifySignature(t.Context(), forged); err == nil {
					t.Errorf("%s: a forged token beside the one of key %s is taken", c.what, id)
				}
			}
		}
	}
}

// TestVerifiedBounded holds that what is known of tokens is bounded, and of those alone that a key has verified.
func TestVerifiedBounded(t *testing.T) {
	is := newIssuer(t)
	key := is.key(t, "a")
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	v := verifier(t, is, nil)
	for range 3 {
		if _, err := v.Verify(t.Context(), authtest.Signed(t, jose.ES256, stranger, "a", is.claims(nil))); err == nil {
			t.Error("a stranger's token is taken")
		}
	}
	if n := len(v.keys.verified); n != 0 {
		t.Errorf("got %d tokens of strangers", n)
	}
	v.keys.verified = map[[sha256.Size]byte]bool{}
	for i := range mostVerified {
		v.keys.verified[sha256.Sum256([]byte{byte(i), byte(i >> 8)})] = true
	}
	if _, err := v.Verify(t.Context(), authtest.Signed(t, jose.ES256, key, "a", is.claims(nil))); err != nil {
		t.Error(err)
	}
	if n := len(v.keys.verified); n != 1 {
		t.Errorf("got %d tokens, want the last one", n)
	}
}

// BenchmarkVerify measures the question who has a token that came before.
func BenchmarkVerify(b *testing.B) {
	is := newIssuer(b)
	v := verifier(b, is, nil)
	token := authtest.Signed(b, jose.ES256, is.key(b, "a"), "a", is.claims(nil))
	for b.Loop() {
		if _, err := v.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}

func TestOptions(t *testing.T) {
	sum := hex.EncodeToString(make([]byte, sha256.Size))
	keys := func(context.Context) ([]byte, error) { return nil, errors.New("none") }
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{}, "nobody could call"},
		{Options{Issuer: "https://a.example.com", Keys: keys}, "names no audience"},
		{Options{Issuer: "https://a.example.com", Audience: "b", Keys: keys, Skew: MaxSkew}, ""},
		{Options{Issuer: "https://a.example.com", Audience: "b", Keys: keys, Skew: MaxSkew + 1}, "clocks may differ"},
		{Options{Issuer: "https://a.example.com", Audience: "b", Keys: keys, Algorithms: []string{"HS256"}}, "only the issuer can make"},
		{Options{Issuer: "https://a.example.com", Audience: "b", Keys: keys, Algorithms: []string{"none"}}, "only the issuer can make"},
		{Options{Tokens: []Token{{Name: "a", SHA256: sum}}}, ""},
		{Options{Tokens: []Token{{Name: "a", SHA256: sum[1:]}}}, "64 hexadecimal digits"},
		{Options{Tokens: []Token{{SHA256: sum}}}, "a name of its own"},
		{Options{Tokens: []Token{{Name: "a", SHA256: sum}, {Name: "b", SHA256: sum}}}, "the one of another name"},
	} {
		_, err := New(c.opt)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	for address, ok := range map[string]bool{"https://a.example.com": true, "http://127.0.0.1:1": true, "http://localhost": true,
		"http://a.example.com": false, "http://localhost.example.com": false, "file:///etc/passwd": false, "a": false} {
		if _, err := Remote(address, ""); (err == nil) != ok {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

// TestReady: keys in a file are read at the start, and those at an address with the first token.
func TestReady(t *testing.T) {
	for name, c := range map[string]struct {
		local, fails, want bool
	}{
		"a file that is not there":  {local: true, fails: true, want: true},
		"a file":                    {local: true},
		"an address that is not up": {fails: true},
	} {
		v, err := New(Options{Issuer: "https://i.example", Audience: "a", Local: c.local,
			Keys: func(context.Context) ([]byte, error) {
				if c.fails {
					return nil, errors.New("it is not there")
				}
				return []byte(`{"keys": []}`), nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Ready(t.Context()); (err != nil) != c.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
