package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/targets/mcp/serve"
)

// A server that ends does not wait for the streams that clients hold open, and lets calls end.
func TestServeEndsStreams(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	begun := make(chan string, 2)
	answered := make(chan bool, 1)
	srv := httptest.NewServer(endsWith(ctx, t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- r.Method
		if r.Method == http.MethodPost { // a call under way, which is answered once the server ends
			<-ctx.Done()
			answered <- r.Context().Err() == nil
			return
		}
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})))
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if res, err := http.DefaultClient.Do(req); err == nil {
				defer res.Body.Close()
				_, _ = res.Body.Read(make([]byte, 1))
			}
		}()
		<-begun
	}
	end()
	if !<-answered {
		t.Error("the call under way was ended with the server")
	}
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := srv.Config.Shutdown(patience); err != nil {
		t.Errorf("the server waits for its streams: %v", err)
	}
}

// A server that ends waits for calls under way, then has them answered with an error, and cuts those that go on.
func TestServeWaitsForCalls(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	e := testEnv(ctx, t.TempDir(), &transcript{})
	left := make(chan struct{})
	under := make(chan bool, 3)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		under <- true
		switch r.URL.Path {
		case "/short":
			<-ctx.Done()
			time.Sleep(50 * time.Millisecond)
		case "/long":
			<-left
		default:
			<-r.Context().Done()
		}
		if r.Context().Err() == nil {
			_, _ = io.WriteString(w, "answered")
		}
	})
	ended := make(chan error, 1)
	go func() {
		ended <- e.serveHTTP(listener, h, slog.New(slog.DiscardHandler),
			parting{wait: 200 * time.Millisecond, rest: func() { close(left) }})
	}()
	answers := map[string]chan string{}
	for _, path := range []string{"/short", "/long", "/endless"} {
		got := make(chan string, 1)
		answers[path] = got
		go func() {
			res, err := http.Post("http://"+listener.Addr().String()+path, "text/plain", strings.NewReader(""))
			if err != nil {
				got <- err.Error()
				return
			}
			defer res.Body.Close()
			text, _ := io.ReadAll(res.Body) // a part is another text
			got <- string(text)
		}()
		<-under
	}
	end()
	for path, want := range map[string]string{"/short": "answered", "/long": "answered", "/endless": ""} {
		if got := <-answers[path]; got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A server whose source goes while it runs keeps the last good one, and says so. A source that comes back is served.
func TestServeKeepsSource(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("modec.toml", "name = \"Shop\"\n[targets.claude]\n")
	write("modec/a.cue", "package modec\n\n"+shopRoles)
	l := &modelLoader{env: testEnv(t.Context(), dir, io.Discard), log: slog.New(slog.DiscardHandler)}
	m, diags := l.load()
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	s, err := serve.New(m, serve.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	l.server = s
	for _, gone := range []string{"modec.toml", "modec/a.cue", "modec"} {
		if err := os.Rename(filepath.Join(dir, gone), filepath.Join(dir, "elsewhere")); err != nil {
			t.Fatal(err)
		}
		if l.reload(); s.Model().Project.Role("locked") == nil {
			t.Errorf("without %s another source is served: %v", gone, s.Model().Project.RoleNames())
		}
		if err := os.Rename(filepath.Join(dir, "elsewhere"), filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	write("modec/a.cue", "package modec\n\n"+strings.ReplaceAll(shopRoles, "locked", "shut"))
	if l.reload(); s.Model().Project.Role("shut") == nil {
		t.Errorf("the source that came back is not served: %v", s.Model().Project.RoleNames())
	}
}

// A server that begins before its project sees the project come and change, also after its folder was elsewhere.
func TestServeSeesProjectBegin(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	said := &transcript{}
	l := &modelLoader{env: testEnv(t.Context(), dir, said), log: slog.New(slog.NewTextHandler(said, nil))}
	w, err := l.watch()
	if err != nil {
		t.Fatal(err)
	}
	m, _ := l.load()
	s, err := serve.New(m, serve.Options{Version: "test", Logger: l.log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	l.server = s
	go func() { _ = w.run(l.ctx, l.reload) }()
	serves := func(role string) {
		t.Helper()
		mustWrite(t, filepath.Join(dir, "modec", "a.cue"),
			[]byte("package modec\n\nroles: "+role+": can: read: \"deny\"\n"))
		eventually(t, "serving "+role, func() bool { return s.Model().Project.Role(role) != nil }, said)
	}
	move := func(from, to, tells string) {
		t.Helper()
		n := strings.Count(said.String(), tells)
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
		eventually(t, tells, func() bool { return strings.Count(said.String(), tells) > n }, said)
	}
	mustWrite(t, filepath.Join(dir, "modec.toml"), []byte("[targets.roo]\n"))
	eventually(t, "told", func() bool { return strings.Contains(said.String(), "no data") }, said)
	serves("first")
	serves("second")
	move(dir, dir+"-away", "cannot be opened")
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	serves("third")
	source := filepath.Join(dir, "modec")
	move(source, source+"-away", "no data")
	if err := os.Rename(source+"-away", source); err != nil {
		t.Fatal(err)
	}
	serves("fourth")
}
