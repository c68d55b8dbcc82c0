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

// originals are the private copies of prompts.
type originals struct{ *Store }

// keepPrivate writes the originals of prompts that masking changed, flushed: the job's row, which says that there is
// one, comes after.
func (s originals) keepPrivate(prompts map[wire.JobID]row.Prompt) error {
	dir := ""
	for id, p := range prompts {
		if p.Original == "" {
			continue
		}
		name := privateName(s.home, id, p.Revision)
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

func (s originals) writePrivate(name, text string) (err error) {
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
func (s originals) dropPrivate(jobs []row.Job) {
	for i := range jobs {
		j := &jobs[i]
		if !j.Private && j.Revision == 0 || !j.State.Final() || j.State == wire.StateInterrupted && !j.Dismissed {
			continue
		}
		s.removePrivate(j.Job.Job, 0, j.Revision)
	}
}

// privateName is the file of a prompt's original: each revision has its own, so that a crash in the middle of a change
// leaves the one that the row speaks of.
func privateName(h *home.Home, id wire.JobID, revision uint64) string {
	if revision == 0 {
		return h.PrivateName(id)
	}
	return fmt.Sprintf("%s.%d", h.PrivateName(id), revision)
}

// dropReplaced removes the originals that newer revisions of a prompt stand for.
func (s originals) dropReplaced(prompts map[wire.JobID]row.Prompt) {
	for id, p := range prompts {
		if p.Revision > 0 {
			s.removePrivate(id, 0, p.Revision-1)
		}
	}
}

// maxRevisions bounds how many revisions of a prompt are looked for.
const maxRevisions = 1000

func (s originals) removePrivate(id wire.JobID, first, last uint64) {
	for n := max(first, last-min(last, maxRevisions)); n <= last; n++ {
		err := s.home.Root().Remove(privateName(s.home, id, n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Error("the private copy of a prompt cannot be removed", "job", id, "error", err)
		}
	}
}
