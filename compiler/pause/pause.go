// Package pause records, for this user and outside the repository, when a person turned the
// hooks of a project off. [Load] reads the record, [Record.Until] says whether they are off now, and
// [Record.Off] and [Record.On] add to it.
//
// A record is sealed with a key of the user's own. One whose seal is broken counts as none: the hooks
// are on. That stops who can write a file and not read another one; a program that runs as the user
// without any restriction can do all that the user can.
package pause

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/record"
)

// Longest is the longest time for which hooks can be turned off at once.
const Longest = 8 * time.Hour

const (
	version = 1
	folder  = "off"
	most    = 200 // entries that are kept
)

// Record is what a person did to the hooks of one project, the oldest first.
type Record struct {
	Version int     `json:"version"`
	Root    string  `json:"root"`
	Entries []Entry `json:"entries"`
	Seal    []byte  `json:"seal,omitempty"`

	// Broken is set where there is a record that the user's key did not seal.
	Broken bool `json:"-"`
	place  string
}

// Entry is one time that somebody turned the hooks off, or on again.
type Entry struct {
	At     time.Time `json:"at"`
	Until  time.Time `json:"until,omitzero"` // the end of being off; zero: the hooks were turned on
	By     string    `json:"by,omitempty"`   // the user's name
	Reason string    `json:"reason,omitempty"`
}

// Load returns the record of a project. It is empty where there is none.
func Load(root string) *Record {
	r := &Record{}
	place, root := originals.Place(folder, root)
	if data := record.Read(place); data != nil {
		if json.Unmarshal(data, r) != nil || r.Version != version || r.Root != root || !r.sealed(key()) {
			r = &Record{Broken: true}
		}
	} else if _, err := os.Lstat(place); err == nil {
		r.Broken = true // not the user's own file
	}
	r.Version, r.Root, r.place = version, root, place
	return r
}

// Until returns the entry by which the hooks are off, and false where they are on.
func (r *Record) Until(now time.Time) (Entry, bool) {
	if len(r.Entries) == 0 {
		return Entry{}, false
	}
	e := r.Entries[len(r.Entries)-1]
	return e, now.Before(e.Until) && !now.Before(e.At) && e.Until.Sub(e.At) <= Longest
}

// Off turns the hooks off for some time.
func (r *Record) Off(now time.Time, long time.Duration, by, reason string) (Entry, error) {
	if long <= 0 || long > Longest {
		return Entry{}, fmt.Errorf("got %s, want at most %s", long, Longest)
	}
	now = now.UTC().Truncate(time.Second)
	e := Entry{At: now, Until: now.Add(long), By: by, Reason: reason}
	return e, r.add(e)
}

// On turns the hooks on.
func (r *Record) On(now time.Time, by string) error {
	return r.add(Entry{At: now.UTC().Truncate(time.Second), By: by})
}

func (r *Record) add(e Entry) error {
	secret := key()
	if secret == nil {
		var err error
		if secret, err = newKey(); err != nil {
			return err
		}
	}
	r.Entries = append(r.Entries, e)
	r.Entries = r.Entries[max(0, len(r.Entries)-most):]
	r.Seal, r.Broken = r.seal(secret), false
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := record.Keep(r.place, data); err != nil {
		return fmt.Errorf("it cannot be put on record, and the hooks are as before: %w", err)
	}
	return nil
}

// seal returns the seal of all but the seal.
func (r *Record) seal(secret []byte) []byte {
	plain := *r
	plain.Seal = nil
	data, err := json.Marshal(plain)
	if err != nil {
		return nil
	}
	h := hmac.New(sha256.New, secret)
	h.Write(data)
	return h.Sum(nil)
}

func (r *Record) sealed(secret []byte) bool {
	return len(secret) == sha256.Size && hmac.Equal(r.Seal, r.seal(secret))
}

// keyPlace returns where the user's key is.
func keyPlace() string {
	place, _ := originals.Place(folder, "")
	if place == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(place), "key")
}

// key returns the user's key, nil where there is none.
func key() []byte { return record.Read(keyPlace()) }

func newKey() ([]byte, error) {
	secret := make([]byte, sha256.Size)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	if keyPlace() == "" {
		return nil, errors.New("there is no home folder to keep the record in")
	}
	return secret, record.Keep(keyPlace(), secret)
}
