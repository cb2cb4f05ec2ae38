package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// TestBuildsAtOnce starts several builds of a new folder side by side, and files that people
// keep beside them: each succeeds, and the folder is as after one build.
func TestBuildsAtOnce(t *testing.T) {
	var files []string
	for i := range 30 {
		files = append(files, fmt.Sprintf("dir%d/sub/file%d", i%5, i), strings.Repeat("text", i))
	}
	b := of("1", sharing(built("roo", files...), `"x": {"command": "x"}`))
	want := filepath.Join(quickDir(t), "out")
	mustWrite(t, b, Options{Dir: want})
	mine := []contract.File{{Path: "mine", Data: []byte("mine")}}
	if diags := Put(t.Context(), mine, PutOptions{Dir: want}); diags.HasErrors() {
		t.Fatal(diags)
	}
	for range 5 {
		dir := filepath.Join(quickDir(t), "new", "out")
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, diags := Write(t.Context(), b, Options{Dir: dir}); diags.HasErrors() {
					t.Error(diags)
				}
			})
			all.Go(func() {
				opt := PutOptions{Dir: dir, Existing: ReplaceExisting}
				if diags := Put(t.Context(), mine, opt); diags.HasErrors() {
					t.Error(diags)
				}
			})
		}
		all.Wait()
		if d := cmp.Diff(everything(t, want), everything(t, dir)); d != "" {
			t.Error(d)
		}
	}
}

// TestOneRunWaits: while a run has the folder, readers do not wait for it, and a writer
// waits until its context ends.
func TestOneRunWaits(t *testing.T) {
	dir := t.TempDir()
	d, err := takeDisk(t.Context(), dir, Progress{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	b := built("roo", "a", "1")
	for _, opt := range []Options{{Dir: dir, DryRun: true}, {Dir: dir, Check: true}} {
		if changes, diags := Write(t.Context(), b, opt); len(diags) > 0 || len(changes) == 0 {
			t.Errorf("got %v, %v", changes, diags)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	waits := Progress{Waits: stop}
	for name, run := range map[string]func() diag.List{
		"build": func() diag.List { _, l := Write(ctx, b, Options{Dir: dir, Progress: waits}); return l },
		"clean": func() diag.List { _, l := Clean(ctx, Options{Dir: dir, Progress: waits}); return l },
		"put":   func() diag.List { return Put(ctx, nil, PutOptions{Dir: dir, Progress: waits}) },
	} {
		if diags := run(); len(diags) != 1 || diags[0].Code != diag.Interrupted {
			t.Errorf("%s: got %v", name, diags)
		}
	}
	if got := everything(t, dir); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// TestAFailureLeavesNothing makes builds fail at each change of the disk before the first
// file is in place: the folder is as it was.
func TestAFailureLeavesNothing(t *testing.T) {
	next := of("2", built("roo", "a", "2", "new/sub/b", "2", "z/c", "2"))
	for name, done := range map[string][]Build{
		"a first build": nil, "an update": {of("1", built("roo", "a", "1"))},
	} {
		for _, obstacle := range []string{temp("z/c"), temp("a"), "a", PendingLock, temp(PendingLock)} {
			t.Run(name+"/"+obstacle, func(t *testing.T) {
				opt := Options{Dir: filepath.Join(quickDir(t), "out", "deep")}
				for _, b := range done {
					mustWrite(t, b, opt)
				}
				before := map[string]string{}
				if done != nil {
					before = everything(t, opt.Dir)
				}
				opt.step = func(step) { // a folder that is not empty is in the way from now on
					name := filepath.Join(opt.Dir, filepath.FromSlash(obstacle))
					if info, err := os.Lstat(name); err == nil && !info.IsDir() {
						os.Remove(name)
					}
					if err := os.MkdirAll(filepath.Join(name, "x"), 0o755); err != nil {
						t.Error(err)
					}
				}
				if _, diags := Write(t.Context(), next, opt); !diags.HasErrors() {
					t.Fatal("it did not fail")
				}
				if err := os.RemoveAll(filepath.Join(opt.Dir, filepath.FromSlash(obstacle))); err != nil {
					t.Fatal(err)
				}
				if folder := filepath.Dir(obstacle); folder != "." {
					os.Remove(filepath.Join(opt.Dir, folder))
				}
				got := everything(t, opt.Dir)
				delete(before, obstacle)
				if d := cmp.Diff(before, got); d != "" {
					t.Errorf("(-before +after)\n%s", d)
				}
			})
		}
	}
}

// TestAFailureTakesItsFolderAway: an output folder that was created for a run that fails or
// is stopped does not stay.
func TestAFailureTakesItsFolderAway(t *testing.T) {
	top := t.TempDir()
	opt := Options{Dir: filepath.Join(top, "new", "out")}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, diags := Write(ctx, built("roo", "a", "1"), opt); len(diags) != 1 || diags[0].Code != diag.Interrupted {
		t.Errorf("got %v", diags)
	}
	if _, err := os.Lstat(filepath.Join(top, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder stays: %v", err)
	}
}

// TestAFolderInTheWay: a folder in the place of a file stops a build before it writes
// anything, with --force too.
func TestAFolderInTheWay(t *testing.T) {
	for _, place := range []string{"b/c", "a", PendingLock, LockFile} {
		for _, force := range []bool{false, true} {
			opt := Options{Dir: t.TempDir(), Force: force}
			put(t, opt.Dir, place+"/x", "mine")
			before := everything(t, opt.Dir)
			_, diags := Write(t.Context(), built("roo", "a", "1", "b/c", "1"), opt)
			if len(diags) != 1 || diags[0].Severity != diag.Error || diags[0].Pos.File != place {
				t.Errorf("%s, force %v: got %v", place, force, diags)
			}
			if d := cmp.Diff(before, everything(t, opt.Dir)); d != "" {
				t.Errorf("%s, force %v: %s", place, force, d)
			}
		}
	}
}

// TestQuiet: who compares waits for the run that writes, and learns whether another one wrote since.
func TestQuiet(t *testing.T) {
	opt := Options{Dir: t.TempDir()}
	d, err := takeDisk(t.Context(), opt.Dir, Progress{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	waiting := opt
	waiting.Progress.Waits = stop
	if _, err := waiting.Quiet(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it waited", err)
	}
	d.close()
	mark, err := opt.Quiet(t.Context())
	if err != nil || opt.Disturbed(mark) {
		t.Errorf("got %q, %v of a folder that nobody writes into", mark, err)
	}
	mustWrite(t, built("roo", "a", "1"), opt)
	if !opt.Disturbed(mark) {
		t.Error("a build is no disturbance")
	}
}
