package main

import (
	"io"
	"sync"
	"time"
)

// patient passes lines on to a writer that may be slow, or that nobody reads any more:
// who logs never waits for it. What does not fit is left out, and said.
type patient struct {
	to    io.Writer
	lines chan []byte
	done  chan struct{}

	mu     sync.Mutex
	lost   int
	closed bool
}

// waiting is how many lines wait at most.
const waiting = 1024

func newPatient(to io.Writer) *patient {
	p := &patient{to: to, lines: make(chan []byte, waiting), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for line := range p.lines {
			if _, err := p.to.Write(line); err != nil {
				continue // nobody is there; who logs need not know
			}
		}
	}()
	return p
}

// Write takes a line, or leaves it out.
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

// Close writes what waits, for a moment.
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
