package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	heapGrowth = 400       // per cent of what lives, until it is collected
	heapLimit  = 240 << 20 // bytes, from which on it is collected sooner
	heapOfMany = 40        // per cent, of what serves for days and keeps little of each caller
	heapSpare  = 16 << 20  // bytes of garbage that it may have all the same: a call leaves 250 KiB
	heapOfFew  = 300       // per cent, at most for that
	heapIdle   = 4 << 20   // bytes that it may keep once a burst is over
)

// collectSeldom lets a command that allocates much and keeps little run with fewer collections,
// as long as its memory is small. What the environment says of that holds.
func collectSeldom() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(heapGrowth)
		debug.SetMemoryLimit(heapLimit)
	}
}

// collectOften lets a command that serves from now on keep little memory, and gives back what it took to compile, the
// compiler's own code too.
func collectOften() {
	debug.FreeOSMemory()
	tuneHeap()
	unmapProgram()
}

// freeIdle gives back what nothing lives in any more, where that is much and found soon: the runtime does it too, and
// takes minutes.
func freeIdle() {
	of := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"}}
	metrics.Read(of)
	unused, all, live := of[0].Value.Uint64(), of[1].Value.Uint64(), of[2].Value.Uint64()
	if unused+all > live+heapIdle && live < heapLimit/4 { // what came since the last collection may be garbage
		debug.FreeOSMemory()
	}
}

// tuneHeap lets a command that serves have as much garbage as it pays to collect, by what lives now.
func tuneHeap() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if now := growth(live[0].Value.Uint64()); grows.Swap(int64(now)) != int64(now) {
			debug.SetGCPercent(now)
		}
	}
}

// grows is what growth was last.
var grows atomic.Int64

// tuneAtEach tunes the heap after each collection: one may find much more alive than the one before.
func tuneAtEach(s *sentinel) {
	tuneHeap()
	runtime.SetFinalizer(s, tuneAtEach)
}

// sentinel is garbage.
type sentinel struct{ _ [16]byte }

// growth returns by how many per cent a heap may grow of which so many bytes live.
func growth(live uint64) int {
	return int(min(max(heapSpare*100/max(live, 1), heapOfMany), heapOfFew))
}

// unmapEvery is how often a command that serves gives back what it read of its program: a request reads more around
// what it needs, and reads it again in less than a millisecond.
const unmapEvery = 10 * time.Second

// keepSmall does so, and looks at the heap, until the context ends.
func keepSmall(ctx context.Context) {
	tuneAtEach(&sentinel{})
	for t := time.NewTicker(unmapEvery); ; {
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
			freeIdle()
			unmapProgram()
		}
	}
}
