package ledger

import (
	"errors"
	"path/filepath"
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

// unopened says what can be done about a ledger that could not be opened; the cause stays in the sentence.
func unopened(h *home.Home, err error) error {
	path := home.Pretty(h.LedgerPath())
	if errors.Is(err, syscall.ELOOP) {
		return wire.Refuse(wire.ReasonRefused, "look who made it, then remove it: rm "+path,
			"%s is a link, and SCV follows none there", path)
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch e.Code() & primaryCode {
	case codeCorrupt, codeNotADB:
		// The journal beside it must go along: it would be played back into the next ledger.
		away := filepath.Join(filepath.Dir(path), "broken")
		return wire.Refuse(wire.ReasonUnavailable,
			"put a copy of it back, or go on without its jobs, whose logs stay: mkdir -p "+away+" && mv "+path+"* "+away+"/",
			"the ledger %s is damaged (%v)", path, err)
	case codeFull:
		return wire.Refuse(wire.ReasonUnavailable, noSpaceFirst, "the disk of the ledger %s is full (%v)", path, err)
	case codeIO:
		return wire.Refuse(wire.ReasonUnavailable, noSpaceFirst,
			"the ledger %s cannot be read or written; its disk may be full (%v)", path, err)
	}
	return err
}
