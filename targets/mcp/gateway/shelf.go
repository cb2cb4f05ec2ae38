package gateway

import (
	linked "container/list"
	"sync"
)

// mostKept is how many bytes of lists a gateway keeps, of all servers and callers together.
const mostKept = 64 << 20

// shelf keeps lists of servers, and what callers see of them. Lists with the same content are kept once, whoever has
// them. What was not used for longest goes first: it is fetched, or made, again when somebody asks. The last one stays,
// however long it is: a server's list has a bound of its own.
type shelf struct {
	most int // bytes

	mu    sync.Mutex
	size  int
	byKey map[any]*linked.Element // of kept, by a sum or a joinKey
	order linked.List             // the last used one first
}

// kept is a value on a shelf.
type kept struct {
	key, value any
	size       int
}

func newShelf(most int) *shelf { return &shelf{most: most, byKey: map[any]*linked.Element{}} }

// get returns a value; nil where it is not there, or not any more.
func (s *shelf) get(key any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[key]
	if e == nil {
		return nil
	}
	s.order.MoveToFront(e)
	return e.Value.(*kept).value
}

// put keeps a value. Where another one came before it with the key, that one is returned.
func (s *shelf) put(key, value any, size int) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[key]; e != nil {
		s.order.MoveToFront(e)
		return e.Value.(*kept).value
	}
	s.byKey[key] = s.order.PushFront(&kept{key, value, size})
	s.size += size
	for s.size > s.most && s.order.Len() > 1 {
		s.remove(s.order.Back())
	}
	return value
}

// remove takes a value away, with the lock held.
func (s *shelf) remove(e *linked.Element) {
	k := s.order.Remove(e).(*kept)
	delete(s.byKey, k.key)
	s.size -= k.size
}

// list returns the list of a sum; nil where it is not there any more.
func (s *shelf) list(of sum) *list {
	l, _ := s.get(of).(*list)
	return l
}

// putList keeps a list, and returns its sum.
func (s *shelf) putList(l *list) sum {
	of := l.sum()
	s.put(of, l, l.size())
	return of
}

// joinKey is what a join depends on.
type joinKey struct {
	table *Table
	kind  *kind
	lists string // their sums
}

// join returns the join of lists with a table. Of a join that nobody has made yet, one is made at a time.
func (s *shelf) join(t *Table, k *kind, lists []*list, make func() *join) *join {
	sums := ""
	for _, l := range lists {
		var of sum
		if l != nil {
			of = l.sum()
		}
		sums += string(of[:])
	}
	key := joinKey{t, k, sums}
	if j, ok := s.get(key).(*join); ok {
		return j
	}
	j := make()
	return s.put(key, j, j.size()).(*join)
}

// dropJoins forgets what callers see: other tables are served now.
func (s *shelf) dropJoins() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.order.Front(); e != nil; {
		next := e.Next()
		if _, ok := e.Value.(*kept).key.(joinKey); ok {
			s.remove(e)
		}
		e = next
	}
}
