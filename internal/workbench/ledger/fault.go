package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"

	"scv/internal/home"
	"scv/internal/wire"
)

// Primary result codes of SQLite.
const (
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeNotADB   = 26
	primaryCode  = 0xff
	noSpaceFirst = "free some space on that disk, then start again"
)

// held is the error of a ledger that another program keeps locked for longer than its users are waited for.
type held struct {
	doing string
	cause error
}

// Error says what can be done about it; what the database calls it helps nobody.
func (e *held) Error() string {
	return e.doing + ": another program has locked state/ledger.db, such as a backup or a database browser; end that one, and this goes on by itself"
}

func (e *held) Unwrap() error { return e.cause }

// isHeld reports whether an error is that of a ledger which somebody else has locked.
func isHeld(err error) bool {
	code, ok := codeOf(err)
	return ok && (code == codeBusy || code == codeLocked)
}

// damaged is the refusal of a damaged ledger, with its cause.
type damaged struct {
	refusal *wire.Error
	cause   error
}

func (e *damaged) Error() string { return e.refusal.Message }

func (e *damaged) Unwrap() []error { return []error{e.refusal, e.cause} }

// codeOf is the primary result code of an error of SQLite.
func codeOf(err error) (int, bool) {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0, false
	}
	return e.Code() & primaryCode, true
}

// unopened says what can be done about a ledger that could not be opened; the cause stays in the sentence.
func unopened(h *home.Home, err error) error {
	path := home.Pretty(h.LedgerPath())
	if errors.Is(err, syscall.ELOOP) {
		return wire.Refuse(wire.ReasonRefused, "look who made it, then remove it: rm "+path,
			"%s is a link, and SCV follows none there", path)
	}
	code, ok := codeOf(err)
	if !ok {
		return err
	}
	switch code {
	case codeCorrupt, codeNotADB:
		return &damaged{refusal: wire.Refuse(wire.ReasonUnavailable, "start the daemon, which builds it anew from what lies beside it: scv start   Or: scv doctor --rebuild-ledger",
			"the ledger %s is damaged (%v)", path, err), cause: err}
	case codeBusy, codeLocked:
		return wire.Refuse(wire.ReasonBusy, "find it: fuser "+path+"   Then start again", "another program has locked the ledger %s", path)
	case codeFull:
		return wire.Refuse(wire.ReasonUnavailable, noSpaceFirst, "the disk of the ledger %s is full (%v)", path, err)
	case codeIO:
		return wire.Refuse(wire.ReasonUnavailable, noSpaceFirst,
			"the ledger %s cannot be read or written; its disk may be full (%v)", path, err)
	}
	return err
}

// undo lets SQLite take back what a daemon had half done that was killed while it made the ledger: until then the file has
// no write-ahead log, and who opens it only to read cannot. The caller has the home's lock.
func undo(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path, "mode=rw", "_pragma=busy_timeout(5000)", "_pragma=trusted_schema(0)"))
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	var tables int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	return errors.Join(plain("take back what was half done in the ledger", err), db.Close())
}
