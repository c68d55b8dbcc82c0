// Package rebuild makes a ledger anew from what lies beside a lost one: the newest sound copy, the wishes and ends in
// accepted.jsonl, and the directories of runs. What it makes replaces the lost ledger in one rename, and the lost one is
// set aside, never removed. Its caller holds the daemon's lock.
//
// What it promises: every job that was accepted is there, a finished one with its state and result. A job whose run's
// directory exists is as unfinished as before and is settled by the launcher, which finds the run again as after any
// start. A job that never ran is queued and paused. Rules and histories are those of the copy. When the disk lost the
// last lines of accepted.jsonl too, the jobs in them are not promised.
package rebuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"scv/internal/home"
	"scv/internal/workbench/ledger"
)

// draftName is the ledger under construction, below the home.
const draftName = "state/ledger.draft"

// A Report is what a rebuild did.
type Report struct {
	Jobs   int    // in the new ledger
	Copy   bool   // a copy of the ledger, or what of it was sound, was the base
	Lines  int    // lines of accepted.jsonl that were read
	Bad    int    // lines that could not be
	Paused int    // jobs that never ran and wait for the owner
	Aside  string // where the lost ledger was put; empty when there was none
}

// Sentence tells the owner what was done.
func (r Report) Sentence() string {
	text := fmt.Sprintf("the ledger was lost and built anew: %d jobs from ", r.Jobs)
	if r.Copy {
		text += "its copy and "
	}
	text += "accepted.jsonl"
	if r.Paused > 0 {
		text += fmt.Sprintf("; %d of them never ran and are paused", r.Paused)
	}
	if r.Bad > 0 {
		text += fmt.Sprintf("; %d damaged lines were passed over", r.Bad)
	}
	if r.Aside != "" {
		text += "; the lost one lies in " + home.Pretty(r.Aside)
	}
	return text
}

// Run builds the home's ledger anew and puts it in place.
func Run(ctx context.Context, h *home.Home, log *slog.Logger, now time.Time) (Report, error) {
	var report Report
	path := filepath.Join(h.Path(), filepath.FromSlash(draftName))
	if err := clearDraft(h); err != nil {
		return report, err
	}
	copied, err := base(ctx, h, path, log)
	if err != nil {
		return report, err
	}
	report.Copy = copied
	store, err := ledger.OpenDraft(ctx, h, path, log)
	if err != nil {
		return report, fmt.Errorf("begin a new ledger: %w", err)
	}
	err = fill(ctx, h, store, &report)
	if err := errors.Join(err, store.Close(ctx)); err != nil {
		return report, errors.Join(fmt.Errorf("build the ledger anew: %w", err), clearDraft(h))
	}
	if report.Aside, err = setAside(h, now); err != nil {
		return report, errors.Join(fmt.Errorf("set the lost ledger aside: %w", err), clearDraft(h))
	}
	if err := h.Root().Rename(draftName, "state/ledger.db"); err != nil {
		return report, fmt.Errorf("put the new ledger in place: %w", err)
	}
	log.Warn("the ledger was built anew", "jobs", report.Jobs, "copy", report.Copy, "bad_lines", report.Bad, "aside", report.Aside)
	return report, nil
}

func clearDraft(h *home.Home) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := h.Root().Remove(draftName + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// base copies the ledger itself to path, if it is sound after all, else its newest sound copy, if there is one.
func base(ctx context.Context, h *home.Home, path string, log *slog.Logger) (bool, error) {
	from := ledger.Copies(h)
	if info, err := h.Root().Lstat("state/ledger.db"); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		from = append([]string{h.LedgerPath()}, from...)
	}
	for _, from := range from {
		if err := ledger.Sound(ctx, from); err != nil {
			if _, newer := errors.AsType[*ledger.NewerLayoutError](err); newer {
				return false, err
			}
			log.Warn("a copy of the ledger is of no use", "copy", from, "error", err)
			continue
		}
		err := copyTo(from+"-wal", path+"-wal")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		return true, copyTo(from, path)
	}
	return false, nil
}

func copyTo(from, to string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, home.FileMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// setAside moves a lost ledger away, with its journal, which would be played back into the next one.
func setAside(h *home.Home, now time.Time) (string, error) {
	root := h.Root()
	dir := ""
	for _, suffix := range []string{"-wal", "-shm", ""} {
		name := "state/ledger.db" + suffix
		if info, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 && suffix == "" {
			continue
		} else if err != nil {
			return "", err
		}
		if dir == "" {
			dir = "state/broken-" + now.UTC().Format("20060102T150405")
			if err := root.Mkdir(dir, home.DirMode); err != nil && !errors.Is(err, fs.ErrExist) {
				return "", err
			}
		}
		if err := root.Rename(name, dir+"/ledger.db"+suffix); err != nil {
			return "", err
		}
	}
	if dir == "" {
		return "", nil
	}
	return filepath.Join(h.Path(), filepath.FromSlash(dir)), nil
}
