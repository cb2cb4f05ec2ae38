package cache

import "testing"

// What is kept is bounded, and the last values are among it.
func TestCache(t *testing.T) {
	const size = 10
	c := New[int, int](size)
	for i := range 1000 {
		if _, ok := c.Get(i); ok {
			t.Fatalf("got a value of %d before there was one", i)
		}
		c.Put(i, -i)
		if n := len(c.last) + len(c.older); n > 2*size {
			t.Fatalf("got %d values, want %d at most", n, 2*size)
		}
		for key := max(0, i-size+1); key <= i; key++ {
			if v, ok := c.Get(key); !ok || v != -key {
				t.Fatalf("got %d, %v for %d after %d, want its value", v, ok, key, i)
			}
		}
	}
	c.Put(999, 1)
	if v, _ := c.Get(999); v != 1 {
		t.Errorf("got %d, want the value that was kept last", v)
	}
}
