package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// What a server writes down is sent to the collector that the variables name, with the same id and as much masked as in
// the file. A project that does not ask for it sends nothing.
func TestRecorderSends(t *testing.T) {
	const canary = "ghp_CANARYcanary0123456789CANARYcanary01"
	var mu sync.Mutex
	var sent bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = sent.ReadFrom(r.Body)
	}))
	defer collector.Close()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	for _, on := range []bool{false, true} {
		dir := t.TempDir()
		e := testEnv(t.Context(), dir, io.Discard)
		rec := e.recorder(&ir.Project{Audit: &ir.Audit{File: "a.jsonl", MaxMB: 1, OTel: on}}, "ann",
			slog.New(slog.NewTextHandler(t.Output(), nil)))
		rec.function()(audit.Event{Via: audit.ViaGateway, Tool: "put", Outcome: audit.Refused, Detail: "token=" + canary,
			Input: []byte(`{"key": "` + canary + `"}`)})
		rec.end()
		file, err := os.ReadFile(filepath.Join(dir, "a.jsonl"))
		var written audit.Event
		if bad := json.NewDecoder(bytes.NewReader(file)).Decode(&written); bad != nil || err != nil || rec.missed() > 0 {
			t.Fatalf("got %s, %v, %v, %d missed", file, err, bad, rec.missed())
		}
		got := sent.String()
		if (got != "") != on || strings.Contains(got, canary) {
			t.Errorf("otel = %t: got %q", on, got)
		}
		for _, text := range []string{written.ID, written.Digest, "ann", "put"} {
			if on && (text == "" || !strings.Contains(got, text)) {
				t.Errorf("got no %q in %q", text, got)
			}
		}
	}
	if none := testEnv(t.Context(), t.TempDir(), io.Discard).recorder(&ir.Project{}, "", nil); none.function() != nil {
		t.Error("got a function for a project without an audit")
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
