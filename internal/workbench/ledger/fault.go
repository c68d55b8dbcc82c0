package ledger

import (
	"errors"
	"syscall"

	"modernc.org/sqlite"

	"scv/internal/home"
	"scv/internal/wire"
)

// Primary result codes of SQLite.
const (
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeNotADB   = 26
	primaryCode  = 0xff
	noSpaceFirst = "free some space on that disk, then start again"
)

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
	case codeFull:
		return wire.Refuse(wire.ReasonUnavailable, noSpaceFirst, "the disk of the ledger %s is full (%v)", path, err)
	case codeIO:
		return wire.Refuse(wire.ReasonUnavailable, noSpaceFirst,
			"the ledger %s cannot be read or written; its disk may be full (%v)", path, err)
	}
	return err
}
