package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"scv/internal/repo/git"
	"scv/internal/run/proc"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// derivedNames are folders that a tool makes again from what is committed. They count only where git ignores them.
func derivedNames() []string {
	return []string{
		".build", ".dart_tool", ".eggs", ".hypothesis", ".next", ".nuxt", ".nyc_output", ".parcel-cache", ".svelte-kit", ".turbo", ".venv",
		"DerivedData", "build", "dist", "htmlcov", "target", "venv",
	}
}

// Derived is a folder of a worktree that can be made again. Path is below the worktree.
type Derived struct {
	Path  string
	Bytes int64
}

// Cleaning is what Clean says of one worktree: what may go or went, and why something stays.
type Cleaning struct {
	Ref     wire.WorktreeRef
	Folders []Derived
	Kept    string // sentence; empty when all of Folders may go or went
}

// A Cleaner frees space in worktrees that stay.
type Cleaner struct{ *Trees }

// Clean lists the folders of known derived files in one worktree, or in all for an empty path, and removes them only with
// apply. A folder counts when git ignores it, its name or its CACHEDIR.TAG says that a tool makes it again, and it holds
// no repository and nothing that SCV itself put there. A worktree that a process or a job (see Removal.Busy) works in is
// left alone; one of them is no reason to stop.
func (c Cleaner) Clean(ctx context.Context, at string, apply bool, busy func(path string) error) ([]Cleaning, error) {
	var records []record
	if at != "" {
		r, err := c.find(at)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	} else {
		found, err := c.inventory()
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			if e.record != nil {
				records = append(records, *e.record)
			}
		}
	}
	var all []Cleaning
	for _, r := range records {
		if !r.Made {
			continue
		}
		one := Cleaning{Ref: r.Ref()}
		var err error
		if one.Folders, err = c.cleanOne(ctx, r, apply, busy); err != nil {
			one.Kept = plain.Line(err.Error())
		}
		all = append(all, one)
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
	}
	return all, nil
}

func (c Cleaner) cleanOne(ctx context.Context, r record, apply bool, busy func(path string) error) ([]Derived, error) {
	release, err := c.turn(ctx, r.Common)
	if err != nil {
		return nil, err
	}
	defer release()
	s, err := c.look(ctx, r, r.dir(), git.Call{Drivers: true})
	if err != nil {
		return nil, refused("what worktree "+r.Name+" holds cannot be told", err)
	}
	w := walk{status: s, left: -1}
	if err := w.open(c.Trees, r, r.dir()); err != nil {
		return nil, refused("what worktree "+r.Name+" holds cannot be told", err)
	}
	defer w.root.Close()
	folders, err := w.derived(ctx)
	if err != nil || len(folders) == 0 {
		return nil, refused("what worktree "+r.Name+" holds cannot be told", err)
	}
	if busy != nil {
		err = busy(r.Path)
	}
	if err == nil {
		err = nobodyIn(r.Path)
	}
	switch {
	case !apply:
		return folders, err
	case err != nil:
		return nil, err
	}
	for i, f := range folders {
		if err := removeAll(w.root, f.Path); err != nil {
			return folders[:i], refused(fmt.Sprintf("%s of worktree %s could not be removed whole", plain.Quote(f.Path), r.Name), err)
		}
	}
	return folders, nil
}

// derived lists the derived folders among what git ignores, largest first.
func (w *walk) derived(ctx context.Context) ([]Derived, error) {
	var all []Derived
	for _, name := range w.status.ignored {
		dir, ok := strings.CutSuffix(name, "/")
		if !ok {
			continue
		}
		found, err := w.derivedIn(ctx, dir)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b Derived) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path))
	})
	return all, nil
}

// derivedIn looks through an ignored directory, down to the first folders that can be made again.
func (w *walk) derivedIn(ctx context.Context, dir string) (all []Derived, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	info, err := w.root.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if slices.Contains(derivedNames(), path.Base(dir)) || w.isCache(dir) {
		bytes, ours, err := w.holds(dir)
		if err != nil || ours {
			return nil, err
		}
		return []Derived{{Path: dir, Bytes: bytes}}, nil
	}
	entries, err := fs.ReadDir(w.root.FS(), dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == ".git" {
			continue
		}
		inner, err := w.derivedIn(ctx, path.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, inner...)
	}
	return all, nil
}

// holds counts the bytes of a folder. Ours says that it is to be kept: it holds a repository, or a file that SCV put there.
func (w *walk) holds(dir string) (bytes int64, ours bool, err error) {
	err = fs.WalkDir(w.root.FS(), dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if _, included := w.included[at]; included || d.Name() == ".git" {
			ours = true
			return fs.SkipAll
		}
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, ours, err
}

// nobodyIn refuses while a process works in one of the directories. Git processes of our own, which only look, and
// what they started are left out.
func nobodyIn(dirs ...string) error {
	all, err := proc.All()
	if err != nil {
		return refused("whether a process works there cannot be told", err)
	}
	byPID := make(map[int]proc.Process, len(all))
	for _, p := range all {
		byPID[p.PID] = p
	}
	for _, p := range all {
		if p.Zombie || ourGit(byPID, p) {
			continue
		}
		cwd, ok, err := proc.WorkingDir(p.PID)
		if err != nil {
			return refused("whether a process works there cannot be told", err)
		}
		for _, dir := range dirs {
			if ok && (cwd == dir || strings.HasPrefix(cwd, dir+"/")) && !becomesGit(p) {
				return wire.Refuse(wire.ReasonBusy, fmt.Sprintf("end it first, such as with: kill %d", p.PID),
					"process %d (%s) works in %s.", p.PID, plain.Line(p.Name), pretty(dir))
			}
		}
	}
	return nil
}

// ourGit reports whether p is a git process that this one started, or below such.
func ourGit(byPID map[int]proc.Process, p proc.Process) bool {
	for range len(byPID) {
		if p.PPID == os.Getpid() {
			return p.Name == "git"
		}
		parent, ok := byPID[p.PPID]
		if !ok {
			return false
		}
		p = parent
	}
	return false
}

// becomesGit reports whether a child of ours, which was seen before it had become the program that it is to run, is a git
// process now, or gone: until then it has our name, and works already where that program will.
func becomesGit(p proc.Process) bool {
	if p.PPID != os.Getpid() {
		return false
	}
	born := 0
	for range 1000 { // it takes some microseconds; a machine that stalls may need more
		now, err := proc.Lookup(p.PID)
		switch {
		case errors.Is(err, proc.ErrGone):
			return true
		case err != nil:
			return false
		case now.Start != p.Start, now.Zombie, now.Name == "git":
			return true
		case !proc.Unborn(p.PID):
			if born++; born == 5 { // the program comes a little before its name
				return false
			}
		}
		time.Sleep(time.Millisecond)
	}
	return false
}
