package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// durations are what differs from run to run.
var durations = regexp.MustCompile(`\d+ ms|\d+\.\d s`)

func steady(s string) string { return durations.ReplaceAllString(s, "N ms") }

// TestReadme types the commands of the README's session into a shell and compares what
// they print, times left out. With -update it writes what they print into the README.
func TestReadme(t *testing.T) {
	name := filepath.Join(repository, "README.md")
	readme, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string     // the README's lines without what commands print
	var after []int       // for each command the number of the lines up to its end
	var commands []string // of a shell
	typing := false
	for line := range strings.Lines(string(readme)) {
		command, typed := strings.CutPrefix(line, "$ ")
		more, continued := strings.CutPrefix(line, "> ")
		switch {
		case line == "```console\n":
			typing = true
		case line == "```\n":
			typing = false
		case typing && typed:
			commands = append(commands, command)
			after = append(after, len(kept)+1)
		case typing && continued && len(commands) > 0:
			commands[len(commands)-1] += more
			after[len(after)-1]++
		case typing:
			continue
		}
		kept = append(kept, line)
	}
	if len(commands) < 10 {
		t.Fatalf("got %q", commands)
	}
	var out strings.Builder
	line := 0
	for i, printed := range inShell(t, commands) {
		out.WriteString(strings.Join(kept[line:after[i]], "") + printed)
		line = after[i]
	}
	out.WriteString(strings.Join(kept[line:], ""))
	if *update {
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(steady(string(readme)), steady(out.String())); d != "" {
		t.Errorf("the README (-says +is); `go test ./cmd/modec -run TestReadme -update` rewrites it\n%s", d)
	}
}

// inShell returns what each command prints when they are typed into one shell at the root
// of the repository, with a folder of the test in the place of /tmp.
func inShell(t *testing.T, commands []string) []string {
	t.Helper()
	tmp := filepath.ToSlash(t.TempDir())
	const mark = "@@ next @@\n"
	var script strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&script, "{\n%s} 2>&1\nprintf %q\n", strings.ReplaceAll(c, "/tmp/", tmp+"/"), mark)
	}
	cmd := exec.Command("bash", "-c", script.String())
	cmd.Dir = repository
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "MODEC_CACHE=off", "HOME="+tmp,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := strings.Split(strings.ReplaceAll(string(out), tmp+"/", "/tmp/"), mark)
	if len(printed) != len(commands)+1 || printed[len(commands)] != "" {
		t.Fatalf("got %d outputs of %d commands\n%s", len(printed), len(commands), out)
	}
	return printed[:len(commands)]
}
