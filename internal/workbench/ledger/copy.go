package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"scv/internal/home"
)

// Names of the ledger's copies below the home, newest first. They are made while nobody writes the ledger.
const (
	copyName = "state/ledger.copy"
	oldCopy  = "state/ledger.copy.1"
)

// spare is the room that must be left on the disk after a copy was made.
const spare = 64 << 20

// Copies are the paths of the ledger's copies that exist, newest first.
func Copies(h *home.Home) (paths []string) {
	for _, name := range []string{copyName, oldCopy} {
		if info, err := h.Root().Lstat(name); err == nil && info.Mode().IsRegular() {
			paths = append(paths, h.Root().Name()+"/"+name)
		}
	}
	return paths
}

// KeepCopy copies a ledger that is closed, for the case that it is lost, and keeps the copy before that. It does nothing
// when the ledger has not changed since, or when the disk is short of room. The caller holds the daemon's lock.
func KeepCopy(h *home.Home) error {
	root := h.Root()
	info, err := root.Lstat("state/ledger.db")
	if err != nil {
		return err
	}
	if last, err := root.Lstat(copyName); err == nil && last.Size() == info.Size() && last.ModTime().Equal(info.ModTime()) {
		return nil
	}
	if wal, err := root.Lstat("state/ledger.db-wal"); err == nil && wal.Size() > 0 {
		return errors.New("the ledger was not closed cleanly, so it is not copied")
	}
	var st unix.Statfs_t
	if err := unix.Statfs(h.LedgerPath(), &st); err == nil && int64(st.Bavail)*int64(st.Bsize) < info.Size()+spare {
		return nil
	}
	const draft = copyName + ".new"
	if err := copyFile(root, "state/ledger.db", draft); err != nil {
		return errors.Join(fmt.Errorf("copy the ledger: %w", err), dropName(root, draft))
	}
	if err := root.Chtimes(draft, info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	if err := root.Rename(copyName, oldCopy); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.Rename(draft, copyName); err != nil {
		return err
	}
	return syncDir(h, stateDir)
}

func copyFile(root *os.Root, from, to string) (err error) {
	src, err := root.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := root.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, home.FileMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		err = dst.Sync()
	}
	return errors.Join(err, dst.Close())
}

func dropName(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Sound reads every page of a database and reports what is wrong with it; it changes nothing. A layout that this build
// does not know is a *NewerLayoutError.
func Sound(ctx context.Context, path string) error {
	err := sound(ctx, readerDSN(path))
	if err != nil && writeProtected(err) {
		err = sound(ctx, readerDSN(path)+immutable)
	}
	return err
}

func sound(ctx context.Context, dsn string) error {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := layoutOf(ctx, db); err != nil {
		return err
	}
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said); err != nil {
		return plain("check the ledger", err)
	}
	if said != "ok" {
		return fmt.Errorf("the ledger is damaged: %s", said)
	}
	return nil
}

// CountJobs counts the jobs of a ledger, dismissed ones too.
func CountJobs(ctx context.Context, s *Store) (n int, err error) {
	r, err := s.reader()
	if err == nil {
		err = r.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM job").Scan(&n)
	}
	return n, err
}

// Broken reports whether an error says that the database is damaged, so that it has to be built anew.
func Broken(err error) bool {
	code, ok := codeOf(err)
	return ok && (code == codeCorrupt || code == codeNotADB)
}

// Missing reports whether a home that was used has no ledger. A new home has none either, and is not meant.
func Missing(h *home.Home) bool {
	if info, err := h.Root().Lstat("state/ledger.db"); err == nil && info.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if len(Copies(h)) > 0 {
		return true
	}
	info, err := h.Root().Lstat(acceptedName)
	return err == nil && info.Size() > 0
}

// salvage takes from accepted.jsonl what a new ledger must not begin anew when the old one was lost: the home's id, the
// numbers that were given, and the count of starts, on which revisions rest. The jobs themselves are not brought back.
func (s *Store) salvage() error {
	last := uint64(0)
	for a, err := range Accepted(s.home) {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a new home
		case err != nil && a.Job.Num == 0:
			continue // a damaged line; those behind it count
		case err != nil:
			return err
		}
		if a.Approval != nil {
			s.counters.Approvals = max(s.counters.Approvals, a.Approval.Num)
		}
		if a.Rule != nil {
			s.counters.Rules = max(s.counters.Rules, a.Rule.Num)
		}
		last = max(last, a.Job.Num)
		s.starts = max(s.starts, a.Job.Rev>>32)
		if s.id == "" {
			s.id = a.Job.Home
		}
		if a.Job.Conversation == nil {
			continue
		}
		agent := a.Job.Conversation.Agent()
		n, err := strconv.ParseUint(strings.TrimPrefix(string(*a.Job.Conversation), agent+"-"), 10, 64)
		if agent == "" || err != nil {
			continue
		}
		if s.counters.Conversations == nil {
			s.counters.Conversations = map[string]uint64{}
		}
		s.counters.Conversations[agent] = max(s.counters.Conversations[agent], n)
	}
	if last == 0 {
		return nil
	}
	s.counters.Job, s.counters.Runs = last, last // a job has at most one run of its own
	s.lost = fmt.Sprintf("the ledger was lost and begun anew: the jobs up to job-%d are not listed, and their logs are below %s."+
		" If you have a copy of the ledger, stop the daemon and put it back", last, filepath.Join(s.home.Path(), "runs"))
	s.log.Warn("the ledger was lost", "last job", last)
	return nil
}
