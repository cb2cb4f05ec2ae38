package gateway

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"modec.dev/modec/compiler/audit"
)

const (
	mostKept = 64 << 20 // bytes of lists that a gateway keeps, of all servers and callers together
	keptFor  = time.Hour
	quiet    = time.Minute // until the same is logged again
)

// caches are what all callers of a gateway share: the lists of servers, of which equal ones are kept once, and what was
// logged a short while ago.
type caches struct {
	mu    sync.Mutex
	most  int64 // bytes
	size  atomic.Int64
	lists *expirable.LRU[sum, *list]
	said  *expirable.LRU[string, struct{}]
}

func newCaches() *caches {
	c := &caches{most: mostKept, said: expirable.NewLRU[string, struct{}](maxItems, nil, quiet)}
	c.lists = expirable.NewLRU(0, func(_ sum, l *list) { c.size.Add(-int64(l.size())) }, keptFor)
	return c
}

// keep adds a list, and returns its sum. Where there are too many bytes, it removes the lists that were not used for
// longest.
func (c *caches) keep(l *list) sum {
	of := l.sum()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.lists.Contains(of) {
		c.size.Add(int64(l.size()))
	}
	c.lists.Add(of, l)
	for c.size.Load() > c.most && c.lists.Len() > 1 {
		c.lists.RemoveOldest()
	}
	return of
}

// list returns the list of a sum; nil where it is not there any more.
func (c *caches) list(of sum) *list {
	l, _ := c.lists.Get(of)
	return l
}

// first reports whether something was not logged in the last minute.
func (c *caches) first(what string) bool {
	if c.said.Contains(what) {
		return false
	}
	c.said.Add(what, struct{}{})
	return true
}

// share returns what do returns, which runs once for all who ask for the same key meanwhile. Whoever gives up waiting
// does not end it for the others.
func share[T any](ctx context.Context, of *singleflight.Group, key string, do func() (T, error)) (out T, err error) {
	select {
	case r := <-of.DoChan(key, func() (any, error) { return do() }):
		out, _ = r.Val.(T)
		return out, r.Err
	case <-ctx.Done():
		return out, context.Cause(ctx)
	}
}

// newsGap is how long a server waits at least between two times that clients hear that a list of it changed.
const newsGap = 200 * time.Millisecond

// news limits how often something is reported: at once, and then once a gap for all that happened in it.
type news struct {
	limit *rate.Limiter
	due   atomic.Bool
}

func newNews(gap time.Duration) *news { return &news{limit: rate.NewLimiter(rate.Every(gap), 1)} }

// tell calls f, now or once the gap has passed.
func (n *news) tell(f func()) {
	if n.due.Swap(true) {
		return
	}
	now := func() {
		n.due.Store(false)
		f()
	}
	if left := n.limit.Reserve().Delay(); left > 0 {
		time.AfterFunc(left, now)
	} else {
		now()
	}
}

// How much of a call's progress is passed on: so many notifications at once, and then so many a second. The rest is
// lost, which the protocol permits.
const (
	progressAtOnce   = 100
	progressASecond  = 20
	maxProgressWords = 1 << 10 // bytes
)

// Bounds of what a server tells and asks.
const (
	toldPart    = 4 << 10 // bytes: a longer message counts as several
	toldAtOnce  = 2 * maxMessage / toldPart
	toldASecond = 1000
	mostAsked   = 64 // calls of a server that have no answer
)

// flow limits how fast notifications and requests of a server are read: the SDK keeps any number of them until they are
// handled. Nothing more is read while the server waits for [mostAsked] answers, or does not read them.
type flow struct {
	told  *rate.Limiter
	asked chan struct{} // one for each call that has no answer
}

func newFlow() *flow {
	return &flow{rate.NewLimiter(toldASecond, toldAtOnce), make(chan struct{}, mostAsked)}
}

// came waits until a message of the server of that length in bytes may be passed on.
func (f *flow) came(ctx context.Context, msg jsonrpc.Message, length int) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return nil
	}
	if req.IsCall() {
		select {
		case f.asked <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return f.told.WaitN(ctx, 1+min(length, maxMessage)/toldPart)
}

// answered records that a message was written to the server.
func (f *flow) answered(msg jsonrpc.Message) {
	if _, ok := msg.(*jsonrpc.Response); ok {
		select {
		case <-f.asked:
		default:
		}
	}
}

// unknownCallers writes the requests of callers without a valid token into the audit: one at once, and then once a
// minute how many more there were. So they cannot drive out of the audit what is written of others.
type unknownCallers struct {
	write func(audit.Event)
	news  *news

	mu   sync.Mutex
	more int         // since the last that was written
	last audit.Event // of them
}

func newUnknownCallers(write func(audit.Event)) *unknownCallers {
	return &unknownCallers{write: write, news: newNews(quiet)}
}

// add writes an event, now or counted with others.
func (s *unknownCallers) add(e audit.Event) {
	s.mu.Lock()
	s.more, s.last = s.more+1, e
	s.mu.Unlock()
	s.news.tell(s.tell)
}

// tell writes how many there were.
func (s *unknownCallers) tell() {
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
