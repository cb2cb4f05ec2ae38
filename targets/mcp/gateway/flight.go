package gateway

import (
	"context"
	"sync"
	"time"
)

// flight keeps the answer of something that takes a while. One at a time is under way, and whoever asks
// meanwhile waits for it. Nobody who gives up waiting ends it for the others.
type flight[T comparable] struct {
	mu      sync.Mutex
	value   T
	err     error
	until   time.Time     // the answer counts before it
	flying  chan struct{} // closed when the answer is there; nil: nothing is under way
	dropped bool          // what is under way was asked for before something changed
}

// get returns the answer that is kept, or that of fetch, which says how long its own counts.
func (f *flight[T]) get(ctx context.Context, now func() time.Time, fetch func() (T, time.Duration, error)) (T, error) {
	f.mu.Lock()
	if now().Before(f.until) {
		defer f.mu.Unlock()
		return f.value, f.err
	}
	if f.flying == nil {
		f.flying, f.dropped = make(chan struct{}), false
		go func() {
			value, ttl, err := fetch()
			f.mu.Lock()
			defer f.mu.Unlock()
			f.value, f.err, f.until = value, err, now().Add(ttl)
			if f.dropped {
				f.until = time.Time{}
			}
			close(f.flying)
			f.flying = nil
		}()
	}
	flying := f.flying
	f.mu.Unlock()
	select {
	case <-flying:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value, f.err
}

// drop forgets the answer.
func (f *flight[T]) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until, f.dropped = time.Time{}, true
}

// empty forgets the answer, and keeps nothing of it.
func (f *flight[T]) empty() {
	f.mu.Lock()
	defer f.mu.Unlock()
	var none T
	f.value, f.until, f.dropped = none, time.Time{}, true
}

// forget forgets the answer if it is still this one.
func (f *flight[T]) forget(value T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.value == value && f.err == nil {
		f.until = time.Time{}
	}
}

// shorten has the answer count until a time at most.
func (f *flight[T]) shorten(until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if until.Before(f.until) {
		f.until = until
	}
}

// held returns the last answer, also one that counts no more; false where there is none, or an error.
func (f *flight[T]) held() (T, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var none T
	return f.value, f.err == nil && f.value != none
}

// fail puts an error in the place of the answer, for a while.
func (f *flight[T]) fail(err error, until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.flying != nil { // else the answer that failed would come after its error
		flying := f.flying
		f.mu.Unlock()
		<-flying
		f.mu.Lock()
	}
	var none T
	f.value, f.err, f.until = none, err, until
}

// underWay returns what is closed once the answer that is under way is there; nil where none is.
func (f *flight[T]) underWay() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.flying
}
