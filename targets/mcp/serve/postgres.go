package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"modec.dev/modec/compiler/secret"
)

// postgres is a Store in a database of PostgreSQL that several servers share. Nothing is
// kept in memory, and a change is one transaction, which is committed before it is
// acknowledged.
type postgres struct {
	pool    *pgxpool.Pool
	log     *slog.Logger
	mask    func(string) string
	ahead   atomic.Int64 // of the database's clock, in nanoseconds
	failing atomic.Bool  // what was logged last
}

// databasePatience is how long a call waits for a database that was lost.
const databasePatience = 5 * time.Second

// databaseDefaults are settings of a connection where its URL has others not. They end
// what a server leaves behind that was cut off.
var databaseDefaults = map[string]string{
	"application_name":                    "modec",
	"statement_timeout":                   "10s",
	"lock_timeout":                        "5s",
	"idle_in_transaction_session_timeout": "10s",
}

// migrations make the tables, one version after the other. What is here never changes:
// a new form is a new entry.
var migrations = []string{`
	CREATE TABLE modec_sessions (
		id text PRIMARY KEY,
		parent text NOT NULL,
		used bigint NOT NULL, -- nanoseconds since 1970
		data text NOT NULL,   -- JSON; a message may have U+0000, which jsonb cannot
		change text NOT NULL  -- the name of the last change
	);
	CREATE INDEX modec_sessions_parent ON modec_sessions (parent) WHERE parent <> '';
	CREATE INDEX modec_sessions_used ON modec_sessions (used);
	CREATE TABLE modec_count (n bigint NOT NULL);
	INSERT INTO modec_count VALUES (0)`,
}

// migrating is the advisory lock of whoever changes the tables.
const migrating = 0x6d6f646563

// IsPostgres reports whether a place where sessions are kept is a database of PostgreSQL.
func IsPostgres(place string) bool {
	scheme, _, ok := strings.Cut(place, "://")
	return ok && (scheme == "postgres" || scheme == "postgresql")
}

// OpenPostgres opens a store in the database of a URL as pgx reads it: what the URL says
// of TLS, timeouts and the pool holds. It makes the tables where there are none. No error
// and no line of the log has a secret of the URL.
func OpenPostgres(address string, log *slog.Logger) (Store, error) {
	mask := masked(address)
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("got a URL of a database that cannot be read: %s", whyUnread(err, mask))
	}
	for name, value := range databaseDefaults {
		if _, ok := config.ConnConfig.RuntimeParams[name]; !ok {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = databasePatience
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("the sessions cannot be kept: %s", mask(err.Error()))
	}
	p := &postgres{pool: pool, log: log, mask: mask}
	ctx, cancel := context.WithTimeout(context.Background(), 2*databasePatience)
	defer cancel()
	for _, step := range []func(context.Context) error{p.durable, p.migrate, p.setClock} {
		if err := step(ctx); err != nil {
			pool.Close()
			return nil, fmt.Errorf("the database cannot keep sessions: %s", mask(err.Error()))
		}
	}
	return p, nil
}

// whyUnread says what is wrong with a URL, without the URL.
func whyUnread(err error, mask func(string) string) string {
	var inner *pgconn.ParseConfigError
	if !errors.As(err, &inner) {
		return mask(err.Error())
	}
	text := inner.Error()
	if _, after, ok := strings.Cut(text, "`: "); ok {
		text = after
	}
	return mask(text)
}

// masked returns a function that masks the secrets of a URL in a text, and what looks
// like one.
func masked(address string) func(string) string {
	pairs := []string{}
	add := func(text string) {
		if text != "" && text != secret.Mask {
			pairs = append(pairs, text, secret.Mask)
		}
	}
	add(address)
	if u, err := url.Parse(address); err == nil {
		password, _ := u.User.Password()
		add(password)
		add(url.QueryEscape(password))
		add(url.PathEscape(password))
		for name, values := range u.Query() {
			if strings.Contains(name, "password") {
				for _, v := range values {
					add(v)
					add(url.QueryEscape(v))
				}
			}
		}
	}
	r := strings.NewReplacer(pairs...)
	return func(text string) string { return secret.Text(r.Replace(text)) }
}

// durable refuses a database that acknowledges what a crash may take back.
func (p *postgres) durable(ctx context.Context) error {
	var commit string
	if err := p.pool.QueryRow(ctx, "SELECT current_setting('synchronous_commit')").Scan(&commit); err != nil {
		return err
	}
	if commit == "off" {
		return errors.New("it acknowledges changes before they are on the disk; " +
			"put synchronous_commit=on into the URL")
	}
	return nil
}

// migrate brings the tables to the form of this version. Of several servers that start at
// once, one does, and the others wait.
func (p *postgres) migrate(ctx context.Context) error {
	var there bool
	err := p.pool.QueryRow(ctx, "SELECT to_regclass('modec_schema') IS NOT NULL").Scan(&there)
	if err != nil {
		return err
	}
	const read = "SELECT coalesce(max(version), 0) FROM modec_schema"
	var version int
	if there { // without the right to make tables
		if err := p.pool.QueryRow(ctx, read).Scan(&version); err != nil || version == len(migrations) {
			return err
		}
	}
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrating)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS modec_schema (version integer NOT NULL)"); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, read).Scan(&version); err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("it has version %d, and this modec reads version %d: a newer modec wrote it",
				version, len(migrations))
		}
		for ; version < len(migrations); version++ {
			if _, err := tx.Exec(ctx, migrations[version]); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, fmt.Sprintf("DELETE FROM modec_schema; INSERT INTO modec_schema VALUES (%d)", version))
		return err
	})
}

// setClock compares the clocks: sessions age by the one of the database, which the servers
// share.
func (p *postgres) setClock(ctx context.Context) error {
	var there time.Time
	before := time.Now()
	if err := p.pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&there); err != nil {
		return err
	}
	here := before.Add(time.Since(before) / 2)
	p.ahead.Store(int64(there.Sub(here)))
	return nil
}

// Now is the time by the clock of the database.
func (p *postgres) Now() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) }

// databaseError is an error of the database. What it says is for callers: the details are
// in the log.
type databaseError struct {
	unknown bool // whether the change was kept
	refused bool // the database answers, and says no
}

func (e *databaseError) Error() string {
	switch {
	case e.unknown:
		return "the database was lost before it answered: whether the change was kept is not known. " +
			"Look at the task before you ask again"
	case e.refused:
		return "the database refused, and nothing was changed. The log of the server says why"
	}
	return "the database does not answer, and nothing was changed. Ask again later"
}

// passes reports whether an error may be gone the next time: the connection was lost, the
// database restarts, or others were in the way.
func passes(err error) bool {
	var no *pgconn.PgError
	if !errors.As(err, &no) {
		return !errors.Is(err, context.DeadlineExceeded)
	}
	switch {
	case strings.HasPrefix(no.Code, "08"), strings.HasPrefix(no.Code, "57P"): // connection; shutdown and start
		return true
	case no.Code == "53300", no.Code == "40001", no.Code == "40P01": // too many connections; conflicts
		return true
	}
	return false
}

// undecided reports whether a statement may have been committed although it failed: the
// connection ended before the answer.
func undecided(err error) bool {
	var no *pgconn.PgError
	switch {
	case errors.As(err, &no):
		return strings.HasPrefix(no.Code, "08") || strings.HasPrefix(no.Code, "57P")
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return false
	}
	return !pgconn.SafeToRetry(err)
}

// attempt is what a call does with a connection. It is done again while its error passes
// and time is left, so it has to be idempotent.
func (p *postgres) attempt(fn func(context.Context, *pgxpool.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), databasePatience)
	defer cancel()
	var err error
	unknown := false
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		var conn *pgxpool.Conn
		if conn, err = p.pool.Acquire(ctx); err == nil {
			err = fn(ctx, conn)
			conn.Release()
			var own *notOfDatabase
			switch {
			case err == nil, errors.Is(err, pgx.ErrNoRows):
				p.answers()
				return err
			case errors.As(err, &own):
				return own.error
			}
			unknown = unknown || undecided(err)
		}
		if !passes(err) {
			break
		}
		select {
		case <-time.After(wait):
			continue
		case <-ctx.Done():
		}
		break
	}
	p.fails(err)
	var no *pgconn.PgError
	return &databaseError{unknown: unknown, refused: errors.As(err, &no) && !passes(err)}
}

// notOfDatabase is an error of a caller's own, which ends the attempts.
type notOfDatabase struct{ error }

// fails logs the first of several failures, and answers that they are over.
func (p *postgres) fails(err error) {
	if !p.failing.Swap(true) {
		p.log.Error("the database of the sessions fails", "error", p.mask(err.Error()))
	}
}

func (p *postgres) answers() {
	if p.failing.Load() && p.failing.Swap(false) {
		p.log.Info("the database of the sessions answers again")
	}
}

// storable reports whether PostgreSQL has a text: no session has another id.
func storable(id string) bool { return utf8.ValidString(id) && !strings.Contains(id, "\x00") }

func (p *postgres) Add(s *Session, limit int) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	// One statement and so one transaction: the row of the count is locked until the commit,
	// and servers add one after the other.
	const add = `WITH room AS (UPDATE modec_count SET n = n + 1 WHERE n < $6 RETURNING n)
		INSERT INTO modec_sessions (id, parent, used, data, change) SELECT $1, $2, $3, $4, $5 FROM room`
	change, again := rand.Text(), false
	return p.attempt(func(ctx context.Context, conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, add, s.ID, s.Parent, s.Used.UnixNano(), string(data), change, limit)
		var no *pgconn.PgError
		switch {
		case errors.As(err, &no) && no.Code == "23505" && again: // the attempt before was committed
			return nil
		case err != nil:
			again = again || undecided(err)
			return err
		case tag.RowsAffected() == 1:
			return nil
		}
		if again {
			var there bool
			err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM modec_sessions WHERE id = $1)", s.ID).Scan(&there)
			if err != nil || there {
				return err
			}
		}
		return &notOfDatabase{tooMany(limit)}
	})
}

func (p *postgres) Get(id string) (*Session, error) {
	if !storable(id) {
		return nil, nil
	}
	var data string
	err := p.attempt(func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, "SELECT data FROM modec_sessions WHERE id = $1", id).Scan(&data)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, readOnly(err)
	}
	return decodeSession(data)
}

// readOnly returns the error of a call that changes nothing, whatever became of it.
func readOnly(err error) error {
	if e, ok := errors.AsType[*databaseError](err); ok {
		return &databaseError{refused: e.refused}
	}
	return err
}

// decided is a change of a session that has been decided, and is to be kept.
type decided struct {
	session    *Session
	data       string
	from, name string // of the change before, and of this one
}

const keepChange = "UPDATE modec_sessions SET used = $2, data = $3, change = $4 WHERE id = $1 AND change = $5"

func (c *decided) keep(ctx context.Context, q interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}) (bool, error) {
	tag, err := q.Exec(ctx, keepChange, c.session.ID, c.session.Used.UnixNano(), c.data, c.name, c.from)
	return tag.RowsAffected() == 1, err
}

// Update decides a change once, with the row locked. Where the connection is lost then,
// the same change is tried again by its name: it is kept if the session is as it was.
func (p *postgres) Update(id string, fn func(*Session) error) (*Session, error) {
	if !storable(id) {
		return nil, nil
	}
	var c *decided
	unknown := false // whether c may have been committed
	err := p.attempt(func(ctx context.Context, conn *pgxpool.Conn) error {
		if c == nil {
			tx, err := conn.Begin(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback(ctx) }() // after a commit it does nothing
			if c, err = decide(ctx, tx, id, fn); err != nil {
				return err
			}
			if _, err := c.keep(ctx, tx); err != nil {
				return err
			}
			err = tx.Commit(ctx)
			unknown = err != nil && undecided(err)
			return err
		}
		kept, err := c.keep(ctx, conn)
		if err != nil || kept {
			unknown = unknown || err != nil && undecided(err)
			return err
		}
		var last string
		err = conn.QueryRow(ctx, "SELECT change FROM modec_sessions WHERE id = $1", id).Scan(&last)
		switch {
		case err == nil && last == c.name:
			return nil
		case err != nil && !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		return &notOfDatabase{&databaseError{unknown: unknown}} // others changed it since, or it is gone
	})
	switch e, ok := errors.AsType[*databaseError](err); {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case ok:
		return nil, &databaseError{unknown: unknown, refused: e.refused}
	case err != nil:
		return nil, err
	}
	return c.session, nil
}

// decide calls fn with a session whose row is locked.
func decide(ctx context.Context, tx pgx.Tx, id string, fn func(*Session) error) (*decided, error) {
	var data string
	c := decided{name: rand.Text()}
	row := tx.QueryRow(ctx, "SELECT data, change FROM modec_sessions WHERE id = $1 FOR UPDATE", id)
	if err := row.Scan(&data, &c.from); err != nil {
		return nil, err
	}
	s, err := decodeSession(data)
	if err == nil {
		err = fn(s)
	}
	if err != nil {
		return nil, &notOfDatabase{err}
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, &notOfDatabase{err}
	}
	c.session, c.data = s, string(b)
	return &c, nil
}

func (p *postgres) Children(id string) (out []*Session, err error) {
	if !storable(id) || id == "" {
		return nil, nil
	}
	err = p.attempt(func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, "SELECT data FROM modec_sessions WHERE parent = $1 AND parent <> ''", id)
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		out = nil
		for _, data := range list {
			s, err := decodeSession(data)
			if err != nil {
				return &notOfDatabase{err}
			}
			out = append(out, s)
		}
		return nil
	})
	if err != nil {
		return nil, readOnly(err)
	}
	sortOldest(out)
	return out, nil
}

// Clean leaves sessions that are being changed, and counts anew.
func (p *postgres) Clean(before time.Time) (n int, err error) {
	err = p.attempt(func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SELECT n FROM modec_count FOR UPDATE"); err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, `DELETE FROM modec_sessions WHERE id IN
				(SELECT id FROM modec_sessions WHERE used < $1 FOR UPDATE SKIP LOCKED)`, before.UnixNano())
			if err != nil {
				return err
			}
			n = int(tag.RowsAffected())
			_, err = tx.Exec(ctx, "UPDATE modec_count SET n = (SELECT count(*) FROM modec_sessions)")
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), databasePatience)
	defer cancel()
	return n, p.setClock(ctx)
}

func (p *postgres) Close() error {
	p.pool.Close()
	return nil
}
