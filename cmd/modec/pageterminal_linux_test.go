package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/targets"
)

// TestUIConfirm holds that a patch that permits more is written once a person in the terminal says so.
func TestUIConfirm(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, c := range []struct{ say, page, source string }{
		{"yes", "Wrote modec/dev.cue", devWith(t, `["npm test"]`, `["npm test", "make"]`)},
		{"", "the terminal refused it; nothing was written", devSource},
		{"http", "the terminal refused it; nothing was written", devSource},
	} {
		dir := t.TempDir()
		for name, text := range editedSource {
			mustWrite(t, filepath.Join(dir, name), []byte(text))
		}
		person, program := terminalPair(t)
		ctx, end := context.WithCancel(t.Context())
		said, stdout := io.Pipe()
		done := make(chan int, 1)
		go func() {
			done <- run(ctx, targets.All(), []string{"-q", "-C", dir, "ui", "--write"}, program, stdout, program)
		}()
		lines := bufio.NewScanner(said)
		_, server, bearer := exchange(t, next(t, lines), "")
		e := &editing{opened{t, server, bearer}, dir, ""}
		e.does("editor", []string{"choose", "role dev", "do", "rule", "group", "command", "list", "allow", "pattern", "make"},
			"widened", "the terminal that started modec ui asks first")
		asked := regexp.MustCompile(`role dev: command make ask → allow[\r\n]+  into modec/dev.cue[\r\n]+Type yes to write it, Enter to refuse: `)
		go answers(person, asked, func([]string) string { return c.say })
		shown := e.values()
		e.does("write", nil, "type yes there")
		var code int
		var text string
		for range 100 {
			if code, text = e.post("confirmed", shown); code != http.StatusNoContent {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if code != http.StatusOK || !strings.Contains(text, c.page) {
			t.Errorf("%q: got %d without %q:\n%s", c.say, code, c.page, text)
		}
		e.has("modec/dev.cue", c.source)
		end()
		if code := <-done; code != 0 {
			t.Errorf("%q: exit code %d", c.say, code)
		}
	}
}
