package output

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/located"
)

// LockFile records what the last build wrote, never what is right: nothing is
// trusted because the lock says so.
const LockFile = "modec.lock"

// lockVersion is the version of the lock's form.
const lockVersion = 1

const lockHeader = `# Written by modec build; commit it. It tells which files modec wrote, so that
# a hand edit is noticed and a file of yours is never overwritten.
`

// Lock is modec.lock: TOML, a line for each artifact, sorted by path.
type Lock struct {
	Version   int               `toml:"version"`
	Modec     string            `toml:"modec"`                        // version of modec that built
	Model     int               `toml:"model,omitempty"`              // version of the model; 0: 1
	Schema    string            `toml:"schema"`                       // hash of the schema that checked the source
	Accepted  []string          `toml:"accepted,omitempty,multiline"` // losses that [[exceptions]] accept
	Artifacts map[string]string `toml:"artifacts"`
	// Entries are what modec wrote into files that people write too, by path.
	Entries map[string]jsonedit.Entries `toml:"entries,omitempty"`
	// Theirs are the places of entries in such files that people wrote and the source says too: they stay
	// where the source no longer does, and one that somebody takes out is not written again in silence.
	Theirs map[string][]string `toml:"theirs,omitempty"`
	// Left are the hashes of what such files say as the last build left them, by path, so that a check notices
	// what people change beside modec's entries: whatever the layout, since agents write their files again in
	// their own.
	Left map[string]string `toml:"left,omitempty"`
	// Unheld are the files of agents that are no targets which lay there when the first build was made: a check tells
	// of others. Nil: an older modec wrote the lock, and nobody knows.
	Unheld []string `toml:"unheld,multiline"`
	// Known are the warnings about what people had when the first build took it over ([Known]), each as many times as
	// it was found, and servers of theirs that no source can have.
	Known []string `toml:"known,omitempty,multiline"`
	// Adopted are the files that people wrote and modec took over, by path.
	Adopted map[string]adopted `toml:"adopted,omitempty"`
}

// adopted is a file that modec took over. Its original is in the user's own record, and in git where
// it was committed.
type adopted struct {
	Original string `toml:"original"` // the hash of the person's bytes
	Blob     string `toml:"blob"`     // their name as an object of git (SHA-1)
	// Built is the hash of what modec made of it; "" where the source no longer makes it.
	Built string `toml:"built,omitempty"`
	// Mixed is set once a person changed entries or lines of their own beside modec's: entries outlive
	// a clean, and of lines it keeps a copy.
	Mixed bool `toml:"mixed,omitempty"`
	// Places are those of a file that people write too.
	Places []string `toml:"places,omitempty"`
	// Programs are the sums of the programs that the person's bytes name ([contract.Program]): a check says nothing
	// of them as long as they are as they were.
	Programs []string `toml:"programs,omitempty"`
}

// is reports whether bytes are the original.
func (a adopted) is(data []byte) bool { return data != nil && Sum(data) == a.Original }

// remember notes the entries of a file; none, for a file that is modec's alone.
func (l *Lock) remember(p string, entries jsonedit.Entries) {
	if len(entries) == 0 {
		delete(l.Entries, p)
		return
	}
	if l.Entries == nil {
		l.Entries = map[string]jsonedit.Entries{}
	}
	l.Entries[p] = entries
}

// left notes the hash of a file that people write too; "" for one that is modec's alone.
func (l *Lock) left(p, sum string) {
	delete(l.Left, p)
	if sum == "" {
		return
	}
	if l.Left == nil {
		l.Left = map[string]string{}
	}
	l.Left[p] = sum
}

// sumLeft returns the hash of what a file of JSON says at some keys at its top, and names them; where there are none to
// name, of all that the file says.
func sumLeft(data []byte, about []string) string {
	v, err := located.JSONC("", data)
	if err != nil || len(about) == 0 {
		return sumOfMeaning(data)
	}
	all, _ := v.Any().(map[string]any)
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(key string, _ any) bool {
		name, _, _ := strings.Cut(key, ".")
		return !slices.Contains(about, name)
	})
	return Sum(contract.JSONLine(some)) + leftOf + strings.Join(about, " ")
}

// leftOf stands between a hash and the keys that it is of.
const leftOf = " of "

// leaves reports whether a file that people write too says what it said as the build left it.
func (l *Lock) leaves(p string, data []byte) bool {
	_, about, _ := strings.Cut(l.Left[p], leftOf)
	return l.Left[p] != "" && l.Left[p] == sumLeft(data, strings.Fields(about))
}

// asBuilt returns the hash of a file that people write too as the build left it, "" where that is not known.
func (l *Lock) asBuilt(p string) string { return cmp.Or(l.Left[p], l.Adopted[p].Built) }

// sumOfMeaning returns the hash of what a file of JSON says, and of any other the hash of its bytes.
func sumOfMeaning(data []byte) string {
	v, err := located.JSONC("", data)
	if err != nil {
		return Sum(data)
	}
	return Sum(contract.JSONLine(v.Any()))
}

// found notes the entries of a file that are a person's, and emitted too.
func (l *Lock) found(p string, places []string) {
	delete(l.Theirs, p)
	if len(places) == 0 {
		return
	}
	if l.Theirs == nil {
		l.Theirs = map[string][]string{}
	}
	l.Theirs[p] = slices.Sorted(slices.Values(places))
}

// mergedFile stands for the hash of a file that people write too.
const mergedFile = "shared"

// KnowsUnheld reports whether a lock says which files of agents that are no targets lay there when the first build was
// made, or cannot be read. One of an older modec does not, and the next build writes which there are.
func KnowsUnheld(lock []byte) bool {
	l, err := parseLock(lock)
	return err != nil || l.Unheld != nil
}

// WasUnheld returns whether a file of an agent that is no target lay there when the first build was made, as the
// bytes of the lock say.
func WasUnheld(lock []byte) func(path string) bool {
	l, err := parseLock(lock)
	return func(path string) bool { return err == nil && slices.Contains(l.Unheld, path) }
}

// AdoptedPrograms returns whether a program of somebody's own, by its sum, was in a file when modec took the file over,
// as the bytes of the lock say.
func AdoptedPrograms(lock []byte) func(path, sum string) bool {
	l, err := parseLock(lock)
	return func(path, sum string) bool { return err == nil && slices.Contains(l.Adopted[path].Programs, sum) }
}

// AdoptedBlob returns the name that git gives to a file as it was when modec took it over, as the bytes of the lock
// say; "" where it took none over.
func AdoptedBlob(lock []byte, path string) string {
	l, err := parseLock(lock)
	if err != nil {
		return ""
	}
	return l.Adopted[path].Blob
}

// WroteFor reports whether a build wrote a file for one of some targets, as the bytes of the lock say.
func WroteFor(lock []byte, some func(target string) bool) bool {
	ours, theirs, _ := parseSides(lock)
	for _, l := range []*Lock{ours, theirs} {
		if l != nil && slices.ContainsFunc(slices.Collect(maps.Values(l.Artifacts)), func(line string) bool {
			target, _ := splitArtifact(line)
			return some(target)
		}) {
			return true
		}
	}
	return false
}

// Built returns whether a build wrote a path of a project, or entries of it, as the bytes of the
// lock say.
func Built(lock []byte) func(path string) bool {
	l, err := parseLock(lock)
	return func(path string) bool { return err == nil && l.Artifacts[path] != "" }
}

// AsBuilt returns whether bytes are those that the last build left at a path, as the bytes of the
// lock say.
func AsBuilt(lock []byte) func(path string, data []byte) bool {
	l, err := parseLock(lock)
	return func(path string, data []byte) bool {
		if err != nil {
			return false
		}
		_, hash := splitArtifact(l.Artifacts[path])
		sum := Sum(data)
		return hash == sum || l.Adopted[path].Built == sum || l.leaves(path, data)
	}
}

// Knows returns whether a lock says anything of a file: a build wrote it, or took it over.
func Knows(lock []byte) func(path string) bool {
	l, err := parseLock(lock)
	return func(path string) bool { return err == nil && l.knows(path) }
}

// TookOver returns the files that a build took over from people, as the bytes of the lock say.
func TookOver(lock []byte) []string {
	l, err := parseLock(lock)
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(l.Adopted))
}

// Theirs returns, by path, the places of entries of people's own that the source said at the last build too, as the
// bytes of the lock say.
func Theirs(lock []byte) map[string][]string {
	l, err := parseLock(lock)
	if err != nil {
		return nil
	}
	return l.Theirs
}

// Wrote returns whether a build, by its lock, had an entry of modec's at a place of a file that people write too.
func Wrote(lock []byte) func(path, place string) bool {
	l, err := parseLock(lock)
	return func(path, place string) bool {
		if err != nil {
			return false
		}
		_, ok := l.Entries[path][place]
		return ok
	}
}

// artifactLine is the value of one line: "roo sha256:…".
func artifactLine(target, hash string) string { return target + " " + hash }

func splitArtifact(v string) (target, hash string) {
	target, hash, _ = strings.Cut(v, " ")
	return target, hash
}

// Sum returns the hash of an artifact as the lock writes it.
func Sum(b []byte) string {
	h := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(h[:])
}

// gitBlob returns the name that git gives to bytes.
func gitBlob(b []byte) string {
	h := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(b)), b...))
	return hex.EncodeToString(h[:])
}

func (l *Lock) marshal() ([]byte, error) {
	b, err := toml.Marshal(l)
	if err != nil {
		return nil, err
	}
	return append([]byte(lockHeader), b...), nil
}

// LockText returns the text of the lock; nil where there is none.
func (o *Options) LockText() []byte {
	text, _ := contract.ReadPlain(filepath.Join(o.Dir, LockFile))
	return text
}

// parseLock reads a lock; of one whose merge is in conflict, that of this side.
func parseLock(b []byte) (*Lock, error) {
	l, _, err := parseSides(b)
	return l, err
}

// parseSides reads a lock; of one whose merge is in conflict, those of both sides, else theirs is nil.
func parseSides(b []byte) (ours, theirs *Lock, err error) {
	if ours, err = decodeLock(b); err == nil {
		return ours, nil, nil
	}
	first, second, conflict := sides(b)
	if !conflict {
		return nil, nil, err
	}
	if ours, err = decodeLock(first); err == nil {
		theirs, err = decodeLock(second)
	}
	if err != nil {
		return nil, nil, err
	}
	return ours, theirs, nil
}

func decodeLock(b []byte) (*Lock, error) {
	var l Lock
	d := toml.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %s", LockFile, strings.TrimPrefix(err.Error(), "toml: "))
	}
	if l.Version != lockVersion {
		return nil, fmt.Errorf("%s has version %d; this modec reads version %d", LockFile, l.Version, lockVersion)
	}
	if l.Artifacts == nil {
		l.Artifacts = map[string]string{} // an empty table
	}
	return &l, nil
}

// sides returns the two texts that git left of a file whose merge is in conflict; ok is false where there is none.
func sides(merged []byte) (ours, theirs []byte, ok bool) {
	const both, first, base, second = 0, 1, 2, 3
	in := both
	for line := range bytes.Lines(merged) {
		switch marker, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(" ")); string(marker) {
		case "<<<<<<<":
			in, ok = first, true
			continue
		case "|||||||":
			in = base
			continue
		case "=======":
			in = second
			continue
		case ">>>>>>>":
			in = both
			continue
		}
		if in == both || in == first {
			ours = append(ours, line...)
		}
		if in == both || in == second {
			theirs = append(theirs, line...)
		}
	}
	return ours, theirs, ok
}
