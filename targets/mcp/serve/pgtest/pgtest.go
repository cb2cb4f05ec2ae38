//go:build unix

// Package pgtest starts a real PostgreSQL for tests: in a folder of its own, at a port of
// its own and by a user who may do nothing else.
package pgtest

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Password is the one of the database's user: no log and no message may have it.
const Password = "canary-Pa55word-7c1f"

// Server is a PostgreSQL that runs.
type Server struct {
	t         testing.TB
	bin, data string
	port      int
	as        *syscall.SysProcAttr

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd ended
	log  lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Start starts a server, which ends with the test. It returns nil, and the test says that
// it did not run, where PostgreSQL is not installed or the tests are the short ones.
func Start(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Log("not run: a database is started without -short")
		return nil
	}
	bin := programs()
	if bin == "" {
		t.Log("not run: PostgreSQL is not installed")
		return nil
	}
	dir, err := os.MkdirTemp("", "modec-pg-")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, bin: bin, data: filepath.Join(dir, "data"), as: &syscall.SysProcAttr{}}
	t.Cleanup(func() {
		s.stop(syscall.SIGINT)
		os.RemoveAll(dir)
	})
	pw := filepath.Join(dir, "password")
	if err := os.WriteFile(pw, []byte(Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // which PostgreSQL refuses to run as
		uid, gid := nobody(t)
		s.as.Credential = &syscall.Credential{Uid: uid, Gid: gid}
		for _, name := range []string{dir, pw} {
			if err := os.Chown(name, int(uid), int(gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	init := exec.Command(filepath.Join(bin, "initdb"), "-D", s.data, "-U", "modec", "--pwfile", pw,
		"--auth", "scram-sha-256", "-E", "UTF8", "--locale", "C", "--no-sync")
	init.SysProcAttr, init.Dir = s.as, dir
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	s.Restart()
	return s
}

// programs returns the folder of the newest PostgreSQL that is installed, or "".
func programs() string {
	if name, err := exec.LookPath("initdb"); err == nil {
		if name, err = filepath.EvalSymlinks(name); err == nil {
			return filepath.Dir(name)
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // where Debian has them
	version := func(name string) int {
		n, _ := strconv.Atoi(strings.Split(name, "/")[4])
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
}

func nobody(t testing.TB) (uid, gid uint32) {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			id, _ := strconv.ParseUint(u.Uid, 10, 32)
			group, _ := strconv.ParseUint(u.Gid, 10, 32)
			return uint32(id), uint32(group)
		}
	}
	t.Fatal("there is no user without rights")
	return 0, 0
}

// URL returns the address of a database, with the password.
func (s *Server) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("modec", Password),
		Host: fmt.Sprintf("127.0.0.1:%d", s.port), Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Database makes an empty database, and returns its address.
func (s *Server) Database(name string) string {
	s.t.Helper()
	s.SQL("postgres", "CREATE DATABASE "+name)
	return s.URL(name)
}

// SQL runs statements, and returns what they print.
func (s *Server) SQL(database, statements string) string {
	s.t.Helper()
	out, err := s.psql(database, statements)
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", statements, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *Server) psql(database, statements string) ([]byte, error) {
	return exec.Command(filepath.Join(s.bin, "psql"), "-XAtqv", "ON_ERROR_STOP=1", "-c", statements, s.URL(database)).
		CombinedOutput()
}

// Kill ends the server with SIGKILL. Its own processes end by themselves then.
func (s *Server) Kill() { s.stop(syscall.SIGKILL) }

func (s *Server) stop(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(sig)
	<-s.done
	s.cmd = nil
}

// Restart starts the server, which was killed, and waits until it answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	said, deadline := "", time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if s.cmd == nil {
			cmd := exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data, "-p", strconv.Itoa(s.port),
				"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=100")
			cmd.SysProcAttr, cmd.Dir, cmd.Stdout, cmd.Stderr = s.as, s.data, &s.log, &s.log
			if err := cmd.Start(); err != nil {
				s.t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				_ = cmd.Wait()
				close(done)
			}()
			s.cmd, s.done = cmd, done
		}
		out, err := s.psql("postgres", "SELECT 1")
		if err == nil {
			return
		}
		said = fmt.Sprintf("%v %s", err, out)
		select {
		case <-s.done: // processes of the one before are still there
			s.cmd = nil
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.t.Fatalf("PostgreSQL does not start: %s\n%s", said, s.log.String())
}

// Log is what the server wrote.
func (s *Server) Log() string { return s.log.String() }
