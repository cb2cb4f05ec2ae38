package gateway

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"modec.dev/modec/compiler/policy"
)

// clock is what a gateway was told to serve, all of which narrows it. Some of it depends on the time.
type clock struct {
	now    func() time.Time // nil: the machine's
	united bool             // the gateway knows no times

	base   *Table  // of all models that do not depend on the time; nil: there is none
	timed  []model // the others
	latest model
	last   []*policy.Engine // of timed, at the moment that is served

	depends atomic.Bool // there are others
	begin   sync.Once
	end     sync.Once
	stop    chan struct{}
}

// mostTimed is how many models may depend on the time. Any more are served as they are with every time closed, until
// the gateway is started again.
const mostTimed = 100

// watching is how often a gateway looks at the clock without being asked, so that its clients learn what changes.
const watching = 10 * time.Second

// timed reports whether a model has a gateway look at the clock.
func (o *Options) timed(e *policy.Engine) bool { return o.Unite == nil && e.Timed() }

func (c *clock) time() time.Time {
	if c.now == nil {
		return time.Now()
	}
	return c.now()
}

// add takes one model more. closed is its table with every time closed.
func (c *clock) add(m model, closed *Table) {
	c.latest = m
	switch {
	case !c.united && m.Timed() && len(c.timed) < mostTimed:
		c.timed, c.last = append(c.timed, m), nil
		c.depends.Store(true)
	case c.base == nil:
		c.base = closed
	default:
		c.base, _ = narrow(c.base, closed)
	}
}

// table returns what all models permit, by the engine that at returns for each.
func (c *clock) table(g *Gateway, at func(*policy.Engine) *policy.Engine) *Table {
	t := c.base
	models := c.timed
	if n := len(models); n > 0 && models[n-1] != c.latest { // the last one says whose table it is
		models = append(slices.Clip(models), c.latest)
	}
	for _, m := range models {
		next := g.tableOf(m, at(m.Engine))
		if t == nil {
			_ = next.index() // which its names passed with every time open
			t = next
		} else {
			t, _ = narrow(t, next)
		}
	}
	return t
}

// tick serves what is permitted now.
func (g *Gateway) tick() {
	c := &g.clock
	if !c.depends.Load() {
		return
	}
	g.reloading.Lock()
	defer g.reloading.Unlock()
	g.atNow()
}

// atNow does so with the lock held.
func (g *Gateway) atNow() {
	c := &g.clock
	now := c.time()
	engines := []*policy.Engine{}
	for _, m := range c.timed {
		engines = append(engines, m.At(now))
	}
	if c.last != nil && slices.Equal(engines, c.last) {
		return
	}
	c.last = engines
	g.take(c.table(g, func(e *policy.Engine) *policy.Engine { return e.At(now) }))
}

// closed and opened return the engine with every time closed and open.
func closed(e *policy.Engine) *policy.Engine { return e }

func opened(e *policy.Engine) *policy.Engine { return e.Opened() }

// watchClock looks at the clock until the gateway is closed.
func (g *Gateway) watchClock() {
	g.clock.begin.Do(func() {
		go func() {
			t := time.NewTicker(watching)
			defer t.Stop()
			for {
				select {
				case <-g.clock.stop:
					return
				case <-t.C:
					g.tick()
				}
			}
		}()
	})
}
