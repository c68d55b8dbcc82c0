package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"scv/internal/failpoint"
	"scv/internal/home"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// keepPrivate writes the originals of prompts that masking changed, flushed: the job's row, which says that there is
// one, comes after.
func (s *Store) keepPrivate(prompts map[wire.JobID]row.Prompt) error {
	dir := ""
	for id, p := range prompts {
		if p.Original == "" {
			continue
		}
		name := s.home.PrivateName(id)
		if err := s.writePrivate(name, p.Original); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		dir = path.Dir(name)
	}
	if dir == "" {
		return nil
	}
	return syncDir(s.home, dir)
}

// syncDir flushes the names in a folder below the home.
func syncDir(h *home.Home, name string) error {
	d, err := h.Root().Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (s *Store) writePrivate(name, text string) (err error) {
	root := s.home.Root()
	f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, home.FileMode)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			root.Remove(name)
		}
	}()
	if err := f.Chmod(home.FileMode); err != nil {
		return err
	}
	if _, err := failpoint.Write(failpoint.LedgerPrivate, []byte(text), f.Write); err != nil {
		return err
	}
	return f.Sync()
}

// dropPrivate removes the originals of jobs that can no longer run: finished, but for interrupted ones, which may be
// resumed until they are dismissed.
func (s *Store) dropPrivate(jobs []row.Job) {
	for i := range jobs {
		j := &jobs[i]
		if !j.Private || !j.State.Final() || j.State == wire.StateInterrupted && !j.Dismissed {
			continue
		}
		err := s.home.Root().Remove(s.home.PrivateName(j.Job.Job))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Error("the private copy of a prompt cannot be removed", "job", j.Job.Job, "error", err)
		}
	}
}
