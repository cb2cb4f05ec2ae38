package main

import (
	"io"
	"sync"
	"time"
)

// patient passes lines on to a writer that may be slow, or that nobody reads any more.
// Write never waits for it. Lines that do not fit are dropped, and the log says so.
type patient struct {
	to    io.Writer
	lines chan []byte
	done  chan struct{}

	mu     sync.Mutex
	lost   int
	closed bool
}

// waiting is the most lines that wait.
const waiting = 1024

func newPatient(to io.Writer) *patient {
	p := &patient{to: to, lines: make(chan []byte, waiting), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for line := range p.lines {
			if _, err := p.to.Write(line); err != nil {
				continue // nobody reads the log any more
			}
		}
	}()
	return p
}

// Write queues a line, or drops it.
func (p *patient) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return len(line), nil
	}
	if p.lost > 0 {
		select {
		case p.lines <- []byte("log lines were lost\n"):
			p.lost = 0
		default:
		}
	}
	select {
	case p.lines <- append([]byte(nil), line...):
	default:
		p.lost++
	}
	return len(line), nil
}

// Close writes the lines that wait, for at most a second.
func (p *patient) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.lines)
	}
	p.mu.Unlock()
	select {
	case <-p.done:
	case <-time.After(time.Second):
	}
}
