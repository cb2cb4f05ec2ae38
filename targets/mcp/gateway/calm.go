package gateway

import (
	"fmt"
	"sync"
	"time"

	"modec.dev/modec/compiler/audit"
)

// newsGap is how long a server waits at least between two times that clients hear that a list of it changed.
const newsGap = 200 * time.Millisecond

// calm tells at once, and then not before a while has passed: what comes meanwhile is told together. A server that
// says without end that something changed keeps nobody busy.
type calm struct {
	gap time.Duration

	mu   sync.Mutex
	last time.Time
	due  bool // it is told once the gap has passed
}

// tell calls f, now or once the gap has passed.
func (c *calm) tell(f func()) {
	c.mu.Lock()
	if c.due {
		c.mu.Unlock()
		return
	}
	if left := c.gap - time.Since(c.last); left > 0 {
		c.due = true
		time.AfterFunc(left, func() {
			c.mu.Lock()
			c.due, c.last = false, time.Now()
			c.mu.Unlock()
			f()
		})
		c.mu.Unlock()
		return
	}
	c.last = time.Now()
	c.mu.Unlock()
	f()
}

// forget has the next be told at once.
func (c *calm) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due, c.last = false, time.Time{}
}

// How much of a call's progress is passed on: so many notifications at once, and then so many a second. The rest is
// lost, which the protocol permits.
const (
	progressAtOnce   = 100
	progressASecond  = 20
	maxProgressWords = 1 << 10 // bytes
)

// pace lets some through at once, and then some a second. It is full when it is first asked.
type pace struct {
	mu   sync.Mutex
	at   time.Time
	left float64
}

// lets reports whether one more may pass.
func (p *pace) lets() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.at.IsZero() {
		p.left = progressAtOnce
	} else {
		p.left = min(p.left+now.Sub(p.at).Seconds()*progressASecond, progressAtOnce)
	}
	p.at = now
	if p.left < 1 {
		return false
	}
	p.left--
	return true
}

// quiet is how long the same is not said again.
const quiet = time.Minute

// lately remembers what was said a short while ago, so that nobody fills a log who asks again and again.
type lately struct {
	mu   sync.Mutex
	said map[string]time.Time
}

// first reports whether something was not said lately.
func (l *lately) first(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if at, ok := l.said[what]; ok && now.Sub(at) < quiet {
		return false
	}
	if l.said == nil || len(l.said) >= maxItems {
		l.said = map[string]time.Time{}
	}
	l.said[what] = now
	return true
}

// strangers writes down the requests of who is nobody: one at once, and then once a while how many more there were. So
// nobody drives out of the audit what is written of others.
type strangers struct {
	write func(audit.Event)
	calm  calm

	mu   sync.Mutex
	more int         // since the last that was written
	last audit.Event // of them
}

func newStrangers(write func(audit.Event)) *strangers {
	return &strangers{write: write, calm: calm{gap: quiet}}
}

// add writes an event, now or counted with others.
func (s *strangers) add(e audit.Event) {
	s.mu.Lock()
	s.more, s.last = s.more+1, e
	s.mu.Unlock()
	s.calm.tell(s.tell)
}

// tell writes how many there were.
func (s *strangers) tell() {
	s.mu.Lock()
	n, e := s.more, s.last
	s.more = 0
	s.mu.Unlock()
	if n > 1 {
		e.Detail = fmt.Sprintf("%s; the last of %d such requests since the event before", e.Detail, n)
	}
	if n > 0 {
		s.write(e)
	}
}

// end writes what is still counted.
func (s *strangers) end() {
	s.tell()
	s.calm.forget()
}
