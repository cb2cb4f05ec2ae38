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

// TestUIConfirm holds that a patch that permits more is written once a person in the terminal says so, who saw that
// patch: one by its number, which another question does not have.
func TestUIConfirm(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const refused = "the terminal refused it; nothing was written"
	nothing := func(*editing) {}
	for _, c := range []struct {
		say       string
		meanwhile func(*editing)
		page      string
		source    string
	}{
		{"NUMBER", nothing, "Wrote modec/dev.cue", devWith(t, `["npm test"]`, `["npm test", "make"]`)},
		{"", nothing, refused, devSource},
		{"yes", nothing, refused, devSource},
		{"1", nothing, refused, devSource},
		{"NUMBER", func(e *editing) { // of the first question
			other := &editing{e.opened, e.dir, ""}
			other.does("editor", []string{"choose", "role dev", "do", "rule", "group", "command", "list", "allow", "pattern", "*"}, "widened")
			other.does("write", nil, "type the number there")
		}, refused, devSource},
		{"NUMBER", func(e *editing) { e.does("editor", []string{"back", "0"}, "Nothing is prepared") }, "", devSource},
		{"NUMBER", func(e *editing) {
			other := &editing{e.opened, e.dir, ""}
			change := `{"changes":[{"at":["roles","dev","can","command","allow"],"do":"add","value":"*"}]}`
			other.does("editor", []string{"choose", "role dev", "prepared", change}, "widened")
			other.does("write", nil, "nothing was written: the terminal asks about another patch")
		}, "Wrote modec/dev.cue", devWith(t, `["npm test"]`, `["npm test", "make"]`)},
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
		asked := regexp.MustCompile(`role dev: command make ask → allow[\r\n]+  into modec/dev.cue[\r\n]+Type (\d{4}) to write it \(2 permissions widened\), Enter to refuse: `)
		wanted := make(chan struct{})
		go answers(person, asked, func(m []string) string {
			<-wanted
			return strings.Replace(c.say, "NUMBER", m[1], 1)
		})
		shown := e.values()
		e.does("write", nil, "type the number there")
		c.meanwhile(e)
		close(wanted)
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
