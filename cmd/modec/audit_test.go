package main

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
)

// A log that is followed prints the events that come after the list, by the same filters, until it is ended.
func TestAuditFollow(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "modec.toml"), []byte("[audit]\nfile = \"a.jsonl\"\n"))
	log, err := audit.Open(dir, ir.Audit{File: "a.jsonl", MaxMB: 1})
	if err != nil {
		t.Fatal(err)
	}
	add := func(tool, role string) {
		if err := log.Append(audit.Event{Via: audit.ViaHook, Tool: tool, Role: role, Outcome: audit.Refused}); err != nil {
			t.Error(err)
		}
	}
	add("first", "dev")
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		c := auditListCmd{Follow: true, Role: "dev"}
		done <- c.Run(testEnv(ctx, dir, in))
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	for _, tool := range []string{"first", "second", "third"} {
		if !lines.Scan() || !strings.Contains(lines.Text(), tool) {
			t.Fatalf("got %q, want %s", lines.Text(), tool)
		}
		switch tool {
		case "first":
			add("other", "reviewer")
			add("second", "dev")
		case "second":
			add("third", "dev")
		}
	}
	stop()
	go io.Copy(io.Discard, out) // what is still being written
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestSince(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "30m": now.Add(-30 * time.Minute), "7d": now.AddDate(0, 0, -7),
		"2026-11-20":           time.Date(2026, 11, 20, 0, 0, 0, 0, time.Local),
		"2026-11-20T10:00:00Z": time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC),
	} {
		if got, err := sinceTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"yesterday", "-3d", "-1h", "d", "2026-13-01"} {
		if got, err := sinceTime(text, now); err == nil {
			t.Errorf("%q: got %s", text, got)
		}
	}
}
