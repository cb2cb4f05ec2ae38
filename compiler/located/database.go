package located

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"

	_ "modernc.org/sqlite" // the driver
	"modernc.org/sqlite/vfs"
)

// Database is an SQLite file that is read where it lies: nothing is written beside
// it, and no lock is taken.
type Database struct {
	db  *sql.DB
	vfs *vfs.FS
	// Pending is set where a log beside the file holds changes that are not in it
	// yet: they are not seen.
	Pending bool
}

// maxDatabase is the most bytes of a database; editors keep hundreds of megabytes.
const maxDatabase = 4 << 30

// OpenDatabase opens a database below fsys. One in WAL mode is read as it was when
// its log was last written back.
func OpenDatabase(fsys fs.FS, name string) (*Database, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("got no regular file, want a database")
	case info.Size() > maxDatabase:
		return nil, fmt.Errorf("got more than %d GiB, want a smaller database", maxDatabase>>30)
	}
	id, files, err := vfs.New(quiet{fsys, name})
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: name}).EscapedPath()+"?vfs="+id+"&mode=ro&immutable=1")
	if err != nil {
		files.Close()
		return nil, err
	}
	db.SetMaxOpenConns(1)
	d := &Database{db: db, vfs: files}
	if log, err := fs.Stat(fsys, name+"-wal"); err == nil && log.Size() > 0 {
		d.Pending = true
	}
	return d, nil
}

// Close frees the database.
func (d *Database) Close() error { return errors.Join(d.db.Close(), d.vfs.Close()) }

// maxRows bounds what a query may return.
const maxRows = 100_000

// Rows returns the rows of a query as text, a NULL as "".
func (d *Database) Rows(query string, args ...any) ([][]string, error) {
	rows, err := d.db.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out [][]string
	for rows.Next() {
		cells := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := make([]string, len(columns))
		for i := range cells {
			row[i] = cells[i].String
		}
		if out = append(out, row); len(out) > maxRows {
			return nil, fmt.Errorf("got more than %d rows, want fewer", maxRows)
		}
	}
	return out, rows.Err()
}

// quiet is a file system of one database that says it has no log: reading one in
// WAL mode would want shared memory beside it.
type quiet struct {
	fs.FS
	name string
}

func (q quiet) Open(name string) (fs.File, error) {
	if name != q.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := q.FS.Open(name)
	if err != nil {
		return nil, err
	}
	s, ok := f.(io.ReadSeeker)
	if !ok {
		f.Close()
		return nil, errors.New("got a file that cannot be read from everywhere")
	}
	return &quietFile{File: f, from: s}, nil
}

// quietFile gives the two bytes of the header that say how the file is written the
// values of a database without a log (sqlite.org/fileformat.html, offsets 18, 19).
type quietFile struct {
	fs.File
	from io.ReadSeeker
	at   int64
}

func (f *quietFile) Seek(offset int64, whence int) (int64, error) {
	at, err := f.from.Seek(offset, whence)
	f.at = at
	return at, err
}

func (f *quietFile) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	for i := int64(18); i <= 19; i++ {
		if j := i - f.at; j >= 0 && j < int64(n) && p[j] == 2 {
			p[j] = 1
		}
	}
	f.at += int64(n)
	return n, err
}
