//go:build unix

package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"modec.dev/modec/targets/mcp/serve/pgtest"
)

func openPostgres(t testing.TB, url string) Store {
	t.Helper()
	s, err := OpenPostgres(url, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestPostgres holds the store in a real database to what the others are held to, and to
// what only several servers can break.
func TestPostgres(t *testing.T) {
	pg := pgtest.Start(t)
	if pg == nil {
		return
	}
	for name, test := range map[string]func(*testing.T, *pgtest.Server){
		"Store": func(t *testing.T, pg *pgtest.Server) {
			holdStore(t, "postgres", openPostgres(t, pg.Database("store")))
		},
		"Migrated":  migratedOnce,
		"Refuses":   postgresRefuses,
		"Limits":    limitsHold,
		"Alone":     changesAreAlone,
		"Texts":     anyText,
		"Clock":     clockOfTheDatabase,
		"Cut":       cutConnections,
		"Down":      databaseDown,
		"Secrets":   noSecretInMessages,
		"CountHeal": countHeals,
	} {
		t.Run(name, func(t *testing.T) { test(t, pg) })
	}
}

// migratedOnce opens an empty database from many servers at once.
func migratedOnce(t *testing.T, pg *pgtest.Server) {
	url := pg.Database("migrated")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := OpenPostgres(url, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if _, err := s.Get("ses_x"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	want := fmt.Sprint(len(migrations))
	if got := pg.SQL("migrated", "SELECT version FROM modec_schema"); got != want {
		t.Errorf("got version %s, want %s", got, want)
	}
	if got := pg.SQL("migrated", "SELECT n FROM modec_count"); got != "0" {
		t.Errorf("got counts %q", got)
	}
}

// postgresRefuses what is no store of this version, or may lose what it acknowledged.
func postgresRefuses(t *testing.T, pg *pgtest.Server) {
	newer := pg.Database("newer")
	pg.SQL("newer", "CREATE TABLE modec_schema (version integer); INSERT INTO modec_schema VALUES (99)")
	other := pg.Database("other")
	pg.SQL("other", "CREATE TABLE modec_sessions (x integer)")
	pg.SQL("other", "CREATE TABLE mine AS SELECT 1")
	lossy := pg.Database("lossy")
	pg.SQL("lossy", "ALTER DATABASE lossy SET synchronous_commit = off")
	for url, want := range map[string]string{
		newer: "a newer modec wrote it",
		other: `"modec_sessions" already exists`,
		lossy: "before they are on the disk",
		strings.Replace(lossy, pgtest.Password, "wrong", 1):                      "password authentication failed",
		"postgres://modec:" + pgtest.Password + "@127.0.0.1:no/x":                "cannot be read",
		"postgres://modec:" + pgtest.Password + "@127.0.0.1/x?pool_max_conns=0":  "pool_max_conns too small",
		"postgres://modec:" + pgtest.Password + "@127.0.0.1/x?sslmode=sometimes": "sslmode is invalid",
		"postgres://modec:" + pgtest.Password + "@127.0.0.1:1/x":                 "connection refused",
	} {
		s, err := OpenPostgres(url, slog.New(slog.DiscardHandler))
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), pgtest.Password) {
			t.Errorf("%s: got %v, want an error with %q and no password", url, err, want)
		}
	}
	s, err := OpenPostgres(lossy+"&synchronous_commit=on", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// limitsHold adds from three servers at once: there are as many sessions as there may be,
// and no more.
func limitsHold(t *testing.T, pg *pgtest.Server) {
	url := pg.Database("limits")
	const limit = 100
	var added, full atomic.Int64
	var wg sync.WaitGroup
	for i := range 3 {
		s := openPostgres(t, url)
		for j := range 8 {
			wg.Go(func() {
				for k := range 10 {
					err := s.Add(&Session{ID: fmt.Sprintf("ses_%d_%d_%d", i, j, k), Used: time.Now()}, limit)
					var wire *jsonrpc.Error
					switch {
					case err == nil:
						added.Add(1)
					case errors.As(err, &wire):
						full.Add(1)
					default:
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	got := pg.SQL("limits", "SELECT count(*) FROM modec_sessions")
	if added.Load() != limit || full.Load() != 240-limit || got != fmt.Sprint(limit) {
		t.Errorf("%d were added and %d refused, and %s are there, want %d", added.Load(), full.Load(), got, limit)
	}
}

// countHeals: sessions that somebody removed by hand make room again.
func countHeals(t *testing.T, pg *pgtest.Server) {
	s := openPostgres(t, pg.Database("heals"))
	for i := range 3 {
		if err := s.Add(&Session{ID: fmt.Sprint("ses_", i), Used: time.Now()}, 3); err != nil {
			t.Fatal(err)
		}
	}
	pg.SQL("heals", "DELETE FROM modec_sessions")
	if _, err := s.Clean(time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(&Session{ID: "ses_x", Used: time.Now()}, 1); err != nil {
		t.Error(err)
	}
}

// changesAreAlone changes one session from three servers at once: none is lost.
func changesAreAlone(t *testing.T, pg *pgtest.Server) {
	url := pg.Database("alone")
	first := openPostgres(t, url)
	if err := first.Add(&Session{ID: "ses_a"}, 1); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var called atomic.Int64
	for i := range 3 {
		s := openPostgres(t, url)
		for range 4 {
			wg.Go(func() {
				for range 10 {
					_, err := s.Update("ses_a", func(s *Session) error {
						called.Add(1)
						s.Messages = append(s.Messages, Message{Text: fmt.Sprint(i)})
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if got, err := first.Get("ses_a"); err != nil || len(got.Messages) != 120 || called.Load() != 120 {
		t.Errorf("got %v, %d calls, want 120 messages", err, called.Load())
	}
}

// anyText: what a client writes is kept, and an id that no session can have is unknown.
func anyText(t *testing.T, pg *pgtest.Server) {
	s := openPostgres(t, pg.Database("texts"))
	const odd = "\x00 \u2028 ☃ \"\\ \U0001F600 '; DROP TABLE modec_sessions; --"
	if err := s.Add(&Session{ID: "ses_a", Messages: []Message{{Text: odd}}}, 1); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get("ses_a"); err != nil || got.Messages[0].Text != odd {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, id := range []string{"ses_a\x00", "\xff", "", "'"} {
		got, err := s.Get(id)
		if got != nil || err != nil {
			t.Errorf("%q: got %+v, %v", id, got, err)
		}
		if got, err = s.Update(id, func(*Session) error { return nil }); got != nil || err != nil {
			t.Errorf("%q: got %+v, %v", id, got, err)
		}
		if list, err := s.Children(id); list != nil || err != nil {
			t.Errorf("%q: got %v, %v", id, list, err)
		}
	}
}

// clockOfTheDatabase: a server whose own clock is wrong has sessions age like the others.
func clockOfTheDatabase(t *testing.T, pg *pgtest.Server) {
	p := openPostgres(t, pg.Database("clock")).(*postgres)
	if d := time.Since(p.Now()).Abs(); d > 10*time.Second {
		t.Errorf("the clocks of one machine differ by %s", d)
	}
	p.ahead.Store(int64(time.Hour))
	s := serve(t, Options{Store: p})
	if d := time.Until(s.now()); d < 59*time.Minute {
		t.Errorf("the server's clock is %s ahead of its machine's, want an hour", d)
	}
	if _, err := p.Clean(time.Now().Add(-time.Hour)); err != nil { // compares the clocks again
		t.Fatal(err)
	}
	if d := time.Since(s.now()).Abs(); d > 10*time.Second {
		t.Errorf("the clocks of one machine differ by %s", d)
	}
}

// proxy passes on bytes between stores and the database, and cuts a connection when a
// message of the client or the server has a text.
type proxy struct {
	net.Listener
	to string

	mu   sync.Mutex
	cut  func(message []byte, fromClient bool) action
	cuts int
}

type action int

const (
	pass      action = iota
	cutBefore        // the message does not arrive
	cutAfter         // it arrives, and its answer does not
)

func newProxy(t *testing.T, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: to}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *proxy) set(cut func([]byte, bool) action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
}

func (p *proxy) what(message []byte, fromClient bool) action {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut == nil {
		return pass
	}
	a := p.cut(message, fromClient)
	if a != pass {
		p.cuts++
	}
	return a
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		client.Close()
		return
	}
	deaf := make(chan struct{}) // closed when the client is to hear nothing more
	var once sync.Once
	go func() {
		defer client.Close()
		b := make([]byte, 64<<10)
		for {
			n, err := server.Read(b)
			if err != nil {
				return
			}
			select {
			case <-deaf:
				return // the server did what it was asked for
			default:
			}
			if p.what(b[:n], false) != pass {
				return
			}
			if _, err := client.Write(b[:n]); err != nil {
				return
			}
		}
	}()
	defer server.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := client.Read(b)
		if err != nil {
			return
		}
		switch p.what(b[:n], true) {
		case cutBefore:
			client.Close()
			return
		case cutAfter:
			once.Do(func() { close(deaf) })
		}
		if _, err := server.Write(b[:n]); err != nil {
			return
		}
	}
}

// cutConnections cuts the connection before and after each statement of a change: what is
// acknowledged is kept, once, and fn is called once.
func cutConnections(t *testing.T, pg *pgtest.Server) {
	url := pg.Database("cut")
	_, hostport, _ := strings.Cut(url, "@")
	hostport, _, _ = strings.Cut(hostport, "/")
	px := newProxy(t, hostport)
	s := openPostgres(t, strings.Replace(url, hostport, px.Addr().String(), 1))
	direct := openPostgres(t, url)
	for i, c := range []struct {
		name  string
		has   string
		what  action
		times int // how often the connection is cut
		want  error
	}{
		{"before the insert", "ses_", cutBefore, 1, nil},
		{"after the insert", "ses_", cutAfter, 1, nil},
		{"after it, again and again", "ses_", cutAfter, 3, nil},
		{"before the begin", "begin", cutBefore, 1, nil},
		{"after the begin", "begin", cutAfter, 1, nil},
		{"before the commit", "commit", cutBefore, 1, nil},
		{"after the commit", "commit", cutAfter, 1, nil},
		{"after the change again", "commit", cutAfter, 1, nil},
	} {
		id, left, calls := fmt.Sprintf("ses_cut_%d", i), 0, 0
		px.set(func(b []byte, fromClient bool) action {
			if !fromClient || left == 0 || !bytes.Contains(b, []byte(c.has)) {
				return pass
			}
			left--
			return c.what
		})
		px.mu.Lock()
		px.cuts, left = 0, c.times
		px.mu.Unlock()
		if err := s.Add(&Session{ID: id, Used: time.Now()}, 1000); err != nil {
			t.Errorf("%s: added: %v", c.name, err)
		}
		got, err := s.Update(id, func(s *Session) error {
			calls++
			s.Messages = append(s.Messages, Message{Text: c.name})
			return nil
		})
		px.set(nil)
		if err != nil || len(got.Messages) != 1 || calls != 1 {
			t.Errorf("%s: changed: %+v, %v, %d calls", c.name, got, err, calls)
		}
		kept, err := direct.Get(id)
		if err != nil || kept == nil || len(kept.Messages) != 1 {
			t.Errorf("%s: got %+v, %v, want one message", c.name, kept, err)
		}
		if px.cuts != c.times {
			t.Errorf("%s: the connection was cut %d times, want %d", c.name, px.cuts, c.times)
		}
	}
	if got, n := pg.SQL("cut", "SELECT count(*) FROM modec_sessions"), pg.SQL("cut", "SELECT n FROM modec_count"); got != "8" || n != "8" {
		t.Errorf("there are %s sessions, and %s are counted, want 8", got, n)
	}

	// The answer to the commit is lost, and another server changes the session before this one can look.
	px.set(func(b []byte, fromClient bool) action {
		switch {
		case fromClient && bytes.Contains(b, []byte("commit")):
			return cutAfter
		case fromClient && bytes.Contains(b, []byte("ses_cut_0")) && px.cuts > 8:
			return cutBefore
		}
		return pass
	})
	_, err := s.Update("ses_cut_0", func(s *Session) error {
		go func() {
			time.Sleep(time.Second / 2)
			_, _ = direct.Update("ses_cut_0", func(s *Session) error { s.Result = "other"; return nil })
			px.set(nil)
		}()
		px.mu.Lock()
		px.cuts = 8
		px.mu.Unlock()
		s.Result = "mine"
		return nil
	})
	e, ok := errors.AsType[*databaseError](err)
	if !ok || !e.unknown {
		t.Errorf("got %v, want that the outcome is not known", err)
	}
	wire := storeFailed(err).(*jsonrpc.Error)
	var data struct{ Outcome string }
	if json.Unmarshal(wire.Data, &data); data.Outcome != "unknown" || wire.Code != jsonrpc.CodeInternalError {
		t.Errorf("got %+v %s", wire, wire.Data)
	}
}

// databaseDown kills the database: calls fail and say that nothing changed, or, where a change was under way on a
// connection that was found dead only then, that nobody knows. Once it is back they succeed.
func databaseDown(t *testing.T, pg *pgtest.Server) {
	var logged bytes.Buffer
	s, err := OpenPostgres(pg.Database("down"), slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Add(&Session{ID: "ses_a"}, 10); err != nil {
		t.Fatal(err)
	}
	pg.Kill()
	var wg sync.WaitGroup
	for name, call := range map[string]func() error{
		"Get":      func() error { _, err := s.Get("ses_a"); return err },
		"Add":      func() error { return s.Add(&Session{ID: "ses_b"}, 10) },
		"Update":   func() error { _, err := s.Update("ses_a", func(*Session) error { return nil }); return err },
		"Children": func() error { _, err := s.Children("ses_a"); return err },
		"Clean":    func() error { _, err := s.Clean(time.Time{}); return err },
	} {
		wg.Go(func() {
			err := call()
			e, ok := errors.AsType[*databaseError](err)
			if reads := name == "Get" || name == "Children"; !ok || e.unknown && reads {
				t.Errorf("%s: got %v, want that nothing was changed", name, err)
			}
		})
	}
	wg.Wait()
	pg.Restart()
	if got, err := s.Get("ses_a"); err != nil || got == nil {
		t.Errorf("got %+v, %v after the restart", got, err)
	}
	if got, err := s.Get("ses_b"); err != nil || got != nil {
		t.Errorf("got %+v, %v: the database was dead", got, err)
	}
	s.Close()
	if n := strings.Count(logged.String(), "fails"); n != 1 || !strings.Contains(logged.String(), "answers again") {
		t.Errorf("%d failures were logged, want the first, and their end:\n%s", n, logged.String())
	}
}

// noSecretInMessages looks for the password in whatever is said while things go wrong.
func noSecretInMessages(t *testing.T, pg *pgtest.Server) {
	var logged bytes.Buffer
	url := pg.Database("secrets")
	s, err := OpenPostgres(url+"&application_name="+pgtest.Password, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	pg.SQL("secrets", "ALTER TABLE modec_sessions RENAME TO gone")
	_, err = s.Get("ses_a")
	said := fmt.Sprint(err, storeFailed(err))
	s.Close()
	for _, bad := range []string{url + "&sslpassword=" + pgtest.Password + "&sslmode=x", url + "&pool_max_conns=x",
		strings.Replace(url, "127.0.0.1", "bad host", 1), strings.Replace(url, "sslmode=disable", "sslmode=require", 1),
		strings.Replace(url, "@", "@@", 1), "postgres://modec:%zz" + pgtest.Password + "@h/x"} {
		_, err := OpenPostgres(bad, slog.New(slog.NewTextHandler(&logged, nil)))
		if err == nil {
			t.Errorf("%s was opened", bad)
		}
		said += fmt.Sprintln(err)
	}
	if all := said + logged.String(); strings.Contains(all, pgtest.Password) {
		t.Errorf("the password is in:\n%s", all)
	}
	if strings.Contains(said, "modec_sessions") || !strings.Contains(logged.String(), "does not exist") {
		t.Errorf("callers learn %q, and the log has %q", said, logged.String())
	}
}
