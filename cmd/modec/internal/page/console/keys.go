package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// Keys are the one-time keys of a console's addresses, and the bearers that they were exchanged for.
type Keys struct {
	Now func() time.Time // nil: the clock

	mu      sync.Mutex
	once    digest // of the key of the last address; zero: it was taken
	made    time.Time
	wrong   int // tries since then
	bearers []digest
}

type digest [sha256.Size]byte

const (
	// keyTime is how long a key may wait for its page.
	keyTime = 10 * time.Minute
	// mostTries is how many wrong keys end the right one.
	mostTries = 10
	// mostBearers is how many pages there may be; the oldest then has to ask for a new key.
	mostBearers = 16
)

// Address returns the address of the page at a server, with a new key. The last key is good no more.
func (k *Keys) Address(server string) string {
	key := rand.Text()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.once, k.made, k.wrong = sha256.Sum256([]byte(key)), k.now(), 0
	return server + "/#" + key
}

func (k *Keys) now() time.Time {
	if k.Now != nil {
		return k.Now()
	}
	return time.Now()
}

// take returns a bearer for a key, and "" for a wrong one, or one that was taken or is too old.
func (k *Keys) take(key string) string {
	of := digest(sha256.Sum256([]byte(key)))
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.once == digest{}, k.now().Sub(k.made) > keyTime:
		return ""
	case subtle.ConstantTimeCompare(of[:], k.once[:]) == 0:
		if k.wrong++; k.wrong >= mostTries {
			k.once = digest{}
		}
		return ""
	}
	k.once = digest{}
	bearer := rand.Text()
	if len(k.bearers) == mostBearers {
		k.bearers = k.bearers[1:]
	}
	k.bearers = append(k.bearers, sha256.Sum256([]byte(bearer)))
	return bearer
}

// holds reports whether a bearer is one of those given.
func (k *Keys) holds(bearer string) bool {
	of := digest(sha256.Sum256([]byte(bearer)))
	k.mu.Lock()
	defer k.mu.Unlock()
	found := 0
	for _, b := range k.bearers {
		found |= subtle.ConstantTimeCompare(of[:], b[:])
	}
	return found == 1
}

// exchange answers a key with a bearer.
func (k *Keys) exchange(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Key string `json:"key"`
	}
	if !ofItself(w, r) || !decode(w, r, &asked, maxKey) {
		return
	}
	bearer := k.take(asked.Key)
	if bearer == "" {
		http.Error(w, "the key of this address was used, or is too old: ask modec ui for a new one",
			http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"bearer": bearer}) // to whoever went away
}
