package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"scv/internal/home"
	"scv/internal/repo/git"
	"scv/internal/run/proc"
	"scv/internal/wire"
)

// Made is a worktree that is ready. Cwd is where the agent starts: the wished subdirectory if the commit has it. Notes
// are sentences about what could not be brought along.
type Made struct {
	Ref   wire.WorktreeRef
	Cwd   string
	Notes []string
	Fresh bool // this call made it
}

// undoTime bounds the cleaning up behind a failed or cancelled Create.
const undoTime = time.Minute

// Create makes the worktree of an intent that the caller has made durable. After an error nothing of it is left, or the
// error says what is. A second call for the same intent finishes or repeats the first, and answers as it did.
func (t *Trees) Create(ctx context.Context, in Intent) (Made, error) {
	r := record{V: recordV, Intent: in}
	if err := t.check(r); err != nil {
		return Made{}, err
	}
	release, err := t.turn(ctx, in.Common)
	if err != nil {
		return Made{}, err
	}
	defer release()
	if done, err := t.before(ctx, r); err != nil || done != nil {
		return t.again(done, err)
	}
	if err := t.ensureGroup(r.group()); err != nil {
		return Made{}, refused("the directory for the worktree could not be made", err)
	}
	exists, err := t.git.branchExists(ctx, r)
	if err != nil {
		return Made{}, refused("git cannot tell whether branch "+r.Branch+" exists", err)
	}
	if exists {
		return Made{}, wire.Refuse(wire.ReasonConflict, "start a job of its own from it: --worktree --base "+r.Branch,
			"branch %s exists already, and worktree %s does not: it was removed, or somebody made the branch meanwhile.", r.Branch, r.Name)
	}
	if err := t.save(r, true); err != nil {
		return Made{}, refused("the record of the worktree could not be written", err)
	}
	notes, err := t.build(ctx, &r)
	if err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
		defer cancel()
		if left := t.undo(clean, r); left != nil {
			return Made{}, errors.Join(err, left)
		}
		return Made{}, err
	}
	return Made{Ref: r.Ref(), Cwd: t.cwd(r), Notes: notes, Fresh: true}, nil
}

// before looks what an earlier Create of the same intent left: a finished worktree is returned, a half-made one undone.
func (t *Trees) before(ctx context.Context, r record) (*record, error) {
	old, err := t.load(filepath.Base(r.group()), r.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, refused("the record of worktree "+r.Name+" cannot be read", err)
	case old.Intent != r.Intent:
		return nil, wire.Refuse(wire.ReasonConflict, "", "another worktree has the name %s already.", r.Name)
	case old.Made:
		return &old, t.verify(old, old.dir())
	}
	return nil, t.undo(ctx, old)
}

// again is the answer to a Create that found an earlier one of the same intent.
func (s *shelf) again(done *record, err error) (Made, error) {
	if err != nil {
		return Made{}, refused("an earlier attempt at the worktree is in the way", err)
	}
	return Made{Ref: done.Ref(), Cwd: s.cwd(*done)}, nil
}

func (s *shelf) cwd(r record) string {
	dir := filepath.Join(r.Path, r.Sub)
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return r.Path
	}
	return dir
}

// build lets git add the worktree, proves the link, marks it, brings files along and completes the record.
func (t *Trees) build(ctx context.Context, r *record) ([]string, error) {
	_, err := t.git.Run(ctx, git.Call{
		At: r.source(), Limit: git.LongTime, Drivers: true, Extra: []string{git.MakingMark + "=" + r.Path},
		Args: []string{
			"worktree", "add", "--quiet", "--no-track", "--lock", "--reason", r.reason(t.boot), "-b", r.Branch,
			"--end-of-options", r.Path, r.Commit,
		},
	})
	if err != nil {
		return nil, refused("git could not add the worktree", err)
	}
	if r.Link, err = t.linkOf(r.dir()); err != nil {
		return nil, refused("the fresh worktree cannot be read", err)
	}
	info, err := t.home.Root().Lstat(r.dir())
	if err != nil {
		return nil, refused("the fresh worktree cannot be read", err)
	}
	r.Device, r.Inode = identity(info)
	if err := t.verify(*r, r.dir()); err != nil {
		return nil, refused("the fresh worktree cannot be trusted", err)
	}
	if err := t.mark(*r); err != nil {
		return nil, refused("the worktree could not be marked", err)
	}
	notes, err := t.bring(ctx, r)
	if err != nil {
		return nil, err
	}
	r.Made, r.MadeUnix = true, t.now().Unix()
	if err := t.save(*r, false); err != nil {
		return nil, refused("the record of the worktree could not be written", err)
	}
	return notes, nil
}

// marker is the file in a worktree's git directory that says whose it is, also when the home's record is lost.
type marker struct {
	Name string         `json:"name"`
	Run  wire.RunHandle `json:"run,omitempty"`
	Boot string         `json:"boot_id"`
}

func (t *Trees) mark(r record) error {
	data, err := json.Marshal(marker{Name: r.Name, Run: r.Run, Boot: t.boot})
	if err != nil {
		return fmt.Errorf("write the marker: %w", err)
	}
	root, err := os.OpenRoot(r.Link)
	if err != nil {
		return fmt.Errorf("write the marker: %w", err)
	}
	defer root.Close()
	if err := root.WriteFile(markerName, data, home.FileMode); err != nil {
		return fmt.Errorf("write the marker: %w", err)
	}
	return nil
}

func (r record) reason(boot string) string { return lockLead + r.Name + " boot " + boot }

// Hold locks a worktree while a run uses it, so that nobody's git prunes or removes it; Create leaves it held.
func (t *Trees) Hold(ctx context.Context, path string) error {
	return t.lock(ctx, path, func(r record, held bool) []string {
		if held {
			return nil
		}
		return []string{"worktree", "lock", "--reason", r.reason(t.boot), "--end-of-options", r.Path}
	})
}

// Release unlocks a worktree that Hold or Create locked. A lock of the owner stays.
func (t *Trees) Release(ctx context.Context, path string) error {
	return t.lock(ctx, path, func(r record, held bool) []string {
		if !held {
			return nil
		}
		return []string{"worktree", "unlock", "--end-of-options", r.Path}
	})
}

func (t *Trees) lock(ctx context.Context, path string, args func(record, bool) []string) error {
	r, err := t.find(path)
	if err != nil {
		return err
	}
	release, err := t.turn(ctx, r.Common)
	if err != nil {
		return err
	}
	defer release()
	if err := t.verify(r, r.dir()); err != nil {
		return refused("the lock of worktree "+r.Name+" cannot be changed", err)
	}
	reason, locked, err := lockReason(r)
	if err != nil {
		return refused("the lock of worktree "+r.Name+" cannot be read", err)
	}
	if locked && !strings.HasPrefix(reason, lockLead) {
		return nil
	}
	if a := args(r, locked); a != nil {
		if _, err := t.git.Run(ctx, git.Call{At: r.at(), Args: a}); err != nil {
			return refused("the lock of worktree "+r.Name+" cannot be changed", err)
		}
	}
	return nil
}

// Undo takes back a Create that a crash cut off. A worktree that was finished is never touched (conflict); one that git
// is still making, or that a process works in, stays (busy). Nothing there is no error.
func (t *Trees) Undo(ctx context.Context, in Intent) error {
	r := record{V: recordV, Intent: in}
	if err := t.check(r); err != nil {
		return err
	}
	release, err := t.turn(ctx, in.Common)
	if err != nil {
		return err
	}
	defer release()
	old, err := t.load(filepath.Base(r.group()), r.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the record comes first: without it git was never asked
		return nil
	case err != nil:
		return refused("the record of worktree "+r.Name+" cannot be read", err)
	case old.Made || old.Intent != r.Intent:
		return wire.Refuse(wire.ReasonConflict, "", "worktree %s is finished, so it is not taken back.", r.Name)
	}
	return t.undo(ctx, old)
}

// undo removes what a Create that did not finish left, in the order that leaves it repeatable: the record goes last.
// No agent was ever started in it.
func (t *Trees) undo(ctx context.Context, r record) error {
	if list, err := proc.Marked(git.MakingMark, r.Path); err != nil {
		return refused("whether git still makes worktree "+r.Name+" cannot be told", err)
	} else if len(list) > 0 {
		return wire.Refuse(wire.ReasonBusy, "wait until it has ended", "git (process %d) still makes worktree %s.", list[0].PID, r.Name)
	}
	if err := nobodyIn(r.Path); err != nil {
		return err
	}
	if err := t.plainDir(r.group()); err != nil {
		return refused("what is left of worktree "+r.Name+" cannot be removed", err)
	}
	if err := forgetEntry(r); err != nil {
		return refused("git's entry of worktree "+r.Name+" cannot be removed", err)
	}
	if err := removeAll(t.home.Root(), r.dir()); err != nil {
		return refused("what is left of worktree "+r.Name+" cannot be removed", err)
	}
	// Only the branch that this Create made: one that is not where it put it stays.
	_, err := t.git.Run(ctx, git.Call{At: r.admin(r.Common), Args: []string{"update-ref", "-d", "refs/heads/" + r.Branch, r.Commit}})
	if err != nil {
		if exists, lookErr := t.git.branchExists(ctx, r); lookErr != nil || exists {
			return refused("branch "+r.Branch+" of the worktree that failed is left", err)
		}
	}
	if err := t.git.unname(ctx, r, false); err != nil {
		return refused("what the worktree that failed began with is left", err)
	}
	if err := t.home.Root().Remove(r.file()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refused("the record of worktree "+r.Name+" cannot be removed", err)
	}
	return nil
}

// forgetEntry removes the repository's own entry of a half-made worktree. Git cannot be asked to, since it may not
// even list one that was cut off in its first moment.
func forgetEntry(r record) error {
	root, err := os.OpenRoot(filepath.Join(r.Common, "worktrees"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the entries: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("list the entries: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), r.Name) {
			continue
		}
		back, err := git.ReadLink(root, e.Name()+"/gitdir")
		ours := err == nil && back == filepath.Join(r.Path, ".git")
		if errors.Is(err, fs.ErrNotExist) {
			ours = e.Name() == r.Name // names are drawn once: git had not yet come to write it
		}
		if !ours {
			continue
		}
		if err := root.RemoveAll(e.Name()); err != nil {
			return fmt.Errorf("remove entry %s: %w", e.Name(), err)
		}
	}
	return nil
}
