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
const (
	maxLoadTime = 30 * time.Second
	maxLoadHeap = 2 << 30 // bytes of objects of the process
)

// load reads and checks a source. data is nil where nothing can be said of it: where a section cannot be used, and
// where it is not evaluated to its end.
func load(ctx context.Context, files fs.FS, dir string) (*source.Node, *source.Tree, diag.List) {
	var data *source.Node
	var tree *source.Tree
	var diags diag.List
	if stopped := evaluate(ctx, dir, func() {
		if tree, diags = source.Load(files, dir); tree.Root == nil {
			return
		}
		usable, ok, list := shape.Check(tree.Root)
		if diags = append(diags, list...); ok {
			data = usable
		}
	}); stopped != nil {
		return nil, nil, stopped
	}
	return data, tree, diags
}

// evaluate runs what evaluates the source in a folder. It reports a context that ends first, and a source beyond the
// limits. CUE cannot be stopped, so that what runs is then left behind.
func evaluate(ctx context.Context, dir string, run func()) diag.List {
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		run()
	}()
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	late, look := time.After(maxLoadTime), time.NewTicker(100*time.Millisecond)
	defer look.Stop()
	tooMuch := func(limit string) (diags diag.List) {
		diags.Errorf(diag.FileTooLarge, diag.Pos{File: dir}, "the source takes more than %s to evaluate", limit).
			Hint("look for a loop over many values, or a long list.Range")
		return diags
	}
	for {
		select {
		case failed := <-done:
			if failed != nil {
				panic(failed)
			}
			return nil
		case <-ctx.Done():
			return Stopped(ctx)
		case <-late:
			return tooMuch(maxLoadTime.String())
		case <-look.C:
			if metrics.Read(heap); heap[0].Value.Uint64() > maxLoadHeap {
				return tooMuch(fmt.Sprintf("%d MiB", maxLoadHeap>>20))
			}
		}
	}
}
