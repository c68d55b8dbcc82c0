// Package ledger keeps what must survive: sessions, conversations, jobs, prompts, results and runs, in one SQLite
// database with one writer. Store is the only way in and has one caller at a time, the hub's writer; the daemon's
// server reads through the same Store, and a client without a daemon through a Reader.
//
// A batch is one transaction and at most one flush. Beside the database, each wish of the owner is appended to
// accepted.jsonl (checksums, no flush), which serves when the database is lost, and the few prompts that masking changed
// lie in private/ until their job can no longer run. When Store fails, nothing of the batch counts: the private copies
// and lines that came before the transaction say what was asked, not what was accepted.
package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	_ "modernc.org/sqlite" // the driver

	"scv/internal/failpoint"
	"scv/internal/home"
	"scv/internal/workbench/row"
)

// Layout is the number of the tables' form. It rises with a breaking change only.
const Layout = 1

// stateDir is the ledger's folder below the home.
const stateDir = "state"

// schemaStep counts the additive steps of this layout; an older build of the same layout ignores what they added.
const schemaStep = 5

// A NewerLayoutError says that the ledger was written by a newer build; it was not touched.
type NewerLayoutError struct {
	Found int // in the file
	Known int // by this build
}

// Error names both numbers.
func (e *NewerLayoutError) Error() string {
	return fmt.Sprintf("the ledger has layout %d, and this build of scv knows up to %d: use the newer scv, or another SCV_HOME", e.Found, e.Known)
}

// A Store is the ledger opened for writing; the caller holds the daemon's lock. Its methods may be called from any
// goroutine, Store from one at a time.
type Store struct {
	home     *home.Home
	path     string // of the database
	log      *slog.Logger
	db       *sql.DB // one connection that writes
	read     *sql.DB // connections that read, opened on first use
	stmts    statements
	accepted accepted
	id       string
	starts   uint64
	counters row.Counters // as stored
	lost     string       // a sentence when the ledger before this one was lost
	ahead    *ahead       // what Load wants, being read since Open; nil when there is none

	writing sync.Mutex // held by who uses db or ahead

	mu   sync.Mutex // guards busy and shut
	shut bool
}

// Open opens the ledger of a home, or makes it. A ledger of a newer layout is a *NewerLayoutError; one that is damaged, a
// link or on a full disk is a *wire.Error with what can be done about it.
func Open(ctx context.Context, h *home.Home, log *slog.Logger) (*Store, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Store{home: h, path: h.LedgerPath(), log: log}
	fresh, err := prepare(h, s.path)
	if err != nil {
		return nil, unopened(h, err)
	}
	if fresh {
		err = s.salvage()
	} else if s.ahead, err = look(ctx, s.path); err != nil {
		err = unopened(h, err)
	}
	if err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, unopened(h, err)
	}
	if err := s.accepted.open(h); err != nil {
		s.closeAll()
		return nil, err
	}
	return s, nil
}

// OpenDraft opens a ledger under construction at a path of its own, beside the one of the home: to build anew what was
// lost. It goes on from what accepted.jsonl says of numbers, and writes nothing there.
func OpenDraft(ctx context.Context, h *home.Home, path string, log *slog.Logger) (*Store, error) {
	s := &Store{home: h, path: path, log: log}
	if _, err := prepare(h, path); err != nil {
		return nil, err
	}
	if err := s.salvage(); err != nil {
		return nil, err
	}
	return s, s.open(ctx)
}

// Counters are the numbers that were given so far.
func (s *Store) Counters() row.Counters { return s.counters }

// higher is the higher of each number.
func higher(a, b row.Counters) row.Counters {
	out := row.Counters{Job: max(a.Job, b.Job), Runs: max(a.Runs, b.Runs), Conversations: maps.Clone(b.Conversations)}
	for agent, n := range a.Conversations {
		if out.Conversations == nil {
			out.Conversations = map[string]uint64{}
		}
		out.Conversations[agent] = max(out.Conversations[agent], n)
	}
	return out
}

// prepare makes the database's file, so that it has our mode and not the umask's.
func prepare(h *home.Home, path string) (fresh bool, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, home.FileMode)
	if err != nil {
		return false, fmt.Errorf("open the ledger: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("look at the ledger: %w", err)
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("the ledger %s is not a plain file", path)
	}
	if info.Mode().Perm() != home.FileMode {
		if err := f.Chmod(home.FileMode); err != nil {
			return false, fmt.Errorf("make the ledger private: %w", err)
		}
	}
	if info.Size() > 0 {
		return false, nil
	}
	return true, syncDir(h, stateDir)
}

// open connects, brings the tables up to date and counts this start.
func (s *Store) open(ctx context.Context) error {
	db, err := sql.Open("sqlite", writerDSN(s.path))
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	db.SetMaxOpenConns(1)
	s.db = db
	if err := s.begin(ctx); err != nil {
		s.closeAll()
		return plain("open the ledger", err)
	}
	if err := s.stmts.prepare(ctx, db); err != nil {
		s.closeAll()
		return plain("open the ledger", err)
	}
	return nil
}

func writerDSN(path string) string {
	return dsn(path, "_txlock=immediate", "_pragma=busy_timeout(5000)", "_pragma=journal_mode(WAL)", "_pragma=synchronous("+failpoint.Word("synchronous", "FULL")+")",
		"_pragma=fullfsync(1)", "_pragma=checkpoint_fullfsync(1)", "_pragma=foreign_keys(1)", "_pragma=trusted_schema(0)",
		"_pragma=wal_autocheckpoint(200)", "_pragma=journal_size_limit(4194304)", "_pragma=mmap_size(0)", "_pragma=cache_size(-1024)")
}

func readerDSN(path string) string {
	return dsn(path, "mode=ro", "_pragma=busy_timeout(5000)", "_pragma=query_only(1)", "_pragma=trusted_schema(0)", "_pragma=cache_size(-1024)")
}

// dsn names a database file as a URI, so that no character of the path is taken for an option.
func dsn(path string, options ...string) string {
	escaped := (&url.URL{Path: path}).EscapedPath()
	return "file:" + escaped + "?" + strings.Join(options, "&")
}

// begin makes the tables and counts the start, in one transaction.
func (s *Store) begin(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := makeTables(ctx, tx); err != nil {
		return err
	}
	meta, err := readMeta(ctx, tx)
	if err != nil {
		return err
	}
	if id := meta["home"]; id != "" {
		s.id = id
	} else if s.id == "" {
		s.id = newUUID()
	}
	n, _ := strconv.ParseUint(meta["starts"], 10, 64)
	s.starts = max(n, s.starts) + 1
	if text := meta["counters"]; text != "" {
		var stored row.Counters
		if err := json.Unmarshal([]byte(text), &stored); err != nil {
			return fmt.Errorf("read the counters: %w", err)
		}
		s.counters = higher(s.counters, stored)
	}
	counters, err := encode(s.counters)
	if err != nil {
		return err
	}
	for key, value := range map[string]string{
		"home": s.id, "starts": strconv.FormatUint(s.starts, 10), "layout": strconv.Itoa(Layout), "counters": counters,
	} {
		if _, err := tx.ExecContext(ctx, putMeta, key, value); err != nil {
			return fmt.Errorf("write %s: %w", key, err)
		}
	}
	return tx.Commit()
}

// makeTables adds the tables of the steps that the ledger has not made. One of a later build of this layout has them all,
// and keeps its number.
func makeTables(ctx context.Context, tx *sql.Tx) error {
	var step int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&step); err != nil {
		return fmt.Errorf("read the number of the tables: %w", err)
	}
	if step >= schemaStep {
		return nil
	}
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "PRAGMA user_version="+strconv.Itoa(schemaStep)); err != nil {
		return fmt.Errorf("number the tables: %w", err)
	}
	return nil
}

// newUUID draws a random uuid, version 4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// checkLayout looks at the layout without writing a byte.
func checkLayout(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", readerDSN(path))
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	return layoutOf(ctx, db)
}

// CheckLayout looks whether this build can serve a home's ledger, which another process may be writing. It changes
// nothing; a home without a ledger is fine, and one that is damaged is a matter for Open.
func CheckLayout(ctx context.Context, h *home.Home) error {
	if _, err := os.Stat(h.LedgerPath()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := checkLayout(ctx, h.LedgerPath())
	if newer, ok := errors.AsType[*NewerLayoutError](err); ok {
		return newer
	}
	return nil
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func layoutOf(ctx context.Context, q queryer) error {
	var made bool
	err := scanAll(ctx, q, func(scan func(...any) error) error { made = true; return nil },
		"SELECT 1 FROM sqlite_schema WHERE type='table' AND name='meta'")
	if err != nil {
		return plain("look at the ledger", err)
	}
	if !made {
		return nil
	}
	meta, err := readMeta(ctx, q)
	if err != nil {
		return plain("look at the ledger", err)
	}
	found, _ := strconv.Atoi(meta["layout"])
	if found > Layout {
		return &NewerLayoutError{Found: found, Known: Layout}
	}
	return nil
}

func readMeta(ctx context.Context, q queryer) (map[string]string, error) {
	meta := map[string]string{}
	err := scanAll(ctx, q, func(scan func(...any) error) error {
		var key, value string
		if err := scan(&key, &value); err != nil {
			return err
		}
		meta[key] = value
		return nil
	}, "SELECT key, value FROM meta")
	if err != nil {
		return nil, fmt.Errorf("read the ledger's own facts: %w", err)
	}
	return meta, nil
}

// scanAll runs a query and hands each row to one.
func scanAll(ctx context.Context, q queryer, one func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := one(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// HomeID is the uuid of this home, drawn once.
func (s *Store) HomeID() string { return s.id }

// Close gives the database back; what was stored is on disk already. Calling it again does nothing.
func (s *Store) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil
	}
	s.shut = true
	return errors.Join(s.closeAll(), s.accepted.close())
}

func (s *Store) closeAll() error {
	s.ahead.wait()
	s.stmts.close()
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
		s.read = nil
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
		s.db = nil
	}
	return errors.Join(errs...)
}

// plain says in words what went wrong; the cause stays in the chain.
func plain(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: not allowed: %w", doing, err)
	case isHeld(err):
		return &held{doing, err}
	}
	return fmt.Errorf("%s: %w", doing, err)
}
