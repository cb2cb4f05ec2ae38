package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"modec.dev/modec/compiler/ir"
)

func TestMain(m *testing.M) {
	if root := os.Getenv("AUDIT_TEST_WRITER"); root != "" {
		os.Exit(writer(root))
	}
	os.Exit(m.Run())
}

const each = 100 // events of a writer

// writer is a program that writes events as hooks do: each with a log of its own.
func writer(root string) int {
	for i := range each {
		l, err := Open(root, settings)
		if err == nil {
			err = l.Append(Event{Via: ViaHook, Tool: fmt.Sprintf("%s-%d", os.Getenv("AUDIT_TEST_NAME"), i),
				Outcome: Allowed, Input: []byte(`{"command":"ls"}`)})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

var settings = ir.Audit{File: "log/audit.jsonl", MaxMB: 10, Keep: 3}

func open(t *testing.T, s ir.Audit) *Log {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	return reopen(t, t.TempDir(), s)
}

func reopen(t *testing.T, root string, s ir.Audit) *Log {
	t.Helper()
	l, err := Open(root, s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func add(t *testing.T, l *Log, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if err := l.Append(Event{Via: ViaHook, Tool: tool, Outcome: Refused}); err != nil {
			t.Fatal(err)
		}
	}
}

func tools(t *testing.T, l *Log) (names []string) {
	t.Helper()
	if err := Read(l.File(), func(e Event) { names = append(names, e.Tool) }); err != nil {
		t.Fatal(err)
	}
	return names
}

// verify returns what is wrong, as "KIND LINE".
func verify(t *testing.T, l *Log) (found []string) {
	t.Helper()
	v, err := l.Verify()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range v.Findings {
		found = append(found, fmt.Sprintf("%s %s:%d %s", f.Kind, filepath.Base(f.File), f.Line, f.Text))
	}
	return found
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(data)))
}

func write(t *testing.T, file string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Eight programs that write at once lose nothing and tear nothing.
func TestManyWriters(t *testing.T) {
	const programs = 8
	l := open(t, settings)
	root := filepath.Dir(filepath.Dir(l.File()))
	var all sync.WaitGroup
	for i := range programs {
		all.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "AUDIT_TEST_WRITER="+root, fmt.Sprintf("AUDIT_TEST_NAME=w%d", i))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	for { // what was put aside is chained by the events that follow
		v, err := l.Verify()
		if err != nil {
			t.Fatal(err)
		}
		add(t, l, "end")
		if v.Aside == 0 {
			break
		}
	}
	if found := verify(t, l); found != nil {
		t.Errorf("got %q", found)
	}
	seen := map[string]int{}
	for _, tool := range tools(t, l) {
		seen[tool]++
	}
	for i := range programs {
		for j := range each {
			if name := fmt.Sprintf("w%d-%d", i, j); seen[name] != 1 {
				t.Errorf("event %s is there %d times", name, seen[name])
			}
		}
	}
}

// Where another program has the lock, an event is put aside and gets its place later, in the order of time.
func TestAside(t *testing.T) {
	l := open(t, settings)
	add(t, l, "a")
	lock, err := os.OpenFile(l.at("lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if locked, err := tryLock(lock); !locked || err != nil {
		t.Fatal(locked, err)
	}
	add(t, l, "b", "c")
	if got := tools(t, l); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q, want nothing that is put aside", got)
	}
	lock.Close()
	if v, err := l.Verify(); err != nil || v.Aside != 2 || v.Findings != nil {
		t.Errorf("got %+v, %v", v, err)
	}
	write(t, filepath.Join(l.at("aside"), "0-forged"), `{"event":{"tool":"forged"},"seal":"00"}`)
	add(t, l, "d")
	if got := tools(t, l); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("got %q", got)
	}
	if found := verify(t, l); found != nil {
		t.Errorf("got %q", found)
	}
	if rest, err := os.ReadDir(l.at("aside")); len(rest) > 0 || err != nil {
		t.Errorf("%v is left (%v)", rest, err)
	}
}

// Whatever is changed in a log is found, with its line.
func TestVerify(t *testing.T) {
	forged := Event{Via: ViaHook, Tool: "x", Outcome: Allowed}.tidy(nil, settings)
	forge, _, err := forged.line([]byte("another key"), link{2, ""})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(l []string) []string
		want   []string
	}{
		"nothing": {func(l []string) []string { return l }, nil},
		"a missing one": {func(l []string) []string { return slices.Delete(l, 1, 2) },
			[]string{"missing audit.jsonl:2 event 2 is missing before this line"}},
		"several missing": {func(l []string) []string { return slices.Delete(l, 0, 3) },
			[]string{"missing audit.jsonl:1 events 1 to 3 are missing before this line"}},
		"the last ones": {func(l []string) []string { return l[:3] },
			[]string{"missing audit.jsonl:0 events 4 to 5 are missing at the end"}},
		"all": {func([]string) []string { return nil },
			[]string{"missing audit.jsonl:0 events 1 to 5 are missing at the end"}},
		"edited": {func(l []string) []string {
			l[2] = strings.Replace(l[2], `"refused"`, `"allowed"`, 1)
			return l
		}, []string{"edited audit.jsonl:3 event 3 is not as it was written"}},
		"edited number": {func(l []string) []string {
			l[2] = strings.Replace(l[2], `"n":3`, `"n":9`, 1)
			return l
		}, []string{"edited audit.jsonl:3 event 3 is not as it was written"}},
		"edited and the last": {func(l []string) []string {
			l[4] = strings.Replace(l[4], `"refused"`, `"allowed"`, 1)
			return l
		}, []string{"edited audit.jsonl:5 event 5 is not as it was written"}},
		"cut": {func(l []string) []string {
			l[1] = l[1][:40] + "\n"
			return l
		}, []string{"cut audit.jsonl:2 event 2 is not whole"}},
		"cut at the end": {func(l []string) []string {
			l[4] = l[4][:40]
			return l
		}, []string{"cut audit.jsonl:5 event 5 is not whole"}},
		"two in each other's place": {func(l []string) []string {
			l[1], l[2] = l[2], l[1]
			return l
		}, []string{"reordered audit.jsonl:3 event 2 stands behind event 3"}},
		"twice": {func(l []string) []string { return slices.Insert(l, 3, l[2]) },
			[]string{"reordered audit.jsonl:4 event 3 is there twice"}},
		"one between": {func(l []string) []string { return slices.Insert(l, 2, "{}\n") },
			[]string{"foreign audit.jsonl:3 the line is not modec's"}},
		"a forged one": {func(l []string) []string { return slices.Insert(l, 2, string(forge)) },
			[]string{"foreign audit.jsonl:3 the line is not modec's"}},
		"one in the place of another": {func(l []string) []string {
			l[2] = string(forge)
			return l
		}, []string{"edited audit.jsonl:3 event 3 is not as it was written"}},
		"at the end": {func(l []string) []string { return append(l, string(forge)) },
			[]string{"foreign audit.jsonl:6 the line is not modec's"}},
		"a long line": {func(l []string) []string { return slices.Insert(l, 1, strings.Repeat("x", 3*longest)+"\n") },
			[]string{"foreign audit.jsonl:2 the line is not modec's"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, settings)
			add(t, l, "a", "b", "c", "d", "e")
			write(t, l.File(), c.change(lines(t, l.File()))...)
			if got := verify(t, l); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What was changed stays found when events follow.
func TestVerifyLater(t *testing.T) {
	l := open(t, settings)
	add(t, l, "a", "b", "c")
	all := lines(t, l.File())
	write(t, l.File(), all[0], all[1], all[2][:30])
	add(t, l, "d")
	write(t, l.File(), all[0])
	add(t, l, "e")
	want := []string{"missing audit.jsonl:2 events 2 to 4 are missing before this line"}
	if got := verify(t, l); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := os.Remove(l.File()); err != nil {
		t.Fatal(err)
	}
	add(t, l, "f")
	want = []string{"missing audit.jsonl:1 events 1 to 5 are missing before this line"}
	if got := verify(t, l); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A torn line at the end does not spoil the event that follows.
func TestTorn(t *testing.T) {
	l := open(t, settings)
	add(t, l, "a", "b")
	all := lines(t, l.File())
	write(t, l.File(), all[0], all[1][:30])
	add(t, l, "c")
	if got := tools(t, l); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("got %q", got)
	}
	if got, want := verify(t, l), []string{"cut audit.jsonl:2 event 2 is not whole"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A program that ended between its line and the head leaves a log that is whole.
func TestEndedBetween(t *testing.T) {
	l := open(t, settings)
	add(t, l, "a", "b")
	before, err := os.ReadFile(l.at("head"))
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, "c")
	write(t, l.at("head"), string(before))
	if found := verify(t, l); found != nil {
		t.Errorf("got %q", found)
	}
	add(t, l, "d")
	if found := verify(t, l); found != nil {
		t.Errorf("got %q", found)
	}
	if got := tools(t, l); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("got %q", got)
	}
}

// So does one that ended after the very first line.
func TestEndedAtTheFirst(t *testing.T) {
	l := open(t, settings)
	h, err := l.head()
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := l.open(h)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	before, err := os.ReadFile(l.at("head"))
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, "a")
	write(t, l.at("head"), string(before))
	add(t, l, "b")
	if got := tools(t, l); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
	if found := verify(t, l); found != nil {
		t.Errorf("got %q", found)
	}
}

// Old files are removed, and the chain goes from file to file.
func TestRotation(t *testing.T) {
	s := settings
	s.MaxMB, s.Keep, s.Arguments = 1, 2, true
	l := open(t, s)
	input := []byte(`{"text":"` + strings.Repeat("a b ", 3500) + `"}`)
	for i := range 300 {
		if err := l.Append(Event{Via: ViaHook, Tool: fmt.Sprint("t", i), Outcome: Allowed, Input: input}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Files(l.File())
	if err != nil || len(files) != 3 {
		t.Fatalf("got %q, %v", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() > 1<<20 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %d bytes, %v", file, info.Size(), info.Mode())
		}
	}
	if found := verify(t, l); found != nil {
		t.Errorf("got %q", found)
	}
	got := tools(t, l)
	if len(got) >= 300 || got[len(got)-1] != "t299" || got[0] != fmt.Sprint("t", 300-len(got)) {
		t.Errorf("got %d events, %s to %s", len(got), got[0], got[len(got)-1])
	}
	first := lines(t, files[0])
	write(t, files[0], first[1:]...)
	if got := verify(t, l); len(got) != 1 || !strings.Contains(got[0], "missing audit.2.jsonl:1 event") {
		t.Errorf("got %q", got)
	}
	if err := os.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	if got := verify(t, l); len(got) != 2 || !strings.Contains(got[1], "missing audit.jsonl:1 events") {
		t.Errorf("got %q", got)
	}
}

// plainToken is a token that no form tells from a word.
const plainToken = "nightly-export-of-reports"

const canary = "ghp_CANARYcanary0123456789CANARYcanary01"

// No secret is in a log, whatever field it comes in, with arguments and without.
func TestNoSecrets(t *testing.T) {
	for _, arguments := range []bool{false, true} {
		s := settings
		s.Arguments = arguments
		l := open(t, s)
		input := `{"command":"curl -H 'Authorization: Bearer ` + canary + `' https://x","password":"hunter2secret","` +
			canary + `":["` + canary + `"],"tok":"` + plainToken + `","` + plainToken + `":1,"n":12345678901234567890}`
		e := Event{Token: plainToken, Via: ViaGateway, Agent: canary, Principal: canary, Role: canary, Mode: canary, Server: canary,
			Tool: canary, About: "curl -H 'X-Key: " + canary + "'", Rule: `deny "git push https://ada:hunter2secret@host"`,
			Detail:  "it failed: token=" + canary + " of " + plainToken,
			Outcome: Failed, Input: []byte(input)}
		if err := l.Append(e); err != nil {
			t.Fatal(err)
		}
		lock, err := os.OpenFile(l.at("lock"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tryLock(lock); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(e); err != nil { // aside
			t.Fatal(err)
		}
		state := os.Getenv("XDG_STATE_HOME")
		for _, dir := range []string{state, filepath.Dir(l.File())} {
			err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(name)
				for _, secret := range []string{canary, "hunter2secret", plainToken} {
					if bytes.Contains(data, []byte(secret)) {
						t.Errorf("%s has %s: %s", name, secret, data)
					}
				}
				if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s: others may read it (%v)", name, info.Mode())
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		lock.Close()
		line := lines(t, l.File())[0]
		if strings.Contains(line, `"arguments":`) != arguments || !strings.Contains(line, `"digest":"hmac-sha256:`) {
			t.Errorf("got %s", line)
		}
		if arguments && !strings.Contains(line, `"n":12345678901234567890`) {
			t.Errorf("a number changed: %s", line)
		}
	}
}

// What a call is about is an argument, unless it is a tool of a server: that one has a name.
func TestAbout(t *testing.T) {
	with := settings
	with.Arguments = true
	for _, e := range []Event{{Group: "command", About: "make"}, {Group: "mcp", About: "list_issues"}} {
		got := e.tidy(nil, settings).About
		if (got == "") != (e.Group == "command") || e.tidy(nil, with).About != e.About {
			t.Errorf("%s: got %q", e.Group, got)
		}
	}
}

// The digest of arguments is keyed: who guesses them cannot check the guess without the key.
func TestDigest(t *testing.T) {
	e := Event{Input: []byte(`{"command":"ls"}`)}
	a, b := e.tidy([]byte("a"), settings), e.tidy([]byte("b"), settings)
	if a.Digest == b.Digest || a.Digest != e.tidy([]byte("a"), settings).Digest {
		t.Errorf("got %s and %s", a.Digest, b.Digest)
	}
}

// A project's settings do not have modec write into a file of the user's.
func TestForeignFile(t *testing.T) {
	l := open(t, settings)
	if err := os.MkdirAll(filepath.Dir(l.File()), 0o755); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "own.jsonl")
	write(t, own, "mine\n")
	for name, put := range map[string]func() error{
		"a file":        func() error { return os.WriteFile(l.File(), []byte("mine\n"), 0o600) },
		"an empty file": func() error { return os.WriteFile(l.File(), nil, 0o600) },
		"a link":        func() error { return os.Symlink(own, l.File()) },
		"a dead link":   func() error { return os.Symlink(filepath.Join(t.TempDir(), "no.jsonl"), l.File()) },
		"a folder":      func() error { return os.Mkdir(l.File(), 0o755) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		var failed *Failure
		if err := l.Append(Event{Tool: "x"}); !errors.As(err, &failed) {
			t.Errorf("%s: got %v, want a failure", name, err)
		}
		if err := os.Remove(l.File()); err != nil {
			t.Fatal(err)
		}
	}
	if got := lines(t, own); !slices.Equal(got, []string{"mine\n"}) {
		t.Errorf("got %q", got)
	}
}

// Failures are counted, told once, and on record when the log can be written again.
func TestFailures(t *testing.T) {
	l := open(t, settings)
	add(t, l, "a")
	if err := os.Remove(l.File()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(l.File(), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		var failed *Failure
		if err := l.Append(Event{Tool: "x"}); !errors.As(err, &failed) || failed.Count != int64(i+1) ||
			Untold(err) != (i == 0) {
			t.Errorf("%d: got %v", i, err)
		}
	}
	if err := os.Remove(l.File()); err != nil {
		t.Fatal(err)
	}
	add(t, l, "b")
	var last Event
	if err := Read(l.File(), func(e Event) { last = e }); err != nil {
		t.Fatal(err)
	}
	if last.Outcome != Lost || last.Detail != "3 events before this one could not be written" {
		t.Errorf("got %+v", last)
	}
	add(t, l, "c")
	if got := tools(t, l); !slices.Equal(got, []string{"b", "append", "c"}) {
		t.Errorf("got %q", got)
	}
}

// A head or a key that others may write, or that is not modec's, is not taken.
func TestForeignState(t *testing.T) {
	for _, name := range []string{"head", "../key"} {
		for what, change := range map[string]func(file string) error{
			"others may write it": func(file string) error { return os.Chmod(file, 0o666) },
			"other bytes":         func(file string) error { return os.WriteFile(file, []byte("x"), 0o600) },
		} {
			l := open(t, settings)
			add(t, l, "a")
			if err := change(l.at(name)); err != nil {
				t.Fatal(err)
			}
			if err := l.Append(Event{Tool: "b"}); err == nil {
				t.Errorf("%s, %s: it was written", name, what)
			}
			if _, err := l.Verify(); err == nil {
				t.Errorf("%s, %s: it was verified", name, what)
			}
		}
	}
}

// A log of another user's is not verified, and one that nobody wrote has nothing wrong with it.
func TestVerifyElsewhere(t *testing.T) {
	l := open(t, settings)
	if v, err := l.Verify(); err != nil || v.Events != 0 || v.Findings != nil {
		t.Errorf("got %+v, %v", v, err)
	}
	add(t, l, "a")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	other := reopen(t, filepath.Dir(filepath.Dir(l.File())), settings)
	if _, err := other.Verify(); err == nil {
		t.Error("another user's log was verified")
	}
	if err := other.Append(Event{Tool: "x"}); err == nil {
		t.Error("another user's log was written")
	}
}

// What lies in the project is the repository's, and so is a key there.
func TestStateInTheProject(t *testing.T) {
	root := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(root, "state"))
	if _, err := Open(root, settings); err == nil {
		t.Error("got a log whose key is in the project")
	}
}

func TestPath(t *testing.T) {
	home, root, real := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	if err := os.Symlink(real, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"a.jsonl":                        filepath.Join(root, "a.jsonl"),
		"x/a.jsonl":                      filepath.Join(root, "x", "a.jsonl"),
		"~/a.jsonl":                      filepath.Join(home, "a.jsonl"),
		filepath.Join(home, "a.jsonl"):   filepath.Join(home, "a.jsonl"),
		"link/a.jsonl":                   filepath.Join(real, "a.jsonl"),
		filepath.Join(home, "x/a.jsonl"): filepath.Join(home, "x", "a.jsonl"),
	} {
		if got, err := Path(root, ir.Audit{File: file}); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", file, got, err, want)
		}
	}
}

// The times in a log have milliseconds and are in UTC.
func TestTime(t *testing.T) {
	l := open(t, settings)
	at := time.Date(2026, 11, 24, 13, 0, 0, 0, time.FixedZone("", 3600))
	if err := l.Append(Event{Time: at, Tool: "x"}); err != nil {
		t.Fatal(err)
	}
	if line := lines(t, l.File())[0]; !strings.HasPrefix(line, `{"time":"2026-11-24T12:00:00.000Z","id":"`) {
		t.Errorf("got %s", line)
	}
}

// BenchmarkAppend measures what an event adds to a hook: a log is opened for each.
func BenchmarkAppend(b *testing.B) {
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	root := b.TempDir()
	for b.Loop() {
		l, err := Open(root, settings)
		if err == nil {
			err = l.Append(Event{Via: ViaHook, Tool: "Bash", Rule: `deny "git push *"`, Place: "modec/roles.cue:7:3",
				Outcome: Refused, Decision: "deny", Role: "developer", Input: []byte(`{"command":"git push origin main"}`)})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
