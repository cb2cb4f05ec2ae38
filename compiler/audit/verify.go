package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Kind is what is wrong with a log.
type Kind string

const (
	Missing   Kind = "missing"   // events that were written are not there
	Cut       Kind = "cut"       // a line is not whole
	Edited    Kind = "edited"    // a line is not as it was written
	Reordered Kind = "reordered" // a line is not in its place
	Foreign   Kind = "foreign"   // a line or a file is not modec's
)

// Finding is something that is wrong with a log.
type Finding struct {
	Kind Kind   `json:"kind" enum:"missing,cut,edited,reordered,foreign"`
	File string `json:"file"`
	Line int    `json:"line,omitempty" jsonschema:"the line in the file; none for what is missing at the end"`
	Text string `json:"text"`
}

// Verdict is what [Log.Verify] found.
type Verdict struct {
	Files    int
	Events   int
	First    uint64 // the number of the first event that is kept; 0: there is none
	Last     uint64 // the number of the last event that was written
	Aside    int    // events that wait for their place in the chain
	Findings []Finding
}

// Verify reads a log whole and compares it with what was written. It fails where this user has not written it.
func (l *Log) Verify() (*Verdict, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := l.waitForLock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	key, err := l.key()
	if err != nil {
		return nil, err
	}
	h, err := l.head()
	if err != nil {
		return nil, err
	}
	files, err := Files(l.file)
	if err != nil {
		return nil, err
	}
	if key == nil || h.Last.N == 0 {
		if len(files) == 0 {
			return &Verdict{}, nil
		}
		return nil, fmt.Errorf("%s was not written by this user on this machine, whose key its hashes need", l.file)
	}
	v := &verification{Verdict: Verdict{Files: len(files), Last: h.Last.N}, key: key, at: h.Base, base: h.Base.N,
		seen: map[uint64]bool{}, sealed: map[uint64]string{}}
	if _, names, err := l.aside(key); err == nil {
		v.Aside = len(names)
	}
	if err := v.find(files); err != nil {
		return nil, err
	}
	for _, file := range files {
		v.file = file
		if err := scan(file, v.line); err != nil {
			return nil, err
		}
	}
	v.file = l.file
	v.end(h.Last)
	return &v.Verdict, nil
}

// waitForLock keeps other programs from writing: what they write meanwhile is put aside.
func (l *Log) waitForLock() (unlock func(), err error) {
	lock, err := l.lock(0, lockLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func() {}, nil // nothing was written yet
	case errors.Is(err, errLocked):
		return nil, fmt.Errorf("another program has had %s locked for %s: try again", l.at("lock"), lockLimit)
	case err != nil:
		return nil, err
	}
	return func() { lock.Close() }, nil
}

// lockLimit is how long a verification waits for other programs.
const lockLimit = 5 * time.Second

// verification is a log that is being read.
type verification struct {
	Verdict
	key    []byte
	file   string
	base   uint64            // the last event of the files that were removed
	at     link              // the place in the chain, and the hash that the line there has
	seen   map[uint64]bool   // the numbers of events so far
	sealed map[uint64]string // the hashes of the events that are as they were written, wherever they stand
}

// find notes which events there are.
func (v *verification) find(files []string) error {
	for _, file := range files {
		err := scan(file, func(_ int, line []byte) {
			if p, ok := parse(line); ok && p.sealed(v.key) {
				v.sealed[p.N] = p.MAC
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *verification) add(kind Kind, line int, format string, args ...any) {
	v.Findings = append(v.Findings, Finding{kind, v.file, line, fmt.Sprintf(format, args...)})
}

// line judges one line.
func (v *verification) line(n int, text []byte) {
	p, ok := parse(text)
	if !ok || !p.sealed(v.key) {
		v.spoiled(n, p.MAC, ok)
		return
	}
	v.Events++
	if v.First == 0 {
		v.First = p.N
	}
	switch {
	case v.seen[p.N]:
		v.add(Reordered, n, "event %d is there twice", p.N)
		return
	case p.N <= v.at.N:
		v.add(Reordered, n, "event %d stands behind event %d", p.N, v.at.N)
		v.seen[p.N] = true
		return
	case p.N > v.at.N+1:
		v.gap(n, v.at.N+1, p.N-1)
	case p.Prev != v.at.MAC && (v.at.N == v.base || v.intact(v.at)):
		v.add(Edited, n, "event %d follows another event %d than the one that is there", p.N, v.at.N)
	}
	v.seen[p.N], v.at = true, link{p.N, p.MAC}
}

// intact reports whether a line is as it was written.
func (v *verification) intact(of link) bool {
	hash, ok := v.sealed[of.N]
	return ok && hash == of.MAC
}

// spoiled judges a line that is not as modec wrote it. It is the next event, where that is nowhere else.
func (v *verification) spoiled(n int, hash string, whole bool) {
	next := v.at.N + 1
	if _, elsewhere := v.sealed[next]; elsewhere || next > v.Last {
		v.add(Foreign, n, "the line is not modec's")
		return
	}
	if v.at = (link{next, hash}); whole {
		v.add(Edited, n, "event %d is not as it was written", next)
	} else {
		v.add(Cut, n, "event %d is not whole", next)
	}
}

// gap reports those events before a line that are nowhere.
func (v *verification) gap(line int, from, to uint64) {
	for ; from <= to; from++ {
		first := from
		for from <= to && v.sealed[from] == "" {
			from++
		}
		if first < from {
			v.add(Missing, line, "%s missing before this line", events(first, from-1))
		}
	}
}

// end compares the last line with the head.
func (v *verification) end(last link) {
	switch {
	case v.at.N < last.N:
		v.add(Missing, 0, "%s missing at the end", events(v.at.N+1, last.N))
	case v.at.N == last.N && v.at.MAC != last.MAC && v.intact(v.at):
		v.add(Edited, 0, "event %d is another one than the last that was written", last.N)
	}
}

// events names some events that are next to each other.
func events(from, to uint64) string {
	if from == to {
		return fmt.Sprintf("event %d is", from)
	}
	return fmt.Sprintf("events %d to %d are", from, to)
}
