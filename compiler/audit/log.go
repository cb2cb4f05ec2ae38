package audit

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/record"
)

const (
	patience  = 5 * time.Millisecond // for the lock of other programs
	nap       = 200 * time.Microsecond
	folder    = "audit"
	version   = 1
	mostAside = 64      // events that an append takes from aside
	mostTail  = 1 << 20 // bytes behind the head that are looked at
)

// Log is a log that events are added to. It is safe for concurrent use, also by several programs.
type Log struct {
	file     string // without symbolic links
	dir      string // where the head of the log is
	settings ir.Audit
	mu       sync.Mutex
}

// head is the end of a log as its last writer left it.
type head struct {
	Version int    `json:"version"`
	File    string `json:"file"`
	Made    bool   `json:"made"` // the newest file is modec's
	Last    link   `json:"last"`
	Size    int64  `json:"size"` // of the newest file
	Base    link   `json:"base"` // the last line of the files that were removed
	Ends    []link `json:"ends"` // the last lines of the older files, the newest first
}

// Failure is an event that could not be written.
type Failure struct {
	Err error
	// Count is how many in a row could not. It is 0 where that could not be counted.
	Count int64
}

func (f *Failure) Error() string { return "the audit's file could not be written: " + f.Err.Error() }

func (f *Failure) Unwrap() error { return f.Err }

// Untold reports whether an error is one to tell of: of several failures in a row it is enough to tell of the first.
func Untold(err error) bool {
	var f *Failure
	return err != nil && (!errors.As(err, &f) || f.Count <= 1)
}

// Open returns the log of a project. Nothing is written before the first event.
func Open(root string, s ir.Audit) (*Log, error) {
	place, root := originals.Place(folder, root)
	if place == "" {
		return nil, errNoFolder
	}
	file, err := Path(root, s)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(file))
	return &Log{file: file, dir: filepath.Join(filepath.Dir(place), hex.EncodeToString(sum[:16])), settings: s}, nil
}

var errNoFolder = errors.New("there is no folder of the user's outside the project for the key of the audit")

// Path returns the path of the newest file of a log, with the links of its folder resolved.
func Path(root string, s ir.Audit) (string, error) {
	file := filepath.FromSlash(s.File)
	if rest, ok := strings.CutPrefix(s.File, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		file = filepath.Join(home, filepath.FromSlash(rest))
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(root, file)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		dir = filepath.Dir(file) // it is made with the first event
	}
	return filepath.Join(dir, filepath.Base(file)), nil
}

// older returns the path of an older file of a log; 1 is the newest of them.
func older(file string, i int) string {
	base, _ := strings.CutSuffix(file, ir.AuditEnding)
	return fmt.Sprintf("%s.%d%s", base, i, ir.AuditEnding)
}

// File returns the path of the newest file of the log.
func (l *Log) File() string { return l.file }

func (l *Log) at(name string) string { return filepath.Join(l.dir, name) }

func (l *Log) keyPlace() string { return filepath.Join(filepath.Dir(l.dir), "key") }

// Masked returns an event as the log has it, without its place in the chain.
func (l *Log) Masked(e Event) (Event, error) {
	key, err := l.makeKey()
	if err != nil {
		return e, err
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e = e.tidy(key, l.settings)
	e.Input, e.Token = nil, ""
	return e, nil
}

// Append adds an event. Its error is a [*Failure].
func (l *Log) Append(e Event) error {
	err := l.append(e)
	if err == nil {
		return nil
	}
	return &Failure{Err: err, Count: l.failed()}
}

func (l *Log) append(e Event) error {
	key, err := l.makeKey()
	if err != nil {
		return err
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e = e.tidy(key, l.settings)
	l.mu.Lock()
	defer l.mu.Unlock()
	lock, err := l.lock(os.O_CREATE, patience)
	switch {
	case errors.Is(err, errLocked):
		return l.putAside(key, e)
	case err != nil:
		return err
	}
	defer lock.Close() // which unlocks it
	return l.chain(key, e)
}

var errLocked = errors.New("another program has the lock")

// lock keeps other programs from writing until the file is closed. It waits for them as long as limit, and
// fails with errLocked then.
func (l *Log) lock(flag int, limit time.Duration) (*os.File, error) {
	lock, err := os.OpenFile(l.at("lock"), os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	for start := time.Now(); ; time.Sleep(nap) {
		locked, err := tryLock(lock)
		switch {
		case locked:
			return lock, nil
		case err == nil && time.Since(start) > limit:
			err = errLocked
		}
		if err != nil {
			lock.Close()
			return nil, err
		}
	}
}

// chain writes the events that were put aside and one more. The caller has the lock.
func (l *Log) chain(key []byte, e Event) error {
	h, err := l.head()
	if err != nil {
		return err
	}
	aside, names, err := l.aside(key)
	if err != nil {
		return err
	}
	list := append(aside, e)
	lost, _ := os.Stat(l.at("failed"))
	if lost != nil {
		text := fmt.Sprintf("%d events before this one could not be written", lost.Size())
		told := Event{Via: ViaLog, Tool: "append", Outcome: Lost, Detail: text, Time: e.Time}
		list = append(list, told.tidy(key, l.settings))
	}
	if err := l.write(key, h, list); err != nil {
		return err
	}
	for _, name := range names {
		os.Remove(name)
	}
	if lost != nil {
		os.Remove(l.at("failed"))
	}
	return nil
}

// write writes events at the end of the log, all or none of them.
func (l *Log) write(key []byte, h *head, list []Event) error {
	f, size, err := l.open(h)
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	torn, err := h.catchUp(key, f, size)
	if err != nil {
		return err
	}
	var text []byte
	if torn {
		text = append(text, '\n')
	}
	last := h.Last
	for _, e := range list {
		var line []byte
		if line, last, err = e.line(key, last); err != nil {
			return err
		}
		text = append(text, line...)
	}
	if most := int64(l.settings.MaxMB) << 20; size > 0 && size+int64(len(text)) > most {
		f.Close()
		if err := l.rotate(h); err != nil {
			return err
		}
		if f, size, err = l.open(h); err != nil {
			return err
		}
		text = bytes.TrimPrefix(text, []byte("\n"))
	}
	if _, err := f.WriteAt(text, size); err != nil {
		return errors.Join(err, f.Truncate(size))
	}
	h.Last, h.Size = last, size+int64(len(text))
	if err := l.save(h); err != nil {
		return errors.Join(err, f.Truncate(size))
	}
	return nil
}

// open opens the newest file of the log. It takes no file that the log does not know: a project's settings must not
// have modec write into a file of the user's.
func (l *Log) open(h *head) (*os.File, int64, error) {
	flags := os.O_RDWR
	info, err := os.Lstat(l.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(l.file), 0o700); err != nil {
			return nil, 0, err
		}
		if h.Made = true; h.Last.N == 0 {
			if err := l.save(h); err != nil {
				return nil, 0, err
			}
		}
		flags |= os.O_CREATE | os.O_EXCL
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is not a file", l.file)
	case !h.Made:
		return nil, 0, fmt.Errorf("%s is there already and modec has not written it as this user: move it away", l.file)
	}
	f, err := os.OpenFile(l.file, flags, 0o600)
	if err != nil {
		return nil, 0, err
	}
	opened, err := f.Stat()
	if err == nil && info != nil && !os.SameFile(info, opened) {
		err = fmt.Errorf("%s is another file now", l.file)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, opened.Size(), nil
}

// catchUp takes the lines of a file that were written behind the head by a program that ended there. It reports
// whether the file ends within a line.
func (h *head) catchUp(key []byte, f *os.File, size int64) (torn bool, err error) {
	if size == 0 {
		return false, nil
	}
	if h.Size < size && size-h.Size <= mostTail {
		tail := make([]byte, size-h.Size)
		if _, err := f.ReadAt(tail, h.Size); err != nil {
			return false, err
		}
		for line := range bytes.Lines(tail) {
			p, ok := parse(line)
			if !ok || !p.sealed(key) || p.Prev != h.Last.MAC || p.N != h.Last.N+1 {
				break
			}
			h.Last = link{p.N, p.MAC}
		}
	}
	var end [1]byte
	if _, err := f.ReadAt(end[:], size-1); err != nil {
		return false, err
	}
	return end[0] != '\n', nil
}

// rotate makes the newest file an older one and removes those that are not kept.
func (l *Log) rotate(h *head) error {
	h.Ends = append([]link{h.Last}, h.Ends...)
	top := len(h.Ends) - 1
	for i := top; i >= 0; i-- {
		from := older(l.file, i)
		if i == 0 {
			from = l.file
		}
		var err error
		if i >= l.settings.Keep {
			err = os.Remove(from)
		} else {
			err = os.Rename(from, older(l.file, i+1))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if keep := l.settings.Keep; len(h.Ends) > keep {
		h.Base, h.Ends = h.Ends[keep], h.Ends[:keep]
	}
	h.Size = 0
	return l.save(h)
}

// head returns the head of the log, an empty one for a new log.
func (l *Log) head() (*head, error) {
	h := &head{Version: version, File: l.file}
	if _, err := os.Lstat(l.at("head")); errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if json.Unmarshal(record.Read(l.at("head")), h) != nil || h.Version != version || h.File != l.file {
		return nil, fmt.Errorf("%s is not as modec wrote it", l.at("head"))
	}
	return h, nil
}

func (l *Log) save(h *head) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return record.Keep(l.at("head"), data)
}

// makeKey returns the user's key, a new one where there is none.
func (l *Log) makeKey() ([]byte, error) {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, err
	}
	if key, err := l.key(); key != nil || err != nil {
		return key, err
	}
	own := make([]byte, sha256.Size)
	if _, err := rand.Read(own); err != nil {
		return nil, err
	}
	name := l.keyPlace() + "-" + rand.Text()
	if err := record.Keep(name, own); err != nil {
		return nil, err
	}
	defer os.Remove(name)
	if err := os.Link(name, l.keyPlace()); err != nil && !errors.Is(err, fs.ErrExist) { // that of another program
		if err := os.Rename(name, l.keyPlace()); err != nil {
			return nil, err
		}
	}
	key, err := l.key()
	if key == nil && err == nil {
		err = errNoKey
	}
	return key, err
}

var errNoKey = errors.New("the user has no key for the audit")

// key returns the user's key, nil where there is none.
func (l *Log) key() ([]byte, error) {
	if _, err := os.Lstat(l.keyPlace()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	key := record.Read(l.keyPlace())
	if len(key) != sha256.Size {
		return nil, fmt.Errorf("%s is not a key that only this user can write", l.keyPlace())
	}
	return key, nil
}

// asideEvent is an event that waits for its place in the chain.
type asideEvent struct {
	Event Event  `json:"event"`
	Seal  string `json:"seal"`
}

func (a *asideEvent) seal(key []byte) string {
	text, err := json.Marshal(a.Event)
	if err != nil {
		return ""
	}
	return mac(key, "aside", text)
}

// putAside keeps an event for the next program that gets the lock.
func (l *Log) putAside(key []byte, e Event) error {
	a := asideEvent{Event: e}
	a.Seal = a.seal(key)
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%020d-%s", time.Now().UnixNano(), rand.Text())
	return record.Keep(filepath.Join(l.at("aside"), name), data)
}

// aside returns the events that wait, the oldest first, and their files.
func (l *Log) aside(key []byte) (list []Event, names []string, err error) {
	entries, err := os.ReadDir(l.at("aside"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "new-") { // of a program that writes it now
			continue
		}
		name := filepath.Join(l.at("aside"), entry.Name())
		var a asideEvent
		if json.Unmarshal(record.Read(name), &a) == nil && hmac.Equal([]byte(a.Seal), []byte(a.seal(key))) {
			list = append(list, a.Event)
		}
		if names = append(names, name); len(names) == mostAside {
			break
		}
	}
	return list, names, nil
}

// failed counts a failure and returns how many there were since the last event that was written.
func (l *Log) failed() int64 {
	f, err := os.OpenFile(l.at("failed"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0
	}
	defer f.Close()
	if _, err := io.WriteString(f, "."); err != nil {
		return 0
	}
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return cmp.Or(info.Size(), 1)
}
