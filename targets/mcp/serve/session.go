package serve

import (
	"cmp"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Status is what became of a task.
type Status string

const (
	Active    Status = "active"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Session is a task and the mode that it is worked on in.
type Session struct {
	ID       string    `json:"session_id"` // ses_…: a handle, not a proof of who asks
	Task     string    `json:"task_id"`    // tsk_…
	Mode     string    `json:"mode_slug"`
	Role     string    `json:"role,omitempty"`
	Parent   string    `json:"parent_session_id,omitempty"`
	Status   Status    `json:"status"`
	Result   string    `json:"result,omitempty"`
	Created  time.Time `json:"created_at"`
	Used     time.Time `json:"last_used_at"`
	Messages []Message `json:"messages"`
	History  []Switch  `json:"mode_history"`
}

// Message is one message of a task.
type Message struct {
	Role string    `json:"role"` // user, or system for what the server notes
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

// Switch is one change of mode; the first is how a task began.
type Switch struct {
	From   string    `json:"from,omitempty"`
	To     string    `json:"to"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// sessionTexts is how many texts of the longest kind a session contains at most.
const sessionTexts = 16

// size is how many bytes the texts of a session take.
func (s *Session) size() int {
	n := len(s.Result)
	for _, m := range s.Messages {
		n += len(m.Text)
	}
	for _, h := range s.History {
		n += len(h.Reason)
	}
	return n
}

// clone copies a session, so that no caller sees the store change it.
func (s *Session) clone() *Session {
	c := *s
	c.Messages, c.History = slices.Clone(s.Messages), slices.Clone(s.History)
	return &c
}

// Limits bound what sessions take.
type Limits struct {
	Sessions int           // at once; default 10,000
	Messages int           // of a session, switches included; default 1,000
	Text     int           // bytes of a message, a reason or a result; default 64 KiB
	Depth    int           // of the hierarchy; default 32
	Timeout  time.Duration // without use; default an hour
	Cleanup  time.Duration // between two cleanings; default 5 minutes
}

// DefaultLimits replace the zero fields of a server's limits.
var DefaultLimits = Limits{
	Sessions: 10_000,
	Messages: 1_000,
	Text:     64 << 10,
	Depth:    32,
	Timeout:  time.Hour,
	Cleanup:  5 * time.Minute,
}

// orDefault fills zero fields from DefaultLimits.
func (l Limits) orDefault() Limits {
	def := DefaultLimits
	return Limits{
		Sessions: cmp.Or(l.Sessions, def.Sessions),
		Messages: cmp.Or(l.Messages, def.Messages),
		Text:     cmp.Or(l.Text, def.Text),
		Depth:    cmp.Or(l.Depth, def.Depth),
		Timeout:  cmp.Or(l.Timeout, def.Timeout),
		Cleanup:  cmp.Or(l.Cleanup, def.Cleanup),
	}
}

// text checks a text of a call.
func (l *Limits) text(field, s string) error {
	switch {
	case len(s) > l.Text:
		return fail(limitReached, "got %s of %d bytes, want at most %d", field, len(s), l.Text)
	case !utf8.ValidString(s):
		return fail(validationError, "got %s that is not UTF-8", field)
	}
	return nil
}

func handle(prefix string) string { return prefix + rand.Text() }

// Store keeps sessions. What a call has returned is kept, also where the process
// then ends at once. Implementations are safe for concurrent use. One that several servers
// share may have a method Now: sessions age by that clock then.
type Store interface {
	// Add keeps a new session, unless there are limit already.
	Add(s *Session, limit int) error
	// Get returns a session, which is not to be changed; nil where there is none of
	// that id.
	Get(id string) (*Session, error)
	// Update changes a session by fn, alone; what fn refuses is not kept. The id
	// may be unknown: then fn is not called, and the session is nil.
	Update(id string, fn func(*Session) error) (*Session, error)
	// Children returns the sessions of which one is the parent, the oldest first.
	Children(id string) ([]*Session, error)
	// Clean removes sessions that nobody used since a time, and returns how many.
	Clean(before time.Time) (int, error)
	Close() error
}

// memory is a Store that ends with the process.
type memory struct {
	mu       sync.Mutex
	sessions map[string]*Session
}

// NewMemory returns a Store in memory.
func NewMemory() Store { return &memory{sessions: map[string]*Session{}} }

func (m *memory) Add(s *Session, limit int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.sessions) >= limit {
		return tooMany(limit)
	}
	m.sessions[s.ID] = s.clone()
	return nil
}

func tooMany(limit int) error {
	return fail(limitReached, "there are %d sessions already; wait until one expires", limit)
}

func (m *memory) Get(id string) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[id], nil
}

func (m *memory) Update(id string, fn func(*Session) error) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil {
		return nil, nil
	}
	c := s.clone()
	if err := fn(c); err != nil {
		return nil, err
	}
	m.sessions[id] = c // what was read before stays as it was
	return c, nil
}

func (m *memory) Children(id string) ([]*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*Session
	for _, s := range m.sessions {
		if s.Parent == id {
			out = append(out, s)
		}
	}
	sortOldest(out)
	return out, nil
}

func sortOldest(list []*Session) {
	slices.SortFunc(list, func(a, b *Session) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
}

func (m *memory) Clean(before time.Time) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for id, s := range m.sessions {
		if s.Used.Before(before) {
			delete(m.sessions, id)
			n++
		}
	}
	return n, nil
}

func (m *memory) Close() error { return nil }

// storeFailed returns the error that a caller sees when the store fails.
func storeFailed(err error) error {
	if e, ok := errors.AsType[*databaseError](err); ok {
		outcome := "unchanged"
		if e.unknown {
			outcome = "unknown"
		}
		return failData(internalError, map[string]any{"outcome": outcome}, "the sessions cannot be kept: %v", err)
	}
	return fail(internalError, "the sessions cannot be kept: %v", err)
}
