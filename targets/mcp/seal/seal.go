// Package seal makes texts that a server hands to a client and takes back: what is inside
// only servers with the same key can write or read. Several servers share a key and nothing
// else. [Read] reads keys, [New] makes one, [Keys.Seal] and [Keys.Open] are the two directions.
//
// A sealed text is the id of a key and what AES-256-GCM of the standard library makes of a
// purpose, a time and a value, with a random nonce (NIST SP 800-38D). That nonce bounds how
// often a key may seal: 2^32 times.
//
// # Rotation
//
// The first key seals, and every key opens. Put the new key second on every server, then
// first, and take the old one away once what it sealed has expired: no text is refused
// meanwhile.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Keys seal and open. They are safe for concurrent use.
type Keys struct{ list []key } // the first seals

type key struct {
	id   [idSize]byte
	aead cipher.AEAD
}

const (
	idSize   = 4
	keySize  = 32
	timeSize = 8
	// keysAtOnce are the new key and the old one.
	keysAtOnce = 2
)

var (
	// ErrForged is the error for a text that none of the keys sealed for the purpose.
	ErrForged = errors.New("it was sealed by another key, for another purpose, or not at all")
	// ErrExpired is the error for a text whose time is over.
	ErrExpired = errors.New("its time is over")
)

var text = base64.RawURLEncoding

// Read reads one key or two, each on a line of its own: 32 random bytes in base64, as
// "openssl rand -base64 32" writes them. Empty lines and those that begin with # do not
// count. No error contains a key.
func Read(file []byte) (*Keys, error) {
	k := &Keys{}
	n := 0
	for line := range bytes.Lines(file) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		secret, err := base64.StdEncoding.DecodeString(string(line))
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: got a key that is not base64; openssl rand -base64 32 writes one", n)
		case len(secret) != keySize:
			return nil, fmt.Errorf("line %d: got a key of %d bytes, want %d; openssl rand -base64 32 writes one",
				n, len(secret), keySize)
		case bytes.Count(secret, secret[:1]) == keySize:
			return nil, fmt.Errorf("line %d: got a key of one byte repeated; openssl rand -base64 32 writes one", n)
		}
		made, err := newKey(secret)
		if err != nil {
			return nil, err
		}
		for _, other := range k.list {
			if other.id == made.id {
				return nil, fmt.Errorf("line %d: got a key again; leave one out", n)
			}
		}
		k.list = append(k.list, made)
	}
	switch {
	case len(k.list) == 0:
		return nil, errors.New("got no key, want one on a line; openssl rand -base64 32 writes one")
	case len(k.list) > keysAtOnce:
		return nil, fmt.Errorf("got %d keys, want one, or the new one and the old one", len(k.list))
	}
	return k, nil
}

// New returns a random key, for a server that shares none.
func New() *Keys {
	secret := make([]byte, keySize)
	_, _ = rand.Read(secret) // never fails
	k, err := newKey(secret)
	if err != nil {
		panic(err) // a key of this size is one of AES
	}
	return &Keys{list: []key{k}}
}

func newKey(secret []byte) (key, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return key{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return key{}, err
	}
	k := key{aead: aead}
	sum := sha256.Sum256(append([]byte("modec key id\x00"), secret...))
	copy(k.id[:], sum[:])
	return k, nil
}

// Seal seals a value until a time. The purpose is not in the text: whoever opens it names
// the same one.
func (k *Keys) Seal(purpose string, value []byte, until time.Time) string {
	plain := binary.BigEndian.AppendUint64(make([]byte, 0, timeSize+len(value)), uint64(until.UnixMilli()))
	first := k.list[0]
	return text.EncodeToString(first.aead.Seal(first.id[:], nil, append(plain, value...), first.bound(purpose)))
}

// bound is what a text is sealed to beside its value.
func (k *key) bound(purpose string) []byte { return append(k.id[:len(k.id):len(k.id)], purpose...) }

// Open returns a value that was sealed for a purpose, and until when. The error is
// ErrForged or ErrExpired.
func (k *Keys) Open(purpose, sealed string, now time.Time) (value []byte, until time.Time, err error) {
	// Only what Seal writes: a line feed, which base64 ignores, would make a second text of one.
	data, err := text.Strict().DecodeString(sealed)
	if err != nil || strings.ContainsAny(sealed, "\r\n") || len(data) < idSize {
		return nil, time.Time{}, ErrForged
	}
	for i := range k.list {
		key := &k.list[i]
		if key.id != [idSize]byte(data[:idSize]) {
			continue
		}
		plain, err := key.aead.Open(nil, nil, data[idSize:], key.bound(purpose))
		if err != nil || len(plain) < timeSize {
			return nil, time.Time{}, ErrForged
		}
		until := time.UnixMilli(int64(binary.BigEndian.Uint64(plain)))
		if !now.Before(until) {
			return nil, until, ErrExpired
		}
		return plain[timeSize:], until, nil
	}
	return nil, time.Time{}, ErrForged
}
