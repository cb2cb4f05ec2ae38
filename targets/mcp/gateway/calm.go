package gateway

import (
	"sync"
	"time"
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
