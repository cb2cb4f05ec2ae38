// Package session keeps, for a user and outside of every repository, by what a session's hook decides: its first call
// fixes the project and the policy ([Store.Fix]), and no later change of the source takes them from it. What a source
// compiles to is kept too ([Store.Compiled]), so that a call compiles nothing.
//
// The folder is below the user's home as the system knows it, which no variable moves. A policy lies there by the
// digest of its bytes: another one in its place is none.
package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/record"
)

// Home returns the user's home folder as the system knows it. Tests put another one in its place.
var Home = func() (string, error) {
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir, nil
	}
	return os.UserHomeDir()
}

// The folders of what modec keeps for a user, where no variable moves them, and this one.
const cached, state, keep = ".cache/modec", ".local/state/modec", ".cache/modec/hooks"

// kept is how long a session stays known after its last call, and a policy after the last session that used it.
const kept = 7 * 24 * time.Hour

// Store is the folder.
type Store struct{ home string }

// Open returns that of the user.
func Open() (*Store, error) {
	home, err := Home()
	if err != nil {
		return nil, fmt.Errorf("there is no home folder to keep the session in: %w", err)
	}
	return &Store{home}, nil
}

func (s *Store) at(name string) string { return filepath.Join(s.home, filepath.FromSlash(name)) }

// Folders returns the folders of all that modec keeps there.
func (s *Store) Folders() []string {
	return []string{s.at(cached), s.at(state)}
}

// Session is what the first call of a session fixed.
type Session struct {
	Root   string `json:"root"`   // the project's folder
	Policy string `json:"policy"` // the digest of the compiled source
}

// Find returns what the first call fixed of a session that some words name; false where this one is the first.
func (s *Store) Find(names ...string) (Session, bool) {
	var of Session
	place := s.place("session", names...)
	data := record.Read(place)
	if data == nil || json.Unmarshal(data, &of) != nil {
		return of, false
	}
	touch(place)
	return of, true
}

// Fix fixes a session. Of two first calls at once the first holds, and Fix returns what it fixed.
func (s *Store) Fix(of Session, names ...string) (Session, error) {
	data, err := json.Marshal(of)
	if err != nil {
		return of, err
	}
	place := s.place("session", names...)
	next := place + "-" + strconv.Itoa(os.Getpid())
	if err = record.Keep(next, data); err == nil {
		if err = os.Link(next, place); err != nil && !errors.Is(err, fs.ErrExist) {
			err = os.Rename(next, place) // where there are no links
		}
		os.Remove(next)
	}
	if first, ok := s.Find(names...); ok {
		of, err = first, nil
	}
	if err != nil {
		return of, fmt.Errorf("what the session began with cannot be kept: %w", err)
	}
	record.Prune(s.at(keep), kept)
	return of, nil
}

// compiled is what a project's source was last compiled to.
type compiled struct {
	Files  map[string]string `json:"files"`  // what was read for it, as [contract.Reads] has it
	Policy string            `json:"policy"` // its digest
}

// Compiled returns what the source of a project compiles to, and its digest: from the folder where nothing of what
// compile read has changed since. Where it does not compile, it returns what it last compiled to beside the error, nil
// where nobody knows. release names the program that compiles.
func (s *Store) Compiled(
	root, release string, compile func(fs.FS) ([]byte, error),
) (policy []byte, digest string, err error) {
	folder, err := os.OpenRoot(root)
	if err != nil {
		return nil, "", fmt.Errorf("the project cannot be opened: %w", err)
	}
	defer folder.Close()
	files := contract.Plain(folder.FS())
	place := s.place("source", root, release)
	var last compiled
	if data := record.Read(place); data != nil && json.Unmarshal(data, &last) == nil && len(last.Files) > 0 {
		now := contract.NewReads(files)
		for name := range last.Files {
			now.Note(name)
		}
		policy, digest = s.Policy(last.Policy), last.Policy
		if policy != nil && maps.Equal(now.States(), last.Files) {
			return policy, digest, nil
		}
	}
	reads := contract.NewReads(files)
	made, err := compile(reads)
	if err != nil {
		return policy, digest, err
	}
	policy = made
	sum := sha256.Sum256(policy)
	last = compiled{reads.States(), hex.EncodeToString(sum[:])}
	data, err := json.Marshal(last)
	if err == nil {
		err = record.Keep(s.at(keep+"/policy-"+last.Policy), policy)
	}
	if err == nil {
		_ = record.Keep(place, data) // without it the next call compiles again
	}
	return policy, last.Policy, nil
}

// Policy returns a compiled source by its digest, nil where it is not there.
func (s *Store) Policy(digest string) []byte {
	place := s.at(keep + "/policy-" + filepath.Base(digest))
	data := record.Read(place)
	if sum := sha256.Sum256(data); data == nil || hex.EncodeToString(sum[:]) != digest {
		return nil
	}
	touch(place)
	return data
}

// place returns where something lies that some words name.
func (s *Store) place(kind string, names ...string) string {
	return s.at(keep + "/" + kind + "-" + record.Name(names...))
}

// touch notes once a day that something is used.
func touch(place string) {
	now := time.Now()
	if info, err := os.Lstat(place); err == nil && now.Sub(info.ModTime()) > 24*time.Hour {
		_ = os.Chtimes(place, now, now) // it is forgotten a day earlier
	}
}
