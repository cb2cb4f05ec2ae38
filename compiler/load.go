package compiler

import (
	"context"
	"fmt"
	"io/fs"
	"runtime/metrics"
	"time"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/shape"
	"modec.dev/modec/compiler/source"
)

// Limits of evaluating a source, which may contain a loop without an end.
var (
	maxLoadTime = 30 * time.Second
	maxLoadHeap = uint64(2 << 30) // bytes of objects of the process
)

// load reads and checks a source. data is nil where nothing can be said of it: where a section cannot be used, where
// the context ends, and beyond the limits. CUE cannot be stopped, so that what evaluates it is then left behind.
func load(ctx context.Context, files fs.FS, dir string) (data *source.Node, tree *source.Tree, diags diag.List) {
	type loaded struct {
		data  *source.Node
		tree  *source.Tree
		diags diag.List
		panic any
	}
	done := make(chan loaded, 1)
	go func() {
		var l loaded
		defer func() {
			l.panic = recover()
			done <- l
		}()
		l.tree, l.diags = source.Load(files, dir)
		if l.tree.Root == nil {
			return
		}
		usable, ok, list := shape.Check(l.tree.Root)
		if l.diags = append(l.diags, list...); ok {
			l.data = usable
		}
	}()
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	late, look := time.After(maxLoadTime), time.NewTicker(100*time.Millisecond)
	defer look.Stop()
	tooMuch := func(limit string) (*source.Node, *source.Tree, diag.List) {
		diags.Errorf(diag.FileTooLarge, diag.Pos{File: dir}, "the source takes more than %s to evaluate", limit).
			Hint("look for a loop over many values, or a long list.Range")
		return nil, nil, diags
	}
	for {
		select {
		case l := <-done:
			if l.panic != nil {
				panic(l.panic)
			}
			return l.data, l.tree, l.diags
		case <-ctx.Done():
			return nil, nil, Stopped(ctx)
		case <-late:
			return tooMuch(maxLoadTime.String())
		case <-look.C:
			if metrics.Read(heap); heap[0].Value.Uint64() > maxLoadHeap {
				return tooMuch(fmt.Sprintf("%d MiB", maxLoadHeap>>20))
			}
		}
	}
}
