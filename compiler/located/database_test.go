package located

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A database is read in either journal mode, also while somebody writes to it, and
// nothing is left beside it.
func TestDatabase(t *testing.T) {
	for _, mode := range []string{"delete", "wal"} {
		dir := t.TempDir()
		name := filepath.Join(dir, "a b.db")
		db, err := sql.Open("sqlite", name)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{"PRAGMA journal_mode=" + mode, "CREATE TABLE t (k TEXT, v BLOB)", "INSERT INTO t VALUES ('a', '1'), ('b', NULL)", "PRAGMA wal_checkpoint(TRUNCATE)"} {
			if _, err := db.Exec(q); err != nil {
				t.Fatal(q, err)
			}
		}
		if mode == "wal" { // not written back yet
			if _, err := db.Exec("INSERT INTO t VALUES ('c', '3')"); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := os.ReadDir(dir)
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		d, err := OpenDatabase(root.FS(), "a b.db")
		if err != nil {
			t.Fatal(mode, err)
		}
		rows, err := d.Rows("SELECT k, v FROM t WHERE k < ? ORDER BY k", "c")
		if diff := cmp.Diff([][]string{{"a", "1"}, {"b", ""}}, rows); diff != "" || err != nil {
			t.Errorf("%s: %v %s", mode, err, diff)
		}
		if _, err := d.Rows("INSERT INTO t VALUES ('x', 'y')"); err == nil {
			t.Errorf("%s: a row was written", mode)
		}
		if d.Pending != (mode == "wal") {
			t.Errorf("%s: pending %t", mode, d.Pending)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		after, _ := os.ReadDir(dir)
		if len(before) != len(after) {
			t.Errorf("%s: %v before, %v after", mode, before, after)
		}
		db.Close()
		root.Close()
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.db"), []byte(strings.Repeat("no database ", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d, err := OpenDatabase(root.FS(), "x.db")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Rows("SELECT 1 FROM t"); err == nil {
		t.Error("text was read as a database")
	}
	if _, err := OpenDatabase(root.FS(), "none.db"); err == nil {
		t.Error("a database that is not there was opened")
	}
}
