package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/sys/unix"

	"modec.dev/modec/targets"
)

// terminalPair returns the two ends of a pseudo-terminal: a person's, and the program's.
func terminalPair(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { person.Close() })
	fd := int(person.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

// answers types what a program asks in a terminal, once it has asked.
func answers(person *os.File, question *regexp.Regexp, answer func([]string) string) {
	var seen strings.Builder
	buffer := make([]byte, 1024)
	for {
		n, err := person.Read(buffer)
		if err != nil {
			return
		}
		seen.Write(buffer[:n])
		if m := question.FindStringSubmatch(seen.String()); m != nil {
			fmt.Fprintln(person, answer(m))
			return
		}
	}
}

// A person who reads the number turns the hooks off, anything else does not, and then the hook has no
// opinion until they are on again.
func TestOff(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	for name, text := range cached {
		mustWrite(t, filepath.Join(dir, name), []byte(text))
	}
	answer(t, "-C", dir, "build")
	number := regexp.MustCompile(`Type (\d{4}) to go on: `)
	off := func(say func([]string) string, args ...string) (string, int) {
		person, program := terminalPair(t)
		go answers(person, number, say)
		var out bytes.Buffer
		code := run(t.Context(), targets.All(), append([]string{"-C", dir, "off"}, args...), program, &out, program)
		return out.String(), code
	}
	hook := func() string {
		call := `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"modec off"},"cwd":"` + dir + `"}`
		var out, err bytes.Buffer
		args := []string{"hook", "claude", "--root", dir, "--subject", "role:dev"}
		run(t.Context(), targets.All(), args, strings.NewReader(call), &out, &err)
		return out.String() + err.String()
	}
	if got := hook(); !strings.Contains(got, `"deny"`) {
		t.Fatalf("an agent may turn its hook off: %s", got)
	}
	if out, code := off(func([]string) string { return "y" }); code != 2 || out != "" {
		t.Errorf("got exit %d: %s", code, out)
	}
	if got := hook(); !strings.Contains(got, `"deny"`) {
		t.Fatalf("the hook is off after a wrong number: %s", got)
	}
	right := func(m []string) string { return m[1] }
	out, code := off(right, "--for", "20m", "--reason", "a try", "--json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	var schema bytes.Buffer
	run(t.Context(), targets.All(), []string{"schema", "--output", "off"}, nil, &schema, &schema)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled(t, schema.Bytes()).Validate(doc); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if got := hook(); got != "{}\n" {
		t.Errorf("the hook has an opinion: %s", got)
	}
	if x := disarmed(dir); x == nil || x.Reason != "a try" || x.Until.Sub(x.Since) != 20*time.Minute {
		t.Errorf("got %+v", x)
	}
	for _, args := range [][]string{{"build"}, {"show"}, {"build", "--check"}} {
		var out, err bytes.Buffer
		run(t.Context(), targets.All(), append([]string{"-C", dir}, args...), strings.NewReader(""), &out, &err)
		if !strings.Contains(err.String(), "the hooks are off until") {
			t.Errorf("%s does not tell of it: %s%s", args, &out, &err)
		}
	}
	answer(t, "-C", dir, "off", "--end")
	if got := hook(); !strings.Contains(got, `"deny"`) {
		t.Errorf("the hook is still off: %s", got)
	}
}

// A person in a terminal accepts a project once.
func TestAccept(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	for name, text := range cached {
		mustWrite(t, filepath.Join(dir, name), []byte(text))
	}
	answer(t, "-C", dir, "build")
	for _, c := range []struct {
		say, out string
		code     int
	}{{"n", argsFailed + "\n", 2}, {"y", "--setting-sources=user ", 0}, {"n", "--setting-sources=user ", 0}} {
		person, program := terminalPair(t)
		go answers(person, regexp.MustCompile(`role dev (?s:.*)Accept it\? \[y/N\] `), func([]string) string { return c.say })
		var out bytes.Buffer
		code := run(t.Context(), targets.All(), []string{"-C", dir, "args", "dev"}, program, &out, program)
		if code != c.code || !strings.HasPrefix(out.String(), c.out) {
			t.Errorf("%s: got exit %d: %s", c.say, code, &out)
		}
	}
}

// A clean that keeps the files asks where something is no longer refused.
func TestCleanKeepAsks(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, c := range []struct {
		say  string
		code int
	}{{"n", 2}, {"y", 0}} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"modec.toml":   "hooks = \"enforce\"\n[targets.claude]\n",
			"modec/a.yaml": `roles: {dev: {can: {command: {deny: ["git push *"], default: "ask"}}}}`,
		} {
			mustWrite(t, filepath.Join(dir, name), []byte(text))
		}
		answer(t, "-C", dir, "build")
		person, program := terminalPair(t)
		go answers(person, regexp.MustCompile(`\[y/N\] `), func([]string) string { return c.say })
		var out bytes.Buffer
		code := run(t.Context(), targets.All(), []string{"-C", dir, "clean", "--keep"}, program, &out, program)
		_, err := os.Stat(filepath.Join(dir, "modec.lock"))
		if code != c.code || os.IsNotExist(err) != (code == 0) {
			t.Errorf("%s: exit %d, the lock: %v\n%s", c.say, code, err, &out)
		}
	}
}
