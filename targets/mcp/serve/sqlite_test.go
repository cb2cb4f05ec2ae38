package serve

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestStores holds the stores to the same behaviour.
func TestStores(t *testing.T) {
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := store()
			defer s.Close()
			holdStore(t, name, s)
		})
	}
}

// holdStore holds an empty store to what each of them does.
func holdStore(t *testing.T, name string, s Store) {
	now := time.Now().Truncate(0)
	a := &Session{ID: "ses_a", Task: "tsk_a", Mode: "code", Status: Active, Created: now, Used: now, Messages: []Message{{"user", "☃ \"x\"", now}}, History: []Switch{{To: "code", At: now}}}
	b := &Session{ID: "ses_b", Parent: "ses_a", Created: now.Add(1), Used: now.Add(-time.Hour)}
	for _, x := range []*Session{a, b} {
		if err := s.Add(x, 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add(&Session{ID: "ses_c"}, 2); err == nil {
		t.Error("a session more than the limit was added")
	}
	got, err := s.Get("ses_a")
	if err != nil || got.Messages[0].Text != "☃ \"x\"" || !got.Created.Equal(now) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := s.Get("ses_x"); got != nil || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := s.Update("ses_a", func(s *Session) error { s.Mode = "ask"; s.Messages[0].Text = "y"; return nil }); err != nil || got.Mode != "ask" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got.Mode != "code" || got.Messages[0].Text != "☃ \"x\"" {
		t.Error("what was read changes with the store")
	}
	if _, err := s.Update("ses_a", func(s *Session) error { s.Mode = "debug"; return fmt.Errorf("no") }); err == nil {
		t.Error("a refused change has no error")
	}
	if got, err := s.Update("ses_x", func(*Session) error { t.Error("called"); return nil }); got != nil || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, _ := s.Get("ses_a"); got.Mode != "ask" {
		t.Errorf("got %+v: a refused change was kept, or one that was not is gone", got)
	}
	if list, err := s.Children("ses_a"); err != nil || len(list) != 1 || list[0].ID != "ses_b" {
		t.Errorf("got %v, %v", list, err)
	}
	if list, err := s.Children(""); err != nil || name != "memory" && len(list) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
	if n, err := s.Clean(now.Add(-time.Minute)); n != 1 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if got, _ := s.Get("ses_b"); got != nil {
		t.Error("a session that was cleaned is there")
	}
}

// TestSQLiteRefuses what is no store of this version.
func TestSQLiteRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	made := func(name, statement string) string {
		file := filepath.Join(dir, name)
		db, err := sql.Open("sqlite", file)
		if err == nil {
			_, err = db.Exec(statement)
		}
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
		return file
	}
	for file, want := range map[string]string{
		text:                                "not a database",
		dir:                                 "sessions cannot be kept",
		made("other", "CREATE TABLE x (y)"): "database of something else",
		made("newer", "PRAGMA user_version = 99"): "a newer modec wrote it",
	} {
		if s, err := OpenSQLite(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", file, err, want)
			if err == nil {
				s.Close()
			}
		}
	}
	file := filepath.Join(dir, "mine")
	s, err := OpenSQLite(file)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("got %v, %v: others may read it", info.Mode(), err)
	}
}

// writerEnv makes the test binary a process that writes sessions until it is killed.
const writerEnv = "MODEC_TEST_WRITER"

// TestMain is that process, or the tests.
func TestMain(m *testing.M) {
	if file := os.Getenv(writerEnv); file != "" {
		writeForever(file)
	}
	os.Exit(m.Run())
}

// writeForever acknowledges each change on standard output after the store did.
func writeForever(file string) {
	s, err := OpenSQLite(file)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("ses_%d_%d", os.Getpid(), i)
		now := time.Now()
		if err := s.Add(&Session{ID: id, Mode: "code", Created: now, Used: now}, 1<<30); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("added", id)
		if _, err := s.Update(id, func(s *Session) error { s.Mode = "ask"; return nil }); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("updated", id)
	}
}

// TestKilledInTheMiddle kills a writer a hundred times with SIGKILL: every change that
// it had acknowledged is there afterwards.
func TestKilledInTheMiddle(t *testing.T) {
	if testing.Short() {
		t.Log("ten rounds of a hundred: -short")
	}
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	file := filepath.Join(t.TempDir(), "sessions.db")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := map[string]string{}
	for i := range rounds {
		cmd := exec.Command(own)
		cmd.Env = append(os.Environ(), writerEnv+"="+file)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		n := 0
		for lines.Scan() {
			word, id, _ := strings.Cut(lines.Text(), " ")
			if word != "added" && word != "updated" {
				t.Fatal(lines.Text())
			}
			acknowledged[id] = word
			if n++; n == 3+i%17 { // here or there, and some time into the next change
				time.Sleep(time.Duration(i%7) * 100 * time.Microsecond)
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		if n < 3 {
			t.Fatalf("round %d: the writer ended by itself after %d changes", i, n)
		}
	}
	s, err := OpenSQLite(file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for id, word := range acknowledged {
		got, err := s.Get(id)
		if err != nil || got == nil || word == "updated" && got.Mode != "ask" {
			t.Errorf("%s was %s, and is %+v, %v", id, word, got, err)
		}
	}
	t.Logf("%d acknowledged changes of %d writers are there", len(acknowledged), rounds)
}

// A file that is removed or replaced underneath keeps nothing, and the server says so: it acknowledges no task, and
// answers for none, whose file is gone.
func TestStateFileIsGone(t *testing.T) {
	for name, take := range map[string]func(file string) error{
		"removed": os.Remove,
		"replaced": func(file string) error {
			if err := os.Rename(file, file+".old"); err != nil {
				return err
			}
			return os.WriteFile(file, nil, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "sessions.db")
			store, err := OpenSQLite(file)
			if err != nil {
				t.Fatal(err)
			}
			cs := connect(t, serve(t, Options{Store: store}), "", eras[0], nil)
			task, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "code"})
			if err := take(file); err != nil {
				t.Fatal(err)
			}
			for tool, args := range map[string]map[string]any{
				"create_task":       {"mode_slug": "code"},
				"switch_mode":       {"session_id": task.SessionID, "new_mode_slug": "architect"},
				"get_task_info":     {"session_id": task.SessionID},
				"complete_task":     {"session_id": task.SessionID},
				"validate_tool_use": {"session_id": task.SessionID, "tool_name": "read"},
			} {
				_, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
				var e *jsonrpc.Error
				if !errors.As(err, &e) || e.Code != jsonrpc.CodeInternalError || !strings.Contains(e.Message, "removed or replaced") {
					t.Errorf("%s: got %v", tool, err)
				}
			}
		})
	}
}
