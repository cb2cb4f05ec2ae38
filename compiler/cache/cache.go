// Package cache keeps what was asked for last, and no more than that.
//
// A [Cache] is for values that depend on nothing but their keys. What it keeps is bounded by a
// number of values, so that the keys of its users are bounded in size too.
package cache

import "sync"

// Cache keeps at least the values of its last keys, and at most those of twice as many. It is safe
// for concurrent use.
type Cache[K comparable, V any] struct {
	mu          sync.Mutex
	size        int
	last, older map[K]V
}

// New returns a cache of a size.
func New[K comparable, V any](size int) *Cache[K, V] { return &Cache[K, V]{size: size} }

// Get returns the value of a key. It reports false where the cache does not have it any more.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.last[key]
	if !ok {
		v, ok = c.older[key]
	}
	return v, ok
}

// Put keeps the value of a key.
func (c *Cache[K, V]) Put(key K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.last == nil:
		c.last, c.older = map[K]V{}, map[K]V{}
	case len(c.last) >= c.size:
		clear(c.older)
		c.last, c.older = c.older, c.last
	}
	c.last[key] = v
}
