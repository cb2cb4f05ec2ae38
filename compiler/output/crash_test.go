package output

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/originals"
)

// quickDir is a new folder in memory where the system has a place for it: flushing a busy
// disk takes longer than everything else that a crash test does.
func quickDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "modec-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// everything reads a folder with the lock, temporary files and folders, which end in "/".
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		name := filepath.ToSlash(rel)
		if d.IsDir() {
			m[name+"/"] = ""
			return nil
		}
		b, err := os.ReadFile(p)
		m[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// servers is the file in which people write beside modec.
const servers = ".mcp.json"

// of joins what targets emit with a model, which every build writes.
func of(model string, parts ...Build) Build {
	b := Build{Schema: "sha256:schema"}
	for _, part := range parts {
		b.Outputs = append(b.Outputs, part.Outputs...)
	}
	b.Outputs = append(b.Outputs, built("model", "model.json", model).Outputs...)
	return b
}

// sharing adds entries of the shared file to what the last target emits.
func sharing(b Build, entries string) Build {
	last := &b.Outputs[len(b.Outputs)-1]
	last.Files = append(
		last.Files,
		contract.File{Path: servers, Data: []byte(`{"mcpServers": {` + entries + `}}`), Places: contract.MCPServers},
	)
	return b
}

// crash is a build that is killed.
type crash struct {
	mine map[string]string // what people wrote
	// adopted is set where a migration read what people wrote.
	adopted bool
	done    []Build           // those that came to their end before
	next    Build             // the one that is killed
	targets []contract.Target // those that there are, where a build may drop one
}

var crashes = map[string]crash{
	"a first build": {next: of("1", sharing(built("roo", "a", "1", "dir/sub/b", "1"), `"x": {"command": "x"}`))},
	"an update": {
		done: []Build{of("1", sharing(built("roo", "a", "1", "dir/sub/b", "1", "c", "same"), `"x": {"command": "x"}`))},
		next: of(
			"2",
			sharing(built("roo", "a", "2", "dir/sub/b", "2", "c", "same", "new/d", "1"), `"x": {"command": "y"}`),
		),
	},
	"removals": {
		done: []Build{
			of("1", sharing(built("roo", "a", "1", "dir/sub/b", "1", "dir/c", "1"), `"x": {"command": "x"}`)),
		},
		next: of("1", built("roo", "a", "1")),
	},
	"a merged file": {
		mine: map[string]string{
			servers: "{\n\t\"mcpServers\": {\"mine\": {\"command\": \"m\"}, " +
				"\"z\": {\"command\": \"z\"}} // mine\n}\n",
			"dir/mine": "mine",
		},
		done: []Build{of("1", sharing(built("roo", "dir/a", "1"), `"x": {"command": "x"}, "y": {"command": "y"}`))},
		next: of(
			"1",
			sharing(
				built("roo", "dir/a", "2"),
				`"x": {"command": "x2"}, "new": {"command": "n"}, "z": {"command": "z"}`,
			),
		),
	},
	"a merged file that is no longer emitted": {
		mine: map[string]string{servers: `{"mcpServers": {"mine": {"command": "m"}}}`},
		done: []Build{of("1", sharing(built("roo"), `"x": {"command": "x"}`))},
		next: of("1", built("roo", "a", "1")),
	},
	"adopted files": {
		adopted: true,
		mine: map[string]string{
			"a": "mine", "dir/b": "mine", "same": "1",
			servers: `{"mcpServers": {"x": {"command": "x"}, "mine": {"command": "m"}}}`,
		},
		next: of("1", sharing(built("roo", "a", "1", "dir/b", "1", "c", "1", "same", "1"), `"x": {"command": "x2"}`)),
	},
	"a second build of adopted files": {
		adopted: true,
		mine: map[string]string{
			"a": "mine", "dir/b": "mine", "late": "mine",
			servers: `{"mcpServers": {"x": {"command": "x"}, "mine": {"command": "m"}}}`,
		},
		done: []Build{of("1", sharing(built("roo", "a", "1", "dir/b", "1"), `"x": {"command": "x2"}`))},
		next: of("2", sharing(built("roo", "a", "2", "late", "2"), `"x": {"command": "x3"}`)),
	},
	"two targets": {
		done: []Build{of("1", built("roo", "a", "1"), sharing(built("claude", "b/c", "1"), `"x": {"command": "x"}`))},
		next: of(
			"1",
			built("roo", "a", "2", "new", "1"),
			sharing(built("claude", "b/c", "2", "b/d", "1"), `"x": {"command": "y"}`),
		),
	},
	"a dropped target": {
		targets: []contract.Target{fake{"roo"}, fake{"claude"}},
		adopted: true,
		mine: map[string]string{
			"a": "mine", "b/c": "mine", servers: `{"mcpServers": {"x": {"command": "x"}, "mine": {"command": "m"}}}`,
		},
		done: []Build{of("1",
			built("roo", "a", "1"), sharing(built("claude", "b/c", "1", "b/d", "1"), `"x": {"command": "x2"}`))},
		next: of("1", built("roo", "a", "2")),
	},
}

// start brings a new folder to where the killed build begins.
func (c *crash) start(t *testing.T) Options {
	t.Helper()
	opt := Options{Dir: quickDir(t), Version: "v1", Targets: c.targets}
	record := &originals.Record{Files: map[string]originals.File{}}
	for p, text := range c.mine {
		put(t, opt.Dir, p, text)
		record.Files[p] = originals.File{Data: []byte(text), Taken: []string{"x"}}
	}
	if c.adopted {
		opt.Originals = func() *originals.Record { return record }
	}
	for _, b := range c.done {
		mustWrite(t, b, opt)
	}
	return opt
}

// killed runs a build or a removal that ends before its nth change of the disk; false
// where it has fewer.
func killed(t *testing.T, n int, opt Options, run func(Options) diag.List) (killed bool) {
	t.Helper()
	defer func() { killed = recover() != nil }()
	opt.step = func(step) {
		if n--; n < 0 {
			panic("killed")
		}
	}
	if diags := run(opt); diags.HasErrors() {
		t.Fatalf("after an interruption: %v", diags)
	}
	return false
}

func write(t *testing.T, builds ...Build) func(Options) diag.List {
	return func(opt Options) (diags diag.List) {
		for _, b := range builds {
			_, list := Write(t.Context(), b, opt)
			diags = append(diags, list...)
		}
		return diags
	}
}

// clean takes everything out of every target that the crashes know.
func clean(t *testing.T) func(Options) diag.List {
	return func(opt Options) diag.List {
		opt.Targets = []contract.Target{fake{"roo"}, fake{"claude"}, fake{"model"}}
		_, diags := Clean(t.Context(), opt)
		return diags
	}
}

// undisturbed is what a folder contains after the builds of a crash and some more.
func (c *crash) undisturbed(t *testing.T, more ...func(Options) diag.List) map[string]string {
	t.Helper()
	opt := c.start(t)
	for _, run := range more {
		if diags := run(opt); diags.HasErrors() {
			t.Fatal(diags)
		}
	}
	return everything(t, opt.Dir)
}

// TestBuildInterruptedAnywhere kills builds and removals before each change of the disk.
// Every file is then as before or as after it, the next build recognises both, and it,
// any other build and a removal come to the end that they have without the
// interruption.
func TestBuildInterruptedAnywhere(t *testing.T) {
	for name, c := range crashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := of(
				"3",
				sharing(built("roo", "a", "3", "other/e", "1"), `"x": {"command": "other"}, "o": {}`),
				built("claude"),
			)
			last := of("0", built("roo"), built("claude"))
			if len(c.done) > 0 {
				last = c.done[len(c.done)-1]
			}
			part := c.next
			part.Outputs, part.Partial = part.Outputs[:1], true
			ends := map[string]func(Options) diag.List{
				"again":   write(t, c.next),
				"back":    write(t, last),
				"another": write(t, other),
				"a part":  write(t, part, other),
				"clean":   clean(t),
			}
			for run, first := range map[string]func(Options) diag.List{"build": ends["again"], "clean": ends["clean"]} {
				before, after := c.undisturbed(t), c.undisturbed(t, first)
				for end, finish := range ends {
					never, whole := c.undisturbed(t, finish), c.undisturbed(t, first, finish)
					for n := 0; ; n++ {
						opt := c.start(t)
						stopped := killed(t, n, opt, first)
						c.recognised(t, opt, before, after)
						if diags := finish(opt); diags.HasErrors() {
							t.Fatalf("%s killed at %d, then %s: %v", run, n, end, diags)
						}
						if d := differs(everything(t, opt.Dir), never, whole); d != "" {
							t.Fatalf("%s killed at %d, then %s:\n%s", run, n, end, d)
						}
						if c.adopted {
							if lock, _ := os.ReadFile(filepath.Join(opt.Dir, LockFile)); strings.Contains(string(lock), "mixed") {
								t.Fatalf("%s killed at %d, then %s: got an edit noted that nobody made", run, n, end)
							}
							c.givenBack(t, opt, fmt.Sprintf("%s killed at %d, then %s, then clean", run, n, end))
						}
						if !stopped {
							if n < 3 && len(before) > 0 {
								t.Fatalf("%s: got %d steps", run, n)
							}
							break
						}
					}
				}
			}
		})
	}
}

// givenBack holds that a removal leaves what people wrote, to the byte.
func (c *crash) givenBack(t *testing.T, opt Options, after string) {
	t.Helper()
	if diags := clean(t)(opt); diags.HasErrors() {
		t.Fatalf("%s: %v", after, diags)
	}
	if d := cmp.Diff(c.mine, tree(t, opt.Dir)); d != "" {
		t.Fatalf("%s (-want +got):\n%s", after, d)
	}
}

// differs reports the paths of a folder that are as in none of some others.
func differs(got map[string]string, from ...map[string]string) string {
	var out strings.Builder
	all := maps.Clone(got)
	for _, m := range from {
		maps.Copy(all, m)
	}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if slices.ContainsFunc(from, func(m map[string]string) bool { return same(got, m, p) }) {
			continue
		}
		text, ok := got[p]
		fmt.Fprintf(&out, "%s: got %q (there: %v), want one of\n", p, text, ok)
		for _, m := range from {
			text, ok := m[p]
			fmt.Fprintf(&out, "\t%q (there: %v)\n", text, ok)
		}
	}
	return out.String()
}

// same reports whether a path is the same in two folders. Which files are noted as adopted, or as those of no target,
// depends on how far a build came.
func same(a, b map[string]string, p string) bool {
	x, in := a[p]
	y, too := b[p]
	if path.Base(p) == LockFile {
		x, _, _ = strings.Cut(x, "\n[adopted]")
		y, _, _ = strings.Cut(y, "\n[adopted]")
		x, y = unheldList.ReplaceAllString(x, ""), unheldList.ReplaceAllString(y, "")
	}
	return in == too && x == y
}

var unheldList = regexp.MustCompile(`(?s)unheld = \[.*?\]`)

// recognised holds what a killed build left: each artifact is as before or as after it,
// and a check of the same build takes none for somebody's.
func (c *crash) recognised(t *testing.T, opt Options, before, after map[string]string) {
	t.Helper()
	got := everything(t, opt.Dir)
	files := maps.Clone(got)
	maps.DeleteFunc(files, func(p, _ string) bool {
		return strings.HasSuffix(p, tempSuffix) || strings.HasSuffix(p, "/") || p == PendingLock
	})
	for _, m := range []map[string]string{before, after} {
		maps.DeleteFunc(m, func(p, _ string) bool { return strings.HasSuffix(p, "/") })
	}
	if d := differs(files, before, after); d != "" {
		t.Errorf("neither as before nor as after:\n%s", d)
	}
	opt.Check = true
	changes, diags := Write(t.Context(), c.next, opt)
	if len(diags) > 0 {
		t.Error(diags)
	}
	for _, x := range changes {
		if x.State == Edited || x.State == Foreign {
			t.Errorf("%s is taken for %s", x.Path, x.State)
		}
	}
	if d := cmp.Diff(got, everything(t, opt.Dir)); d != "" {
		t.Errorf("a check changed the folder: %s", d)
	}
}

// TestBuildInterruptedTwice kills a build and then another one, or a removal: what comes
// after recognises all that they left.
func TestBuildInterruptedTwice(t *testing.T) {
	c := crash{
		mine: map[string]string{servers: `{"mcpServers": {"mine": {"command": "m"}}}`},
		done: []Build{
			of(
				"1",
				built("roo", "a", "1", "dir/b", "1"),
				sharing(built("claude", "c", "1"), `"x": {"command": "1"}, "old": {}`),
			),
		},
		next: of(
			"2",
			built("roo", "a", "2", "new/d", "2"),
			sharing(built("claude", "c", "2"), `"x": {"command": "2"}, "new": {}`),
		),
	}
	adopting := crash{
		adopted: true,
		mine: map[string]string{
			"a": "mine", "dir/b": "mine",
			servers: `{"mcpServers": {"x": {"command": "x"}, "mine": {"command": "m"}}}`,
		},
		next: c.next,
	}
	other := of("3", built("roo", "a", "3", "dir/b", "3"), sharing(built("claude"), `"x": {"command": "3"}`))
	for name, c := range map[string]crash{"": c, " of adopted files": adopting} {
		t.Run("another build"+name, func(t *testing.T) { c.killedTwice(t, write(t, other)) })
		t.Run("a removal"+name, func(t *testing.T) { c.killedTwice(t, clean(t)) })
	}
}

// killedTwice kills the build and then something else, and holds what comes after.
func (c *crash) killedTwice(t *testing.T, second func(Options) diag.List) {
	t.Parallel()
	ends := []func(Options) diag.List{write(t, c.next), clean(t)}
	var want [2][]map[string]string
	for i, finish := range ends {
		want[i] = []map[string]string{c.undisturbed(t, finish), c.undisturbed(t, write(t, c.next), finish),
			c.undisturbed(t, second, finish), c.undisturbed(t, write(t, c.next), second, finish)}
	}
	stride := 1
	if testing.Short() {
		stride = 4 // of the second run's changes, others each time
	}
	for n, again := 0, true; again; n++ {
		for m, more := n%stride, true; more; m += stride {
			opt := c.start(t)
			again = killed(t, n, opt, write(t, c.next))
			more = killed(t, m, opt, second)
			i := (n + m/stride) % 2
			if diags := ends[i](opt); diags.HasErrors() {
				t.Fatalf("killed at %d and %d: %v", n, m, diags)
			}
			if d := differs(everything(t, opt.Dir), want[i]...); d != "" {
				t.Fatalf("killed at %d and %d, end %d:\n%s", n, m, i, d)
			}
			if c.adopted {
				c.givenBack(t, opt, fmt.Sprintf("killed at %d and %d, end %d, then clean", n, m, i))
			}
		}
	}
}

// TestEditsAfterAnInterruption: what somebody changes after a build was killed is theirs,
// whichever state it was in.
func TestEditsAfterAnInterruption(t *testing.T) {
	for _, name := range []string{"an update", "a second build of adopted files"} {
		c := crashes[name]
		for n, again := 0, true; again; n++ {
			opt := c.start(t)
			again = killed(t, n, opt, write(t, c.next))
			put(t, opt.Dir, "a", "edited")
			refuse(t, c.next, opt, "edited")
			put(t, opt.Dir, "a", "1")
			put(t, opt.Dir, servers, `{"mcpServers": {"x": {"command": "edited"}}}`)
			refuse(t, c.next, opt, "edited")
		}
	}
}
