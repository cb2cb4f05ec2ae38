package serve

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", without cgo
)

// database is a Store in a file of SQLite. Several servers may share it: nothing is
// kept in memory, and a change is one transaction.
type database struct {
	db   *sql.DB
	file string
	is   os.FileInfo // what file was when it was opened
	mu   sync.Mutex  // of writers: SQLite has one at a time, and those of this process wait here
}

// connections is how many are open at most: each takes files.
const connections = 4

// stateSchema is the form of the file, by user_version.
const stateSchema = 1

// OpenSQLite opens a store in a file that only its owner can read. It creates the file
// where there is none. Every change is on the disk when it is acknowledged (WAL,
// synchronous=FULL).
func OpenSQLite(file string) (Store, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("the sessions cannot be kept: %w", err)
	}
	if f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, fmt.Errorf("the sessions cannot be kept: %w", err)
	} else if err := f.Close(); err != nil {
		return nil, err
	}
	q := url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"},
		"_txlock": {"immediate"},
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	d := &database{db: db, file: file}
	if d.is, err = os.Stat(file); err == nil {
		err = d.prepare()
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("%s cannot keep sessions: %w", file, err)
	}
	return d, nil
}

// gone reports an error where the file of the sessions was removed or is another one: what SQLite writes would be
// gone with the process, and nobody would know.
func (d *database) gone() error {
	if now, err := os.Stat(d.file); err != nil || !os.SameFile(d.is, now) {
		return errors.New("their file was removed or replaced while the server ran; start the server again")
	}
	return nil
}

func (d *database) prepare() error {
	return d.write(func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		switch version {
		case stateSchema:
			return nil
		case 0:
			var tables int
			if err := tx.QueryRow("SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
				return err
			}
			if tables > 0 {
				return errors.New("the file is a database of something else; name a new file")
			}
		default:
			return fmt.Errorf("the file has version %d, and this modec reads version %d: a newer modec wrote it",
				version, stateSchema)
		}
		_, err := tx.Exec(`
			CREATE TABLE sessions (id TEXT PRIMARY KEY, parent TEXT NOT NULL, used INTEGER NOT NULL, data TEXT NOT NULL)
				STRICT, WITHOUT ROWID;
			CREATE INDEX sessions_parent ON sessions (parent) WHERE parent <> '';
			CREATE INDEX sessions_used ON sessions (used);
			PRAGMA user_version = 1`)
		return err
	})
}

// write runs fn in a transaction that nobody else writes beside.
func (d *database) write(fn func(*sql.Tx) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.gone(); err != nil {
		return err // what a write that was not acknowledged left in it decides nothing
	}
	tx, err := d.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return d.gone() // after it was written, so that nothing is acknowledged that was gone before
}

func decodeSession(data string) (*Session, error) {
	var s Session
	if err := json.Unmarshal([]byte(data), &s); err != nil {
		return nil, fmt.Errorf("got a session that cannot be read: %w", err)
	}
	return &s, nil
}

func (d *database) Add(s *Session, limit int) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return d.write(func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRow("SELECT count(*) FROM sessions").Scan(&n); err != nil {
			return err
		}
		if n >= limit {
			return tooMany(limit)
		}
		_, err := tx.Exec("INSERT INTO sessions VALUES (?, ?, ?, ?)", s.ID, s.Parent, s.Used.UnixNano(), string(data))
		return err
	})
}

func (d *database) Get(id string) (*Session, error) {
	var data string
	err := d.db.QueryRow("SELECT data FROM sessions WHERE id = ?", id).Scan(&data)
	if gone := d.gone(); gone != nil {
		return nil, gone
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return decodeSession(data)
}

func (d *database) Update(id string, fn func(*Session) error) (s *Session, err error) {
	err = d.write(func(tx *sql.Tx) error {
		var data string
		switch err := tx.QueryRow("SELECT data FROM sessions WHERE id = ?", id).Scan(&data); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		have, err := decodeSession(data)
		if err != nil {
			return err
		}
		if err := fn(have); err != nil {
			return err
		}
		b, err := json.Marshal(have)
		if err != nil {
			return err
		}
		s = have
		_, err = tx.Exec("UPDATE sessions SET used = ?, data = ? WHERE id = ?", have.Used.UnixNano(), string(b), id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (d *database) Children(id string) ([]*Session, error) {
	rows, err := d.db.Query("SELECT data FROM sessions WHERE parent = ? AND parent <> ''", id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*Session
	for rows.Next() {
		var data string
		if err := rows.Scan(&data); err != nil {
			return nil, err
		}
		s, err := decodeSession(data)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	sortOldest(out)
	return out, rows.Err()
}

func (d *database) Clean(before time.Time) (int, error) {
	var n int64
	err := d.write(func(tx *sql.Tx) error {
		res, err := tx.Exec("DELETE FROM sessions WHERE used < ?", before.UnixNano())
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	})
	return int(n), err
}

func (d *database) Close() error { return d.db.Close() }
