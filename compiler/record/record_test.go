package record

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
)

var today = time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, dir, name, to string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestPlace: a record lies in the user's cache folder, one for each run of its own kind,
// or nowhere.
func TestPlace(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("CI", "")
	t.Setenv("MODEC_CACHE", "")
	first := Place("build", "/project")
	if !strings.HasPrefix(first, cache) || filepath.Ext(first) != ".json" || Place("build", "/project") != first {
		t.Errorf("got %q below %q", first, cache)
	}
	for _, args := range [][]string{
		{"build", "/other"}, {"check", "/project"}, {"build/project"}, {"build", "/project", ""},
	} {
		if Place(args...) == first {
			t.Errorf("%q has the place of another run", args)
		}
	}
	for name, value := range map[string]string{"CI": "true", "MODEC_CACHE": "off"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if p := Place("build", "/project"); p != "" {
				t.Errorf("got %q, want none", p)
			}
		})
	}
}

func TestProgram(t *testing.T) {
	if p := Program("v1"); p == "" || p != Program("v1") || p == Program("v2") {
		t.Errorf("got %q", p)
	}
}

// saved is a record of a project with one file of each state, in its own cache folder.
type saved struct {
	project, output, place string
}

const program = "modec v1"

var said = Summary{Targets: 2, Files: 3, Losses: 1, Warnings: 1, Diagnostics: diag.List{
	{Code: "x", Severity: diag.Warning, Message: "m", Pos: diag.Pos{File: "a", Line: 1, Col: 2}},
}}

func save(t *testing.T) saved {
	t.Helper()
	s := saved{project: t.TempDir(), output: t.TempDir()}
	s.place = filepath.Join(t.TempDir(), "modec", "builds", "x.json")
	put(t, s.project, "modec.toml", "name = \"x\"\n")
	put(t, s.project, "modec/a.cue", "package modec\n")
	put(t, s.project, "modec/sub/b.cue", "package modec\n")
	put(t, s.project, "seen", "1")
	put(t, s.output, "made", "made")
	reads := NewReads(os.DirFS(s.project))
	err := fs.WalkDir(reads, "modec", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			_, err = fs.ReadFile(reads, p)
		}
		return err
	})
	if err == nil {
		_, err = fs.ReadFile(reads, "modec.toml")
	}
	if err == nil {
		_, err = fs.Stat(reads, "seen")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(reads, "absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	r := New(program, today)
	var ok bool
	if r.Project, ok = reads.States(); !ok {
		t.Fatal("not all that was read is known")
	}
	r.File("made", []byte("made"))
	r.Missing("gone")
	r.Summary = said
	r.Save(s.place)
	return s
}

func (s *saved) load() *Record { return Load(s.place, program, today, s.project, s.output) }

// TestRecordHolds: a record is found again, with what it says, as long as nothing that it
// covers changes.
func TestRecordHolds(t *testing.T) {
	s := save(t)
	r := s.load()
	if r == nil {
		t.Fatal("the record does not hold")
	}
	if d := cmp.Diff(said, r.Summary); d != "" {
		t.Error(d)
	}
	// What was not read, and what a file holds that was only looked at, may change.
	put(t, s.project, "unread", "x")
	put(t, s.project, "seen", "2")
	put(t, s.output, "mine", "x")
	if err := os.Chtimes(filepath.Join(s.project, "modec.toml"), today, today); err != nil {
		t.Fatal(err)
	}
	if s.load() == nil {
		t.Error("a change of what was not read ends it")
	}
	left, err := os.ReadDir(filepath.Dir(s.place))
	if err != nil || len(left) != 1 {
		t.Errorf("got %v, %v, want the record alone", left, err)
	}
	if info, err := os.Stat(s.place); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file of the user's own", info, err)
	}
}

// TestRecordEnds: whatever changes of what a run read or left, the record does not hold.
func TestRecordEnds(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, s *saved){
		"a letter, the size and the times kept": func(t *testing.T, s *saved) {
			file := filepath.Join(s.project, "modec.toml")
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			put(t, s.project, "modec.toml", "name = \"y\"\n")
			if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		},
		"a file that is gone":        func(t *testing.T, s *saved) { remove(t, s.project, "modec/a.cue") },
		"a file that was looked at":  func(t *testing.T, s *saved) { remove(t, s.project, "seen") },
		"a new file in a folder":     func(t *testing.T, s *saved) { put(t, s.project, "modec/new", "") },
		"a new folder in a folder":   func(t *testing.T, s *saved) { put(t, s.project, "modec/sub/new/x", "") },
		"a folder that is gone":      func(t *testing.T, s *saved) { remove(t, s.project, "modec/sub") },
		"a file that was looked for": func(t *testing.T, s *saved) { put(t, s.project, "absent", "") },
		"a folder in the place of a file": func(t *testing.T, s *saved) {
			remove(t, s.project, "seen")
			put(t, s.project, "seen/x", "")
		},
		"a link in the place of a file": func(t *testing.T, s *saved) {
			remove(t, s.project, "modec.toml")
			link(t, s.project, "modec.toml", "seen")
		},
		"a link to the same bytes": func(t *testing.T, s *saved) {
			file := filepath.Join(s.project, "modec.toml")
			if err := os.Rename(file, file+".real"); err != nil {
				t.Fatal(err)
			}
			link(t, s.project, "modec.toml", "modec.toml.real")
		},
		"an artifact that was edited":    func(t *testing.T, s *saved) { put(t, s.output, "made", "edit") },
		"an artifact that is gone":       func(t *testing.T, s *saved) { remove(t, s.output, "made") },
		"an artifact that was not there": func(t *testing.T, s *saved) { put(t, s.output, "gone", "") },
		"another output":                 func(_ *testing.T, s *saved) { s.output = s.project },
		"a record that is torn": func(t *testing.T, s *saved) {
			if err := os.Truncate(s.place, 20); err != nil {
				t.Fatal(err)
			}
		},
		"a record of another form": func(t *testing.T, s *saved) { put(t, s.place, "", `{"version": 0}`) },
		"a record of nothing": func(t *testing.T, s *saved) {
			put(t, s.place, "", `{"version": 1, "program": "modec v1", "day": "2026-11-20"}`)
		},
		"no record": func(t *testing.T, s *saved) { remove(t, s.place, "") },
		"no place":  func(_ *testing.T, s *saved) { s.place = "" },
		"a project that is a file": func(_ *testing.T, s *saved) {
			s.project = filepath.Join(s.project, "seen")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := save(t)
			if change(t, &s); s.load() != nil {
				t.Error("the record holds")
			}
		})
	}
	s := save(t)
	if Load(s.place, "modec v2", today, s.project, s.output) != nil ||
		Load(s.place, "", today, s.project, s.output) != nil {
		t.Error("it holds for another program")
	}
	if Load(s.place, program, today.Add(time.Hour), s.project, s.output) != nil {
		t.Error("it holds on another day")
	}
	if Load(s.place, program, today.Add(-time.Hour), s.project, s.output) == nil {
		t.Error("it does not hold on the same day")
	}
}

// TestRecordCostsNothing: what cannot be saved is not, without an error and without a
// trace; an old record that nobody used goes with the next one.
func TestRecordCostsNothing(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "file", "x")
	r := New(program, today)
	r.Project["a"] = absent
	r.Save("")
	r.Save(filepath.Join(dir, "file", "below", "x.json"))
	New("", today).Save(filepath.Join(dir, "a.json"))
	New(program, today).Save(filepath.Join(dir, "b.json")) // which read nothing
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("got %v, %v", left, err)
	}

	builds := filepath.Join(dir, "builds")
	put(t, builds, "old.json", "{}")
	put(t, builds, "young.json", "{}")
	old := time.Now().Add(-2 * kept)
	if err := os.Chtimes(filepath.Join(builds, "old.json"), old, old); err != nil {
		t.Fatal(err)
	}
	r.Save(filepath.Join(builds, "x.json"))
	var names []string
	left, err := os.ReadDir(builds)
	for _, e := range left {
		names = append(names, e.Name())
	}
	if want := []string{"x.json", "young.json"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %v, %v, want %v", names, err, want)
	}
}

// TestReadOwn: only a file of the user's own that nobody else may write is read.
func TestReadOwn(t *testing.T) {
	dir := t.TempDir()
	place := filepath.Join(dir, "modec", "x.bin")
	if Read("") != nil || Read(place) != nil || Read(dir) != nil {
		t.Error("something is read where there is no record")
	}
	Write(place, []byte("a"))
	Write(place, []byte("b"))
	if got := Read(place); string(got) != "b" {
		t.Errorf("got %q", got)
	}
	link(t, dir, "link", place)
	if Read(filepath.Join(dir, "link")) != nil {
		t.Error("a link is read")
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(place, 0o620); err != nil {
		t.Fatal(err)
	}
	if Read(place) != nil {
		t.Error("a file that others may write is read")
	}
}

// TestReads notes what was handed out, and says so where it does not know all.
func TestReads(t *testing.T) {
	files := fstest.MapFS{
		"a":       {Data: []byte("a")},
		"dir/b":   {Data: []byte("b")},
		"dir/c/d": {Data: []byte("d")},
		"link":    {Data: []byte("a"), Mode: fs.ModeSymlink},
		"pipe":    {Mode: fs.ModeNamedPipe},
		"large":   {Data: make([]byte, most+1)},
	}
	read := func(name string) func(fs.FS) error {
		return func(f fs.FS) error { _, err := fs.ReadFile(f, name); return err }
	}
	stat := func(name string) func(fs.FS) error {
		return func(f fs.FS) error { _, err := fs.Stat(f, name); return err }
	}
	list := func(name string) func(fs.FS) error {
		return func(f fs.FS) error { _, err := fs.ReadDir(f, name); return err }
	}
	write := func(name, text string) func(fs.FS) error {
		return func(fs.FS) error { files[name] = &fstest.MapFile{Data: []byte(text)}; return nil }
	}
	drop := func(name string) func(fs.FS) error {
		return func(fs.FS) error { delete(files, name); return nil }
	}
	says := func(name, want string) func(fs.FS) error { // who looks again sees the same
		return func(f fs.FS) error {
			if got, _ := fs.ReadFile(f, name); string(got) != want {
				t.Errorf("got %q in %s, want %q", got, name, want)
			}
			return nil
		}
	}
	type steps []func(fs.FS) error
	type states map[string]string
	a, dir := sum([]byte("a")), listing([]string{"b", "c/"})
	for name, c := range map[string]struct {
		do   steps
		want states // nil: not all is known
	}{
		"a file":                      {steps{read("a")}, states{"a": a}},
		"twice":                       {steps{read("a"), read("a")}, states{"a": a}},
		"a file that is not there":    {steps{read("x"), stat("x")}, states{"x": absent}},
		"looked at":                   {steps{stat("a"), stat("dir")}, states{"a": there, "dir": folder}},
		"looked at, then read":        {steps{stat("a"), read("a")}, states{"a": a}},
		"read, then looked at":        {steps{read("a"), stat("a")}, states{"a": a}},
		"a folder":                    {steps{list("dir")}, states{"dir": dir}},
		"a folder, then looked at":    {steps{list("dir"), stat("dir")}, states{"dir": dir}},
		"a folder, looked at before":  {steps{stat("dir"), list("dir")}, states{"dir": dir}},
		"a file that changes":         {steps{read("a"), write("a", "b"), says("a", "a")}, states{"a": a}},
		"a file that goes":            {steps{read("a"), drop("a"), says("a", "a"), stat("a")}, states{"a": a}},
		"a file that comes":           {steps{read("x"), write("x", "x"), says("x", "")}, states{"x": absent}},
		"looked at, then gone":        {steps{stat("a"), drop("a"), read("a")}, nil},
		"a folder that changes":       {steps{list("dir"), write("dir/new", ""), list("dir")}, nil},
		"a pipe":                      {steps{stat("pipe")}, nil},
		"a pipe that is opened":       {steps{read("pipe")}, nil},
		"a file that is too large":    {steps{read("large")}, nil},
		"a file that may not be read": {steps{read("secret")}, nil},
		"some names of a folder":      {steps{func(f fs.FS) error { return some(f, "dir") }}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := files
			defer func() { files = before }()
			files = fstest.MapFS{}
			for p, f := range before {
				files[p] = f
			}
			r := NewReads(fsOf(func(name string) (fs.File, error) {
				if name == "secret" {
					return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
				}
				return files.Open(name)
			}))
			for _, do := range c.do {
				do(r) // what it returns is the file system's own
			}
			got, ok := r.States()
			if ok != (c.want != nil) {
				t.Errorf("got %v, %v", got, ok)
			} else if d := cmp.Diff(map[string]string(c.want), got); ok && d != "" {
				t.Error(d)
			}
		})
	}
	data, err := fs.ReadFile(NewReads(files), "dir/b")
	if err != nil || string(data) != "b" {
		t.Errorf("got %q, %v", data, err)
	}
	few := fstest.MapFS{"a": files["a"], "dir/b": files["dir/b"]}
	if err := fstest.TestFS(NewReads(few), "a", "dir/b"); err != nil {
		t.Error(err)
	}
}

// fsOf is a file system of a function.
type fsOf func(string) (fs.File, error)

func (f fsOf) Open(name string) (fs.File, error) { return f(name) }

// some lists a part of a folder.
func some(f fs.FS, name string) error {
	d, err := f.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	_, err = d.(fs.ReadDirFile).ReadDir(1)
	return err
}

// TestRecordIsNeverWrong reads made-up folders in made-up ways, and changes them: where
// the record holds, the same reads hand out the same.
func TestRecordIsNeverWrong(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	names := []string{"a", "b", "dir/a", "dir/b", "dir/sub/a", "dir/sub", "dir", "c"}
	held, ended := 0, 0
	for i := range 300 {
		dir, cache := t.TempDir(), t.TempDir()
		for range 4 {
			change(dir, names[rng.IntN(len(names))], rng)
		}
		reads := make([]int, 1+rng.IntN(4))
		for j := range reads {
			reads[j] = rng.IntN(3 * len(names))
		}
		run := func(f fs.FS) (out []string) {
			for _, n := range reads {
				out = append(out, look(f, names[n/3], n%3))
			}
			return out
		}
		noted := NewReads(os.DirFS(dir))
		before := run(noted)
		r := New(program, today)
		var ok bool
		if r.Project, ok = noted.States(); !ok {
			continue
		}
		place := filepath.Join(cache, "x.json")
		r.Save(place)
		for range rng.IntN(3) {
			change(dir, names[rng.IntN(len(names))], rng)
		}
		after := run(os.DirFS(dir))
		same := cmp.Equal(before, after)
		switch holds := Load(place, program, today, dir, cache) != nil; {
		case holds && !same:
			t.Errorf("%d: it holds, and reading says otherwise: %s", i, cmp.Diff(before, after))
		case holds:
			held++
		default:
			ended++
		}
	}
	if held < 50 || ended < 50 {
		t.Errorf("got %d that hold and %d that do not, want more of both", held, ended)
	}
}

// change writes, links or removes a file or a folder, if it can.
func change(dir, name string, rng *rand.Rand) {
	file := filepath.Join(dir, filepath.FromSlash(name))
	switch rng.IntN(10) {
	case 0, 1:
		os.RemoveAll(file)
	case 2, 3:
		os.MkdirAll(file, 0o755)
	case 4:
		os.Symlink("a", file)
	default:
		os.MkdirAll(filepath.Dir(file), 0o755)
		os.WriteFile(file, []byte{byte('0' + rng.IntN(3))}, 0o644)
	}
}

// look reads in one of three ways, and returns what came of it.
func look(f fs.FS, name string, way int) string {
	var out string
	var err error
	switch way {
	case 0:
		var data []byte
		data, err = fs.ReadFile(f, name)
		out = string(data)
	case 1:
		var info fs.FileInfo
		if info, err = fs.Stat(f, name); err == nil {
			out = fmt.Sprint(info.IsDir())
		}
	default:
		var entries []fs.DirEntry
		entries, err = fs.ReadDir(f, name)
		out = fmt.Sprint(entries)
	}
	if err != nil {
		return fmt.Sprint(errors.Is(err, fs.ErrNotExist))
	}
	return out
}
