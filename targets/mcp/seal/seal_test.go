package seal

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"
)

func line(t testing.TB) string {
	t.Helper()
	secret := make([]byte, keySize)
	if _, err := rand.Read(secret); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(secret) + "\n"
}

func read(t testing.TB, lines ...string) *Keys {
	t.Helper()
	k, err := Read([]byte(strings.Join(lines, "")))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestSeal: what one server seals another one with the key opens, for that purpose and in time.
func TestSeal(t *testing.T) {
	a, b := line(t), line(t)
	now := time.Now()
	k, other := read(t, a), read(t, b)
	sealed := k.Seal("session", []byte("value"), now.Add(time.Hour))
	if again := k.Seal("session", []byte("value"), now.Add(time.Hour)); again == sealed {
		t.Error("two texts of one value are the same: the nonce is not random")
	}
	if strings.ContainsFunc(sealed, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		t.Errorf("got %q, which is no header's value", sealed)
	}
	for _, c := range []struct {
		name, purpose, sealed string
		keys                  *Keys
		at                    time.Time
		want                  error
	}{
		{"as it is", "session", sealed, read(t, a), now, nil},
		{"the last millisecond", "session", sealed, k, now.Add(time.Hour - 2*time.Millisecond), nil},
		{"too late", "session", sealed, k, now.Add(time.Hour), ErrExpired},
		{"another purpose", "approval", sealed, k, now, ErrForged},
		{"another key", "session", sealed, other, now, ErrForged},
		{"empty", "session", "", k, now, ErrForged},
		{"short", "session", sealed[:8], k, now, ErrForged},
		{"no base64", "session", "a session", k, now, ErrForged},
		{"longer", "session", sealed + "AAAA", k, now, ErrForged},
		{"with a line feed", "session", sealed[:20] + "\n" + sealed[20:], k, now, ErrForged},
		{"padded", "session", sealed + "=", k, now, ErrForged},
	} {
		value, until, err := c.keys.Open(c.purpose, c.sealed, c.at)
		if !errors.Is(err, c.want) || (err == nil) != (string(value) == "value") {
			t.Errorf("%s: got %q, %v, want %v", c.name, value, err, c.want)
		}
		if err == nil && until.UnixMilli() != now.Add(time.Hour).UnixMilli() {
			t.Errorf("%s: got %s", c.name, until)
		}
	}
}

// TestEveryBit: a text of which any bit is another one does not open.
func TestEveryBit(t *testing.T) {
	k, now := read(t, line(t)), time.Now()
	sealed := k.Seal("session", []byte("value"), now.Add(time.Hour))
	data, err := text.DecodeString(sealed)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(data) * 8 {
		other := bytes.Clone(data)
		other[i/8] ^= 1 << (i % 8)
		if _, _, err := k.Open("session", text.EncodeToString(other), now); !errors.Is(err, ErrForged) {
			t.Errorf("bit %d: got %v", i, err)
		}
	}
	// Every text but the one that Seal wrote is refused, also where base64 has the same bytes.
	for i := range len(sealed) {
		for _, r := range "Ab0_-=\r\n" {
			other := sealed[:i] + string(r) + sealed[i+1:]
			if _, _, err := k.Open("session", other, now); other != sealed && err == nil {
				t.Errorf("%q in the place of %q opens", other, sealed)
			}
		}
	}
}

// TestRotation walks through a change of the key on two servers, one after the other: at
// every step each opens what any of them seals.
func TestRotation(t *testing.T) {
	old, next := line(t), line(t)
	steps := [][2]*Keys{
		{read(t, old), read(t, old)},
		{read(t, old, next), read(t, old)}, // one knows the next key
		{read(t, old, next), read(t, old, next)},
		{read(t, next, old), read(t, old, next)}, // one seals with it
		{read(t, next, old), read(t, next, old)},
	}
	now := time.Now()
	var alive []string
	for i, servers := range steps {
		for _, s := range servers {
			alive = append(alive, s.Seal("session", []byte("v"), now.Add(time.Hour)))
		}
		for _, s := range servers {
			for j, sealed := range alive {
				if _, _, err := s.Open("session", sealed, now); err != nil {
					t.Errorf("step %d: text %d: %v", i, j, err)
				}
			}
		}
	}
	after := read(t, next)
	if _, _, err := after.Open("session", alive[0], now); !errors.Is(err, ErrForged) {
		t.Errorf("got %v: a text of the key that was taken away", err)
	}
	if _, _, err := after.Open("session", alive[len(alive)-1], now); err != nil {
		t.Errorf("got %v for a text of the next key", err)
	}
}

// TestRead refuses what is no key, and says no key in doing so.
func TestRead(t *testing.T) {
	a, b, c := line(t), line(t), line(t)
	for _, x := range []struct{ file, want string }{
		{"", "got no key"},
		{"# a comment\n\n", "got no key"},
		{a + b + c, "got 3 keys"},
		{a + "\n" + a, "line 3: got a key again"},
		{strings.Repeat("A", 43) + "=", "one byte repeated"},
		{"c2hvcnQ=\n", "line 1: got a key of 5 bytes, want 32"},
		{"# old\nnot base64 at all\n", "line 2: got a key that is not base64"},
	} {
		_, err := Read([]byte(x.file))
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: got %v, want %q", x.file, err, x.want)
			continue
		}
		for secret := range strings.Lines(x.file) {
			if secret = strings.TrimSpace(secret); len(secret) > 6 && secret[0] != '#' && strings.Contains(err.Error(), secret) {
				t.Errorf("%v has the key in it", err)
			}
		}
	}
	if k := read(t, "# new\r\n"+strings.TrimSpace(a)+"\r\n\r\n# old\r\n"+b); len(k.list) != 2 {
		t.Errorf("got %d keys", len(k.list))
	}
}

// FuzzOpen opens whatever a client sends.
func FuzzOpen(f *testing.F) {
	k, now := read(f, line(f), line(f)), time.Now()
	f.Add("")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Add(text.EncodeToString(k.list[0].id[:]))
	f.Fuzz(func(t *testing.T, s string) {
		if v, _, err := k.Open("session", s, now); err == nil {
			t.Errorf("%q opens, to %q", s, v)
		}
	})
}
